"""Intervals of what is measured over roles: BCa bootstrap, Student's t, Wilson, and bounds for what is missing."""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES, COVERED = 10_000, 0.95
FEWEST_ROLES = 10
"""With fewer roles, an interval is Student's t instead of resampled. On simulated means BCa covers 83 % with 5
roles, 90 % with 10, 92 % with 15, 94 % with 32; Student's t covers more with few."""
MISSING_ALLOWED = 0.02
"""More missing than this, and a run is invalid."""
Values = Mapping[str, Sequence[float]]
"""The values of each role; yes and no as 1 and 0."""
Array = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean over roles and where it lies; `low` and `high` are None where the roles do not vary."""

    mean: float
    low: float | None
    high: float | None
    n: int
    """How many roles: what was resampled."""
    n_values: int
    """How many values they have together."""
    covered: float
    seed: int
    method: str
    reason: str
    """Why the interval is not the BCa bootstrap's; empty where it is."""


class Share(NamedTuple):
    """A share and its Wilson interval, for values that have nothing in common; over roles, see `cluster_interval`."""

    share: float
    low: float
    high: float
    hits: int
    n: int
    covered: float
    seed: None
    method: str


class Missing(NamedTuple):
    """What is missing, and between which means the whole lies; `mean` is that of the values there are."""

    mean: float | None
    lowest: float
    """The mean if all that is missing were the lowest score."""
    highest: float
    share: float
    missing: int
    n: int
    valid: bool
    """Whether no more than 2 % is missing."""
    seed: None
    method: str


def cluster_interval(
    values: Values,
    *,
    seed: int,
    pooled: bool = False,
    resamples: int = RESAMPLES,
    covered: float = COVERED,
    unit: str = "role",
) -> Interval:
    """Where the mean over roles lies: a BCa bootstrap that draws whole roles, since the values of a role go together.

    With fewer than ten roles it is Student's t interval about the same mean, and `reason` says so.

    Args:
        values: the values of each role.
        seed: of the draws.
        pooled: weigh each value alike, as Acc(Dim) does, and not each role.
        resamples: how often to draw.
        covered: which share of such intervals is to hold the true mean.
        unit: what is drawn, in a word: where there is one role, its questions may be.

    Raises:
        ValueError: there are no roles, a role has no values, a value is no number, or `covered` is no share.
    """
    _refuse_cover(covered)
    sums, sizes = clusters(values, pooled)
    mean, n = float(_ratio(sums, sizes)), len(sums)
    spread = (sums - mean * sizes) / sizes.mean()
    low, high, method, reason = None, None, "none", ""
    if n == 1:
        reason = f"there is one {unit}: nothing says how {unit}s vary"
    elif np.abs(spread).max() <= 1e-12 * max(1.0, abs(mean)):
        reason = f"all {n} {unit}s have the same mean: nothing says how {unit}s vary"
    elif n < FEWEST_ROLES:
        method = f"Student's t over {unit}s"
        reason = f"a bootstrap of {n} {unit}s is too narrow: from {FEWEST_ROLES} on"
        low, high = _t_interval(mean, spread, covered)
    else:
        method = f"cluster bootstrap over {unit}s, BCa, {resamples} resamples"
        low, high = _bootstrap(sums, sizes, seed, resamples, covered)
    return Interval(mean, low, high, n, sum(map(len, values.values())), covered, seed, method, reason)


def paired_interval(
    first: Values,
    second: Values,
    *,
    seed: int,
    pooled: bool = False,
    resamples: int = RESAMPLES,
    covered: float = COVERED,
    unit: str = "role",
) -> Interval:
    """Where the difference of two methods on the same roles and questions lies, the first minus the second.

    Args:
        first: the values of each role, in the order of the questions.
        second: those of the other method, in the same order.
        seed: of the draws.
        pooled: as in `cluster_interval`.
        resamples: how often to draw.
        covered: which share of such intervals is to hold the true difference.
        unit: as in `cluster_interval`.
    """
    apart = differences(first, second)
    return cluster_interval(apart, seed=seed, pooled=pooled, resamples=resamples, covered=covered, unit=unit)


def wilson(hits: int, n: int, *, covered: float = COVERED) -> Share:
    """Return a share with its Wilson interval.

    Raises:
        ValueError: n is not positive, there are more hits than n, or `covered` is no share.
    """
    from statsmodels.stats.proportion import proportion_confint

    _refuse_cover(covered)
    if not (n > 0 and 0 <= hits <= n):
        raise ValueError(f"Give hits of a number of tries: {hits} of {n} is no share.")
    low, high = proportion_confint(hits, n, alpha=1 - covered, method="wilson")
    return Share(hits / n, float(low), float(high), hits, n, covered, None, "Wilson")


