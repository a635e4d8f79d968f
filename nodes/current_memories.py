"""Which memories are served now, and whether they are what a role's files and the settings ask for."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from langgraph.runtime import Runtime
from pydantic import JsonValue

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.context import embedder_of, respondent_of, role_of, settings
from dramaturg.nodes.emotion_encoder import encoder_kind, encoder_name
from dramaturg.nodes.indexing import IndexCheckState, as_checked
from dramaturg.nodes.memory_settings import MemorySettings
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.index.memories import MemoryStore
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import RoleCard

S = TypeVar("S", bound=MemorySettings)


async def check_memories(state: IndexCheckState, runtime: Runtime[S]) -> dict[str, Any]:
    """Look whether the memories were made from the files, the encoder and the embedding model of now.

    Which chat model encoded them does not matter: memories are not encoded again for another one.
    """
    context = settings(runtime, MemorySettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    return as_checked(await asyncio.to_thread(current_memories, role, context, model.name))


def encoding_outcomes(state: IndexCheckState) -> Sequence[Literal["stale", "meaning", "mood"]]:
    """Whether memories must be indexed first, or meaning and mood of the question can be had at once."""
    return ("stale",) if state["stale"] else ("meaning", "mood")


def current_memories(role: Role, context: MemorySettings, embedding: str) -> MemoryStore | None:
    """The memories that are served, if they were made from the sources and settings of now.

    Raises:
        DamagedIndex: no version is what was written.
    """
    try:
        store = role.index(context.index_kind).open()
    except MissingIndex:
        return None
    current = (
        recipe_settings(role.card, store.encoder) == store.manifest.settings
        and serves(store, context)
        and store.made_from(embedding, role.memory_files.checksums())
    )
    return store if current else None


def served_or_none(role: Role, context: MemorySettings) -> MemoryStore | None:
    """The memories that are read now, for those who make a new version: what is damaged counts as not there."""
    try:
        return role.index(context.index_kind).open()
    except (DamagedIndex, MissingIndex):
        return None


async def encoder_wanted(context: MemorySettings, role: Role, model: Embedder, *, rebuild: bool) -> str:
    """The name of the encoder that a new version is made with; `auto` stays with the one there is."""
    before = None if rebuild else await asyncio.to_thread(served_or_none, role, context)
    if context.emotion_encoder == "auto" and before is not None and usable(before.encoder, model):
        return before.encoder
    return encoder_name(encoder_kind(context, await respondent_of(context, role)), model)


def usable(encoder: str, model: Embedder) -> bool:
    """Whether an encoder can go on: the chat model, or similarity by the embedding model of now."""
    return encoder in {"model", encoder_name("embedding", model)}


def serves(store: MemoryStore, context: MemorySettings) -> bool:
    """Whether the moods are from the encoder that is asked for; `auto` stays with the one there is."""
    return context.emotion_encoder == "auto" or store.encoder.startswith(context.emotion_encoder)


def recipe_settings(card: RoleCard, encoder: str) -> dict[str, JsonValue]:
    """All that decides what memories there are, besides the files and the embedding model."""
    return {"encoder": encoder, "names": [card.name, *card.aliases], "language": card.language}


async def memories_of(context: MemorySettings, version: str) -> MemoryStore:
    """The memories that this turn reads, also when a newer version was published meanwhile."""
    role = await role_of(context)
    return await asyncio.to_thread(role.index(context.index_kind).open, version or None)
