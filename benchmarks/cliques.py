"""How long the best clique of two roles takes, beside networkx's enumeration of all maximal cliques of the graph.

Roles meet in scenes of two to seven, in which everybody speaks with everybody, until there are about twelve edges a
role; an edge weighs 1 to 5. Every pair asked about has an edge. That all ways take the same clique is asserted.

Both begin with the edges, and build the graph that they look at: all of it, or that of the two and their common
neighbours. The last row is the same enumeration in a graph that is there already.

Run: python benchmarks/cliques.py [--pairs 20] [--sizes 100 1000 10000]
"""

import argparse
import random
import time
from collections.abc import Callable, Iterable
from itertools import combinations
from statistics import median
from typing import TypeVar

import networkx as nx
from rich.console import Console
from rich.table import Table

from dramaturg.nodes.dialogues.relations import Graph, best_clique, weight

EDGES = 12  # a role
ENUMERATIONS = 3  # times that the whole graph is gone through: it does not depend on the pair
Edges = list[tuple[str, str, float]]
T = TypeVar("T")


def scenes(count: int, chance: random.Random) -> Edges:
    """Edges of so many roles, from scenes of two to seven of them."""
    names, edges = [f"role-{number}" for number in range(count)], dict[tuple[str, str], float]()
    while len(edges) < EDGES * count:
        present = sorted(chance.sample(names, chance.randint(2, 7)))
        edges |= {pair: float(chance.randint(1, 5)) for pair in combinations(present, 2)}
    return [(one, other, score) for (one, other), score in edges.items()]


def best(graph: Graph, cliques: Iterable[list[str]]) -> list[str]:
    """The clique that Equation 3 takes."""
    return min(cliques, key=lambda roles: (-weight(graph, roles), -len(roles), roles))


def enumerated(graph: Graph, user: str, model: str) -> list[str]:
    """The best of all maximal cliques of the whole graph that hold both."""
    return best(graph, (sorted(one) for one in nx.find_cliques(graph) if user in one and model in one))


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """What a call gives, and its milliseconds."""
    began = time.perf_counter()
    found = call()
    return found, (time.perf_counter() - began) * 1000


def graph_of(edges: Edges) -> Graph:
    """The whole graph."""
    graph: Graph = nx.Graph()
    graph.add_weighted_edges_from(edges)
    return graph


def ways(edges: Edges, graph: Graph, user: str, model: str) -> dict[str, Callable[[], list[str]]]:
    """What is timed, by its name."""
    return {
        "all cliques": lambda: enumerated(graph_of(edges), user, model),
        "all cliques, the graph is there": lambda: enumerated(graph, user, model),
        "best_clique": lambda: best_clique(edges, user, model),
    }


def measured(count: int, pairs: int) -> tuple[int, dict[str, float]]:
    """The number of edges, and the median time of each way in milliseconds."""
    chance = random.Random(count)
    edges = scenes(count, chance)
    graph, times = graph_of(edges), dict[str, list[float]]()
    for number, (user, model, _) in enumerate(chance.sample(edges, pairs)):
        asked = [*ways(edges, graph, user, model).items()][2 * (number >= ENUMERATIONS) :]
        found = {name: timed(way) for name, way in asked}
        assert len({tuple(roles) for roles, _ in found.values()}) == 1, found
        for name, (_, milliseconds) in found.items():
            times.setdefault(name, []).append(milliseconds)
    return len(edges), {name: median(had) for name, had in times.items()}


def main(sizes: list[int], pairs: int) -> None:
    """Print a row for each way, two columns for each number of roles."""
    found = [measured(size, pairs) for size in sizes]
    columns = [times for _, times in found]
    table = Table("the best clique of two roles", title="milliseconds, and how many times faster than all cliques")
    for size, (edges, _) in zip(sizes, found, strict=True):
        table.add_column(f"{size:,} roles, {edges:,} edges", justify="right")
        table.add_column("times", justify="right")
    for name in columns[0]:
        cells = ((f"{times[name]:.3g}", f"{next(iter(times.values())) / times[name]:,.0f}") for times in columns)
        table.add_row(name, *(cell for pair in cells for cell in pair))
    Console(width=140).print(table)
    print("All ways take the same cliques.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    given = parser.parse_args()
    main(given.sizes, given.pairs)
