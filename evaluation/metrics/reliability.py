"""How far raters, repeats and batches agree: what a judge's or a scale's numbers rest on (InCharacter, AMADEUS 4)."""

import warnings
from collections.abc import Sequence
from math import isfinite
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ratings = Sequence[Sequence[float | None]] | NDArray[np.float64]
"""A row a rated sample, a column a rater."""
Level = Literal["nominal", "ordinal", "interval"]
"""What the ratings are: names, ranks, or numbers with meaningful distances."""
Weights = Literal["none", "quadratic"]
"""How much a disagreement counts: all alike, or by the square of its distance."""


class Cronbach(NamedTuple):
    """Cronbach's alpha of k raters taken as the items of a scale; it grows with k, so one rater is shown beside it."""

    alpha: float
    k: int
    n: int
    """How many samples all raters rated."""
    ddof: int
    """What is taken off n in the variances: 1; alpha is the same for any."""
    single: float
    """What one rater alone would come to: Spearman-Brown backwards."""


class Agreement(NamedTuple):
    """Krippendorff's alpha: 1 for full agreement, 0 for what chance gives."""

    alpha: float
    level: Level
    n: int
    """Samples with two ratings or more: the others say nothing."""
    n_raters: int
    missing: int
    """How many ratings are missing, of all samples and raters."""


class Kappa(NamedTuple):
    """Cohen's kappa of two raters: 1 for full agreement, 0 for what chance gives to raters with such habits."""

    kappa: float
    weights: Weights
    n: int
    """Samples that both rated."""
    missing: int
    """Samples that one of them or both did not rate."""


class IntraclassCorrelation(NamedTuple):
    """ICC(2,1): how far one rater of many would agree with another, in absolute terms.

    There is no interval where samples and raters explain all ratings.
    """

    icc: float
    low: float | None
    high: float | None
    n: int
    k: int
    method: str


class Consistency(NamedTuple):
    """A mean standard deviation (of a population) as a share of the scale's span: 0 where all is the same."""

    value: float
    n: int
    """Over how many groups."""


def cronbach_alpha(ratings: Ratings) -> Cronbach:
    """Return the consistency of raters who all rated the same samples (AMADEUS Table 2).

    Raises:
        ValueError: a rating is missing, there are fewer than two raters or samples, or the sums do not vary.
    """
    import pandas as pd
    import pingouin

    table = _complete(ratings)
    if np.ptp(table.sum(axis=1)) == 0:
        raise ValueError("The raters' sums are the same for all samples: give samples that they tell apart.")
    n, k = table.shape
    alpha = float(pingouin.cronbach_alpha(pd.DataFrame(table))[0])
    return Cronbach(alpha, k, n, 1, single_rater(alpha, k))


def single_rater(alpha: float, k: int) -> float:
    """Return the reliability of one rater of k whose scores together have this alpha (Spearman-Brown)."""
    if k < 1 or not alpha <= 1:
        raise ValueError(f"Give an alpha up to 1 of one rater or more: {alpha} of {k} is none.")
    return alpha / (k - (k - 1) * alpha)


def krippendorff_alpha(ratings: Ratings, *, level: Level) -> Agreement:
    """Return the agreement of raters beyond chance; a rating may be missing (None or NaN).

    Args:
        ratings: a row a sample, a column a rater.
        level: how far apart two ratings are; judges' scores are "ordinal".

    Raises:
        ValueError: `level` is unknown, no sample has two ratings, or all ratings are the same.
    """
    import krippendorff

    if level not in ("nominal", "ordinal", "interval"):
        raise ValueError(f"Say what the ratings are: nominal, ordinal or interval, not {level!r}.")
    table = _table(ratings)
    rated = table[(~np.isnan(table)).sum(axis=1) > 1]
    if len(np.unique(rated[~np.isnan(rated)])) < 2:
        raise ValueError("Give samples with two ratings or more that are not all the same: alpha is not defined else.")
    alpha = float(krippendorff.alpha(rated.T, level_of_measurement=level))
    return Agreement(alpha, level, len(rated), table.shape[1], int(np.isnan(table).sum()))


