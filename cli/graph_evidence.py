"""The evidence of a reply from a knowledge graph, as tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dramaturg.cli.screen import printable

EXCERPT = 240


def graph_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """The tables that this evidence has something for."""
    if question := evidence.get("question"):
        yield Text(f"Understood as: {printable(question)}", style="dim")
    if hypothetical := evidence.get("hypothetical"):
        yield Text(f"Hypothetical context: {printable(hypothetical)}", style="dim")
    if "entities" in evidence:
        yield scope_table(evidence["entities"])
    for title, name in {"Recalled": "specific", "Recalled of that kind": "general", "Reached": "reached"}.items():
        if evidence.get(name):
            yield recalled_table(title, evidence[name])
    if evidence.get("followed"):
        yield relations_table(evidence["followed"])
    if missing := evidence.get("missing"):
        yield Text(f"Nothing is written of: {printable(', '.join(missing))}", style="yellow")
    for name in ("question_error", "hypothetical_error", "entities_error", "graph_warning"):
        if name in evidence:
            yield Text(printable(evidence[name]), style="yellow")


def scope_table(entities: Sequence[Mapping[str, Any]]) -> RenderableType:
    """What the question is about, and what the role can know of it."""
    if not entities:
        return Text("Entities: none; what is nearest to the question was recalled.", style="dim")
    table = Table("entity", "type", "strategy", "P(known)", "why", title="Entities", title_justify="left")
    for one in entities:
        sure = "–" if one["certainty"] is None else f"{one['certainty']:.2f}"
        table.add_row(printable(one["name"]), one["type"], one["strategy"], sure, printable(one["reason"]))
    return table


def recalled_table(title: str, found: Sequence[Mapping[str, Any]]) -> Table:
    """Entities that were recalled, with their relation to the role."""
    table = Table("entity", "found by", "description", "relation with the role", title=title, title_justify="left")
    for one in found:
        how = one.get("how") or ("nearest" if one["score"] is not None else "relation")
        score = "" if one["score"] is None else f" {one['score']:.3f}"
        relation = one.get("relation")
        related = f"[{relation['strength']}] {excerpt(relation['description'])}" if relation else ""
        if relation and relation["description"] == one["description"]:
            related = f"[{relation['strength']}] as described"
        table.add_row(printable(one["entity"]), how + score, excerpt(one["description"]), related)
    return table


def relations_table(relations: Sequence[Mapping[str, Any]]) -> Table:
    """Relations that were followed."""
    table = Table("strength", "relation", "", title="Relations", title_justify="left")
    for one in relations:
        ends = f"{one['source']} – {one['target']}"
        table.add_row(str(one["strength"]), printable(ends), excerpt(one["description"]))
    return table


def excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= EXCERPT else line[:EXCERPT] + " …"
