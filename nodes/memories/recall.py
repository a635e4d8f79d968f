"""Recall (Emotional RAG, II.B.3): a role's own memories, and those of the conversation, by meaning and by mood."""

import asyncio
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Literal, NamedTuple, NotRequired
from weakref import WeakKeyDictionary

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.memories.emotions import EMOTIONS
from dramaturg.nodes.memories.index import memories_of
from dramaturg.nodes.memories.query import MemoryBank, Normalize, QueryState, Ranked, SemanticDistance, Strategy
from dramaturg.nodes.memories.remembering import RememberSettings, exchange_text, kept_memories, unfaded
from dramaturg.nodes.run import embedder_of, role_of, run_of, settings
from dramaturg.stores.conversation_memories import ConversationMemories, ConversationMemory
from dramaturg.stores.index.memories import MemoryStore
from dramaturg.stores.index.vectors import unit_rows
from dramaturg.stores.role import Role


class MemoryRecallSettings(RememberSettings):
    """How much is recalled, and how distances are measured."""

    recalled: int = Field(default=10, ge=1, le=100, description="Memories that are recalled (the paper: 10).")
    pool: int = Field(
        default=20,
        ge=1,
        le=1000,
        description="Memories that the first step of S-S and S-E leaves to the second, and the most they recall.",
    )
    semantic_distance: SemanticDistance = Field(default="euclidean", description="The distance of meanings (Eq. 6).")
    normalize: Normalize = Field(
        default="none",
        description="none: distances are added and multiplied as they are (the paper); minmax, rank: C-A and C-M "
        "scale both to 0..1 first.",
    )
    conversation: Literal["below", "equal"] = Field(
        default="below",
        description="below: what this conversation made the role remember is recalled beside its own memories and "
        "gives way to them; equal: both are ranked together.",
    )
    recalled_of_conversation: int = Field(
        default=3, ge=0, le=100, description="Memories of this conversation that are recalled beside the role's own."
    )


Scores = Mapping[str, int]


class MemoryEvidence(TypedDict):
    """A recalled memory: where it is written, its distances by meaning and by mood, and the one it is ranked by."""

    memory: str
    text: str
    source: str
    canon: bool
    """Whether it is the role's own; False: this conversation made it."""
    pinned: bool
    count: int
    when: str | None
    semantic: float
    emotional: float | None
    score: float
    emotions: Scores | None


class MemoryRecallState(QueryState):
    """What recall reads and writes; what it recalled leaves the state with the reply."""

    remembered: NotRequired[list[str]]
    recalled: list[MemoryEvidence]


class Query(NamedTuple):
    """A question as it is compared."""

    vector: Sequence[float]
    mood: Sequence[int] | None
    context: MemoryRecallSettings

    @property
    def strategy(self) -> Strategy:
        """The strategy of the run; meaning alone where there is no mood."""
        return "semantic" if self.mood is None else self.context.strategy


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


async def recall_memories(state: MemoryRecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall the memories nearest to the question by the strategy of the run (Eqs. 6 to 8).

    A memory of the conversation that is damaged is left out, and the evidence says so; one that is gone was removed, or
    is another role's who speaks on the same thread.

    Raises:
        MissingIndex: the role has no index of memories.
        EmbeddingMismatch: the index was made with another embedding model.
    """
    context = settings(runtime, MemoryRecallSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    store = await memories_of(await run_of(context), state["version"])
    store.require(model.name, len(state["query_vector"]))
    kept = kept_memories(runtime, role)
    ids = unfaded(state.get("remembered", []), context)
    told = await kept.get(ids) if kept else {}
    said = await embedded_anew(told, kept, store, model, role) if kept else []
    damaged = len((await kept.ids()) & set(ids) - set(told)) if kept and len(told) < len(ids) else 0
    query = Query(state["query_vector"], mood_scores(state["mood"]), context)
    found = await asyncio.to_thread(lambda: recalled(own_bank(store), bank_of_conversation(said, store, role), query))
    runtime.stream_writer({"event": "recalled", "memories": found})
    warned = {"warning": store.warning} if store.warning else {}
    lost = {"lost_memories": damaged} if damaged else {}
    evidence = {"strategy": query.strategy, "memories": found, **lost, **warned}
    return {"version": store.version, "recalled": found, "query_vector": [], "evidence": evidence}


def recalled(own: OwnBank, conversation: Bank, query: Query) -> list[MemoryEvidence]:
    """The memories that come back, the role's own before those of the conversation unless all are equal."""
    context = query.context
    if context.conversation == "equal" and conversation.entries:
        both = own.bank.with_others(conversation)
        return nearest(both.entries, both.numbers(), query, context.recalled)
    mine = nearest(own.bank.entries, own.numbers, query, context.recalled)
    if not (conversation.entries and context.recalled_of_conversation):
        return mine
    return mine + nearest(conversation.entries, conversation.numbers(), query, context.recalled_of_conversation)


def nearest(entries: Sequence[Entry], bank: MemoryBank, query: Query, most: int) -> list[MemoryEvidence]:
    """The pinned memories, all of them, then the nearest others, up to `most` together."""
    pinned = {at for at, entry in enumerate(entries) if entry.pinned}
    how: dict[str, Any] = {
        "strategy": query.strategy,
        "semantic_distance": query.context.semantic_distance,
        "normalize": query.context.normalize,
    }
    always = bank.at(sorted(pinned), query.vector, query.mood, **how) if pinned else []
    always.sort(key=lambda one: (one.score, one.index))
    ranked = bank.rank(query.vector, query.mood, k=most + len(pinned), pool=query.context.pool, **how)
    others = [one for one in ranked if one.index not in pinned][: max(most - len(pinned), 0)]
    return [as_evidence(entries[one.index], one) for one in [*always, *others]]


def as_evidence(entry: Entry, ranked: Ranked) -> MemoryEvidence:
    """A memory with its distances."""
    memory, text, source, canon, pinned, copies, when, emotions = entry
    return {
        "memory": memory,
        "text": text,
        "source": source,
        "canon": canon,
        "pinned": pinned,
        "count": copies,
        "when": when,
        "semantic": ranked.semantic,
        "emotional": ranked.emotional,
        "score": ranked.score,
        "emotions": emotions,
    }


def mood_scores(mood: Mapping[str, Any] | None) -> list[int] | None:
    """The emotional vector of the question, of shape (8,)."""
    emotions = (mood or {}).get("emotions")
    return [emotions[name]["score"] for name in EMOTIONS] if emotions else None


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
