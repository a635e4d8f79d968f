"""Indexing of memories (Emotional RAG, II.B.2): read, embedded, their moods encoded, published. Resumable."""

import asyncio
from contextlib import suppress
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import JsonValue

from dramaturg.models.chat import ChatModel
from dramaturg.nodes.asked_answers import LookedAt, answer_all, progress
from dramaturg.nodes.context import embedder_of, respondent_of, role_of, settings
from dramaturg.nodes.current_memories import encoder_wanted, recipe_settings
from dramaturg.nodes.draft_work import cost, made_again_if_stale, unless_overtaken
from dramaturg.nodes.emotion_encoder import emotion_encoder
from dramaturg.nodes.memory_draft import MemoryDraftState, MemoryReport
from dramaturg.nodes.memory_moods import Encoding, mood_in, wanted
from dramaturg.nodes.memory_settings import MemorySettings
from dramaturg.nodes.memory_units import memory_unit
from dramaturg.nodes.record_embedding import embed_records
from dramaturg.stores.errors import MissingIndex, StaleDraft
from dramaturg.stores.memory_files import read_memory_files

S = TypeVar("S", bound=MemorySettings)


async def gather_memories(state: MemoryDraftState, runtime: Runtime[S]) -> dict[str, Any]:
    """Read the memory unit M = {m_1, …, m_n} and write it down as a draft.

    Raises:
        ValueError: the role has no memories.
        RoleFileError: a file of memories or a line in it cannot be used.
    """
    context = settings(runtime, MemorySettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    sources = await asyncio.to_thread(role.memory_files.checksums)
    card = role.card
    memories = await asyncio.to_thread(lambda: memory_unit(read_memory_files(role.root), card))
    if not memories:
        msg = f"{role.id!r} has no memories: write memories.jsonl or dialogues/*.jsonl into its folder, then index it."
        raise ValueError(msg)
    rebuild, again = bool(state.get("rebuild")), state.get("overtaken", 0)
    encoder = await encoder_wanted(context, role, model, rebuild=rebuild)
    draft = await asyncio.to_thread(
        role.memory_builder(context.index_kind).draft,
        memories,
        embedding=model.name,
        settings=recipe_settings(card, encoder),
        sources=sources,
        fresh=rebuild,
        after=state["draft"] if again else "",
    )
    copies = sum(len(memory.places) - 1 for memory in memories)
    report = begun(encoder, len(memories), copies)
    runtime.stream_writer({"event": "gathered", "memories": len(memories), "copies": copies})
    cleared = {} if again else {"usage": Overwrite({})}
    return {"draft": draft, "encoder": encoder, "index": report, "version": "", **cleared}


def begun(encoder: str, memories: int, copies: int) -> MemoryReport:
    """What is known before a memory was encoded."""
    return {
        "version": "",
        "encoder": encoder,
        "memories": memories,
        "copies": copies,
        "failed": [],
        "calls": 0,
        "tokens": 0,
    }


@unless_overtaken
async def embed_memories(state: MemoryDraftState, runtime: Runtime[S]) -> dict[str, Any]:
    """Embed every memory that has no vector yet: semantic_m^k = F(m_k) (Eq. 4)."""
    context = settings(runtime, MemorySettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    builder = role.memory_builder(context.index_kind)
    await embed_records(builder, state["draft"], model, context.embedding_batch, runtime)
    return {}


@unless_overtaken
async def encode_moods(state: MemoryDraftState, runtime: Runtime[S]) -> dict[str, Any]:
    """Have the mood of every memory that has none yet: emotion_m^k = G(m_k) (Eq. 5), several memories at a time.

    A memory whose mood cannot be had is recorded with the reason, and asked again with `retry`.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    context = settings(runtime, MemorySettings)
    encoding, chat = await encoding_of(context, state["encoder"])
    builder, draft = encoding.role.memory_builder(context.index_kind), state["draft"]
    memories = await asyncio.to_thread(builder.records, draft)
    answers = await asyncio.to_thread(builder.answers, draft)
    left = [one for one in memories if wanted(one, encoding, answers, retry=bool(state.get("retry")))]
    at_once = encoding.encoder.at_once
    with suppress(MissingIndex):  # where somebody else was faster, what was asked has cost no less
        await answer_all(
            {str(start): left[start : start + at_once] for start in range(0, len(left), at_once)},
            encoding.moods,
            keep=lambda had: asyncio.to_thread(builder.add_answers, draft, had),
            announce=progress(runtime, "moods", len(left), each=at_once),
        )
    return {"usage": {"encode_moods": chat.account.usage()}}


async def encoding_of(context: MemorySettings, encoder: str) -> tuple[Encoding, ChatModel]:
    """Who encodes the moods of a run, and the chat model, if it is the one."""
    role = await role_of(context)
    chat = await respondent_of(context, role)
    model, card = await embedder_of(context, role), role.card
    made = emotion_encoder(encoder, chat=chat, embedder=model, card=card)
    return Encoding(made, role, card), chat


@made_again_if_stale
async def publish_memories(state: MemoryDraftState, runtime: Runtime[S]) -> dict[str, Any]:
    """Make the memories the version that is read from now on, unless their files are no longer what they were.

    Raises:
        StaleDraft: the files, or the card, were changed each time that they were indexed.
        MissingIndex: the draft, or a vector of it, was taken away each time.
    """
    context = settings(runtime, MemorySettings)
    encoding, _ = await encoding_of(context, state["encoder"])
    builder, draft = encoding.role.memory_builder(context.index_kind), state["draft"]
    memories = await asyncio.to_thread(builder.records, draft)
    if await asyncio.to_thread(builder.settings, draft) != recipe_settings(encoding.card, state["encoder"]):
        raise StaleDraft(
            f"role.yaml of {encoding.role.id!r} was changed while its memories were indexed: index it again."
        )
    used: dict[str, JsonValue] = {}
    answers = LookedAt(await asyncio.to_thread(builder.answers, draft), used)
    moods = [mood_in(answers, memory, encoding) for memory in memories]
    failed = [{"memory": m.id, "error": mood.error} for m, mood in zip(memories, moods, strict=True) if mood.error]
    counts = {"memories": len(memories), "copies": state["index"]["copies"], "failed": len(failed)}
    sources = encoding.role.memory_files
    manifest = await asyncio.to_thread(builder.publish, draft, moods, used, counts, sources)
    report = {**state["index"], "failed": failed, **cost(state["usage"]), "version": manifest.version}
    runtime.stream_writer({"event": "published", **report})
    return {"index": report, "version": manifest.version, "rebuild": False, "retry": False, "overtaken": 0}
