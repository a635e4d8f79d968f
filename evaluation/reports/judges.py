"""How far a judge can be believed: what it says of replies whose worth is known, the floor's and the ceiling's.

Both are known for questions that have a right answer and are not out of scope; of others nobody can say what declining
deserves. Intervals are over questions: what is asked is whether the judge can be believed here, not for other roles.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from dramaturg.evaluation.comparison.contestants import CEILING, FLOOR
from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.anchors import WORTH
from dramaturg.evaluation.judging.holding import PAIR
from dramaturg.evaluation.judging.judges import JUDGES, agreement, judges_kappa
from dramaturg.evaluation.judging.lines import SPEAKER
from dramaturg.evaluation.judging.scales import UNJUDGED
from dramaturg.evaluation.judging.standing import Measured
from dramaturg.evaluation.judging.verdicts import LANGUAGE, Standing
from dramaturg.evaluation.metrics.calibration import Brier, brier, equal_bins
from dramaturg.evaluation.metrics.figures import calibration_figure, image
from dramaturg.evaluation.metrics.intervals import Share
from dramaturg.evaluation.reports.credit import YES, BoundsCheck, bounds_checks
from dramaturg.evaluation.reports.document import Drawn, Note, Part, table
from dramaturg.evaluation.reports.standings import standings_in
from dramaturg.evaluation.reports.tables import Tables, between, bounds, signed
from dramaturg.evaluation.reports.values import REFUSAL, Found, by_reply, judges_of, value_of

STANDING_HEADS = (
    *("judge", "by", "held against", "language", "right", "95 % interval", "chance", "n"),
    *("right at another length", "longer", "place"),
)
NAMED = {SPEAKER: ("who is speaking", "lines of dialogues"), PAIR: ("which of two replies is better", "anchors")}


class Calibration(NamedTuple):
    """The calibration of one judge's P(yes)."""

    metric: str
    judge: str
    bins: Sequence[tuple[float, Share]]
    """Mean P(yes), and the share that is truly yes."""
    brier: Brier


HEADS = ("metric", "judge", "measure", "value", "95 % interval", "right answers", "declining", "questions", "missing")


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


def judge_lines(plan: Plan, records: Records, found: Tables) -> Iterator[Part]:
    """All that is known of the judges."""
    parts = [
        *credit_lines(found),
        *standing_lines(plan, records),
        *check_lines(plan, list(bounds_checks(plan, records))),
        *calibration_lines(plan, records),
        *agreement_lines(plan, records),
    ]
    if parts:
        yield "## How far the judges can be believed"
        yield from parts


def credit_lines(found: Tables) -> Iterator[Part]:
    """From which numbers something may be concluded, and what was looked at."""
    judged = [one for one in found.credits if one.metric not in UNJUDGED]
    if judged:
        yield (
            "A judge's numbers by a metric count if it stands in every language of the run. From numbers that do not "
            "count nothing is concluded: no test, no rank, no star."
        )
        yield table(
            ("metric", "judge", "counts", "why not"),
            *((one.metric, one.judge, "yes" if one.stands else "no", one.why) for one in judged),
        )
        for one in judged:
            yield from (Note(f"{one.metric} by {one.judge}: {warning}.", warns=True) for warning in one.warnings)


def standing_lines(plan: Plan, records: Records) -> Iterator[Part]:
    """How each judge stands, and which was never held against anything."""
    graded = [one for one in plan.metrics if one in JUDGES]
    if not graded:
        return
    known = standings_in(plan, records)
    if known:
        yield (
            "Held against replies whose worth is known (anchors), people's scores, and lines without their speaker. "
            "Right: how often the reply that is worth more is scored higher, or the speaker of four is named. Right at "
            "another length: the same of a right reply and a wrong one that is longer or shorter. Longer: how much "
            "higher the same reply is scored at length, as a share of the scale. Place: how often the first reply is "
            "chosen, or the name at the favourite place."
        )
        yield table(STANDING_HEADS, *(cells for one in known for cells in standing_rows(one)))
    for judge in plan.judges:
        yield from never_held(judge, [one for one in known if one.judge == judge], graded)
    heard = {one.judge for one in known if one.metric == SPEAKER}
    if unheard := [judge for judge in plan.judges if judge not in heard]:
        yield f"{', '.join(unheard)} {'was' if len(unheard) == 1 else 'were'} never asked who is speaking."


def never_held(judge: str, of: list[Standing], graded: list[str]) -> Iterator[str]:
    """By which metrics a judge was never held against anything, and how it would be."""
    against = {one.metric for one in of if one.source}
    lacking = [metric for metric in graded if metric not in against]
    if lacking:
        can = [metric for metric in lacking if metric in WORTH]
        how = f": `dramaturg judges --anchors --metrics {','.join(can)} --judge {judge}` does it" if can else ""
        yield f"{judge} was never held against anchors by {', '.join(lacking)}{how}."


def standing_rows(one: Standing) -> Iterator[Sequence[str]]:
    """A line of the table, and one for each language where there are several."""
    by, source = NAMED.get(one.metric, (one.metric, one.source))

    def cells(language: str, told: Measured, *more: Measured | None) -> Sequence[str]:
        numbers = (signed(told.value), between(told.low, told.high), f"{told.chance:g}", str(told.n))
        biases = ("" if of is None else f"{signed(of.value)} {between(of.low, of.high)}" for of in more)
        return (one.judge, by, source, language, *numbers, *biases)

    yield cells("all", one.told, one.crossed, one.length, one.place)
    if len(one.by_language) > 1:
        for name, of in one.by_language.items():
            yield cells(LANGUAGE[name], of.told, of.crossed, of.length, None)


def check_lines(plan: Plan, found: list[BoundsCheck]) -> Iterator[Part]:
    """What judges say of right answers and of a sentence that declines."""
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


def check_cells(one: BoundsCheck) -> Iterator[str]:
    """A judge's line of the table."""
    yield from (one.metric, one.judge, one.kind, signed(one.value), between(one.low, one.high))
    yield from (f"{signed(side.mean)} {bounds(side)}" for side in (one.right, one.declining))
    yield from (str(one.n), str(one.missing))


def calibration_lines(plan: Plan, records: Records) -> Iterator[Part]:
    """The Brier scores of judges that say yes or no, their pictures, and which of them give no probabilities."""
    known = list(calibrations(plan, records))
    for one in known:
        bins = "; ".join(f"{mean:.3f}: {share.hits} of {share.n}" for mean, share in one.bins)
        yield (
            f"P(yes) of {one.judge} by {one.metric}: Brier score {one.brier.score:.3f}, where always saying the share "
            f"that is yes has {one.brier.reference:.3f} (n = {one.brier.n}). Mean P(yes) and how many are yes: {bins}."
        )
        yield Drawn(partial(calibration_picture, one))
    there = {(one.metric, one.judge) for one in known}
    for metric in plan.metrics if plan.bounds else ():
        for judge in judges_of(plan, records, metric) if metric in YES else ():
            if (metric, judge) not in there:
                yield f"{judge} gives no probabilities by {metric}: nothing can be said of their calibration."


def calibration_picture(one: Calibration) -> str:
    """How often what a judge takes for likely is so."""
    caption = (
        f"{one.metric}, by {one.judge}: P(yes) of {one.brier.n} replies that are known to be yes or no. "
        f"Brier score {one.brier.score:.3f}; of always saying the share that is yes, {one.brier.reference:.3f}."
    )
    return image(calibration_figure(one.bins, "P(yes)", "share that is yes"), caption, caption)


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
