"""Vectors and emotions of a role's memories, checked once, and recall out of them (Emotional RAG II.B.3)."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dramaturg.nodes.memories.distances import (
    Floats,
    Rows,
    SemanticDistance,
    check_choice,
    check_count,
    columnwise_products,
    emotional_distances,
    flags,
    number_array,
    one_vector,
    semantic_bounds,
    semantic_distances,
    squared_lengths,
)

SIZE = 8  # emotions


class Ranked(NamedTuple):
    """A memory that was recalled: its distances by meaning and by mood, and the one it was finally ranked by."""

    index: int  # type: ignore[assignment]  # a tuple has a method of this name, which nobody needs here
    semantic: float
    emotional: float | None
    """None: the emotion of the memory, or of the query, is not known."""
    score: float


Normalize = Literal["none", "rank", "minmax"]


Strategy = Literal["semantic", "C-A", "C-M", "S-S", "S-E"]


class _Question(NamedTuple):
    """What is asked of the bank, after all checks."""

    query: Floats
    moods: Floats | None
    strategy: Strategy
    distance: SemanticDistance
    normalize: Normalize
    whole: bool
    """Whether the semantic distances of all memories are needed."""


class _Measured(NamedTuple):
    """Some rows: their semantic distances, and what both stages of the strategy rank by, all of shape (m,)."""

    rows: Rows
    semantic: Floats
    first: Floats
    final: Floats


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
        self._known = flags(known, "known", count)
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
    ) -> list[Ranked]:
        """Recall the memories nearest to a query, best first; without a `query_emotion` by "semantic" only.

        Semantic distances are computed for those rows that a quick pass over all cannot rule out; for all rows, which
        takes several times as long at 100,000, where `normalize` or a memory of unknown emotion needs them.

        Raises:
            ValueError: the same as for `rank_memories`.
        """
        check_count(k, "k")
        check_count(pool, "pool")
        asked = self._asked(query, query_emotion, strategy, semantic_distance, normalize)
        one_stage = strategy not in ("S-S", "S-E")
        k, pool = (k, k) if one_stage else (min(k, pool), pool)
        found = self._measured(asked, self._candidates(asked, pool))
        taken = np.lexsort((found.rows, found.first))[:pool]
        best = taken[np.lexsort((found.rows[taken], found.final[taken]))][:k]
        return self._ranked(
            asked, _Measured(found.rows[best], found.semantic[best], found.first[best], found.final[best])
        )

    def at(
        self,
        rows: Sequence[int],
        query: ArrayLike,
        query_emotion: ArrayLike | None,
        *,
        strategy: Strategy,
        semantic_distance: SemanticDistance = "euclidean",
        normalize: Normalize = "none",
    ) -> list[Ranked]:
        """Measure chosen memories, in the order given: those that are shown whatever their rank.

        Raises:
            ValueError: the same as for `rank`; a row that is not there.
        """
        absent = [row for row in rows if not 0 <= row < len(self)]
        if absent:
            raise ValueError(f"There is no row {absent[0]} in a bank of {len(self)} memories.")
        asked = self._asked(query, query_emotion, strategy, semantic_distance, normalize)
        return self._ranked(asked, self._measured(asked, np.array(rows, dtype=np.intp)))

    def _asked(
        self,
        query: ArrayLike,
        query_emotion: ArrayLike | None,
        strategy: Strategy,
        distance: SemanticDistance,
        normalize: Normalize,
    ) -> _Question:
        check_choice(strategy, "strategy", get_args(Strategy))
        check_choice(distance, "semantic_distance", get_args(SemanticDistance))
        check_choice(normalize, "normalize", get_args(Normalize))
        vector, moods = one_vector(query, "query", self._memories.shape[1]), None
        if query_emotion is not None:
            emotion = one_vector(query_emotion, "query_emotion", SIZE)
            moods = emotional_distances(self._emotions, self._emotion_squares, emotion)
        elif strategy != "semantic":
            raise ValueError(f"The strategy {strategy} compares moods: give a `query_emotion`, or choose `semantic`.")
        strategy = strategy if self._known.any() else "semantic"
        normalize = normalize if strategy in ("C-A", "C-M") else "none"
        whole = normalize != "none" or (strategy != "semantic" and not self._known.all())
        return _Question(vector, moods, strategy, distance, normalize, whole)

    def _candidates(self, asked: _Question, count: int) -> Rows:
        """Leave out rows that cannot be among the first `count`."""
        if asked.whole or count >= len(self):
            return np.arange(len(self))
        first, moods = STAGES[asked.strategy].first, self._moods(asked)
        if first is by_mood:
            lower = upper = moods
        else:
            bounds = semantic_bounds(self._memories, self._squares, asked.query, asked.distance)
            lower, upper = (first(bound, moods) for bound in bounds)
        return np.flatnonzero(lower <= np.partition(upper, count - 1)[count - 1])

    def _moods(self, asked: _Question) -> Floats:
        return np.zeros(len(self)) if asked.moods is None else asked.moods

    def _measured(self, asked: _Question, rows: Rows) -> _Measured:
        needed = np.arange(len(self)) if asked.whole else rows
        semantic = semantic_distances(self._memories, needed, asked.query, asked.distance)
        meaning, mood = semantic, self._moods(asked)[needed]
        if asked.whole:
            mood = placed_by_meaning(mood, semantic, self._known)
            meaning, mood = normalized(semantic, asked.normalize)[rows], normalized(mood, asked.normalize)[rows]
            semantic = semantic[rows]
        first, final = STAGES[asked.strategy]
        return _Measured(rows, semantic, first(meaning, mood), final(meaning, mood))

    def _ranked(self, asked: _Question, found: _Measured) -> list[Ranked]:
        known = self._known[found.rows] & (asked.moods is not None)
        moods = [
            mood if had else None for mood, had in zip(self._moods(asked)[found.rows].tolist(), known, strict=True)
        ]
        return list(map(Ranked, found.rows.tolist(), found.semantic.tolist(), moods, found.final.tolist()))


class Stages(NamedTuple):
    """What the first stage takes memories by, and what these are ranked by in the end."""

    first: Callable[[Floats, Floats], Floats]
    final: Callable[[Floats, Floats], Floats]


def by_meaning(meaning: Floats, mood: Floats) -> Floats:
    """Leave the mood aside."""
    return meaning


def by_mood(meaning: Floats, mood: Floats) -> Floats:
    """Leave the meaning aside."""
    return mood


STAGES: dict[Strategy, Stages] = {
    "semantic": Stages(by_meaning, by_meaning),
    "C-A": Stages(np.add, np.add),
    "C-M": Stages(np.multiply, np.multiply),
    "S-S": Stages(by_meaning, by_mood),
    "S-E": Stages(by_mood, by_meaning),
}
"""By the paper's names: the released code calls S-S "S-C", and S-E "S-S"."""


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
