"""The salience function σ: which memories matter now (ID-RAG, Algorithm 1, step 2).

The paper takes it from generative agents (Park et al. 2023): relevance, recency and importance, each brought to 0 … 1
over the memories.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
DECAY = 0.995  # of recency, an hour


def rank_episodes(
    relevance: ArrayLike,
    age: ArrayLike,
    importance: ArrayLike,
    *,
    k: int = 25,
    decay: float = DECAY,
    weights: Sequence[float] = (1.0, 1.0, 1.0),
) -> list[tuple[int, float]]:
    """Return the k most salient memories as (index, salience), the most salient first; ties in the order of memories.

    Salience is the weighted mean of three terms that are scaled to 0 … 1 over all memories (0 where all are the same):
    relevance, recency `decay ** age`, and importance. A term that a memory lacks is left out of its mean.

    Args:
        relevance: cosines with what is perceived, shape (n,).
        age: hours, or any other steps, not negative, shape (n,).
        importance: shape (n,), in any unit; NaN where nobody has said it.
        k: how many are wanted, at least 1.
        decay: of recency, a unit of age; above 0 and at most 1.
        weights: of relevance, recency and importance; not negative, with a sum above 0.

    Raises:
        ValueError: shapes differ, a number is out of its range, or one that must be there is not finite.
    """
    terms = [np.asarray(one, dtype=np.float64) for one in (relevance, age, importance)]
    check(terms, k, decay, weights)
    scaled = np.stack([scaled_to_one(one) for one in (terms[0], decay ** terms[1], terms[2])])
    known = ~np.isnan(scaled) * np.asarray(weights, dtype=np.float64)[:, None]
    mass = known.sum(axis=0)
    salience = np.divide((known * np.nan_to_num(scaled)).sum(axis=0), mass, out=np.zeros_like(mass), where=mass > 0)
    order = np.argsort(-salience, kind="stable")[:k]
    return [(int(at), float(salience[at])) for at in order]


def scaled_to_one(values: Floats) -> Floats:
    """Scale to 0 … 1 over all that are known; 0 where these are all the same."""
    known = values[~np.isnan(values)]
    if not known.size:
        return values
    low, high = known.min(), known.max()
    scaled: Floats = (values - low) / (high - low) if high > low else values * 0.0
    return scaled


def check(terms: Sequence[Floats], k: int, decay: float, weights: Sequence[float]) -> None:
    """Refuse what cannot be ranked."""
    relevance, age, importance = terms
    if relevance.ndim != 1 or not relevance.shape == age.shape == importance.shape:
        raise ValueError(f"All terms must have one shape (n,), not {[one.shape for one in terms]}.")
    if not np.isfinite(relevance).all() or not np.isfinite(age).all() or (age < 0).any():
        raise ValueError("Relevance and age must be finite, and age not negative.")
    if np.isinf(importance).any():
        raise ValueError("Importance must be finite, or NaN where it is not known.")
    if k < 1 or not 0 < decay <= 1:
        raise ValueError(f"k must be 1 or more and decay above 0 and at most 1, not {k} and {decay}.")
    if len(weights) != 3 or min(weights) < 0 or not 0 < sum(weights) < np.inf:
        raise ValueError(f"There are three weights, none negative and not all 0, not {tuple(weights)}.")
