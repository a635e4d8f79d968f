"""The evidence of a reply from memories: the mood of the question, and what it recalled, as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.picture_text import one_line
from dramaturg.cli.screen import excerpt
from dramaturg.cli.wheel_drawing import COLOURS, TOP, strongest

SHORT_ID = 8


def memory_evidence_views(evidence: Mapping[str, Any]) -> list[RenderableType]:
    """The tables that this evidence has something for; none where the method recalls no memories."""
    views = {"mood": mood_view, "memories": memories_view}
    shown = [view(evidence) for name, view in views.items() if name in evidence]
    if lost := evidence.get("lost_memories"):
        shown.append(Text(f"Memories of this conversation that are gone or cannot be read: {lost}.", style="yellow"))
    return shown


def mood_view(evidence: Mapping[str, Any]) -> RenderableType:
    """The eight emotions of the question with the encoder's reasons, or why they could not be had."""
    mood = evidence.get("mood") or {}
    emotions = mood.get("emotions") or {}
    by = f" ({one_line(str(mood['encoder']))})" if mood.get("encoder") else ""
    if not emotions:
        why = one_line(str(mood.get("error") or "the evidence does not say why."))
        return Text(f"The mood of the question could not be had{by}: {why}", style="yellow")
    score_column = Column("score", justify="right")
    table = Table("emotion", score_column, "", title=f"Mood of the question{by}", title_justify="left")
    reasons = {name: one_line(str(emotions.get(name, {}).get("reason") or "")) for name in COLOURS}
    if any(reasons.values()):
        table.add_column("reason", overflow="fold")
    for name in COLOURS:
        score = emotions.get(name, {}).get("score")
        cells = (Text(reasons[name]),) if any(reasons.values()) else ()
        table.add_row(name, "–" if score is None else str(score), bar(score or 0), *cells)
    return table


def bar(score: int) -> ProgressBar:
    """A score as a bar, a column of the terminal a point."""
    return ProgressBar(total=TOP, completed=score, width=TOP, finished_style="bar.complete")


def memories_view(evidence: Mapping[str, Any]) -> RenderableType:
    """What was recalled, best first: the role's own memories, and those of this conversation."""
    strategy = one_line(str(evidence.get("strategy") or ""))
    by = f", recalled by {'meaning alone' if strategy == 'semantic' else strategy}" if strategy else ""
    recalled = list(enumerate(evidence.get("memories") or [], 1))
    if not recalled:
        return Text(f"Memories{by}: none.", style="dim")
    parts = {
        "Memories": [(number, one) for number, one in recalled if one.get("canon", True)],
        "From this conversation": [(number, one) for number, one in recalled if not one.get("canon", True)],
    }
    tables = [memories_table(title, part) for title, part in parts.items() if part]
    tables[0].title = f"{tables[0].title}{by}"
    return Group(*tables)


def memories_table(title: str, memories: Sequence[tuple[int, Mapping[str, Any]]]) -> Table:
    """Memories with their rank, their distances from the question, and what is strongest in their mood."""
    table = Table(title=title, title_justify="left")
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("memory", overflow="fold")
    for name in ("meaning", "mood", "fused"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("strongest", min_width=len("anticipation"), max_width=len("anticipation 10,"))
    for number, one in memories:
        distances = (distance(one.get(name)) for name in ("semantic", "emotional", "score"))
        emotions = one.get("emotions")
        table.add_row(str(number), told(one), *distances, strongest(emotions) if emotions else "mood unknown")
    return table


def told(memory: Mapping[str, Any]) -> Text:
    """A memory's text, and below it where it is from and what else is known of it."""
    text, count = excerpt(str(memory.get("text") or "")), memory.get("count", 1)
    marks = [str(memory.get("memory") or "")[:SHORT_ID], memory.get("source"), memory.get("when")]
    marks += ["pinned"] * bool(memory.get("pinned")) + [f"×{count}"] * (count > 1)
    below = " · ".join(one_line(str(mark)) for mark in marks if mark)
    return Text.assemble(text, "\n", (below, "dim"))


def distance(value: float | None) -> str:
    """A distance; a dash where the memory or the question has no mood to measure it by."""
    return "–" if value is None else f"{value:.3f}"
