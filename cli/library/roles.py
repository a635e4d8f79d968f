"""`dramaturg roles`, `new`, `show`, `versions` and `undo`: the roles of a library, and what they knew before."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from dramaturg.cli.options import (
    AMADEUS,
    JsonOption,
    LibraryOption,
    MethodOption,
    ModelOption,
    RoleArgument,
    SettingsOption,
    command_line,
    context_for,
    role_for,
    shelf_of,
)
from dramaturg.cli.output import errors, print_json, screen
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.documents.originals import uncast, unread
from dramaturg.stores.documents.secrets import Tellable, told_among
from dramaturg.stores.documents.sources import is_of_story
from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError
from dramaturg.stores.library import library_at
from dramaturg.stores.library_folder import every_card, listed_examples, stories, written, written_for
from dramaturg.stores.role import Role

if TYPE_CHECKING:
    from dramaturg.nodes.run import RoleContext
    from dramaturg.stores.index.folder import IndexKind
    from dramaturg.stores.versions import Version

CARD_ONLY = "Card only: a role for you to play (--user-role), or one that answers by --method profile."
LISTED = 5
"""Times that are shown."""
METHODS_OF = {
    "persona": ("amadeus", "role-rag"),
    "dialogues": ("emotional-rag", "drmr"),
    "memories": ("emotional-rag",),
    "chronicle": ("id-rag",),
}
"""The methods of the papers, by the files that they look things up in."""


def roles(library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """List the roles of the library, and the examples that can be opened."""
    shelf = shelf_of(library)
    own = shelf.listed()
    listed = own | {role: one for role, one in listed_examples().items() if role not in own}
    rows: list[dict[str, Any]] = [
        {"role": role, "where": "library" if role in own else "example", **name_or_error(one.card)}
        for role, one in listed.items()
    ]
    shared = stories({role: one.card for role, one in listed.items()})
    for row in rows:
        kinds = written_for(listed[row["role"]], listed)
        row["methods"] = [*dict.fromkeys(method for kind in kinds for method in METHODS_OF[kind])]
        row["story_of"] = shared.get(row["role"], [])
    if as_json:
        print_json(rows)
        return
    caption = "An example is copied when first opened. Any role answers by --method profile."
    where = Column("where", no_wrap=True)
    table = Table("role", "name", where, "has files for", title=shelf.name, caption=caption)
    for row in rows:
        waiting = listed[row["role"]].unread
        place = row["where"] + f", {waiting} file(s) not read" * bool(waiting)
        files_for = ", ".join(row["methods"]) or "card only"
        if row["story_of"]:
            files_for = f"the story of {', '.join(row['story_of'])}"
        table.add_row(row["role"], row["name"], place, files_for)
    screen.print(table)
    for problem in filter(None, (row.get("error") for row in rows)):
        errors.print(problem)


def name_or_error(card: Callable[[], RoleCard]) -> dict[str, str]:
    """The name on a role's card, or why the card cannot be read: the others are listed all the same."""
    try:
        return {"name": card().name}
    except RoleError as error:
        return {"name": "", "error": str(error)}


def new(
    role: RoleArgument,
    name: Annotated[str, typer.Option(help="The name of the character.", prompt="Name of the character")],
    language: Annotated[str, typer.Option(help="en, zh or ko.")] = "en",
    profile: Annotated[str, typer.Option(help="The character's profile, in a few sentences.")] = "",
    story: Annotated[
        str,
        typer.Option(metavar="ROLE", help="A role of the library whose files it reads, too."),
    ] = "",
    library: LibraryOption = None,
) -> None:
    """Create a role: a folder with role.yaml and an empty persona for you to write."""
    card = RoleCard.model_validate({"name": name, "language": language, "profile": profile, "story": story})
    shelf = shelf_of(library)
    if story:
        shelf.open(story)
    made, then = shelf.create(role, card), command_line("chat", role, library=library)
    write = f"Made {made.root}. Write Markdown into its folder persona/"
    if shelf.is_copy:
        write = (
            f"Made {role} in {shelf.name}. Teach it documents: {command_line('learn', role, 'FILE', library=library)}"
        )
    screen.print(f"{write}, then: {then}", soft_wrap=True)


