"""The reply from a knowledge graph: what was recalled, what the notes are silent on, and what the role cannot know."""

from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.runtime import Runtime

from dramaturg.nodes.graph.draft import ChunkSettings
from dramaturg.nodes.graph.recall import Recalled, RecallState
from dramaturg.nodes.graph.scoping import LONGEST, graph_of_turn, of_strategy, own_node
from dramaturg.nodes.reply import AskedState, ReplySettings, spoken
from dramaturg.nodes.run import settings
from dramaturg.stores.index.graph import Entity, KnowledgeGraph, Relation

ALL = 8000  # characters of all that is recalled; the rest is left out, the last recalled first


class GraphReplySettings(ReplySettings, ChunkSettings):
    """A reply that rests on a knowledge graph."""


class ScopedReplyState(AskedState, RecallState):
    """What a reply within the role's boundaries reads."""


async def respond_in_scope(state: ScopedReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from what was recalled, and decline what the role cannot know, in its own manner (RoleRAG 3.4).

    Raises:
        ModelError: the model gave no reply.
    """
    context = settings(runtime, GraphReplySettings)
    role, graph = await graph_of_turn(context, state["version"])
    own = own_node(role, graph)
    found = {one["entity"]: one for one in [*state["specific"], *state["general"]] if one["entity"] != own}
    of_self = [entity_text(graph.entity(own))] if own else []
    data = {"knowledge": within([*of_self, *knowledge(found.values(), own, graph)])}
    unknown = of_strategy(state["entities"], "out of scope")
    limits = {
        "silent": ", ".join(state["missing"]),
        "told": ", ".join(one["name"] for one in of_strategy(state["entities"], "told")),
        "unknown": "\n".join(f"- {one['name']}: {one['reason']}" for one in unknown),
    }
    reply, usage = await spoken(context, state, "respond_in_scope", data, limits)
    return {"messages": [reply], "usage": {"respond_in_scope": usage}}


def knowledge(found: Iterable[Recalled], own: str | None, graph: KnowledgeGraph) -> list[str]:
    """What is said of each entity, and of how it is connected with the role."""
    return [
        "\n".join(filter(None, [entity_text(graph.entity(one["entity"])), relation_text(own, one, graph)]))
        for one in found
    ]


def entity_text(entity: Entity) -> str:
    """An entity, as a model reads it."""
    return f"{entity.name} ({entity.type}): {entity.description[:LONGEST]}"


def relation_text(own: str | None, one: Recalled, graph: KnowledgeGraph) -> str:
    """How an entity is connected with the role, as a model reads it; not what was said of the entity already."""
    relation = graph.relation(own, one["entity"]) if own else None
    if relation is None or relation.description == graph.entity(one["entity"]).description:
        return ""
    return connection_text(relation)


def connection_text(relation: Relation) -> str:
    """A relation, as a model reads it."""
    return f"{relation.source} – {relation.target}: {relation.description[:LONGEST]}"


def within(texts: Sequence[str]) -> str:
    """As many texts as a prompt has room for."""
    shown: list[str] = []
    for text in texts:
        if sum(map(len, shown)) + len(text) > ALL and shown:
            break
        shown.append(text)
    return "\n\n".join(shown)
