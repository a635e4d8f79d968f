"""Measures over steps: their means over runs, each run once however many agents it has, and a picture of them."""

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from math import ceil, nan
from typing import Any, NamedTuple

import numpy as np

from dramaturg.evaluation.metrics.figures import new_figure
from dramaturg.evaluation.metrics.intervals import COSINE, POSITIVE, Ends, cluster_interval

COLOURS = {"id-rag": "#1f5fa8", "full": "#2c7d3f", "baseline": "#b3322c"}
TITLES = {
    "recall": "Identity recall: cosine with the right answers",
    "recall_with_retrieval": "Identity recall, looked up for each question",
    "alignment": "Action alignment, from 1 to 10",
    "repetition": "Talks: share of 4-grams that were said in them before",
    "calls": "Calls of the model",
    "tokens": "Tokens",
    "lines": "Lines of talk",
    "seconds": "Seconds (wall clock)",
}
SCALES: Mapping[str, Ends] = {
    "recall": COSINE,
    "recall_with_retrieval": COSINE,
    "alignment": (1.0, 10.0),
    "repetition": (0.0, 1.0),
}
"""Where measures lie; what is not named here is counted or timed."""
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
    pair: str = ""
    """What a run shares with one of another condition: the scenario and the seed, and where it left another run."""


class Point(NamedTuple):
    """The mean of `n` runs at a step, and where it lies; nothing says so where there is one run, or no scipy."""

    step: int
    mean: float | None
    low: float | None
    high: float | None
    n: int
    missing: int


def curves(readings: Iterable[Reading], scale: Ends = POSITIVE) -> dict[str, list[Point]]:
    """Return a curve for each condition, with a point for each step; both are sorted.

    Args:
        readings: what was observed.
        scale: between which values it lies.
    """
    groups: dict[str, dict[int, list[Reading]]] = {}
    for one in readings:
        groups.setdefault(one.condition, {}).setdefault(one.step, []).append(one)
    return {
        condition: [_point(step, of, scale) for step, of in sorted(steps.items())]
        for condition, steps in sorted(groups.items())
    }


def _point(step: int, readings: Sequence[Reading], scale: Ends) -> Point:
    values: dict[str, list[float]] = {}
    for one in readings:
        if one.value is not None:
            values.setdefault(one.run, []).append(min(max(one.value, scale[0]), scale[1]))  # a cosine may round past 1
    missing = sum(one.missing for one in readings)
    if not values:
        return Point(step, None, None, None, 0, missing)
    try:
        found = cluster_interval(values, scale=scale, unit="run")
    except ModuleNotFoundError:  # scipy comes with the extra `evaluate`
        return Point(step, float(np.mean([np.mean(of) for of in values.values()])), None, None, len(values), missing)
    return Point(step, found.mean, found.low, found.high, found.n, missing)


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
            axes.plot(steps, mean, marker="o", label=f"{condition} ({runs_of(points)})", **style)
            axes.fill_between(steps, low, high, alpha=0.15, linewidth=0, **style)
        axes.set_title(TITLES[name], fontsize=10)
        axes.set_xlabel("step")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(fontsize=8, framealpha=0.8)


def runs_of(points: Sequence[Point]) -> str:
    """Over how many runs the means of a curve are."""
    least, most = (of((one.n for one in points), default=0) for of in (min, max))
    return f"n = {least}" if least == most else f"n = {least} to {most}"
