"""Tests of methods on the same roles and questions, their correction in a table, and what they could have found."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np

from dramaturg.evaluation.metrics.intervals import SAME, Array, Values, clusters, differences, pairs

LEVEL, POWER = 0.05, 0.8
FEWEST_FLIPPED = 6
"""With fewer roles no sign flip comes below 0.05, whatever they show."""
MOST_EXACT = 16
"""Up to this number of roles all sign flips are tried (65,536); beyond it, `DRAWN` are."""
DRAWN = 99_999
SIMULATED, AT_ONCE, FLIPPED, ASYMPTOTIC = 2000, 50, 11, 64
"""What power is computed of: so many samples, some at once, under all flips up to so many roles and under 1,023 at
random beyond; above the last number of roles Student's t has the same power."""


class PairedTest(NamedTuple):
    """A two-sided test of a paired difference, over roles."""

    difference: float
    """The first minus the second."""
    p: float | None
    """None where there is one unit, which nothing can be tested on."""
    least: float
    """The smallest p that sign flips of so many roles can have."""
    n: int
    seed: int | None
    """None where nothing is drawn at random."""
    method: str
    detectable: float | None
    """The smallest difference that is found 80 times of 100 where roles differ as they do here; None where none is."""


class PairedCounts(NamedTuple):
    """McNemar's test: only the pairs that differ say anything; fewer than six of them never come below p = 0.05."""

    difference: float
    p: float
    n: int
    only_first: int
    """Pairs that only the first got right."""
    only_second: int
    seed: None
    method: str


class OrdinalTest(NamedTuple):
    """Wilcoxon's signed-rank test of paired scores, and Cliff's delta from -1 to 1 as the size of the difference."""

    delta: float
    p: float
    n: int
    n_different: int
    """Pairs that are not equal."""
    seed: None
    method: str


class Corrected(NamedTuple):
    """A p-value as one of a table's."""

    p: float
    corrected: float
    significant: bool
    n: int
    """How many tests are in the table."""
    seed: int | None
    """None where nothing is drawn at random."""
    method: str


class Detectable(NamedTuple):
    """The smallest paired difference of shares that n pairs would have shown; None where no difference would."""

    difference: float | None
    n: int
    discordance: float
    """The share of pairs that differ, one way or the other."""
    power: float
    level: float
    seed: None
    method: str


def paired_test(
    first: Values,
    second: Values,
    *,
    seed: int,
    tests: int = 1,
    unit: str = "role",
    largest: float = inf,
) -> PairedTest:
    """Test whether two methods differ, over roles.

    Sign flips of the roles' differences: how often is their mean as large under any signs? That takes the differences
    for symmetric about 0 where the methods do not differ, and nothing else. Fewer than six roles have Student's t,
    which takes them for normal; where all of them are equal it would find anything, and there the p is that of sign
    flips.

    Args:
        first: the values of each role, in the order of the questions.
        second: those of the other method, in the same order.
        seed: of the flips that are drawn.
        tests: how many are corrected together, for `detectable`.
        unit: what the test is over, in a word.
        largest: the largest difference that the scale allows; `detectable` is None where it would be larger.

    Raises:
        ValueError: the values do not pair up, a role has none, or one is no number.
    """
    gaps = clusters(differences(first, second), pooled=False)[0]
    n = len(gaps)
    least, mean = least_p(n), float(gaps.mean())
    sds = detectable_sds(n, tests=tests)
    found = None if sds is None or np.ptp(gaps) <= SAME else sds * float(gaps.std(ddof=1))
    found = None if found is not None and found > largest else found
    if n == 1:
        return PairedTest(mean, None, least, n, None, f"none: there is one {unit}", found)
    if n < FEWEST_FLIPPED:
        method = f"Student's t over {n} {unit}s, taking their differences for normal; sign flips reach {least:.3g}"
        return PairedTest(mean, float(student_p(gaps)), least, n, None, method, found)
    exact = n <= MOST_EXACT
    ways = f"exact, {2**n} ways" if exact else f"{DRAWN} ways at random"
    method = f"sign flips over {unit}s, {ways}"
    return PairedTest(mean, float(flipped_p(gaps, seed)), least, n, None if exact else seed, method, found)


