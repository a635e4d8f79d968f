"""Local search in a knowledge graph, the baseline of RoleRAG (Edge et al. 2024): nearest entities, their neighbours."""

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.graph.draft import ChunkSettings
from dramaturg.nodes.graph.recall import entity_evidence, relation_evidence
from dramaturg.nodes.graph.reply import GraphReplySettings, connection_text, entity_text, within
from dramaturg.nodes.graph.scoping import graph_of_turn
from dramaturg.nodes.reply import AskedState, spoken
from dramaturg.nodes.run import embedder_of, settings
from dramaturg.nodes.turn import StandaloneState
from dramaturg.stores.index.graph import KnowledgeGraph, Relation


class LocalSearchSettings(ChunkSettings):
    """How far local search reaches."""

    starts: int = Field(
        default=5, ge=1, le=100, description="Entities nearest to the question: local search begins there."
    )
    expanded: int = Field(default=15, ge=0, le=200, description="Relations followed from there, strongest first.")


class LocalEntity(TypedDict):
    """An entity that local search reached; the cosine similarity to the question where it began there."""

    entity: str
    score: float | None


class LocalState(StandaloneState):
    """What local search reads and writes; the self-contained question is searched for where there is one."""

    question: str
    version: str
    reached: list[LocalEntity]
    followed: list[list[str]]


class LocalReplyState(AskedState, LocalState):
    """What a reply from local search reads."""


class LocalReplySettings(GraphReplySettings, LocalSearchSettings):
    """A reply from local search."""


async def search_locally(state: LocalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Begin at the entities nearest to the question and follow their strongest relations to the neighbours.

    Raises:
        MissingIndex: the role has no graph.
        EmbeddingMismatch: the graph was made with another embedding model.
    """
    context = settings(runtime, LocalSearchSettings)
    role, graph = await graph_of_turn(context, state["version"])
    model = await embedder_of(context, role)
    vector = await model.embeddings.aembed_query(state.get("standalone") or state["question"])
    graph.require(model.name, len(vector))
    starts = graph.search(vector, context.starts)
    relations = relations_around([name for name, _ in starts], graph)[: context.expanded]
    scores: dict[str, float | None] = dict(starts)
    for relation in relations:
        scores.setdefault(relation.source, None)
        scores.setdefault(relation.target, None)
    reached: list[LocalEntity] = [{"entity": name, "score": score} for name, score in scores.items()]
    evidence = {
        "reached": [{**one, **entity_evidence(graph.entity(one["entity"]))} for one in reached],
        "followed": [relation_evidence(relation) for relation in relations],
        **({"warning": graph.warning} if graph.warning else {}),
    }
    followed = [[relation.source, relation.target] for relation in relations]
    return {"version": graph.version, "reached": reached, "followed": followed, "evidence": evidence}


def relations_around(names: Sequence[str], graph: KnowledgeGraph) -> list[Relation]:
    """The relations of some entities, each once, the strongest first."""
    found = {id(relation): relation for name in names for _, relation in graph.neighbours(name)}
    return sorted(found.values(), key=lambda one: (-one.strength, -len(one.statements), one.source, one.target))


async def respond_from_graph(state: LocalReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the entities and relations that local search reached; nobody says what the role cannot know.

    Raises:
        ModelError: the model gave no reply.
    """
    context = settings(runtime, LocalReplySettings)
    _, graph = await graph_of_turn(context, state["version"])
    relations = [graph.relation(*ends) for ends in state["followed"]]
    texts = [entity_text(graph.entity(one["entity"])) for one in state["reached"]]
    texts += [connection_text(relation) for relation in relations if relation]
    reply, usage = await spoken(context, state, "respond_from_knowledge", {"knowledge": within(texts)})
    return {"messages": [reply], "usage": {"respond_from_graph": usage}}
