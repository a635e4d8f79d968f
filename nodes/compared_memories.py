"""The memories that a question is compared with: a role's own, and those that the conversation made."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.emotion_encoder import EMOTIONS
from dramaturg.nodes.emotional_recall import MemoryBank
from dramaturg.nodes.remembering import exchange_text
from dramaturg.stores.conversation_memories import ConversationMemories, ConversationMemory
from dramaturg.stores.index.memories import MemoryStore
from dramaturg.stores.index.vectors import unit_rows
from dramaturg.stores.role import Role

Scores = Mapping[str, int]


class Entry(NamedTuple):
    """A memory, whoever keeps it."""

    id: str
    text: str
    source: str
    canon: bool
    pinned: bool
    copies: int
    when: str | None
    emotions: Scores | None


class Bank(NamedTuple):
    """Memories and what they are compared by; `vectors` of shape (n, d)."""

    entries: Sequence[Entry]
    vectors: NDArray[np.float32]

    def numbers(self) -> MemoryBank:
        """Their meanings and moods, checked."""
        known = [entry.emotions is not None for entry in self.entries]
        moods = [[(entry.emotions or {}).get(name, 0) for name in EMOTIONS] for entry in self.entries]
        return MemoryBank(self.vectors, np.array(moods, float).reshape(-1, len(EMOTIONS)), known)

    def with_others(self, others: "Bank") -> "Bank":
        """Both in one bank, these first."""
        return Bank([*self.entries, *others.entries], np.concatenate([self.vectors, others.vectors]))


class OwnBank(NamedTuple):
    """The role's own memories, their numbers checked once a version."""

    bank: Bank
    numbers: MemoryBank


_banks: WeakKeyDictionary[MemoryStore, OwnBank] = WeakKeyDictionary()
_lock = Lock()


def own_bank(store: MemoryStore) -> OwnBank:
    """The memories of a version, put together once and forgotten with it; blocks."""
    with _lock:
        return _banks.get(store) or _banks.setdefault(store, bank_of(store))


def bank_of(store: MemoryStore) -> OwnBank:
    """The memories of a version."""
    entries = [
        Entry(one.id, one.text, one.places[0], True, one.pinned, len(one.places), one.when, mood.scores)
        for one, mood in zip(store.memories, store.moods, strict=True)
    ]
    bank = Bank(entries, store.vectors())
    return OwnBank(bank, bank.numbers())


def bank_of_conversation(told: Sequence[ConversationMemory], store: MemoryStore, role: Role) -> Bank:
    """The memories of the conversation."""
    if not told:
        return Bank([], np.zeros((0, store.manifest.embedding.dimension), np.float32))
    entries = [
        Entry(one.id, words_in(one, role), f"turn {one.turn}", False, one.pinned, 1, None, comparable(one, store))
        for one in told
    ]
    return Bank(entries, unit_rows([one.vector for one in told]))


async def embedded_anew(
    told: Mapping[str, ConversationMemory], kept: ConversationMemories, store: MemoryStore, model: Embedder, role: Role
) -> list[ConversationMemory]:
    """Memories with vectors of the embedding model of now; where another one embedded them, they are kept anew."""
    size = store.manifest.embedding.dimension
    others = [one for one in told.values() if (one.embedding, len(one.vector)) != (model.name, size)]
    texts = [words_in(one, role) for one in others]
    vectors = unit_rows(await model.embeddings.aembed_documents(texts)).tolist() if texts else []
    anew = {
        one.id: one.model_copy(update={"embedding": model.name, "vector": vector})
        for one, vector in zip(others, vectors, strict=True)
    }
    for one in anew.values():
        await kept.save(one)
    return [anew.get(name, one) for name, one in told.items()]


def words_in(memory: ConversationMemory, role: Role) -> str:
    """What was said in the turn of a memory."""
    return exchange_text(memory.question, memory.answer, memory.speaker, role)


def comparable(memory: ConversationMemory, store: MemoryStore) -> Scores | None:
    """The mood of a memory, if the encoder of the role's own memories gave it."""
    return memory.mood.scores if memory.encoder == store.encoder else None
