"""Methods compared on the same questions: one primary comparison, the others, and what survives what is missing.

The plan names the metric and the judge of the primary comparison. It is tested by itself, method by method against the
baseline, and all other comparisons with the baseline are tested together; each of the two by step-down max-T on the
same sign flips (below six roles, by Holm's correction). A difference counts as found where it would also be found if
all that is missing were the worst for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.judging.scales import scale_of
from dramaturg.evaluation.metrics.intervals import Interval, paired_interval
from dramaturg.evaluation.metrics.paired_tests import (
    FEWEST_FLIPPED,
    LEVEL,
    Corrected,
    holm,
    least_p,
    mcnemar,
    paired_test,
    smallest_difference,
    step_down,
    student_p,
)
from dramaturg.evaluation.reports.values import Found, by_unit, entries_of, unit, unit_of, value_of

SEED = 0
"""Of what is drawn for intervals and tests."""
Pairs = Mapping[str, Sequence[tuple[float, float]]]
"""By role, or what is counted of one role: the values of both methods for each question."""


class Difference(NamedTuple):
    """Two contestants on the same questions, the first minus the second."""

    metric: str
    scope: str
    judge: str
    first: str
    second: str
    interval: Interval
    planned: bool
    """Whether the second is the plan's baseline; the others were looked at because they could be, and have no test."""
    p: float | None = None
    least: float | None = None
    """The smallest p that sign flips of so many roles can have."""
    test: str = ""
    corrected: Corrected | None = None
    detectable: float | None = None
    """The smallest difference that would be found 80 times of 100 by the test that is used."""
    primary: bool = False
    """Whether it belongs to the primary comparison, which is corrected by itself."""
    worst: float | None = None
    """The corrected p if all that is missing were the worst for the difference; the same where nothing is missing."""
    found: bool = False
    """Whether the corrected p is below 0.05, also in the worst case: what a star and a conclusion rest on."""
    by_role: Mapping[str, float] = {}
    """The difference of each role; empty where there is one."""
    equal_length: Interval | None = None
    """What is left of it at equal length of replies, with Student's t."""
    withheld: str = ""
    """Why nothing is concluded from it: then there is no p."""


class Compared(NamedTuple):
    """A planned comparison before it is tested."""

    told: Difference
    pairs: Pairs
    worst: Pairs
    """The same with what is missing as the worst."""
    yes_no: bool

    @property
    def ahead(self) -> bool:
        """Whether the first has the higher mean."""
        return self.told.interval.mean > 0


def compared(
    plan: Plan, found: Found, key: tuple[str, str, str], pairs: Sequence[tuple[str, str]], withheld: str
) -> Iterator[Compared]:
    """Two contestants at a time, on the replies that both have a value for; nothing where there are none.

    Args:
        plan: the plan.
        found: what one judge said by one metric.
        key: the metric, the scope of questions, and the judge.
        pairs: the names of those that are compared.
        withheld: why nothing is concluded from what this judge said, or nothing.
    """
    metric, scope, _ = key
    low, high, _ = scale_of(metric)
    sides = {
        name: {(one.role, one.question, one.seed): one for one in entries_of(plan, name, scope)}
        for name in plan.methods
    }
    for first, second in pairs:
        ours, theirs = sides[first], sides[second]
        both = [(ours[at], theirs[at]) for at in ours if at in theirs]
        there = [pair for pair in both if all(value_of(one, found) is not None for one in pair)]
        if not there:
            continue
        of_both = [by_unit(plan, [pair[side] for pair in there], found) for side in (0, 1)]
        interval = paired_interval(*of_both, scale=(low, high), unit=unit(plan))
        seen = valued(plan, found, there)
        ends = (low, high) if interval.mean > 0 else (high, low)
        told = Difference(*key, first, second, interval, second == plan.compared_with, withheld=withheld)
        if len(plan.roles) > 1:
            told = told._replace(by_role={role: mean_gap(of) for role, of in seen.items()})
        worst = valued(plan, found, [pair for pair in both if asked_of_both(pair, found)], ends)
        yield Compared(told, seen, worst, (low, high) == (0, 1) and whole(seen))


def asked_of_both(pair: tuple[Entry, Entry], found: Found) -> bool:
    """Whether a metric is defined for both replies, or was not taken yet."""
    return all(one.key not in found or found[one.key].applicable for one in pair)


def valued(
    plan: Plan, found: Found, both: Sequence[tuple[Entry, Entry]], ends: tuple[float, float] = (0.0, 0.0)
) -> Pairs:
    """The values of pairs by what they count to; `ends` stand in for what is missing."""
    values: dict[str, list[tuple[float, float]]] = {}
    for pair in both:
        one, other = (
            end if (value := value_of(entry, found)) is None else value for entry, end in zip(pair, ends, strict=True)
        )
        values.setdefault(unit_of(plan, pair[0]), []).append((one, other))
    return values


