"""Ratings by people: a table of them read, how far raters agree, and whether methods differ (AMADEUS, Table 2)."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import isfinite
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import NamedTuple, TypeVar

from dramaturg.evaluation.judging.people import lines_of
from dramaturg.evaluation.metrics.paired_tests import OrdinalTest, holm, wilcoxon
from dramaturg.evaluation.metrics.reliability import (
    Agreement,
    Cronbach,
    IntraclassCorrelation,
    cronbach_alpha,
    intraclass_correlation,
    krippendorff_alpha,
)
from dramaturg.stores.errors import RoleFileError

NEEDED = ("sample", "rater", "score")
LOOKS = "a line a rating, under the heads sample, rater, score, and, where methods are compared, method"
T = TypeVar("T")


class Rating(NamedTuple):
    """What a person said of a sample; without methods the method is empty."""

    sample: str
    method: str
    rater: str
    score: float


class Rater(NamedTuple):
    """How one person rated."""

    rater: str
    n: int
    mean: float
    median: float
    std: float


class Compared(NamedTuple):
    """Two methods on the samples that both were rated on, by the mean of the raters."""

    first: str
    second: str
    difference: float
    test: OrdinalTest
    corrected: float
    """The p of the test, by Holm's rule over all pairs."""


class Rated(NamedTuple):
    """What ratings by people say; a measure is None where it is not defined, and `why` says so."""

    samples: int
    complete: int
    """Samples that all raters rated: Cronbach's alpha and the ICC are of these."""
    raters: tuple[Rater, ...]
    cronbach: Cronbach | None
    icc: IntraclassCorrelation | None
    krippendorff: Agreement | None
    methods: Mapping[str, float]
    """The mean over samples of the mean over raters."""
    compared: tuple[Compared, ...]
    why: tuple[str, ...]


def read_ratings(path: Path) -> list[Rating]:
    """Return the ratings of a file.

    Raises:
        RoleFileError: it cannot be read, lacks a head, or a line holds no rating or one that is there already.
    """
    found, seen = list[Rating](), dict[tuple[str, str, str], int]()
    for number, row in lines_of(path, NEEDED):
        one = _rating(row, where := f"{path.name}, line {number}")
        if (before := seen.setdefault(one[:3], number)) != number:
            raise RoleFileError(f"{where}: {one.rater} rated this on line {before} already: leave one of them out.")
        found.append(one)
    return found


def _rating(row: Mapping[str, str], where: str) -> Rating:
    sample, method, rater, text = (row.get(name, "") for name in ("sample", "method", "rater", "score"))
    if not sample or not rater:
        raise RoleFileError(f"{where}: sample or rater is empty: write who rated what.")
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if not isfinite(score):
        raise RoleFileError(
            f"{where}: the score {text[:40]!r} is no number: leave the line out if there was no rating."
        )
    return Rating(sample, method, rater, score)


def rated(ratings: Sequence[Rating]) -> Rated:
    """Return how far the raters agree, and how the methods differ."""
    people = list(dict.fromkeys(one.rater for one in ratings))
    table: dict[tuple[str, str], dict[str, float]] = {}
    for one in ratings:
        table.setdefault((one.sample, one.method), {})[one.rater] = one.score
    rows = [[of.get(rater) for rater in people] for of in table.values()]
    complete, why = [row for row in rows if None not in row], list[str]()

    means = {key: fmean(of.values()) for key, of in table.items()}
    methods = list(dict.fromkeys(method for _, method in table if method))
    return Rated(
        samples=len(table),
        complete=len(complete),
        raters=tuple(_rater(name, [one.score for one in ratings if one.rater == name]) for name in people),
        cronbach=_defined(lambda: cronbach_alpha(complete or rows), "Cronbach's alpha", why),
        icc=_defined(lambda: intraclass_correlation(complete or rows), "ICC", why),
        krippendorff=_defined(lambda: krippendorff_alpha(rows, level="ordinal"), "Krippendorff's alpha", why),
        methods={name: fmean(mean for (_, method), mean in means.items() if method == name) for name in methods},
        compared=_compared(means, methods),
        why=tuple(why),
    )


def _defined(measure: Callable[[], T], name: str, why: list[str]) -> T | None:
    """What a measure says; None where it is not defined, and why."""
    try:
        return measure()
    except ValueError as error:
        why.append(f"{name}: {error}")
        return None


def _rater(name: str, scores: Sequence[float]) -> Rater:
    return Rater(name, len(scores), fmean(scores), median(scores), pstdev(scores))


def _compared(means: Mapping[tuple[str, str], float], methods: Sequence[str]) -> tuple[Compared, ...]:
    tests: dict[str, tuple[str, str, float, OrdinalTest]] = {}
    for first, second in combinations(methods, 2):
        samples = [sample for sample, method in means if method == first and (sample, second) in means]
        if samples:
            one, other = ([means[sample, method] for sample in samples] for method in (first, second))
            tests[f"{first} - {second}"] = (first, second, fmean(one) - fmean(other), wilcoxon(one, other))
    corrected = holm({name: test.p for name, (*_, test) in tests.items()}) if tests else {}
    return tuple(Compared(*found, corrected[name].corrected) for name, found in tests.items())
