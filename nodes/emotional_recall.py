"""Emotional RAG's recall as one function: memories come back by meaning and by mood (section II.B.3)."""

from numpy.typing import ArrayLike

from dramaturg.nodes.memory_bank import MemoryBank, Ranked
from dramaturg.nodes.recall_strategies import Normalize, Strategy
from dramaturg.nodes.vector_distances import SemanticDistance

__all__ = ["MemoryBank", "Normalize", "Ranked", "SemanticDistance", "Strategy", "rank_memories"]


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
