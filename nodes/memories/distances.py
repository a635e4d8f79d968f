"""Distances by meaning and by mood (Emotional RAG II.B.3, Eqs. 6 and 7), the same wherever a memory stands."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

BLOCK = 256  # rows that are measured at a time: their float64 copies stay in the processor's cache
SHORTEST, LONGEST = 1e-15, 1e15  # between these lengths, squares and products keep their accuracy in single precision

SemanticDistance = Literal["euclidean", "cosine"]
Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Numbers = NDArray[np.floating[Any]]


def semantic_distances(memories: Numbers, rows: Rows, query: Floats, distance: SemanticDistance) -> Floats:
    """Measure chosen rows of (n, d) in float64, row by row: equal rows have equal distances.

    A product of matrices would not do: it may round a row differently by where it stands.

    Returns:
        ‖x - q‖ or 1 - cos(x, q), shape (m,).
    """
    found, square = np.empty(len(rows)), float((query * query).sum())
    for start in range(0, len(rows), BLOCK):
        block = memories[rows[start : start + BLOCK]].astype(np.float64)
        if distance == "cosine":
            measured = cosine_distances((block * query).sum(axis=1), (block * block).sum(axis=1), square)
        else:
            block -= query
            block *= block
            measured = np.sqrt(block.sum(axis=1))
        found[start : start + BLOCK] = measured
    return found


def emotional_distances(columns: Floats, squares: Floats, query_emotion: Floats) -> Floats:
    """Measure all memories: 1 - cos(x, q), shape (n,).

    Args:
        columns: emotion by emotion, shape (8, n).
        squares: `columnwise_products(columns, columns)`, shape (n,).
        query_emotion: shape (8,).
    """
    query = query_emotion[:, None]
    return cosine_distances(columnwise_products(columns, query), squares, float(columnwise_products(query, query)[0]))


def columnwise_products(columns: Floats, others: Floats) -> Floats:
    """Return x·y of the columns of (8, n) and (8, n) or (8, 1), shape (n,), added up in the same order everywhere."""
    products = np.zeros(columns.shape[1])
    for column, other in zip(columns, others, strict=True):
        products += column * other
    return products


def cosine_distances(products: Floats, squares: Floats, square: float) -> Floats:
    """Return 1 - x·q / (‖x‖‖q‖) out of x·q, ‖x‖², both of shape (m,), and ‖q‖².

    The quotient is squared before the root is taken: whole numbers then give equal distances wherever the cosines are
    equal, and exactly 0 where vectors are parallel.
    """
    cosines = np.copysign(np.sqrt(products * products / (squares * square)), products)
    distances: Floats = np.clip(1.0 - cosines, 0.0, 2.0)
    return distances


def semantic_bounds(
    memories: Numbers, squares: Floats, query: Floats, distance: SemanticDistance
) -> tuple[Floats, Floats]:
    """Return a lower and an upper bound, shape (n,) each, of the `semantic_distances` of all rows, in one quick pass.

    A sum of d products has an error of at most d·u / (1 - d·u) times the product of both lengths, in whatever order it
    is added up; u is the unit roundoff of the rows' type (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).

    Args:
        memories: shape (n, d).
        squares: their `squared_lengths`, shape (n,).
        query: shape (d,).
        distance: which distance.
    """
    length = float(np.sqrt(query @ query))
    # vecdot and not `@`: one thread, and no slower
    products: Floats = np.vecdot(memories, (query / length).astype(memories.dtype)).astype(np.float64)
    terms = len(query) + 8  # the products, and the roundings of the scaled query, of roots and of quotients
    double = 8 * terms * float(np.finfo(np.float64).eps)
    share = terms * float(np.finfo(memories.dtype).eps) / 2
    share = share / (1 - share) + double if share < 0.5 else np.inf
    if distance == "cosine":
        middle = 1.0 - products / np.sqrt(squares)
        return np.maximum(middle - 3 * share, 0.0), middle + 3 * share
    middle = squares + length**2 - 2 * length * products
    slack = share * (2 * squares + 3 * length * np.sqrt(squares)) + double * length**2
    return np.sqrt(np.maximum(middle - slack, 0.0)), np.sqrt(np.maximum(middle + slack, 0.0))


def number_array(values: ArrayLike, name: str, shape: Sequence[int | None]) -> Numbers:
    """Return an array of this shape (None: any size), row by row in memory: float32 as it is, all else as float64.

    Raises:
        ValueError: not real numbers, or another shape.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"`{name}` must hold real numbers, not {array.dtype}.")
    if array.ndim != len(shape) or any(want not in (None, have) for have, want in zip(array.shape, shape, strict=True)):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"`{name}` must have the shape ({sizes}), not {array.shape}.")
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return np.ascontiguousarray(array, dtype=np.float32 if single else np.float64)


def squared_lengths(rows: Numbers, name: str, used: NDArray[np.bool_] | None = None) -> Floats:
    """Return ‖x‖² of each row of (n, d), shape (n,), with the accuracy of the rows' type: good for bounds only.

    Raises:
        ValueError: a row (of those `used`) that is zero, not finite, or too short or long to be compared.
    """
    with np.errstate(all="ignore"):  # the next line sees it
        squares: Floats = np.vecdot(rows, rows).astype(np.float64)
    wrong = ~((squares >= SHORTEST**2) & (squares <= LONGEST**2))
    odd = np.flatnonzero(wrong if used is None else wrong & used)
    if odd.size:
        raise ValueError(f"Row {odd[0]} of `{name}` {_fault(rows[odd[0]])}.")
    return squares


def one_vector(values: ArrayLike, name: str, size: int) -> Floats:
    """Return a vector of shape (size,) as float64.

    Raises:
        ValueError: the same as for `number_array` and `squared_lengths`.
    """
    vector = number_array(values, name, (size,)).astype(np.float64)
    with np.errstate(all="ignore"):
        square = float(vector @ vector)
    if not SHORTEST**2 <= square <= LONGEST**2:
        raise ValueError(f"`{name}` {_fault(vector)}.")
    return vector


def _fault(vector: Numbers) -> str:
    if not np.isfinite(vector).all():
        return "holds NaN or an infinite number"
    if not vector.any():
        return "is a zero vector, which is like nothing and unlike nothing"
    return f"has a length outside {SHORTEST:g} to {LONGEST:g}, where rounding spoils distances"
