"""Recall by meaning and mood out of arrays (Emotional RAG II.B.3, Eqs. 6 to 8), without a model."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dramaturg.nodes.memories.distances import (
    Floats,
    Rows,
    SemanticDistance,
    columnwise_products,
    emotional_distances,
    number_array,
    one_vector,
    semantic_bounds,
    semantic_distances,
    squared_lengths,
)

SIZE = 8  # emotions

Normalize = Literal["none", "rank", "minmax"]
Strategy = Literal["semantic", "C-A", "C-M", "S-S", "S-E"]


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
    by e, S-E takes the `pool` nearest by e and ranks these by s. "semantic" ranks by s. Ties fall by
    the other distance, of C-A and C-M by s, and then by memory order, in both stages. Distances are those of float64,
    whatever the type of the arrays.

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


class RankedMemory(NamedTuple):
    """A memory that was recalled: its distances by meaning and by mood, and the one it was finally ranked by."""

    index: int  # type: ignore[assignment]  # a tuple has a method of this name, which nobody needs here
    semantic: float
    emotional: float | None
    """None: the emotion of the memory, or of the query, is not known."""
    score: float


class _Query(NamedTuple):
    """What is asked of the bank, after all checks."""

    vector: Floats
    emotional: Floats | None
    """The emotional distances of all memories."""
    strategy: Strategy
    distance: SemanticDistance
    normalize: Normalize
    whole: bool
    """Whether the semantic distances of all memories are needed."""


class _Measured(NamedTuple):
    """Some rows: their semantic distances, and what both stages of the strategy rank by, of shape (m,).

    Each stage has what it ranks by, and what its ties fall by.
    """

    rows: Rows
    semantic: Floats
    first: tuple[Floats, Floats]
    final: tuple[Floats, Floats]


class MemoryBank:
    """n memories to recall from, again and again; what is computed is described by `rank_memories`.

    A memory of unknown emotion takes part by meaning alone. Its emotional distance is taken to be the quantile, among
    the known emotional distances, that its semantic distance has in the whole bank (`placed_by_meaning` says exactly
    which): its place by meaning is its place by mood too, under each strategy and whatever the order of the bank. If
    no emotion is known, all ranking is by meaning.

    The arrays are not copied if they are float32 or float64, row by row in memory: do not change them.

    Args:
        memories: semantic vectors, shape (n, d).
        memory_emotions: scores of the eight emotions, shape (n, 8).
        known: whose emotion is known, bools of shape (n,), all by default; the other rows of `memory_emotions` may
            hold anything, also NaN.

    Raises:
        ValueError: a shape that does not fit, NaN, an infinite number or a zero vector; the message names the row.
    """

    def __init__(self, memories: ArrayLike, memory_emotions: ArrayLike, known: ArrayLike | None = None) -> None:
        self._memories = number_array(memories, "memories", (None, None))
        self._squares = squared_lengths(self._memories, "memories")
        count = len(self._memories)
        self._known = np.ones(count, dtype=np.bool_) if known is None else np.asarray(known)
        if self._known.dtype != np.bool_ or self._known.shape != (count,):
            raise ValueError(f"`known` must hold bools and have the shape ({count},).")
        emotions = number_array(memory_emotions, "memory_emotions", (count, SIZE))
        squared_lengths(emotions, "memory_emotions", self._known)
        self._emotions = np.ascontiguousarray(np.where(self._known, emotions.T, 1.0), dtype=np.float64)
        self._emotion_squares = columnwise_products(self._emotions, self._emotions)

    def __len__(self) -> int:
        return len(self._memories)

    def rank(
        self,
        query: ArrayLike,
        query_emotion: ArrayLike | None,
        *,
        strategy: Strategy,
        k: int = 10,
        pool: int = 20,
        semantic_distance: SemanticDistance = "euclidean",
        normalize: Normalize = "none",
    ) -> list[RankedMemory]:
        """Recall the memories nearest to a query, best first; without a `query_emotion` by "semantic" only.

        Semantic distances are computed for those rows that a quick pass over all cannot rule out; for all rows, which
        takes several times as long at 100,000, where `normalize` or a memory of unknown emotion needs them.

        Raises:
            ValueError: the same as for `rank_memories`.
        """
        for name, number in (("k", k), ("pool", pool)):
            if not isinstance(number, int | np.integer) or number < 1:
                raise ValueError(f"`{name}` must be a whole number and at least 1, not {number!r}.")
        asked = self._checked(query, query_emotion, strategy, semantic_distance, normalize)
        k, pool = (min(k, pool), pool) if strategy in ("S-S", "S-E") else (k, k)
        found = self._measured(asked, self._candidates(asked, pool))
        taken = _order(found.first, found.rows)[:pool]
        best = taken[_order([one[taken] for one in found.final], found.rows[taken])][:k]
        return self._ranked(asked, found.rows[best], found.semantic[best], found.final[0][best])

    def at(
        self,
        rows: Sequence[int],
        query: ArrayLike,
        query_emotion: ArrayLike | None,
        *,
        strategy: Strategy,
        semantic_distance: SemanticDistance = "euclidean",
        normalize: Normalize = "none",
    ) -> list[RankedMemory]:
        """Measure chosen memories, in the order given: those that are shown whatever their rank.

        Raises:
            ValueError: the same as for `rank`; a row that is not there.
        """
        absent = [row for row in rows if not 0 <= row < len(self)]
        if absent:
            raise ValueError(f"There is no row {absent[0]} in a bank of {len(self)} memories.")
        asked = self._checked(query, query_emotion, strategy, semantic_distance, normalize)
        found = self._measured(asked, np.array(rows, dtype=np.intp))
        return self._ranked(asked, found.rows, found.semantic, found.final[0])

    def _checked(
        self,
        query: ArrayLike,
        query_emotion: ArrayLike | None,
        strategy: Strategy,
        distance: SemanticDistance,
        normalize: Normalize,
    ) -> _Query:
        chosen = {"strategy": strategy, "semantic_distance": distance, "normalize": normalize}
        for (name, value), kind in zip(chosen.items(), (Strategy, SemanticDistance, Normalize), strict=True):
            if value not in get_args(kind):
                raise ValueError(f"`{name}` must be one of {', '.join(get_args(kind))}, not {value!r}.")
        vector, emotional = one_vector(query, "query", self._memories.shape[1]), None
        if query_emotion is not None:
            emotion = one_vector(query_emotion, "query_emotion", SIZE)
            emotional = emotional_distances(self._emotions, self._emotion_squares, emotion)
        elif strategy != "semantic":
            raise ValueError(f"The strategy {strategy} compares moods: give a `query_emotion`, or choose `semantic`.")
        strategy = strategy if self._known.any() else "semantic"
        normalize = normalize if strategy in ("C-A", "C-M") else "none"
        whole = normalize != "none" or (strategy != "semantic" and not self._known.all())
        return _Query(vector, emotional, strategy, distance, normalize, whole)

    def _candidates(self, asked: _Query, count: int) -> Rows:
        """Leave out rows that cannot be among the first `count`."""
        if asked.whole or count >= len(self):
            return np.arange(len(self))
        ((first, _), _), mood = STAGES[asked.strategy], self._moods(asked)
        if first is _by_mood:
            lower = upper = mood
        else:
            bounds = semantic_bounds(self._memories, self._squares, asked.vector, asked.distance)
            lower, upper = (first(bound, mood) for bound in bounds)
        return np.flatnonzero(lower <= np.partition(upper, count - 1)[count - 1])

    def _moods(self, asked: _Query) -> Floats:
        return np.zeros(len(self)) if asked.emotional is None else asked.emotional

    def _measured(self, asked: _Query, rows: Rows) -> _Measured:
        needed = np.arange(len(self)) if asked.whole else rows
        semantic = semantic_distances(self._memories, needed, asked.vector, asked.distance)
        meaning, mood = semantic, self._moods(asked)[needed]
        if asked.whole:
            mood = placed_by_meaning(mood, semantic, self._known)
            meaning, mood = normalized(semantic, asked.normalize)[rows], normalized(mood, asked.normalize)[rows]
            semantic = semantic[rows]
        (first, tie), (final, last) = STAGES[asked.strategy]
        return _Measured(
            rows, semantic, (first(meaning, mood), tie(meaning, mood)), (final(meaning, mood), last(meaning, mood))
        )

    def _ranked(self, asked: _Query, rows: Rows, semantic: Floats, final: Floats) -> list[RankedMemory]:
        known = self._known[rows] & (asked.emotional is not None)
        moods = zip(self._moods(asked)[rows].tolist(), known, strict=True)
        emotional = [mood if had else None for mood, had in moods]
        return list(map(RankedMemory, rows.tolist(), semantic.tolist(), emotional, final.tolist()))


def _order(stage: Sequence[Floats], rows: Rows) -> Rows:
    """The order of a stage: by what it ranks by, then by what its ties fall by, then by place."""
    by, tie = stage
    return np.lexsort((rows, tie, by))


def _by_meaning(meaning: Floats, mood: Floats) -> Floats:
    return meaning


def _by_mood(meaning: Floats, mood: Floats) -> Floats:
    return mood


Combine = Callable[[Floats, Floats], Floats]
BY_MEANING, BY_MOOD = (_by_meaning, _by_mood), (_by_mood, _by_meaning)
STAGES: dict[Strategy, tuple[tuple[Combine, Combine], tuple[Combine, Combine]]] = {
    "semantic": ((_by_meaning, _by_meaning), (_by_meaning, _by_meaning)),
    "C-A": ((np.add, _by_meaning), (np.add, _by_meaning)),
    "C-M": ((np.multiply, _by_meaning), (np.multiply, _by_meaning)),
    "S-S": (BY_MEANING, BY_MOOD),
    "S-E": (BY_MOOD, BY_MEANING),
}
"""What the first stage takes memories by, and what these are ranked by in the end; each with what its ties fall by.

