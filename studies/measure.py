"""`python -m studies.measure`: identity recall, action alignment and cost of runs, from their logs, side by side."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from dramaturg.cli.app import command_of, run_command
from dramaturg.cli.evaluation.tables import plain
from dramaturg.cli.options import CountOption, JsonOption, LibraryOption, ModelOption, library_path
from dramaturg.cli.output import (
    note,
    picture_format,
    print_json,
    screen,
    table_of,
    write_whole,
)
from dramaturg.cli.progress import bars, counting
from dramaturg.cli.simulation.run_log import REPETITION, MeasuredRun, measured_run
from dramaturg.cli.stopping import stopping
from dramaturg.evaluation.metrics.figures import new_figure
from dramaturg.evaluation.reports.tables import comparison_cells
from dramaturg.nodes.asking import after
from studies.simulation.contrasts import Contrast, contrasts
from studies.simulation.curves import TITLES, Point, Reading, picture
from studies.simulation.measures import (
    UNITS,
    Curves,
    Scores,
    all_curves,
    all_readings,
    costs,
    known_scores,
    take_all,
    total,
    unknown,
)
from studies.simulation.tasks import QUESTIONS, Measure, MeasureSettings, Task, planned

Logs = Annotated[list[Path], typer.Argument(help="Logs written by dramaturg simulate.", show_default=False)]
PlotOption = Annotated[Path | None, typer.Option("--plot", help="Draw all measures into this file.")]
JudgeOption = Annotated[
    str,
    typer.Option(
        "--judge", help="The model that judges actions; should not be the one that acted. Default: that of --model."
    ),
]


def measure(
    logs: Logs,
    recall: Annotated[
        bool, typer.Option("--recall", help="Measure identity recall from what was in the prompts.")
    ] = False,
    with_retrieval: Annotated[
        bool, typer.Option("--recall-with-retrieval", help="The same, with a new lookup for each question.")
    ] = False,
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Measure how well actions fit the agent, from 1 to 10.")
    ] = False,
    model: ModelOption = "auto",
    judge: JudgeOption = "",
    plot: PlotOption = None,
    library: LibraryOption = None,
    dry_run: CountOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure runs from their logs; earlier measurements are kept. Cost and repetition in talks ask no model."""
    wishes: dict[Measure, bool] = {"recall": recall, "recall_with_retrieval": with_retrieval, "alignment": alignment}
    wanted = [name for name, wish in wishes.items() if wish]
    form = ""
    if plot:
        form = picture_format(plot, "Measures cannot be drawn")
        new_figure()  # a missing package is noticed before the work
    runs = read_runs(logs)
    context = MeasureSettings.model_validate(
        {"library": str(library_path(library)), "chat_model": model, "judge": judge}
    )
    tasks = asyncio.run(all_tasks(runs, wanted, context))
    if dry_run:
        tell(questions(tasks), as_json=as_json)
        return
    stopping.promise("Scores so far are kept, and the same command goes on with them.")
    scores = asyncio.run(measured(tasks, context)) if tasks else {}
    curves = all_curves(runs, tasks, scores)
    if plot:
        write_whole(plot, picture({name: curves[name] for name in (*shown_of(wanted, curves), *UNITS[:3])}, form))
        note(f"Wrote {plot}.")
    compared = differences(all_readings(runs, tasks, scores))
    if as_json:
        print_json({**report(runs, curves), "differences": plain(compared)})
        return
    show(runs, wanted, curves)
    if compared:
        screen.print(contrast_table(compared))
    for line in notes(runs, tasks, scores, judge):
        screen.print(line, soft_wrap=True)


def read_runs(logs: Sequence[Path]) -> list[MeasuredRun]:
    """Read logs, each once."""
    runs = [measured_run(path) for path in logs]
    if len({one.path.resolve() for one in runs}) < len(runs):
        raise ValueError("A log is named twice: name each run once.")
    return runs


async def all_tasks(runs: Sequence[MeasuredRun], wanted: Sequence[Measure], context: MeasureSettings) -> list[Task]:
    """All scores that are wanted of all runs."""
    return [task for run in runs for task in await planned(run, wanted, context)]


async def measured(tasks: Sequence[Task], context: MeasureSettings) -> Scores:
    """Take the measures under a progress bar."""
    with bars() as show:
        left, wanted = len(unknown(tasks, known_scores(tasks))), len(unknown(tasks, {}))
        return await take_all(tasks, context, after(wanted - left, counting(show, "Taking scores", wanted)))


def questions(tasks: Sequence[Task]) -> dict[str, int]:
    """How many questions would be asked for each measure, re-asks left out, and how many scores are there."""
    left = unknown(tasks, known_scores(tasks))
    counts: dict[str, int] = dict.fromkeys((one.measure for one in tasks), 0)
    for one in left:
        counts[one.measure] += QUESTIONS[one.taken_as]
    distinct = {(one.run.path, one.key) for one in tasks}
    return {**counts, "questions": sum(counts.values()), "known_scores": len(distinct) - len(left)}


def tell(counts: Mapping[str, int], *, as_json: bool) -> None:
    """Print what a dry run found."""
    if as_json:
        print_json(counts)
        return
    *parts, whole, known = counts.items()
    named = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in parts) or "nothing but the cost"
    screen.print(f"{whole[1]:,} questions ({named}); {known[1]:,} scores are there already.", soft_wrap=True)


