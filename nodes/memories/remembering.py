"""What a conversation makes its role remember, and of that what was said before: of this conversation and no other."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated, Any, NamedTuple, NotRequired
from weakref import WeakKeyDictionary

import numpy as np
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import Field

from dramaturg.models.embeddings import Embedder
from dramaturg.models.errors import ModelError
from dramaturg.nodes.memories.emotions import EmotionEncoder, encoder_of
from dramaturg.nodes.memories.index import MemoriesVersion, MemorySettings
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import AskedState
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.nodes.turn import talk_records
from dramaturg.stores.conversations.memories import SPEAKER, ConversationMemories, ConversationMemory, exchange_in
from dramaturg.stores.conversations.role_stores import store_of
from dramaturg.stores.conversations.talk import TalkRecords, exchanges_in
from dramaturg.stores.index.memories import MEMORY_KIND, NOT_ASKED, Mood
from dramaturg.stores.index.vectors import Vectors, unit_rows, with_direction
from dramaturg.stores.role import Role


class RememberSettings(MemorySettings):
    """How much of a conversation is remembered."""

    conversation_memories: Open[int] = Field(
        default=200,
        ge=0,
        le=5000,
        description="The largest number of memories of one conversation; the oldest are dropped. 0: none.",
    )


Remembered = Annotated[
    list[str],
    Field(description="The ids of this conversation's memories, which live on; texts and vectors are in the store."),
]


class RememberedState(AskedState):
    """What lives on."""

    memories_version: NotRequired[MemoriesVersion]
    remembered: NotRequired[Remembered]


@needs(question="read_turn")
async def remember(state: RememberedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make the exchange a memory of this conversation, with its meaning and its mood (Emotional RAG, II.B.2).

    It comes after the reply, which does not wait for it. A turn that runs twice makes the same memory, and one that
    runs again with another reply makes another. A model that cannot be asked does not lose the turn: without a mood the
    memory says why, without a meaning there is no memory, and the evidence says why. Where memories are recalled by
    meaning alone no mood is asked; see `recall_memories`.

    Raises:
        StorageError: the store cannot be written.
    """
    run = await open_run(runtime, RememberSettings)
    kept = kept_memories(runtime, run.role)
    if kept is None:
        return {}
    if not run.settings.conversation_memories:
        return {"remembered": []}
    try:
        memory = await exchange_memory(state, run, kept.thread)
    except (ModelError, ValueError) as error:
        return {"evidence": {"remember_error": str(error)}, "usage": {"remember": run.usage}}
    if talk := talk_records(runtime, run.settings):
        memory = await of_record(memory, talk, state)
    await kept.save(memory)
    made = memory.id
    ids = [one for one in state.get("remembered", []) if one != made]
    return {"remembered": unfaded([*ids, made], run.settings), "usage": {"remember": run.usage}}


async def of_record(memory: ConversationMemory, talk: TalkRecords, state: RememberedState) -> ConversationMemory:
    """The memory as it stands on the record of its exchange, where the talk has one; else it has what was said itself.

    Raises:
        StorageError: the talk cannot be read, or be written.
    """
    *_, lines = [(), *exchanges_in(state["messages"])]
    if (said := exchange_in(lines, memory.turn)) is None:
        return memory
    head = await talk.extended(state.get("talk_head", ""), state["messages"])
    return memory.model_copy(update={**said._asdict(), "record": head})


def kept_memories(runtime: Runtime[Any], role: Role) -> ConversationMemories | None:
    """Where this conversation's memories are kept; None where a graph runs without a store or a thread."""
    thread = runtime.execution_info.thread_id if runtime.execution_info else None
    if runtime.store is None or thread is None:
        return None
    return ConversationMemories(store_of(runtime.store, role.id), role.id, thread)


def unfaded(ids: Sequence[str], context: RememberSettings) -> list[str]:
    """The ids of the latest memories, as many as a conversation may have."""
    return list(ids[max(len(ids) - context.conversation_memories, 0) :])


class Exchange(NamedTuple):
    """What was said in a turn, as encoders read it."""

    text: str
    own: str


async def exchange_memory(state: RememberedState, run: Run[RememberSettings], thread: str) -> ConversationMemory:
    """The exchange of a turn with its meaning and its mood.

    Raises:
        ModelError: the embedding model cannot be reached.
        ValueError: it gives no direction for what was said.
    """
    model, role = await run.embedder(), run.role
    store = await run.store(MEMORY_KIND, state.get("memories_version"))
    asked, answer = state["messages"][-2:]
    speaker = (asked.name or "").replace("\0", "")[:SPEAKER]  # which Postgres does not take
    exchange = Exchange(exchange_text(state["question"], answer.text, speaker, role.card.name), answer.text)
    embedded = model.documents([exchange.text], dimension=store.manifest.embedding.dimension)
    encoder = await encoder_of(run, store.encoder, role.card)
    if run.settings.strategy == "semantic":
        vectors, mood = await embedded, Mood(emotions=None, error=NOT_ASKED)
    else:
        vectors, mood = await asyncio.gather(embedded, mood_or_reason(encoder, exchange))
    return ConversationMemory(
        thread=thread,
        turn=str(asked.id),
        question=state["question"],
        answer=answer.text,
        speaker=speaker,
        emotions=mood.emotions,
        error=mood.error,
        encoder=encoder.name,
        embedding=model.name,
        vector=unit_rows(vectors)[0].tolist(),
        created=datetime.now(UTC),
        version=2,
    )


