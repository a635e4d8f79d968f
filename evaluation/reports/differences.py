"""Differences of methods, each with its test; the tests of one table are corrected together."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.measures import scale_of
from dramaturg.evaluation.paired_tests import Corrected, holm, mcnemar, sign_flip, smallest_difference
from dramaturg.evaluation.reports.values import SEED, Found, by_reply, entries_of, unit, value_of
from dramaturg.evaluation.statistics import Interval, paired_interval

D = TypeVar("D", bound=Any)


class Difference(NamedTuple):
    """Two contestants on the same questions, the first minus the second."""

    metric: str
    scope: str
    judge: str
    first: str
    second: str
    interval: Interval
    p: float
    test: str
    corrected: Corrected
    detectable: float | None
    """The smallest difference of shares that so many pairs would have shown; None where the metric is no share, or
    where no difference would."""


def differences(plan: Plan, records: Records, keys: Sequence[tuple[str, str, str]]) -> list[Difference]:
    """The first method against each other one, all tests corrected together."""
    first, *others = plan.methods
    tests = (difference(plan, records, *key, first, other) for key in keys for other in others)
    return together([one for one in tests if one])


def difference(
    plan: Plan, records: Records, metric: str, scope: str, judge: str, first: str, second: str
) -> Difference | None:
    """Two contestants on the replies that both have a value for; nothing where there are none."""
    found = by_reply(records, metric, judge)
    ours, theirs = (values_by_question(plan, one, scope, found) for one in (first, second))
    both = [key for key in ours if key in theirs]
    if not both:
        return None
    sides = [grouped(plan, both, side) for side in (ours, theirs)]
    made = partial(Difference, metric, scope, judge, first, second, paired_interval(*sides, seed=SEED, unit=unit(plan)))
    shares = all(side[key] in (0, 1) for side in (ours, theirs) for key in both)
    if shares and scale_of(metric)[:2] == (0, 1) and len(plan.seeds) == 1:  # seeds of one question are no new pairs
        exact = mcnemar([bool(ours[key]) for key in both], [bool(theirs[key]) for key in both])
        apart = exact.only_first + exact.only_second
        smallest = smallest_difference(len(both), apart / len(both)).difference if apart else None
        return made(exact.p, exact.method, uncorrected(exact.p), smallest)
    flipped = sign_flip(*sides, seed=SEED, unit=unit(plan))
    return made(flipped.p, flipped.method, uncorrected(flipped.p), None)


def uncorrected(p: float) -> Corrected:
    """A p-value before it is known how many there are."""
    return Corrected(p, p, False, 1, None, "none")


def together(tests: Sequence[D]) -> list[D]:
    """The same tests, their p-values corrected by Holm among themselves."""
    if not tests:
        return []
    found = holm({str(at): one.p for at, one in enumerate(tests)})
    return [one._replace(corrected=found[str(at)]) for at, one in enumerate(tests)]


Asked = tuple[str, str, int]
"""A role, a question and a seed: what both contestants were asked."""


def values_by_question(plan: Plan, contestant: str, scope: str, found: Found) -> dict[Asked, float]:
    """The values of a contestant by what it was asked."""
    return {
        (one.role, one.question, one.seed): value
        for one in entries_of(plan, contestant, scope)
        if (value := value_of(one, found)) is not None
    }


def grouped(plan: Plan, asked: Iterable[Asked], values: Mapping[Asked, float]) -> dict[str, list[float]]:
    """Values by role, or of a single role by question, in one order."""
    groups: dict[str, list[float]] = {}
    for key in asked:
        groups.setdefault(key[0] if len(plan.roles) > 1 else key[1], []).append(values[key])
    return groups