def show(runs: Sequence[MeasuredRun], wanted: Sequence[Measure], curves: Mapping[str, Curves]) -> None:
    """Print a table a measure, and the cost of each run."""
    for name in shown_of(wanted, curves):
        screen.print(measure_table(TITLES[name], curves[name]))
    screen.print(step_cost_table(curves), cost_table(runs), sep="\n")


def shown_of(wanted: Sequence[Measure], curves: Mapping[str, Curves]) -> list[str]:
    """What was measured beside the cost: what was wanted, and how much talks repeat themselves, if anybody talked."""
    return [*wanted, *(name for name in (REPETITION,) if name in curves)]


def measure_table(title: str, curves: Curves) -> Table:
    """The mean of each step and condition, where it lies, and over how many runs."""
    table = table_of(title, "step", *curves)
    table.min_width = len(title)
    for step in sorted({one.step for points in curves.values() for one in points}):
        found = [next((one for one in points if one.step == step), None) for points in curves.values()]
        table.add_row(str(step), *(cell(one) if one else "" for one in found))
    return table


def cell(point: Point) -> str:
    """A point in a table."""
    missing = f", {point.missing} missing" if point.missing else ""
    mean = "none" if point.mean is None else f"{point.mean:.3f}"
    band = "" if point.low is None or point.high is None else f" [{point.low:.3f}, {point.high:.3f}]"
    return f"{mean}{band} ({point.n} run{'s' * (point.n != 1)}{missing})"


def differences(found: Mapping[str, Sequence[Reading]]) -> list[Contrast]:
    """The conditions compared; nothing without the packages that tests need, and then a note says so."""
    try:
        return contrasts(found)
    except ModuleNotFoundError:
        note("Intervals and tests of conditions need more packages: pip install 'dramaturg[evaluate]'", "yellow")
        return []


def contrast_table(found: Sequence[Contrast]) -> Table:
    """Each condition minus the baseline."""
    heads = ("measure", "difference", "mean", "95 % interval", "pairs", "p", "p (Holm)")
    table = table_of("Conditions, paired by scenario and seed; the mean of the steps that both have", *heads)
    for one in found:
        cells = [*comparison_cells(one.interval, one.test.p, one.corrected, one.test.method)]
        table.add_row(one.measure.replace("_", " "), f"{one.first} − {one.second}", *cells[:5])
    tests = dict.fromkeys(one.test.method for one in found)
    table.caption = ". ".join(f"{test[:1].upper()}{test[1:]}" for test in tests) + "."
    if alone := sorted({pair for one in found for pair in one.alone}):
        table.caption += f" Without a partner, and left out: {'; '.join(alone)}."
    return table


def step_cost_table(curves: Mapping[str, Curves]) -> Table:
    """What each step cost, the mean of the runs of a condition, and where it lies."""
    table = table_of("Cost of each step", "condition", "step", *UNITS, "runs")
    for condition, points in curves[UNITS[0]].items():
        for at, point in enumerate(points):
            found = [curves[unit][condition][at] for unit in UNITS]
            table.add_row(condition, str(point.step), *map(cost_cell, found), str(point.n))
    return table


def cost_cell(point: Point) -> str:
    """A cost in a table."""
    between = "" if point.low is None or point.high is None else f" [{point.low:,.0f}, {point.high:,.0f}]"
    return f"{point.mean or 0:,.1f}{between}"


def cost_table(runs: Sequence[MeasuredRun]) -> Table:
    """What each run cost until its last step."""
    table = table_of("Cost until the last step", "run", "condition", "steps", *UNITS)
    for run in runs:
        found, whole = costs(run), total(costs(run))
        numbers = (f"{getattr(whole, unit):,}" for unit in UNITS)
        table.add_row(run.path.name, run.about.condition, str(len(found)), *numbers)
    return table


def notes(runs: Sequence[MeasuredRun], tasks: Sequence[Task], scores: Scores, judge: str) -> Iterator[str]:
    """What a reader of the tables has to know."""
    if left := len(unknown(tasks, scores)):
        yield f"{left} answers did not come: they are missing, not zeros; the same command asks for them again."
    if same := sorted({one.run.about.condition for one in tasks if one.measure != one.taken_as} - {"id-rag"}):
        yield f"In {' and '.join(same)}, nothing is looked up for a question: there, recall with retrieval is recall."
    if not judge and any(one.measure == "alignment" for one in tasks):
        yield "The judge is the model of --model: if it acted in these runs, name another one by --judge."
    if len({one.about.scenario for one in runs}) > 1:
        yield "These are runs of several scenarios: their steps are not the same hours."
    yield "seconds: by the clock on the wall; they depend on the machine."


def report(runs: Sequence[MeasuredRun], curves: Mapping[str, Curves]) -> dict[str, Any]:
    """All of it for a program."""
    measures = {
        name: {condition: [one._asdict() for one in points] for condition, points in found.items()}
        for name, found in curves.items()
    }
    about = {"scenario", "condition", "seed", "agents", "after"}
    described = [
        {
            "log": str(run.path),
            **run.about.model_dump(include=about),
            "costs": [one._asdict() for one in costs(run)],
            "cost": total(costs(run))._asdict(),
        }
        for run in runs
    ]
    return {"runs": described, "measures": measures}


def main() -> None:
    """Run the command."""
    run_command(command_of("measure", measure), "python -m studies.measure")


if __name__ == "__main__":
    main()
