"""The knowledge graph of a role: entities, relations and the sentences they come from, read once and verified."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter
from pydantic.dataclasses import dataclass

from dramaturg.stores.documents.merges import Why
from dramaturg.stores.errors import RoleError
from dramaturg.stores.files import canonical
from dramaturg.stores.index.folder import IndexKind, IndexStore, Manifest, left_out_of
from dramaturg.stores.index.passages import PASSAGES_FILE, StoredPassage
from dramaturg.stores.index.records import decode_records
from dramaturg.stores.index.vectors import nearest, query_row
from dramaturg.stores.names import normal_name

EntityType = Literal["character", "location", "organization", "event", "time", "object", "concept", "other"]
TYPES: tuple[str, ...] = get_args(EntityType)


class _GraphRecord(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Statement:
    """A description as it was extracted, and where it comes from: `document[start:end]` is the sentence.

    A graph has dozens for each document: a model of pydantic takes ten times the memory, for what was set of it.
    """

    text: str
    passage: str
    """The id of the chunk that it was extracted from."""
    source: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @property
    def told(self) -> tuple[str, str, int, int]:
        """What is said and where: the same from whichever of two chunks that overlap it was extracted."""
        return self.text, self.source, self.start, self.end


class Entity(_GraphRecord):
    """A node n̂ of the graph (RoleRAG, Equation 1)."""

    name: str
    """The canonical name."""
    type: EntityType
    description: str
    """The summary of the statements; the statement itself where there is one; empty where nothing is said of it."""
    names: tuple[str, ...] = Field(min_length=1)
    """All names that were found to mean it, as the documents write them; the canonical one first."""
    statements: tuple[Statement, ...] = ()
    why: tuple[Why, ...] = ()
    """What was found of its names, where several were made one; what an earlier version wrote has none."""

    @property
    def embedding_text(self) -> str:
        """The text to embed: name and description (RoleRAG, 3.1)."""
        return embedding_text(self.name, self.description)


class Relation(_GraphRecord):
    """An edge r̂ between two entities (RoleRAG, Equation 1); `source` and `target` as in its first statement."""

    source: str
    target: str
    description: str
    strength: int = Field(ge=1, le=10)
    """The strongest of the statements, from 1 (loose) to 10 (close)."""
    statements: tuple[Statement, ...] = Field(min_length=1)

    def other(self, name: str) -> str:
        """Return the end that is not `name`."""
        return self.target if name == self.source else self.source


_statements = TypeAdapter(tuple[Statement, ...])
T = TypeVar("T", Entity, Relation)
Known: TypeAlias = Callable[[str, int, int], bool | None]

if TYPE_CHECKING:
    import networkx as nx

    Graph: TypeAlias = nx.Graph[str]
else:
    Graph = Any  # networkx is imported where a graph is made: it takes as long as all of the stores

GRAPH_FILE = "graph.json"
ENTITIES_FILE = "entities.faiss"


class KnowledgeGraph(IndexStore):
    """One version of a role's knowledge graph, asked by name, by meaning and by neighbourhood."""

    FILES = (PASSAGES_FILE, GRAPH_FILE, ENTITIES_FILE)

    def __init__(self, manifest: Manifest, graph: Graph, passages: Sequence[StoredPassage], index: Any) -> None:
        super().__init__(manifest, index)
        self.graph = graph
        self.passages: Sequence[StoredPassage] = tuple(passages)
        self.sentences: Sequence[Statement] = graph.graph.get("sentences", ())
        """Those of the documents; none in what an earlier version wrote."""
        self._names = list(graph)
        self._by_name = name_table(self.entities())
        self._later: frozenset[str] = frozenset()
        """Names, as they are compared, of what a version that was cut to a time does not know yet."""
        self._untold: frozenset[str] = frozenset()
        """The same of what a version that was cut to what a role has been told does not know."""

    @classmethod
    def decode(cls, manifest: Manifest, files: Sequence[bytes], index: Any) -> Self:
        """Return the version that these files hold; ValueError: they are not what was written."""
        passages, graph = files
        return cls(manifest, decode_graph(graph), decode_records(passages, StoredPassage), index)

    def entities(self) -> list[Entity]:
        """Return all entities, in their order."""
        return [data["entity"] for _, data in self.graph.nodes(data=True)]

    def relations(self) -> list[Relation]:
        """Return all relations."""
        return [data["relation"] for _, _, data in self.graph.edges(data=True)]

    def entity(self, name: str) -> Entity:
        """Return an entity by its canonical name."""
        try:
            found: Entity = self.graph.nodes[name]["entity"]
        except KeyError:
            raise RoleError(f"Version {self.version} has no entity {name!r}.") from None
        return found

    def find(self, *names: str) -> str | None:
        """Return the canonical name of the first of these names that means an entity (the mapping table of 3.3)."""
        return next((self._by_name[key] for name in names if (key := normal_name(name)) in self._by_name), None)

    def relation(self, one: str, other: str) -> Relation | None:
        """Return the relation of two entities, whichever is named first."""
        data = self.graph.get_edge_data(one, other)
        return data["relation"] if data else None

    def neighbours(self, name: str) -> list[tuple[Entity, Relation]]:
        """Return the 1-hop neighbourhood: the strongest relation first, then what is told most, then by name."""
        self.entity(name)
        found = [(self.entity(other), data["relation"]) for other, data in self.graph[name].items()]
        return sorted(found, key=lambda one: (-one[1].strength, -len(one[1].statements), one[0].name))

    def search(self, vector: Sequence[float] | NDArray[np.floating[Any]], k: int) -> list[tuple[str, float]]:
        """Return (canonical name, cosine similarity) of the k nearest entities, f_k(V, n); ties by their order.

        Args:
            vector: an embedded name or question, of shape (d,); its length does not matter.
            k: how many; more than there are gives all.

        Raises:
            ValueError: k is below 1, or the vector is zero, not finite or of another dimension than the index.
        """
        query = query_row(vector, self.manifest.embedding.dimension, k)
        return [(self._names[at], score) for at, score in nearest(self._index, query, k, range(len(self._names)))]

    def search_sentences(
        self, vector: Sequence[float] | NDArray[np.floating[Any]], k: int
    ) -> list[tuple[Statement, float]]:
        """Return (sentence, cosine similarity) of the k nearest sentences of the documents; as `search` does."""
        query = query_row(vector, self.manifest.embedding.dimension, k)
        first = len(self._names)
        near = nearest(self._index, query, k, range(first, first + len(self.sentences)))
        return [(self.sentences[at - first], score) for at, score in near]

    def is_later(self, name: str) -> bool:
        """Whether this version was cut to a time at which nothing is known by a name, and later something is."""
        return normal_name(name) in self._later

    def is_untold(self, name: str) -> bool:
        """Whether what others know by a name is kept from the role, and nothing else is known by it."""
        return normal_name(name) in self._untold

    def is_kept_back(self, name: str) -> bool:
        """Whether it is either."""
        return self.is_later(name) or self.is_untold(name)

    def cut_to(self, known: Known, text: str, own: Collection[str]) -> Self:
        """Return the same version with what known statements tell, and nothing that others do.

        Nothing is left that was made of both: a description is then the known statements themselves, and a name that
        the known text does not have means nobody yet.

        Args:
            known: whether a part of a document is known, by its name, start and end; None: nobody can say.
            text: all that is known of the documents.
            own: names that are known in any case: the role's.
        """
        text, own = normal_name(text), {*map(normal_name, own)}

        def left(statements: Sequence[Statement]) -> tuple[Statement, ...]:
            return tuple(one for one in statements if known(one.source, one.start, one.end))

        def names_of(entity: Entity) -> tuple[str, ...]:
            found = tuple(one for one in entity.names if (key := normal_name(one)) in own or key in text)
            return found or (entity.name,)

        relations = [_with_only(one, left(one.statements)) for one in self.relations() if left(one.statements)]
        ends = {end for one in relations for end in (one.source, one.target)}
        entities, rows, gone, names = list[Entity](), list[int](), list[bool | None](), dict[str, str]()
        for at, entity in enumerate(self.entities()):
            statements, spelled = left(entity.statements), names_of(entity)
            untold = not entity.statements and not self.graph[entity.name] and normal_name(entity.name) in text
            if not (statements or untold or entity.name in ends):
                of = [known(one.source, one.start, one.end) for one in entity.statements]
                gone.append(None if of and not {*of} & {False} else False)
                continue
            taken = spelled[0] in self.graph or spelled[0] in names.values()
            name = entity.name if entity.name in spelled or taken else spelled[0]
            names[entity.name] = name
            changed = {"name": name, "names": (name, *(one for one in spelled if one != name)), "why": ()}
            entities.append(
                _with_only(entity, statements).model_copy(update=changed if spelled != entity.names else {})
            )
            rows.append(at)
        relations = [
            one.model_copy(update={"source": names[one.source], "target": names[one.target]}) for one in relations
        ]
        told = [known(one.source, one.start, one.end) for one in self.sentences]
        sentences, first = [at for at, one in enumerate(told) if one], len(self._names)
        left_out = {"entities": left_out_of(gone), "sentences": left_out_of(told)}
        some = self.cut([*rows, *(first + at for at in sentences)], left_out)
        some.graph = graph_of(entities, relations, [self.sentences[at] for at in sentences])
        some.passages = tuple(one for one in self.passages if known(one.source, one.start, one.end))
        some.sentences = some.graph.graph["sentences"]
        some._names, some._by_name = list(some.graph), name_table(entities)
        some._later = frozenset(self._by_name.keys() - some._by_name.keys())
        return some

    def told(self, known: Known, text: str, own: Collection[str]) -> Self:
        """Return the same version with what a role has been told; the arguments are those of `cut_to`."""
        some = self.cut_to(known, text, own)
        some.not_told = {kind: sum(one) for kind, one in some.left_out.items() if any(one)}
        some.left_out, some._untold, some._later = {}, some._later, frozenset()
        return some

    def embedded_texts(self) -> list[str]:
        """Return the texts that were embedded: those of the entities in their order, then the sentences."""
        return graph_texts(self.graph)


