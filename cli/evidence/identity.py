"""The evidence of a reply from an identity: query, triples, memories, the gate's verdict, changes, as tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Column
from rich.text import Text

from dramaturg.cli.evidence.memories import no_room
from dramaturg.cli.output import decimal, excerpt, one_line, table_of

Found = Mapping[str, Any]
SHOWN = 5  # memories
HOW = {
    "strategy": "found by the query",
    "similarity": "most similar to what is asked",
    "all": "the whole chronicle",
    "inferred": "inferred from memories",
}
STYLES = {"allow": "green", "revise": "yellow", "block": "red"}


def identity_views(evidence: Found) -> Iterable[RenderableType]:
    """The tables that this evidence has something for; none where a method looks up no identity."""
    if "episodes" in evidence:
        yield episodes_view(evidence["episodes"] or [])
        if left_out := evidence.get("episodes_left_out"):
            yield Text(no_room(left_out), style="yellow")
    if error := evidence.get("identity_query_error"):
        why = f"No query could be made, so the identity was searched by similarity: {one_line(error)}"
        yield Text(why, style="yellow")
    if identity := evidence.get("identity"):
        yield from looked_up_views(identity)
    if plan := evidence.get("plan"):
        yield Text.assemble(("Plans: ", "bold"), one_line(plan))
    if feeling := evidence.get("feeling"):
        yield Text.assemble(("Feels: ", "bold"), one_line(feeling))
    if gate := evidence.get("gate"):
        yield from gate_views(gate)
    yield from change_views(evidence)


def episodes_view(episodes: Sequence[Found]) -> RenderableType:
    """The most salient memories that came back, and how many more."""
    if not episodes:
        return Text("Memories: none.", style="dim")
    more = f"; {len(episodes) - SHOWN} more came back" if len(episodes) > SHOWN else ""
    columns = Column("salience", no_wrap=True), Column("similarity", no_wrap=True), "when"
    table = table_of(f"Memories, the most salient first{more}", *columns, Column("memory", overflow="fold"))
    for one in episodes[:SHOWN]:
        numbers = [decimal(one.get(name)) for name in ("salience", "similarity")]
        table.add_row(*numbers, Text(one_line(one.get("at"))), Text(excerpt(one.get("text"))))
    return table


def looked_up_views(identity: Found) -> Iterable[RenderableType]:
    """What was looked for in the identity, and what was found."""
    if query := identity.get("query"):
        parts = {"high priority": "high_priority", "medium priority": "medium_priority", "keywords": "keywords"}
        named = {label: one_line(", ".join(query.get(name) or [])) or "–" for label, name in parts.items()}
        lines = (f"\n  {label}: {names}" for label, names in named.items())
        yield Text.assemble(("Query of the identity", "bold"), *lines)
    if text := identity.get("text"):
        yield Text.assemble(("Identity, inferred from memories: ", "bold"), one_line(text))
    elif identity.get("how") != "inferred":
        yield triples_view(identity, identity.get("triples") or [])
    if left_out := identity.get("left_out"):
        yield Text(f"Triples left out, for lack of room (identity_tokens): {left_out}.", style="yellow")
    if left := identity.get("not_held"):
        yield not_held_view(left)


def not_held_view(left: Found) -> Text:
    """What the chronicle has that does not hold at the date of the turn."""
    shown = [one_line(one.get("sentence")) for one in left.get("triples") or []]
    rest = (left.get("count") or 0) - len(shown)
    more = f" and {rest} more" if rest > 0 else ""
    return Text(f"Does not hold at {one_line(left.get('as_of'))}: {' '.join(shown)}{more}", style="dim")


def triples_view(identity: Found, triples: Sequence[Found]) -> RenderableType:
    """The triples that were found, in words, and by which relation."""
    how = HOW.get(str(identity.get("how")), "looked up")
    if fallback := identity.get("fallback"):
        how = f"{how}, for {one_line(fallback)}"
    if not triples:
        return Text(f"Identity, {how}: no triple was found.", style="yellow")
    of = f" of {identity['of']}" if identity.get("of") else ""
    title = f"Identity, {how}: {len(triples)}{of} triples"
    table = table_of(title, Column("triple", overflow="fold"), "relation", "kind")
    for one in triples:
        core = ("core ", "bold") if one.get("core") else ""
        kind = Text.assemble(core, one_line(one.get("kind")))
        table.add_row(in_words(one), Text(one_line(one.get("relation"))), kind)
    return table


def in_words(triple: Found) -> Text:
    """What a triple says; below it whether it is only a neighbour, and where it is written."""
    marks = ["related to what was found"] * bool(triple.get("neighbour"))
    marks += [f"from {one_line(source)}" for source in [triple.get("source")] if source]
    below = f"\n{' · '.join(marks)}" if marks else ""
    return Text.assemble(one_line(triple.get("sentence")), (below, "dim"))


def gate_views(gate: Found) -> Iterable[RenderableType]:
    """What was proposed, the verdict on each, and the triple that it rests on."""
    attempts = gate.get("attempts") or []
    columns = Column("verdict", no_wrap=True), Column("proposed", overflow="fold")
    table = table_of("The gate", *columns, Column("against", overflow="fold"))
    for one in attempts:
        verdict = one_line(one.get("verdict") or "–")
        table.add_row(Text(verdict, style=STYLES.get(verdict, "")), excerpt(one.get("text")), against(one))
    yield table
    yield outcome_view(str(gate.get("outcome") or ""), attempts[-1] if attempts else {}, len(attempts))


def outcome_view(outcome: str, last: Found, tried: int) -> Text:
    """How the gate left it."""
    if outcome == "block":
        return Text("The gate blocked it: the role declines, or does nothing.", style="red")
    if outcome != "allow" or last.get("error"):
        return Text("The gate has no verdict on what was said.", style="yellow")
    if last.get("triple"):
        return Text("The gate passed it: what it contradicts is not core.", style="yellow")
    return Text(f"The gate let it pass{' when it was revised' if tried > 1 else ''}.", style="green")


def against(attempt: Found) -> Text:
    """The triple that a verdict rests on, why, and how sure it is; or why there is none."""
    if error := attempt.get("error"):
        return Text(f"let through unchecked: {one_line(error)}", style="yellow")
    triple = attempt.get("triple")
    if not triple:
        return Text("nothing", style="dim")
    core = (" (core)", "bold") if triple.get("core") else ""
    sure = "" if attempt.get("probability") is None else f" · {attempt['probability']:.2f}"
    why = f"\n{excerpt(attempt.get('reason') or '')}{sure}"
    return Text.assemble(one_line(triple.get("sentence")), core, (why, "dim"))


def change_views(evidence: Found) -> Iterable[RenderableType]:
    """What a turn has made of the role, and what became of it."""
    if reflection := evidence.get("reflection"):
        yield reflection_view(reflection)
        for error in reflection.get("not_weighed") or []:
            why = f"Whether a change contradicts what is core is not known, so it waits: {one_line(error)}"
            yield Text(why, style="yellow")
    for change in evidence.get("identity_changes") or []:
        yield Text.assemble(("The role has changed: ", "bold"), change_text(change))
    if declined := evidence.get("declined"):
        yield Text(f"Not approved: {declined} change{'s' * (declined != 1)}.", style="yellow")
    if most := evidence.get("identity_full"):
        yield Text(f"No room for more: a conversation changes an identity {most} times at most.", style="yellow")


def reflection_view(reflection: Found) -> Text:
    """What was found out about the role in this turn, and how much of it weighs enough."""
    if error := reflection.get("error"):
        return Text(f"Whether this has changed the role is not known: {one_line(error)}", style="yellow")
    found = reflection.get("found") or []
    if not found:
        return Text("Nothing in this turn changes the role.", style="dim")
    objects = "; ".join(f"{one_line(one.get('object') or '')} ({weight(one)})" for one in found)
    return Text(
        f"Evidence of a change, {reflection.get('proposed', 0)} of {len(found)} proposed: {objects}", style="dim"
    )


def change_text(change: Found) -> Text:
    """A change: what it says, what it takes the place of, what shows it and how much it weighs."""
    replaced = [old for old in (change.get("replaces"), change.get("replaces_too")) if old]
    gone = "".join(
        f"\n  in place of: {one_line(old.get('sentence') or '')}{' (core)' if old.get('core') else ''}"
        for old in replaced
    )
    shown = f"\n  shown by: {one_line(change.get('evidence') or '')} ({weight(change)})"
    approved = " · approved" if change.get("approved") else ""
    return Text.assemble(one_line(change.get("sentence")), gone, (shown + approved, "dim"))


def weight(change: Found) -> str:
    """How salient and how sure a change is."""
    salience = change.get("salience")
    sure = decimal(change.get("confidence"), 2)
    return f"salience {'–' if salience is None else salience} of 10, confidence {sure}"
