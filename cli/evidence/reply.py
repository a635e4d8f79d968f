"""Why a reply is as it is, a table for each mechanism, and what it cost; the tables of passages are here."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isfinite, nan
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.evidence.graph import graph_views
from dramaturg.cli.evidence.identity import identity_views
from dramaturg.cli.evidence.memories import memory_views, talk_views
from dramaturg.cli.evidence.relations import relation_views
from dramaturg.cli.output import decimal, errors, excerpt, one_line, table_of
from dramaturg.conversations.evidence import MECHANISMS, misfits

COSTS = {
    "calls": "calls",
    "cached": "cached",
    "failures": "failed",
    "prompt_tokens": "tokens in",
    "completion_tokens": "tokens out",
    "seconds": "seconds",
}

NOTES = {
    "wish": ("The wish for this reply", "dim"),
    "selection_error": ("Guided selection fell back to the nearest passages", "yellow"),
    "remember_error": ("This turn could not be remembered", "red"),
    "facts_error": ("No facts could be noted", "red"),
    "summary": ("Summary of older messages", "dim"),
    "talk_error": ("Earlier messages were searched by keywords only", "yellow"),
    "summary_error": ("Older messages could not be summarized", "red"),
}


SLIPS = {
    "refusal": "a refusal of the model's maker",
    "echo": "the question again",
    "announcement": "the name of who speaks",
    "others": "a line of somebody else",
}
OUTCOMES = {
    "dropped": "Not spoken",
    "spoken": "Used anyway: no other attempt was better",
    "cut": "Used without its first words",
    "ended": "Cut at the end",
}


def evidence_view(evidence: Any) -> Group:
    """All that a method's evidence holds, as far as it has a form that can be shown; what has not is named."""
    return Group(*evidence_views(evidence))


def evidence_views(evidence: Any) -> Iterable[RenderableType]:
    """The tables that this evidence has something for; a conversation that was imported may hold anything."""
    if not isinstance(evidence, Mapping):
        yield Text("The evidence of this reply cannot be shown: it is not a mapping.", style="yellow")
        return
    strange = misfits(evidence)
    known = {name: value for name, value in evidence.items() if name not in strange}
    for views in VIEWS:
        try:
            found = [(one, list(errors.render(one))) for one in views(known)]  # what cannot be rendered fails here
        except Exception as error:  # noqa: BLE001 (the parts of others' flows have forms of their own)
            yield Text(f"A part of the evidence cannot be shown: {excerpt(error)}", style="yellow")
        else:
            yield from (one for one, _ in found)
    for name, why in strange.items():
        yield Text(f"{excerpt(name)} cannot be shown: {excerpt(why)}", style="yellow")


def passage_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """Which passages the reply rests on, and how they were chosen."""
    if warning := evidence.get("warning"):
        yield Text(warning, style="yellow")
    for name in ("documents_warning", "speakers_warning"):
        if warning := evidence.get(name):
            yield Text(warning, style="yellow")
    yield from kept_back_views(evidence)
    if error := evidence.get("documents_error"):
        yield Text(f"The role's documents could not be searched: {error}", style="yellow")
    if "retrieved" in evidence:
        yield from corrective_views(evidence)
    elif "knowledge" in evidence:
        yield passages_table("Knowledge: the most similar passages", evidence["knowledge"])
    if "selection" in evidence:
        selection = evidence["selection"]
        yield passages_table(selection_title(selection), selection["selected"], selection["verdicts"])


def kept_back_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """How much was kept from the role, and why: it is later, others know it, or it was not there to hear it."""
    if later := evidence.get("not_yet"):
        yield not_yet_view(later)
    if not_told := evidence.get("not_told"):
        kinds = ", ".join(f"{one_line(kind)} ({number:,})" for kind, number in not_told.items())
        yield Text(f"Not told to it, and known to others: {kinds}.", style="dim")
    if "not_heard" in evidence:
        whys = Counter(one["why"] for one in evidence["not_heard"])
        told = ", ".join(f"{count:,} {one_line(why)}" for why, count in whys.items()) or "nothing"
        yield Text(f"Not heard since its own last line: {told}.", style="dim")


def not_yet_view(kept_back: Mapping[str, Any]) -> Text:
    """How much was kept from the role, since it is later than its time, or cannot be compared with it."""
    told = {"later": "later than that", "not_comparable": "of a time that cannot be compared with it"}
    parts = [
        f"{', '.join(f'{kind} ({number:,})' for kind, number in kept_back[name].items())} {words}"
        for name, words in told.items()
        if kept_back[name]
    ]
    return Text(f"Not known at {one_line(kept_back['as_of'])}: {'; '.join(parts)}.", style="dim")


