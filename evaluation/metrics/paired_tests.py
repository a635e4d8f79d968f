"""Tests of methods on the same questions, their correction in a table, and what they could have found at all."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dramaturg.evaluation.metrics.intervals import Values, clusters, differences, pairs

LEVEL = 0.05
FLIPS = 100_000
"""Up to this number of sign flips all are tried (16 roles: 65,536); beyond it, this many are drawn."""


class SignFlip(NamedTuple):
    """A two-sided test of a paired difference."""

    difference: float
    """The first minus the second."""
    p: float
    n: int
    seed: int | None
    """None where nothing is drawn at random."""
    method: str


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
    seed: None
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


def sign_flip(first: Values, second: Values, *, seed: int, unit: str = "role") -> SignFlip:
    """Test whether two methods differ, over roles: how often is the mean difference as large under any signs?

    Exact up to 16 roles. With five roles no p is below 0.05, whatever they show: it takes six.

    Raises:
        ValueError: the values do not pair up, a role has none, or one is no number.
    """
    from scipy.stats import permutation_test

    means = clusters(differences(first, second), pooled=False)[0]
    n, exact, p = len(means), 2 ** len(means) <= FLIPS, 1.0
    if n > 1:
        drawn = {"n_resamples": FLIPS, "rng": np.random.default_rng(seed)}
        p = float(permutation_test((means,), np.mean, permutation_type="samples", vectorized=True, **drawn).pvalue)
    method = f"sign flips over {unit}s, " + (f"exact, {2**n} ways" if exact else f"{FLIPS} ways at random")
    return SignFlip(float(means.mean()), p, n, None if exact else seed, method)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> PairedCounts:
    """Test whether two methods get different shares of the same questions right: exact, on the pairs that differ.

    Questions count as independent: where they come in roles, show `sign_flip` too.

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