By the paper's names: the released code calls S-S "S-C", and S-E "S-S". Neither says how ties fall. Moods of whole
numbers tie often, and wholly where no emotion speaks from the question.
"""


def normalized(distances: Floats, normalize: Normalize) -> Floats:
    """Put the distances of a whole bank, shape (n,), on a scale from 0 (nearest) to 1 (farthest).

    `minmax` keeps their proportions; `rank` gives the place among the distinct distances, so that equal ones share it.
    Where all are equal, all become 0. `none` leaves them as they are.
    """
    if normalize == "minmax":
        lowest, highest = float(distances.min()), float(distances.max())
        return (distances - lowest) / ((highest - lowest) or 1.0)
    if normalize == "rank":
        distinct, places = np.unique(distances, return_inverse=True)
        return places / max(len(distinct) - 1, 1)
    return distances


def placed_by_meaning(mood: Floats, meaning: Floats, known: NDArray[np.bool_]) -> Floats:
    """Fill in emotional distances that are not known, so that a memory's place by meaning is its place by mood.

    Args:
        mood: emotional distances of the whole bank, shape (n,); unknown ones may be any number.
        meaning: semantic distances of the whole bank, shape (n,).
        known: shape (n,), at least one True.

    Returns:
        `mood`, where it is not known the quantile of the known ones at (b + t / 2) / (n - 1): of the n - 1 other
        memories b are nearer in meaning and t exactly as near. Between two known ones it is interpolated linearly.
    """
    ordered, asked = np.sort(meaning), meaning[~known]
    nearer, not_farther = np.searchsorted(ordered, asked, "left"), np.searchsorted(ordered, asked, "right")
    places = (nearer + not_farther - 1) / 2 / max(len(meaning) - 1, 1)
    filled = mood.copy()
    filled[~known] = np.quantile(mood[known], places)
    return filled
