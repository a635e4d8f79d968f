"""`dramaturg learn`, `forget` and `edit`: what a role knows, changed."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer
from rich.table import Table

from dramaturg.cli.library.indexing import for_program, indexed, report_lines
from dramaturg.cli.options import (
    AMADEUS,
    JsonOption,
    LibraryOption,
    MethodOption,
    ModelOption,
    RoleArgument,
    SettingsOption,
    role_for,
)
from dramaturg.cli.output import note, print_json, screen
from dramaturg.cli.progress import waiting
from dramaturg.stores import learning
from dramaturg.stores.documents.originals import PACKED
from dramaturg.stores.errors import RoleBusy, RoleError, StorageError
from dramaturg.stores.files import sha256
from dramaturg.stores.role import Role

if TYPE_CHECKING:
    from dramaturg.workflows.methods import Preparation


def learn(
    role: RoleArgument,
    files: Annotated[
        list[Path], typer.Argument(help="Markdown, plain text, PDF, Word, EPUB or HTML.", show_default=False)
    ],
    as_name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="The document's name in persona/.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it would cost, and change nothing.")] = False,
    method: MethodOption = AMADEUS,
    model: ModelOption = "auto",
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Teach a role documents: copy them into its persona, and index what is new."""
    from dramaturg.workflows.methods import preparations

    if as_name is not None and len(files) > 1:
        raise ValueError("--as names one document: learn one file at a time.")
    context, opened = role_for(method, role, library, settings, chat_model=model)
    found = [read_in(file, as_name) for file in files]
    documents = [(one.name, one.data) for one in found]
    if dry_run:
        changes = learning.changes(opened, documents)
        reports = asyncio.run(costs_of(preparations(method, context), dict(documents)))
    else:
        changes = learning.learn(opened, documents)
        reports = asyncio.run(indexed(context, method))
    tell(role, changes, reports, as_json)


def read_in(file: Path, as_name: str | None) -> learning.Incoming:
    """Read a file, and say what in it could not be read."""
    with waiting(f"Reading {file.name} …") if file.suffix.lower() in PACKED else nullcontext():
        found = learning.incoming(file, as_name)
    for line in found.missing:
        note(line)
    return found


async def costs_of(parts: Mapping[str, Preparation], changes: dict[str, bytes | None]) -> dict[str, dict[str, Any]]:
    """What indexing would cost; nothing where a method has no index."""
    found = {title: await one.preview(changes) for title, one in parts.items()}
    return {title: cost for title, cost in found.items() if cost is not None}


def forget(
    role: RoleArgument,
    source: Annotated[str, typer.Option(metavar="NAME", help="The document in persona/ to forget.")],
    for_good: Annotated[
        bool, typer.Option("--for-good", help="Erase it from earlier versions too; this cannot be undone.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    method: MethodOption = AMADEUS,
    model: ModelOption = "auto",
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a role forget a document: remove it from its persona and its index."""
    from dramaturg.stores.versions import erase_past, holding, readers_of

    context, opened = role_for(method, role, library, settings, chat_model=model)
    left = [name for name in opened.persona.names() if name != source]
    there = source in opened.persona.names()
    if not (there or (for_good and holding(opened, source))):
        learning.the_document(opened, source)  # says which there are
    if not (left or for_good):
        raise ValueError(f"{source} is all that {role!r} knows: learn something else first, or forget it --for-good.")
    files = learning.originals_of(opened, source)
    if not yes:
        end = ", and erase every version that can be taken back?" if for_good else "?"
        typer.confirm(f"Forget {' and '.join([source, *files * for_good])} of {role}{end}", abort=True, err=True)
    changes = [learning.forget(opened, source)] if there else []
    reports = asyncio.run(indexed(context, method)) if left else {}
    if for_good:
        learning.erase_originals(opened, source)
        readers = [one.id for one in readers_of(opened)]
        erase_past(opened)
        if readers:
            note(f"{', '.join(readers)} have read {role} as their story: it is erased from their indexes, too.")
    elif files:
        note(f"{', '.join(files)} stays in persona/, and is not read again unless it changes.")
    tell(role, changes, reports, as_json)


def edit(
    role: RoleArgument,
    source: Annotated[str | None, typer.Argument(help="The document; required if there are several.")] = None,
    method: MethodOption = AMADEUS,
    model: ModelOption = "auto",
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a document of a role in your editor ($EDITOR), and index what you changed."""
    context, opened = role_for(method, role, library, settings, chat_model=model)
    change = edited(opened, learning.the_document(opened, source))
    if change is None:
        print_json({"documents": [], "index": None}) if as_json else screen.print("Nothing was changed.")
        return
    tell(role, [change], asyncio.run(indexed(context, method)), as_json)


def edited(role: Role, name: str) -> learning.Change | None:
    """Have a copy of a document edited, and learn it if it can be learned; None if nothing was changed."""
    before = role.persona.read(name)
    copy = Path(tempfile.mkdtemp(prefix="dramaturg-")) / name
    copy.write_bytes(before)
    try:
        click.edit(filename=str(copy))
    except click.ClickException as error:
        raise RuntimeError(
            f"{error.message}: set EDITOR to the command of an editor that waits until you are done."
        ) from error
    after = copy.read_bytes()
    change = None
    try:
        if after != before:
            (change,) = learning.learn(role, [(name, learning.checked(after, copy))], was={name: sha256(before)})
    except (RoleError, RoleBusy, StorageError) as error:
        msg = f"{error} What you wrote is in {copy}."
        raise type(error)(msg) from error
    shutil.rmtree(copy.parent, ignore_errors=True)
    return change


def tell(role: str, changes: Sequence[learning.Change], reports: Mapping[str, dict[str, Any]], as_json: bool) -> None:
    """Say what became of documents, and what that cost."""
    if as_json:
        print_json({"documents": [change._asdict() for change in changes], "index": for_program(reports) or None})
        return
    if changes:
        table = Table("document", "", "characters", "lines", title=f"Persona of {role}")
        for one in changes:
            table.add_row(one.document, one.change, f"{one.before:,} → {one.after:,}", f"+{one.added} −{one.removed}")
        screen.print(table)
    if reports:
        screen.print(report_lines(reports))
