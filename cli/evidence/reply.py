"""Why a reply is as it is, a table for each mechanism, and what it cost; the tables of passages are here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.evidence.graph import graph_views
from dramaturg.cli.evidence.identity import identity_views
from dramaturg.cli.evidence.memories import memory_views
from dramaturg.cli.evidence.relations import relation_views
from dramaturg.cli.output import decimal, excerpt, table_of

COSTS = {
    "calls": "calls",
    "cached": "cached",
    "failures": "failed",
    "prompt_tokens": "tokens in",
    "completion_tokens": "tokens out",
    "seconds": "seconds",
}

NOTES = {
    "selection_error": ("Guided selection fell back to the nearest passages", "yellow"),
    "remember_error": ("This turn could not be remembered", "red"),
    "summary": ("Noted of what has left the window", "dim"),
    "summary_error": ("What has left the window could not be noted", "red"),
}


SLIPS = {
    "refusal": "a refusal of the model's maker",
    "echo": "the question again",
    "announcement": "the name of who speaks",
}
OUTCOMES = {
    "dropped": "Not spoken",
    "spoken": "Spoken all the same: no draw was better",
    "cut": "Spoken without its first words",
}


MECHANISMS = frozenset(
    (
        *("dialogues", "entities", "episodes", "identity", "knowledge", "memories"),
        *("relations", "retrieved", "selection", "slips"),
    )
)
"""By these names the evidence of a part is told from that of a mechanism."""


def evidence_view(evidence: Mapping[str, Any]) -> Group:
    """All that a method's evidence holds."""
    return Group(*evidence_views(evidence))


def evidence_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """The tables that this evidence has something for."""
    if warning := evidence.get("warning"):
        yield Text(warning, style="yellow")
    if "retrieved" in evidence:
        yield from corrective_views(evidence)
    elif "knowledge" in evidence:
        yield passages_table("Knowledge: the most similar passages", evidence["knowledge"])
    if "selection" in evidence:
        selection = evidence["selection"]
        yield passages_table(selection_title(selection), selection["selected"], selection["verdicts"])
    if "attributes" in evidence:
        yield attributes_table(evidence["attributes"], evidence.get("attributes_error", ""))
    if remembered := [a for a in evidence.get("role_memory", []) if a not in evidence.get("attributes", [])]:
        yield Text("Remembered from earlier turns: " + "; ".join(a["attribute"] for a in remembered), style="dim")
    for views in (graph_views, memory_views, relation_views, identity_views, joined_views, own_views, slip_views):
        yield from views(evidence)
    for name, (title, style) in NOTES.items():
        if text := evidence.get(name):
            yield Text(f"{title}: {text}", style=style)


def slip_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """How draws of the reply began as no role would, and what became of them."""
    for one in evidence.get("slips", []):
        error = f" Another draw failed: {one['error']}" if "error" in one else ""
        yield Text(f"{OUTCOMES[one['outcome']]} ({SLIPS[one['slip']]}): {excerpt(one['text'])}{error}", style="dim")


def own_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """What a flow of one's own adds: the evidence of its parts, and of its checkers."""
    for name, value in evidence.items():
        if isinstance(value, Mapping) and value.keys() & MECHANISMS:
            yield Text(name, style="bold")
            yield from evidence_views(value)
        elif isinstance(value, Mapping) and name != "gate" and "attempts" in value:
            yield checks_table(name, value["attempts"])


def checks_table(name: str, attempts: Sequence[Mapping[str, Any]]) -> Table:
    """What a checker of somebody's own said of each draft."""
    table = table_of(f"Checked by {name}", "verdict", "draft", "reason")
    for one in attempts:
        table.add_row(one["verdict"], Text(excerpt(one["text"])), Text(one["reason"]))
    return table


def joined_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """Which methods took part in an ensemble, and how much of what they found the reply rests on."""
    if parts := evidence.get("parts"):
        yield Text(f"Taking part: {', '.join(parts)}", style="dim")
    if grounds := evidence.get("grounds"):
        gone = ", ".join(f"{number} of {kind}" for kind, number in grounds["left_out"].items())
        yield Text(f"The reply rests on {grounds['tokens']:,} tokens; left out: {gone or 'nothing'}.", style="dim")


def corrective_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """What CRAG retrieved, how it judged that, and what the reply rests on."""
    table = table_of(f"Retrieved: {evidence['action']}", "confidence", "verdict", "passage")
    for one in evidence["retrieved"]:
        table.add_row(decimal(one["confidence"]), one["verdict"], passage_text(one))
    yield table
    error = f" ({evidence['web_error']})" if "web_error" in evidence else ""
    query = f", for {evidence['query']}" if "query" in evidence else ""
    yield Text(f"Web search: {evidence['web_search']}{error}{query}", style="dim")
    table = table_of("Knowledge: what was kept", "confidence", "strip")
    for one in evidence["knowledge"]:
        table.add_row(decimal(one["confidence"]), passage_text(one))
    yield table


def passage_text(passage: Mapping[str, Any]) -> Text:
    """How a passage begins, under its headings."""
    where = " > ".join(passage["headings"][1:]) or passage["source"]
    return Text(f"{where}\n{excerpt(passage['text'])}")


def selection_title(selection: Mapping[str, Any]) -> str:
    """What guided selection did, in a line."""
    judged, wasted, failed = selection["judged"], selection["wasted"], selection["failed"]
    end = f"fell back to {selection['fallback']}" if selection["fallback"] else f"{len(selection['selected'])} selected"
    notes = [f"{wasted} ahead of need"] * bool(wasted) + [f"{failed} without a verdict"] * bool(failed)
    return f"Guided selection: {judged} judged, {end}" + (f" ({', '.join(notes)})" if notes else "")


def passages_table(
    title: str, passages: Sequence[Mapping[str, Any]], verdicts: Sequence[Mapping[str, Any]] = ()
) -> Table:
    """Passages under their headings, with similarity and, where they were judged, the judge's certainty."""
    certainty = {v["passage"]: v["certainty"] for v in verdicts}
    table = table_of(title, "similarity", *(["certainty"] if verdicts else []), "passage")
    for passage in passages:
        sure = [decimal(certainty.get(passage["passage"]))] if verdicts else []
        table.add_row(decimal(passage["score"]), *sure, passage_text(passage))
    return table


def attributes_table(attributes: Sequence[Mapping[str, Any]], error: str) -> RenderableType:
    """What the extractor found."""
    if not attributes:
        return Text(f"Attributes: none found{f' ({error})' if error else ''}", style="dim")
    table = table_of("Attributes", "kind", "attribute", "passage")
    for attribute in attributes:
        table.add_row(attribute["kind"].replace("_", " "), Text(attribute["attribute"]), attribute["passage"])
    return table


def usage_table(turns: Sequence[Mapping[str, Mapping[str, Any]]]) -> Table:
    """What turns cost, by node."""
    table = table_of("Usage", Column("node", no_wrap=True), *COSTS.values())
    for node in {node: None for turn in turns for node in turn}:
        rows = [turn[node] for turn in turns if node in turn]
        table.add_row(node, *(f"{sum(row[name] for row in rows):,.{1 if name == 'seconds' else 0}f}" for name in COSTS))
    return table
