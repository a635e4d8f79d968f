"""`dramaturg dataset list`, `roles` and `fetch`: datasets that are known by name, and roles that are made of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from dramaturg.cli.options import JsonOption, LibraryOption, command_line, shelf_of
from dramaturg.cli.output import note, print_json, screen, table_of
from dramaturg.cli.progress import bars, counting
from dramaturg.evaluation.datasets.cast import Cast, Placed, placed, put_into
from dramaturg.evaluation.datasets.casting import cast_of
from dramaturg.evaluation.datasets.catalogue import DATASETS, Known, known
from dramaturg.evaluation.datasets.fetching import address_of, fetch, found_in, release_of, released_in
from dramaturg.evaluation.datasets.folders import Wish, folders_below, has_form
from dramaturg.evaluation.datasets.released import RELEASES

app = typer.Typer(help="List and download known datasets, and make roles from them.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(help=f"Which: {', '.join(DATASETS)}.", show_default=False)]
ProfilesOption = Annotated[
    str,
    typer.Option(
        "--profiles",
        metavar="[NAME=]FOLDER",
        help="Where to find profiles that the dataset lacks: a folder with one text per name, or another dataset.",
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="ROLE", help="Only this one, by name, alias or id; may be repeated."),
]


@app.command("list")
def list_datasets(
    folder: Annotated[
        Path | None, typer.Argument(help="Show which datasets are in this folder.", exists=True, file_okay=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the known datasets, what each contains, and its licence."""
    where = {name: places_of(name, folder) for name in DATASETS} if folder else {}
    if as_json:
        print_json([for_program(one, where.get(one.name)) for one in DATASETS.values()])
        return
    for one in DATASETS.values():
        table = table_of(f"{one.name}: {one.title}", Column(""), Column("", overflow="fold"))
        table.show_header = False
        release = RELEASES.get(one.name)
        rows = {"has": one.has, "lacks": one.needs, "asked": one.asked, "licence": one.licence, "from": one.where}
        if release:
            rows["known"] = (
                f"{len(release.files)} files by their SHA-256, {sum(file.size for file in release.files):,} bytes, "
                f"commit {release.commit[:12]}: dramaturg dataset fetch {one.name} FOLDER"
            )
        if folder:
            rows["here"] = "; ".join(where[one.name]) or "not found"
        for title, text in rows.items():
            if text:
                table.add_row(title, text)
        screen.print(table)


def for_program(one: Known, places: list[str] | None) -> dict[str, Any]:
    """A dataset as JSON, with where it was found, if that was looked for."""
    release = RELEASES.get(one.name)
    files = [{**file._asdict(), "url": address_of(release, file)} for file in release.files] if release else []
    return {**one._asdict(), "files": files, **({} if places is None else {"here": places})}


def places_of(name: str, folder: Path) -> list[str]:
    """Where in a folder something has a dataset's form, and how many files there are the released ones."""
    said = []
    for inner in folders_below(folder):
        released, fits = released_in(inner, name), has_form(name, inner)
        if released or fits:
            said.append(f"{inner} ({'in its form' if fits else 'parts of it'}; released files: {released})")
    return said


@app.command("roles")
def make_roles(
    name: NameArgument,
    folder: Annotated[Path, typer.Argument(help="The folder that holds it.", show_default=False)],
    only: OnlyOption = None,
    profiles: ProfilesOption = "",
    library: LibraryOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print which roles would be made, and exit.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make roles from a dataset. Each is written completely or not at all; existing roles are not changed."""
    wish = Wish(known(name).name, folder.expanduser(), tuple(only or ()), profiles)
    shelf, cast = shelf_of(library), cast_of(wish)
    found = placed(cast, cast.chosen(wish.only), shelf)
    note(f"{cast.title}. {cast.licence}.")
    if not dry_run:
        put_into(cast, found, shelf)
    if as_json:
        said = {"dataset": name, "title": cast.title, "licence": cast.licence, "notes": list(cast.notes)}
        print_json({**said, "library": shelf.name, "roles": [one._asdict() for one in found]})
        return
    screen.print(roles_table(cast, found, made=not dry_run))
    if not dry_run and any(one.questions for one in found):
        line = command_line("evaluate", "--methods", "naive-rag,vanilla", library=library)
        screen.print(f"To compare methods on them: {line} --dataset {name}={folder}", soft_wrap=True)


def roles_table(cast: Cast, found: Sequence[Placed], *, made: bool) -> Table:
    """The roles of a dataset, with what each knows and is asked; below, what was held back or left out."""
    numbers = (Column(head, justify="right") for head in ("documents", "scenes", "memories", "questions"))
    heads = (Column("role", overflow="fold"), Column("name", overflow="fold"), *numbers, Column("", overflow="fold"))
    table = table_of(cast.title, *heads)
    table.caption, table.caption_justify = "\n".join(f"{one}." for one in cast.notes) or None, "left"
    states = {"new": "made" if made else "to be made", "there": "is there", "edited": "is there, edited: it stays so"}
    for one in found:
        counts = (one.documents, one.scenes, one.memories, one.questions)
        table.add_row(one.role, one.name, *map(str, counts), states[one.state])
    return table


@app.command("fetch")
def fetch_dataset(
    name: NameArgument,
    folder: Annotated[Path, typer.Argument(help="The folder for its files.", show_default=False)],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="FILE", help="Only this file; may be repeated.")
    ] = None,
    base: Annotated[str, typer.Option("--from", metavar="URL", help="Another address with the same files.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Download without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be downloaded, and exit.")] = False,
) -> None:
    """Download the files of a dataset from its authors' repository; a file with another checksum is not kept."""
    about, release = known(name), release_of(known(name).name)
    there = {one.file.path: one for one in found_in(folder, about.name)}
    if wrong := [one for one in only or () if one not in there]:
        raise ValueError(f"{about.title} has no known file {wrong[0]!r}; there are: {', '.join(there)}.")
    wanted = [one for path, one in there.items() if not only or path in only]
    table = table_of(about.title, Column("file", overflow="fold"), Column("bytes", justify="right"), "SHA-256", "here")
    for one in wanted:
        table.add_row(one.file.path, f"{one.file.size:,}", f"{one.file.sha256[:12]}…", one.state)
    screen.print(table)
    note(f"{about.licence}.")
    missing = [one.file for one in wanted if one.state != "known"]
    if dry_run or not missing:
        return
    where = base or f"github.com/{release.repository}"
    if not yes:
        size = sum(one.size for one in missing)
        typer.confirm(f"Fetch {len(missing)} files, {size:,} bytes, from {where}?", abort=True, err=True)
    with bars() as show:
        fetch(release, missing, folder.expanduser(), base, counting(show, "Files", len(missing)))
