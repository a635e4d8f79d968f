"""Results that are near the question but not near each other."""

import numpy as np

from dramaturg.stores.index.vectors import Vectors


def marginal_relevance(relevance: Vectors, rows: Vectors, k: int, trade: float) -> list[int]:
    """Choose up to k rows by maximal marginal relevance (Carbonell and Goldstein 1998, section 2).

    Args:
        relevance: similarity of each row to the question, of shape (n,).
        rows: unit vectors, of shape (n, d).
        k: how many.
        trade: their λ, from 0 (as different as possible) to 1 (as near as possible).

    Returns:
        The positions of the rows in the order they were chosen; the nearest one comes first, whatever λ is.
    """
    chosen: list[int] = []
    redundancy, value = np.full(len(rows), -1.0), relevance.astype(np.float64)
    while len(chosen) < min(k, len(rows)):
        best = int(np.argmax(value))
        chosen.append(best)
        redundancy = np.maximum(redundancy, rows @ rows[best])
        value = trade * relevance - (1 - trade) * redundancy
        value[chosen] = -np.inf
    return chosen
