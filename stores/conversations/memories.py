"""The memories that a conversation made of its turns: kept by role and thread, and seen by no other conversation.

What was said stands once, in the records of the talk (`TalkRecords`); a memory has its meaning and its mood.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from langgraph.store.base import BaseStore, Item
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.conversations.items import drop_at, items_at, items_under
from dramaturg.stores.conversations.talk import Line, TalkRecord, TalkRecords
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.index.memories import Felt, Mood

ROOT = "dramaturg_memories"
DIGITS = 16
SPEAKER = 100  # characters of a user's name


Stamp = Any
"""What differs wherever a memory was written again: when that was, in our own store, else all that is written."""


def positive_zeros(vector: list[float]) -> list[float]:
    """Return the vector without negative zeros, which JSON in a database may not keep."""
    return [number + 0.0 for number in vector]


class ConversationMemory(BaseModel):
    """What was said in one turn, with its meaning and its mood (Emotional RAG, II.B)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    thread: str
    """The conversation that it belongs to."""
    turn: str = Field(min_length=1)
    """The id of the user's message."""
    question: str
    answer: str
    speaker: str = ""
    """Who asked, where that is known."""
    emotions: dict[str, Felt] | None = None
    """By the name of the emotion; None: they could not be had, and `error` says why."""
    error: str = ""
    encoder: str
    """What the emotions are from."""
    embedding: str
    """The name of the embedding model."""
    vector: Annotated[list[float], Field(min_length=1), AfterValidator(positive_zeros)]
    """The meaning, shape (d,)."""
    created: AwareDatetime
    pinned: bool = False
    """Recalled whatever is asked."""
    record: str = ""
    """The id of the record of the talk that has what was said; empty: the memory itself is written with it."""
    version: Literal[1, 2] = 1
    """2: kept under its turn and what was said in it; 1: written when it was kept under its turn alone."""

    @property
    def mood(self) -> Mood:
        """The emotions, or why there are none."""
        return Mood(emotions=self.emotions, error=self.error)

    @property
    def id(self) -> str:
        """The name under which it is kept, and which the checkpoint holds."""
        return memory_id(self.turn, *((self.question, self.answer, self.speaker) if self.version == 2 else ()))


