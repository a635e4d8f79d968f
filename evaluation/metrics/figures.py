"""Figures of matplotlib: calibration, means with their intervals, and a radar; as SVG each is the same every time."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from math import nan, pi
from typing import Any

from dramaturg.evaluation.metrics.intervals import Interval, Share

COLOURS = ("#1f5fa8", "#b3322c", "#2c7d3f", "#8a5a00", "#6a3d9a", "#0b7285", "#a61e4d", "#495057")
GREY = "#777777"
FEWEST_AXES = 3
"""A radar of fewer axes has no area."""


def new_figure() -> Any:
    """Return an empty figure that belongs to no window; RuntimeError names the extra where matplotlib is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RuntimeError("A picture is drawn by matplotlib: pip install 'dramaturg[plot]'") from error
    figure = Figure(dpi=120, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def svg(figure: Any) -> bytes:
    """A figure as an SVG file that is the same each time."""
    import matplotlib as mpl

    file = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "dramaturg", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def image(figure: Any) -> str:
    """A figure as an `<img>` that holds its own data: as inline elements, several figures would share their ids."""
    return f'<img alt="" src="data:image/svg+xml;base64,{b64encode(svg(figure)).decode()}">'


def calibration_figure(bins: Sequence[tuple[float, Share]], said: str, true: str) -> Any:
    """Return the share that came true over the mean probability of each bin, with its interval, beside the diagonal.

    Args:
        bins: mean probability and share.
        said: what the probability is of.
        true: what came true.
    """
    figure = new_figure()
    figure.set_size_inches(4.6, 4.2)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--", label="calibrated")
    means, shares = [mean for mean, _ in bins], [share.share for _, share in bins]
    below = [max(0.0, share.share - share.low) for _, share in bins]
    above = [max(0.0, share.high - share.share) for _, share in bins]
    axes.errorbar(means, shares, yerr=[below, above], fmt="o", color="#1f5fa8", capsize=3, label="bins, 95 %")
    for mean, share in bins:
        axes.annotate(f"{share.hits} of {share.n}", (mean, share.share), (6, 6), textcoords="offset points", fontsize=7)
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.02), xlabel=said, ylabel=true)
    axes.legend(fontsize=8)
    return figure


def interval_figure(title: str, rows: Sequence[tuple[str, Interval | None, bool]], low: float, high: float) -> Any:
    """Return means with their intervals, one above the other.

    Args:
        title: what is measured.
        rows: a label, its interval, and whether it is drawn in grey.
        low: where the scale begins, so that all of it is seen.
        high: and where it ends.
    """
    figure = new_figure()
    figure.set_size_inches(6.4, 0.9 + 0.35 * len(rows))
    axes = figure.add_subplot()
    axes.plot([low, high], [0, 0], alpha=0)
    for place, (_, interval, grey) in enumerate(reversed(rows)):
        if interval:
            ends = [interval.mean if end is None else end for end in (interval.low, interval.high)]
            colour = GREY if grey else COLOURS[0]
            axes.plot(ends, [place, place], color=colour, linewidth=2)
            axes.plot(interval.mean, place, "o", color=colour)
    axes.set_yticks(range(len(rows)), [label for label, *_ in reversed(rows)], fontsize=8)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(axis="x", alpha=0.3)
    return figure


def radar(title: str, means: Mapping[str, Mapping[str, float]], low: float, high: float) -> Any | None:
    """Return means by name and attribute as a radar; None where there are fewer than three attributes.

    Args:
        title: what is measured.
        means: by name and attribute.
        low: what the middle stands for.
        high: and the rim.
    """
    attributes = sorted({one for of in means.values() for one in of})
    if len(attributes) < FEWEST_AXES:
        return None
    figure = new_figure()
    figure.set_size_inches(6.0, 4.8)
    axes = figure.add_subplot(projection="polar")
    angles = [2 * pi * at / len(attributes) for at in range(len(attributes))]
    for (name, of), colour in zip(means.items(), COLOURS * 3, strict=False):
        values = [of.get(one, nan) for one in attributes]
        axes.plot([*angles, angles[0]], [*values, values[0]], color=colour, label=name, linewidth=1.5)
    axes.set_ylim(low, high)
    axes.set_xticks(angles, [one.replace("_", " ") for one in attributes], fontsize=8)
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.05, 1.0))
    return figure
