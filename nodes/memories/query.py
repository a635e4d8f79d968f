"""The query, encoded: its meaning and its mood, at the same time (Emotional RAG, II.B.1)."""

from typing import Any

from langgraph.runtime import Runtime
from numpy.typing import ArrayLike
from pydantic import Field

from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.memories.bank import MemoryBank, Normalize, Ranked, Strategy
from dramaturg.nodes.memories.distances import SemanticDistance
from dramaturg.nodes.memories.emotions import emotion_encoder
from dramaturg.nodes.memories.index import MemorySettings, memories_of
from dramaturg.nodes.run import embedder_of, respondent_of, role_of, run_of, settings
from dramaturg.nodes.turn import Report
from dramaturg.stores.index.memories import Mood
from dramaturg.stores.index.vectors import unit_rows


class StrategySettings(MemorySettings):
    """How meaning and mood are put together."""

    strategy: Strategy = Field(
        default="C-A",
        description="C-A: sum of both distances; C-M: their product; S-S: by meaning, then re-ranked by mood; "
        "S-E: by mood, then re-ranked by meaning; semantic: meaning alone.",
    )


class QueryState(Report):
    """What encoding reads and writes; `version` is the index that the turn reads."""

    question: str
    version: str
    query_vector: list[float]
    mood: dict[str, Any] | None


__all__ = ["MemoryBank", "Normalize", "Ranked", "SemanticDistance", "Strategy", "rank_memories"]


async def encode_meaning(state: QueryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Embed the query: semantic_q = F(q) (Eq. 2), of length 1 as the memories are.

    The vector leaves the state when memories are recalled.
    """
    context = settings(runtime, StrategySettings)
    model = await embedder_of(context, await role_of(context))
    vector = await model.embeddings.aembed_query(state["question"])
    return {"query_vector": unit_rows([vector])[0].tolist()}


async def encode_mood(state: QueryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Encode the mood of the query: emotion_q = G(q) (Eq. 3), by what encoded the memories of this version.

    A mood that cannot be had leaves recall by meaning alone, and the evidence says so.

    Raises:
        ModelError: the model cannot be reached or refuses the question.
    """
    context = settings(runtime, StrategySettings)
    if context.strategy == "semantic":
        return {"mood": None}
    role = await role_of(context)
    store = await memories_of(await run_of(context), state["version"])
    chat = await respondent_of(context, role)
    model = await embedder_of(context, role)
    encoder = emotion_encoder(store.encoder, chat=chat, embedder=model, card=role.card)
    try:
        mood = await encoder.of_question(state["question"])
    except UNANSWERED as error:
        mood = Mood(emotions=None, error=str(error))
    found = {"encoder": encoder.name, **mood.model_dump(mode="json", exclude_defaults=True)}
    runtime.stream_writer({"event": "mood", **found})
    return {"mood": found, "evidence": {"mood": found}, "usage": {"encode_mood": chat.account.usage()}}


def rank_memories(
    query: ArrayLike,
    memories: ArrayLike,
    query_emotion: ArrayLike,
    memory_emotions: ArrayLike,
    *,
    strategy: Strategy,
    k: int = 10,
    pool: int = 20,
    semantic_distance: SemanticDistance = "euclidean",
    normalize: Normalize = "none",
) -> list[tuple[int, float]]:
    """Recall the memories nearest to a query by meaning and mood (Emotional RAG II.B.3, Eqs. 6 to 8).

    s is the semantic distance (Eq. 6), e = 1 - cosine of the emotion vectors the emotional one (Eq. 7). The strategies
    of Eq. 8, by the paper's names: C-A ranks by s + e, C-M by s · e; S-S takes the `pool` nearest by s and ranks these
    by e, S-E takes the `pool` nearest by e and ranks these by s. "semantic" ranks by s. Ties break by memory order, in
    both stages. Distances are those of float64, whatever the type of the arrays.

    C-M puts a memory whose emotions are parallel to the query's first, whatever it means: its product is 0.

    >>> meanings = [[1.0, 0.0], [-1.0, 0.0]]  # almost the query's words, and their opposite
    >>> emotions = [[9, 1, 1, 1, 1, 1, 1, 2], [8, 2, 2, 2, 2, 2, 2, 2]]
    >>> rank_memories([1.0, 0.1], meanings, [4, 1, 1, 1, 1, 1, 1, 1], emotions, strategy="C-M")
    [(1, 0.0), (0, 0.0038...)]
    >>> rank_memories([1.0, 0.1], meanings, [4, 1, 1, 1, 1, 1, 1, 1], emotions, strategy="C-A")
    [(0, 0.138...), (1, 2.002...)]

    C-A adds distances that need not be of the same size or spread: on one measured bank s was 1.37 ± 0.08 and e
    0.18 ± 0.09, and with other models either may drown the other. `normalize` puts both on one scale first.

    Args:
        query: semantic vector, shape (d,).
        memories: semantic vectors, shape (n, d).
        query_emotion: scores of the eight emotions, shape (8,).
        memory_emotions: scores of the eight emotions, shape (n, 8).
        strategy: how both distances are used.
        k: how many memories; the paper says 10.
        pool: how many the first stage of S-S and S-E keeps; the paper does not say, the released code has 20.
        semantic_distance: "euclidean" is the released code's; "cosine" is 1 - cosine.
        normalize: for C-A and C-M only. "none" is the paper; "minmax" scales each distance to 0 to 1 over the bank;
            "rank" takes its place among the distinct distances, scaled to 0 to 1. If all are equal, they become 0.

    Returns:
        (index, the distance it was finally ranked by), best first: min(k, n), under S-S and S-E min(k, pool, n).

    Raises:
        ValueError: a shape that does not fit, NaN, an infinite number or a zero vector (the message names the array and
            the row), an unknown strategy or option, `k` or `pool` below 1.
    """
    found = MemoryBank(memories, memory_emotions).rank(
        query,
        query_emotion,
        strategy=strategy,
        k=k,
        pool=pool,
        semantic_distance=semantic_distance,
        normalize=normalize,
    )
    return [(memory.index, memory.score) for memory in found]
