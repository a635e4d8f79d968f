"""Where the entities of a knowledge graph stand in a picture, how large they are, and in which colour."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from math import atan2, cos, hypot, log2, pi, sin, sqrt
from typing import TypeAlias

import networkx as nx

from dramaturg.stores.index.graph import Graph

Point: TypeAlias = tuple[float, float]
# The palette of Okabe and Ito (2008), which people with any colour vision can tell apart; grey in place of its black.
COLOURS = {
    "character": "#E69F00",
    "location": "#009E73",
    "organization": "#0072B2",
    "event": "#D55E00",
    "time": "#F0E442",
    "object": "#56B4E9",
    "concept": "#CC79A7",
    "other": "#8C8C8C",
}
GAP = 60.0
"""About how far entities stand apart."""
CORE = 400
"""So many entities of a component are laid out by springs; more take too long, and from 500 on networkx needs SciPy."""
EVEN = 0.7
"""How far a component is spread evenly over a disc, from 0 to 1."""
GOLDEN_ANGLE = pi * (3 - sqrt(5))


def radius(graph: Graph, name: str) -> float:
    """How large an entity is drawn: the more relations, the larger."""
    return round(4 + 2.5 * log2(1 + graph.degree(name)), 1)


def positions(graph: Graph) -> dict[str, Point]:
    """Place the entities: each connected component by springs, the components beside each other.

    The same graph always gives the same places: nothing depends on the order of a set.
    """
    order = {name: at for at, name in enumerate(graph)}
    found = [sorted(component, key=order.__getitem__) for component in nx.connected_components(graph)]
    components = sorted(found, key=lambda names: (-len(names), order[names[0]]))
    widths = [GAP * sqrt(len(names)) for names in components]
    placed: dict[str, Point] = {}
    for names, width, corner in zip(components, widths, corners(widths), strict=True):
        for name, (x, y) in component_positions(graph, names).items():
            placed[name] = corner[0] + (x + 1) / 2 * width, corner[1] + (y + 1) / 2 * width
    return {name: (round(placed[name][0], 1), round(placed[name][1], 1)) for name in graph}


def corners(widths: Sequence[float]) -> Iterable[Point]:
    """Yield the corner of each square, the largest first; the others stand in rows below it."""
    line = max(sqrt(sum((width + GAP / 2) ** 2 for width in widths[1:])), *widths[:1], 0.0)
    x = y = height = 0.0
    for width in widths:
        if x and x + width > line:
            x, y, height = 0.0, y + height + GAP / 2, 0.0
        yield x, y
        x, height = x + width + GAP / 2, max(height, width)


def component_positions(graph: Graph, names: Sequence[str]) -> dict[str, Point]:
    """Place one component between (-1, -1) and (1, 1): its core by springs, the others about that."""
    inner = core(graph, names)
    plain: Graph = nx.Graph()
    plain.add_nodes_from(name for name in names if name in inner)
    for a, b, data in graph.edges(names, data=True):
        if a in inner and b in inner:
            plain.add_edge(a, b, weight=data["relation"].strength / 5)
    placed = {name: (float(x), float(y)) for name, (x, y) in nx.spring_layout(plain, seed=0, iterations=100).items()}
    return evened(satellites(graph, names, placed))


def core(graph: Graph, names: Sequence[str]) -> set[str]:
    """The best connected entities of a component, as far as they hang together."""
    order = {name: (-graph.degree(name), at) for at, name in enumerate(names)}
    inner: set[str] = set()
    border = [(order[name], name) for name in [min(names, key=order.__getitem__)]]
    while border and len(inner) < CORE:
        _, name = heappop(border)
        if name not in inner:
            inner.add(name)
            for other in graph[name]:
                heappush(border, (order[other], other))
    return inner


def satellites(graph: Graph, names: Sequence[str], placed: dict[str, Point]) -> dict[str, Point]:
    """Place each entity outside the core about the placed one that it is related to most strongly."""
    around = dict(placed)
    moons = {name: count(1) for name in names}
    waiting = [name for name in names if name not in placed]
    while waiting:
        near = [(name, host) for name in waiting if (host := strongest(graph, name, around)) is not None]
        for name, host in near:
            around[name] = about(around[host], next(moons[host]), 1 / sqrt(len(names)))
        waiting = [name for name in waiting if name not in around]
    return around


def strongest(graph: Graph, name: str, placed: dict[str, Point]) -> str | None:
    """The placed neighbour with the strongest relation; among equals the best connected."""
    hosts = [other for other in graph[name] if other in placed]
    return max(hosts, key=lambda other: (graph[name][other]["relation"].strength, graph.degree(other)), default=None)


def about(centre: Point, turn: int, step: float) -> Point:
    """The place of the n-th of many around a centre: a spiral like the seeds of a sunflower."""
    distance = step * sqrt(turn + 1)
    return centre[0] + distance * cos(turn * GOLDEN_ANGLE), centre[1] + distance * sin(turn * GOLDEN_ANGLE)


def evened(placed: dict[str, Point]) -> dict[str, Point]:
    """Move places to or from the middle until a disc is filled: springs crowd the middle and fling out a few."""
    x0, y0 = (sum(values) / len(placed) for values in zip(*placed.values(), strict=True))
    polar = {name: (hypot(x - x0, y - y0), atan2(y - y0, x - x0)) for name, (x, y) in placed.items()}
    farthest = max(distance for distance, _ in polar.values()) or 1.0
    moved: dict[str, Point] = {}
    for rank, name in enumerate(sorted(polar, key=lambda name: polar[name][0])):
        distance, angle = polar[name]
        even = (1 - EVEN) * distance / farthest + EVEN * sqrt(rank / len(polar))
        moved[name] = even * cos(angle), even * sin(angle)
    return moved
