"""Evidence and usage as tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.corrective_evidence import corrective_views
from dramaturg.cli.graph_evidence import graph_views
from dramaturg.cli.identity_evidence import identity_evidence_views
from dramaturg.cli.memory_evidence import memory_evidence_views
from dramaturg.cli.relation_evidence import relation_evidence_views
from dramaturg.cli.screen import excerpt, printable

COSTS = {
    "calls": "calls",
    "cached": "cached",
    "failures": "failed",
    "prompt_tokens": "tokens in",
    "completion_tokens": "tokens out",
    "seconds": "seconds",
}


def evidence_view(evidence: Mapping[str, Any]) -> Group:
    """Why a reply is as it is, a table a mechanism."""
    return Group(*views(evidence))


def views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """The tables that this evidence has something for."""
    if warning := evidence.get("warning"):
        yield Text(printable(warning), style="yellow")
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
    yield from graph_views(evidence)
    yield from memory_evidence_views(evidence)
    yield from relation_evidence_views(evidence)
    yield from identity_evidence_views(evidence)
    if error := evidence.get("remember_error"):
        yield Text(f"This turn could not be remembered: {printable(error)}", style="red")
    if summary := evidence.get("summary"):
        yield Text(f"Noted of what has left the window: {printable(summary)}", style="dim")
    if error := evidence.get("summary_error"):
        yield Text(f"What has left the window could not be noted: {printable(error)}", style="red")


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
    table = Table("similarity", *(["certainty"] if verdicts else []), "passage", title=title, title_justify="left")
    for passage in passages:
        sure = certainty.get(passage["passage"])
        row = [f"{passage['score']:.3f}"] + ([f"{sure:.3f}" if sure is not None else "–"] if verdicts else [])
        where = " > ".join(passage["headings"][1:]) or passage["source"]
        table.add_row(*row, Text(f"{where}\n{excerpt(passage['text'])}"))
    return table


def attributes_table(attributes: Sequence[Mapping[str, Any]], error: str) -> RenderableType:
    """What the extractor found."""
    if not attributes:
        return Text(f"Attributes: none found{f' ({error})' if error else ''}", style="dim")
    table = Table("kind", "attribute", "passage", title="Attributes", title_justify="left")
    for attribute in attributes:
        table.add_row(attribute["kind"].replace("_", " "), Text(attribute["attribute"]), attribute["passage"])
    return table


def usage_table(turns: Sequence[Mapping[str, Mapping[str, Any]]]) -> Table:
    """What turns cost, by node."""
    table = Table(Column("node", no_wrap=True), *COSTS.values(), title="Usage", title_justify="left")
    nodes = {node: None for turn in turns for node in turn}
    for node in nodes:
        rows = [turn[node] for turn in turns if node in turn]
        table.add_row(node, *(f"{sum(row[name] for row in rows):,.{1 if name == 'seconds' else 0}f}" for name in COSTS))
    return table