def flipped_p(gaps: Array, seed: int) -> Array:
    """Return the p of sign flips of differences; any shape, whose last axis is over roles.

    Exact up to 16 roles. Beyond, of the flips that are drawn and the one that was seen, the share that is as large: so
    no p is 0 (Phipson and Smyth 2010). scipy's `permutation_test` finds the same, one difference at a time.
    """
    n = gaps.shape[-1]
    signs = _signs(n, seed if n > MOST_EXACT else 0)
    slack = 1e-12 * np.abs(gaps).sum(axis=-1)
    as_large = (np.abs(gaps @ signs.T) >= (np.abs(gaps.sum(axis=-1)) - slack)[..., None]).sum(axis=-1)
    found: Array = as_large / len(signs) if n <= MOST_EXACT else (as_large + 1) / (len(signs) + 1)
    return found


def student_p(gaps: Array) -> Array:
    """Return the p of Student's t of differences, two or more along the last axis; of equal ones, of sign flips."""
    from scipy.special import stdtr

    n = gaps.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = gaps.mean(axis=-1) / (gaps.std(axis=-1, ddof=1) / np.sqrt(n))
    equal = np.ptp(gaps, axis=-1) <= SAME
    none = np.abs(gaps).max(axis=-1) <= SAME
    found: Array = np.where(none, 1.0, np.where(equal, least_p(n), 2 * stdtr(n - 1, -np.abs(t))))
    return found


def least_p(n: int) -> float:
    """Return the smallest p that sign flips of n roles can have."""
    return min(1.0, 2.0 ** (1 - n)) if n <= MOST_EXACT else 1 / (DRAWN + 1)


