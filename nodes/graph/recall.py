"""What a role recalls from its knowledge graph: a strategy a node (RoleRAG 3.4)."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.graph.scoping import ScopeSettings, ScopeState, graph_of_turn, of_strategy, own_node
from dramaturg.nodes.run import embedder_of, settings
from dramaturg.stores.index.graph import Entity, KnowledgeGraph, Relation, embedding_text
from dramaturg.stores.role import Role


class RecallSettings(ScopeSettings):
    """How much is recalled."""

    nearest: int = Field(
        default=3, ge=1, le=50, description="Entities recalled for a specific entity that the graph does not name."
    )
    least_score: float = Field(
        default=-1,
        ge=-1,
        le=1,
        description="Nearest entities below this cosine are not recalled; -1: all are (the paper).",
    )
    general: int = Field(
        default=10, ge=1, le=100, description="Neighbours of the role recalled for general entities, strongest first."
    )


class Recalled(TypedDict):
    """An entity of the graph that was recalled.

    `asked` is the entity of the question, `how` it was found: by its name, as the nearest (with the cosine `score`), or
    as a neighbour of the role.
    """

    entity: str
    asked: str
    how: Literal["name", "nearest", "neighbour"]
    score: float | None


class RecallState(ScopeState):
    """What recall reads and writes: a channel a strategy, since several may run at once."""

    specific: list[Recalled]
    general: list[Recalled]
    missing: list[str]


async def note_out_of_scope(state: RecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Put together what the role cannot know and why; the reply is told so."""
    unknown = [
        {"name": entity["name"], "reason": entity["reason"]}
        for entity in of_strategy(state["entities"], "out of scope")
    ]
    runtime.stream_writer({"event": "out of scope", "entities": unknown})
    return {"evidence": {"out_of_scope": unknown}}


async def recall_specific(state: RecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall the entities that are meant, by name or alias, else the nearest; with their relations to the role.

    An entity that the graph does not name, and to which nothing is near enough, is noted as missing: the reply is told
    that nothing is known of it.
    """
    context = settings(runtime, RecallSettings)
    role, graph = await graph_of_turn(context, state["version"])
    own = own_node(role, graph)
    wanted = of_strategy(state["entities"], "specific")
    found: list[Recalled] = []
    for entity in wanted:
        name = graph.find(entity["name"])
        if name is not None:
            found.append(recalled(name, entity["name"], "name"))
            continue
        text = embedding_text(entity["name"], entity["reason"])
        near = await nearest(text, context.nearest, context, role, graph)
        found += [recalled(one, entity["name"], "nearest", score) for one, score in near]
    missing = [entity["name"] for entity in wanted if entity["name"] not in {one["asked"] for one in found}]
    found = first_of_each(found)
    told = {"missing": missing} if missing else {}
    evidence = {"specific": as_evidence(found, own, graph), **told, **unnamed(role, own)}
    return {"specific": found, "missing": missing, "evidence": evidence}


async def recall_general(state: RecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall the role's 1-hop neighbourhood of the types that are meant, by strength.

    Where the graph does not name the role it has no neighbourhood: the nearest entities of those types are recalled.
    """
    context = settings(runtime, RecallSettings)
    role, graph = await graph_of_turn(context, state["version"])
    own = own_node(role, graph)
    wanted = of_strategy(state["entities"], "general")
    types, asked = {entity["type"] for entity in wanted}, ", ".join(entity["name"] for entity in wanted)
    if own is None:
        near = await nearest(state["standalone"], len(graph.graph), context, role, graph)
        of_types = [(name, score) for name, score in near if graph.entity(name).type in types]
        found = [recalled(name, asked, "nearest", score) for name, score in of_types[: context.general]]
    else:
        around = [entity for entity, _ in graph.neighbours(own) if entity.type in types]
        found = [recalled(one.name, asked, "neighbour") for one in around[: context.general]]
    evidence = {"general": as_evidence(found, own, graph), **unnamed(role, own)}
    return {"general": found, "evidence": evidence}


async def recall_nearest(state: RecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall what is nearest to the question itself: it names no entity that could be looked up."""
    context = settings(runtime, RecallSettings)
    role, graph = await graph_of_turn(context, state["version"])
    own = own_node(role, graph)
    near = await nearest(state["standalone"], context.nearest + 1, context, role, graph)
    found = [recalled(name, "", "nearest", score) for name, score in near if name != own]
    found = found[: context.nearest]
    return {"specific": found, "evidence": {"specific": as_evidence(found, own, graph), **unnamed(role, own)}}


async def nearest(
    text: str, k: int, context: RecallSettings, role: Role, graph: KnowledgeGraph
) -> list[tuple[str, float]]:
    """The k entities nearest to a text, f_k(𝒱, n), that are near enough.

    Raises:
        EmbeddingMismatch: the graph was made with another embedding model.
    """
    model = await embedder_of(context, role)
    vector = await model.embeddings.aembed_query(text)
    graph.require(model.name, len(vector))
    return [(name, score) for name, score in graph.search(vector, k) if score >= context.least_score]


def recalled(
    name: str, asked: str, how: Literal["name", "nearest", "neighbour"], score: float | None = None
) -> Recalled:
    """Write down what was found."""
    return {"entity": name, "asked": asked, "how": how, "score": score}


def first_of_each(found: Iterable[Recalled]) -> list[Recalled]:
    """Each entity once."""
    return list({one["entity"]: one for one in reversed(list(found))}.values())[::-1]


def as_evidence(found: Sequence[Recalled], own: str | None, graph: KnowledgeGraph) -> list[dict[str, Any]]:
    """What was recalled, with its text and the sentences that it comes from."""
    return [
        {
            **one,
            **entity_evidence(graph.entity(one["entity"])),
            "relation": relation_evidence(graph.relation(own, one["entity"]) if own else None),
        }
        for one in found
    ]


def entity_evidence(entity: Entity) -> dict[str, Any]:
    """An entity, plainly."""
    return {
        "type": entity.type,
        "names": list(entity.names),
        "description": entity.description,
        "statements": [one.model_dump() for one in entity.statements],
    }


def relation_evidence(relation: Relation | None) -> dict[str, Any] | None:
    """A relation, plainly."""
    return None if relation is None else relation.model_dump(mode="json")


def unnamed(role: Role, own: str | None) -> dict[str, str]:
    """A warning where the graph does not name the role."""
    return (
        {} if own else {"graph_warning": f"No document names {role.card.name}: see `name` and `aliases` in role.yaml."}
    )
