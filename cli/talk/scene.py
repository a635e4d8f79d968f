"""`dramaturg scene`: several roles on one stage, each with what it has heard."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from dramaturg.cli.evidence.reply import evidence_view
from dramaturg.cli.options import (
    JsonOption,
    LibraryOption,
    ModelOption,
    SettingsOption,
    command_line,
    shelf_of,
)
from dramaturg.cli.output import excerpt, one_line, print_json, screen
from dramaturg.cli.talk.chat import EvidenceOption, asked, converse
from dramaturg.workflows.settings import require_known, settings_of


def scene(
    name: Annotated[
        str, typer.Argument(help="A scene of the library, an example, or a file that ends in .yaml; none: list them.")
    ] = "",
    lines: Annotated[
        list[str] | None, typer.Argument(help="Lines to say, one after the other; none: you are asked for them.")
    ] = None,
    thread: Annotated[
        str, typer.Option("--thread", help="Name of this performance (else: default); it continues where it stopped.")
    ] = "",
    user: Annotated[str, typer.Option("--as", help="Whom you play; nobody: what you write is narrated.")] = "",
    model: ModelOption = "auto",
    evidence: EvidenceOption = False,
    script: Annotated[
        Path | None, typer.Option("--script", help="Write the scene so far as a script (Fountain) into this file.")
    ] = None,
    heard: Annotated[
        bool, typer.Option("--heard", help="Show the scene so far, and which role heard which line.")
    ] = False,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a scene of several roles, each of whom knows what it has heard, and nothing else.

    A line is said aloud; /whisper NAME: TEXT, /narrate TEXT, /enter NAME, /leave NAME, /hide NAME, /next NAME and /go
    lead the scene, and /help lists what else can be done.
    """
    from dramaturg.conversations.scene_files import read_scene, scenes_of
    from dramaturg.conversations.scenes import open_scene, script_of, thread_of, usual_thread_of
    from dramaturg.workflows.scene import SceneContext

    shelf = shelf_of(library)
    if not name:
        found = scenes_of(shelf)
        if as_json:
            print_json(found)
            return
        table = Table("scene", "who plays", "where")
        for one in found:
            read = read_scene(shelf, one)
            table.add_row(one, ", ".join(read.playing), one_line(read.place))
        screen.print(table)
        return
    given = settings_of(settings)
    require_known(SceneContext, given, "scene")
    options = {key: value for key, value in (("chat_model", model), ("user_role", user)) if value not in ("", "auto")}
    context = read_scene(shelf, name, **options, **given)
    where = thread_of(name, thread) if thread else asyncio.run(usual_thread_of(shelf, name))
    if heard:
        asyncio.run(show_heard(context, where, as_json=as_json))
        return
    if script is not None:

        async def written() -> str:
            async with open_scene(context, where) as talk:
                if not await talk.history():
                    raise ValueError(nothing_said(where))
                return "\n".join(await script_of(talk))

        script.write_text(asyncio.run(written()) + "\n", encoding="utf-8")
        return
    if lines:
        asyncio.run(said(context, where, lines, evidence=evidence, as_json=as_json))
        return
    among = [*(["--thread", thread] if thread else []), *(["--as", user] if user else [])]
    converse(open_scene(context, where), ready, command_line("scene", name, *among, library=library))


async def show_heard(context: Any, thread: str, *, as_json: bool) -> None:
    """Show what was said, and which role has heard it."""
    from dramaturg.conversations.scenes import cast_of, lines_of, open_scene

    async with open_scene(context, thread) as talk:
        spoken, members = await lines_of(talk), await cast_of(talk)
    if not spoken:
        raise ValueError(nothing_said(thread))
    if as_json:
        print_json([one._asdict() for one in spoken])
        return
    table = Table("", "line", *(one.name for one in members), title=f"Who heard what in {thread.partition(':')[2]}")
    for number, one in enumerate(spoken, start=1):
        line = excerpt(f"{one.name}: {one.text}" if one.name else one.text)
        table.add_row(str(number), line, *("●" if member.role in one.heard else "" for member in members))
    screen.print(table)


def nothing_said(thread: str) -> str:
    """That a scene has not begun."""
    return f"Nothing was said in {thread.partition(':')[2]!r} yet."


async def ready(talk: Any) -> None:
    """A scene begins with its first line; whom the user cannot play is said before."""
    from dramaturg.nodes.run import run_of
    from dramaturg.nodes.scene.presence import members_of, require_free

    require_free(talk.context, await members_of(await run_of(talk.context)))


async def said(context: Any, thread: str, lines: list[str], *, evidence: bool, as_json: bool) -> None:
    """Take one turn a line, and print what is said."""
    from dramaturg.conversations.scenes import open_scene
    from dramaturg.nodes.scene.presence import told_of

    async with open_scene(context, thread) as talk:
        for line in lines:
            if not as_json:
                output = await asked(talk, line, evidence=False)
                if evidence:
                    for who, why in output["evidence"].items():
                        screen.print(f"Why {who} says so:", style="bold")
                        screen.print(evidence_view(why))
                continue
            began = time.perf_counter()
            output = await talk.take_turn(line)
            at = max(at for at, one in enumerate(output["messages"]) if one.type == "human")
            spoken = [
                {"role": one.name or "", "text": one.text, "heard_by": told["witnesses"]}
                for one in output["messages"][at + 1 :]
                if (told := told_of(one))
            ]
            turn = {"line": line, "spoken": spoken, "evidence": output["evidence"], "usage": output["usage"]}
            print_json({**turn, "seconds": round(time.perf_counter() - began, 3)})
