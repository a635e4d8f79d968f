"""Writes the tables of docs/concepts/statistics.md: how often intervals hold the true value, and how often tests err.

Roles that answer questions are drawn at random, with true values that are known, and are given to the very functions
that a report's intervals and tests come from. The seed is fixed. It takes some minutes.

Run: python docs/generate/statistics_page.py [--runs 10000]
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, stdtrit
from scipy.stats import binomtest

from dramaturg.evaluation.metrics.intervals import effective_interval
from dramaturg.evaluation.metrics.paired_tests import FEWEST_FLIPPED, LEVEL, flipped_p, holm, student_p
from dramaturg.evaluation.reports.differences import corrections

PAGE = Path(__file__).parents[1] / "concepts" / "statistics.md"
BEGIN, END = "<!-- simulation: begin -->", "<!-- simulation: end -->"
RUNS, SEED = 10_000, 22
ROLES = (3, 4, 6, 8, 16, 32)
MEANS = (0.5, 0.9, 0.97)
SPREADS, FAR = (0.0, 0.7, 1.2), 2.0
QUESTIONS = np.array([4, 6, 9, 14, 20, 30, 45, 60])
"""How many questions the roles have, over and over: unequal, as in datasets that people made."""
ONE_QUESTION = 1.0
"""The standard deviation of a question's difficulty, on the logit scale."""
STEPS = 9
"""Of a score from 1 to 10."""
GAIN = 1.0
"""By how much one method is better, on the logit scale, where two differ."""
COVERS, ERRS = 0.93, 0.06
"""What every cell has to hold: an interval covers no less, a test errs no more often."""
FEW = (3, 4, 6, 8, 12, 16, 20)
"""The numbers of roles of tables about whole reports."""
METHODS, MEASURES = 2, 6
"""What a report compares with the baseline: two methods, by three metrics and two judges."""
FAMILIES, FAMILY = {16: 200, 20: 200}, 1000
"""How many reports are drawn by the number of roles, or of other numbers: many flips take their time."""
WORSE, ONE_OF = 0.24, 8
"""How much worse a method is on one role of so many, by cosine; on the others it is a little better, so that it is
neither in the mean."""
AT_ONCE = 500
KINDS, GONE = ("normal", "skewed", "one of eight"), (0.0, 0.1, 0.3)
NAMES = {
    "before": "all together by Holm's rule",
    "primary": "the primary comparison by itself",
    "others": "the others by step-down max-T",
}
Array = Any
Cell = Callable[[np.random.Generator, int, int], float]
"""What a cell of a table measures, by random numbers, the number of roles, and that of runs."""


class Shown(NamedTuple):
    """A table: what it is, what every cell must hold, and its rows, each with a cell for a number of roles."""

    title: str
    holds: Callable[[float], bool]
    rows: Mapping[str, Cell]
    fewest: int = 0
    """The smallest number of roles that it is about."""
    most: int = 1000
    heads: tuple[str, str] = ("spread of roles", "mean")
    roles: tuple[int, ...] = ROLES


def centre(mean: float, spread: float) -> float:
    """The middle of a logit-normal distribution that has this mean."""
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    return float(brentq(lambda at: float(weights @ expit(at + spread * points)) - mean, -30.0, 30.0))


def sizes(roles: int) -> Array:
    """How many questions each role has."""
    return np.resize(QUESTIONS, roles)


def asked(roles: int) -> Array:
    """Which places of a table of roles and questions are taken."""
    return np.arange(QUESTIONS.max()) < sizes(roles)[:, None]


def covered(mean: Array, low: float, high: float, true: float, most: int | None) -> float:
    """How often the interval of roles' means holds the true mean, on a scale."""
    span = high - low
    place = (mean - low) / span
    ends = effective_interval(place.mean(axis=1), place - place.mean(axis=1, keepdims=True), most=most)
    value = (true - low) / span
    slack = 1e-9  # ends that are the scale's
    return float(((ends[0] <= value + slack) & (value - slack <= ends[1])).mean())


