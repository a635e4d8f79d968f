"""Measures of runs: asking what is not known yet, keeping it, and the curves that come of it (ID-RAG 5.5)."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from dramaturg.cli.simulation.run_log import REPETITION, MeasuredRun, StepCost, each_step, talks_of
from dramaturg.evaluation.metrics.intervals import POSITIVE
from dramaturg.evaluation.metrics.repetition import repetition
from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.asking import Announce, Answers, answer_all
from dramaturg.nodes.run import AT_ONCE
from studies.simulation.curves import SCALES, Point, Reading, curves
from studies.simulation.tasks import Measure, MeasureScore, MeasureSettings, ScoreFile, Task

Scores = Mapping[Path, Mapping[str, MeasureScore]]
"""The scores of each log by their keys."""
Curves = dict[str, list[Point]]
"""Curves by condition."""
UNITS = ("calls", "tokens", "lines", "seconds")
"""`lines` are those of talks; `seconds` are those of the clock on the wall, which depend on the machine."""


async def take_all(tasks: Iterable[Task], context: MeasureSettings, announce: Announce = lambda _: None) -> Scores:
    """Return all scores, those that are not in the files yet by asking.

    Each is written down soon after it is there, so that a measuring that was killed goes on where it was. An answer
    that did not come is asked for again the next time.

    Args:
        tasks: the scores that are wanted.
        context: how many questions may be under way at once.
        announce: is told how many of the scores that were not there are there now.

    Raises:
        Busy: another program measures one of the runs.
        ModelError: the model cannot be reached, or refuses every question.
    """
    wanted = list(tasks)
    files = {one.run.path: ScoreFile(one.run.path) for one in wanted}
    with ExitStack() as held:
        known = {path: held.enter_context(file.opened()) for path, file in files.items()}
        waiting = {f"{one.run.path}\n{one.key}": one for one in unknown(wanted, known)}
        # One after another: those who are asked together share the beginning of their prompts.
        turns = asyncio.Semaphore(context.concurrency or AT_ONCE)

        async def ask(task: Task) -> Answers:
            async with turns:
                known[task.run.path][task.key] = await taken(task)
            return {f"{task.run.path}\n{task.key}": None}

        async def keep(answers: Answers) -> None:
            for path in {waiting[one].run.path for one in answers}:
                await asyncio.to_thread(files[path].write, dict(known[path]))

        await answer_all(waiting, ask, keep=keep, announce=announce)
    return known


def known_scores(tasks: Iterable[Task]) -> Scores:
    """The scores that are in the files, without asking anything."""
    return {path: ScoreFile(path).read() for path in {one.run.path for one in tasks}}


def unknown(tasks: Iterable[Task], scores: Scores) -> list[Task]:
    """The tasks that have no score, each question once."""
    found: dict[tuple[Path, str], Task] = {}
    for one in tasks:
        if score_of(one, scores) is None:
            found.setdefault((one.run.path, one.key), one)
    return list(found.values())


def score_of(task: Task, scores: Scores) -> float | None:
    """The score of a task, if there is one."""
    found = scores.get(task.run.path, {}).get(task.key)
    return found.score if found else None


async def taken(task: Task) -> MeasureScore:
    """Take a score; an answer that did not come leaves none, and the reason."""
    answer, score, error = "", None, ""
    try:
        answer, score = await task.take()
    except UNANSWERED as failed:
        error = str(failed)
    about = {name: getattr(task, name) for name in ("key", "step", "time", "agent", "asked", "right", "model")}
    return MeasureScore(**about, measure=task.taken_as, answer=answer, score=score, error=error)


def readings(tasks: Sequence[Task], scores: Scores, measure: Measure) -> list[Reading]:
    """The mean score of each run, agent and step; what is missing is counted and is no zero."""
    groups: dict[tuple[Path, str, int], list[Task]] = {}
    for task in tasks:
        if task.measure == measure:
            groups.setdefault((task.run.path, task.agent, task.step), []).append(task)
    found = []
    for (path, agent, step), group in groups.items():
        values = [value for one in group if (value := score_of(one, scores)) is not None]
        mean = sum(values) / len(values) if values else None
        about = group[0].run.about
        pair = pair_of(group[0].run)
        found.append(Reading(about.condition, str(path), agent, step, mean, len(group) - len(values), pair))
    return found


def all_readings(runs: Iterable[MeasuredRun], tasks: Sequence[Task], scores: Scores) -> dict[str, list[Reading]]:
    """What was observed of each measure that was taken, and of the costs."""
    known = list(runs)
    found: dict[str, list[Reading]] = {}
    for measure in dict.fromkeys(one.measure for one in tasks):
        found[measure] = readings(tasks, scores, measure)
    for unit in UNITS:
        found[unit] = [one for run in known for one in cost_readings(run, unit)]
    if again := [one for run in known for one in repetition_readings(run)]:
        found[REPETITION] = again
    return found


def all_curves(runs: Iterable[MeasuredRun], tasks: Sequence[Task], scores: Scores) -> dict[str, Curves]:
    """The curves of each measure that was taken, and those of the costs."""
    found = all_readings(runs, tasks, scores)
    return {name: curves(of, SCALES.get(name, POSITIVE)) for name, of in found.items()}


def pair_of(run: MeasuredRun) -> str:
    """What a run shares with one of another condition."""
    about = run.about
    return f"{about.scenario}, seed {about.seed}{f', from step {about.after}' if about.after else ''}"


def costs(run: MeasuredRun) -> list[StepCost]:
    """What each step of a run has cost; of a branch, each step of its own."""
    return each_step(run.costs)[bool(run.about.after) :]


def total(steps: Sequence[StepCost]) -> StepCost:
    """What steps have cost together, under the number of the last one."""
    return StepCost(
        max((one.step for one in steps), default=0),
        calls=sum(one.calls for one in steps),
        tokens=sum(one.tokens for one in steps),
        lines=sum(one.lines for one in steps),
        seconds=round(sum(one.seconds for one in steps), 3),
    )


def repetition_readings(run: MeasuredRun) -> list[Reading]:
    """How much of its talks was said before in them, of each step in which somebody has replied; asks no model."""
    about, name = run.about, str(run.path)
    found = {step: repetition(talks) for step, talks in sorted(talks_of(run.lines).items())}
    return [
        Reading(about.condition, name, "", step, share, pair=pair_of(run))
        for step, share in found.items()
        if share is not None
    ]


def cost_readings(run: MeasuredRun, unit: str) -> list[Reading]:
    """The cost of each step in one of the units."""
    about, name = run.about, str(run.path)
    return [
        Reading(about.condition, name, "", one.step, float(getattr(one, unit)), pair=pair_of(run)) for one in costs(run)
    ]
