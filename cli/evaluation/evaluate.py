"""`dramaturg evaluate` and `report`: methods compared on the same roles and questions, and what came of it."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dramaturg.cli.evaluation.datasets import ProfilesOption
from dramaturg.cli.evaluation.from_dataset import able, agreed, production_of, rehearsed
from dramaturg.cli.evaluation.tables import (
    as_record,
    estimate_table,
    notes,
    plain,
    provenance,
    screens,
)
from dramaturg.cli.options import (
    DryRunOption,
    JsonOption,
    JudgesOption,
    LibraryOption,
    ModelOption,
    MostCallsOption,
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
from dramaturg.evaluation.comparison.estimates import Estimate, estimated, of_indexes
from dramaturg.evaluation.comparison.exclusions import leave_out, reported_plan
from dramaturg.evaluation.comparison.interviews import told_apart
from dramaturg.evaluation.comparison.merging import merged
from dramaturg.evaluation.comparison.plan import Plan, Wanted, planned, read_plan, require_made, require_same
from dramaturg.evaluation.comparison.records import RecordFile, Records
from dramaturg.evaluation.comparison.run import Capped, Evaluation, EvaluationSettings, evaluate, judges_of, take_over
from dramaturg.evaluation.datasets.folders import wish_of
from dramaturg.evaluation.instruments.files import NAMES
from dramaturg.evaluation.judging.printed import PROTOCOLS, printed_in
from dramaturg.evaluation.judging.scales import METRICS, SIMILARITY
from dramaturg.evaluation.judging.verdicts import SHARED
from dramaturg.evaluation.reports.interviews import interview_tables
from dramaturg.evaluation.reports.page import report_files, written_report
from dramaturg.evaluation.reports.reach import reach_lines
from dramaturg.evaluation.reports.sections import left_out_lines, sections
from dramaturg.evaluation.reports.standings import take_standings
from dramaturg.evaluation.reports.summary import conclusion
from dramaturg.evaluation.reports.tables import costs, tables
from dramaturg.models.environment import environment
from dramaturg.stores.files import make_folder
from dramaturg.stores.library_folder import Library

MethodsOption = Annotated[
    list[str],
    typer.Option(
        "--methods",
        help="The methods, separated by commas or each with its own option. Your own: package.module:graph. With "
        "settings: 'drmr[revisions=0,notes=true]'.",
    ),
]
RolesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        help="The roles, separated by commas or each with its own option. Default: all roles of a named dataset.",
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Make roles and ask questions without asking for confirmation.")]
MetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics",
        help=f"The metrics, separated by commas or each with its own option: {', '.join(METRICS)}. Inventories for "
        f"interviews: {', '.join(NAMES)}, or a path. Default: {SIMILARITY}.",
    ),
]
ProtocolOption = Annotated[
    list[str] | None,
    typer.Option(
        "--protocol",
        metavar="NAME=FILE",
        help=f"Also judge in a paper's own words, from the text of your copy of it: {', '.join(PROTOCOLS)}.",
    ),
]
BaselineOption = Annotated[
    str, typer.Option("--baseline", help="The method that the others are compared with. Default: the first.")
]
PrimaryOption = Annotated[
    str,
    typer.Option(
        "--primary",
        metavar="METRIC[:JUDGE]",
        help="The comparison that is tested by itself: a metric, and a judge or mean (of all judges). Default: the "
        "first metric by the first judge.",
    ),
]
FromOption = Annotated[
    Path | None, typer.Option("--from", help="Start from the answers of this run, with a different plan.")
]
LabelsOption = Annotated[
    str, typer.Option("--labels", metavar="PATH", help="A file with the roles' correct labels for the inventories.")
]
SeedsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--seeds",
        help="The seeds, separated by commas or each with its own option; each question is asked once per seed. "
        "Default: 0.",
    ),
]
WebOption = Annotated[
    str,
    typer.Option("--web-search", metavar="MODULE:NAME", help="The tool or function that crag uses to search the web."),
]
BoundsOption = Annotated[
    bool,
    typer.Option("--bounds/--no-bounds", help="Also judge a floor and a ceiling for comparison."),
]
TurnsOption = Annotated[
    int,
    typer.Option(
        "--turns", min=0, help="Turns per talk, each talk starting with a question; 0 means single questions."
    ),
]
UserOption = Annotated[
    str,
    typer.Option("--user", metavar="NAME", help="A simulated user that talks with the roles: a role's id, or a name."),
]
AnonymousOption = Annotated[
    bool, typer.Option("--anonymous", help="Replace names of the role and the asker in what judges see.")
]
ScriptOption = Annotated[
    Path | None, typer.Option("--script", help="A file with one scripted talk per line, used instead of questions.")
]


def evaluate_command(
    methods: MethodsOption,
    roles: RolesOption = None,
    metrics: MetricsOption = None,
    protocol: ProtocolOption = None,
    dataset: Annotated[
        str,
        typer.Option(
            "--dataset",
            metavar="PATH|NAME=FOLDER",
            help="A file or folder of questions; none: the roles' own. With a name (dramaturg dataset list), roles are "
            "made of the folder, after its cost was said.",
        ),
    ] = "",
    profiles: ProfilesOption = "",
    seeds: SeedsOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="The largest number of questions or talks per role; 0 means all.")
    ] = 0,
    turns: TurnsOption = 0,
    user: UserOption = "",
    script: ScriptOption = None,
    baseline: BaselineOption = "",
    primary: PrimaryOption = "",
    out: Annotated[
        Path, typer.Option("--out", help="The folder of the run; run the same command again to continue.")
    ] = Path("run"),
    begin_from: FromOption = None,
    model: ModelOption = "auto",
    judge: JudgesOption = None,
    most_calls: MostCallsOption = 0,
    anonymous: AnonymousOption = False,
    with_bounds: BoundsOption = True,
    labels: LabelsOption = "",
    web_search: WebOption = "off",
    prompts: PromptsOption = None,
    library: LibraryOption = None,
    server: ServerOption = "",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare methods: each one answers the same questions, and judges score the answers."""
    shelf, named = shelf_of(library), names_in("--role", roles) if roles else ()
    wish = wish_of(dataset, named, profiles)
    printed = printed_in(protocol or ())
    asked_for = names_in("--metrics", metrics or [SIMILARITY]) if metrics or not printed else ()
    measures = tuple(dict.fromkeys((*asked_for, *printed)))
    replies = bool(told_apart(measures)[0])
    production = production_of(wish, shelf, replies=replies) if wish else None
    if not (production or roles):
        raise ValueError("--role needs one or more names: dramaturg roles lists those of the library.")
    compared = tuple(dict.fromkeys(own_named(name) for name in names_in("--methods", methods)))
    settings = EvaluationSettings(
        library=str(library_path(library)),
        chat_model=model,
        prompts=prompts,
        judges=tuple(judge or ()),
        printed=printed,
        most_calls=most_calls,
        server=server,
        web_search="off" if web_search == "off" else given_object("--web-search", web_search),
    )
    if production:
        production = able(production, compared, settings, shelf)
    wanted = Wanted(
        methods=compared,
        roles=production.roles if production else names_in("--role", roles or []),
        seeds=tuple(map(whole, names_in("--seeds", seeds or ["0"]))),
        metrics=measures,
        dataset="" if production and not replies else dataset,
        limit=limit,
        turns=turns,
        user=user,
        script=str(script.expanduser().absolute()) if script else "",
        bounds=with_bounds,
        labels=labels or (production.labels if production else ""),
        baseline=own_named(baseline) if baseline else "",
        anonymous=anonymous,
        unplayed=tuple(production.unplayed) if production else (),
        primary=primary,
    )
    judges, folder = list(judges_of(settings)), out.expanduser().absolute()
    source = begin_from.expanduser().absolute() if begin_from else None
    if source:
        require_made(read_plan(source))

    def evaluation_in(place: Library) -> Evaluation:
        told = settings if place is shelf else settings.model_copy(update={"library": str(place.root)})
        plan, asked = planned(wanted, [place.open(name) for name in wanted.roles], told, judges)
        require_same(folder, plan)
        taken = plan.model_copy(update={"taken_from": source.name}) if source else plan
        return Evaluation(taken, asked, told, folder)

    if not dry_run:
        require_extra("evaluate", *NUMBERS)
    known = RecordFile(source if source and not RecordFile(folder).path.exists() else folder).read()
    if production:
        with rehearsed(production, shelf) as copy:
            rehearsal = evaluation_in(copy)
            left = costs_of(rehearsal, known)
        agreed(production, left, notes_of(rehearsal.plan, known), shelf, yes=yes, dry_run=dry_run)
    elif dry_run:
        rehearsal = evaluation_in(shelf)
        left = costs_of(rehearsal, known)
    if dry_run:
        show_estimate(left, notes_of(rehearsal.plan, known), as_json=as_json)
        return
    carry_to(server, library, *wanted.roles)
    evaluation = evaluation_in(shelf)  # what cannot be done leaves no files
    if source:
        take_over(source, folder)
    run(evaluation)
    show_report(out, as_json=as_json)


