"""What is known of the judges of a run from outside it (`dramaturg judges`), kept in its folder."""

from collections.abc import Sequence
from pathlib import Path

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.holding import PAIR
from dramaturg.evaluation.judging.lines import SPEAKER
from dramaturg.evaluation.judging.verdicts import Standing, keep_standings, read_standings

OF_NO_METRIC = (SPEAKER, PAIR)
"""What a judge is asked besides metrics: it fits any run."""


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
    """Whether it is about a metric of the run, and its prompts are those of the run."""
    if one.metric in OF_NO_METRIC:
        return True
    used = {said.prompt for said in records.judged.values() if (said.model, said.metric) == (one.judge, one.metric)}
    return one.metric in plan.metrics and used - {""} <= {*one.prompts}
