"""The relation graph G and the maximal clique in it that says most of two roles (DRMR 3.2, Equation 3)."""

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations
from math import fsum, isfinite
from typing import TYPE_CHECKING, TypeAlias

import networkx as nx

if TYPE_CHECKING:
    Graph: TypeAlias = nx.Graph[str]
else:
    Graph = nx.Graph  # takes no parameter at run time

WEIGHT = "score"


def best_clique(edges: Iterable[tuple[str, str, float]], user: str, model: str) -> list[str]:
    """Return G', the maximal clique that holds both roles and has the largest sum of edge scores (Equation 3).

    The maximal cliques that hold u and m are {u, m} with each maximal clique of the graph of their common neighbours,
    so Bron-Kerbosch looks at that graph only. Of several with the largest sum, the one with more roles is taken; of
    several of those, the one whose sorted names come first.

    Args:
        edges: (role, role, score s_ij), in any order; an edge that is there again replaces the one before.
        user: the role E_u.
        model: the role E_m.

    Returns:
        Sorted names: the two alone where no third role speaks with both, none where they do not speak with each other.

    Raises:
        ValueError: a role is joined with itself, a score is no finite number, or the two are the same.
    """
    if user == model:
        raise ValueError(f"The user and the model play two roles, not {user!r} twice.")
    graph = relation_graph(edges)
    if not graph.has_edge(user, model):
        return []
    return min(cliques_of(graph, user, model), key=lambda roles: (-weight(graph, roles), -len(roles), roles))


def relation_graph(edges: Iterable[tuple[str, str, float]]) -> Graph:
    """Return the graph of scored edges.

    Raises:
        ValueError: a role is joined with itself, or a score is no finite number.
    """
    graph: Graph = Graph()
    for one, other, score in edges:
        if one == other or not isfinite(score):
            raise ValueError(f"An edge joins two roles and has a finite score, not {(one, other, score)!r}.")
        graph.add_edge(one, other, **{WEIGHT: score})
    return graph


def cliques_of(graph: Graph, user: str, model: str) -> Iterator[list[str]]:
    """Each maximal clique that holds two roles which have an edge, its names sorted."""
    common = [role for role in graph[user] if graph.has_edge(role, model)]
    if not common:
        yield sorted((user, model))
    # A graph of its own: find_cliques would go through all of a view at each step.
    around: Graph = Graph()
    around.add_nodes_from(common)
    among = set(common)
    around.add_edges_from((one, other) for one in common for other in graph[one] if other in among)
    for clique in nx.find_cliques(around):
        yield sorted((user, model, *clique))


def weight(graph: Graph, roles: Collection[str]) -> float:
    """The sum of the scores of a clique's edges, the same in any order."""
    return fsum(graph.edges[pair][WEIGHT] for pair in combinations(roles, 2))
