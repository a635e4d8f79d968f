"""Pictures: measures over steps, a panel a measure and a line a condition with its band; and how probabilities fare."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from math import ceil
from typing import Any

from dramaturg.evaluation.metrics.curves import Point
from dramaturg.evaluation.metrics.intervals import Share

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


def picture(measures: Mapping[str, Mapping[str, Sequence[Point]]], form: str) -> bytes:
    """Return the curves of each measure, by conditions, as "png", "svg" or "pdf".

    Raises:
        RuntimeError: matplotlib is not installed.
    """
    figure = new_figure()
    draw(figure, measures)
    file = BytesIO()
    figure.savefig(file, format=form)
    return file.getvalue()


def new_figure() -> Any:
    """An empty figure that belongs to no window.

    Raises:
        RuntimeError: matplotlib is not installed.
    """
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


def calibration_figure(bins: Sequence[tuple[float, Share]], said: str, true: str) -> Any:
    """Return the share that came true over the mean probability of each bin, with its interval, beside the diagonal.

    Args:
        bins: mean probability and share.
        said: what the probability is of.
        true: what came true.

    Raises:
        RuntimeError: matplotlib is not installed.
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


def draw(figure: Any, measures: Mapping[str, Mapping[str, Sequence[Point]]]) -> None:
    """Draw all panels."""
    across, down = min(ACROSS, len(measures)), ceil(len(measures) / ACROSS)
    figure.set_size_inches(6.4 * across, 3.6 * down)
    for place, (name, curves) in enumerate(measures.items(), start=1):
        draw_panel(figure.add_subplot(down, across, place), name, curves)


def draw_panel(axes: Any, name: str, curves: Mapping[str, Sequence[Point]]) -> None:
    """Draw the curves of a measure; a step without a score is a gap, one observation has no band."""
    for condition, points in curves.items():
        style = {"color": COLOURS[condition]}
        steps = [one.step for one in points]
        axes.plot(steps, numbers([one.mean for one in points]), marker="o", label=condition, **style)
        low, high = (numbers([getattr(one, end) for one in points]) for end in ("low", "high"))
        axes.fill_between(steps, low, high, alpha=0.15, linewidth=0, **style)
    axes.set_title(TITLES[name], fontsize=10)
    axes.set_xlabel("step")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(fontsize=8, framealpha=0.8)


def numbers(values: Sequence[float | None]) -> list[float]:
    """Values as matplotlib takes them: what is missing is no number."""
    return [float("nan") if one is None else one for one in values]