def cohen_kappa(one: Sequence[float | None], other: Sequence[float | None], *, weights: Weights) -> Kappa:
    """Return the agreement of two raters beyond what each one's own habits give by chance.

    Krippendorff's alpha takes chance from both raters' ratings together, and so blames them more where one rates
    higher throughout. A rating between two steps of a scale, as log-probabilities give it, counts as the nearest.

    Args:
        one: a rater's ratings, None or NaN where there is none.
        other: the other's, of the same samples.
        weights: "none" for yes and no, "quadratic" for the steps of a scale.

    Raises:
        ValueError: `weights` is unknown, the ratings don't pair up, no sample has both, or all ratings are the same.
    """
    from sklearn.metrics import cohen_kappa_score

    if weights not in ("none", "quadratic"):
        raise ValueError(f"Say how disagreements count: none or quadratic, not {weights!r}.")
    if len(one) != len(other):
        raise ValueError(f"Give both raters' ratings of the same samples: {len(one)} and {len(other)} do not pair up.")
    table = np.asarray([one, other], dtype=np.float64)
    rated = np.rint(table[:, ~np.isnan(table).any(axis=0)]).astype(int)
    if not rated.size or rated.min() == rated.max():
        raise ValueError("Give samples with both ratings that are not all the same: kappa is not defined else.")
    # Steps that nobody chose are named too: the distance of two is counted along these names.
    steps = list(range(rated.min(), rated.max() + 1))
    kappa = float(cohen_kappa_score(*rated, labels=steps, weights=None if weights == "none" else weights))
    return Kappa(kappa, weights, rated.shape[1], table.shape[1] - rated.shape[1])


def intraclass_correlation(ratings: Ratings) -> IntraclassCorrelation:
    """ICC(2,1) of raters who all rated the same samples: two-way random effects, absolute agreement, one rater.

    Raises:
        ValueError: a rating is missing, there are fewer than two raters or five samples, or the ratings do not vary.
    """
    import pandas as pd
    import pingouin

    table = _complete(ratings, fewest=5)
    if np.ptp(table) == 0:
        raise ValueError("All ratings are the same: give samples that the raters tell apart.")
    n, k = table.shape
    long = pd.DataFrame({"sample": np.repeat(range(n), k), "rater": np.tile(range(k), n), "score": table.ravel()})
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        # pingouin's own use of pandas: nothing that a caller could change. It divides by 0 where nothing is left over.
        warnings.simplefilter("ignore", DeprecationWarning)
        found = pingouin.intraclass_corr(long, targets="sample", raters="rater", ratings="score").set_index("Type")
    one = found.loc["ICC(A,1)"]
    low, high = (float(bound) if isfinite(bound) else None for bound in one["CI95"])
    return IntraclassCorrelation(float(one["ICC"]), low, high, n, k, "ICC(2,1), 95 % interval")


def item_consistency(repeats: Sequence[Sequence[float]], *, low: float, high: float) -> Consistency:
    """How far the scores of an item differ from repeat to repeat, over all items (InCharacter).

    Args:
        repeats: for each item its scores, one a repeat.
        low: the lowest score of the scale.
        high: the highest.

    Raises:
        ValueError: a group has fewer than two scores, or one that is not on the scale.
    """
    return _consistency(repeats, low, high)


def dim_consistency(batches: Sequence[Sequence[float]], *, low: float, high: float) -> Consistency:
    """How far the scores of a dimension differ from batch to batch, over all dimensions and repeats (InCharacter).

    Args:
        batches: for each dimension and repeat its scores, one a batch; leave out where there is one batch.
        low: the lowest score of the scale.
        high: the highest.
    """
    return _consistency(batches, low, high)


def robustness(repeats: Sequence[Sequence[float]], *, low: float, high: float) -> Consistency:
    """How far the scores of a dimension differ from repeat to repeat, over all dimensions (InCharacter).

    Args:
        repeats: for each dimension its scores, one a repeat.
        low: the lowest score of the scale.
        high: the highest.
    """
    return _consistency(repeats, low, high)


def _consistency(groups: Sequence[Sequence[float]], low: float, high: float) -> Consistency:
    if len(groups) == 0 or any(len(one) < 2 for one in groups):
        raise ValueError("Give groups of two scores or more: one score says nothing about how far scores differ.")
    if not all(isfinite(one) and low <= one <= high for group in groups for one in group) or low >= high:
        raise ValueError(f"Give scores on a scale that goes up: some are not from {low} to {high}.")
    return Consistency(fmean(float(np.std(one)) for one in groups) / (high - low), len(groups))


def _table(ratings: Ratings) -> NDArray[np.float64]:
    """A table of numbers, NaN where a rating is missing."""
    rows: list[list[Any]] = [list(one) for one in ratings]
    if len({len(one) for one in rows}) != 1:
        raise ValueError("Give a row for each sample with a rating of each rater, None where it is missing.")
    table = np.asarray(rows, dtype=np.float64)
    if table.shape[1] < 2:
        raise ValueError("Give the ratings of two raters or more: one agrees with nobody.")
    return table


def _complete(ratings: Ratings, fewest: int = 2) -> NDArray[np.float64]:
    """A table without gaps."""
    table = _table(ratings)
    if np.isnan(table).any():
        raise ValueError("A rating is missing: leave out the samples that not all raters rated, and say how many.")
    if len(table) < fewest:
        raise ValueError(f"Give {fewest} samples or more: there are {len(table)}.")
    return table
