"""`python -m studies`: what methods look up, held against marks that people made; no judge of answers."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dramaturg.cli.app import command_of, run_command
from dramaturg.cli.options import JsonOption, LibraryOption, names_in, shelf_of
from dramaturg.cli.output import (
    NUMBERS,
    errors,
    print_json,
    require_extra,
    require_place,
    screen,
    table_of,
    write_whole,
)
from dramaturg.cli.progress import bars
from dramaturg.cli.stopping import stopping
from dramaturg.evaluation.datasets.files import JSON
from dramaturg.models.environment import environment
from dramaturg.stores.library_folder import Library
from dramaturg.workflows.settings import require_known, settings_of
from studies.report import (
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
from studies.study import Bench, Study, copy_roles

if TYPE_CHECKING:
    from dramaturg.nodes.world.world import Event
    from dramaturg.workflows.riverbend_agents import RiverbendContext

ROLES = "beethoven,wukong,silver"
"""The example roles with personas, questions and marks."""
DEAR = [name for name, one in STUDIES.items() if one.cost]
NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="STUDY … FILE …",
        help=f"Which, of {', '.join(STUDIES)}; none: all but {', '.join(DEAR)}. memory and quotations "
        "take files or folders beside their names.",
        show_default=False,
    ),
]
RolesOption = Annotated[
    list[str] | None,
    typer.Option("--role", help=f"The roles, separated by commas or each with its own option. Default: {ROLES}."),
]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="Write the tables into this page, between their marker lines.")
]
ModelOption = Annotated[str, typer.Option("--model", help="The chat model for studies that need one.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of riverbend, e.g. hours=14, of drmr-tokens, e.g. turns=20, of memory, e.g. answer=true, or "
        "of quotations, e.g. ask=true. May be repeated.",
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print what would be asked, as far as is known, and exit.")
]


def studies(
    names: NamesArgument = None,
    roles: RolesOption = None,
    out: OutOption = None,
    model: ModelOption = "embedded",
    library: LibraryOption = None,
    settings: SettingsOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure what methods look up, on copies of the roles. Indexes and answers of earlier runs are reused."""
    chosen, given_files = told_apart(names or ())
    wanted = studies_of(chosen)
    require_reader(wanted, given_files)
    require_extra("evaluate", *NUMBERS)
    page = page_at(out) if out else ""
    given = known_settings(wanted, settings_of(settings))
    named = names_in("--role", roles or [ROLES])
    bench = Bench(environment().cache / "studies", named, model, settings=given, play=played, files=given_files)
    if dry_run:
        tell(wanted, bench, shelf_of(library), as_json=as_json)
        return
    new, done = bench.is_new, finished(wanted, bench, shelf_of(library))
    if out:
        picture = plotted(out, done)
        made_of = tuple(dict.fromkeys(role for one in wanted for role in roles_of(one, named)))
        write_whole(out, within(page, markdown(done, made_of, picture, new=new)).encode())
        errors.print(f"Wrote {out!s}.", soft_wrap=True)
    if as_json:
        print_json([as_record(one) for one in done])
        return
    for one in done:
        show(one)


def told_apart(given: Sequence[str]) -> tuple[list[str], tuple[Path, ...]]:
    """The names of studies, and the files beside them."""
    is_file = {one: one not in STUDIES and (Path(one).exists() or Path(one).suffix in JSON) for one in given}
    return [one for one in given if not is_file[one]], tuple(Path(one) for one in dict.fromkeys(given) if is_file[one])


def require_reader(wanted: Sequence[Study], given_files: Sequence[Path]) -> None:
    """Refuse files that no study of the run reads."""
    if given_files and not any(one.reads_files for one in wanted):
        able = " or ".join(name for name, one in STUDIES.items() if one.reads_files)
        raise ValueError(f"These studies read no files: name {able} beside {given_files[0]}, or leave it out.")


def roles_of(study: Study, named: tuple[str, ...]) -> tuple[str, ...]:
    """The roles that a study is made of."""
    return () if study.reads_files else study.roles or named


def known_settings(wanted: Sequence[Study], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings that are given, checked; refused where no study of the run has any."""
    kinds = {one.name: one.settings for one in wanted if one.settings}
    if given and not kinds:
        able = " or ".join(name for name, one in STUDIES.items() if one.settings)
        raise ValueError(f"These studies have no settings: name {able}, or leave --set out.")
    for name, kind in kinds.items():
        require_known(kind, given, name)
        kind.model_validate(dict(given))
    return given


async def played(context: "RiverbendContext", log: Path, show: "Callable[[Event], None]") -> None:
    """Play a simulation to its end, or continue it where it stopped."""
    from dramaturg.conversations.simulation import open_simulation
    from dramaturg.workflows import riverbend  # graphs are built when they are asked for

    async with open_simulation(riverbend.build(), context, log) as run:
        await run.play(show)


def tell(wanted: Sequence[Study], bench: Bench, library: Library, *, as_json: bool) -> None:
    """Say what studies would ask, where that is known before."""
    costs = {}
    with bench.held():
        copy_all(wanted, bench, library)
        for one in wanted:
            one.check(bench)
            costs[one.name] = one.cost(bench) if one.cost else None
    if as_json:
        print_json([{"study": name, **(dict(found.counts) if found else {})} for name, found in costs.items()])
        return
    for name, found in costs.items():
        unknown = f"{name}: how much it asks is not known before its roles are indexed."
        for line in found.lines if found else (unknown,):
            screen.print(line, soft_wrap=True)


def copy_all(wanted: Sequence[Study], bench: Bench, library: Library) -> None:
    """Copy the roles that studies are made of."""
    for roles in dict.fromkeys(roles_of(one, bench.roles) for one in wanted):
        copy_roles(replace(bench, roles=roles), library)


def page_at(out: Path) -> str:
    """The page that a run writes into; refused before the work where it cannot be."""
    require_place(out)
    try:
        page = out.read_text(encoding="utf-8") if out.exists() else ""
    except UnicodeDecodeError as error:
        raise ValueError(f"{out} is not UTF-8: save it so, or name a file that is not there yet.") from error
    within(page, "")
    return page


def finished(wanted: Sequence[Study], bench: Bench, library: Library) -> list[Finished]:
    """Run studies under a progress bar."""
    stopping.promise("What was indexed and answered is kept, and the same command goes on with it.")
    with bench.held(), bars() as announce:
        copy_all(wanted, bench, library)
        return asyncio.run(run(wanted, replace(bench, announce=announce)))


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
        shape = table_of(table.title, *table.columns)
        for row in table.rows:
            shape.add_row(*(shown(cell, table.unit) for cell in row))
        screen.print(shape)
    for line in one.findings.limits:
        screen.print(f"- {line}")


def main() -> None:
    """Run the command."""
    run_command(command_of("studies", studies), "python -m studies")


if __name__ == "__main__":
    main()
