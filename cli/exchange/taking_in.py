"""`dramaturg import`: files of other programs become roles, documents and conversations."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer
from rich.table import Table

from dramaturg.cli.options import AMADEUS, JsonOption, LibraryOption, MethodOption, command_line, context_for, shelf_of
from dramaturg.cli.output import note, one_line, print_json, screen
from dramaturg.cli.talk.transcripts import named, taken_in
from dramaturg.conversations.exchange import Taken, id_for, made_of, require_new, take_book, take_bundle, take_role
from dramaturg.stores.documents.forms import Language
from dramaturg.stores.formats.bundles import Bundle
from dramaturg.stores.formats.characters import Became, Made
from dramaturg.stores.formats.chats import Chat
from dramaturg.stores.formats.lorebooks import Book
from dramaturg.stores.formats.told import Conversation, Told, read_file
from dramaturg.stores.library import find_role
from dramaturg.stores.library_folder import Library
from dramaturg.stores.names import normal_name

if TYPE_CHECKING:
    from dramaturg.conversations.conversation import Conversation as Talk

Files = Annotated[
    list[str],
    typer.Argument(metavar="[ROLE] FILE …", help="The files, after the role if one is needed.", show_default=False),
]


def import_(
    files: Files,
    role: Annotated[
        str, typer.Option("--role", metavar="ID", help="The id of the role; for a card, the id of the new role.")
    ] = "",
    thread: Annotated[str, typer.Option("--thread", help="Name for the imported conversation.")] = "default",
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Import only this character of the file; may be repeated."),
    ] = None,
    language: Annotated[str, typer.Option(help="en, zh or ko. Default: detected from the card.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing role with the same id.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print how each part would be used, and change nothing.")
    ] = False,
    method: MethodOption = AMADEUS,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import character cards, lorebooks, chats, conversations and bundles; a file is recognized by its content."""
    if len(files) > 1 and not Path(files[0]).exists():
        role, files = role or files[0], files[1:]
    if language not in ("", *get_args(Language)):
        raise ValueError(f"--language is one of {', '.join(get_args(Language))}, not {language!r}.")
    spoken = cast("Language | None", language or None)
    named(thread)
    paths = [Path(file).expanduser() for file in files]
    read = [(path, read_file(path)) for path in paths]  # all of them, before anything is written
    found = [(path, made) for path, one in read for made in made_of(one, path.name, spoken)]
    found = _chosen(found, only or [])
    news = [(path, one) for path, one in found if isinstance(one, Made | Bundle)]
    if role and len(news) > 1:
        raise ValueError("--role names one role: import one character at a time, or let each have the id of its name.")
    shelf = shelf_of(library)
    require_new(shelf, [id_for(one, path.name, role) for path, one in news], replace=replace)
    done = []
    for path, one in found:
        taken = _taken(shelf, path, one, role, thread, method, library, replace=replace, dry_run=dry_run)
        done.append(taken)
        if not as_json:
            _show(path, taken, dry_run=dry_run)
    if as_json:
        print_json(done)


def _taken(
    shelf: Library,
    path: Path,
    one: Made | Told,
    role: str,
    thread: str,
    method: str,
    library: str | None,
    *,
    replace: bool,
    dry_run: bool,
) -> dict[str, Any]:
    """Take one file in, and say what became of it."""
    match one:
        case Made():
            taken = take_role(shelf, one, id_for(one, path.name, role), replace=replace, dry_run=dry_run)
            then = command_line("chat", taken.role, library=library)
            return _told(taken, then, language=one.card.language)
        case Bundle():
            role = id_for(one, path.name, role)
            taken = asyncio.run(_opened(shelf, one, role, method, library, replace=replace, dry_run=dry_run))
            if taken.lacks:
                return _told(taken, command_line("import", f"{taken.lacks}.role.zip", library=library))
            return _told(taken, command_line("chat", role, library=library))
        case Book():
            return _learned(shelf, one, role, path, library, dry_run=dry_run)
        case Chat():
            return asyncio.run(_heard(shelf, one, role, thread, method, library, path, dry_run=dry_run))
        case Conversation():
            return _gone_on(one, role, thread, method, library, dry_run=dry_run)
    raise AssertionError(one)


def _chosen(found: Sequence[tuple[Path, Made | Told]], only: Sequence[str]) -> list[tuple[Path, Made | Told]]:
    """What is taken of all that was found: the people of these names, or everything."""
    people = {normal_name(one.card.name): one.card.name for _, one in found if isinstance(one, Made)}
    if missing := next((name for name in only if normal_name(name) not in people), None):
        raise ValueError(f"There is nobody called {missing!r} there: --only is one of {', '.join(people.values())}.")
    names = {*map(normal_name, only)}
    return [
        (path, one)
        for path, one in found
        if not names or (isinstance(one, Made) and normal_name(one.card.name) in names)
    ]