class ConversationMemories:
    """The memories of one conversation in any LangGraph store.

    They are values of plain JSON under a namespace that is a digest of role and thread, so that names may be anything.
    A record that is not as it was written, or that was put there from another conversation, counts as not there.

    Args:
        store: where they are kept; its vector index, if it has one, is left alone.
        role: the id of the role.
        thread: the name of the conversation.
    """

    def __init__(self, store: BaseStore, role: str, thread: str) -> None:
        self.store = store
        self.role = role
        self.thread = thread
        self.namespace = (ROOT, sha256(json.dumps([role, thread]).encode()))

    async def save(self, memory: ConversationMemory) -> None:
        """Keep a memory in the place of an earlier one of the same exchange.

        Raises:
            ValueError: it is of another conversation, or a text in it is not valid Unicode.
        """
        if memory.thread != self.thread:
            raise ValueError(
                f"This memory is of the conversation {memory.thread!a}, not of {self.thread!a}: keep it there."
            )
        await self.store.aput(self.namespace, memory.id, self._record(memory), index=False)

    async def get(self, ids: Iterable[str]) -> dict[str, ConversationMemory]:
        """Return the memories with these ids, in their order; those that are gone or damaged are left out."""
        return await self._readable((await items_at(self.store, self.namespace, ids)).values())

    async def since(
        self, ids: Iterable[str], seen: Mapping[str, Stamp]
    ) -> tuple[dict[str, Stamp], dict[str, ConversationMemory]]:
        """Read those of the memories with these ids that were written since they were seen.

        Args:
            ids: of memories.
            seen: the stamps that came with those that need not be read again.

        Returns:
            The stamps of all that are there, in the order of the ids, and what was read; a memory that is damaged is
            there and cannot be read.
        """
        wanted = list(dict.fromkeys(ids))
        if not isinstance(self.store, ItemStore):
            items = await items_at(self.store, self.namespace, wanted)
            new = [item for one, item in items.items() if item.value != seen.get(one)]
            return {one: item.value for one, item in items.items()}, await self._readable(new)
        # Stamps first: what is written between the two is read again the next time.
        there = await self.store.stamps(self.namespace, wanted)
        items = await items_at(
            self.store, self.namespace, (one for one in wanted if one in there and there[one] != seen.get(one))
        )
        return {one: there[one] for one in wanted if one in there}, await self._readable(items.values())

    async def all(self) -> list[ConversationMemory]:
        """Return every memory of the conversation, on whatever branch, oldest first."""
        found = await self._readable([item async for item in items_under(self.store, self.namespace)])
        return sorted(found.values(), key=lambda memory: (memory.created, memory.id))

    async def ids(self) -> set[str]:
        """Return the ids of all that is kept, readable or not."""
        return {item.key async for item in items_under(self.store, self.namespace)}

    async def drop(self, ids: Iterable[str]) -> None:
        """Forget the memories with these ids; those that are not there are forgotten already."""
        await drop_at(self.store, self.namespace, ids)

    async def drop_all(self) -> None:
        """Forget all that the conversation made, readable or not."""
        await self.drop(await self.ids())

    async def _readable(self, items: Iterable[Item]) -> dict[str, ConversationMemory]:
        written = {item.key: (one, item.value) for item in items if isinstance(one := item.value.get("memory"), dict)}
        named = {str(one["record"]) for one, _ in written.values() if one.get("record")}
        records = {one.id: one for one in await TalkRecords(self.store, self.role, self.thread).get(named)}
        read = ((key, self._read(key, *both, records)) for key, both in written.items())
        return {key: memory for key, memory in read if memory is not None}

    def _read(
        self, key: str, written: Mapping[str, Any], value: Mapping[str, Any], records: Mapping[str, TalkRecord]
    ) -> ConversationMemory | None:
        """The memory of an item, if it is this conversation's and as it was written, and what was said is there."""
        try:
            memory = ConversationMemory.model_validate({**written, **self._of_talk(written, records)})
            whole = value.get("checksum") == self._checksum(memory)
        except ValueError:
            return None
        return memory if whole and (key, self.thread) == (memory.id, memory.thread) else None

    @staticmethod
    def _of_talk(written: Mapping[str, Any], records: Mapping[str, TalkRecord]) -> dict[str, Any]:
        """What a memory is written without."""
        if not written.get("record"):
            return {}
        record = records.get(str(written["record"]))
        said = exchange_in(record.said if record else (), str(written.get("turn")))
        if said is None:
            raise ValueError("What was said is not there.")
        numbers = base64.b64decode(str(written.get("vector")))
        return {**said._asdict(), "vector": np.frombuffer(numbers, "<f4").tolist()}

    def _record(self, memory: ConversationMemory) -> dict[str, JsonValue]:
        without = {"question", "answer", "speaker", "vector"} if memory.record else {"record"}
        written = memory.model_dump(mode="json", exclude=without)
        if memory.record:
            written["vector"] = base64.b64encode(np.asarray(memory.vector, "<f4").tobytes()).decode()
        return {"role": self.role, "memory": written, "checksum": self._checksum(memory)}

    def _checksum(self, memory: ConversationMemory) -> str:
        """Of the role, all but the vector as JSON, and the vector as numbers: as text, those would take long."""
        later = ({"version"} if memory.version == 1 else set[str]()) | (set() if memory.record else {"record"})
        words = memory.model_dump(mode="json", exclude={"vector", *later})
        numbers = np.asarray(memory.vector, "<f4" if memory.record else "<f8")
        return sha256(canonical([self.role, words]) + numbers.tobytes())


class Exchange(NamedTuple):
    """What was said in a turn, and who asked, where that is known."""

    question: str
    answer: str
    speaker: str


def exchange_in(lines: Sequence[Line], turn: str) -> Exchange | None:
    """What was said in a turn, of what a record of the talk holds; None: it is not there, or was forgotten."""
    asked = next((line for line in lines if (line.id, line.who) == (turn, "human")), None)
    reply = next((line for line in reversed(lines) if line.who == "ai"), None)
    if not (asked and asked.text and reply and reply.text):
        return None
    return Exchange(asked.text, reply.text, (asked.name or "")[:SPEAKER])


def memory_id(turn: str, *said: str) -> str:
    """Return the id of the memory of a turn, and of what was said in it.

    A turn that runs twice with the same words makes one memory. With another reply, as where a checkpoint is run again,
    it makes another: each branch names its own.
    """
    digests = [sha256(turn.encode(errors="surrogatepass"))[:DIGITS]]
    return "-".join(digests + ([sha256(json.dumps(said).encode())[:DIGITS]] if said else []))


def of_turns(turns: Iterable[str], ids: Iterable[str]) -> set[str]:
    """Return which of these ids are of memories that these turns made."""
    made = set(map(memory_id, turns))
    return {one for one in ids if one.partition("-")[0] in made}
