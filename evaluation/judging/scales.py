"""The metrics of replies by name, and between which values each lies."""

from typing import NamedTuple

from dramaturg.evaluation.judging.judges import BOUNDS, JUDGES
from dramaturg.stores.errors import near_or_all

SIMILARITY = "similarity"
RECALL = "recall"
"""Whether a fact is said that was told some turns before."""
UNJUDGED = (SIMILARITY, RECALL)
NOBODY = "no judge"
"""Who measures recall: characters are compared."""
METRICS = (*UNJUDGED, *JUDGES)
OF_TALKS = (RECALL, *(name for name, judge in JUDGES.items() if judge.of_talks))
"""Metrics of talks of several turns."""


class MetricScale(NamedTuple):
    """Between which values a metric lies, and which are better."""

    low: float
    high: float
    better: str


def scale_of(metric: str) -> MetricScale:
    """Return the scale of a metric; a ValueError lists the metrics there are."""
    if metric == SIMILARITY:
        return MetricScale(-1.0, 1.0, "higher")
    if metric == RECALL:
        return MetricScale(0.0, 1.0, "higher")
    if metric in JUDGES:
        low, high = BOUNDS[JUDGES[metric].scale]
        return MetricScale(low, high, JUDGES[metric].better)
    raise ValueError(f"There is no metric {metric!r}{near_or_all(metric, METRICS)}")
