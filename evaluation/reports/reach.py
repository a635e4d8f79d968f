"""What a plan can show at all, before anything is asked: the smallest p, and the smallest difference."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.scales import scale_of
from dramaturg.evaluation.metrics.paired_tests import FEWEST_FLIPPED, LEVEL, detectable_sds, least_p
from dramaturg.evaluation.reports.tables import PARTS, judges_of, tables

DISCORDANT = 0.3
"""The share of questions that one of two methods has right and the other has not, where nothing is known."""


def reach_lines(plan: Plan, records: Records) -> Iterator[str]:
    """What the comparisons of a plan can show, in sentences; nothing where nothing is compared."""
    tests = number_of_tests(plan, records)
    if not tests:
        return
    n, baseline = len(plan.roles), plan.compared_with
    if n == 1:
        yield f"There is one role, {plan.roles[0]}: nothing will be concluded beyond it, whatever it shows."
        return
    level = LEVEL / tests
    many = f"{tests} comparison{'s' * (tests > 1)} with {baseline}"
    if n < FEWEST_FLIPPED:
        yield (
            f"{n} roles: sign flips reach no p below {least_p(n):.3g}, so that {many} rest on Student's t, which takes "
            f"the differences of roles for normal; from {FEWEST_FLIPPED} roles on nothing has to be taken for so."
        )
    else:
        enough = next(size for size in range(n, 1000) if least_p(size) <= level)
        corrected = min(1.0, least_p(n) * tests)
        yield f"{n} roles: the smallest p is {least_p(n):.2g}, {corrected:.2g} after Holm's correction of {many}."
        if enough > n:
            yield f"No difference can be found: it takes {enough} roles, or fewer methods, metrics or judges."
    sds = detectable_sds(n, level)
    if sds is None:
        return
    known = [one.detectable for one in tables(plan, records).planned if one.detectable is not None]
    if known:
        yield (
            "The smallest difference that is found 80 times of 100, as roles differ in what is there already: from "
            f"{min(known):.3f} to {max(known):.3f} by metric."
        )
        return
    told = f"The smallest difference that is found 80 times of 100 is {sds:.2f} standard deviations over roles"
    if any(scale_of(metric)[:2] == (0, 1) for metric in plan.metrics):
        asked = fmean(len(of) for of in plan.questions.values()) if plan.questions else 0
        least = sds * (DISCORDANT / asked) ** 0.5 if asked else 0.0
        if least > 1:
            told += f"; of shares none is found, if two methods differ on {DISCORDANT:.0%} of {asked:.0f} questions"
        else:
            told += (
                f"; of a share at least {least:.2f}, if two methods differ on {DISCORDANT:.0%} of {asked:.0f} "
                "questions, and more if they differ more on one role than on another"
            )
    yield f"{told}."


def number_of_tests(plan: Plan, records: Records) -> int:
    """Over how many tests the correction will be."""
    scopes = {one.scope for of in plan.questions.values() for one in of}

    def parts(metric: str) -> Sequence[str]:
        return [one for one in PARTS.get(metric, ("",)) if not one or one in scopes]

    keys = sum(len(parts(metric)) * len(judges_of(plan, records, metric)) for metric in plan.metrics)
    return keys * (len(plan.methods) - 1)