def costs_of(evaluation: Evaluation, known: Records) -> list[Estimate]:
    """What is still to be asked, and what that costs."""
    return [*asyncio.run(of_indexes(evaluation)), *estimated(evaluation, known)]


def notes_of(plan: Plan, known: Records) -> list[str]:
    """What was left out, what the plan can show at all, and what the methods are compared with."""
    compared = [f"The others are compared with {plan.compared_with} (--baseline)."] if plan.methods[1:] else []
    try:
        return [*left_out_lines(plan), *reach_lines(plan, known), *compared]
    except ModuleNotFoundError:
        return ["What the plan can show is said with more packages: pip install 'dramaturg[evaluate]'", *compared]


def show_estimate(found: Sequence[Estimate], lines: Sequence[str], *, as_json: bool) -> None:
    """Say what is still to be asked, what was left out, and what the plan can show at all."""
    if as_json:
        print_json({"to_ask": [one._asdict() for one in found], "notes": list(lines)})
        return
    screen.print(estimate_table(found))
    for line in lines:
        note(line)


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN …", help="The folder of a run, or of several.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", help="The folder for the report of several runs.")] = Path("report"),
    inspect: Annotated[
        Path | None, typer.Option("--inspect", help="Write the run as logs of Inspect into this folder, one a method.")
    ] = None,
    left_out: Annotated[
        list[str] | None,
        typer.Option(
            "--leave-out",
            metavar="ROLE/QUESTION",
            help="Leave a question out, by its id or its words, that every method lacks. Kept in the run's folder.",
        ),
    ] = None,
    because: Annotated[str, typer.Option("--because", help="Why it is left out; the report says it.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run again from its records, without a model. Several runs of one plan get one report."""
    require_extra("evaluate", *NUMBERS)
    if inspect:
        inspected(runs, inspect)
        return
    if left_out:
        if len(runs) > 1:
            raise ValueError("Questions are left out of one run at a time: name one.")
        folder = runs[0].expanduser().absolute()
        leave_out(folder, RecordFile(folder).read(), left_out, because)
    if len(runs) == 1:
        show_report(runs[0], as_json=as_json)
        return
    folders, folder = [one.expanduser().absolute() for one in runs], out.expanduser().absolute()
    plan, records = merged(folders, folder)
    make_folder(folder, within=folder.parent)
    for known in (*folders, environment().cache / SHARED):
        take_standings(folder, plan.judges, known)
    show_numbers(plan, records, report_files(folder, plan, records), as_json=as_json)


def inspected(runs: Sequence[Path], out: Path) -> None:
    """Write one run as logs that Inspect's viewer opens."""
    require_extra("inspect", "inspect_ai")
    if len(runs) > 1:
        raise ValueError("Logs are of one run: name one, and a folder of their own for each of the others.")
    from dramaturg.evaluation.inspect.log import write_logs

    folder = runs[0].expanduser().absolute()
    take_standings(folder, read_plan(folder).judges, environment().cache / SHARED)
    for path in write_logs(read_plan(folder), RecordFile(folder).read(), out):
        note(f"Wrote {path}.")
    note(f"See them: inspect view --log-dir {out}")


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
    folder = folder.expanduser().absolute()
    take_standings(folder, read_plan(folder).judges, environment().cache / SHARED)
    show_numbers(reported_plan(folder), RecordFile(folder).read(), written_report(folder), as_json=as_json)


def show_numbers(plan: Plan, records: Records, written: Sequence[Path], *, as_json: bool) -> None:
    """Show the numbers of a report, and where it was written."""
    found, heard = tables(plan, records), interview_tables(plan)
    if as_json:
        spent = [one._asdict() for one in costs(plan, records)]
        told = {
            "run": provenance(plan, records),
            "conclusion": conclusion(plan, found) if plan.metrics else "",
            **as_record(found, spent),
            "valid": found.valid and heard.valid,
            "interviews": plain(heard),
        }
        print_json(told)
        return
    parts = [one for of in sections(plan, records, found).values() for one in of]
    for table in screens(parts):
        screen.print(table)
    for one in sorted(notes(parts), key=lambda one: one.warns):
        note(one.text, "yellow") if one.warns else screen.print(one.text, soft_wrap=True)
    screen.print(f"Wrote {' and '.join(map(str, written))}.", soft_wrap=True)
