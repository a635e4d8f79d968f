"""Recall (Emotional RAG, II.B.3): memories by meaning and mood, and the reply that rests on them (II.B.4, Figure 3)."""

import asyncio
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, cast
from weakref import WeakKeyDictionary

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.embeddings import Embedder
from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.memories.bank import MemoryBank, Normalize, Strategy
from dramaturg.nodes.memories.distances import SemanticDistance
from dramaturg.nodes.memories.emotions import EMOTIONS, SaidBefore, encoder_of
from dramaturg.nodes.memories.index import WITHOUT_VECTOR, MemoriesVersion, MemorySettings
from dramaturg.nodes.memories.remembering import (
    Remembered,
    RememberSettings,
    Said,
    ask_late,
    exchange_text,
    kept_memories,
    said_before,
    unfaded,
)
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.passages.documents import DocumentSettings, document_grounds
from dramaturg.nodes.reply import AskedState, Grounds, ReplySettings, grounds_of, joined, spoken
from dramaturg.nodes.run import Run, by_rules, needs, open_run
from dramaturg.nodes.self_contained import SelfContainedSettings, SelfContainedState, make_self_contained
from dramaturg.nodes.text.recalled import RecalledSettings, passages_near, passages_of, within_recalled
from dramaturg.nodes.turn import EvidenceState, Question, StandaloneState, TurnInput, transcript
from dramaturg.stores.conversations.memories import of_turns
from dramaturg.stores.index.memories import MEMORY_KIND, NOT_ASKED, MemoryStore, Mood
from dramaturg.stores.index.vectors import unit_rows
from dramaturg.stores.role import Role

__all__ = ["ground_memories", "memory_grounds", "respond_from_memories"]

Scores = Mapping[str, int]
LOOKED_BACK = 4  # messages that a question may go on from
TURN = "turn "
LATE = 8  # memories of a conversation whose moods a turn asks for


class StrategySettings(MemorySettings, SelfContainedSettings):
    """What of a question counts beside its meaning."""

    least_emotion: Open[int] = by_rules(
        paper=1,
        ours=5,
        ge=1,
        le=10,
        description="How strong the strongest emotion of a question must be for its mood to count; a calmer question "
        "is weighed by meaning alone. 1: it always counts (the paper), and plain questions recall the calmest "
        "memories instead of "
        "those that answer them; 5, clearly there: a mood that is only hinted at does not count.",
    )


class MemoryRecallSettings(RecalledSettings, RememberSettings, StrategySettings):
    """How much is recalled, and how distances are measured."""

    recalled: Open[int] = Field(default=10, ge=1, le=100, description="Memories that are recalled (the paper: 10).")
    pool: Open[int] = Field(
        default=20,
        ge=1,
        le=1000,
        description="Memories that the first step of S-S and S-E leaves to the second, and the most they recall.",
    )
    semantic_distance: Open[SemanticDistance] = Field(
        default="euclidean", description="The distance of meanings (Eq. 6)."
    )
    normalize: Open[Normalize] = Field(
        default="none",
        description="none: distances are added and multiplied as they are (the paper); minmax, rank: C-A and C-M "
        "scale both to 0..1 first.",
    )
    conversation: Open[Literal["below", "equal"]] = Field(
        default="below",
        description="below: what this conversation made the role remember is recalled beside its own memories and "
        "gives way to them; equal: both are ranked together.",
    )
    recalled_of_conversation: Open[int] = Field(
        default=3, ge=0, le=100, description="Memories of this conversation that are recalled beside the role's own."
    )


class Recallable(TypedDict):
    """A memory, whoever keeps it, and where it is written."""

    memory: str
    text: str
    source: str
    canon: bool
    """Whether it is the role's own; False: this conversation made it."""
    pinned: bool
    count: int
    when: str | None


class MemoryEvidence(Recallable):
    """A recalled memory: its distances by meaning and by mood, and the one it is ranked by."""

    semantic: float
    emotional: float | None
    score: float
    emotions: Scores | None


class ShownMemory(MemoryEvidence):
    """A recalled memory that there is room for."""

    in_part: bool
    """Whether it is long, and its passages nearest to the question stand for it."""


class QueryState(TurnInput, StandaloneState):
    """What encoding reads and writes."""

    question: Question
    memories_version: NotRequired[MemoriesVersion]
    query_vector: Annotated[list[float], Field(description="The question as a vector of meaning.")]
    mood: Annotated[dict[str, Any] | None, Field(description="The mood of the question; null: it is not known.")]


