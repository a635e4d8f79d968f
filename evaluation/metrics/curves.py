"""Means over runs and agents, step by step, with a band of confidence."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 10_000


COVERED = 0.95


class Reading(NamedTuple):
    """One observation: a value of a run, an agent (empty: of all together) and a step; None where all is missing."""

    condition: str
    run: str
    agent: str
    step: int
    value: float | None
    missing: int = 0
    """How many of the answers that it is made of are missing."""


class Point(NamedTuple):
    """The mean of `n` observations of a step, and its band; no band where there is one observation only."""

    step: int
    mean: float | None
    low: float | None
    high: float | None
    n: int
    missing: int


def curves(readings: Iterable[Reading]) -> dict[str, list[Point]]:
    """A curve a condition, both in their order."""
    known = list(readings)
    steps = {(one.condition, one.step) for one in known}
    return {
        condition: [
            point(step, [one for one in known if (one.condition, one.step) == (condition, step)])
            for step in sorted(step for other, step in steps if other == condition)
        ]
        for condition in sorted({one.condition for one in known})
    }


def point(step: int, readings: Sequence[Reading]) -> Point:
    """What the observations of a step come to."""
    values = [one.value for one in readings if one.value is not None]
    mean = float(np.mean(values)) if values else None
    low, high = band(values) if len(values) > 1 else (None, None)
    return Point(step, mean, low, high, len(values), sum(one.missing for one in readings))


def band(values: Sequence[float]) -> tuple[float, float]:
    """Where 95 % of the means of resampled observations lie: the percentile bootstrap, the same every time.

    Raises:
        ValueError: there is nothing to resample.
    """
    if not values:
        raise ValueError("There is no band about nothing: give a value or more.")
    dice, sample = np.random.default_rng(0), np.asarray(values, dtype=np.float64)
    means = sample[dice.integers(len(sample), size=(RESAMPLES, len(sample)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - COVERED) / 2, (1 + COVERED) / 2])
    return float(low), float(high)
