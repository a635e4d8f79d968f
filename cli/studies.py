"""`dramaturg studies`: what methods look up, compared with marks that people made; no judge of answers."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID
from rich.table import Table

from dramaturg.cli.evaluate import listed
from dramaturg.cli.options import JsonOption, LibraryOption, library_path
from dramaturg.cli.progress_bars import bars
from dramaturg.cli.screen import errors, print_json, printable, screen
from dramaturg.cli.written_files import require_place, write_whole
from dramaturg.evaluation.studies.report import (
    STUDIES,
    Finished,
    as_record,
    calibration_plot,
    markdown,
    picture_beside,
    run,
    shown,
    studies_of,
    within,
)
from dramaturg.evaluation.studies.study import AnnounceStep, Bench, Study, StudyTable, copy_roles
from dramaturg.models.environment import environment

ROLES = "beethoven,wukong,silver"
"""The example roles with personas, questions and marks."""

NamesArgument = Annotated[
    list[str] | None, typer.Argument(help=f"Which, of {', '.join(STUDIES)}; none: all.", show_default=False)
]
RolesOption = Annotated[str, typer.Option("--role", help="Which roles, with commas between.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="Write the tables into this page, between its lines for them.")
]
ModelOption = Annotated[str, typer.Option("--model", help="The chat model, where a study asks one.")]


def studies(
    names: NamesArgument = None,
    roles: RolesOption = ROLES,
    out: OutOption = None,
    model: ModelOption = "embedded",
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what methods look up, on copies of the roles; what was made for an earlier run is used again."""
    wanted = studies_of(names or ())
    page = page_at(out) if out else ""
    bench = Bench(environment().cache / "studies", listed("--role", roles), model)
    new, done = bench.is_new, finished(wanted, bench, library_path(library))
    if out:
        picture = plotted(out, done)
        write_whole(out, within(page, markdown(done, bench.roles, picture, new=new)).encode())
        errors.print(f"Wrote {printable(str(out))}.", soft_wrap=True)
    if as_json:
        print_json([as_record(one) for one in done])
        return
    for one in done:
        show(one)


def page_at(out: Path) -> str:
    """The page that a run writes into; refused before the work where it cannot be.

    Raises:
        ValueError: it is a folder or would lie in none, is not UTF-8, or lacks the lines between which a run writes.
    """
    require_place(out)
    try:
        page = out.read_text(encoding="utf-8") if out.exists() else ""
    except UnicodeDecodeError as error:
        raise ValueError(f"{out} is not UTF-8: save it so, or name a file that is not there yet.") from error
    within(page, "")
    return page


def finished(wanted: Sequence[Study], bench: Bench, library: Path) -> list[Finished]:
    """Run studies under a progress bar.

    Raises:
        StudiesBusy: another program makes studies.
    """
    with bench.held(), bar() as announce:
        copy_roles(bench, library)
        return asyncio.run(run(wanted, replace(bench, announce=announce)))


@contextmanager
def bar() -> Iterator[AnnounceStep]:
    """Show how far each part is."""
    with bars() as progress:
        parts: dict[str, TaskID] = {}

        def announce(what: str, done: int, total: int) -> None:
            if what not in parts:
                parts[what] = progress.add_task(what, total=total)
            progress.update(parts[what], completed=done)

        yield announce


def plotted(out: Path, done: Sequence[Finished]) -> str:
    """Draw the calibration plot beside a page; the name of its file, empty where there is nothing to draw."""
    bins = next((one.findings.calibration for one in done if one.findings.calibration), ())
    picture = picture_beside(out)
    if bins:
        write_whole(picture, calibration_plot(bins))
    return picture.name if bins else ""


def show(one: Finished) -> None:
    """Print a study."""
    screen.print(f"{one.study.title} ({one.seconds:.0f} s)", style="bold")
    for line in one.findings.how:
        screen.print(line, style="dim")
    for table in one.findings.tables:
        screen.print(table_of(table))
    for line in one.findings.limits:
        screen.print(f"- {line}")


def table_of(table: StudyTable) -> Table:
    """A table for the screen."""
    shape = Table(*table.columns, title=table.title, title_justify="left")
    for row in table.rows:
        shape.add_row(*(printable(shown(cell)) for cell in row))
    return shape