def missing(values: Sequence[float | None], *, low: float, high: float) -> Missing:
    """How much of a run is missing, and the bounds of its mean whatever the missing would have been.

    Args:
        values: a score each, None where a judge or a role failed.
        low: the lowest score there could be.
        high: the highest.

    Raises:
        ValueError: nothing was asked, the scale does not go up, or a score is not on it.
    """
    if not (len(values) and low < high):
        raise ValueError(f"Give one value or more, and a scale that goes up: from {low} to {high}.")
    there = [one for one in values if one is not None]
    if any(not low <= one <= high for one in there):
        raise ValueError(f"Give scores from {low} to {high}, and None where one is missing.")
    n, gone = len(values), len(values) - len(there)
    lowest, highest = ((sum(there) + gone * bound) / n for bound in (low, high))
    mean = fmean(there) if there else None
    return Missing(mean, lowest, highest, gone / n, gone, n, gone <= MISSING_ALLOWED * n, None, "worst-case bounds")


def percentile_interval(values: Sequence[float]) -> tuple[float, float]:
    """Where 95 % of the means of resampled observations lie: the percentile bootstrap, with a fixed seed.

    It needs numpy alone, so that measures of simulations are had without the extra `evaluate`.
    """
    if not values:
        raise ValueError("There is no band about nothing: give a value or more.")
    dice, sample = np.random.default_rng(0), np.asarray(values, dtype=np.float64)
    means = sample[dice.integers(len(sample), size=(RESAMPLES, len(sample)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - COVERED) / 2, (1 + COVERED) / 2])
    return float(low), float(high)


def _refuse_cover(covered: float) -> None:
    if not 0 < covered < 1:
        raise ValueError(f"Give the share that intervals are to cover, such as {COVERED}: {covered} is none.")


def _ratio(sums: Array, sizes: Array, axis: int = -1) -> Any:
    return sums.sum(axis=axis) / sizes.sum(axis=axis)


def _t_interval(mean: float, spread: Array, covered: float) -> tuple[float, float]:
    """Student's t interval of a ratio whose roles deviate so much from it."""
    from scipy.stats import t

    n = len(spread)
    half = float(t.ppf((1 + covered) / 2, n - 1)) * float(np.sqrt((spread**2).sum() / (n - 1) / n))
    return mean - half, mean + half


def _bootstrap(sums: Array, sizes: Array, seed: int, resamples: int, covered: float) -> tuple[float, float]:
    from scipy.stats import bootstrap

    found = bootstrap(
        (sums, sizes),
        _ratio,
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        confidence_level=covered,
        method="BCa",
        rng=np.random.default_rng(seed),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def clusters(values: Values, pooled: bool) -> tuple[Array, Array]:
    """What each role adds to a sum, and how much it weighs."""
    if not values or not all(len(one) > 0 for one in values.values()):
        raise ValueError("Give one role or more, each with one value or more: leave out and count what is missing.")
    _refuse_gaps(values)
    sizes = np.array([len(one) if pooled else 1 for one in values.values()], dtype=np.float64)
    return np.array([fmean(one) for one in values.values()]) * sizes, sizes


def differences(first: Values, second: Values) -> dict[str, list[float]]:
    """The first minus the second, role by role and question by question."""
    if first.keys() != second.keys():
        raise ValueError(f"Compare methods on the same roles: {sorted(first.keys() ^ second.keys())} have one only.")
    if odd := [role for role in first if len(first[role]) != len(second[role])]:
        raise ValueError(f"Compare methods on the same questions: {odd[0]!r} has more of one than of the other.")
    _refuse_gaps(first)
    _refuse_gaps(second)
    return {role: [a - b for a, b in zip(first[role], second[role], strict=True)] for role in first}


def _refuse_gaps(values: Values) -> None:
    if not all(one is not None and isfinite(one) for of in values.values() for one in of):
        raise ValueError("A value is no number: leave it out, and count it as missing.")


def pairs(first: Sequence[float], second: Sequence[float]) -> tuple[Array, Array]:
    """Two methods' values in the same order."""
    one, other = (np.asarray(side, dtype=np.float64) for side in (first, second))
    if one.shape != other.shape or not one.size:
        raise ValueError(f"Give as many values of both, one at least: {one.size} and {other.size} do not pair up.")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise ValueError("A value is no number: leave the pair out, and count it as missing.")
    return one, other
