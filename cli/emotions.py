"""`dramaturg emotions`: the mood of a text, and the memories that it brings back, as tables or on a wheel."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dramaturg.cli.emotion_wheel import Spoke, draw_wheel, require_drawable
from dramaturg.cli.indexing import indexed
from dramaturg.cli.memory_evidence import memory_evidence_views
from dramaturg.cli.options import (
    EMOTIONAL_RAG,
    JsonOption,
    LibraryOption,
    ModelOption,
    RoleArgument,
    SettingsOption,
    StrategyOption,
    context_for,
)
from dramaturg.cli.screen import errors, print_json, printable, screen
from dramaturg.nodes.run import RoleContext
from dramaturg.workflows.emotional_recall import build


def emotions(
    role: RoleArgument,
    text: Annotated[str, typer.Argument(help="What somebody says to the role.", show_default=False)],
    plot: Annotated[Path | None, typer.Option(help="Draw the wheel of emotions into this file.")] = None,
    strategy: StrategyOption = "",
    model: ModelOption = "auto",
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the mood of a text and the memories that it brings back to a role; nothing is answered or remembered."""
    if not text.strip():
        raise ValueError("There is no text to look into: give a sentence.")
    if plot is not None:
        require_drawable(plot)  # a slip is noticed before the work
    context = context_for(EMOTIONAL_RAG, role, library, settings, chat_model=model, strategy=strategy)
    evidence = asyncio.run(brought_back(context, text))
    if plot is not None:
        draw_wheel(mood_of(evidence), spokes(evidence), plot, title=f"{text.strip()} ({evidence['strategy']})")
        errors.print(printable(f"Wrote {plot}."), soft_wrap=True)
    if as_json:
        print_json({"text": text, "evidence": evidence})
    elif plot is None:
        screen.print(*memory_evidence_views(evidence), sep="\n")


async def brought_back(context: RoleContext, text: str) -> dict[str, Any]:
    """The evidence of recall, after the role was indexed if it was not."""
    await indexed(context, EMOTIONAL_RAG)
    graph: Any = build().compile()
    return dict((await graph.ainvoke({"question": text.strip()}, context=context))["evidence"])


def mood_of(evidence: Mapping[str, Any]) -> dict[str, int] | None:
    """The scores of a text's mood; None where there is none."""
    found = evidence.get("mood", {}).get("emotions")
    return {name: felt["score"] for name, felt in found.items()} if found else None


def spokes(evidence: Mapping[str, Any]) -> list[Spoke]:
    """The recalled memories as they are drawn."""
    return [Spoke(one["text"], one["emotions"], one["score"]) for one in evidence["memories"]]
