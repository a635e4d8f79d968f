"""Values by role and values in pairs, checked: what intervals and tests over roles begin with."""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

Values = Mapping[str, Sequence[float]]
"""The values of each role; yes and no as 1 and 0."""
Array = NDArray[np.float64]


def clusters(values: Values, pooled: bool) -> tuple[Array, Array]:
    """What each role adds to a sum, and how much it weighs."""
    if not values or not all(len(one) > 0 for one in values.values()):
        raise ValueError("Give one role or more, each with one value or more: leave out and count what is missing.")
    _refuse_gaps(values)
    sizes = np.array([len(one) if pooled else 1 for one in values.values()], dtype=np.float64)
    return np.array([fmean(one) for one in values.values()]) * sizes, sizes


def differences(first: Values, second: Values) -> dict[str, list[float]]:
    """The first minus the second, role by role and question by question."""
    if first.keys() != second.keys():
        raise ValueError(f"Compare methods on the same roles: {sorted(first.keys() ^ second.keys())} have one only.")
    if odd := [role for role in first if len(first[role]) != len(second[role])]:
        raise ValueError(f"Compare methods on the same questions: {odd[0]!r} has more of one than of the other.")
    _refuse_gaps(first)
    _refuse_gaps(second)
    return {role: [a - b for a, b in zip(first[role], second[role], strict=True)] for role in first}


def _refuse_gaps(values: Values) -> None:
    if not all(one is not None and isfinite(one) for of in values.values() for one in of):
        raise ValueError("A value is no number: leave it out, and count it as missing.")


def pairs(first: Sequence[float], second: Sequence[float]) -> tuple[Array, Array]:
    """Two methods' values in the same order."""
    one, other = (np.asarray(side, dtype=np.float64) for side in (first, second))
    if one.shape != other.shape or not one.size:
        raise ValueError(f"Give as many values of both, one at least: {one.size} and {other.size} do not pair up.")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise ValueError("A value is no number: leave the pair out, and count it as missing.")
    return one, other
