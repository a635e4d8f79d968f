"""How a method uses a role's chunks, and how similar they are to the questions (AMADEUS Tables 1 and 3, Figure 1)."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import fsum
from statistics import fmean
from typing import NamedTuple

import numpy as np

Chosen = Iterable[Iterable[Hashable]]
"""For each question the chunks that were chosen, by what tells them apart; one chosen twice for it counts once."""
Similarities = Mapping[str, Sequence[Sequence[float]]]
"""For each role and question the similarities of the k chunks that were retrieved."""


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


class SelectionFailure(NamedTuple):
    """The share of questions for which guided selection chose nothing and fell back."""

    share: float
    failed: int
    n: int


class Similarity(NamedTuple):
    """The similarities of retrieved chunks; only comparable at the same k, which AMADEUS does not state."""

    k: int
    n_roles: int
    n_questions: int
    """Of all roles together."""
    ddof: int
    """What is taken off the number of values where a variance is made of them: 1, a sample's."""
    mean: float
    """The mean of the roles' means."""
    variance: float
    """The mean of the roles' variances."""
    sum_of_means: float
    """AMADEUS Table 1 shows sums over its 15 roles."""
    sum_of_variances: float
    means: dict[str, float]
    """By role: what an interval is made of."""


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


def selection_failure(chosen: Chosen) -> SelectionFailure:
    """Return the share of questions, of all roles together, for which nothing was chosen (AMADEUS Table 3).

    Args:
        chosen: what was chosen before the fallback.
    """
    sets = _sets(chosen)
    failed = sum(not one for one in sets)
    return SelectionFailure(failed / len(sets), failed, len(sets))


def similarity(similarities: Similarities) -> Similarity:
    """Mean and variance of the similarities of retrieved chunks, role by role, and over the roles (AMADEUS Table 1).

    Raises:
        ValueError: there are no roles, a role has fewer than two values, or the questions have different k.
    """
    sizes = {len(one) for of in similarities.values() for one in of}
    if len(sizes) != 1:
        raise ValueError(f"Retrieve the same number of chunks for every question, not {sorted(sizes)}.")
    values = {role: np.asarray(of, dtype=np.float64).ravel() for role, of in similarities.items()}
    if any(len(one) < 2 or not np.isfinite(one).all() for one in values.values()):
        raise ValueError("Give each role two similarities or more that are numbers: there is no variance otherwise.")
    means = {role: float(one.mean()) for role, one in values.items()}
    variances = [float(one.var(ddof=1)) for one in values.values()]
    return Similarity(
        k=sizes.pop(),
        n_roles=len(values),
        n_questions=sum(map(len, similarities.values())),
        ddof=1,
        mean=fmean(means.values()),
        variance=fmean(variances),
        sum_of_means=fsum(means.values()),
        sum_of_variances=fsum(variances),
        means=means,
    )


def similarity_table(splitters: Mapping[str, Similarities]) -> dict[str, Similarity]:
    """Compare splitters on the same roles and questions at the same k (AMADEUS Table 1).

    Raises:
        ValueError: k, the roles or the numbers of questions differ, or as in `similarity`.
    """
    table = {name: similarity(of) for name, of in splitters.items()}
    asked = {(one.k, *sorted((role, len(of)) for role, of in splitters[name].items())) for name, one in table.items()}
    if len(asked) > 1:
        raise ValueError("Compare splitters on the same roles, as many questions and the same k: these differ.")
    return table


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