def share_covered(mean: float, spread: float, dice: np.random.Generator, roles: int, runs: int) -> float:
    """Coverage of the interval of a share; roles differ in how often they are right."""
    n = sizes(roles)
    right = expit(centre(mean, spread) + spread * dice.standard_normal((runs, roles)))
    return covered(dice.binomial(n, right) / n, 0.0, 1.0, mean, int(n.sum()))


def plain_covered(mean: float, spread: float, dice: np.random.Generator, roles: int, runs: int) -> float:
    """The same of Student's t on the scale itself."""
    n = sizes(roles)
    found = dice.binomial(n, expit(centre(mean, spread) + spread * dice.standard_normal((runs, roles)))) / n
    half = stdtrit(roles - 1, 0.975) * found.std(axis=1, ddof=1) / roles**0.5
    return float((np.abs(found.mean(axis=1) - mean) <= half).mean())


def score_covered(mean: float, spread: float, dice: np.random.Generator, roles: int, runs: int) -> float:
    """Coverage of the interval of a score from 1 to 10 whose mean is so far up the scale; questions differ, too."""
    middle = centre(mean, float(np.hypot(spread, ONE_QUESTION)))
    found = []
    for part in parts(runs):
        at = middle + spread * dice.standard_normal((part, roles, 1))
        at = at + ONE_QUESTION * dice.standard_normal((part, roles, int(QUESTIONS.max())))
        scores = 1 + dice.binomial(STEPS, expit(at))
        found.append((scores * asked(roles)).sum(axis=2) / sizes(roles))
    return covered(np.concatenate(found), 1.0, 10.0, 1 + STEPS * mean, None)


def gaps(
    mean: float, spread: float, gain: float, dice: np.random.Generator, roles: int, runs: int
) -> tuple[Array, Array, Array]:
    """The differences of two methods by role, and how many questions each alone has right.

    Roles differ in how hard they are (a standard deviation of 0.7), and in what a method gains on them (`spread`).
    """
    middle = centre(mean, float(np.sqrt(0.7**2 + ONE_QUESTION**2 + spread**2 / 2)))
    found, first, second = [], [], []
    for part in parts(runs):
        common = middle + 0.7 * dice.standard_normal((part, roles, 1))
        common = common + ONE_QUESTION * dice.standard_normal((part, roles, int(QUESTIONS.max())))
        own = spread / 2**0.5 * dice.standard_normal((2, part, roles, 1))
        one = dice.random(common.shape) < expit(common + own[0])
        other = dice.random(common.shape) < expit(common + own[1] - gain)
        taken = asked(roles)
        first.append((one & ~other & taken).sum(axis=(1, 2)))
        second.append((other & ~one & taken).sum(axis=(1, 2)))
        found.append(((one * 1.0 - other) * taken).sum(axis=2) / sizes(roles))
    return np.concatenate(found), np.concatenate(first), np.concatenate(second)


def true_gap(mean: float, spread: float, gain: float) -> float:
    """The mean difference that two methods truly have."""
    apart = float(np.sqrt(0.7**2 + ONE_QUESTION**2 + spread**2 / 2))
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    at = centre(mean, apart) + apart * points
    return float((weights / weights.sum()) @ (expit(at) - expit(at - gain)))


def gap_covered(mean: float, spread: float, gain: float, dice: np.random.Generator, roles: int, runs: int) -> float:
    """Coverage of the interval of a difference of shares."""
    return covered(gaps(mean, spread, gain, dice, roles, runs)[0], -1.0, 1.0, true_gap(mean, spread, gain), None)