async def _opened(
    shelf: Library, bundle: Bundle, role: str, method: str, library: str | None, *, replace: bool, dry_run: bool
) -> Taken:
    """Put a bundled role into the library, with what it brings."""
    from dramaturg.conversations.opening import open_conversation

    async with AsyncExitStack() as stack:

        async def opened(thread: str) -> "Talk":
            context = context_for(method, role, library, None)
            return await stack.enter_async_context(open_conversation(method, context, named(thread)))

        return await take_bundle(shelf, bundle, role, opened, replace=replace, dry_run=dry_run)


def _learned(
    shelf: Library, book: Book, role: str, path: Path, library: str | None, *, dry_run: bool
) -> dict[str, Any]:
    """Give a role a lorebook."""
    if not role:
        raise ValueError(f"{path.name} is a lorebook: say whose it is by --role ID.")
    taken = take_book(book, shelf.open(role), dry_run=dry_run)
    return _told(taken, command_line("index", role, library=library))


async def _heard(
    shelf: Library, chat: Chat, role: str, thread: str, method: str, library: str | None, path: Path, *, dry_run: bool
) -> dict[str, Any]:
    """Take up a chat of SillyTavern."""
    from dramaturg.conversations.chats import spoken_in, taken_in
    from dramaturg.conversations.opening import open_conversation

    speakers = chat.speakers()
    found = None if role else next(filter(None, (find_role(one, shelf.root) for one in speakers)), None)
    role = role or (found[0] if found else "")
    if not role:
        raise ValueError(
            f"{path.name} is a chat with {', '.join(speakers) or 'nobody'}, which is no role here: import the card "
            "first, or say which role it was by --role ID."
        )
    card = shelf.open(role).card
    names = (card.name, *card.aliases, role)
    spoken = spoken_in(chat, names)
    if not dry_run:
        async with open_conversation(method, context_for(method, role, library, None), thread) as talk:
            await taken_in(talk, chat, names)
    branches = sum(len(one.swipes) for one in spoken)
    became = [Became("messages", f"--thread {thread}", f"{len(spoken):,} turns")]
    became.append(Became("swipes", "branches", f"{branches:,}"))
    then = command_line("chat", role, "--thread", thread, method=method, library=library)
    return _told(Taken("chat", role, card.name, became), then)


def _gone_on(
    talk: Conversation, role: str, thread: str, method: str, library: str | None, *, dry_run: bool
) -> dict[str, Any]:
    """Take up a conversation that dramaturg has written."""
    from dramaturg.conversations.json_lines import parsed

    lines = talk.text.split("\n")
    head, said = parsed(lines)
    role = role or head.role
    turns = (
        len(said) if dry_run else asyncio.run(taken_in(method, context_for(method, role, library, None), thread, lines))
    )
    then = command_line("chat", role, "--thread", thread, method=method, library=library)
    became = [Became("turns", f"--thread {thread}", f"{turns:,}")]
    return _told(Taken("conversation", role, role, became), then)


def _told(taken: Taken, then: str, **more: str) -> dict[str, Any]:
    """What became of a file, for a program."""
    about = {"kind": taken.kind, "role": taken.role, "name": taken.name, **more}
    about |= {"lacks": taken.lacks} if taken.lacks else {}
    return {**about, "became": [one._asdict() for one in taken.became], "macros": list(taken.macros), "then": then}


def _show(path: Path, taken: Mapping[str, Any], *, dry_run: bool) -> None:
    """Say what became of a file."""
    would = "would become" if dry_run else "is now"
    turns = [one["size"] for one in taken["became"]] if taken["kind"] == "conversation" else []
    if turns:
        screen.print(f"{turns[0]} turns. Continue: {taken['then']}", soft_wrap=True)
        return
    title = f"{path.name} {would} {'part of ' * (taken['kind'] == 'lorebook')}{taken['role']}"
    table = Table("part", "where", "", title=one_line(title), title_justify="left")
    for one in taken["became"]:
        table.add_row(one_line(one["part"]), one_line(one["where"]), one_line(one["size"]))
    screen.print(table)
    if taken["macros"]:
        note(f"Macros that stand as they are: {', '.join(map(one_line, taken['macros']))}.")
    if lacks := taken.get("lacks"):
        there = f"`dramaturg export {lacks} {lacks}.role.zip` where it is"
        note(f"{taken['role']} reads the files of the story {lacks!r}, which is not in this library: {there}.")
    if not dry_run:
        screen.print(f"Then: {taken['then']}", soft_wrap=True)
