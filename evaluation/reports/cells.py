"""Numbers and lines of tables as all reports write them in Markdown."""

from dramaturg.evaluation.statistics import Interval

MINUS = "−"


def signed(value: float) -> str:
    """A number with three digits, and a minus that is one."""
    return f"{value:.3f}".replace("-", MINUS)


def whole(value: float) -> str:
    """A number as short as it can be, with the same minus."""
    return f"{value:g}".replace("-", MINUS)


def bounds(interval: Interval) -> str:
    """An interval in brackets; none where nothing says how values vary."""
    return between(interval.low, interval.high)


def between(low: float | None, high: float | None) -> str:
    """Two ends in brackets; none where there are none."""
    return "none" if low is None or high is None else f"[{signed(low)}, {signed(high)}]"


def cells(*texts: str) -> str:
    """A line of a table; what would end a cell does not."""
    return "| " + " | ".join(" ".join(text.replace("|", "\\|").split()) for text in texts) + " |"


def table(heads: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    """A whole table under its heads."""
    return "\n".join([cells(*heads), cells(*["---"] * len(heads)), *(cells(*row) for row in rows)])
