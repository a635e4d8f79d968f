"""The texts that a reply was made from, by its evidence: what a judge holds it against."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PLACES = ("knowledge", "selection", "specific", "general", "memories", "dialogues", "identity", "episodes")
"""Where the methods' evidence has what prompts show of a role."""
TEXTS = ("text", "sentence", "description")


def shown_texts(evidence: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the passages, memories, dialogues, statements or triples of a reply, each once, as they come."""
    found = (text for place in PLACES for text in texts_in(evidence.get(place)))
    return tuple(dict.fromkeys(found))


def texts_in(value: Any) -> Iterator[str]:
    """The texts in a part of the evidence, however deep."""
    if isinstance(value, Mapping):
        yield from (text for name in TEXTS if isinstance(text := value.get(name), str) and text.strip())
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from texts_in(one)
