"""How similar the chunks that are retrieved are to the questions (AMADEUS Table 1)."""

from collections.abc import Mapping, Sequence
from math import fsum
from statistics import fmean
from typing import NamedTuple

import numpy as np

Similarities = Mapping[str, Sequence[Sequence[float]]]
"""For each role and question the similarities of the k chunks that were retrieved."""


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
