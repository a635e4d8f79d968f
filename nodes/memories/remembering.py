"""What a conversation makes its role remember: each exchange becomes a memory of this conversation and of no other."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.errors import ModelError
from dramaturg.nodes.memories.emotions import EmotionEncoder, encoder_of
from dramaturg.nodes.memories.index import MemoriesVersion, MemorySettings, memories_of
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import AskedState
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.stores.conversations.memories import ConversationMemories, ConversationMemory
from dramaturg.stores.index.memories import Mood
from dramaturg.stores.index.vectors import unit_rows
from dramaturg.stores.role import Role

SPEAKER = 100  # characters of a user's name


class RememberSettings(MemorySettings):
    """How much of a conversation is remembered."""

    conversation_memories: Open[int] = Field(
        default=200, ge=0, le=5000, description="The most memories of one conversation; older ones fade. 0: none."
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
    memory says why, without a meaning there is no memory, and the evidence says why.

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
    await kept.save(memory)
    made = memory.id
    ids = [one for one in state.get("remembered", []) if one != made]
    return {"remembered": unfaded([*ids, made], run.settings), "usage": {"remember": run.usage}}


def kept_memories(runtime: Runtime[Any], role: Role) -> ConversationMemories | None:
    """Where this conversation's memories are kept; None where a graph runs without a store or a thread."""
    thread = runtime.execution_info.thread_id if runtime.execution_info else None
    if runtime.store is None or thread is None:
        return None
    return ConversationMemories(runtime.store, role.id, thread)


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
    store = await memories_of(run, state.get("memories_version"))
    encoder = await encoder_of(run, store.encoder, role.card)
    asked, answer = state["messages"][-2:]
    speaker = (asked.name or "")[:SPEAKER]
    exchange = Exchange(exchange_text(state["question"], answer.text, speaker, role.card.name), answer.text)
    embedded = model.documents([exchange.text], dimension=store.manifest.embedding.dimension)
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


def exchange_text(question: str, answer: str, speaker: str, role: str) -> str:
    """What was said in a turn, as the memories of dialogues are written."""
    asked = f"{speaker}: {question}" if speaker else question
    return f"{asked}\n{role}: {answer}"
