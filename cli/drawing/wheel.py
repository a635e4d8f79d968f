"""The parts of a wheel of Plutchik's eight emotions: sectors, rings, and moods as polygons."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import cos, dist, radians, sin
from typing import Any

COLOURS = {
    "joy": "#f9efcd",
    "acceptance": "#e4eed6",
    "fear": "#cfe5d6",
    "surprise": "#d1e8ec",
    "sadness": "#d4deef",
    "disgust": "#e4daec",
    "anger": "#f2d7d5",
    "anticipation": "#f7e4d0",
}
"""The emotions in the order of Emotional RAG, which is also their order around Plutchik's circle; opaque tints."""
LINES = ("#b3322c", "#1f5fa8", "#2c7d3f", "#8a3fa0", "#c46a00", "#0f7f86", "#b02a72", "#6b4a2b", "#4a4f9e", "#6f7a12")
UNKNOWN = "#8a929b"
INK = "#1b1f24"
FAINT = "#5c6570"
RING = "#aeb4ba"
TOP = 10
SIDE, HEIGHT = 12.4, 11.4
"""How far the drawing goes from its centre, with the names of the emotions; a unit is a score."""
SPACE = 0.9
Point = tuple[float, float]
Mood = Mapping[str, int] | None


def draw_sectors(axes: Any) -> None:
    """Draw the empty wheel: a sector an emotion, and a ring a score."""
    from matplotlib.patches import Circle, Wedge

    axes.set(xlim=(-SIDE, SIDE), ylim=(-HEIGHT, HEIGHT), aspect="equal")
    axes.set_axis_off()
    for at, (emotion, colour) in enumerate(COLOURS.items()):
        ends = 67.5 - 45 * at, 112.5 - 45 * at
        axes.add_patch(Wedge((0, 0), TOP, *ends, facecolor=colour, edgecolor="white", linewidth=1.5))
        x, y = place(at, TOP + 0.6)
        across = {-1: "right", 0: "center", 1: "left"}[round(x / TOP)]
        along = {-1: "top", 0: "center", 1: "bottom"}[round(y / TOP)]
        axes.text(x, y, emotion, ha=across, va=along, fontsize=12, color=INK)
    for score in range(1, TOP + 1):
        axes.add_patch(Circle((0, 0), score, fill=False, edgecolor=RING, linewidth=0.5))
        axes.text(*place(0.5, score), str(score), ha="center", va="center", fontsize=7, color=FAINT)


def place(at: float, score: float) -> Point:
    """Where a score of the emotion with this number stands: joy is at the top, and the others follow clockwise."""
    angle = radians(90 - 45 * at)
    return score * cos(angle), score * sin(angle)


def corners(emotions: Mapping[str, int]) -> list[Point]:
    """The corners of the polygon of a mood; a score that is missing counts as 0."""
    return [place(at, emotions.get(emotion, 0)) for at, emotion in enumerate(COLOURS)]


def draw_moods(axes: Any, mood: Mood, memories: Sequence[Mood]) -> None:
    """Draw a question's mood boldly, and each memory's thinly, with its number at its strongest emotion."""
    from matplotlib.patches import Polygon

    taken = corners(mood) if mood else []
    if mood:
        axes.add_patch(Polygon(taken, fill=False, edgecolor=INK, linewidth=3.2, joinstyle="round", zorder=4))
        axes.scatter(*zip(*taken, strict=True), s=26, color=INK, zorder=4)
    for number, (emotions, colour) in enumerate(zip(memories, colours(memories), strict=True), 1):
        if emotions:
            outline: dict[str, Any] = {"edgecolor": colour, "linewidth": 1.2, "joinstyle": "round", "zorder": 3}
            axes.add_patch(Polygon(corners(emotions), fill=False, **outline))
            taken.append(draw_number(axes, str(number), emotions, colour, taken))


def draw_number(axes: Any, number: str, emotions: Mapping[str, int], colour: str, taken: Sequence[Point]) -> Point:
    """Write a memory's number at its strongest emotion, or beside it with a line to it where others stand there."""
    best = max(COLOURS, key=lambda emotion: emotions.get(emotion, 0))
    at, score = list(COLOURS).index(best), emotions.get(best, 0)
    spot = free_place(at, score, taken)
    axes.plot(*zip(place(at, score), spot, strict=True), color=colour, linewidth=0.9, zorder=5)
    axes.scatter(*spot, s=165, color=colour, edgecolors="white", linewidths=0.8, zorder=6)
    axes.text(*spot, number, **number_style(number), zorder=7)
    return spot


def number_style(number: str) -> dict[str, Any]:
    """How a number is written on its disc."""
    size = 8 if len(number) == 1 else 7
    return {"color": "white", "fontsize": size, "weight": "bold", "ha": "center", "va": "center_baseline"}


def free_place(at: int, score: float, taken: Sequence[Point]) -> Point:
    """The nearest place to a score, within the emotion's sector, that has room for a number."""
    corner = place(at, score)
    steps = product((turn / 40 for turn in range(-16, 17)), (out / 4 for out in range(2, 4 * TOP + 1)))
    places = sorted((place(at + turn, out) for turn, out in steps), key=lambda spot: dist(spot, corner))
    return next((spot for spot in [corner, *places] if all(dist(spot, one) >= SPACE for one in taken)), corner)


def colours(memories: Sequence[Mood]) -> list[str]:
    """The colour of each memory's line; grey where there is no line."""
    return [LINES[at % len(LINES)] if emotions else UNKNOWN for at, emotions in enumerate(memories)]


def strongest(emotions: Mapping[str, int]) -> str:
    """The two highest scores in words, as far as they stand out; among equals the first in the wheel's order."""
    known = sorted((name for name in COLOURS if name in emotions), key=lambda name: -emotions[name])
    above = [f"{name} {emotions[name]}" for name in known[:2] if emotions[name] > emotions[known[-1]]]
    return ", ".join(above) or "none stands out"
