"""Which memories a role has: read from its files, with the moods of the index where there is one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.screen import excerpt, printable
from dramaturg.cli.wheel_drawing import strongest
from dramaturg.nodes.dialogues.cast import letters_of
from dramaturg.nodes.memories.remembering import exchange_text
from dramaturg.nodes.memories.units import memory_unit
from dramaturg.stores.conversation_memories import ConversationMemory
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.memories import Felt, MemoryStore, Mood, StoredMemory
from dramaturg.stores.memory_files import read_memory_files
from dramaturg.stores.role import Role

CLEARLY = 5  # from this score on an emotion is clearly there


class Listed(NamedTuple):
    """A memory as it is listed."""

    memory: str
    text: str
    when: str | None
    pinned: bool
    places: tuple[str, ...]
    emotions: Mapping[str, int] | None
    error: str


def listed(role: Role, kind: IndexKind[StoredMemory, MemoryStore]) -> list[Listed]:
    """The memories in a role's files, in their order.

    Raises:
        RoleFileError: a file of memories or a line in it cannot be used.
    """
    moods = moods_of(role, kind)
    return [
        Listed(one.id, one.text, one.when, one.pinned, one.places, mood.scores, mood.error)
        for one in memory_unit(read_memory_files(role.root), role.card)
        for mood in (moods.get(one.id, Mood(emotions=None)),)
    ]


def moods_of(role: Role, kind: IndexKind[StoredMemory, MemoryStore]) -> dict[str, Mood]:
    """The moods of the memories that are indexed, by their ids."""
    try:
        store = role.index(kind).open()
    except (DamagedIndex, MissingIndex):
        return {}
    return {one.id: mood for one, mood in zip(store.memories, store.moods, strict=True)}


def said_in(memories: Sequence[ConversationMemory], role: Role) -> list[Listed]:
    """The memories that a conversation made."""
    return [
        Listed(
            one.id,
            exchange_text(one.question, one.answer, one.speaker, role),
            f"{one.created.astimezone():%Y-%m-%d %H:%M}",
            one.pinned,
            (f"turn {one.turn}",),
            scores(one.emotions),
            one.error,
        )
        for one in memories
    ]


def scores(emotions: Mapping[str, Felt] | None) -> dict[str, int] | None:
    """The scores alone."""
    return None if emotions is None else {name: felt.score for name, felt in emotions.items()}


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
    """Memories, one a row."""
    table = Table(
        Column("id", no_wrap=True),
        "when",
        "memory",
        "mood",
        Column("written in", overflow="fold"),
        title=title,
        title_justify="left",
    )
    for one in memories:
        mood = strongest(one.emotions) if one.emotions else one.error or "–"
        text = Text.assemble(("pinned · ", "bold yellow") if one.pinned else "", excerpt(one.text))
        places = "\n".join(one.places)
        table.add_row(one.memory, printable(one.when or ""), text, printable(mood), printable(places))
    return table
