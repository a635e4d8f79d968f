"""`dramaturg chunks`, `consistency` and `ratings`: what a run used, how steady interviews are, how far people agree."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column

from dramaturg.cli.evaluation.tables import plain
from dramaturg.cli.options import JsonOption, LibraryOption, shelf_of
from dramaturg.cli.output import NUMBERS, decimal, note, print_json, require_extra, screen, table_of
from dramaturg.evaluation.comparison.contestants import contestant
from dramaturg.evaluation.comparison.external import PACKAGES
from dramaturg.evaluation.comparison.interviews import FOLDER
from dramaturg.evaluation.comparison.plan import FILE, Plan, read_plan
from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.instruments.files import NAMES, instrument
from dramaturg.evaluation.instruments.instrument import Instrument
from dramaturg.evaluation.interviews.run import read_interview
from dramaturg.evaluation.interviews.state import InterviewOutput
from dramaturg.evaluation.reports.chunk_usage import Sizes, Use, recorded_sizes, uses
from dramaturg.evaluation.reports.consistency import MEASURES, steadiness
from dramaturg.evaluation.reports.ratings import LOOKS, Rated, rated, read_ratings
from dramaturg.nodes.run import RunContext
from dramaturg.stores.errors import MissingIndex, RoleError
from dramaturg.stores.library_folder import Library
from dramaturg.workflows.methods import index_kinds

RunArgument = Annotated[Path, typer.Argument(help="The folder of a run of dramaturg evaluate.", show_default=False)]


def chunks(run: RunArgument, library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """Show which share of a role's passages a run used, and how often selection found none. Asks no model."""
    require_extra("evaluate", *NUMBERS)
    plan, records = read_plan(run), RecordFile(run).read()
    known = dict(recorded_sizes(records))
    found = uses(plan, records, {**dict(counted_now(plan, shelf_of(library), known)), **known})
    if as_json:
        print_json([one._asdict() for one in found])
        return
    if not found:
        raise ValueError(f"No method of {run} shows passages: it takes one such as amadeus or naive-rag.")
    heads = ("replies", "used", "usage", "by chance", "Gini", "entropy", "nothing selected")
    for method in dict.fromkeys(one.contestant for one in found):
        table = table_of(f"{method}: use of passages (AMADEUS, Table 3)", Column("role", overflow="fold"), *heads)
        for one in (one for one in found if one.contestant == method):
            table.add_row(one.role, *use_cells(one))
        screen.print(table)
    if unjudged := sum(one.unjudged or 0 for one in found if one.role in plan.roles):
        note(f"In {unjudged} replies a passage had no verdict: that nothing was selected says less there.", "yellow")
    if any(one.usage is None for one in found):
        note("Where there is no usage, it is not known how many passages there are: give the --library of the run.")


def counted_now(plan: Plan, library: Library, known: Sizes) -> Iterator[tuple[tuple[str, str], int]]:
    """How many passages there are in a library now, where a run does not say how many there were."""
    pairs = [(method, role) for method in plan.methods for role in plan.roles if (method, role) not in known]
    for name, role in pairs:
        one = contestant(name)
        if one.method in PACKAGES:
            continue
        with suppress(RoleError, MissingIndex):
            opened = library.role(role)
            context = one.context(RunContext(library=str(library.root)), role, seed=0)
            for kind in index_kinds(one.method, context):
                store: Any = opened.index(kind).open()
                if hasattr(store, "passages"):
                    yield (name, role), len(store.passages)


def use_cells(one: Use) -> tuple[str, ...]:
    """The numbers of a row."""
    used = "" if one.used is None else f"{one.used} of {'?' if one.passages is None else one.passages}"
    shares = map(decimal, (one.usage, one.by_chance, one.gini, one.entropy))
    failed = "–" if one.selected is None else f"{one.failed} of {one.selected} ({one.failure:.1%})"
    return (str(one.replies), used, *shares, failed)


