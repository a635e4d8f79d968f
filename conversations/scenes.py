"""Scenes of a library: their files, where they are kept, and their scripts."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dramaturg.conversations.conversation import PATIENCE, SCENES, Conversation
from dramaturg.conversations.opening import elsewhere, scenes_kept
from dramaturg.conversations.turns import turns_until
from dramaturg.nodes.run import library_of, run_of
from dramaturg.nodes.scene.presence import members_of, told_of, user_name
from dramaturg.stores.documents.reading import parse_yaml
from dramaturg.stores.errors import RoleError, near_or_all
from dramaturg.stores.files import read_bytes
from dramaturg.stores.library_folder import Library, check_id
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.workflows import scene
from dramaturg.workflows.scene import SceneContext

__all__ = ["open_scene", "read_scene", "scenes_of", "script_of", "thread_of"]

FOLDER = "scenes"
EVERYBODY = "everybody"
"""Under what scenes of a library are kept where nobody says for whom."""


def scenes_of(library: Library) -> list[str]:
    """The names of the scenes of a library, and of the examples; it may block."""
    own = library.root / FOLDER if not isinstance(library, SharedLibrary) else None
    found = [one.stem for one in own.glob("*.yaml")] if own and own.is_dir() else []
    return sorted({*found, *_examples()})


@cache
def _examples() -> Mapping[str, Path]:
    folder = Path(str(files("dramaturg.examples"))) / FOLDER
    return {one.stem: one for one in sorted(folder.glob("*.yaml"))}


def read_scene(library: Library, name: str, **given: Any) -> SceneContext:
    """Read a scene by its file, or by its name in a library or among the examples; it may block.

    Args:
        library: the roles.
        name: of a file that ends in .yaml, or of a scene.
        given: settings that come before those of the file.

    Raises:
        RoleError: there is no such scene, or its file cannot be read; the message has the line.
        ValueError: a setting is out of its bounds.
    """
    path = Path(name).expanduser() if name.endswith((".yaml", ".yml")) else _named(library, name)
    if not path.is_file():
        raise RoleError(f"There is no file {name}.")
    read = parse_yaml(read_bytes(path, path.parent), path, SceneContext, path.parent)
    own = {field: getattr(read, field) for field in read.model_fields_set - {"role", "library"}}
    return SceneContext.model_validate({"scenes": EVERYBODY, **own, "library": library, **given})


def _named(library: Library, name: str) -> Path:
    check_id(name)
    own = library.root / FOLDER / f"{name}.yaml"
    if not isinstance(library, SharedLibrary) and own.is_file():
        return own
    if name not in _examples():
        raise RoleError(f"There is no scene {name!r}{near_or_all(name, scenes_of(library))}")
    return _examples()[name]


def thread_of(name: str, thread: str = "") -> str:
    """The name of the thread on which a scene is played; of several, each has a name of its own."""
    scene_name = Path(name).stem if name.endswith((".yaml", ".yml")) else name
    return f"{SCENES}{scene_name}" + (f"/{thread}" if thread else "")


@asynccontextmanager
async def open_scene(context: SceneContext, thread: str, *, patience: float = PATIENCE) -> AsyncIterator[Conversation]:
    """Open the conversation that plays a scene; what each role has heard is kept with its other talks.

    Args:
        context: of the scene.
        thread: see `thread_of`.
        patience: seconds that a turn waits for one of another program.
    """
    await members_of(await run_of(context))  # refuses a role that is not there
    library = library_of(context)
    async with scenes_kept(library) as kept:
        yield Conversation(
            scene.build(),
            kept.saver,
            context,
            thread,
            store=kept.store,
            locks=kept.locks,
            patience=patience,
            elsewhere=elsewhere(library),
        )


async def script_of(talk: Conversation) -> list[str]:
    """The lines of a scene on its branch, as Fountain writes a play, with who heard what was not for all.

    Of what the window has left, the turns are told as they were read.
    """
    run: Any = await run_of(talk.context)
    members = await members_of(run)
    names, everyone = {one.role: one.name for one in members}, {one.role for one in members}
    turns = await turns_until(talk.saver, talk.thread.name)
    said: dict[str, Any] = {}
    for turn in turns:
        for message in (await talk.values(turn)).get("messages", []):
            said.setdefault(str(message.id), message)
    lines = [f"Title: {talk.thread.name.removeprefix(SCENES)}", ""]
    if run.settings.place:
        lines += [f".{' '.join(run.settings.place.split())}", ""]
    for message in said.values():
        told = told_of(message)
        if told is None or told["kind"] in ("cue", "silence"):
            continue
        who = user_name(run) if told["by"] == "user" else names.get(told["by"], "")
        text = message.text if told["by"] in names else told["text"]
        heard = {*told["witnesses"]}
        noted = "" if heard >= everyone else f" [[heard by {', '.join(names[one] for one in names if one in heard)}]]"
        lines += [f"@{who}", f"{text}{noted}", ""] if who else [f"!{text}{noted}", ""]
    return lines
