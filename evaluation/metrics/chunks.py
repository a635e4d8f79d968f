"""How a method uses a role's chunks (AMADEUS Table 3, Figure 1)."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

Chosen = Iterable[Iterable[Hashable]]
"""For each question the chunks that were chosen, by what tells them apart; one chosen twice for it counts once."""


class ChunkUsage(NamedTuple):
    """Which share of a role's chunks was chosen for one question or more."""

    rate: float
    used: int
    n_chunks: int
    n_questions: int


class Duplication(NamedTuple):
    """How evenly the chunks of a role are chosen; those that were never chosen are counted too."""

    histogram: dict[int, int]
    """Number of chunks by the number of questions that they were chosen for."""
    gini: float | None
    """0: all as often, near 1: always the same; None where no chunk was chosen."""
    entropy: float | None
    """The entropy of the choices as a share of the highest, 1: all as often; None also where there is one chunk."""
    n_chunks: int
    n_questions: int


def chunk_usage(chosen: Chosen, n_chunks: int) -> ChunkUsage:
    """Return the share of a role's chunks that were chosen for a set of questions (AMADEUS Table 3).

    Raises:
        ValueError: there are no questions, or fewer chunks than were chosen.
    """
    counts, n = _counts(chosen, n_chunks)
    return ChunkUsage(len(counts) / n_chunks, len(counts), n_chunks, n)


def chunk_duplication(chosen: Chosen, n_chunks: int) -> Duplication:
    """How often each chunk of a role was chosen for a set of questions (AMADEUS Figure 1)."""
    from scipy.stats import entropy

    counts, n = _counts(chosen, n_chunks)
    times = sorted([*counts.values(), *[0] * (n_chunks - len(counts))])
    evenness = float(entropy(times, base=n_chunks)) if counts and n_chunks > 1 else None
    return Duplication(dict(sorted(Counter(times).items())), _gini(times), evenness, n_chunks, n)


def _sets(chosen: Chosen) -> list[set[Hashable]]:
    sets = [set(one) for one in chosen]
    if not sets:
        raise ValueError("There are no questions to measure: give what was chosen for one or more.")
    return sets


def _counts(chosen: Chosen, n_chunks: int) -> tuple[Counter[Hashable], int]:
    """For how many questions each chunk was chosen, and of how many."""
    sets = _sets(chosen)
    counts = Counter(chunk for one in sets for chunk in one)
    if n_chunks < max(1, len(counts)):
        raise ValueError(f"Give the number of all chunks of the role: {len(counts)} were chosen, so not {n_chunks}.")
    return counts, len(sets)


def _gini(times: Sequence[int]) -> float | None:
    """The Gini coefficient of counts in rising order."""
    n, total = len(times), sum(times)
    if not total:
        return None
    return sum((2 * at - n - 1) * one for at, one in enumerate(times, 1)) / (n * total)