def flips_err(mean: float, spread: float, dice: np.random.Generator, roles: int, runs: int) -> float:
    """How often sign flips find a difference at 5 % where there is none."""
    apart, _, _ = gaps(mean, spread, 0.0, dice, roles, runs)
    found = [flipped_p(part, SEED) <= LEVEL for part in np.array_split(apart, 1 + runs // 20)]
    return float(np.concatenate(found).mean())


def student_errs(mean: float, spread: float, dice: np.random.Generator, roles: int, runs: int) -> float:
    """The same of Student's t."""
    apart, _, _ = gaps(mean, spread, 0.0, dice, roles, runs)
    return float((student_p(apart) <= LEVEL).mean())


def mcnemar_errs(mean: float, spread: float, dice: np.random.Generator, roles: int, runs: int) -> float:
    """The same of McNemar's test on the questions of all roles together, which no report has: why it does not."""
    _, first, second = gaps(mean, spread, 0.0, dice, roles, runs)
    known: dict[tuple[int, int], bool] = {}
    found = 0
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        if (one, other) not in known:
            known[one, other] = one + other > 0 and binomtest(one, one + other).pvalue <= LEVEL
        found += known[one, other]
    return found / runs


def cosine_gaps(kind: str, gone: float, dice: np.random.Generator, roles: int, runs: int) -> Array:
    """Differences of two methods by cosine, by role, that are 0 in the mean over all roles there could be.

    Args:
        kind: how roles differ: normal, skewed (the negative of an exponential), or one of eight much worse.
        gone: which share of the questions is missing, whatever the answer.
        dice: random numbers.
        roles: how many.
        runs: how many evaluations.
    """
    shape = (runs, roles)
    if kind == "one of eight":
        apart = WORSE / ONE_OF - WORSE * (dice.random(shape) < 1 / ONE_OF) + 0.03 * dice.standard_normal(shape)
    else:
        apart = 0.05 * (dice.standard_normal(shape) if kind == "normal" else 1 - dice.exponential(size=shape))
    left = np.maximum(dice.binomial(sizes(roles), 1 - gone, shape), 1)
    return apart + 0.07 * dice.standard_normal(shape) / np.sqrt(left)


def cosine_covered(kind: str, gone: float, dice: np.random.Generator, roles: int, runs: int) -> float:
    """Coverage of the interval of such a difference."""
    return covered(cosine_gaps(kind, gone, dice, roles, runs), -2.0, 2.0, 0.0, None)


def cosine_errs(kind: str, gone: float, dice: np.random.Generator, roles: int, runs: int) -> float:
    """How often the test of a report finds such a difference, though there is none."""
    apart = cosine_gaps(kind, gone, dice, roles, min(runs, 2 * FAMILY))
    return float(np.mean([p <= LEVEL for part in np.array_split(apart, 1 + runs // 20) for p in tested(part)]))


def tested(apart: Array) -> Array:
    """The p of differences by role, by the test that so many roles have in a report."""
    return student_p(apart) if apart.shape[-1] < FEWEST_FLIPPED else flipped_p(apart, SEED)


@cache
@patch("gc.collect", lambda *_: 0)  # statsmodels looks for garbage after each correction, for 60 ms
def families(kind: str, gain: float, roles: int, runs: int) -> Mapping[str, tuple[float, float]]:
    """Whole reports: how often anything is found of the method without a gain, and how many of what the other gains.

    Each role differs by method, and among the measures of a method that agree by 0.7; the methods share a baseline. The
    gain is in standard deviations over roles. Before: Holm's correction over all comparisons. After: the primary
    comparison by itself, and all others by step-down max-T.
    """
    dice, number = np.random.default_rng([SEED, int(10 * gain), roles]), min(runs, FAMILIES.get(roles, FAMILY))
    drawn: Callable[[tuple[int, ...]], Array] = (
        dice.standard_normal if kind == "normal" else lambda shape: 1 - dice.exponential(size=shape)  # type: ignore[assignment]
    )
    false, power = (dict.fromkeys(("before", "primary", "others"), 0.0) for _ in range(2))
    for _ in range(number):
        method, common = drawn((METHODS, 1, roles)), drawn((1, 1, roles))
        apart = ((method + common) * 0.7**0.5 + 0.3**0.5 * drawn((METHODS, MEASURES, roles)) * 2**0.5) / 2**0.5
        apart[0] += gain
        flat = apart.reshape(-1, roles)
        p = {f"{at}": float(one) for at, one in enumerate(tested(flat))}
        before = np.array([one.significant for one in holm(p).values()]).reshape(METHODS, MEASURES)
        first, rest = ([{f"{at}": [(one, 0.0)] for at, one in enumerate(of)} for of in part.reshape(-1, roles)]
                       for part in (apart[:, :1], apart[:, 1:]))  # fmt: skip
        after = [np.array([one.significant for one in corrections(of)]).reshape(METHODS, -1) for of in (first, rest)]
        for name, seen in zip(false, (before, *after), strict=True):
            false[name] += bool(seen[1:].any() if gain else seen.any()) / number
            power[name] += float(seen[0].mean()) / number
    return {name: (false[name], power[name]) for name in false}


def family(name: str, kind: str, gain: float, at: int, dice: np.random.Generator, roles: int, runs: int) -> float:
    """One number of such reports; they are drawn once for all rows."""
    return families(kind, gain, roles, runs)[name][at]


def lacking(share: float, *, bounded: bool, dice: np.random.Generator, roles: int, runs: int) -> float:
    """How often a difference counts as found where the first of two equal methods lacks judgements of what it loses.

    The methods answer 50 questions of a role, half of them right, and differ in one of ten.
    """
    asked = 50
    right = dice.random((runs, roles, asked)) < 0.5
    other = right ^ (dice.random(right.shape) < 0.1)
    gone = ~right & other & (dice.random(right.shape) < share / 0.05)
    seen = np.where(gone, 0.0, right * 1.0 - other).sum(axis=2) / (~gone).sum(axis=2)
    found = np.concatenate([tested(part) <= LEVEL for part in np.array_split(seen, 1 + runs // 20)])
    if bounded:
        ahead = np.sign(seen.mean(axis=1))[:, None, None]
        worst = np.where(gone, np.where(ahead > 0, 0.0, 1.0) - other, right * 1.0 - other).mean(axis=2)
        same = np.sign(worst.mean(axis=1)) == ahead[:, 0, 0]
        found &= same & np.concatenate([tested(part) <= LEVEL for part in np.array_split(worst, 1 + runs // 20)])
    return float(found.mean())


def lacked(share: float, bounded: bool, dice: np.random.Generator, roles: int, runs: int) -> float:
    """The same by place."""
    return lacking(share, bounded=bounded, dice=dice, roles=roles, runs=min(runs, 2 * FAMILY))


def parts(runs: int) -> Iterator[int]:
    """How many runs are drawn at once."""
    yield from [AT_ONCE] * (runs // AT_ONCE)
    if rest := runs % AT_ONCE:
        yield rest


def shown(measured: Callable[..., float], *more: float) -> dict[str, Cell]:
    """A row for each spread and mean."""
    cells = product(SPREADS, MEANS)
    return {f"{spread:g} | {mean:g}": partial(measured, mean, spread, *more) for spread, mean in cells}


TABLES: Mapping[str, Shown] = {
    "shares": Shown("Coverage of the interval of a share", lambda one: one >= COVERS, shown(share_covered)),
    "scores": Shown(
        "Coverage of the interval of a score from 1 to 10; the mean is its position on the scale, from 0 to 1",
        lambda one: one >= COVERS,
        shown(score_covered),
    ),
    "no difference": Shown(
        "Coverage of the interval of a difference of shares, where there is none",
        lambda one: one >= COVERS,
        shown(gap_covered, 0.0),
    ),
    "a difference": Shown(
        "Coverage of the interval of a difference of shares, where one method is better",
        lambda one: one >= COVERS,
        shown(gap_covered, GAIN),
    ),
    "sign flips": Shown(
        "How often sign flips find a difference where there is none (from six roles on)",
        lambda one: one <= ERRS,
        shown(flips_err),
        fewest=FEWEST_FLIPPED,
    ),
    "Student's t": Shown(
        "How often Student's t finds a difference where there is none (below six roles)",
        lambda one: one <= ERRS,
        shown(student_errs),
        most=5,
    ),
    "McNemar": Shown(
        "How often McNemar's test on all questions together finds a difference where there is none (not in reports)",
        lambda _: True,
        shown(mcnemar_errs),
    ),
    "plain Student": Shown(
        "Coverage of Student's t of a share on the scale itself (not in reports)",
        lambda _: True,
        shown(plain_covered),
    ),
    "far apart": Shown(
        "Coverage of the interval of a score if roles differ more than in the tables with a bound",
        lambda _: True,
        {f"{FAR:g} | {mean:g}": partial(score_covered, mean, FAR) for mean in MEANS},
    ),
    "cosines": Shown(
        "Coverage of the interval of a difference of cosines, where there is none",
        lambda _: True,
        {f"{kind} | {gone:.0%}": partial(cosine_covered, kind, gone) for kind in KINDS for gone in GONE},
        heads=("roles differ", "missing"),
        roles=FEW,
    ),
    "tests of cosines": Shown(
        "How often a difference of cosines is found where there is none",
        lambda _: True,
        {f"{kind} | {gone:.0%}": partial(cosine_errs, kind, gone) for kind in KINDS for gone in GONE},
        heads=("roles differ", "missing"),
        roles=FEW,
    ),
    "families": Shown(
        "How often a report of 12 comparisons (2 methods, 3 metrics, 2 judges) finds anything where nothing differs",
        lambda _: True,
        {f"{kind} | {NAMES[name]}": partial(family, name, kind, 0.0, 0) for kind in KINDS[:2] for name in NAMES},
        heads=("roles differ", "corrected"),
        roles=FEW,
    ),
    "power": Shown(
        "How many of the differences of a method are found that gains this many standard deviations over roles by all "
        "metrics and judges",
        lambda _: True,
        {
            f"{kind}, {gain:g} | {NAMES[name]}": partial(family, name, kind, gain, 1)
            for kind, gains in ((KINDS[0], (1.5, 3.0)), (KINDS[1], (1.5,)))
            for gain in gains
            for name in NAMES
        },
        heads=("roles differ, gain", "corrected"),
        roles=FEW,
    ),
    "lacking": Shown(
        "How often a difference counts as found where the first of two equal methods lacks judgements of what it loses",
        lambda _: True,
        {
            f"{share:.0%} | {'also in the worst case' if bounded else 'by what is there'}": partial(
                lacked, share, bounded
            )
            for share in (0.01, 0.02)
            for bounded in (False, True)
        },
        heads=("missing of it", "found"),
        roles=FEW,
    ),
}


def simulated(name: str, runs: int = RUNS) -> dict[str, dict[int, float]]:
    """The numbers of a table, by row and number of roles."""
    table = TABLES[name]
    at = [*TABLES].index(name)
    return {
        row: {
            roles: cell(np.random.default_rng([SEED, at, number, roles]), roles, runs)
            for roles in table.roles
            if table.fewest <= roles <= table.most
        }
        for number, (row, cell) in enumerate(table.rows.items())
    }


def written(name: str, found: Mapping[str, Mapping[int, float]]) -> str:
    """A table in Markdown."""
    table = TABLES[name]
    columns: Sequence[int] = [*next(iter(found.values()))]
    lines = [
        f"**{table.title}**\n",
        f"| {' | '.join(table.heads)} | {' | '.join(f'{roles} roles' for roles in columns)} |",
        f"| --- | --- |{' --- |' * len(columns)}",
        *(f"| {row} | {' | '.join(f'{one:.3f}' for one in of.values())} |" for row, of in found.items()),
    ]
    return "\n".join(lines)


def page(runs: int = RUNS) -> str:
    """The page with its tables made anew."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = []
    for name in TABLES:
        made.append(written(name, simulated(name, runs)))
        sys.stdout.write(f"{made[-1]}\n\n")
    return "\n\n".join([f"{before}{BEGIN}", *made, f"{END}{after}"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    told = parser.parse_args()
    new = page(told.runs)
    if told.runs == RUNS:  # fewer are a trial
        PAGE.write_text(new, encoding="utf-8")
