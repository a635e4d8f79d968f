"""Who speaks with whom in a role's dialogues as one HTML page, made like that of a knowledge graph."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import networkx as nx

from dramaturg.cli.graph_drawing import positions, radius
from dramaturg.cli.graph_page import page
from dramaturg.cli.known_relations import KnownRelations, scored_dialogues
from dramaturg.cli.relation_evidence import clique_title, points, strangers
from dramaturg.nodes.dialogues.relations import ScoredPair
from dramaturg.nodes.judgement import HIGH, LOW
from dramaturg.stores.index.dialogues import Graph

COLOURS = {"the user's role": "#E69F00", "in the clique": "#009E73", "speaker": "#56B4E9"}
APART = 3.2
"""How much farther roles stand apart than the entities of a knowledge graph: they are fewer, and their names matter."""
WORDS = {
    "choose": "Choose a role or a relation to read its dialogues.",
    "told": "Dialogues",
    "unscored": "no score yet",
}


class Weight(NamedTuple):
    """What `positions` asks of a relation: how close its ends are drawn."""

    strength: float


def html(known: KnownRelations) -> bytes:
    """Return the page of a role's relations; the same dialogues and scores have the same page."""
    with_user = "" if known.user.stranger else f" with {known.user.name}"
    return page(f"Relations of {known.name}{with_user}", page_data(known))


def page_data(known: KnownRelations) -> dict[str, Any]:
    """What the page's script draws from: roles with their places, relations and dialogues by number."""
    number = {name: at for at, name in enumerate(known.store.graph)}
    order = {one.id: at for at, one in enumerate(known.store.dialogues)}
    return {
        "types": COLOURS if known.clique else {name: COLOURS[name] for name in COLOURS if name != "in the clique"},
        "role": number.get(known.name),
        "strongest": HIGH,
        "stroke": 3,
        "words": {**WORDS, "counts": f"Roles: {len(number)}. Relations: {len(known.pairs)}. Dialogues: {len(order)}."},
        "notes": notes(known),
        "dialogues": [one.text for one in known.store.dialogues],
        "nodes": roles_data(known, order),
        "edges": [pair_data(known, pair, number, order) for pair in known.pairs],
    }


def notes(known: KnownRelations) -> list[str]:
    """What is to be said of the whole: the clique, and what has no score."""
    clique = clique_title(known.clique, known.within()) if known.clique else strangers(known.user.name, known.name)
    told = [] if known.user.stranger else [clique]
    if known.unscored:
        number = f"{known.unscored} of {len(known.relations)} edges (two roles in one dialogue)"
        command = f"dramaturg index {known.role.id} --method drmr --scores"
        told.append(f"Without a score: {number}. A relation that has none is dashed; {command} scores them.")
    return told


def roles_data(known: KnownRelations, order: Mapping[str, int]) -> list[dict[str, Any]]:
    """The roles in the order of the graph."""
    graph = known.store.graph
    places = positions(drawn(known))
    profiles = {known.user.speaker: known.user.profile, known.name: known.role.card.profile.strip()}
    return [
        {
            "name": name,
            "names": [name, *(known.role.card.aliases if name == known.name else ())],
            "type": type_of(name, known),
            "description": profiles.get(name, ""),
            "statements": told_by(name, known, order),
            "r": round(radius(graph, name) * 1.4, 1),
            "x": round(places[name][0] * APART, 1),
            "y": round(places[name][1] * APART, 1),
        }
        for name in graph
    ]


def drawn(known: KnownRelations) -> Graph:
    """The graph with what `positions` asks for: roles who matter to each other stand together."""
    graph: Graph = nx.Graph()
    graph.add_nodes_from(known.store.graph)
    for pair in known.pairs:
        graph.add_edge(*pair["roles"], relation=Weight(pair["score"] or LOW))
    return graph


def type_of(name: str, known: KnownRelations) -> str:
    """What a role is drawn as."""
    if name == known.user.speaker:
        return "the user's role"
    return "in the clique" if name in known.clique else "speaker"


def told_by(name: str, known: KnownRelations, order: Mapping[str, int]) -> list[dict[str, Any]]:
    """The dialogues in which a role speaks."""
    return [
        {"text": one.scene, "source": one.source, "dialogue": order[one.id]}
        for one in known.store.dialogues
        if name in one.speakers
    ]


def pair_data(
    known: KnownRelations, pair: ScoredPair, number: Mapping[str, int], order: Mapping[str, int]
) -> dict[str, Any]:
    """Two roles, their ends as numbers, with the dialogues in which they speak with each other."""
    first, second = pair["roles"]
    within = {first, second} <= {*known.clique}
    return {
        "a": number[first],
        "b": number[second],
        "strength": None if pair["score"] is None else round(pair["score"], 2),
        "description": pair["reason"],
        "kind": " ".join(["clique"] * within + ["unscored"] * (pair["score"] is None)),
        "statements": [
            {
                "text": weighed(one["score"], one["reason"]),
                "source": f"{one['scene']}, {one['source']}",
                "dialogue": order[one["dialogue"]],
            }
            for one in scored_dialogues(known, pair)
        ],
    }


def weighed(score: float | None, reason: str) -> str:
    """What a dialogue says of two roles: the score of their edge in it, and why."""
    return WORDS["unscored"] if score is None else ": ".join(filter(None, [points(score), reason]))
