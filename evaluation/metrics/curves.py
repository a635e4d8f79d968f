"""Measures over steps: their means over runs and agents with a band of confidence, and a picture of them."""

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from math import ceil, nan
from typing import Any, NamedTuple

import numpy as np

from dramaturg.evaluation.metrics.figures import new_figure
from dramaturg.evaluation.metrics.intervals import percentile_interval

COLOURS = {"id-rag": "#1f5fa8", "full": "#2c7d3f", "baseline": "#b3322c"}
TITLES = {
    "recall": "Identity recall: cosine with the right answers",
    "recall_with_retrieval": "Identity recall, looked up for each question",
    "alignment": "Action alignment, from 1 to 10",
    "calls": "Calls of the model",
    "tokens": "Tokens",
    "lines": "Lines of talk",
    "seconds": "Seconds (wall clock)",
}
ACROSS = 2
"""Panels beside each other."""


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
    """Return a curve for each condition, with a point for each step; both are sorted."""
    groups: dict[str, dict[int, list[Reading]]] = {}
    for one in readings:
        groups.setdefault(one.condition, {}).setdefault(one.step, []).append(one)
    return {
        condition: [_point(step, of) for step, of in sorted(steps.items())]
        for condition, steps in sorted(groups.items())
    }


def _point(step: int, readings: Sequence[Reading]) -> Point:
    values = [one.value for one in readings if one.value is not None]
    mean = float(np.mean(values)) if values else None
    low, high = percentile_interval(values) if len(values) > 1 else (None, None)
    return Point(step, mean, low, high, len(values), sum(one.missing for one in readings))


def picture(measures: Mapping[str, Mapping[str, Sequence[Point]]], form: str) -> bytes:
    """Return the curves of each measure, by conditions, as "png", "svg" or "pdf"."""
    figure = new_figure()
    draw(figure, measures)
    file = BytesIO()
    figure.savefig(file, format=form)
    return file.getvalue()


def draw(figure: Any, measures: Mapping[str, Mapping[str, Sequence[Point]]]) -> None:
    """Draw a panel for each measure: a step without a score is a gap, a single observation has no band."""
    across, down = min(ACROSS, len(measures)), ceil(len(measures) / ACROSS)
    figure.set_size_inches(6.4 * across, 3.6 * down)
    for place, (name, conditions) in enumerate(measures.items(), start=1):
        axes = figure.add_subplot(down, across, place)
        for condition, points in conditions.items():
            steps, style = [one.step for one in points], {"color": COLOURS[condition]}
            mean, low, high = (
                [nan if value is None else value for value in values]
                for values in zip(*((one.mean, one.low, one.high) for one in points), strict=True)
            )
            axes.plot(steps, mean, marker="o", label=condition, **style)
            axes.fill_between(steps, low, high, alpha=0.15, linewidth=0, **style)
        axes.set_title(TITLES[name], fontsize=10)
        axes.set_xlabel("step")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(fontsize=8, framealpha=0.8)
