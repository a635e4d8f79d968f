"""How the judges of a run stand against what is known (`dramaturg judges`), beside the numbers that they gave."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.anchors import WORTH
from dramaturg.evaluation.judging.judges import JUDGES
from dramaturg.evaluation.judging.lines import SPEAKER
from dramaturg.evaluation.judging.standing import ANCHORS
from dramaturg.evaluation.judging.verdicts import Standing, keep_standings, read_standings, shown
from dramaturg.evaluation.reports.tables import table

SPEAKING = "who is speaking"
HEADS = ("judge", "by", "held against", "right", "95 % interval", "chance", "n")


def take_standings(folder: Path, judges: Sequence[str], shared: Path) -> None:
    """Copy how the judges of a run stand from where it is known, so that its report rests on its folder alone."""
    keep_standings(folder, (one for one in read_standings(shared) if one.judge in judges))


def standings_in(plan: Plan, records: Records) -> list[Standing]:
    """What is known of the judges of a run, as far as they were held by the prompts that they judged by in it."""
    try:
        kept = read_standings(plan.folder)
    except RuntimeError:
        return []  # a plan that was not written yet
    return [one for one in kept if one.judge in plan.judges and fits(one, plan, records)]


def fits(one: Standing, plan: Plan, records: Records) -> bool:
    """Whether it is about a metric of the run, and its prompts are those of the run; who is speaking fits any."""
    if one.metric == SPEAKER:
        return True
    used = {said.prompt for said in records.judged.values() if (said.model, said.metric) == (one.judge, one.metric)}
    return one.metric in plan.metrics and used <= {*one.prompts}


def silent(plan: Plan, records: Records) -> dict[tuple[str, str], Standing]:
    """By metric and judge: those that are not above chance on the anchors, whose numbers say nothing."""
    found = standings_in(plan, records)
    return {(one.metric, one.judge): one for one in found if one.source == ANCHORS and not one.told.above}


def mark_lines(plan: Plan, records: Records, *metrics: str) -> Iterator[str]:
    """What to say where numbers by these metrics are shown: whose of them say nothing."""
    for (metric, judge), one in silent(plan, records).items():
        if metric in metrics:
            yield (
                f"**By {metric}, what {judge} says means nothing**: on the anchors it is not above chance "
                f"({shown(one.told)})."
            )


def standing_lines(plan: Plan, records: Records) -> Iterator[str]:
    """How each judge stands, and which was never held against anything."""
    graded = [one for one in plan.metrics if one in JUDGES]
    if not graded:
        return
    found = standings_in(plan, records)
    if found:
        yield (
            "Held against replies whose worth is known (anchors), people's scores, and lines without their speaker. "
            "Right: how often the reply that is worth more is scored higher, or the speaker of four is named."
        )
        yield table(HEADS, *map(standing_cells, found))
    for judge in plan.judges:
        of = [one for one in found if one.judge == judge]
        speaking = next((one for one in of if one.metric == SPEAKER), None)
        if speaking and not speaking.told.above:
            yield (f"**{judge} is near chance at who is speaking** ({shown(speaking.told)}).")
        yield from never_held(judge, of, graded)


def never_held(judge: str, of: list[Standing], graded: list[str]) -> Iterator[str]:
    """By what a judge was never held against anything, and how it would be."""
    against = {one.metric for one in of if one.source}
    lacking = [metric for metric in graded if metric not in against]
    if lacking:
        can = [metric for metric in lacking if metric in WORTH]
        how = f": `dramaturg judges --anchors --metrics {','.join(can)} --judge {judge}` does it" if can else ""
        yield f"{judge} was never held against anchors by {', '.join(lacking)}{how}."
    if SPEAKER not in {one.metric for one in of}:
        yield f"{judge} was never asked who is speaking."


def standing_cells(one: Standing) -> Iterator[str]:
    """A line of the table."""
    told = one.told
    yield from (one.judge, *((SPEAKING, "lines of dialogues") if one.metric == SPEAKER else (one.metric, one.source)))
    ends = "none" if told.low is None or told.high is None else f"{told.low:.3f} to {told.high:.3f}"
    yield from (f"{told.value:.3f}", ends, f"{told.chance:g}", str(told.n))
