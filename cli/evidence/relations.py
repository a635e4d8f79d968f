"""The evidence of a reply from relations: the clique, the dialogues, the new records and the drafts, as tables."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.output import decimal, excerpt, one_line, table_of

Found = Mapping[str, Any]


def relation_views(evidence: Found) -> Iterable[RenderableType]:
    """The tables that this evidence has something for; none where a method knows no relations and verifies nothing."""
    if relations := evidence.get("relations"):
        yield from clique_views(relations)
    if "dialogues" in evidence:
        yield dialogues_view(evidence["dialogues"] or [])
    yield from record_views(evidence)
    if drafts := evidence.get("drafts"):
        yield from drafts_views(drafts, evidence.get("verification") or {})


def clique_views(relations: Found) -> Iterable[RenderableType]:
    """The roles who all speak with each other, and what is known of the user's."""
    user = one_line(relations.get("user_role"))
    if clique := relations.get("clique"):
        yield pairs_table(clique_title(clique, relations.get("edges") or []), relations.get("edges") or [])
    else:
        yield Text(strangers(user, one_line(relations.get("role") or "the role")), style="yellow")
    if user and not relations.get("profile"):
        yield Text(f"The library has no profile of {user}.", style="dim")
    if unscored := relations.get("unscored"):
        lost = f"Relations without a score: {unscored}. They weigh nothing"
        yield Text(f"{lost}, and are not asked about again in this conversation.", style="yellow")


def strangers(user: str, role: str) -> str:
    """That there is no clique, and why."""
    if not user:
        return "The user is a stranger: nobody in the dialogues is meant, so there is no clique."
    return f"{user} and {role} have never spoken with each other: there is no clique."


def clique_title(clique: Sequence[str], pairs: Sequence[Found]) -> str:
    """The roles of a clique, and the sum of its scores."""
    total = fsum(pair.get("score") or 0 for pair in pairs)
    return f"Clique of {one_line(', '.join(clique))}: scores of {total:.4g} in all"


def pairs_table(title: str, pairs: Sequence[Found]) -> Table:
    """Pairs of roles, each with its score, why, and in how many dialogues the two speak with each other."""
    table = table_of(title, Column("score", no_wrap=True), "roles", Column("dialogues", justify="right"), "why")
    for pair in pairs:
        both, said = one_line(" – ".join(pair.get("roles") or [])), str(len(pair.get("dialogues") or []))
        table.add_row(points(pair.get("score")), Text(both), said, Text(one_line(pair.get("reason"))))
    return table


def dialogues_view(dialogues: Sequence[Found]) -> RenderableType:
    """The dialogues that were brought back, as they came; those that a revision brought say so."""
    if not dialogues:
        return Text("Dialogues: none concerns the user's role or the role.", style="dim")
    table = table_of("Dialogues", Column("similarity", no_wrap=True), Column("dialogue", overflow="fold"))
    for one in dialogues:
        table.add_row(decimal(one.get("similarity")), dialogue_text(one))
    return table


def dialogue_text(dialogue: Found) -> Text:
    """How a dialogue begins, and below it who speaks in it, where it is written, and what brought it back."""
    revision, speakers = dialogue.get("revision") or 0, ", ".join(dialogue.get("speakers") or [])
    marks = [speakers, dialogue.get("scene"), dialogue.get("source")]
    below = " · ".join(one_line(mark) for mark in marks if mark)
    brought = (f"revision {revision} · ", "bold yellow") if revision else ""
    return Text.assemble(excerpt(dialogue.get("text")), "\n", brought, (below, "dim"))


def record_views(evidence: Found) -> Iterable[RenderableType]:
    """What the role memory has of earlier talks, what this turn has added, what became of it, and what went wrong."""
    for one in evidence.get("earlier_records") or []:
        number = len(one.get("dialogues") or [])
        talk = one_line(one.get("talk") or "")
        title = (f"In the role memory, from {number} turn{'s' * (number != 1)} of {talk}: ", "bold")
        yield Text.assemble(title, str(one.get("text") or ""))
    if error := evidence.get("earlier_records_error"):
        yield Text(f"An earlier talk could not be put into the role memory: {one_line(error)}", style="yellow")
    for record in evidence.get("records") or []:
        number = len(record.get("dialogues") or [])
        title = (f"New in the role memory, from {number} dialogue{'s' * (number != 1)}: ", "bold")
        yield Text.assemble(title, str(record.get("text") or ""))
    if error := evidence.get("memory_error"):
        yield Text(f"Nothing new could be put into the role memory: {one_line(error)}", style="yellow")
    for talked in evidence.get("talk_records") or []:
        number = len(talked.get("dialogues") or [])
        title = (f"New in the role memory, from {number} turn{'s' * (number != 1)} of this conversation: ", "bold")
        yield Text.assemble(title, str(talked.get("text") or ""))
    if error := evidence.get("talk_record_error"):
        yield Text(f"What was said could not be put into the role memory: {one_line(error)}", style="yellow")
    if condensed := evidence.get("condensed"):
        text = str(condensed.get("text") or "")
        yield Text(f"The {condensed.get('records', 0)} oldest records became one: {text}", style="dim")
    if error := evidence.get("condense_error"):
        yield Text(f"The oldest records could not be merged: {one_line(error)}", style="yellow")


def drafts_views(drafts: Sequence[Found], outcome: Found) -> Iterable[RenderableType]:
    """Each draft with its score and why, which of them was spoken, and whether it passed."""
    alpha, spoken = outcome.get("alpha"), outcome.get("spoken")
    title = "Drafts" if alpha is None else f"Drafts; one passes with more than {alpha:.3g}"
    texts = Column("draft", overflow="fold"), Column("why", overflow="fold")
    table = table_of(title, Column("#", justify="right"), Column("score", no_wrap=True), *texts)
    for number, one in enumerate(drafts):
        mark = ("spoken · ", "bold green") if number == spoken else ""
        why = Text(one_line(one.get("reason") or one.get("error")))
        text = excerpt(one.get("text"))
        table.add_row(str(number + 1), points(one.get("score")), Text.assemble(mark, text), why)
    yield table
    if outcome.get("passed"):
        return
    if any(one.get("score") is None for one in drafts):
        yield Text("A draft could not be verified: the best of the others was used.", style="yellow")
    else:
        yield Text("No draft passed: the best one was used.", style="yellow")


def points(score: float | None) -> str:
    """A score; a dash where there is none."""
    from dramaturg.nodes.judgement import HIGH

    return "–" if score is None else f"{score:.3g} of {HIGH}"
