"""How far the judges of a report can be believed, in Markdown: on known replies, by their P(yes), and by each other."""

from collections.abc import Iterator

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.judges import JUDGES, agreement, judges_kappa
from dramaturg.evaluation.judging.measures import SIMILARITY
from dramaturg.evaluation.reports.cells import between, bounds, signed, table
from dramaturg.evaluation.reports.judge_checks import BLIND, YES, Calibration, Check, calibrations, checks
from dramaturg.evaluation.reports.values import by_reply, judges_in, value_of

HEADS = ("metric", "judge", "measure", "value", "95 % interval", "right answers", "declining", "questions", "missing")


def judge_lines(plan: Plan, records: Records) -> Iterator[str]:
    """All that is known of the judges."""
    parts = [
        *check_lines(plan, list(checks(plan, records))),
        *calibration_lines(plan, records),
        *agreement_lines(plan, records),
    ]
    if parts:
        yield "## How far the judges can be believed"
        yield from parts


def check_lines(plan: Plan, found: list[Check]) -> Iterator[str]:
    """What judges say of right answers and of a sentence that declines, and which judges do not tell them apart."""
    if not plan.bounds and any(one in JUDGES for one in plan.metrics):
        yield "Floor and ceiling were left out: nothing says whether the judges tell right from wrong."
    if not found:
        return
    yield (
        "Two replies to the same question, of which it is known which is right: the right answer and a sentence that "
        "declines. Share right: of what the judge says of both, so that always saying yes is right in a half. AUC: how "
        "often the right answer is scored above the other, equal scores count half. Intervals are over questions. To "
        "tell these two apart is the least: replies of methods lie between them."
    )
    yield table(HEADS, *(tuple(check_cells(one)) for one in found))
    yield from (blind_line(one) for one in found if one.blind)


def blind_line(one: Check) -> str:
    """That a judge does not tell the two apart, or that so few questions do not show it."""
    measured = f"{one.kind} {signed(one.value)}, {one.n} questions"
    if one.value <= BLIND:
        return (
            f"**{one.judge} does not tell right answers from a sentence that declines by {one.metric}** ({measured}): "
            "its numbers there say nothing."
        )
    return (
        f"**That {one.judge} tells right answers from a sentence that declines by {one.metric} is not shown** "
        f"({measured}): ask more questions before you believe its numbers there."
    )


def check_cells(one: Check) -> Iterator[str]:
    """A judge's line of the table."""
    yield from (one.metric, one.judge, one.kind, signed(one.value), between(one.low, one.high))
    yield from (f"{signed(side.mean)} {bounds(side)}" for side in (one.right, one.declining))
    yield from (str(one.n), str(one.missing))


def calibration_lines(plan: Plan, records: Records) -> Iterator[str]:
    """The Brier scores of judges that say yes or no, and which of them give no probabilities."""
    known = list(calibrations(plan, records))
    yield from (calibration_line(one) for one in known)
    if not plan.bounds:
        return
    there = {(one.metric, one.judge) for one in known}
    asked = [(metric, judge) for metric in plan.metrics if metric in YES for judge in judges_in(records, metric)]
    for metric, judge in asked:
        if (metric, judge) not in there:
            yield f"{judge} gives no probabilities by {metric}: nothing can be said of their calibration."


def calibration_line(one: Calibration) -> str:
    """A Brier score beside its reference, and the bins."""
    bins = "; ".join(f"{mean:.3f}: {share.hits} of {share.n}" for mean, share in one.bins)
    return (
        f"P(yes) of {one.judge} by {one.metric}: Brier score {one.brier.score:.3f}, where always saying the share "
        f"that is yes has {one.brier.reference:.3f} (n = {one.brier.n}). Mean P(yes) and how many are yes: {bins}."
    )


def agreement_lines(plan: Plan, records: Records) -> Iterator[str]:
    """How far two judges agree."""
    for metric in plan.metrics:
        judges = [] if metric == SIMILARITY else judges_in(records, metric)
        for at, first in enumerate(judges):
            for second in judges[at + 1 :]:
                yield f"{metric}: {agreed(plan, records, metric, first, second)}"


def agreed(plan: Plan, records: Records, metric: str, first: str, second: str) -> str:
    """Krippendorff's alpha and Cohen's kappa of two judges, or why there are none."""
    one, other = (methods_values(plan, records, metric, judge) for judge in (first, second))
    try:
        alpha = agreement(one, other, JUDGES[metric].scale)
        kappa = judges_kappa(one, other, JUDGES[metric].scale)
    except ValueError as error:
        return f"no agreement of {first} and {second} can be computed ({error})"
    name = "quadratic-weighted kappa" if kappa.weights == "quadratic" else "Cohen's kappa"
    return (
        f"{first} and {second} agree with Krippendorff's alpha {signed(alpha.alpha)} and {name} {signed(kappa.kappa)} "
        f"(n = {alpha.n})."
    )


def methods_values(plan: Plan, records: Records, metric: str, judge: str) -> list[float | None]:
    """What a judge gives the methods' replies; floor and ceiling are left out, as it is easy to agree on them."""
    found = by_reply(records, metric, judge)
    return [value_of(one, found) for name in plan.methods for one in plan.of(name)]
