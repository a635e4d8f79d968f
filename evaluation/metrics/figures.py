"""Figures of matplotlib: calibration, means with their intervals, and their cost; as SVG the same every time."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from typing import Any

from dramaturg.evaluation.metrics.intervals import Interval, Share

COLOURS = ("#1f5fa8", "#b3322c", "#2c7d3f", "#8a5a00", "#6a3d9a", "#0b7285", "#a61e4d", "#495057")
GREY = "#777777"


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


def image(figure: Any, text: str, caption: str = "") -> str:
    """A figure as an `<img>` that holds its own data: as inline elements, several figures would share their ids.

    Args:
        figure: what is drawn.
        text: what it shows, for who does not see it.
        caption: what stands below it.
    """
    data = b64encode(svg(figure)).decode()
    drawn = f'<img alt="{escape(text, quote=True)}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>" if caption else drawn


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
    for place, (_, interval, grey) in enumerate(reversed(rows)):
        if interval:
            ends = [interval.mean if end is None else end for end in (interval.low, interval.high)]
            colour = GREY if grey else COLOURS[0]
            axes.plot(ends, [place, place], color=colour, linewidth=2)
            axes.plot(interval.mean, place, "o", color=colour)
    axes.set_yticks(range(len(rows)), [label for label, *_ in reversed(rows)], fontsize=8)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(low, high)
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(axis="x", alpha=0.3)
    return figure


LINES = 26
"""How many names fit one above the other into the figure of costs."""
WIDE = 0.25
"""How much of its width a name takes."""


def cost_figure(title: str, points: Sequence[tuple[str, float, Interval]], low: float, high: float) -> Any:
    """Return means over what a reply costs, with their intervals; the cost grows by factors.

    Args:
        title: what is measured.
        points: a name, the tokens of a reply, and the mean with its interval.
        low: where the scale begins.
        high: and where it ends.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    figure = new_figure()
    figure.set_size_inches(5.2, 3.8)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    line = (high - low) / LINES
    placed: list[tuple[float, float]] = []
    known = [tokens for _, tokens, _ in points]
    near = max(1.5, (max(known) / min(known)) ** WIDE)
    coloured = zip(points, COLOURS * len(points), strict=False)
    for (name, tokens, interval), colour in sorted(coloured, key=lambda one: one[0][2].mean):
        ends = [interval.mean if end is None else end for end in (interval.low, interval.high)]
        axes.plot([tokens, tokens], ends, color=colour, linewidth=1.2, alpha=0.5)
        axes.plot(tokens, interval.mean, "o", color=colour, markersize=4)
        beside = [at for other, at in placed if 1 / near < other / tokens < near]
        at = max([interval.mean, *(one + line for one in beside)])
        placed.append((tokens, at))
        axes.annotate(name, (tokens, at), (5, 3), textcoords="offset points", fontsize=7, color=colour)
    axes.set_ylim(low, high)
    axes.margins(x=0.18)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel="tokens a reply", ylabel=title)
    axes.grid(alpha=0.3)
    return figure