async def mood_or_reason(encoder: EmotionEncoder, exchange: Exchange) -> Mood:
    """The mood of an exchange, or why it could not be had."""
    try:
        (mood,) = await encoder.of_memories([exchange])
    except ModelError as error:
        return Mood(emotions=None, error=str(error))
    return mood


async def ask_late(kept: ConversationMemories, ids: Sequence[str], encoder: EmotionEncoder, role: Role) -> None:
    """Ask for the moods of memories that were made without one, and keep them."""
    memories, name = await kept.get(ids), role.card.name
    exchanges = [
        Exchange(exchange_text(one.question, one.answer, one.speaker, name), one.answer) for one in memories.values()
    ]
    moods = await asyncio.gather(*(mood_or_reason(encoder, one) for one in exchanges))
    for memory, mood in zip(memories.values(), moods, strict=True):
        felt = {"emotions": mood.emotions, "error": mood.error, "encoder": encoder.name}
        await kept.save(memory.model_copy(update=felt))


def exchange_text(question: str, answer: str, speaker: str, role: str) -> str:
    """What was said in a turn, as the memories of dialogues are written."""
    asked = f"{speaker}: {question}" if speaker else question
    return f"{asked}\n{role}: {answer}"


CONVERSATIONS = 8  # of a store, whose memories stay in the process


class Said(NamedTuple):
    """A memory of the conversation, as it was when it had this stamp."""

    stamp: Any
    turn: str
    question: str
    answer: str
    speaker: str
    pinned: bool
    encoder: str
    scores: dict[str, int] | None
    error: str
    """Why there are no scores."""
    embedding: str
    vector: Vectors
    """Shape (d,)."""


async def said_before(
    kept: ConversationMemories, ids: Sequence[str], model: Embedder, role: Role, dimension: int
) -> tuple[dict[str, Said], int]:
    """Have the memories with these ids, with vectors of the embedding model of now.

    Those that another model embedded are kept with their new vectors.

    Returns:
        By id, in their order, and how many are there and cannot be had: damaged, or without a vector.
    """
    found = await _as_kept(kept, ids)
    if others := [one for one, had in found.items() if had and not _embedded_by(had, model, dimension)]:
        memories = await kept.get(others)
        name = role.card.name
        texts = [exchange_text(one.question, one.answer, one.speaker, name) for one in memories.values()]
        vectors = await model.documents(texts, dimension=dimension, faulty=True)
        for memory, vector, usable in zip(memories.values(), vectors, with_direction(vectors), strict=True):
            if usable:
                anew = {"embedding": model.name, "vector": unit_rows([vector])[0].tolist()}
                await kept.save(memory.model_copy(update=anew))
        found = await _as_kept(kept, ids)
    usable = {one: had for one, had in found.items() if had and _embedded_by(had, model, dimension)}
    return usable, len(found) - len(usable)


async def _as_kept(kept: ConversationMemories, ids: Sequence[str]) -> dict[str, Said | None]:
    """The memories that are there; None for one that is damaged."""
    with _lock:
        known = dict(_known.setdefault(kept.store, OrderedDict()).get(kept.namespace, {}))
    there, read = await kept.since(ids, {one: had.stamp for one, had in known.items()})
    known |= {one: _said(memory, there[one]) for one, memory in read.items()}
    found = {one: had if (had := known.get(one)) and had.stamp == stamp else None for one, stamp in there.items()}
    with _lock:
        conversations = _known[kept.store]
        conversations[kept.namespace] = {one: had for one, had in found.items() if had}
        conversations.move_to_end(kept.namespace)
        while len(conversations) > CONVERSATIONS:
            conversations.popitem(last=False)
    return found


_known: WeakKeyDictionary[BaseStore, OrderedDict[tuple[str, ...], dict[str, Said]]] = WeakKeyDictionary()


_lock = Lock()


def _said(memory: ConversationMemory, stamp: Any) -> Said:
    told = {name: getattr(memory, name) for name in Said._fields if name in type(memory).model_fields}
    vector = np.asarray(memory.vector, np.float32)
    return Said(**{**told, "stamp": stamp, "scores": memory.mood.scores, "vector": vector})


def _embedded_by(said: Said, model: Embedder, dimension: int) -> bool:
    return (said.embedding, len(said.vector)) == (model.name, dimension)
