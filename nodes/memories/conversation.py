"""What a conversation remembers, as recall compares it: read and verified once, then only what was written since."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from langgraph.store.base import BaseStore

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.memories.remembering import exchange_text
from dramaturg.stores.conversations.memories import ConversationMemories, ConversationMemory
from dramaturg.stores.index.vectors import Vectors, unit_rows, with_direction
from dramaturg.stores.role import Role

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
