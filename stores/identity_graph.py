"""The identity graph 𝒞 = (V, E) as networkx has it: things, and the triples that connect them (ID-RAG 3.2)."""

from collections.abc import Iterable, Sequence
from itertools import islice

import networkx as nx

from dramaturg.stores.role_files import Triple


def identity_graph(triples: Iterable[Triple]) -> "nx.MultiDiGraph[str]":
    """Return the directed graph of some triples: an edge a triple, from subject to object, with the triple on it."""
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for at, triple in enumerate(triples):
        graph.add_edge(triple.subject, triple.object, key=at, triple=triple)
    return graph


def around(triples: Sequence[Triple], found: Sequence[Triple], hops: int, hubs: Iterable[str] = ()) -> list[Triple]:
    """Return the triples within r hops of what was found, in their own order: K⁽¹⁾ without K⁽⁰⁾ (ID-RAG 3.3.2).

    A hop leads from a thing to all triples that it stands in, whichever way they point. Nothing spreads through `hubs`:
    through the role itself, whom nearly every triple is about, everything is two hops from everything.

    Raises:
        ValueError: `hops` is negative.
    """
    if hops < 0:
        raise ValueError(f"A neighbourhood reaches 0 hops or more, not {hops}.")
    graph = identity_graph(triples).to_undirected()
    graph.remove_nodes_from([*hubs])
    starts = [thing for triple in found for thing in (triple.subject, triple.object) if thing in graph]
    near = {thing for layer in islice(nx.bfs_layers(graph, starts), hops) for thing in layer}
    return [one for one in triples if one not in found and near & {one.subject, one.object}]
