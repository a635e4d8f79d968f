"""`dramaturg memories`: what a role remembers, listed, filtered, edited, pinned and removed."""

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, NamedTuple

import typer

from dramaturg.cli.indexing import indexed, report_line
from dramaturg.cli.memory_listing import Listed, listed, matching, memories_table, said_in
from dramaturg.cli.options import (
    EMOTIONAL_RAG,
    JsonOption,
    LibraryOption,
    RoleArgument,
    SettingsOption,
    context_for,
    library_path,
)
from dramaturg.cli.screen import print_json, printable, screen
from dramaturg.cli.versions import kind_of
from dramaturg.conversations.opening import memories_of_thread
from dramaturg.nodes.memories.emotions import EMOTIONS
from dramaturg.nodes.run import RoleContext, role_of
from dramaturg.stores import memory_changes
from dramaturg.stores.errors import RoleError, did_you_mean
from dramaturg.stores.library import open_role
from dramaturg.stores.role import Role

Emotion = StrEnum("Emotion", {name: name for name in EMOTIONS})  # type: ignore[misc]


def memories(
    role: RoleArgument,
    find: Annotated[str, typer.Option(help="Only those that hold this text.")] = "",
    emotion: Annotated[Emotion | None, typer.Option(help="Only those in which this emotion is clearly there.")] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Only those that are pinned.")] = False,
    moodless: Annotated[bool, typer.Option("--moodless", help="Only those without a mood.")] = False,
    pin: Annotated[str | None, typer.Option(metavar="ID", help="Have this one recalled whatever is asked.")] = None,
    unpin: Annotated[
        str | None, typer.Option(metavar="ID", help="No longer have it recalled whatever is asked.")
    ] = None,
    remove: Annotated[str | None, typer.Option(metavar="ID", help="Take this one out.")] = None,
    edit: Annotated[
        str | None, typer.Option(metavar="ID", help="Change this one, with --text and perhaps --question.")
    ] = None,
    text: Annotated[str, typer.Option(help="The new words of the role.")] = "",
    question: Annotated[str | None, typer.Option(help="The new question before them.")] = None,
    thread: Annotated[str, typer.Option(help="Those that this conversation made, in place of the role's own.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before one is removed.")] = False,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what a role remembers, or change one memory; it is changed where it is written, and indexed again."""
    known = Known(context_for(EMOTIONAL_RAG, role, library, settings), open_role(role, library_path(library)), thread)
    wish = the_wish({"pin": pin, "unpin": unpin, "remove": remove, "edit": edit}, text, question)
    if wish is not None:
        carry_out(wish, known, yes=yes, as_json=as_json)
        return
    memories = known.listed()
    found = matching(memories, find=find, emotion=emotion or "", pinned=pinned, moodless=moodless)
    show(known.whose, found, len(memories), as_json=as_json)


class Known(NamedTuple):
    """Whose memories are meant: a role's own, or those that a conversation with it made."""

    context: RoleContext
    role: Role
    thread: str

    @property
    def whose(self) -> str:
        """Who they are of, in words."""
        return f"the conversation {self.thread!r} with {self.role.id}" if self.thread else self.role.id

    def listed(self) -> list[Listed]:
        """All of them, as they are now."""
        return asyncio.run(said(self.context, self.thread)) if self.thread else listed(self.role, kind_of(self.context))


class Wish(NamedTuple):
    """The one change that is asked for."""

    what: str
    memory: str
    text: str
    question: str | None


def the_wish(given: Mapping[str, str | None], text: str, question: str | None) -> Wish | None:
    """What is to be changed; None: nothing.

    Raises:
        ValueError: more than one change is asked for, an edit without words, or words without an edit.
    """
    wishes = [Wish(what, memory, text, question) for what, memory in given.items() if memory is not None]
    if len(wishes) > 1:
        raise ValueError(f"One change at a time: {' or '.join(f'--{wish.what}' for wish in wishes)}.")
    if given["edit"] is None and (text or question is not None):
        raise ValueError("--text and --question are new words of a memory: name it with --edit ID.")
    if given["edit"] is not None and not text.strip():
        raise ValueError("--edit needs the new words: add --text.")
    return wishes[0] if wishes else None


def carry_out(wish: Wish, known: Known, *, yes: bool, as_json: bool) -> None:
    """Change a memory, and have what is left indexed."""
    one = chosen(wish, known)
    if wish.what == "remove" and not yes:
        typer.confirm(f"Remove {one.memory} ({one.text[:60]!r}) of {known.whose}?", abort=True, err=True)
        one = chosen(wish._replace(memory=one.memory), known)  # the files may have changed while the question stood
    if known.thread:
        asyncio.run(change_said(known, wish, one))
    else:
        change(known.role, wish, one)
    left = [] if known.thread else known.listed()
    now = next((other.memory for other in left if wish.what == "edit" and one.places[0] in other.places), one.memory)
    if not as_json:
        screen.print(
            told(wish.what, one, now, fades=bool(known.thread)), soft_wrap=True
        )  # also if it cannot be indexed now
    report = asyncio.run(indexed(known.context, EMOTIONAL_RAG)) if left else {}
    if as_json:
        print_json({"wish": wish.what, "memory": one.memory, "now": now, "places": one.places, "index": report})
    elif report:
        screen.print(report_line(report), soft_wrap=True)


def chosen(wish: Wish, known: Known) -> Listed:
    """The memory that a change is about, by its id or by how that begins.

    Raises:
        RoleError: there is no such memory, or more than one.
    """
    memories, memory = known.listed(), wish.memory
    found = [one for one in memories if memory and one.memory.startswith(memory)]
    if len(found) > 1:
        many = f"There are {len(found)} memories of {known.whose} whose ids begin with {memory!r}: give more of it."
        raise RoleError(many)
    if not found:
        near = did_you_mean(memory, [one.memory for one in memories]) or ":"
        raise RoleError(f"There is no memory {memory!r} of {known.whose}{near} without --{wish.what} they are listed.")
    return found[0]


def change(role: Role, wish: Wish, one: Listed) -> None:
    """Change a memory of the role's own."""
    match wish.what:
        case "remove":
            memory_changes.remove(role, one.places)
        case "edit":
            memory_changes.edit(role, one.places, wish.text, wish.question)
        case _:
            memory_changes.pin(role, one.places, pinned=wish.what == "pin")


async def said(context: RoleContext, thread: str) -> list[Listed]:
    """The memories that a conversation made."""
    kept = await memories_of_thread(context, thread)
    return said_in(await kept.all(), await role_of(context))


async def change_said(known: Known, wish: Wish, one: Listed) -> None:
    """Change a memory that a conversation made.

    Raises:
        ValueError: what was said cannot be edited.
    """
    if wish.what == "edit":
        raise ValueError("What was said in a conversation cannot be edited: --remove it, or edit the turn in the chat.")
    kept = await memories_of_thread(known.context, known.thread)
    if wish.what == "remove":
        await kept.drop([one.memory])
        return
    for memory in (await kept.get([one.memory])).values():
        await kept.save(memory.model_copy(update={"pinned": wish.what == "pin"}))


def show(whose: str, found: Sequence[Listed], of: int, *, as_json: bool) -> None:
    """Print memories."""
    if as_json:
        print_json([one._asdict() for one in found])
        return
    number = f"{len(found)}" if len(found) == of else f"{len(found)} of {of}"
    title = f"Memories of {whose}: {number}"
    screen.print(memories_table(title, found) if found else printable(f"{title}."), soft_wrap=not found)


def told(wish: str, one: Listed, now: str, *, fades: bool) -> str:
    """What was changed; an edited memory has another id, and what a conversation made fades, pinned or not."""
    verb = {"pin": "Pinned", "unpin": "Unpinned", "remove": "Removed", "edit": "Changed"}[wish]
    other = "" if now == one.memory else f", now {now},"
    until = ": it is recalled until it fades" if fades and wish == "pin" else ""
    return printable(f"{verb} {one.memory}{other} in {', '.join(one.places)}{until}.")
