"""`dramaturg memories`: what a role remembers, listed, filtered, edited, pinned and removed."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Annotated, NamedTuple

import typer
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.drawing.wheel import strongest
from dramaturg.cli.library.indexing import for_program, indexed, report_lines
from dramaturg.cli.library.memory_drafts import decide, make_draft, show_draft
from dramaturg.cli.library.thread_memories import (
    NOTE,
    Listed,
    forgotten_line,
    heard_in,
    ids_of,
    listed_in,
    pinned_in,
    texts_of,
)
from dramaturg.cli.options import (
    EMOTIONAL_RAG,
    JsonOption,
    LibraryOption,
    ModelOption,
    RoleArgument,
    SettingsOption,
    one_wish,
    role_for,
    shelf_of,
)
from dramaturg.cli.output import excerpt, print_json, screen, table_of
from dramaturg.conversations.conversation import SCENES, Conversation
from dramaturg.conversations.forgetting import Forgotten
from dramaturg.conversations.opening import open_conversation, scenes_kept
from dramaturg.conversations.scenes import kept_scene, open_scene, scenes_heard
from dramaturg.nodes.dialogues.cast import letters_of
from dramaturg.nodes.memories.emotions import EMOTIONS
from dramaturg.nodes.memories.index import memory_unit
from dramaturg.nodes.run import RoleContext, library_of
from dramaturg.stores.documents import memories as memory_files
from dramaturg.stores.documents.memories import read_memory_files
from dramaturg.stores.documents.memory_drafts import read_memory_draft
from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError, did_you_mean
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.memories import MEMORY_KIND, MemoryStore, Mood, StoredMemory
from dramaturg.stores.role import Role

Emotion = StrEnum("Emotion", {name: name for name in EMOTIONS})  # type: ignore[misc]


class KnownMemories(NamedTuple):
    """Whose memories are meant: a role's own, or those that a conversation with it made."""

    context: RoleContext
    role: Role
    thread: str

    @property
    def whose(self) -> str:
        """Who they are of, in words."""
        if self.thread.startswith(SCENES):
            return f"{self.role.id} of {self.thread!r}"
        return f"the conversation {self.thread!r} with {self.role.id}" if self.thread else self.role.id

    def listed(self) -> list[Listed]:
        """All of them, as they are now."""
        if self.thread:
            return asyncio.run(made_in(self))
        return listed(self.role, MEMORY_KIND)


class Wish(NamedTuple):
    """The one change that is asked for."""

    what: str
    memory: str
    text: str
    question: str | None


TURN = "turn "  # in front of the id of a message, where something was said
SHOWN_ID = 12  # characters of an id at least: so many that no other begins with them
CLEARLY = 5  # from this score on an emotion is clearly there