def whole(values: Pairs) -> bool:
    """Whether all values are yes or no."""
    return all(value in (0, 1) for of in values.values() for pair in of for value in pair)


def mean_gap(of: Sequence[tuple[float, float]]) -> float:
    """The mean difference of pairs."""
    return fmean(one - other for one, other in of)


def tested(plan: Plan, apart: Sequence[Compared], *, primary: tuple[str, Sequence[str]]) -> list[Difference]:
    """The comparisons, those with the baseline tested: the primary ones by themselves, then the rest.

    Args:
        plan: the plan.
        apart: all comparisons.
        primary: the metric of the primary comparison, and its judges.
    """
    done = [one.told for one in apart]
    to_test = [at for at, one in enumerate(apart) if one.told.planned and not one.told.withheld]
    for at in to_test:
        done[at] = done[at]._replace(primary=done[at].metric == primary[0] and done[at].judge in primary[1])
    for family in ([at for at in to_test if done[at].primary], [at for at in to_test if not done[at].primary]):
        for at, one in zip(family, tests(plan, [apart[at] for at in family]), strict=True):
            done[at] = one._replace(primary=done[at].primary)
    return done


def tests(plan: Plan, family: Sequence[Compared]) -> Iterator[Difference]:
    """Test comparisons that are corrected together."""
    singly = [alone(plan, one, len(family)) for one in family]
    there = [(one, told.p) for one, told in zip(family, singly, strict=True) if told.p is not None]
    corrected = corrections([one.pairs for one, _ in there], [p for _, p in there])
    worst = corrections([one.worst for one, _ in there])
    each = iter(zip(corrected, worst, strict=True))
    for one, told in zip(family, singly, strict=True):
        if told.p is None:
            yield told
            continue
        seen, missing = next(each)
        seen = seen._replace(p=told.p, corrected=max(seen.corrected, told.p))
        seen = seen._replace(significant=seen.corrected <= LEVEL)
        same = one.pairs == one.worst
        way = (fmean(map(mean_gap, one.worst.values())) > 0) == one.ahead
        least = seen.corrected if same else missing.corrected if way else 1.0
        yield told._replace(corrected=seen, worst=least, found=seen.significant and least <= LEVEL)


def alone(plan: Plan, one: Compared, number: int) -> Difference:
    """One comparison with its own p, and what it could have shown among so many."""
    first, second = ({name: [pair[side] for pair in of] for name, of in one.pairs.items()} for side in (0, 1))
    # Seeds of one question are no new pairs, and neither are the turns of one talk.
    if len(plan.roles) == 1 and len(plan.seeds) == 1 and not plan.talks and one.yes_no:
        hits = [[bool(value) for of in side.values() for value in of] for side in (first, second)]
        p, least, test, smallest = exact_test(*hits, level=LEVEL / number)
        return one.told._replace(p=p, least=least, test=test, detectable=smallest)
    low, high, _ = scale_of(one.told.metric)
    found = paired_test(first, second, seed=SEED, tests=number, unit=unit(plan), largest=high - low)
    return one.told._replace(p=found.p, least=found.least, test=found.method, detectable=found.detectable)


def exact_test(
    first: Sequence[bool], second: Sequence[bool], *, level: float
) -> tuple[float, float, str, float | None]:
    """McNemar's test of one role's hits: p, the smallest it can be, its name, the smallest difference.

    The questions of one role count as independent: nothing is said of another.
    """
    exact = mcnemar(first, second)
    apart = exact.only_first + exact.only_second
    smallest = smallest_difference(exact.n, apart / exact.n, level=level).difference if apart else None
    return exact.p, least_p(exact.n), exact.method, smallest


def corrections(family: Sequence[Pairs], known: Sequence[float] = ()) -> list[Corrected]:
    """Correct comparisons together: by sign flips of the same roles, or where these are too few by Holm's rule.

    Args:
        family: the comparisons.
        known: the p of each; none: Student's t.
    """
    if not family:
        return []
    gaps = {f"{at}": {name: mean_gap(of) for name, of in pairs.items()} for at, pairs in enumerate(family)}
    if len({name for of in gaps.values() for name in of}) >= FEWEST_FLIPPED:
        return [*step_down(gaps, seed=SEED).values()]
    by_t = (float(student_p(np.array([*of.values()]))) if len(of) > 1 else 1.0 for of in gaps.values())
    return [*holm(dict(zip(gaps, known or by_t, strict=True))).values()]
