"""A knowledge graph as one HTML page, which asks nothing of the network and holds everything that it shows."""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from dramaturg.cli.drawing.layout import COLOURS, positions, radius
from dramaturg.stores.index.graph import Entity, KnowledgeGraph, Relation, Statement
from dramaturg.stores.index.passages import StoredPassage

Passages = Mapping[str, StoredPassage]
STRONGEST = 10
WORDS = {
    "choose": "Choose an entity or a relation to read what is told of it.",
    "statements": "Statements",
    "unscored": "",
}


def html(graph: KnowledgeGraph, role_node: str | None) -> bytes:
    """Return the page of a graph; the same graph has the same page.

    Args:
        graph: what is shown.
        role_node: the canonical name of the role's own entity, which is marked; None where there is none.
    """
    title = f"Knowledge graph of {role_node}" if role_node else "Knowledge graph"
    return page(title, page_data(graph, role_node))


def page(title: str, data: Mapping[str, Any]) -> bytes:
    """Return a page that draws nodes and edges, and tells of each what `data` holds.

    Args:
        title: what stands above it.
        data: `types` with their colours; `nodes` and `edges` with their statements, an edge without a strength has
            none; `role`, the number of the node that is marked; `strongest` and `stroke`, the highest strength and how
            many pixels wider than others it is drawn; `words` and `notes` of the panel; `dialogues`, which statements
            quote by number.
    """
    style, picture, panel = part("page.css"), part("page.js"), part("panel.js")
    filled = Template(part("page.html")).substitute(
        policy=policy(style, picture, panel),
        title=escape(title),
        style=style,
        data=embedded(data),
        picture=picture,
        panel=panel,
    )
    return filled.encode()


def policy(style: str, *scripts: str) -> str:
    """A policy by which this style and these scripts run, by their checksums, and nothing else does."""
    own, *run = (f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, *scripts))
    nobody = "default-src 'none'; base-uri 'none'; form-action 'none'; "
    trusted = "require-trusted-types-for 'script'; trusted-types 'none'"  # no text becomes an element or a script
    return f"{nobody}style-src {own}; script-src {' '.join(run)}; {trusted}"


def part(name: str) -> str:
    """A file that the page is put together from."""
    return (files("dramaturg.cli.drawing") / name).read_text(encoding="utf-8").strip()


def embedded(value: Any) -> str:
    """JSON that may stand in a script element: no `<` in it can end the element or begin a comment."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def page_data(graph: KnowledgeGraph, role_node: str | None) -> dict[str, Any]:
    """What the page's script draws from: entities with their places, relations between them by number."""
    number = {name: at for at, name in enumerate(graph.graph)}
    passages = {passage.id: passage for passage in graph.passages}
    places = positions(graph.graph)
    strongest_first = sorted(graph.relations(), key=lambda one: (-one.strength, -len(one.statements)))
    return {
        "types": COLOURS,
        "role": None if role_node is None else number[role_node],
        "strongest": STRONGEST,
        "stroke": 1.5,
        "words": {**WORDS, "counts": f"Entities: {len(number)}. Relations: {len(strongest_first)}."},
        "notes": [],
        "dialogues": [],
        "nodes": [
            {**entity_data(entity, passages), "r": radius(graph.graph, entity.name), "x": x, "y": y}
            for entity, (x, y) in ((entity, places[entity.name]) for entity in graph.entities())
        ],
        "edges": [relation_data(relation, number, passages) for relation in strongest_first],
    }


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