@lru_cache(maxsize=64)
def detectable_sds(n: int, level: float = LEVEL, tests: int = 1, power: float = POWER) -> float | None:
    """Return the smallest difference that n roles show with this power, in standard deviations over roles.

    It is of the test that is used: sign flips from six roles on, simulated with normal differences; among several
    tests, of the first step of `step_down`, the others being of no difference and correlated by one half, as they are
    with one baseline. Below six roles it is Student's t at the first level of Holm's correction, computed.

    Args:
        n: how many roles.
        level: below which p the test counts as finding it.
        tests: how many are corrected together.
        power: how probable it is to be that the test finds the difference.

    Returns:
        None where no p comes below the level: sign flips of so few roles do not, or there is one role.
    """
    if n < 2 or (n >= FEWEST_FLIPPED and least_p(n) > level):
        return None
    if n < FEWEST_FLIPPED or n > ASYMPTOTIC:
        return _student_sds(n, level / tests, power)
    dice = np.random.default_rng(n)
    signs = (_signs(n, 0) if n <= FLIPPED else np.vstack([np.ones(n), dice.choice([-1.0, 1.0], (1023, n))]))[1:]
    allowed = int(level * (len(signs) + 1) + 1e-9) - 1
    found = [_critical(signs, _correlated(dice, tests, n), allowed) for _ in range(SIMULATED // AT_ONCE)]
    return float(np.quantile(np.concatenate(found), power))


def _correlated(dice: np.random.Generator, tests: int, n: int) -> Array:
    """Samples of differences of roles without a true one: sample, test, role. Two tests are correlated by one half."""
    own = dice.standard_normal((AT_ONCE, tests, n))
    return own if tests == 1 else (own + dice.standard_normal((AT_ONCE, 1, n))) / 2**0.5


def _critical(signs: Array, gaps: Array, allowed: int) -> Array:
    """The shift of the first test's differences from which on no more than `allowed` flips are as large, by sample.

    A flip is as large up to a shift that can be told: for the first test where its sum under the flip and the shifted
    sum meet, for the others where the shifted statistic passes their largest.
    """
    n, flips = gaps.shape[-1], signs.sum(axis=1)
    first = gaps[:, 0]
    total, flipped = first.sum(axis=1, keepdims=True), first @ signs.T
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(flips < n, (flipped - total) / (n - flips), np.inf)
        down = np.where(flips > -n, -(flipped + total) / (n + flips), np.inf)
        until = np.maximum(up, down)
    if gaps.shape[1] > 1:
        others = gaps[:, 1:] / np.sqrt((gaps[:, 1:] ** 2).sum(axis=2, keepdims=True))
        largest = np.abs(others @ signs.T).max(axis=1)
        left = np.maximum(n - largest**2, 1e-12)
        until = np.maximum(until, largest * np.sqrt(first.var(axis=1, keepdims=True) / left) - total / n)
    return np.partition(until, -allowed - 1, axis=1)[:, -allowed - 1]


def _student_sds(n: int, level: float, power: float) -> float:
    """The same of Student's t, at one level."""
    from scipy.optimize import brentq
    from scipy.special import gammaincinv, ndtr, stdtrit

    # The deviation that is estimated, as a multiple of the true one, at 2,000 of its quantiles.
    estimated = np.sqrt(2 * gammaincinv((n - 1) / 2, (np.arange(2000) + 0.5) / 2000) / (n - 1))
    beyond = float(stdtrit(n - 1, 1 - level / 2)) * estimated

    def gap(sds: float) -> float:
        far = sds * n**0.5
        return float((ndtr(far - beyond) + ndtr(-far - beyond)).mean()) - power

    return float(brentq(gap, 0.0, 1e6, xtol=1e-6))


def step_down(gaps: Mapping[str, Mapping[str, float]], *, seed: int, level: float = LEVEL) -> dict[str, Corrected]:
    """Correct sign flips of several differences together: step-down max-T (Westfall and Young 1993, algorithm 2.8).

    A role's sign is flipped in all differences at once, so that the correction knows how they go together: twelve
    differences of the same roles that agree cost little more than one. Each difference counts by its sum over the root
    of its sum of squares, which no flip changes and which has the order of its mean's p. A difference that has no value
    of some roles rests on the others.

    Args:
        gaps: by name of the difference, the mean difference of each role.
        seed: of the flips that are drawn, above 16 roles.
        level: below which the corrected p counts as found.

    Raises:
        ValueError: there is none, or one has no role.
    """
    if not gaps or not all(gaps.values()):
        raise ValueError("Give one difference or more, each of one role or more.")
    units = list(dict.fromkeys(unit for of in gaps.values() for unit in of))
    table = np.array([[of.get(unit, 0.0) for unit in units] for of in gaps.values()])
    size = np.sqrt((table**2).sum(axis=1))
    table = table / np.where(size > SAME, size, np.inf)[:, None]
    seen = np.abs(table.sum(axis=1)) - 1e-9
    order = np.argsort(seen, kind="stable")  # the smallest first
    exact = len(units) <= MOST_EXACT
    signs = _signs(len(units), 0 if exact else seed)
    alone, together = np.zeros(len(seen)), np.zeros(len(seen))
    for part in np.array_split(signs, 1 + len(signs) * len(seen) // 2_000_000):
        flipped = np.abs(part @ table[order].T)
        alone += (flipped >= seen[order]).sum(axis=0)
        together += (np.maximum.accumulate(flipped, axis=1) >= seen[order]).sum(axis=0)
    more = 0 if exact else 1
    p, corrected = ((one + more) / (len(signs) + more) for one in (alone, together))
    corrected = np.maximum.accumulate(corrected[::-1])[::-1]  # no difference before a larger one
    method, drawn = "step-down max-T" if len(gaps) > 1 else "none: one test", None if exact else seed
    found = {
        at: Corrected(float(one), float(q), bool(q <= level), len(gaps), drawn, method)
        for at, one, q in zip(order, p, corrected, strict=True)
    }
    return {name: found[at] for at, name in enumerate(gaps)}


@lru_cache(maxsize=4)
def _signs(n: int, seed: int) -> Array:
    """The signs of each flip, a row each; half of all ways where all are tried, as the others are their mirror."""
    if n <= MOST_EXACT:
        rest = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n - 1)) & 1
        return np.hstack([np.ones((len(rest), 1)), 1.0 - 2.0 * rest])
    return np.random.default_rng(seed).choice([-1.0, 1.0], (DRAWN, n))


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> PairedCounts:
    """Test whether two methods get different shares of the same questions right: exact, on the pairs that differ.

    Questions count as independent: where they come in roles, see `paired_test`.

    Raises:
        ValueError: there are no pairs, the lengths differ, or a value is not yes or no.
    """
    from statsmodels.stats.contingency_tables import mcnemar as test

    one, other = pairs(first, second)
    if not np.isin([one, other], (0, 1)).all():
        raise ValueError("Give yes or no for each pair: McNemar's test knows nothing between.")
    gained, lost = int((one > other).sum()), int((one < other).sum())
    p = float(test([[0, gained], [lost, 0]], exact=True).pvalue)
    return PairedCounts((gained - lost) / len(one), p, len(one), gained, lost, None, "McNemar, exact")


def wilcoxon(first: Sequence[float], second: Sequence[float]) -> OrdinalTest:
    """Test whether paired ordinal scores differ, and by how much: a judge's 8 is more than a 4, not twice as much."""
    from scipy.stats import mannwhitneyu
    from scipy.stats import wilcoxon as test

    one, other = pairs(first, second)
    differ = one != other
    p = float(test(one[differ], other[differ]).pvalue) if differ.any() else 1.0
    delta = 2 * float(mannwhitneyu(one, other).statistic) / len(one) ** 2 - 1
    method = "Wilcoxon signed-rank over the pairs that differ; Cliff's delta over all"
    return OrdinalTest(delta, p, len(one), int(differ.sum()), None, method)


def holm(p_values: Mapping[str, float], *, level: float = LEVEL) -> dict[str, Corrected]:
    """Correct the p-values of a whole table by Holm's rule, under their names.

    Raises:
        ValueError: there are none, or one is not from 0 to 1.
    """
    from statsmodels.stats.multitest import multipletests

    if not p_values or not all(0 <= one <= 1 for one in p_values.values()):
        raise ValueError("Give the p-values of a table, one or more, each from 0 to 1.")
    significant, corrected, *_ = multipletests(list(p_values.values()), alpha=level, method="holm")
    rows = zip(p_values.items(), corrected, significant, strict=True)
    return {name: Corrected(p, float(q), bool(yes), len(p_values), None, "Holm") for (name, p), q, yes in rows}


def smallest_difference(n: int, discordance: float, *, power: float = 0.8, level: float = LEVEL) -> Detectable:
    """Return the smallest difference of two shares that the exact McNemar test finds in n pairs with this power.

    Args:
        n: how many pairs.
        discordance: the share of pairs in which one method is right and the other wrong.
        power: how probable it is to be that the test finds the difference.
        level: below which p the test counts as finding it.

    Raises:
        ValueError: n is less than 1, or a share is not between 0 and 1.
    """
    from scipy.optimize import brentq

    if n < 1 or not (0 < discordance <= 1 and 0 < level < power < 1):
        raise ValueError("Give one pair or more, a discordance from 0 to 1, and a power above the level.")
    gap = _power_gap(n, discordance, power, level)
    found = float(brentq(gap, 0.0, discordance, xtol=1e-6)) if gap(discordance) >= 0 else None
    return Detectable(found, n, discordance, power, level, None, "McNemar, exact; its power, computed")


def _power_gap(n: int, discordance: float, power: float, level: float) -> Callable[[float], float]:
    """The power of the exact McNemar test less the wanted one, as a function of the difference."""
    from scipy.stats import binom

    many = np.arange(n + 1)
    # The test rejects if as few as this, or fewer, of the pairs that differ go one way.
    few = binom.ppf(level / 2, many, 0.5) - 1
    weights = binom.pmf(many, n, discordance)

    def gap(difference: float) -> float:
        ahead = (discordance + difference) / (2 * discordance)
        found = binom.cdf(few, many, ahead) + binom.cdf(few, many, 1 - ahead)
        return float(weights @ found) - power

    return gap
