"""Intervals of what is measured over roles, which stay on the scale and keep the role as the unit; what is missing."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

COVERED = 0.95
MISSING_ALLOWED = 0.02
"""More missing than this, and a run is incomplete."""
Values = Mapping[str, Sequence[float]]
"""The values of each role; yes and no as 1 and 0."""
Array = NDArray[np.float64]
Ends = tuple[float, float]
"""Where a scale begins and ends; either may be infinite."""
SHARE: Ends = (0.0, 1.0)
COSINE: Ends = (-1.0, 1.0)
POSITIVE: Ends = (0.0, inf)
"""Of what is counted or timed."""
ANY: Ends = (-inf, inf)
SAME = 1e-6
"""A spread that is no larger, as a share of the mean or of the scale, is rounding: a cosine of 32-bit vectors has seven
digits."""


class Interval(NamedTuple):
    """A mean over roles and where it lies; `low` and `high` are None where nothing says how roles vary."""

    mean: float
    low: float | None
    high: float | None
    n: int
    """How many roles: what the interval is over."""
    n_values: int
    """How many values they have together."""
    covered: float
    method: str
    reason: str
    """Why there is no interval, or what it rests on where roles do not vary; else empty."""


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
    values: Values, *, scale: Ends = SHARE, pooled: bool = False, covered: float = COVERED, unit: str = "role"
) -> Interval:
    """Where the mean over roles lies: the values of a role go together, so that roles are what is counted.

    On a scale with two ends it is the interval of as many yes-or-no answers as would vary like the roles (see
    `effective_interval`). What has a lowest value alone has Student's t of the logarithm, all else Student's t.
    docs/concepts/statistics.md has how often each covers.

    Args:
        values: the values of each role.
        scale: its two ends.
        pooled: weigh each value alike, as Acc(Dim) does, and not each role.
        covered: which share of such intervals is to hold the true mean.
        unit: what the interval is over, in a word: where there is one role, its questions may be.

    Raises:
        ValueError: there are no roles, a role has no values, a value is no number or off the scale, or `covered` is
            no share.
    """
    _refuse_cover(covered)
    sums, sizes = clusters(values, pooled)
    single = [one for of in values.values() for one in of]
    if not all(scale[0] - SAME <= one <= scale[1] + SAME for one in (min(single), max(single))):
        raise ValueError(f"Give values on their scale: {min(single)} to {max(single)} goes beyond {scale}.")
    mean, n = float(sums.sum() / sizes.sum()), len(sums)
    spread = (sums - mean * sizes) / sizes.mean()
    about = (n, len(single), covered)
    span = scale[1] - scale[0]
    same = float(np.abs(spread).max()) <= SAME * (span if isfinite(span) else max(1.0, abs(mean)))
    if n == 1:
        return Interval(mean, None, None, *about, "none", f"there is one {unit}: nothing says how {unit}s vary")
    if not isfinite(span):
        if same:
            reason = f"all {n} {unit}s have the same mean: nothing says how {unit}s vary"
            return Interval(mean, None, None, *about, "none", reason)
        low, high = _t_interval(mean, spread, covered, of_logarithm=scale == POSITIVE)
        method = f"Student's t over {unit}s" + (", of the logarithm" if scale == POSITIVE else "")
        return Interval(mean, low, high, *about, method, "")
    within = sum(float(np.var(of)) / len(of) for of in values.values()) / n**2
    yes_no = scale == SHARE and all(one in (0, 1) for one in single)
    place, apart = np.asarray((mean - scale[0]) / span), spread / span
    if yes_no and len(single) == n:
        method, ends = f"Clopper–Pearson over {unit}s", clopper_pearson(place, n, covered)
    else:
        method = f"effective n over {unit}s (Korn and Graubard)"
        ends = effective_interval(
            place, apart, most=len(single) if yes_no else None, within=within / span**2, covered=covered
        )
    low, high = (float(scale[0] + span * end) for end in ends)
    reason = ""
    if same:
        rests = (
            f"so that each {unit} counts as one yes-or-no answer"
            if within <= SAME**2
            else "so that the interval is taken from their answers"
        )
        reason = f"all {n} {unit}s have the same mean, {rests}"
    return Interval(mean, min(low, mean), max(high, mean), *about, method, reason)


def paired_interval(
    first: Values,
    second: Values,
    *,
    scale: Ends = SHARE,
    pooled: bool = False,
    covered: float = COVERED,
    unit: str = "role",
) -> Interval:
    """Where the difference of two methods on the same roles and questions lies, the first minus the second.

    Args:
        first: the values of each role, in the order of the questions.
        second: those of the other method, in the same order.
        scale: that of the values; a difference lies within its span.
        pooled: as in `cluster_interval`.
        covered: which share of such intervals is to hold the true difference.
        unit: as in `cluster_interval`.
    """
    span = scale[1] - scale[0]
    return cluster_interval(differences(first, second), scale=(-span, span), pooled=pooled, covered=covered, unit=unit)


def effective_interval(
    mean: Array, spread: Array, *, most: float | None = None, within: float = 0.0, covered: float = COVERED
) -> tuple[Array, Array]:
    """Return the intervals of means between 0 and 1 by the effective n of Korn and Graubard (1998).

    The effective n is how many independent answers of yes or no would vary as the mean of the roles does. It is taken
    smaller by the square of the ratio of Student's quantiles, as the variance is estimated from few roles, and the
    interval is Clopper and Pearson's of so many answers. The degrees of freedom of that variance go down with the
    kurtosis of the roles' means; of a skewed sample it counts as no smaller than a gamma distribution's.

    Args:
        mean: the means; any shape.
        spread: what each role's mean differs from it; one axis more, of the roles (two or more).
        most: how many answers of yes or no there are: no fewer vary less. None: values are scores.
        within: the variance that the mean has from the answers of each role; it counts where roles do not vary. Where
            answers do not either, each role counts as one answer of yes or no.
        covered: which share of such intervals is to hold the true mean.
    """
    from scipy.special import stdtrit

    n, upper = spread.shape[-1], (1 + covered) / 2
    squares = (spread**2).sum(axis=-1)
    same = np.abs(spread).max(axis=-1) <= SAME
    variance = np.where(same, within, squares / (n - 1) / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = mean * (1 - mean) / variance
        skew = (spread**3).mean(axis=-1) / (squares / n) ** 1.5
        excess = (spread**4).mean(axis=-1) / (squares / n) ** 2 - 3
        excess = np.where(same, 0.0, np.maximum(np.maximum(excess, 1.5 * skew**2), 0.0))
        freedom = 2 / (excess / n + 2 / (n - 1))
        found = np.clip(found, n - 1, most if most is not None else 1e9)
        smaller = (stdtrit(np.maximum(found - 1, 1), upper) / stdtrit(np.clip(freedom, 1, n - 1), upper)) ** 2
    nothing = same & (variance <= SAME**2)
    return clopper_pearson(mean, np.where(nothing, n, found * smaller), covered)


def clopper_pearson(mean: Array, n: Array | int, covered: float = COVERED) -> tuple[Array, Array]:
    """Return the exact intervals of shares of n answers; n need be no whole number."""
    from scipy.special import betaincinv

    hits, misses = mean * n, (1 - mean) * n
    few = 1e-9  # a share of 0 or 1 but for rounding
    low = np.where(hits < few, 0.0, betaincinv(np.maximum(hits, few), misses + 1, (1 - covered) / 2))
    high = np.where(misses < few, 1.0, betaincinv(hits + 1, np.maximum(misses, few), (1 + covered) / 2))
    return low, high


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


def _refuse_cover(covered: float) -> None:
    if not 0 < covered < 1:
        raise ValueError(f"Give the share that intervals are to cover, such as {COVERED}: {covered} is none.")


def _t_interval(mean: float, spread: Array, covered: float, *, of_logarithm: bool) -> Ends:
    """Student's t interval of a ratio whose roles deviate so much from it."""
    from scipy.special import stdtrit

    n = len(spread)
    half = float(stdtrit(n - 1, (1 + covered) / 2)) * float(np.sqrt((spread**2).sum() / (n - 1) / n))
    if of_logarithm:
        times = float(np.exp(half / mean))
        return mean / times, mean * times
    return mean - half, mean + half


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