def consistency(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH …", help="Run folders of evaluate, or files of interview.", show_default=False),
    ],
    inventory: Annotated[
        str, typer.Option("--inventory", metavar="NAME|PATH", help="Your own inventory, if the interviews used one.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Show how far the scores of interviews differ, by item and by dimension (InCharacter). Asks no model."""
    outputs = [*interviews_at(paths)]
    own = {name: by for path in paths if (path / FILE).is_file() for name, by in inventories_of(read_plan(path))}

    def inventory_of(output: InterviewOutput) -> Instrument:
        name = output["about"]["instrument"]
        by = inventory or own.get(name, "") or (name if name in NAMES else "")
        if not by:
            raise ValueError(f"The interviews are by {name}, an inventory of yours: give its path with --inventory.")
        return instrument(by, output["about"]["language"])

    found = steadiness(outputs, inventory_of)
    if as_json:
        print_json([one._asdict() for one in found])
        return
    heads = ("method", "judging", "scores", "roles", "interviews", "groups", "mean deviation")
    for name in dict.fromkeys(one.inventory for one in found):
        table = table_of(f"{name}: standard deviation, as a share of the scale", *heads)
        for one in (one for one in found if one.inventory == name):
            counts = map(str, (one.roles, one.interviews, one.groups))
            table.add_row(one.method, one.judging, one.measure, *counts, decimal(one.value))
        screen.print(table)
    for measure, meaning in MEASURES.items():
        note(f"{measure}: {meaning}.")


def inventories_of(plan: Plan) -> Iterator[tuple[str, str]]:
    """The inventories of a run: what they are called, and how they were named or where they lie."""
    yield from ((one.name, one.metric) for one in plan.inventories)


def interviews_at(paths: Sequence[Path]) -> Iterator[InterviewOutput]:
    """The interviews in runs and files.

    Raises:
        ValueError: there is none, or a file is none.
    """
    files = [file for path in paths for file in files_at(path)]
    if not files:
        raise ValueError(f"{', '.join(map(str, paths))} holds no interview that is over: name a run, or its files.")
    for file in dict.fromkeys(files):
        yield read_interview(file)


def files_at(path: Path) -> Iterable[Path]:
    """The files of interviews at a path."""
    if not path.is_dir():
        return [path]
    return sorted((path / FOLDER if (path / FOLDER).is_dir() else path).glob("*.json"))


def ratings(
    file: Annotated[Path, typer.Argument(metavar="CSV", help=f"{LOOKS.capitalize()}.", show_default=False)],
    as_json: JsonOption = False,
) -> None:
    """Show how far human raters agree, and whether methods differ by their ratings. Asks no model."""
    require_extra("evaluate", *NUMBERS)
    found = rated(read_ratings(file))
    if as_json:
        print_json(plain(found))
        return
    show_ratings(found)


def show_ratings(found: Rated) -> None:
    """Ratings as tables."""
    table = table_of("Raters", "rater", "ratings", "mean", "median", "standard deviation")
    for one in found.raters:
        table.add_row(one.rater, str(one.n), *map(decimal, (one.mean, one.median, one.std)))
    screen.print(table)
    show_agreement(found)
    if found.methods:
        show_methods(found)


def show_agreement(found: Rated) -> None:
    """How far the raters agree, and what is not defined."""
    table = table_of("Agreement", "measure", "value", "95 % interval", "of")
    alpha, icc, krippendorff = found.cronbach, found.icc, found.krippendorff
    if alpha:
        of = f"{alpha.n} samples, {alpha.k} raters"
        table.add_row("Cronbach's alpha, of all raters together", decimal(alpha.alpha), "", of)
        table.add_row("of one rater (Spearman-Brown)", decimal(alpha.single), "", of)
    if icc:
        bounds = "" if icc.low is None else f"[{decimal(icc.low)}, {decimal(icc.high)}]"
        table.add_row("ICC(2,1), one rater", decimal(icc.icc), bounds, f"{icc.n} samples, {icc.k} raters")
    if krippendorff:
        of = f"{krippendorff.n} samples, {krippendorff.missing} ratings missing"
        table.add_row("Krippendorff's alpha, ordinal", decimal(krippendorff.alpha), "", of)
    screen.print(table)
    if found.complete < found.samples:
        lack = f"{found.samples - found.complete} of {found.samples} samples"
        note(f"{lack} were not rated by everybody: Cronbach's alpha and the ICC are without them.")
    for line in found.why:
        note(f"Not defined: {line}", "yellow")


def show_methods(found: Rated) -> None:
    """What methods were given, and how far they differ."""
    table = table_of("Methods", "method", "mean")
    for name, mean in found.methods.items():
        table.add_row(name, decimal(mean))
    screen.print(table)
    if found.compared:
        heads = ("difference", "mean", "Cliff's delta", "p (Wilcoxon)", "p (Holm)", "samples that differ")
        table = table_of("Differences, by the mean of the raters", *heads)
        for one in found.compared:
            numbers = map(decimal, (one.difference, one.test.delta, one.test.p, one.corrected))
            table.add_row(f"{one.first} − {one.second}", *numbers, f"{one.test.n_different} of {one.test.n}")
        screen.print(table)
        note("Wilcoxon's test takes samples as independent: where they come in roles, it says too much.")