_GRAPHS = ("graph", "graph-unmerged")  # both extract the same facts from the same chunks
GRAPH_KIND = IndexKind("graph", StoredPassage, KnowledgeGraph, "persona", "role-rag", _GRAPHS)
"""The knowledge graph of RoleRAG."""
UNMERGED_GRAPH_KIND = IndexKind("graph-unmerged", StoredPassage, KnowledgeGraph, "persona", "graph-rag-local", _GRAPHS)
"""The same without entity normalization."""


def embedding_text(name: str, description: str) -> str:
    """Return the text that stands for an entity in the vector database 𝒱 (RoleRAG, 3.1)."""
    return f"{name}: {description}" if description else name


def graph_texts(graph: Graph) -> list[str]:
    """Return the texts of a graph that are embedded."""
    entities = [data["entity"].embedding_text for _, data in graph.nodes(data=True)]
    return entities + [one.text for one in graph.graph.get("sentences", ())]


def graph_of(entities: Iterable[Entity], relations: Iterable[Relation], sentences: Iterable[Statement] = ()) -> Graph:
    """Return Ĝ = {N̂, R̂} (RoleRAG, Equation 1): one edge for two entities, whichever is named first; no loops.

    The sentences of the documents are an attribute of the graph.

    Raises:
        RoleError: an entity is there twice, or a relation has an end that is no entity, the same end twice, or is
            there twice.
    """
    import networkx as nx

    graph: Graph = nx.Graph(sentences=tuple(sentences))
    for entity in entities:
        if entity.name in graph:
            raise RoleError(f"The entity {entity.name!r} is there twice: give each its own name.")
        graph.add_node(entity.name, entity=entity)
    for relation in relations:
        ends = relation.source, relation.target
        if ends[0] == ends[1] or not {*ends} <= set(graph) or graph.has_edge(*ends):
            raise RoleError(f"The relation of {ends[0]!r} and {ends[1]!r} must join two entities, and be there once.")
        graph.add_edge(*ends, relation=relation)
    return graph