def memories(
    role: RoleArgument,
    find: Annotated[str, typer.Option(help="Only memories that contain this text.")] = "",
    emotion: Annotated[Emotion | None, typer.Option(help="Only memories that clearly show this emotion.")] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Only pinned memories.")] = False,
    moodless: Annotated[bool, typer.Option("--moodless", help="Only memories without a mood.")] = False,
    pin: Annotated[
        str | None, typer.Option(metavar="ID", help="Pin this memory: recall it for every question.")
    ] = None,
    unpin: Annotated[
        str | None, typer.Option(metavar="ID", help="Unpin this memory: recall it only when it fits.")
    ] = None,
    remove: Annotated[
        str | None, typer.Option(metavar="ID", help="Remove this memory; with --thread, for good.")
    ] = None,
    edit: Annotated[
        str | None, typer.Option(metavar="ID", help="Edit this memory, with --text and optionally --question.")
    ] = None,
    text: Annotated[str, typer.Option(help="The new words of the role.")] = "",
    question: Annotated[str | None, typer.Option(help="The new question, to which the role's words reply.")] = None,
    thread: Annotated[
        str,
        typer.Option(
            help="What was said in this conversation, or heard in this scene (scene:NAME/default), and is remembered, "
            "not the role's own memories."
        ),
    ] = "",
    draft: Annotated[
        bool, typer.Option("--draft", help="Let a model draft memories from the profile and the chronicle.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="With --draft: replace the waiting draft.")] = False,
    model: ModelOption = "auto",
    take: Annotated[
        str, typer.Option("--accept", metavar="NUMBERS", help="Accept these memories of the draft: 1,3-5, or all.")
    ] = "",
    drop: Annotated[
        str, typer.Option("--reject", metavar="NUMBERS", help="Reject these memories of the draft: 1,3-5, or all.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the memories of a role, change one in its file and index it again, or draft some to accept."""
    wish = the_wish({"pin": pin, "unpin": unpin, "remove": remove, "edit": edit}, text, question)
    others = {wish.what: True} if wish else {}
    on_draft = one_wish({"draft": draft, "accept": bool(take), "reject": bool(drop), **others})
    if (again or model != "auto") and not draft:
        raise ValueError(f"--{'again' if again else 'model'} is about a draft that is made: add --draft.")
    if on_draft and wish is None:
        if thread:
            raise ValueError(f"--{on_draft} is about the role's own memories: leave --thread out.")
        opened = shelf_of(library).open(role)
        if draft:
            make_draft(opened, model, again=again, as_json=as_json)
        else:
            decide(opened, on_draft, take or drop, as_json=as_json)
        return
    known = KnownMemories(*role_for(EMOTIONAL_RAG, role, library, settings), thread)
    if wish is not None:
        carry_out(wish, known, yes=yes, as_json=as_json)
        return
    memories = known.listed()
    found = matching(memories, find=find, emotion=emotion or "", pinned=pinned, moodless=moodless)
    show(known.whose, found, len(memories), as_json=as_json)
    if not (thread or as_json):
        show_draft(known.role, read_memory_draft(known.role.root))
        show_scenes(known)


def the_wish(given: Mapping[str, str | None], text: str, question: str | None) -> Wish | None:
    """What is to be changed; None: nothing."""
    what = one_wish({name: memory is not None for name, memory in given.items()}, "change")
    if what != "edit" and (text or question is not None):
        raise ValueError("--text and --question are for --edit ID. To filter the list, use --find.")
    if what == "edit" and not text.strip():
        raise ValueError("--edit needs the new words: add --text.")
    return Wish(what, given[what] or "", text, question) if what else None


def carry_out(wish: Wish, known: KnownMemories, *, yes: bool, as_json: bool) -> None:
    """Change a memory, and have what is left indexed."""
    one = chosen(wish, known)
    if wish.what == "remove" and not yes:
        for text in asyncio.run(going_with(known, one)) if known.thread else ():
            screen.print(f"With it: {excerpt(text)}", soft_wrap=True)
        typer.confirm(f"Remove {one.memory} ({one.text[:60]!r}) of {known.whose}?", abort=True, err=True)
        one = chosen(wish._replace(memory=one.memory), known)  # the files may have changed while the question stood
    gone: Forgotten | None = None
    if known.thread:
        gone = asyncio.run(change_made(known, wish, one))
    elif wish.what == "remove":
        memory_files.remove(known.role.root, one.places)
    elif wish.what == "edit":
        memory_files.edit(known.role.root, one.places, wish.text, wish.question)
    else:
        memory_files.pin(known.role.root, one.places, pinned=wish.what == "pin")
    left = [] if known.thread else known.listed()
    now = next((other.memory for other in left if wish.what == "edit" and one.places[0] in other.places), one.memory)
    if not as_json:  # also if it cannot be indexed now
        screen.print(changed_line(wish.what, one, now) + (forgotten_line(gone) if gone else ""), soft_wrap=True)
    reports = asyncio.run(indexed(known.context, EMOTIONAL_RAG)) if left else {}
    if as_json:
        about = {"wish": wish.what, "memory": one.memory, "now": now, "places": one.places}
        counts = {"said": len(gone.said), "states": gone.states, "summaries": gone.summaries} if gone else {}
        print_json({**about, **counts, "index": for_program(reports)})
    elif reports:
        screen.print(report_lines(reports), soft_wrap=True)


def chosen(wish: Wish, known: KnownMemories) -> Listed:
    """The memory that a change is about, by its id or by how that begins."""
    memories, memory = known.listed(), wish.memory
    found = [one for one in memories if memory and one.memory.startswith(memory)]
    if len(found) > 1:
        many = f"There are {len(found)} memories of {known.whose} whose ids begin with {memory!r}: give more of it."
        raise RoleError(many)
    if not found:
        near = did_you_mean(memory, [one.memory for one in memories], ":")
        raise RoleError(f"There is no memory {memory!r} of {known.whose}{near} without --{wish.what} they are listed.")
    return found[0]


@asynccontextmanager
async def conversation(known: KnownMemories) -> AsyncIterator[Conversation]:
    """Open the conversation whose memories are meant, or the scene."""
    if known.thread.startswith(SCENES):
        library = library_of(known.context)
        async with scenes_kept(library) as kept:
            context = await kept_scene(kept.saver, library, known.thread)
        if context is None:
            raise RoleError(f"Nothing was said in {known.thread!r}: `dramaturg scene` lists the scenes.")
        async with open_scene(context, known.thread) as scene:
            yield scene
        return
    async with open_conversation(EMOTIONAL_RAG, known.context, known.thread) as talk:
        yield talk


async def made_in(known: KnownMemories) -> list[Listed]:
    """What a conversation made the role remember."""
    async with conversation(known) as talk:
        if known.thread.startswith(SCENES):
            return await heard_in(talk, known.role.id, known.role.card.name)
        return await listed_in(talk)


def show_scenes(known: KnownMemories) -> None:
    """Say how it is listed what the role has heard in scenes."""
    if scenes := asyncio.run(scenes_heard(known.context)):
        which = " or ".join(f"--thread {name}" for name in scenes)
        screen.print(f"What {known.role.id} has heard in scenes: dramaturg memories {known.role.id} {which}.")


async def change_made(known: KnownMemories, wish: Wish, one: Listed) -> Forgotten | None:
    """Change what a conversation made the role remember."""
    if wish.what == "edit":
        raise ValueError("What was said in a conversation cannot be edited: --remove it, or edit the turn in the chat.")
    async with conversation(known) as talk:
        if wish.what == "remove":
            return await talk.forget(ids_of(one))
        await pinned_in(talk, one, pinned=wish.what == "pin")
    return None


async def going_with(known: KnownMemories, one: Listed) -> list[str]:
    """What else is forgotten with what is to be removed."""
    async with conversation(known) as talk:
        texts = [*texts_of(await talk.to_forget(ids_of(one)), known.role.card.name)]
    if one.text in texts:
        texts.remove(one.text)
    return texts


def show(whose: str, found: Sequence[Listed], of: int, *, as_json: bool) -> None:
    """Print memories."""
    if as_json:
        print_json([one._asdict() for one in found])
        return
    title = f"Memories of {whose}: {len(found)}" + f" of {of}" * (len(found) != of)
    screen.print(memories_table(title, found) if found else f"{title}.", soft_wrap=not found)


def changed_line(wish: str, one: Listed, now: str) -> str:
    """What was changed; an edited memory has another id."""
    verb = {"pin": "Pinned", "unpin": "Unpinned", "remove": "Removed", "edit": "Changed"}[wish]
    other = "" if now == one.memory else f", now {now},"
    return f"{verb} {one.memory}{other} in {', '.join(one.places)}."


def listed(role: Role, kind: IndexKind[StoredMemory, MemoryStore]) -> list[Listed]:
    """The memories in a role's files, in their order."""
    moods = moods_of(role, kind)
    return [
        Listed(one.id, one.text, one.when, one.pinned, one.places, mood.scores, mood.error)
        for one in memory_unit(read_memory_files(role.memory_files), role.card)
        for mood in (moods.get(one.id, Mood(emotions=None)),)
    ]


def moods_of(role: Role, kind: IndexKind[StoredMemory, MemoryStore]) -> dict[str, Mood]:
    """The moods of the memories that are indexed, by their ids."""
    try:
        store = role.index(kind).open()
    except (DamagedIndex, MissingIndex):
        return {}
    return {one.id: mood for one, mood in zip(store.memories, store.moods, strict=True)}


def matching(
    memories: Sequence[Listed], *, find: str = "", emotion: str = "", pinned: bool = False, moodless: bool = False
) -> list[Listed]:
    """The memories that hold a text, in which an emotion is clearly there, that are pinned, or that have no mood."""
    found = [one for one in memories if holds(one.text, find)]
    if emotion:
        found = [one for one in found if (one.emotions or {}).get(emotion, 0) >= CLEARLY]
        found.sort(key=lambda one: -(one.emotions or {})[emotion])
    return [one for one in found if (one.pinned or not pinned) and (one.emotions is None or not moodless)]


def holds(text: str, find: str) -> bool:
    """Whether a text holds another, whatever the case, the spaces and the punctuation, if there are letters in it."""
    return letters_of(find) in letters_of(text) if letters_of(find) else find.strip() in text


def memories_table(title: str, memories: Sequence[Listed]) -> Table:
    """Memories, one a row; of what was said in a talk the beginning of each id, and no id of a message."""
    of_talk = all(place.startswith(TURN) or place == NOTE for one in memories for place in one.places)
    ids, length = {one.memory for one in memories}, SHOWN_ID
    while of_talk and len({one[:length] for one in ids}) < len(ids):
        length += 1
    columns: list[Column | str] = [Column("id", no_wrap=True), "when", "memory", "mood"]
    table = table_of(title, *columns, *([] if of_talk else [Column("written in", overflow="fold")]))
    for one in memories:
        mood = strongest(one.emotions) if one.emotions else one.error or "–"
        text = Text.assemble(("pinned · ", "bold yellow") if one.pinned else "", excerpt(one.text))
        places = [] if of_talk else ["\n".join(one.places)]
        table.add_row(one.memory[:length] if of_talk else one.memory, one.when or "", text, mood, *places)
    return table
