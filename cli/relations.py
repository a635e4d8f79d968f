"""`dramaturg relations`: who speaks with whom in a role's dialogues and how much it matters, as tables or a page."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.graph import opened
from dramaturg.cli.known_relations import KnownRelations, as_record, known_relations
from dramaturg.cli.options import (
    DRMR,
    JsonOption,
    LibraryOption,
    RoleArgument,
    SettingsOption,
    UserRoleOption,
    context_for,
)
from dramaturg.cli.picture_text import one_line
from dramaturg.cli.relation_evidence import clique_title, pairs_table, strangers, table_of
from dramaturg.cli.relations_page import html
from dramaturg.cli.screen import errors, print_json, printable, screen
from dramaturg.cli.written_files import write_whole
from dramaturg.nodes.dialogues.relations import RelationSettings
from dramaturg.stores.errors import did_you_mean

STRONGEST = 15


def relations(
    role: RoleArgument,
    user_role: UserRoleOption = "",
    open_file: Annotated[Path | None, typer.Option(help="Write a page into this file, and open it.")] = None,
    file: Annotated[Path | None, typer.Option(help="Write a page into this file.")] = None,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who speaks with whom in a role's dialogues: as tables, or as a page; --user-role shows that one's clique."""
    path = wanted(open_file, file)
    context = cast("RelationSettings", context_for(DRMR, role, library, settings, user_role=user_role))
    known = known_relations(context)
    if known.store.warning:
        errors.print(printable(known.store.warning), style="yellow", soft_wrap=True)
    if path is not None:
        write_whole(path, html(known))
        errors.print(printable(opened(path) if open_file is not None else f"Wrote {path}."), soft_wrap=True)
    if as_json:
        print_json(as_record(known))
    elif path is None:
        screen.print(*tables(known), sep="\n")


def wanted(open_file: Path | None, file: Path | None) -> Path | None:
    """The file to write.

    Raises:
        ValueError: two files were named, or the suffix is that of something else.
    """
    if open_file is not None and file is not None:
        raise ValueError("Name the file once: with --open-file to open it too, or with --file.")
    path = open_file or file
    if path is not None and path.suffix.lower() not in {"", ".html"}:
        raise ValueError(f"Relations are not written as {path.suffix}: they are a page, name a file in .html.")
    return path


def tables(known: KnownRelations) -> Iterable[RenderableType]:
    """Who speaks in the dialogues, the strongest relations, and how the role stands to the user's."""
    yield roles_table(known)
    if known.pairs:
        title = f"The strongest relations of {len(known.pairs)}" if known.pairs[STRONGEST:] else "Relations"
        yield pairs_table(title, known.pairs[:STRONGEST])
    if known.clique:
        yield pairs_table(clique_title(known.clique, known.within()), known.within())
    elif not known.user.stranger:
        yield Text(no_clique(known), style="yellow")
    if known.unscored:
        yield Text(unscored(known), style="dim")


def roles_table(known: KnownRelations) -> Table:
    """Who speaks, in how many dialogues and with how many others."""
    numbers = (Column("dialogues", justify="right"), Column("speaks with", justify="right"))
    table = table_of(f"{len(known.store.dialogues)} dialogues, {len(known.pairs)} relations", "role", *numbers)
    for name, told, met in known.counts():
        table.add_row(Text(one_line(name)), str(told), str(met))
    return table


def no_clique(known: KnownRelations) -> str:
    """That the user's role and the role never spoke with each other; a name that is nobody's may be a slip."""
    told = strangers(one_line(known.user.name), one_line(known.name))
    if known.user.speaker is not None:
        return told
    near = did_you_mean(known.user.name, [name for name in known.store.graph if name != known.name])
    return one_line(f"{told} No line of the dialogues is by {known.user.name}{near or '.'}")


def unscored(known: KnownRelations) -> str:
    """How many edges have no score, and how they get one."""
    of = f"{known.unscored} of {len(known.relations)} edges (two roles in one dialogue) have no score yet"
    return f"{of}, which weighs nothing: dramaturg index {known.role.id} --method {DRMR} --scores"
