"""Calibration of probabilities: bins, and the Brier score."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from dramaturg.evaluation.metrics.intervals import Share, wilson

MOST_BINS, FEWEST = 5, 5
"""The most bins, and the fewest values in a bin: with fewer values there are fewer bins."""


class Brier(NamedTuple):
    """The mean squared error of probabilities: 0 is best."""

    score: float
    reference: float
    """That of always saying the share that came true; a score that is no lower shows no skill."""
    share: float
    n: int


def equal_bins(said: Sequence[float], true: Sequence[bool]) -> list[tuple[float, Share]]:
    """Return bins of (nearly) equal number: the mean probability of each, and the share that came true with its n.

    Args:
        said: a probability each.
        true: whether it came true, in the same order.

    Raises:
        ValueError: they do not pair up, there are none, or one is no probability.
    """
    said, true = _pairs(said, true)
    order = np.argsort(said, kind="stable")  # equal ones stay as they came: sorted by what is true they would mislead
    number = max(1, min(MOST_BINS, len(said) // FEWEST))
    parts = [part.tolist() for part in np.array_split(order, number)]
    return [(fmean(said[at] for at in part), wilson(sum(true[at] for at in part), len(part))) for part in parts]


def brier(said: Sequence[float], true: Sequence[bool]) -> Brier:
    """Return the Brier score of probabilities, beside that of always saying the share that came true."""
    said, true = _pairs(said, true)
    share = fmean(true)
    score = fmean((one - came) ** 2 for one, came in zip(said, true, strict=True))
    return Brier(score, share * (1 - share), share, len(said))


def _pairs(said: Sequence[float], true: Sequence[bool]) -> tuple[list[float], list[bool]]:
    """Both, checked."""
    if len(said) != len(true) or not len(said):
        raise ValueError(f"Give as many probabilities as outcomes, one at least: not {len(said)} and {len(true)}.")
    if not all(one is not None and 0 <= one <= 1 for one in said):
        raise ValueError("Give probabilities from 0 to 1: one is not.")
    return list(said), [bool(one) for one in true]
