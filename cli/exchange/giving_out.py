"""`dramaturg export`: a role as a card, a lorebook or a bundle, and a conversation as JSON lines or a chat."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from dramaturg.cli.options import AMADEUS, LibraryOption, MethodOption, RoleArgument, context_for, shelf_of
from dramaturg.cli.output import note, require_place, write_whole
from dramaturg.cli.talk.transcripts import named, taken_out
from dramaturg.stores.documents.forms import CHRONICLE, MEMORIES
from dramaturg.stores.documents.sources import is_of_story
from dramaturg.stores.formats.books import book_of_graph, books_of
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.bundles import bundled
from dramaturg.stores.formats.characters import EXAMPLES, card_file
from dramaturg.stores.formats.lorebooks import Book, written_alone, written_as_world
from dramaturg.stores.role import Role

Kind = Literal["card", "book", "world", "chat", "conversation", "bundle"]
KINDS = "card.png, card.json, card.charx, book.json, world.json, chat.jsonl or ROLE.role.zip"


def export(
    role: RoleArgument,
    file: Annotated[
        Path | None, typer.Argument(help=f"The file to write: {KINDS}; without it, a conversation is printed.")
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="KIND",
            help="card, book, world (SillyTavern's World Info), chat (SillyTavern's), conversation or bundle; without "
            "it, the name of the file says it.",
        ),
    ] = "",
    source: Annotated[
        str, typer.Option("--from", metavar="SOURCE", help="The source of a lorebook: documents or graph.")
    ] = "documents",
    index: Annotated[bool, typer.Option("--index", help="Include the indexes in a bundle.")] = False,
    threads: Annotated[
        list[str] | None,
        typer.Option("--thread", help="Name of the conversation; for a bundle, each one to include."),
    ] = None,
    method: MethodOption = AMADEUS,
    library: LibraryOption = None,
) -> None:
    """Export a role as a character card, a lorebook or a bundle, or a conversation with it."""
    wanted = kind_of(file, kind)
    if file is not None:
        require_place(file)
    if source not in ("documents", "graph"):
        raise ValueError(f"--from is documents or graph, not {source!r}.")
    if wanted in ("chat", "conversation"):
        _talk_out(role, file, wanted, named((threads or ["default"])[0]), method, library)
        return
    shelf = shelf_of(library)
    opened = shelf.open(role)
    if file is None:
        raise ValueError(f"A {wanted} is written to a file: name one, such as {KINDS}.")
    match wanted:
        case "card":
            suffix = file.suffix.lower()
            data = card_file(opened, "png" if suffix == ".png" else "charx" if suffix == ".charx" else "json")
        case "bundle":
            talks = asyncio.run(_talks(method, role, library, threads or []))
            data = bundled(shelf, opened, index=index, talks=talks)
        case _:
            books = _books(opened, source)
            value = written_as_world(books) if wanted == "world" else written_alone(_one_book(books))
            data = dumped(value, indent=4)
    write_whole(file, data, private=wanted == "bundle" and bool(threads))
    note(f"Wrote {len(data):,} bytes to {file}.")
    own = [one for one in opened.documents() if not is_of_story(one.name)]
    if story := opened.card.story:
        note(f"{role} reads the files of the story {story!r}, which are not in it: `dramaturg export {story}`, too.")
    if wanted != "bundle" and (untold := len(own) - len(opened.told_whole())):
        note(f"Left out: {untold:,} documents that keep something from {role} (known_to).")
    if wanted == "card" and (left := _not_in_card(opened)):
        note(f"A card has no place for {', '.join(left)}: a bundle ({role}.role.zip) holds everything.")


def _not_in_card(role: Role) -> list[str]:
    """The files of a role that its card leaves out."""
    own = [name for name in role.dialogue_files.names() if name != EXAMPLES and not is_of_story(name)]
    return [*own, *(name for name in (MEMORIES, CHRONICLE) if (role.root / name).exists())]


def kind_of(file: Path | None, given: str = "") -> Kind:
    """What a file is to hold: what is said, or what its name says.

    Raises:
        ValueError: neither says it.
    """
    kinds = ("card", "book", "world", "chat", "conversation", "bundle")
    if given:
        if given not in kinds:
            raise ValueError(f"--as is one of {', '.join(kinds)}, not {given!r}.")
        return cast("Kind", given)
    name = file.name.lower() if file else ""
    suffix = Path(name).suffix
    if suffix in (".png", ".charx"):
        return "card"
    if suffix == ".zip":
        return "bundle"
    if suffix == ".json":
        return "world" if "world" in name else "book" if "book" in name else "card"
    if suffix in ("", ".jsonl"):
        return "chat" if suffix and name.startswith("chat") else "conversation"
    raise ValueError(f"The name {name!r} does not say what to write: take {KINDS}, or say it with --as.")


def _talk_out(role: str, file: Path | None, kind: str, thread: str, method: str, library: str | None) -> None:
    """Write a conversation."""
    context = context_for(method, role, library, None)
    if kind == "chat":
        data = asyncio.run(_chat(method, context, thread))
        turns, what = data.count(b"\n"), "messages"
    else:
        lines = asyncio.run(taken_out(method, context, thread))
        data, turns, what = lines.encode(), lines.count("\n") - 1, "turns"
    if file is None:
        sys.stdout.write(data.decode())
        return
    write_whole(file, data, private=True)
    note(f"Wrote {turns} {what} to {file}.")


async def _chat(method: str, context: Any, thread: str) -> bytes:
    from dramaturg.conversations.chats import written_out
    from dramaturg.conversations.opening import open_conversation
    from dramaturg.stores.formats.chats import written_chat

    async with open_conversation(method, context, thread) as talk:
        return written_chat(await written_out(talk))


async def _talks(method: str, role: str, library: str | None, threads: list[str]) -> dict[str, str]:
    """Conversations as JSON lines, by their names."""
    context = context_for(method, role, library, None)
    return {named(thread): await taken_out(method, context, thread) for thread in threads}


def _books(role: Role, source: str) -> list[Book]:
    from dramaturg.nodes.told import told_graph

    books = [book_of_graph(role.card, told_graph(role))] if source == "graph" else books_of(role)
    if not any(book.entries for book in books):
        raise ValueError(f"{role.id!r} has no documents that a lorebook could be made of: teach it some first.")
    return books


def _one_book(books: list[Book]) -> Book:
    """Several books as one, which is called as the first is."""
    first = books[0].in_form("book")
    return first._replace(entries=tuple(entry for book in books for entry in book.in_form("book").entries))