RecalledMemories = Annotated[
    list[ShownMemory], Field(description="The memories that came back; they leave the state with the reply.")
]


class MemoryRecallState(QueryState):
    """What recall reads and writes."""

    remembered: NotRequired[Remembered]
    recalled_memories: RecalledMemories


@needs(question="read_turn")
async def encode_meaning(state: QueryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Embed the query: semantic_q = F(q) (Eq. 2), of length 1 as the memories are.

    A question that refers to what was said before is said in full first, while its mood is asked for.

    The vector leaves the state when memories are recalled.

    Raises:
        EmbeddingMismatch: it cannot be compared with the memories. It is not kept: going on embeds the query again.
    """
    run = await open_run(runtime, StrategySettings)
    model, store = await run.embedder(), await run.store(MEMORY_KIND, state.get("memories_version"))
    understood = await make_self_contained(cast("SelfContainedState", state), runtime)
    vector = await model.query(understood["standalone"])
    store.require(model.name, len(vector))
    return {**understood, "query_vector": unit_rows([vector])[0].tolist()}


@needs(question="read_turn")
async def encode_mood(state: QueryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Encode the mood of the query: emotion_q = G(q) (Eq. 3), by what encoded the memories of this version.

    A question that only goes on from what the window shows before it, as "And then?" does, has the mood of both. By the
    paper's rules (`recent` is 0) it is read alone.

    A mood that cannot be had leaves recall by meaning alone, and the evidence says so.

    Raises:
        ModelError: the model cannot be reached or refuses the question.
    """
    run = await open_run(runtime, StrategySettings)
    if run.settings.strategy == "semantic":
        return {"mood": None}
    store = await run.store(MEMORY_KIND, state.get("memories_version"))
    encoder = await encoder_of(run, store.encoder, run.role.card)
    try:
        mood = await encoder.of_question(state["question"], said_before_it(state, run))
    except UNANSWERED as error:
        mood = Mood(emotions=None, error=str(error))
    found = {"encoder": encoder.name, **mood.model_dump(mode="json", exclude_defaults=True)}
    runtime.stream_writer({"event": "mood", **found})
    return {"mood": found, "evidence": {"mood": found}, "usage": {"encode_mood": run.usage}}


def said_before_it(state: QueryState, run: Run[StrategySettings]) -> SaidBefore:
    """The last two exchanges before the question, or as much as is looked back at, and what the user said in them."""
    most = min(run.settings.recent, LOOKED_BACK)
    before = state.get("messages", [])[:-1][-most:] if most else []
    return SaidBefore(transcript(before, run.role), [one.text for one in before if one.type == "human"])


@needs(query_vector="encode_meaning", mood="encode_mood")
async def recall_memories(state: MemoryRecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall the memories nearest to the question by the strategy of the run (Eqs. 6 to 8).

    What the window still shows takes no place among them. Exchanges that were remembered while the strategy was to go
    by meaning alone have no mood: the latest of them are asked for theirs now, and the others go by their rank by
    meaning. A memory of the conversation that is damaged, or that has no
    vector, is left out, and the evidence says so; one that is gone was removed, or is another role's who speaks on the
    same thread.

    Raises:
        MissingIndex: the role has no index of memories.
        EmbeddingMismatch: the index was made with another embedding model.
    """
    run = await open_run(runtime, MemoryRecallSettings)
    role, model = run.role, await run.embedder()
    store = await run.store(MEMORY_KIND, state.get("memories_version"))
    store.require(model.name, len(state["query_vector"]))
    felt = (state["mood"] or {}).get("emotions")
    mood = [felt[name]["score"] for name in EMOTIONS] if felt else None
    query = Query(state["query_vector"], mood, run.settings)
    said, lost = dict[str, Said](), 0
    if kept := kept_memories(runtime, role):
        ids = unfaded(state.get("remembered", []), run.settings)
        shown = of_turns((str(message.id) for message in state.get("messages", [])), ids)
        out_of_sight = [one for one in ids if one not in shown]
        dimension = store.manifest.embedding.dimension
        said, lost = await said_before(kept, out_of_sight, model, role, dimension)
        unasked = [one for one, had in said.items() if had.error == NOT_ASKED][-LATE:]
        if unasked and query.strategy != "semantic":
            await ask_late(kept, unasked, await encoder_of(run, store.encoder, role.card), role)
            said, lost = await said_before(kept, out_of_sight, model, role, dimension)
    near = await asyncio.to_thread(lambda: nearest_memories(store, conversation_bank(said, store, role), query))
    found, left_out = await with_room(near, state["query_vector"], model, run.settings.recalled_tokens)
    without = store.manifest.counts.get(WITHOUT_VECTOR)
    runtime.stream_writer({"event": "recalled", "memories": found})
    evidence = {
        "strategy": query.strategy,
        **({"calm": True} if query.calm else {}),
        "memories": found,
        **run.kept_back(),
        **({"memories_left_out": left_out} if left_out else {}),
        **({"lost_memories": lost} if lost else {}),
        **({"memories_without_vector": without} if without else {}),
        **({"warning": store.warning} if store.warning else {}),
    }
    written = {"memories_version": store.version, "recalled_memories": found, "query_vector": []}
    usage = {"usage": {"recall_memories": run.usage}} if run.usage["calls"] else {}
    return {**written, **usage, "evidence": evidence}


async def with_room(
    found: Sequence[MemoryEvidence], vector: Sequence[float], model: Embedder, tokens: int
) -> tuple[list[ShownMemory], int]:
    """The memories that there is room for, of long ones the passages nearest to the question; how many are left out.

    Raises:
        ModelError, ValueError: passages cannot be embedded.
    """
    texts = [one["text"] for one in found]
    long = [text for text in texts if passages_of(text) != (text,)]
    near = await passages_near(model, np.asarray(vector, np.float32), long)
    shown = within_recalled(texts, near, tokens)
    kept: list[ShownMemory] = [
        {**one, "text": text, "in_part": text != one["text"]}
        for one, text in zip(found, shown, strict=True)
        if text is not None
    ]
    return kept, len(found) - len(kept)


class Query(NamedTuple):
    """A question as it is compared."""

    vector: Sequence[float]
    mood: Sequence[int] | None
    context: MemoryRecallSettings

    @property
    def strategy(self) -> Strategy:
        """The strategy of the run; meaning alone where there is no mood, or none that counts."""
        return "semantic" if self.mood is None or self.calm else self.context.strategy

    @property
    def calm(self) -> bool:
        """Whether no emotion speaks from the question, as far as that is known."""
        return self.mood is not None and max(self.mood) < self.context.least_emotion


class Bank:
    """Memories with what they are compared by, checked once: `vectors` of shape (n, d), and the known moods."""

    def __init__(
        self, memories: Sequence[Recallable], vectors: NDArray[np.float32], moods: Sequence[Scores | None]
    ) -> None:
        self.memories, self.vectors, self.moods = memories, vectors, moods
        rows = [[(mood or {}).get(name, 0) for name in EMOTIONS] for mood in moods]
        known = [mood is not None for mood in moods]
        # At the time of which the role knows there may be none yet.
        self.numbers = MemoryBank(vectors, np.array(rows, float), known) if memories else None

    def nearest(self, query: Query, most: int) -> list[MemoryEvidence]:
        """The pinned memories, all of them, then the nearest others, up to `most` together."""
        if self.numbers is None:
            return []
        pinned = [at for at, memory in enumerate(self.memories) if memory["pinned"]]
        context = query.context
        how: dict[str, Any] = {
            "strategy": query.strategy,
            "semantic_distance": context.semantic_distance,
            "normalize": context.normalize,
        }
        always = self.numbers.at(pinned, query.vector, query.mood, **how) if pinned else []
        always.sort(key=lambda one: (one.score, one.index))
        ranked = self.numbers.rank(query.vector, query.mood, k=most + len(pinned), pool=context.pool, **how)
        others = [one for one in ranked if one.index not in pinned][: max(most - len(pinned), 0)]
        return [
            {**self.memories[at], "semantic": s, "emotional": e, "score": score, "emotions": self.moods[at]}
            for at, s, e, score in [*always, *others]
        ]


def nearest_memories(store: MemoryStore, conversation: Bank | None, query: Query) -> list[MemoryEvidence]:
    """The memories that come back, the role's own before those of the conversation unless all are equal; blocks."""
    own, context = own_bank(store), query.context
    if conversation and context.conversation == "equal":
        vectors = np.concatenate([own.vectors, conversation.vectors])
        both = Bank([*own.memories, *conversation.memories], vectors, [*own.moods, *conversation.moods])
        return both.nearest(query, context.recalled)
    found = own.nearest(query, context.recalled)
    if conversation and context.recalled_of_conversation:
        found += conversation.nearest(query, context.recalled_of_conversation)
    return found


_banks: WeakKeyDictionary[MemoryStore, Bank] = WeakKeyDictionary()
_lock = Lock()


def own_bank(store: MemoryStore) -> Bank:
    """The memories of a version, put together once and forgotten with it."""
    with _lock:
        if store not in _banks:
            memories: list[Recallable] = [
                {
                    "memory": one.id,
                    "text": one.text,
                    "source": one.places[0],
                    "canon": True,
                    "pinned": one.pinned,
                    "count": len(one.places),
                    "when": one.when,
                }
                for one in store.memories
            ]
            _banks[store] = Bank(memories, store.vectors(), [mood.scores for mood in store.moods])
        return _banks[store]


_said: WeakKeyDictionary[MemoryStore, tuple[Any, Bank]] = WeakKeyDictionary()


def conversation_bank(said: Mapping[str, Said], store: MemoryStore, role: Role) -> Bank | None:
    """The memories of the conversation; moods count where the encoder of the role's own memories gave them.

    It is put together when something has left the window, or was changed; else it is as it was.
    """
    if not said:
        return None
    name = role.card.name  # the file is looked at
    made_of = (name, [(memory, one.stamp) for memory, one in said.items()])
    with _lock:
        known = _said.get(store)
    if known and known[0] == made_of:
        return known[1]
    memories: list[Recallable] = [
        {
            "memory": memory,
            "text": exchange_text(one.question, one.answer, one.speaker, name),
            "source": f"{TURN}{one.turn}",
            "canon": False,
            "pinned": one.pinned,
            "count": 1,
            "when": None,
        }
        for memory, one in said.items()
    ]
    moods = [one.scores if one.encoder == store.encoder else None for one in said.values()]
    bank = Bank(memories, np.stack([one.vector for one in said.values()]), moods)
    with _lock:
        _said[store] = (made_of, bank)
    return bank


class MemoryReplySettings(MemoryRecallSettings, ReplySettings, DocumentSettings):
    """A reply that rests on memories."""


class MemoryReplyState(AskedState, EvidenceState):
    """What the reply reads."""

    recalled_memories: RecalledMemories


@needs(question="read_turn", recalled_memories="recall_memories")
async def respond_from_memories(state: MemoryReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the recalled memories, in the voice that they are told in, and from what documents say beside."""
    run = await open_run(runtime, MemoryReplySettings)
    documents = await document_grounds(run, state)
    grounds = joined([memory_grounds(run, state), documents])
    reply, slips = await spoken(run, state, "respond_from_memories", grounds, data={"memories": ""})
    evidence, usage = {**documents["evidence"], **slips}, {"respond_from_memories": run.usage}
    return {"messages": [reply], "recalled_memories": [], "evidence": evidence, "usage": usage}


@needs(recalled_memories="recall_memories")
async def ground_memories(state: MemoryReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Gather what a reply can rest on, for who makes it; see `memory_grounds`."""
    run = await open_run(runtime, MemoryRecallSettings)
    return {"gathered": {"memories": memory_grounds(run, state)}, "recalled_memories": []}


def memory_grounds(run: Run[MemoryRecallSettings], state: MemoryReplyState) -> Grounds:
    """What a reply can rest on here: "memories", each with the time that it is of.

    What the conversation itself made the role remember stands apart, as the limit "was_said", unless both are equal.
    """
    recalled = state["recalled_memories"]
    canon = [one for one in recalled if one["canon"] or run.settings.conversation == "equal"]
    said = [memory_text(one) for one in recalled if one not in canon]
    texts, limits = {"memories": list(map(memory_text, canon))}, {"was_said": "\n\n".join(said)}
    grounds = grounds_of(state, texts, limits=limits, shown=("mood", "strategy", "memories"))
    return {**grounds, "turns": [one["source"].removeprefix(TURN) for one in recalled if not one["canon"]]}


def memory_text(memory: MemoryEvidence) -> str:
    """A memory as the model reads it."""
    return f"({memory['when']}) {memory['text']}" if memory["when"] else memory["text"]
