"""The pictures of a report: means with their intervals, a radar of attributes, and how far P(yes) keeps its word."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from math import pi
from typing import Any

from dramaturg.evaluation.plots import calibration_figure, new_figure, svg
from dramaturg.evaluation.reports.tables import Row
from dramaturg.evaluation.statistics import Share

COLOURS = ("#1f5fa8", "#b3322c", "#2c7d3f", "#8a5a00", "#6a3d9a", "#0b7285", "#a61e4d", "#495057")
GREY = "#777777"
"""Of floor and ceiling."""
FEWEST_AXES = 3
"""Below so many, a radar has no area."""


def interval_picture(title: str, rows: Sequence[Row], low: float, high: float) -> str:
    """The mean of each contestant with its interval, one above the other.

    Args:
        title: what is measured.
        rows: the contestants.
        low: where the scale begins, so that all of it is seen.
        high: and where it ends.

    Raises:
        RuntimeError: matplotlib is not installed.
    """
    figure = new_figure()
    figure.set_size_inches(6.4, 0.9 + 0.35 * len(rows))
    axes = figure.add_subplot()
    axes.plot([low, high], [0, 0], alpha=0)
    for place, row in enumerate(reversed(rows)):
        if row.interval:
            ends = [row.interval.mean if end is None else end for end in (row.interval.low, row.interval.high)]
            colour = GREY if row.bound else COLOURS[0]
            axes.plot(ends, [place, place], color=colour, linewidth=2)
            axes.plot(row.interval.mean, place, "o", color=colour)
    axes.set_yticks(range(len(rows)), [label(row) for row in reversed(rows)], fontsize=8)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(axis="x", alpha=0.3)
    return image(figure)


def label(row: Row) -> str:
    """Which number it is."""
    return f"{row.named} (out of scope)" if row.scope == "out" else row.named


def radar(title: str, means: Mapping[str, Mapping[str, float]], low: float, high: float) -> str:
    """Means of each contestant by attribute; empty where there are fewer than three attributes.

    Args:
        title: what is measured.
        means: by contestant and attribute.
        low: what the middle stands for.
        high: and the rim.

    Raises:
        RuntimeError: matplotlib is not installed.
    """
    attributes = sorted({one for of in means.values() for one in of})
    if len(attributes) < FEWEST_AXES:
        return ""
    figure = new_figure()
    figure.set_size_inches(6.0, 4.8)
    axes = figure.add_subplot(projection="polar")
    angles = [2 * pi * at / len(attributes) for at in range(len(attributes))]
    for (name, of), colour in zip(means.items(), COLOURS * 3, strict=False):
        values = [of.get(one, float("nan")) for one in attributes]
        axes.plot([*angles, angles[0]], [*values, values[0]], color=colour, label=name, linewidth=1.5)
    axes.set_ylim(low, high)
    axes.set_xticks(angles, [one.replace("_", " ") for one in attributes], fontsize=8)
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.05, 1.0))
    return image(figure)


def calibration_image(bins: Sequence[tuple[float, Share]]) -> str:
    """How often a judge's P(yes) was right, bin by bin.

    Raises:
        RuntimeError: matplotlib is not installed.
    """
    return image(calibration_figure(bins, "P(yes)", "share that is yes"))


def image(figure: Any) -> str:
    """A figure as an image that lies in the page: as elements, several would share their ids."""
    return f'<img alt="" src="data:image/svg+xml;base64,{b64encode(svg(figure)).decode()}">'
