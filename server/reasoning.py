"""Why a reply is as it is, in plain words, while it comes: what a client shows as the role's thinking."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

SHOWN = 160  # characters of a text that is quoted
MOST = 6  # things of one kind that are named


def why(evidence: Mapping[str, Any], told: set[str]) -> Iterator[str]:
    """The sentences about what is new in the evidence of a turn.

    Args:
        evidence: as it is now; it may have been changed by hand, and hold anything.
        told: the names in it of which was told already; those of which is told now are added.
    """
    for name, words in WORDS.items():
        if name in told or name not in evidence:
            continue
        try:
            lines = [line for line in words(evidence[name]) if line]
        except (TypeError, KeyError, AttributeError, ValueError, IndexError):
            lines = []
        if lines or evidence[name]:
            told.add(name)
        yield from lines
    for name, part in evidence.items():  # what a part has found, in an ensemble
        if name not in WORDS and isinstance(part, Mapping) and part.keys() & WORDS.keys():
            known = {one.removeprefix(f"{name}.") for one in told if one.startswith(f"{name}.")}
            for line in why(part, known):
                yield f"{name}: {line}"
            told.update(f"{name}.{one}" for one in known)


def quoted(text: Any) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(str(text).split())
    return f"“{line if len(line) <= SHOWN else line[: SHOWN - 1] + '…'}”"


def listed(things: Sequence[Any]) -> str:
    """Some names, and how many more there are."""
    more = len(things) - MOST
    return ", ".join(map(str, things[:MOST])) + (f", and {more} more" if more > 0 else "")


def passages(found: Any) -> Iterator[str]:
    """Passages of the persona, with where they stand."""
    for one in found[:MOST]:
        where = " › ".join([str(one.get("source", "")), *map(str, one.get("headings", []))])
        score = one.get("confidence", one.get("score"))
        points = f" ({score:.2f})" if isinstance(score, int | float) else ""
        yield f"Read{points} in {where}: {quoted(one.get('text', ''))}"


def retrieved(found: Any) -> Iterator[str]:
    """How many passages are looked at; those that are chosen are quoted."""
    yield f"Found {len(found)} passages."


def selection(found: Mapping[str, Any]) -> Iterator[str]:
    """What guided selection judged, and what it kept."""
    chosen = found["selected"]
    yield f"Judged {found['judged']} passages: {len(chosen)} help to answer."
    if found.get("fallback"):
        yield f"None was found by judging, so {found['fallback']} stand in."
    yield from passages(chosen)


def attributes(found: Any) -> Iterator[str]:
    """What follows from passages about the role."""
    for one in found[:MOST]:
        yield f"So of me is true: {one['attribute']}"


def entities(found: Any) -> Iterator[str]:
    """What the question is about, and whether the role can know it."""
    for one in found[:MOST]:
        reason = f": {one['reason']}" if one.get("reason") else ""
        yield f"{one['name']} is {one['type']} ({one['strategy']}){reason}"


def knowledge_of(found: Any) -> Iterator[str]:
    """What the graph says of entities."""
    for one in found[:MOST]:
        yield f"{one['entity']}: {quoted(one['description'])}"


def mood(found: Mapping[str, Any]) -> Iterator[str]:
    """How the question feels."""
    felt = {name: int((one or {}).get("score") or 0) for name, one in (found.get("emotions") or {}).items()}
    strong = sorted((name for name, score in felt.items() if score), key=lambda name: -felt[name])
    if strong:
        yield "The question feels like " + listed([f"{name} {felt[name]}" for name in strong[:3]]) + "."


def memories(found: Any) -> Iterator[str]:
    """What is remembered."""
    for one in found[:MOST]:
        score = one.get("score")
        points = f" ({score:.2f})" if isinstance(score, int | float) else ""
        yield f"Remembered{points}: {quoted(one.get('text') or one.get('memory') or '')}"


def relations(found: Mapping[str, Any]) -> Iterator[str]:
    """Who is close to the two."""
    clique = found.get("clique") or []
    yield f"Who all know each other here: {listed(clique)}." if clique else "The two have never spoken."
    for one in (found.get("edges") or [])[:MOST]:
        if one.get("score") is not None:
            reason = f": {one['reason']}" if one.get("reason") else ""
            yield f"{' and '.join(one['roles'])} stand at {one['score']:g}{reason}"


def dialogues(found: Any) -> Iterator[str]:
    """What was once said."""
    for one in found[:MOST]:
        if one.get("text"):
            yield f"Said once: {quoted(one['text'])}"


def records(found: Any) -> Iterator[str]:
    """What the role has worked out about another."""
    for one in found[:MOST]:
        if one.get("text"):
            yield f"Kept in mind: {quoted(one['text'])}"


def identity(found: Mapping[str, Any]) -> Iterator[str]:
    """Who the role is, as its chronicle says."""
    triples = [one["sentence"] for one in found.get("triples") or [] if one.get("sentence")]
    for sentence in triples[:MOST]:
        yield f"Who I am: {sentence}"


def gate(found: Mapping[str, Any]) -> Iterator[str]:
    """What the gate said of what the role was about to do."""
    for one in found.get("attempts") or []:
        reason = f": {one['reason']}" if one.get("reason") else ""
        yield f"The gate says {one.get('verdict')} to {quoted(one.get('text', ''))}{reason}"


def drafts(found: Any) -> Iterator[str]:
    """What was drafted, and how near it is to the role."""
    for number, one in enumerate(found, start=1):
        if one.get("score") is not None:
            yield f"Draft {number} scores {one['score']:g}."


def slips(found: Any) -> Iterator[str]:
    """How the reply began and was drawn again."""
    for one in found:
        yield f"A beginning was {one['outcome']}, since it was a {one['slip']}: {quoted(one['text'])}"


WORDS: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "hypothetical": lambda text: iter([f"What an answer may speak of: {quoted(text)}"] if text else []),
    "entities": entities,
    "specific": knowledge_of,
    "general": knowledge_of,
    "selection": selection,
    "retrieved": retrieved,
    "knowledge": passages,
    "attributes": attributes,
    "mood": mood,
    "memories": memories,
    "relations": relations,
    "dialogues": dialogues,
    "records": records,
    "identity": identity,
    "gate": gate,
    "drafts": drafts,
    "slips": slips,
}
"""What is said of each mechanism's evidence, in the order in which a turn comes by it."""
