"""What a view of a knowledge graph draws, on the page of a server and in the files that `dramaturg graph` writes."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from dramaturg.server.layout import COLOURS, Point, positions, radius
from dramaturg.stores.index.graph import Entity, KnowledgeGraph, Relation, Statement
from dramaturg.stores.index.passages import StoredPassage

Passages = Mapping[str, StoredPassage]
_places: WeakKeyDictionary[KnowledgeGraph, dict[str, Point]] = WeakKeyDictionary()
"""Where the entities of the graphs stand that were drawn: to place thousands takes seconds."""


def graph_data(graph: KnowledgeGraph, role_node: str | None) -> dict[str, Any]:
    """What a graph is drawn from: entities with their places, relations between them by number, the strongest first.

    Args:
        graph: what is shown.
        role_node: the canonical name of the role's own entity, which is marked; None where there is none.
    """
    number = {name: at for at, name in enumerate(graph.graph)}
    passages = {passage.id: passage for passage in graph.passages}
    places = _places.get(graph) or _places.setdefault(graph, positions(graph.graph))
    strongest_first = sorted(graph.relations(), key=lambda one: (-one.strength, -len(one.statements)))
    return {
        "types": COLOURS,
        "role": None if role_node is None else number[role_node],
        "nodes": [
            {**entity_data(entity, passages), "r": radius(graph.graph, entity.name), "x": x, "y": y}
            for entity, (x, y) in ((entity, places[entity.name]) for entity in graph.entities())
        ],
        "edges": [relation_data(relation, number, passages) for relation in strongest_first],
    }


def without_texts(data: dict[str, Any]) -> dict[str, Any]:
    """The same as a map: names, types and strengths, and nothing that was written of them."""
    bare = {"description": "", "statements": []}
    return data | {kind: [one | bare for one in data[kind]] for kind in ("nodes", "edges")}


def entity_data(entity: Entity, passages: Passages) -> dict[str, Any]:
    """An entity, as the page needs it."""
    return {
        **entity.model_dump(include={"name", "type", "description", "names"}),
        "statements": [statement_data(one, passages) for one in entity.statements],
    }


def relation_data(relation: Relation, number: Mapping[str, int], passages: Passages) -> dict[str, Any]:
    """A relation, its ends as numbers."""
    return {
        "a": number[relation.source],
        "b": number[relation.target],
        **relation.model_dump(include={"description", "strength"}),
        "statements": [statement_data(one, passages) for one in relation.statements],
    }


def statement_data(statement: Statement, passages: Passages) -> dict[str, Any]:
    """A statement and the sentence that it was taken from."""
    return {
        "text": statement.text,
        "source": statement.source,
        "start": statement.start,
        "end": statement.end,
        "quote": quote(statement, passages.get(statement.passage)),
    }


def quote(statement: Statement, passage: StoredPassage | None) -> str:
    """The sentence in the document; empty where the passage is not kept with the graph."""
    if passage is None or not passage.start <= statement.start <= statement.end <= passage.end:
        return ""
    return passage.text[statement.start - passage.start : statement.end - passage.start]
