"""What a conversation has made the role remember, as it is listed and changed: exchanges, and the user's notes."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from dramaturg.nodes.turn import shown_name

if TYPE_CHECKING:
    from dramaturg.conversations.conversation import Conversation
    from dramaturg.conversations.forgetting import Forgotten
    from dramaturg.stores.conversations.memories import ConversationMemory
    from dramaturg.stores.conversations.talk import Line, TalkRecord

NOTE = "note"


class Listed(NamedTuple):
    """A memory as it is listed."""

    memory: str
    text: str
    when: str | None
    pinned: bool
    places: tuple[str, ...]
    emotions: Mapping[str, int] | None
    error: str


async def heard_in(scene: "Conversation", role: str, name: str) -> list[Listed]:
    """What a role has heard in a scene, on all branches, the first said first."""
    return [row_of(record, None, name) for record in await scene.remembered_by(role)]


async def listed_in(talk: "Conversation") -> list[Listed]:
    """What was said in a conversation, on all branches, and the notes, the first said first."""
    from dramaturg.nodes.run import run_of

    name = (await run_of(talk.context)).role.card.name
    felt = {one.turn: one for one in await talk.memories()}
    rows = list[tuple[datetime, Listed]]()
    for record in await talk.remembered():
        memory = felt.pop(next((line.id for line in record.said if line.id in felt), ""), None)
        rows.append((record.at, row_of(record, memory, name)))
    for turn, memory in felt.items():  # of a turn that is shown nowhere any more
        rows.append((memory.created, row_of(None, memory, name)._replace(places=(f"turn {turn}",))))
    for note in await talk.notes():
        rows.append((note.at, Listed(note.id, note.text, local(note.at), True, (NOTE,), None, "")))
    return [row for _, row in sorted(rows, key=lambda one: one[0])]


def row_of(record: "TalkRecord | None", memory: "ConversationMemory | None", role: str) -> Listed:
    """An exchange as it is listed; one that Emotional RAG remembers is called as its evidence calls it."""
    emotions, error = None, ""
    if memory:
        emotions = None if memory.emotions is None else {name: felt.score for name, felt in memory.emotions.items()}
        error = memory.error
    if record is None:
        assert memory is not None  # noqa: S101
        asked = f"{memory.speaker}: {memory.question}" if memory.speaker else memory.question
        text = f"{asked}\n{role}: {memory.answer}"
        return Listed(memory.id, text, local(memory.created), memory.pinned, (), emotions, error)
    pinned = record.pinned or bool(memory and memory.pinned)
    text = "\n".join(line_text(line, role) for line in record.said)
    name = memory.id if memory else record.id
    return Listed(name, text, local(record.at), pinned, (f"turn {record.said[0].id}",), emotions, error)


def line_text(line: "Line", role: str) -> str:
    """Who said what; a stranger is called by no name."""
    name = shown_name(line.name or "") if line.who == "human" else role
    return f"{name}: {line.text}" if name else line.text


def local(at: datetime) -> str:
    """A time as it is here."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def ids_of(one: Listed) -> list[str]:
    """By what a conversation knows what is listed."""
    return [one.memory, *(place.removeprefix("turn ") for place in one.places if place != NOTE)]


async def pinned_in(talk: "Conversation", one: Listed, *, pinned: bool) -> None:
    """Pin what is listed, or no more.

    Raises:
        ValueError: it is a note, or nothing is kept of it that could come back.
    """
    if one.places == (NOTE,):
        raise ValueError("A note is always shown: --remove it, where it is to be shown no more.")
    if not await talk.pin(ids_of(one), pinned=pinned):
        raise ValueError("Nothing is kept of this turn that could come back: it was said while talk_tokens was 0.")


def forgotten_line(gone: "Forgotten") -> str:
    """What else went, where something was forgotten."""
    more = len(gone.said) + len(gone.notes) - 1
    said = f" {more} more that say the same went with it." if more > 0 else ""
    return said + f" Summaries that may have told of it, and are empty now: {gone.summaries}." * bool(gone.summaries)


def texts_of(gone: "Forgotten", role: str) -> Iterable[str]:
    """What would be forgotten, one by one."""
    for one in gone.said:
        yield "\n".join(line_text(line, role) for line in one.said)
    for note in gone.notes:
        yield f"Note: {note.text}"
