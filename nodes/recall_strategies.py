"""How a distance by meaning and one by mood become one ranking (Emotional RAG II.B.3, Eq. 8)."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dramaturg.nodes.vector_checks import Floats

Strategy = Literal["semantic", "C-A", "C-M", "S-S", "S-E"]
Normalize = Literal["none", "rank", "minmax"]


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
