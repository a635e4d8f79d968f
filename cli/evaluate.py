"""`dramaturg evaluate` and `report`: methods compared on the same roles and questions, and what came of it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from dramaturg.cli.options import JsonOption, LibraryOption, ModelOption, library_path
from dramaturg.cli.progress_bars import bars
from dramaturg.cli.screen import errors, print_json, printable, screen
from dramaturg.evaluation.comparison.estimates import Estimate, estimated
from dramaturg.evaluation.comparison.plan import Wanted, planned, read_plan
from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.comparison.run import Capped, Evaluation, EvaluationSettings, Phase, Show, evaluate, judges_of
from dramaturg.evaluation.judging.measures import METRICS, SIMILARITY, metrics_of
from dramaturg.evaluation.reports.markdown import bounds, signed, written_report
from dramaturg.evaluation.reports.tables import Tables, costs, tables
from dramaturg.nodes.asked_answers import Announce
from dramaturg.stores.library import open_role

MethodsOption = Annotated[
    str, typer.Option("--methods", help="Which, with commas between; the first is the one compared with.")
]
RolesOption = Annotated[str, typer.Option("--role", help="Which roles, with commas between.")]
MetricsOption = Annotated[str, typer.Option("--metrics", help=f"With commas between: {', '.join(METRICS)}.")]
SeedsOption = Annotated[str, typer.Option("--seeds", help="Each question is asked once a seed, with commas between.")]
JudgeOption = Annotated[
    list[str] | None, typer.Option("--judge", help="A model that judges; may be repeated. None: that of --model.")
]


def evaluate_command(
    methods: MethodsOption,
    roles: RolesOption,
    metrics: MetricsOption = SIMILARITY,
    dataset: Annotated[
        str, typer.Option("--dataset", help="A file or folder of questions; none: the roles' own.")
    ] = "",
    seeds: SeedsOption = "0",
    limit: Annotated[int, typer.Option("--limit", min=0, help="The most questions of a role; 0: all.")] = 0,
    out: Annotated[Path, typer.Option("--out", help="The folder of the run; the same command goes on there.")] = Path(
        "run"
    ),
    model: ModelOption = "auto",
    judge: JudgeOption = None,
    most_calls: Annotated[int, typer.Option("--most-calls", min=0, help="Stop after so many calls; 0: never.")] = 0,
    library: LibraryOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare methods: every one answers the same questions, judges say what the answers are worth."""
    wanted = Wanted(
        methods=listed("--methods", methods),
        roles=listed("--role", roles),
        seeds=tuple(map(whole, listed("--seeds", seeds))),
        metrics=metrics_of(listed("--metrics", metrics)),
        dataset=dataset,
        limit=limit,
    )
    settings = EvaluationSettings(
        library=str(library_path(library)), chat_model=model, judges=tuple(judge or ()), most_calls=most_calls
    )
    evaluation = opened(wanted, settings, out)
    found = estimated(evaluation, RecordFile(out).read())
    if dry_run:
        print_json([one._asdict() for one in found]) if as_json else screen.print(estimate_table(found))
        return
    run(evaluation)
    show_report(out, as_json=as_json)


def report(
    run: Annotated[Path, typer.Argument(help="The folder of a run.", show_default=False)], as_json: JsonOption = False
) -> None:
    """Write the report of a run anew from its records, without any model, and show its numbers."""
    show_report(run, as_json=as_json)


def listed(option: str, text: str) -> tuple[str, ...]:
    """The names in an option, each once.

    Raises:
        ValueError: there are none.
    """
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise ValueError(f"{option} needs a name or more, with commas between.")
    return names


def whole(text: str) -> int:
    """A seed.

    Raises:
        ValueError: it is no whole number from 0.
    """
    if not text.isdecimal():
        raise ValueError(f"--seeds takes whole numbers from 0, such as 0,1,2: {text!r} is none.")
    return int(text)


