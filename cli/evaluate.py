"""`dramaturg evaluate` and `report`: methods compared on the same roles and questions, and what came of it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dramaturg.cli.evaluation_tables import (
    as_record,
    difference_table,
    estimate_table,
    interview_screens,
    number_tables,
    plain_all,
)
from dramaturg.cli.given_objects import given_object
from dramaturg.cli.options import JsonOption, LibraryOption, ModelOption, library_path
from dramaturg.cli.progress_bars import bars
from dramaturg.cli.screen import errors, print_json, printable, screen
from dramaturg.evaluation.comparison.estimates import estimated, of_indexes
from dramaturg.evaluation.comparison.plan import Wanted, planned, read_plan
from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.comparison.run import Capped, Evaluation, EvaluationSettings, Phase, Show, evaluate, judges_of
from dramaturg.evaluation.instruments.files import NAMES
from dramaturg.evaluation.judging.measures import METRICS, SIMILARITY
from dramaturg.evaluation.reports.interviews import interview_tables
from dramaturg.evaluation.reports.judges import blind_line, checks
from dramaturg.evaluation.reports.markdown import written_report
from dramaturg.evaluation.reports.tables import costs, tables
from dramaturg.nodes.index_steps import Announce
from dramaturg.stores.library import open_role

MethodsOption = Annotated[
    str, typer.Option("--methods", help="Which, with commas between; the first is the one compared with.")
]
RolesOption = Annotated[str, typer.Option("--role", help="Which roles, with commas between.")]
MetricsOption = Annotated[
    str,
    typer.Option(
        "--metrics",
        help=f"With commas between: {', '.join(METRICS)}; inventories for interviews: {', '.join(NAMES)}, or a path.",
    ),
]
LabelsOption = Annotated[
    str, typer.Option("--labels", metavar="PATH", help="What is right of the roles by the inventories.")
]
SeedsOption = Annotated[str, typer.Option("--seeds", help="Each question is asked once a seed, with commas between.")]
WebOption = Annotated[
    str,
    typer.Option("--web-search", metavar="MODULE:NAME", help="The tool or function by which crag searches the web."),
]
BoundsOption = Annotated[
    bool,
    typer.Option("--bounds/--no-bounds", help="Have a floor and a ceiling judged beside the methods."),
]
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
    with_bounds: BoundsOption = True,
    labels: LabelsOption = "",
    web_search: WebOption = "off",
    library: LibraryOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare methods: every one answers the same questions, judges say what the answers are worth."""
    wanted = Wanted(
        methods=listed("--methods", methods),
        roles=listed("--role", roles),
        seeds=tuple(map(whole, listed("--seeds", seeds))),
        metrics=listed("--metrics", metrics),
        dataset=dataset,
        limit=limit,
        bounds=with_bounds,
        labels=labels,
    )
    settings = EvaluationSettings(
        library=str(library_path(library)),
        chat_model=model,
        judges=tuple(judge or ()),
        most_calls=most_calls,
        web_search="off" if web_search == "off" else given_object("--web-search", web_search),
    )
    evaluation = opened(wanted, settings, out)
    if dry_run:
        found = [*asyncio.run(of_indexes(evaluation)), *estimated(evaluation, RecordFile(out).read())]
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


def show_report(folder: Path, *, as_json: bool) -> None:
    """Write the report and show its numbers."""
    written = written_report(folder.expanduser().absolute())
    plan, records = read_plan(folder), RecordFile(folder).read()
    found, heard = tables(plan, records), interview_tables(plan)
    if as_json:
        spent = [one._asdict() for one in costs(plan, records)]
        valid = found.valid and heard.valid
        print_json({**as_record(found, spent), "valid": valid, "interviews": plain_all(heard)})
        return
    for one in [*number_tables(found), *([difference_table(found)] if found.differences else [])]:
        screen.print(one)
    for one in interview_screens(plan, heard):
        screen.print(one)
    for check in (one for one in checks(plan, records) if one.blind):
        errors.print(printable(blind_line(check).replace("**", "")), style="yellow", soft_wrap=True)
    if not heard.valid:
        errors.print(
            "This run is invalid: interviews lack too much, or are not over; the report says which.", style="yellow"
        )
    if not found.valid:
        errors.print("This run is invalid: too much is missing; the same command asks for it.", style="yellow")
    screen.print(f"Wrote {printable(' and '.join(map(str, written)))}.", soft_wrap=True)