def attribute_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """What was found out about the role, now and in earlier turns."""
    if "attributes" in evidence:
        yield attributes_table(evidence["attributes"], evidence.get("attributes_error", ""))
    if remembered := [a for a in evidence.get("role_memory", []) if a not in evidence.get("attributes", [])]:
        said = "; ".join(a["attribute"].removesuffix(".") for a in remembered)
        yield Text(f"Remembered from earlier turns: {said}.", style="dim")


def noted_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """What was noted of the turn, and what could not be."""
    for one in evidence.get("facts", []):
        before = f" (in place of: {'; '.join(map(excerpt, one['replaces']))})" if one["replaces"] else ""
        yield Text(f"Noted of the {one['about']}: {excerpt(one['text'])}{before}", style="dim")
    for name, (title, style) in NOTES.items():
        if text := evidence.get(name):
            yield Text(f"{title}: {text}", style=style)


def slip_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """How draws of the reply began as no role would, and what became of them."""
    for one in evidence.get("slips", []):
        error = f" Another attempt failed: {one['error']}" if "error" in one else ""
        yield Text(f"{OUTCOMES[one['outcome']]} ({SLIPS[one['slip']]}): {excerpt(one['text'])}{error}", style="dim")
    if thoughts := evidence.get("thoughts"):
        yield Text(f"The model's thoughts: {excerpt(thoughts, 2_000)}", style="dim")


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
    if fitted := evidence.get("fitted"):
        gone = ", ".join(f"{number} of {kind}" for kind, number in fitted.items())
        yield Text(f"Left out, because the prompt was full: {gone}.", style="dim")
    if grounds := evidence.get("grounds"):
        gone = ", ".join(f"{number} of {kind}" for kind, number in grounds["left_out"].items())
        yield Text(f"The reply rests on {grounds['tokens']:,} tokens; left out: {gone or 'nothing'}.", style="dim")


def corrective_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """What CRAG retrieved, how it judged that, and what the reply rests on."""
    table = table_of(f"Retrieved: {evidence.get('action', 'not judged')}", "confidence", "verdict", "passage")
    for one in evidence["retrieved"]:
        table.add_row(decimal(one.get("confidence")), one.get("verdict", ""), passage_text(one))
    yield table
    error = f" ({evidence['web_error']})" if "web_error" in evidence else ""
    query = f", for {evidence['query']}" if "query" in evidence else ""
    yield Text(f"Web search: {evidence.get('web_search', 'not known')}{error}{query}", style="dim")
    table = table_of("Knowledge: what was kept", "confidence", "strip")
    for one in evidence.get("knowledge", ()):  # passages, where the turn has failed before they were refined
        table.add_row(decimal(one.get("confidence")), passage_text(one))
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
        sure = [decimal(certainty.get(passage.get("passage")))] if verdicts else []
        table.add_row(decimal(passage.get("score")), *sure, passage_text(passage))
    return table


def attributes_table(attributes: Sequence[Mapping[str, Any]], error: str) -> RenderableType:
    """What the extractor found."""
    if not attributes:
        return Text(f"Attributes: none found{f' ({error})' if error else ''}", style="dim")
    table = table_of("Attributes", "kind", "attribute", "passage")
    for attribute in attributes:
        table.add_row(attribute["kind"].replace("_", " "), Text(attribute["attribute"]), attribute["passage"])
    return table


VIEWS: Sequence[Callable[[Mapping[str, Any]], Iterable[RenderableType]]] = (
    *(talk_views, passage_views, attribute_views, graph_views, memory_views, relation_views, identity_views),
    *(joined_views, own_views, slip_views, noted_views),
)


def usage_table(turns: Iterable[Any]) -> Table:
    """What turns cost, by node; what is no number counts as nothing."""
    costs = [(node, cost) for turn in turns if isinstance(turn, Mapping) for node, cost in turn.items()]
    table = table_of("Usage", Column("node", no_wrap=True), *COSTS.values())
    thought = [number(cost.get("thought_tokens")) for _, cost in costs if isinstance(cost, Mapping)]
    if any(map(isfinite, thought)):
        table.caption = f"{fsum(filter(isfinite, thought)):,.0f} of the tokens out are thoughts."
    for node in dict.fromkeys(node for node, _ in costs):
        rows = [cost for of, cost in costs if of == node and isinstance(cost, Mapping)]
        sums = ([one for row in rows if isfinite(one := number(row.get(name)))] for name in COSTS)
        places = (1 if name == "seconds" else 0 for name in COSTS)
        table.add_row(excerpt(node), *(f"{fsum(each):,.{digits}f}" for each, digits in zip(sums, places, strict=True)))
    return table


def number(value: Any) -> float:
    """A number that can be added to others; nan for what is none."""
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else nan
