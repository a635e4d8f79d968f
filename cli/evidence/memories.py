"""What a reply remembered, as tables: of the talk, and with the mood of the question of the role's own memories."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.drawing.wheel import COLOURS, TOP, strongest
from dramaturg.cli.output import decimal, excerpt, one_line, table_of

SHORT_ID = 8


def memory_views(evidence: Mapping[str, Any]) -> list[RenderableType]:
    """The tables that this evidence has something for; none where the method recalls no memories."""
    views = {"mood": mood_view, "memories": memories_view}
    shown = [view(evidence) for name, view in views.items() if name in evidence]
    if left_out := evidence.get("memories_left_out"):
        shown.append(Text(no_room(left_out), style="yellow"))
    if lost := evidence.get("lost_memories"):
        shown.append(Text(f"Memories of this conversation that are gone or cannot be read: {lost}.", style="yellow"))
    if without := evidence.get("memories_without_vector"):
        told = f"Memories that the embedding model gave no vector: {without}; indexing names them."
        shown.append(Text(told, style="yellow"))
    return shown


def no_room(left_out: int) -> str:
    """That memories were recalled for which the prompt has no room."""
    return f"Memories left out, for lack of room (recalled_tokens): {left_out}."


def mood_view(evidence: Mapping[str, Any]) -> RenderableType:
    """The eight emotions of the question with the encoder's reasons, or why they could not be had."""
    mood = evidence.get("mood") or {}
    emotions = mood.get("emotions") or {}
    by = f" ({one_line(mood['encoder'])})" if mood.get("encoder") else ""
    if not emotions:
        why = one_line(mood.get("error") or "the evidence does not say why.")
        return Text(f"The mood of the question is unknown{by}: {why}", style="yellow")
    table = table_of(f"Mood of the question{by}", "emotion", Column("score", justify="right"), "")
    reasons = {name: one_line(emotions.get(name, {}).get("reason")) for name in COLOURS}
    if any(reasons.values()):
        table.add_column("reason", overflow="fold")
    for name in COLOURS:
        score = emotions.get(name, {}).get("score")
        bar = ProgressBar(total=TOP, completed=score or 0, width=TOP, finished_style="bar.complete")
        cells = (Text(reasons[name]),) if any(reasons.values()) else ()
        table.add_row(name, "–" if score is None else str(score), bar, *cells)
    return table


def memories_view(evidence: Mapping[str, Any]) -> RenderableType:
    """What was recalled, best first: the role's own memories, and those of this conversation."""
    strategy = one_line(evidence.get("strategy"))
    why = ", for no emotion speaks from the question" if evidence.get("calm") else ""
    by = f", recalled by {'meaning alone' if strategy == 'semantic' else strategy}{why}" if strategy else ""
    recalled = list(enumerate(evidence.get("memories") or [], 1))
    if not recalled:
        return Text(f"Memories{by}: none.", style="dim")
    own = [(number, one) for number, one in recalled if one.get("canon", True)]
    made = [(number, one) for number, one in recalled if not one.get("canon", True)]
    titles = ["Memories"] * bool(own) + ["From this conversation"] * bool(made)
    titles[0] += by
    return Group(*map(memories_table, titles, filter(None, (own, made))))


def memories_table(title: str, memories: Sequence[tuple[int, Mapping[str, Any]]]) -> Table:
    """Memories with their rank, their distances from the question, and what is strongest in their mood."""
    numbers = (Column(name, justify="right", no_wrap=True) for name in ("meaning", "mood", "fused"))
    mood = Column("strongest", min_width=len("anticipation"), max_width=len("anticipation 10,"))
    rank = Column("#", justify="right", no_wrap=True)
    table = table_of(title, rank, Column("memory", overflow="fold"), *numbers, mood)
    for number, one in memories:
        distances = (decimal(one.get(name)) for name in ("semantic", "emotional", "score"))
        emotions = one.get("emotions")
        table.add_row(str(number), memory_text(one), *distances, strongest(emotions) if emotions else "mood unknown")
    return table


def memory_text(memory: Mapping[str, Any]) -> Text:
    """A memory's text, and below it where it is from and what else is known of it."""
    count = memory.get("count", 1)
    marks = [str(memory.get("memory") or "")[:SHORT_ID], memory.get("source"), memory.get("when")]
    marks += ["pinned"] * bool(memory.get("pinned")) + [f"×{count}"] * (count > 1)
    below = " · ".join(one_line(mark) for mark in marks if mark)
    return Text.assemble(excerpt(memory.get("text")), "\n", (below, "dim"))


def talk_views(evidence: Mapping[str, Any]) -> list[RenderableType]:
    """What came back of what was said before, in the order in which it was said; none where nothing was looked for."""
    if "talk" not in evidence:
        return []
    if not (recalled := evidence["talk"]):
        return [Text("Recalled from earlier messages: nothing.", style="dim")]
    notes = sum(is_note(one) for one in recalled)
    of_others = sum(bool(one.get("talk")) for one in recalled)
    title = f"Recalled from earlier messages: {(said := len(recalled) - notes)} exchange{'s' * (said != 1)}"
    title += f", {of_others} of other talks" * bool(of_others) + f"; notes: {notes}" * bool(notes)
    table = table_of(title, Column("when", overflow="fold"), Column("said", overflow="fold"), "found by")
    for one in recalled:
        when, talk = one_line(one["when"]) or "just now", one_line(one.get("talk"))
        lines = Text("\n").join(Text(excerpt(line)) for line in one["text"].splitlines())
        table.add_row(Text.assemble(when, (f"\n{talk}" if talk else "", "dim")), lines, found_by(one))
    return [table]


def found_by(one: Mapping[str, Any]) -> str:
    """How an exchange was found, with its ranks; the user's notes stand before all that was said."""
    ranks = {"meaning": one.get("by_meaning"), "words": one.get("by_words")}
    found = ["pinned"] * bool(one.get("pinned")) + [f"{name} (#{rank})" for name, rank in ranks.items() if rank]
    return ", ".join(found) or ("a note" if is_note(one) else "said beside it")


def is_note(one: Mapping[str, Any]) -> bool:
    """Whether the user had this kept in mind."""
    return bool(one.get("place", 0) < 0)
