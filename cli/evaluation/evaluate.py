"""`dramaturg evaluate` and `report`: methods compared on the same roles and questions, and what came of it."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dramaturg.cli.evaluation.tables import (
    as_record,
    difference_table,
    estimate_table,
    interview_screens,
    number_tables,
    plain,
)
from dramaturg.cli.options import (
    JsonOption,
    LibraryOption,
    ModelOption,
    PromptsOption,
    ServerOption,
    carry_to,
    given_object,
    library_path,
    names_in,
    own_named,
    shelf_of,
)
from dramaturg.cli.output import NUMBERS, note, print_json, require_extra, screen
from dramaturg.cli.progress import bars, counting
from dramaturg.cli.stopping import stopping
from dramaturg.evaluation.comparison.estimates import estimated, of_indexes
from dramaturg.evaluation.comparison.plan import Wanted, planned, read_plan
from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.comparison.run import Capped, Evaluation, EvaluationSettings, evaluate, judges_of
from dramaturg.evaluation.instruments.files import NAMES
from dramaturg.evaluation.judging.measures import METRICS, SIMILARITY
from dramaturg.evaluation.reports.interviews import interview_tables
from dramaturg.evaluation.reports.judges import blind_line, checks
from dramaturg.evaluation.reports.page import written_report
from dramaturg.evaluation.reports.tables import costs, tables

MethodsOption = Annotated[
    str,
    typer.Option(
        "--methods",
        help="Which, with commas between; the first is the one compared with. Your own: package.module:graph.",
    ),
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
    prompts: PromptsOption = None,
    library: LibraryOption = None,
    server: ServerOption = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare methods: every one answers the same questions, judges say what the answers are worth."""
    wanted = Wanted(
        methods=tuple(dict.fromkeys(own_named(name) for name in names_in("--methods", methods))),
        roles=names_in("--role", roles),
        seeds=tuple(map(whole, names_in("--seeds", seeds))),
        metrics=names_in("--metrics", metrics),
        dataset=dataset,
        limit=limit,
        bounds=with_bounds,
        labels=labels,
    )
    settings = EvaluationSettings(
        library=str(library_path(library)),
        chat_model=model,
        prompts=prompts,
        judges=tuple(judge or ()),
        most_calls=most_calls,
        server=server,
        web_search="off" if web_search == "off" else given_object("--web-search", web_search),
    )
    carry_to("" if dry_run else server, library, *wanted.roles)
    roles_of = [shelf_of(library).open(name) for name in wanted.roles]
    plan, asked = planned(wanted, roles_of, settings, list(judges_of(settings)))  # what cannot be done leaves no files
    evaluation = Evaluation(plan, asked, settings, out.expanduser().absolute())
    if dry_run:
        found = [*asyncio.run(of_indexes(evaluation)), *estimated(evaluation, RecordFile(out).read())]
        print_json([one._asdict() for one in found]) if as_json else screen.print(estimate_table(found))
        return
    require_extra("evaluate", *NUMBERS)
    run(evaluation)
    show_report(out, as_json=as_json)


def report(
    run: Annotated[Path, typer.Argument(help="The folder of a run.", show_default=False)], as_json: JsonOption = False
) -> None:
    """Write the report of a run anew from its records, without any model, and show its numbers."""
    require_extra("evaluate", *NUMBERS)
    show_report(run, as_json=as_json)


def whole(text: str) -> int:
    """A seed."""
    if not text.isdecimal():
        raise ValueError(f"--seeds takes whole numbers from 0, such as 0,1,2: {text!r} is none.")
    return int(text)


def run(evaluation: Evaluation) -> None:
    """Ask under a progress bar. Out of calls, the report is of what is there."""
    stopping.promise(f"Answers so far are kept, and the same command goes on with them: --out {evaluation.folder}")
    try:
        with bars() as show:
            asyncio.run(evaluate(evaluation, partial(counting, show)))
    except Capped as error:
        note(str(error), "yellow")


def show_report(folder: Path, *, as_json: bool) -> None:
    """Write the report and show its numbers."""
    written = written_report(folder.expanduser().absolute())
    plan, records = read_plan(folder), RecordFile(folder).read()
    found, heard = tables(plan, records), interview_tables(plan)
    if as_json:
        spent = [one._asdict() for one in costs(plan, records)]
        valid = found.valid and heard.valid
        print_json({**as_record(found, spent), "valid": valid, "interviews": plain(heard)})
        return
    differences = [difference_table(found)] * bool(found.differences)
    for one in (*number_tables(found), *differences, *interview_screens(plan, heard)):
        screen.print(one)
    for check in (one for one in checks(plan, records) if one.blind):
        note(blind_line(check).replace("**", ""), "yellow")
    if not heard.valid:
        note("This run is invalid: interviews lack too much, or are not over; the report says which.", "yellow")
    if not found.valid:
        note("This run is invalid: too much is missing; the same command asks for it.", "yellow")
    screen.print(f"Wrote {' and '.join(map(str, written))}.", soft_wrap=True)