def opened(wanted: Wanted, settings: EvaluationSettings, out: Path) -> Evaluation:
    """Put an evaluation together; what cannot be done leaves no files."""
    roles = [open_role(name, settings.library) for name in wanted.roles]
    plan, asked = planned(wanted, roles, settings, list(judges_of(settings)))
    return Evaluation(plan, asked, settings, out.expanduser().absolute())


def run(evaluation: Evaluation) -> None:
    """Ask under a progress bar. Stopped, or out of calls, the report is of what is there."""
    try:
        with phases() as show:
            asyncio.run(evaluate(evaluation, show))
    except Capped as error:
        errors.print(str(error), style="yellow", soft_wrap=True)
    except KeyboardInterrupt:
        errors.print(f"Stopped. The same command goes on: --out {evaluation.folder}", style="dim", soft_wrap=True)
        raise


@contextmanager
def phases() -> Iterator[Show]:
    """Show how far each phase is, and how long it will take."""
    with bars() as progress:

        def begin(phase: Phase, number: int) -> Announce:
            task = progress.add_task(phase, total=number)
            return lambda done: progress.update(task, completed=done)

        yield begin


def estimate_table(found: Sequence[Estimate]) -> Table:
    """What is still to be asked, and what that costs as far as it is known."""
    table = Table(
        "", "to do", "done", "calls", "tokens", "minutes", "by", title="Still to be asked", title_justify="left"
    )
    for one in found:
        numbers = (
            f"{one.left:,}",
            f"{one.done:,}",
            f"{one.calls:,.0f}",
            f"{one.tokens:,.0f}",
            f"{one.seconds / 60:,.1f}",
        )
        table.add_row(printable(one.what), *numbers, one.basis)
    return table


def show_report(folder: Path, *, as_json: bool) -> None:
    """Write the report and show its numbers."""
    written = written_report(folder.expanduser().absolute())
    plan, records = read_plan(folder), RecordFile(folder).read()
    found = tables(plan, records)
    if as_json:
        print_json(as_record(found, [one._asdict() for one in costs(plan, records)]))
        return
    screen.print(number_table(found), soft_wrap=False)
    if found.differences:
        screen.print(difference_table(found))
    if not found.valid:
        errors.print("This run is invalid: too much is missing; the same command asks for it.", style="yellow")
    screen.print(f"Wrote {printable(' and '.join(map(str, written)))}.", soft_wrap=True)


def number_table(found: Tables) -> Table:
    """The numbers of all metrics."""
    table = Table("metric", "questions", "judge", "method", "mean", "95 % interval", "n", "missing")
    for one in found.rows:
        gone = f"{one.missing.missing} of {one.missing.n}" if one.missing else "0"
        mean = signed(one.interval.mean) if one.interval else "none"
        between = bounds(one.interval) if one.interval else ""
        n = str(one.interval.n_values if one.interval else 0)
        table.add_row(one.metric, one.scope or "all", printable(one.judge), one.contestant, mean, between, n, gone)
    return table


def difference_table(found: Tables) -> Table:
    """Differences with their corrected tests."""
    table = Table("metric", "questions", "difference", "mean", "95 % interval", "p", "p (Holm)")
    for one in found.differences:
        names = f"{one.first} − {one.second}"
        numbers = (signed(one.interval.mean), bounds(one.interval), f"{one.p:.3f}", f"{one.corrected.corrected:.3f}")
        table.add_row(one.metric, one.scope or "all", names, *numbers)
    return table


def as_record(found: Tables, spent: list[dict[str, Any]]) -> dict[str, Any]:
    """The same for a program."""
    rows = [{**one._asdict(), "interval": plain(one.interval), "missing": plain(one.missing)} for one in found.rows]
    apart = [
        {**one._asdict(), "interval": plain(one.interval), "corrected": plain(one.corrected)}
        for one in found.differences
    ]
    return {"rows": rows, "differences": apart, "units": found.units, "valid": found.valid, "costs": spent}


def plain(value: Any) -> Any:
    """A named tuple as a record."""
    return value._asdict() if value is not None else None