def show(role: RoleArgument, library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """Show the files of a role, and which of them are indexed."""
    opened = shelf_of(library).open(role)
    about = described(opened)
    if as_json:
        print_json(about)
        return
    table = Table(
        "",
        "",
        title=about["name"],
        show_header=False,
        caption=None if written(opened.root) or about.get("story") else CARD_ONLY,
    )
    for key, value in about.items():
        table.add_row(key, "\n".join(map(str, value)) if isinstance(value, list) else str(value))
    screen.print(table)


def described(role: Role) -> dict[str, Any]:
    """Count what a role's files hold."""
    from dramaturg.nodes.dialogues.cast import unheard
    from dramaturg.nodes.known import unread_times
    from dramaturg.nodes.text.splitter import longest_paragraph
    from dramaturg.nodes.told import unknown_knowers
    from dramaturg.stores.index.kinds import KINDS

    documents, lines = role.documents(), role.dialogues()
    warning = unheard(role.card, (line.speaker for line in lines))
    unclear = {
        "times that cannot be read": unread_times(role),
        "names in known_to that are unclear": unknown_knowers(role),
    }
    return {
        "role": role.id,
        "name": role.card.name,
        "aliases": list(role.card.aliases),
        "language": role.card.language,
        "profile": role.card.profile.strip(),
        **({"story": role.card.story} if role.card.story else {}),
        **({"story of": those} if (those := stories(every_card(library_at(role.root.parent))).get(role.id)) else {}),
        "folder": str(role.root),
        "documents": [
            f"{d.name}: {len(d.text):,} characters, longest paragraph {longest_paragraph(d.text):,}" for d in documents
        ],
        "not read": [*(one.name for one in unread(role.root)), *(f"dialogues/{name}" for name in uncast(role.root))],
        "dialogue lines": len(lines),
        **({"speakers": warning} if warning else {}),
        "memories": len(role.memories()),
        **{
            what: [*found[:LISTED], *([f"and {len(found) - LISTED:,} more"] if len(found) > LISTED else [])]
            for what, found in unclear.items()
            if found
        },
        "identity triples": len(role.chronicle().triples),
        **({"known to others alone": kept} if (kept := kept_from(role)) else {}),
        "questions": len(role.questions()),
        "indexed": [line for kind in KINDS if (line := index_line(role, kind))],
    }


def kept_from(role: Role) -> str:
    """How much of a role's files others know and it does not, in words; empty: nothing."""
    lines: dict[str, Sequence[Tellable]] = {
        "memories": role.memories(),
        "dialogue lines": role.dialogues(),
        "identity triples": role.chronicle().triples,
    }
    counts = {"documents (whole or in part)": len(role.documents()) - len(role.told_whole())}
    counts |= {what: len(those) - len(told_among(those, role.own_names)) for what, those in lines.items()}
    return content(counts)


def index_line(role: Role, kind: "IndexKind[Any, Any]") -> str:
    """One kind of index in a line; empty if there is none."""
    try:
        manifest = role.index(kind).manifest()
    except (DamagedIndex, MissingIndex):
        return f"{kind.name}: damaged, run `{kind.command(role.id)}`"
    return f"{kind.name}: {content(manifest.counts)}, {manifest.embedding.name}" if manifest else ""


def content(counts: Mapping[str, int]) -> str:
    """What an index holds, in words."""
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def versions(
    role: RoleArgument,
    method: MethodOption = AMADEUS,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the versions of a role's index: the current one first, then those that undo can restore."""
    from dramaturg.stores import versions as stored

    kind = kind_of(method, context_for(method, role, library, settings))
    found = stored.versions(shelf_of(library).open(role), kind)
    if as_json:
        print_json([{**one._asdict(), "created": one.created.isoformat()} for one in found])
        return
    table = Table("", "version", "made", "documents", "content", title=f"Versions of {role} ({kind.name})")
    for one in found:
        names = "\n".join(one.documents) + ("" if one.restorable else "\n(not kept)")
        served = "served" if one.served else ""
        table.add_row(served, one.version[:8], local_time(one.created), names, content(one.counts))
    screen.print(table)


def undo(
    role: RoleArgument,
    to: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="The version to restore. Default: the one before the current one."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation before going forward again.")] = False,
    method: MethodOption = AMADEUS,
    model: ModelOption = "auto",
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore an earlier version: the files that it was made from, and its index."""
    from dramaturg.cli.library.indexing import for_program, indexed
    from dramaturg.stores import versions as stored

    context, opened = role_for(method, role, library, settings, chat_model=model)
    kind = kind_of(method, context)
    if to is None and not yes:
        refuse_to_go_forward(role, stored.versions(opened, kind)[:2])
    back = stored.take_back(opened, kind, to)
    reports = asyncio.run(indexed(context, method))
    now = stored.versions(opened, kind)[0].version
    if as_json:
        about = {"version": now, "wanted": back.version, "documents": back.documents}
        print_json({**about, "index": for_program(reports)})
        return
    version, files_of = f"{local_time(back.created)} ({back.version[:8]})", ", ".join(back.documents)
    if now == back.version:
        screen.print(f"Back at the version of {version}: {files_of}.", soft_wrap=True)
    else:
        own = ", ".join(one for one in back.documents if not is_of_story(one)) or "none of its own"
        story = f"from other files of the story {opened.card.story!r}, " if opened.card.story else ""
        screen.print(
            f"The files of the version of {version} are back: {own}. It was made {story}with other settings, or could "
            f"not be read, so they were indexed again: the version {now[:8]} is read now.",
            soft_wrap=True,
        )
    listing = command_line("versions", role, method=method, library=library)
    screen.print(f"`{listing}` lists where else you can go.", soft_wrap=True)


def refuse_to_go_forward(role: str, found: "Sequence[Version]") -> None:
    """Ask whether what was undone is to be there again, which is where a second undo leads; no ends the command."""
    if len(found) == 2 and found[1].created > found[0].created:
        there = f"the version of {local_time(found[1].created)} ({found[1].version[:8]})"
        typer.confirm(f"Nothing older is left: go forward again, to {there} of {role}?", abort=True, err=True)


def local_time(moment: datetime) -> str:
    """A moment, by the clock of this machine."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def kind_of(method: str, context: "RoleContext") -> "IndexKind[Any, Any]":
    """The kind of index that a method reads."""
    from dramaturg.workflows.methods import index_kinds

    kinds = index_kinds(method, context)
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        raise ValueError("This method has several indexes: name a method that has one of them with --method.")
    raise ValueError("This method has no index: choose another with --method.")
