"""A knowledge graph as a PNG picture."""

from collections.abc import Mapping
from io import BytesIO
from math import sqrt
from typing import Any

from dramaturg.cli.drawing.lettering import Fonts
from dramaturg.cli.output import one_line
from dramaturg.evaluation.metrics.figures import new_figure
from dramaturg.server.layout import COLOURS, Point, positions, radius
from dramaturg.stores.index.graph import Graph, KnowledgeGraph

LABELS = 60
LABEL_LENGTH = 32
INK = "#1b1f24"
LINE = "#9aa4b0"


def png(graph: KnowledgeGraph, role_node: str | None) -> bytes:
    """Return a picture with the names of the best connected entities, as far as an installed font has the letters."""
    figure, side = new_figure(), min(9 + sqrt(len(graph.graph)) / 3, 24)
    figure.set_size_inches(side * 1.25, side)
    draw(figure.add_subplot(), figure.canvas, graph, role_node)
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def draw(axes: Any, canvas: Any, graph: KnowledgeGraph, role_node: str | None) -> None:
    """Draw a graph: title, relations, entities, and as many names as have room."""
    places = positions(graph.graph)
    best = sorted(graph.graph, key=lambda name: (name != role_node, -graph.graph.degree(name)))[:LABELS]
    fonts = Fonts(map(label, best))
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.invert_yaxis()  # down is down, as on the page
    shown = label(role_node or "")
    title = f"Knowledge graph of {shown}" if fonts.can_draw(shown) else "Knowledge graph"
    axes.set_title(title, parse_math=False, fontfamily=fonts.families)
    if not best:
        axes.text(0.5, 0.5, "This graph has no entities.", ha="center", transform=axes.transAxes)
        return
    draw_relations(axes, graph, places)
    draw_entities(axes, graph, places, role_node)
    canvas.draw()  # decides where everything stands, so that overlaps can be seen
    write_names(axes, canvas, {name: places[name] for name in best}, graph.graph, fonts)


def draw_relations(axes: Any, graph: KnowledgeGraph, places: Mapping[str, Point]) -> None:
    """Draw relations as lines; the stronger, the wider."""
    from matplotlib.collections import LineCollection

    relations = graph.relations()
    lines = [(places[one.source], places[one.target]) for one in relations]
    widths = [0.2 + one.strength / 8 for one in relations]
    axes.add_collection(LineCollection(lines, linewidths=widths, colors=LINE, alpha=0.5, zorder=1))


def draw_entities(axes: Any, graph: KnowledgeGraph, places: Mapping[str, Point], role_node: str | None) -> None:
    """Draw entities as discs in the colour of their type, with a ring about the role's own."""
    for kind, colour in COLOURS.items():
        names = [one.name for one in graph.entities() if one.type == kind]
        if names:
            xs, ys = zip(*(places[name] for name in names), strict=True)
            sizes = [area(graph.graph, name) for name in names]
            axes.scatter(xs, ys, sizes, c=colour, edgecolors=INK, linewidths=0.5, label=f"{kind} {len(names)}")
    if role_node is not None:
        size = 2 * area(graph.graph, role_node)
        axes.scatter(*places[role_node], size, facecolors="none", edgecolors=INK, linewidths=2, label="the role")
    axes.legend(loc="upper right", fontsize=8, framealpha=0.8, markerscale=0.7, labelspacing=1)
    axes.margins(0.06)


def area(graph: Graph, name: str) -> float:
    """How large an entity's disc is, in square points."""
    return (radius(graph, name) * 0.8) ** 2


def write_names(axes: Any, canvas: Any, places: Mapping[str, Point], graph: Graph, fonts: Fonts) -> None:
    """Write the names that have room and letters, in the order that they come in."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white")]
    taken: list[Any] = []
    for name, place in places.items():
        if not fonts.can_draw(label(name)):
            continue
        style = {
            "fontsize": 8,
            "fontfamily": fonts.families,
            "parse_math": False,
            "ha": "center",
            "va": "bottom",
            "path_effects": halo,
        }
        above = 0, radius(graph, name) * 0.4 + 1
        text = axes.annotate(label(name), place, above, textcoords="offset points", **style)
        box = text.get_window_extent(canvas.get_renderer())
        if box.count_overlaps(taken):
            text.remove()
        else:
            taken.append(box)


def label(name: str) -> str:
    """A name as it is written into a picture: one line, not too long."""
    line = one_line(name)
    return line if len(line) <= LABEL_LENGTH else line[: LABEL_LENGTH - 1] + "…"
