"""How far a judge can be believed: what it says of replies whose worth is known, the floor's and the ceiling's.

Both are known for questions that have a right answer and are not out of scope; of others nobody can say what declining
deserves. Intervals are over questions: what is asked is whether the judge can be believed here, not for other roles.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dramaturg.evaluation.comparison.contestants import CEILING, FLOOR
from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.judges import JUDGES, agreement, judges_kappa
from dramaturg.evaluation.judging.scales import UNJUDGED, scale_of
from dramaturg.evaluation.metrics.calibration import Brier, brier, equal_bins
from dramaturg.evaluation.metrics.intervals import SHARE, Ends, Interval, Share, cluster_interval
from dramaturg.evaluation.reports.standings import standing_lines
from dramaturg.evaluation.reports.tables import (
    REFUSAL,
    Found,
    between,
    bounds,
    by_reply,
    judges_of,
    signed,
    table,
    value_of,
)

YES: Mapping[str, str] = {"accuracy": CEILING, REFUSAL: FLOOR}
"""Who deserves a yes; the other deserves a no."""
BLIND = 0.6
"""An AUC that is no larger tells nothing apart, whatever its interval."""


class Check(NamedTuple):
    """What one judge, by one metric, says of right answers and of a sentence that declines, to the same questions."""

    metric: str
    judge: str
    kind: str
    """share right: of both replies together, half of which deserve a yes. AUC: the share of questions whose right
    answer is scored above the sentence that declines; the same score counts half."""
    value: float
    low: float | None
    """None where the judge says the same of both every time, or tells them apart half of the times every time."""
    high: float | None
    right: Interval
    """Of the scores of right answers."""
    declining: Interval
    n: int
    """Questions with both scores."""
    missing: int
    """Questions without one of them."""

    @property
    def blind(self) -> bool:
        """Whether these questions do not show that the judge tells the two apart."""
        return self.low is None or self.low <= 1 / 2 or (self.kind == "AUC" and self.value <= BLIND)


class Calibration(NamedTuple):
    """The calibration of one judge's P(yes)."""

    metric: str
    judge: str
    bins: Sequence[tuple[float, Share]]
    """Mean P(yes), and the share that is truly yes."""
    brier: Brier


HEADS = ("metric", "judge", "measure", "value", "95 % interval", "right answers", "declining", "questions", "missing")


def checks(plan: Plan, records: Records) -> Iterator[Check]:
    """Check each judge by each metric for which it is known which reply deserves more; likeness has no judge."""
    for metric in plan.metrics:
        if metric not in UNJUDGED and (metric in YES or scale_of(metric).better == "higher"):
            for judge in judges_of(plan, records, metric):
                if found := check(plan, records, metric, judge):
                    yield found


def check(plan: Plan, records: Records, metric: str, judge: str) -> Check | None:
    """Check one judge by one metric; None where no question has both scores."""
    found = by_reply(records, metric, judge)
    pairs = [both for both in known_pairs(plan) if all(one.key in found for one in both)]
    asked = [both for both in pairs if all(found[one.key].applicable for one in both)]
    scores = [(value_of(right, found), value_of(declining, found)) for right, declining in asked]
    there = [(right, declining) for right, declining in scores if right is not None and declining is not None]
    if not there:
        return None
    better = [ahead(metric, *both) for both in there]
    mean = over_questions(better)
    low, high = mean.low, mean.high
    scale = scale_of(metric)[:2]
    right, declining = (over_questions([both[at] for both in there], scale) for at in (0, 1))
    kind = "share right" if metric in YES else "AUC"
    return Check(metric, judge, kind, mean.mean, low, high, right, declining, len(there), len(asked) - len(there))


def known_pairs(plan: Plan) -> Iterator[tuple[Entry, Entry]]:
    """The right answer and the sentence that declines, to each question in scope."""
    declining = {(one.role, one.question): one for one in plan.of(FLOOR)}
    for one in plan.of(CEILING):
        if plan.question(one).scope != "out" and (one.role, one.question) in declining:
            yield one, declining[one.role, one.question]


def ahead(metric: str, right: float, declining: float) -> float:
    """How well one question's two replies are told apart: 1 wholly, 1/2 by half or not at all, 0 the wrong way."""
    if metric in YES:
        yes, no = (right, declining) if YES[metric] == CEILING else (declining, right)
        return (yes + 1 - no) / 2
    return 0.5 if right == declining else float(right > declining)


def over_questions(values: Sequence[float], scale: Ends = SHARE) -> Interval:
    """The mean over questions."""
    return cluster_interval({str(at): [one] for at, one in enumerate(values)}, scale=scale, unit="question")


def calibrations(plan: Plan, records: Records) -> Iterator[Calibration]:
    """Calibrate P(yes) of each judge that gives one, by metrics for which it is known which reply deserves a yes."""
    for metric in plan.metrics:
        for judge in judges_of(plan, records, metric) if metric in YES else ():
            known = list(known_probabilities(plan, by_reply(records, metric, judge), metric))
            if known:
                said, true = zip(*known, strict=True)
                yield Calibration(metric, judge, equal_bins(said, true), brier(said, true))


def known_probabilities(plan: Plan, found: Found, metric: str) -> Iterator[tuple[float, bool]]:
    """Yield P(yes) and whether yes is right, for replies of floor and ceiling for which that is known."""
    for name in (FLOOR, CEILING):
        for entry in plan.of(name):
            sure = metric == REFUSAL and name == FLOOR  # who declines, declines out of scope too
            said = found[entry.key].probability if entry.key in found else None
            if said is not None and (sure or plan.question(entry).scope != "out"):
                yield said, YES[metric] == name


def judge_lines(plan: Plan, records: Records) -> Iterator[str]:
    """All that is known of the judges."""
    parts = [
        *standing_lines(plan, records),
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
    yield table(HEADS, *map(check_cells, found))
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
    for one in known:
        bins = "; ".join(f"{mean:.3f}: {share.hits} of {share.n}" for mean, share in one.bins)
        yield (
            f"P(yes) of {one.judge} by {one.metric}: Brier score {one.brier.score:.3f}, where always saying the share "
            f"that is yes has {one.brier.reference:.3f} (n = {one.brier.n}). Mean P(yes) and how many are yes: {bins}."
        )
    there = {(one.metric, one.judge) for one in known}
    for metric in plan.metrics if plan.bounds else ():
        for judge in judges_of(plan, records, metric) if metric in YES else ():
            if (metric, judge) not in there:
                yield f"{judge} gives no probabilities by {metric}: nothing can be said of their calibration."


def agreement_lines(plan: Plan, records: Records) -> Iterator[str]:
    """How far two judges agree."""
    for metric in plan.metrics:
        judges = [] if metric in UNJUDGED else judges_of(plan, records, metric)
        for at, first in enumerate(judges):
            for second in judges[at + 1 :]:
                yield f"{metric}: {agreed(plan, records, metric, first, second)}"


def agreed(plan: Plan, records: Records, metric: str, first: str, second: str) -> str:
    """Krippendorff's alpha and Cohen's kappa of two judges, or why there are none."""
    # Floor and ceiling are left out, as it is easy to agree on them.
    one, other = (
        [value_of(entry, found) for name in plan.methods for entry in plan.of(name)]
        for found in (by_reply(records, metric, judge) for judge in (first, second))
    )
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
