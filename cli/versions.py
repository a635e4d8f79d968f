"""`dramaturg versions` and `undo`: what a role knew before, listed and brought back."""

import asyncio
from typing import Annotated, Any

import typer
from rich.table import Table

from dramaturg.cli.indexing import indexed
from dramaturg.cli.library import content
from dramaturg.cli.options import (
    AMADEUS,
    JsonOption,
    LibraryOption,
    MethodOption,
    RoleArgument,
    SettingsOption,
    context_for,
    library_path,
)
from dramaturg.cli.screen import print_json, screen
from dramaturg.nodes.run import RoleContext
from dramaturg.stores import versions as stored
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.library import open_role


def versions(
    role: RoleArgument,
    method: MethodOption = AMADEUS,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the versions of a role's index, the one that is served first, then those that undo goes back to."""
    kind = kind_of(context_for(method, role, library, settings))
    found = stored.versions(open_role(role, library_path(library)), kind)
    if as_json:
        print_json([{**one._asdict(), "created": one.created.isoformat()} for one in found])
        return
    table = Table("", "version", "made", "documents", "content", title=f"Versions of {role} ({kind.name})")
    for one in found:
        names = "\n".join(one.documents) + ("" if one.restorable else "\n(not kept)")
        made = f"{one.created.astimezone():%Y-%m-%d %H:%M:%S}"
        table.add_row("served" if one.served else "", one.version[:8], made, names, content(one.counts))
    screen.print(table)


def undo(
    role: RoleArgument,
    to: Annotated[str | None, typer.Option(metavar="VERSION", help="A version; else the one before this.")] = None,
    method: MethodOption = AMADEUS,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a former version back: the files that it was made from, and its index."""
    context = context_for(method, role, library, settings)
    back = stored.take_back(open_role(role, library_path(library)), kind_of(context), to)
    report = asyncio.run(indexed(context, method))
    if as_json:
        print_json({"version": back.version, "documents": back.documents, "index": report})
        return
    made = f"{back.created.astimezone():%Y-%m-%d %H:%M:%S}"
    screen.print(f"Back at the version of {made} ({back.version[:8]}): {', '.join(back.documents)}.", soft_wrap=True)
    named = "" if method == AMADEUS else f" --method {method}"
    screen.print(f"`dramaturg versions {role}{named}` lists where else you can go.", soft_wrap=True)


def kind_of(context: RoleContext) -> IndexKind[Any, Any]:
    """The kind of index that a method reads.

    Raises:
        ValueError: the method reads none.
    """
    kind: IndexKind[Any, Any] | None = getattr(context, "index_kind", None)
    if kind is None:
        msg = "This method has no index: choose another with --method."
        raise ValueError(msg)
    return kind
