"""What vectors must be like before distances between them mean anything."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.floating[Any]]
Floats = NDArray[np.float64]

_SHORTEST, _LONGEST = 1e-15, 1e15
"""Lengths between which squares and products keep their accuracy, also in single precision."""


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