def encode_graph(graph: Graph) -> bytes:
    """Return the node-link JSON of a graph, with sorted keys; in memory there is one element as JSON at a time.

    The ends of an edge are `a` and `b` there: `source` and `target` of a relation have an order.
    """
    nodes = ({"id": name, **data["entity"].model_dump(mode="json")} for name, data in graph.nodes(data=True))
    edges = ({"a": a, "b": b, **data["relation"].model_dump(mode="json")} for a, b, data in graph.edges(data=True))
    sentences = map(asdict, graph.graph.get("sentences", ()))
    parts: list[tuple[bytes, Iterable[JsonValue]]] = [
        (b'{"directed":false,"edges":[', edges),
        (b'],"graph":{"sentences":[', sentences),
        (b']},"multigraph":false,"nodes":[', nodes),
    ]
    written = BytesIO()
    for begin, elements in parts:
        written.write(begin)
        for at, one in enumerate(elements):
            written.write(b"," * bool(at) + canonical(one))
    written.write(b"]}\n")
    return written.getvalue()


def decode_graph(data: bytes) -> Graph:
    """Return the graph of node-link JSON.

    Raises:
        ValueError: the bytes are not what `encode_graph` made.
    """
    try:
        found = json.loads(data)
        entities = [Entity.model_validate(_without(node, "id")) for node in found["nodes"]]
        relations = [Relation.model_validate(_without(edge, "a", "b")) for edge in found["edges"]]
        sentences = _statements.validate_python(found["graph"].get("sentences", ()))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("This is no knowledge graph.") from error
    return graph_of(entities, relations, sentences)


def _with_only(one: T, statements: tuple[Statement, ...]) -> T:
    """An entity, or a relation, of which some statements alone are known."""
    if statements == one.statements:
        return one
    description = " ".join(dict.fromkeys(statement.text for statement in statements))
    return one.model_copy(update={"statements": statements, "description": description})


def name_table(entities: Iterable[Entity]) -> Mapping[str, str]:
    """Return the canonical name for each name in its normal spelling; a canonical name outranks another's alias."""
    table: dict[str, str] = {}
    known = list(entities)
    for entity in known:
        for name in entity.names:
            table.setdefault(normal_name(name), entity.name)
    return table | {normal_name(entity.name): entity.name for entity in known}


def _without(data: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in keys}
