"""The maximal clique of a relation graph that says most of two roles (DRMR 3.2, Equation 3)."""

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from math import fsum, isfinite
from typing import TypeAlias

import networkx as nx

from dramaturg.stores.index.dialogues import Graph

ScoredEdge: TypeAlias = tuple[str, str, float]


def best_clique(edges: Iterable[ScoredEdge], user: str, model: str) -> list[str]:
    """Return G', the maximal clique that holds both roles and has the largest sum of edge scores (Equation 3).

    The maximal cliques that hold u and m are {u, m} with each maximal clique of their common neighbours, so
    Bron-Kerbosch looks at nobody else. Of several with the largest sum, the one with more roles is taken; of several of
    those, the one whose sorted names come first.

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
    scored = checked(edges)
    common = neighbours(scored, user) & neighbours(scored, model)
    near, looked_at = Graph(), {user, model, *common}
    near.add_weighted_edges_from(edge for edge in scored if edge[0] in looked_at and edge[1] in looked_at)
    if not near.has_edge(user, model):
        return []
    around = near.subgraph(common).copy()  # of a view, find_cliques would look through all at each step
    cliques = [sorted((user, model, *roles)) for roles in nx.find_cliques(around)] or [sorted((user, model))]
    return min(cliques, key=lambda roles: (-weight(near, roles), -len(roles), roles))


def checked(edges: Iterable[ScoredEdge]) -> Sequence[ScoredEdge]:
    """The edges, each of two roles and with a score.

    Raises:
        ValueError: a role is joined with itself, or a score is no finite number.
    """
    scored = list(edges)
    for one, other, score in scored:
        if one == other or not isfinite(score):
            raise ValueError(f"An edge joins two roles and has a finite score, not {(one, other, score)!r}.")
    return scored


def neighbours(edges: Iterable[ScoredEdge], role: str) -> set[str]:
    """Who has an edge with a role."""
    return {other if one == role else one for one, other, _ in edges if role in (one, other)}


def weight(graph: Graph, roles: Collection[str]) -> float:
    """The sum of the scores of a clique's edges, the same in any order."""
    return fsum(graph.edges[pair]["weight"] for pair in combinations(roles, 2))
