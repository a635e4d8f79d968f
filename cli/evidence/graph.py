"""The evidence of a reply from a knowledge graph, as tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dramaturg.cli.output import decimal, excerpt, table_of

DESCRIPTION = 240  # letters of a description that a table shows


def graph_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """The tables that this evidence has something for."""
    for title, name in {"Understood as": "question", "Hypothetical context": "hypothetical"}.items():
        if text := evidence.get(name):
            yield Text(f"{title}: {text}", style="dim")
    if "entities" in evidence:
        yield scope_table(evidence["entities"])
        yield from map(asked_again_line, evidence.get("asked_again", ()))
    for name, table in TABLES.items():
        if evidence.get(name):
            yield table(evidence[name])
    if missing := evidence.get("missing"):
        yield Text(f"Not in the documents: {', '.join(missing)}", style="yellow")
    if "question_kept" in evidence:
        yield Text(f"The question stands as it was asked: {evidence['question_kept']}", style="dim")
    for name in ("question_error", "hypothetical_error", "entities_error", "graph_warning"):
        if name in evidence:
            yield Text(evidence[name], style="yellow")


def scope_table(entities: Sequence[Mapping[str, Any]]) -> RenderableType:
    """What the question is about, and what the role can know of it."""
    if not entities:
        return Text("Entities: none; what is nearest to the question was recalled.", style="dim")
    table = table_of("Entities", "entity", "type", "strategy", "P(known)", "why")
    for one in entities:
        sure = decimal(one["certainty"], 2)
        table.add_row(one["name"], one["type"], one["strategy"], sure, one["reason"])
    return table


def asked_again_line(one: Mapping[str, Any]) -> Text:
    """Of whom the judge was asked once more."""
    outcome = "still out of scope, in this turn" if one["stands"] else "in scope"
    relation = f"whose relation with the role has strength {one['strength']}"
    return Text(f"Checked again: {one['name']}, {relation}: {outcome}", style="dim")


def recalled_table(title: str, found: Sequence[Mapping[str, Any]]) -> Table:
    """Entities that were recalled, with their relation to the role."""
    table = table_of(title, "entity", "found by", "description", "relation with the role")
    for one in found:
        how = one.get("how") or ("nearest" if one["score"] is not None else "relation")
        score = "" if one["score"] is None else f" {one['score']:.3f}"
        related = ""
        if relation := one.get("relation"):
            same = relation["description"] == one["description"]
            text = "as described" if same else excerpt(relation["description"], DESCRIPTION)
            related = f"[{relation['strength']}] {text}"
        table.add_row(one["entity"], how + score, excerpt(one["description"], DESCRIPTION), related)
    return table


def sentences_table(found: Sequence[Mapping[str, Any]]) -> Table:
    """Sentences of the documents that stood beside the graph."""
    table = table_of("Sentences beside it", "cosine", "document", "sentence")
    for one in found:
        table.add_row(decimal(one["score"], 3), one["source"], excerpt(one["text"], DESCRIPTION))
    return table


def followed_table(relations: Sequence[Mapping[str, Any]]) -> Table:
    """Relations that were followed."""
    table = table_of("Relations", "strength", "relation", "")
    for one in relations:
        ends = f"{one['source']} – {one['target']}"
        table.add_row(str(one["strength"]), ends, excerpt(one["description"], DESCRIPTION))
    return table


TABLES: Mapping[str, Callable[[Sequence[Mapping[str, Any]]], Table]] = {
    "specific": partial(recalled_table, "Recalled"),
    "general": partial(recalled_table, "Recalled of this type"),
    "reached": partial(recalled_table, "Reached"),
    "followed": followed_table,
    "sentences": sentences_table,
}
"""What shows a part of the evidence."""
