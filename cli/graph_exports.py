"""A knowledge graph as files for other programs: GraphML, and the JSON that is kept, indented."""

import json
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import count

import networkx as nx

from dramaturg.stores.index.graph import Entity, Graph, KnowledgeGraph, Relation, encode_graph

NOT_IN_XML = re.compile("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def node_link_json(graph: KnowledgeGraph, _role_node: str | None) -> bytes:
    """Return the node-link JSON that a role's index holds, for people to read."""
    document = json.loads(encode_graph(graph.graph))
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def graphml(graph: KnowledgeGraph, role_node: str | None) -> bytes:
    """Return GraphML for Gephi, yEd or networkx: flat attributes, and nothing that XML 1.0 cannot hold.

    It is for other programs only: names that differ in such characters alone get a number, and where a statement
    comes from is left out. What is kept is JSON.
    """
    ids = dict(zip(graph.graph, distinct(xml_text(name) for name in graph.graph), strict=True))
    flat: Graph = nx.Graph()
    for entity in graph.entities():
        flat.add_node(ids[entity.name], **flat_entity(entity), is_role=int(entity.name == role_node))
    for relation in graph.relations():
        flat.add_edge(ids[relation.source], ids[relation.target], **flat_relation(relation))
    file = BytesIO()
    nx.write_graphml_xml(flat, file)  # write_graphml writes other bytes where lxml is installed
    return file.getvalue()


def flat_entity(entity: Entity) -> dict[str, str | int]:
    """An entity in attributes of one value each."""
    texts = {"label": entity.name, "type": entity.type, "description": entity.description}
    texts["names"] = " | ".join(entity.names)
    return {**{name: xml_text(text) for name, text in texts.items()}, "statements": len(entity.statements)}


def flat_relation(relation: Relation) -> dict[str, str | int]:
    """A relation in attributes of one value each; `source` and `target` are names that GraphML has taken."""
    texts = {"description": relation.description, "from": relation.source, "to": relation.target}
    numbers = {"strength": relation.strength, "weight": relation.strength, "statements": len(relation.statements)}
    return {**{name: xml_text(text) for name, text in texts.items()}, **numbers}


def xml_text(text: str) -> str:
    """Take out the characters that XML 1.0 cannot hold, and the carriage returns that it does not keep."""
    return NOT_IN_XML.sub("", text)


def distinct(names: Iterable[str]) -> Iterator[str]:
    """Yield the names; one that was there before gets a number."""
    taken: set[str] = set()
    for name in names:
        free = next(one for n in count(1) if (one := name if n == 1 else f"{name} ({n})") not in taken)
        taken.add(free)
        yield free
