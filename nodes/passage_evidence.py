"""Passages as they stand in a state: an id and a score while a turn is under way, the text only as evidence."""

from collections.abc import Iterable, Sequence

from typing_extensions import TypedDict

from dramaturg.stores.index.passages import PassageStore, StoredPassage


class Candidate(TypedDict):
    """A passage in the ranking by similarity to the question."""

    passage: str
    score: float


class PassageEvidence(TypedDict):
    """A passage that a reply rests on, with its cosine similarity to the question."""

    passage: str
    score: float
    source: str
    headings: list[str]
    text: str


def as_evidence(store: PassageStore, candidates: Iterable[Candidate]) -> list[PassageEvidence]:
    """Look up the texts of candidates."""
    return [evidence(store.get(candidate["passage"]), candidate["score"]) for candidate in candidates]


def evidence(passage: StoredPassage, score: float) -> PassageEvidence:
    """One passage with where it stands in the persona."""
    return {
        "passage": passage.id,
        "score": score,
        "source": passage.source,
        "headings": list(passage.headings),
        "text": passage.text,
    }


def in_context(passage: StoredPassage) -> str:
    """A passage under its headings, as a model reads it."""
    return under_headings(passage.headings, passage.text)


def under_headings(headings: Sequence[str], text: str) -> str:
    """A chunk with its hierarchical context (ĉ = c + H, AMADEUS Eq. 5)."""
    return "\n".join([" > ".join(headings), text]).strip()
