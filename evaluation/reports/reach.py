"""What a plan can show at all, before anything is asked: the smallest p, and the smallest difference."""

from collections.abc import Iterator
from statistics import fmean

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.measures import may_apply
from dramaturg.evaluation.judging.scales import UNJUDGED, scale_of
from dramaturg.evaluation.metrics.paired_tests import (
    FEWEST_FLIPPED,
    LEVEL,
    detectable_sds,
    least_p,
    smallest_difference,
)
from dramaturg.evaluation.reports.tables import tables
from dramaturg.evaluation.reports.values import PARTS, judges_of, unit

DISCORDANT = 0.3
"""The share of questions that one of two methods has right and the other has not, where nothing is known."""


def reach_lines(plan: Plan, records: Records) -> Iterator[str]:
    """What the comparisons of a plan can show, in sentences."""
    tests, roles = number_of_tests(plan, records), len(plan.roles)
    if not tests:
        if plan.metrics:
            yield "There is one method: its scores have intervals, and nothing is compared."
        return
    if roles == 1:
        yield f"There is one role, {plan.roles[0]}: nothing will be concluded beyond it, whatever it shows."
    n = roles if roles > 1 else max(len(applicable(plan, metric)) for metric in plan.metrics)
    units = f"{unit(plan)}{'s' * (n != 1)}"
    if n < 2:
        yield f"The metrics apply to {n} {units}: no test is possible."
        return
    metric, judge = plan.primary_metric
    others = plan.methods[1:]
    first = f"the primary comparison ({metric}{'' if metric in UNJUDGED else f' by {judge}'})"
    first += f" of {len(others)} methods" if others[1:] else ""
    if n < FEWEST_FLIPPED:
        by = "by Student's t" if roles > 1 else "by McNemar's test (yes or no) or by Student's t (scores)"
        yield (
            f"{n} {units}: sign flips reach no p below {least_p(n):.3g}, so that {first} would be tested {by}. "
            f"Student's t assumes that the differences of {units} are normal; from {FEWEST_FLIPPED} on nothing is "
            "assumed of them but symmetry."
        )
    else:
        rest = tests - len(others) * parts_of(plan, metric)
        more = f"; the other {rest} are corrected together" if rest > 0 else ""
        itself = f"{first} with {plan.compared_with} is tested by itself{more}"
        yield f"{n} {units}: {itself}. The smallest p is {least_p(n):.2g}."
    known = [one.detectable for one in tables(plan, records).planned if one.primary and one.detectable is not None]
    number = len(others) * parts_of(plan, metric)
    if known:
        yield (
            f"The smallest difference that it finds 80 times of 100, as {units} differ in what is there already: "
            f"{' to '.join(f'{one:.3f}' for one in sorted({min(known), max(known)}))}."
        )
    elif sds := detectable_sds(n, tests=number):
        told = f"The smallest difference that it finds 80 times of 100 is {sds:.2f} standard deviations over {units}"
        shares = scale_of(metric)[:2] == (0, 1)
        yield f"{told}{share_in_words(plan, n, sds, LEVEL / number) if shares else ''}."


def share_in_words(plan: Plan, n: int, sds: float, level: float) -> str:
    """The smallest difference of shares that is found, of n roles or of n questions to one role."""
    one_role = len(plan.roles) == 1
    asked = n if one_role else fmean(len(of) for of in plan.questions.values())
    differ = f"if two methods differ on {DISCORDANT:.0%} of {asked:.0f} questions"
    if one_role:  # McNemar's test
        least = smallest_difference(n, DISCORDANT, level=level).difference
    else:
        least = sds * (DISCORDANT / asked) ** 0.5
    if least is None or least > 1:
        return f"; of shares none is found, {differ}"
    more = "" if one_role else ", and more if they differ more on one role than on another"
    return f"; of a share at least {least:.2f}, {differ}{more}"


def applicable(plan: Plan, metric: str) -> set[str]:
    """The questions of one role, or its talks, that a metric may apply to."""
    return {plan.together(one) for one in plan.of(plan.compared_with) if may_apply(metric, plan.question(one))}


def number_of_tests(plan: Plan, records: Records) -> int:
    """How many comparisons with the baseline there will be."""
    keys = sum(parts_of(plan, metric) * len(judges_of(plan, records, metric)) for metric in plan.metrics)
    return keys * (len(plan.methods) - 1)


def parts_of(plan: Plan, metric: str) -> int:
    """In how many parts of the questions a metric is told."""
    scopes = {one.scope for of in plan.questions.values() for one in of}
    return sum(not one or one in scopes for one in PARTS.get(metric, ("",)))
