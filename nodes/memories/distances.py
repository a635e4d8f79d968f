"""Distances by meaning and by mood (Emotional RAG II.B.3, Eqs. 6 and 7), the same wherever a memory stands."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

SemanticDistance = Literal["euclidean", "cosine"]


Rows = NDArray[np.intp]


_BLOCK = 256  # rows that are measured at a time: their float64 copies stay in the processor's cache


Floats = NDArray[np.float64]


def _cosine(rows: Floats, query: Floats) -> Floats:
    products, squares = (rows * query).sum(axis=1), (rows * rows).sum(axis=1)
    return _from_products(products, squares, (query * query).sum())


def _euclidean(rows: Floats, query: Floats) -> Floats:
    rows -= query
    rows *= rows
    lengths: Floats = np.sqrt(rows.sum(axis=1))
    return lengths


_FORMULAS: dict[SemanticDistance, Callable[[Floats, Floats], Floats]] = {"euclidean": _euclidean, "cosine": _cosine}


Numbers = NDArray[np.floating[Any]]


_SHORTEST, _LONGEST = 1e-15, 1e15
"""Lengths between which squares and products keep their accuracy, also in single precision."""


def semantic_distances(memories: Numbers, rows: Rows, query: Floats, distance: SemanticDistance) -> Floats:
    """Measure chosen rows of (n, d) in float64, row by row: equal rows have equal distances.

    A product of matrices would not do: it may round a row differently by where it stands.

    Returns:
        ‖x - q‖ or 1 - cos(x, q), shape (m,).
    """
    found, formula = np.empty(len(rows)), _FORMULAS[distance]
    for start in range(0, len(rows), _BLOCK):
        found[start : start + _BLOCK] = formula(memories[rows[start : start + _BLOCK]].astype(np.float64), query)
    return found


def _from_products(products: Floats, squares: Floats, square: float) -> Floats:
    """Return 1 - x·q / (‖x‖‖q‖) out of x·q, ‖x‖², both of shape (m,), and ‖q‖².

    The quotient is squared before the root is taken: whole numbers then give equal distances wherever the cosines are
    equal, and exactly 0 where vectors are parallel.
    """
    cosines = np.copysign(np.sqrt(products * products / (squares * square)), products)
    distances: Floats = np.clip(1.0 - cosines, 0.0, 2.0)
    return distances


def emotional_distances(columns: Floats, squares: Floats, query_emotion: Floats) -> Floats:
    """Measure all memories: 1 - cos(x, q), shape (n,).

    Args:
        columns: emotion by emotion, shape (8, n).
        squares: `columnwise_products(columns, columns)`, shape (n,).
        query_emotion: shape (8,).
    """
    square = columnwise_products(query_emotion[:, None], query_emotion[:, None])
    return _from_products(columnwise_products(columns, query_emotion[:, None]), squares, float(square[0]))


def columnwise_products(columns: Floats, others: Floats) -> Floats:
    """Return x·y of the columns of (8, n) and (8, n) or (8, 1), shape (n,), added up in the same order everywhere."""
    products = np.zeros(columns.shape[1])
    for column, other in zip(columns, others, strict=True):
        products += column * other
    return products


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
    wrong = ~((squares >= _SHORTEST**2) & (squares <= _LONGEST**2))
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
    if not _SHORTEST**2 <= square <= _LONGEST**2:
        raise ValueError(f"`{name}` {_fault(vector)}.")
    return vector


def _fault(vector: Numbers) -> str:
    """Say why a vector cannot be compared."""
    if not np.isfinite(vector).all():
        return "holds NaN or an infinite number"
    if not vector.any():
        return "is a zero vector, which is like nothing and unlike nothing"
    return f"has a length outside {_SHORTEST:g} to {_LONGEST:g}, where rounding spoils distances"


def flags(values: ArrayLike | None, name: str, count: int) -> NDArray[np.bool_]:
    """Return bools of shape (count,), all True if None is given.

    Raises:
        ValueError: not bools, or another shape.
    """
    array = np.ones(count, dtype=np.bool_) if values is None else np.asarray(values)
    if array.dtype != np.bool_ or array.shape != (count,):
        raise ValueError(f"`{name}` must hold bools and have the shape ({count},).")
    return array


def check_count(number: object, name: str) -> None:
    """Refuse a number of things that is not whole or below 1.

    Raises:
        ValueError: it is.
    """
    if not isinstance(number, int | np.integer) or number < 1:
        raise ValueError(f"`{name}` must be a whole number and at least 1, not {number!r}.")


def check_choice(value: object, name: str, choices: Sequence[str]) -> None:
    """Refuse what is not among the choices.

    Raises:
        ValueError: it is not; the message has the choices.
    """
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(choices)}, not {value!r}.")
