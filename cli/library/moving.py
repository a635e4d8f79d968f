"""`dramaturg library push` and `pull`: roles are carried between a folder and a database."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from dramaturg.cli.options import JsonOption, LibraryOption, shelf_of
from dramaturg.cli.output import print_json, screen
from dramaturg.cli.progress import waiting
from dramaturg.stores.errors import RoleError
from dramaturg.stores.library import is_address
from dramaturg.stores.library_folder import Library, stories

app = typer.Typer(help="Copy roles into a database that several machines share, and back.", no_args_is_help=True)
Address = Annotated[str, typer.Argument(help="The database: postgresql://user@host/name.", show_default=False)]
Roles = Annotated[list[str] | None, typer.Argument(help="The roles. Default: all.", show_default=False)]
Replace = Annotated[bool, typer.Option("--replace", help="Replace existing roles with the same ids.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be copied, and exit.")]


@app.command()
def push(
    address: Address,
    roles: Roles = None,
    replace: Replace = False,
    dry_run: DryRun = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy roles and their indexes from a folder into a database: all of them or none."""
    carry(folder_of(library), database_at(address), roles, replace=replace, dry_run=dry_run, as_json=as_json)


@app.command()
def pull(
    address: Address,
    roles: Roles = None,
    replace: Replace = False,
    dry_run: DryRun = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy roles and their indexes from a database into a folder; each is copied completely or not at all."""
    carry(database_at(address), folder_of(library), roles, replace=replace, dry_run=dry_run, as_json=as_json)


def database_at(address: str) -> Library:
    """The library in a database.

    Raises:
        ValueError: this is no address of one.
    """
    if not is_address(address):
        raise ValueError(f"{address!r} is no database: write postgresql://user@host/name.")
    return shelf_of(address)


def folder_of(library: str | None) -> Library:
    """The library in a folder.

    Raises:
        ValueError: the one that is meant is in a database.
    """
    shelf = shelf_of(library)
    if shelf.is_copy:
        raise ValueError(f"The library is in {shelf.name}: name a folder by --library.")
    return shelf


def carry(
    source: Library, target: Library, roles: Sequence[str] | None, *, replace: bool, dry_run: bool, as_json: bool
) -> None:
    """Carry roles from one library to another, with the stories that they are of, and say which.

    Raises:
        RoleError: there is no such role, or one is there that is not the same and is not to be replaced.
    """
    with waiting("Comparing roles …"):
        if not source.is_copy:  # an example becomes a role of a folder when it is first asked for
            roles = [source.open(role).id for role in roles or source.roles()]
        read = {story for story, of in stories(source.cards()).items() if not {*of}.isdisjoint(roles or ())}
        found = {role: source.contents(role) for role in (*sorted(read), *(roles or source.roles()))}
        known = {*target.roles()}
        there = {role: target.contents(role) if role in known else None for role in found}
    states = {role: state_of(files, there[role]) for role, files in found.items()}
    others = [role for role, state in states.items() if state == "another"]
    if others and not (replace or dry_run):
        raise RoleError(
            f"{target.name} has another {', '.join(map(repr, others))}: nothing was copied. --replace puts "
            "these roles in its place."
        )
    if not dry_run:
        with waiting(f"Copying roles to {target.name} …"):
            target.replace({role: files for role, files in found.items() if states[role] != "the same"})
    if as_json:
        print_json(states)
        return
    table = Table("role", "files", "bytes", f"in {target.name} before", title=f"From {source.name} to {target.name}")
    for role, files in found.items():
        table.add_row(role, f"{len(files):,}", f"{sum(map(len, files.values())):,}", states[role])
    screen.print(table)


def state_of(files: dict[str, bytes], there: dict[str, bytes] | None) -> str:
    """What a library has of a role that is to be carried to it."""
    return "nothing" if there is None else "the same" if there == files else "another"
