"""Replies from a knowledge graph: within what the role can know (RoleRAG 3.4), and from local search."""

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from dramaturg.nodes.graph.build import ChunkSettings
from dramaturg.nodes.graph.recall import LocalSearchSettings, LocalState, RecallState, SentencesState
from dramaturg.nodes.graph.scoping import entity_text, graph_of_turn, of_strategy, own_node, relation_text
from dramaturg.nodes.reply import AskedState, Grounds, ReplySettings, grounds_of, spoken
from dramaturg.nodes.run import Run, needs, open_run

__all__ = ["ground_scope", "respond_from_graph", "respond_in_scope", "scope_grounds"]

ALL = 8000  # characters of all that is recalled; the rest is left out, the last recalled first
SCOPED = dict.fromkeys(("entities", "specific", "general", "missing"), "scope_entities")  # who writes them


class GraphReplySettings(ReplySettings, ChunkSettings):
    """A reply that rests on a knowledge graph."""


class ScopedReplyState(AskedState, RecallState, SentencesState):
    """What a reply within the role's boundaries reads."""


@needs(question="read_turn", **SCOPED)
async def respond_in_scope(state: ScopedReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from what was recalled, and decline what the role cannot know, in its own manner (RoleRAG 3.4)."""
    run = await open_run(runtime, GraphReplySettings)
    grounds = await scope_grounds(run, state)
    reply, slips = await spoken(run, state, "respond_in_scope", grounds, data={"knowledge": ""})
    return {"messages": [reply], "evidence": slips, "usage": {"respond_in_scope": run.usage}}


@needs(**SCOPED)
async def ground_scope(state: ScopedReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Gather what a reply can rest on, for who makes it; see `scope_grounds`."""
    run = await open_run(runtime, ChunkSettings)
    return {"gathered": {"scope": await scope_grounds(run, state)}}


async def scope_grounds(run: Run[ChunkSettings], state: ScopedReplyState) -> Grounds:
    """What a reply can rest on within the role's boundaries: "knowledge" from the graph, and what limits it.

    The limits are "unknown", what the role cannot know and why; "silent", what nobody wrote of; and "told", what it
    knows only because the user has said so.
    """
    graph = await graph_of_turn(run, state.get("graph_version"))
    own = own_node(run.role, graph)
    texts = [entity_text(graph.entity(own))] if own else []
    for name in dict.fromkeys(one["entity"] for one in [*state["specific"], *state["general"]]):
        if name != own:
            entity, relation = graph.entity(name), graph.relation(own, name) if own else None
            texts.append(entity_text(entity))
            if relation and relation.description != entity.description:  # nothing is said twice
                texts[-1] += f"\n{relation_text(relation)}"
    unknown = of_strategy(state["entities"], "out of scope")
    limits = {
        "silent": ", ".join(state["missing"]),
        "told": ", ".join(one["name"] for one in of_strategy(state["entities"], "told")),
        "unknown": "\n".join(f"- {one['name']}: {one['reason']}" for one in unknown),
    }
    shown = ("question", "hypothetical", "entities", "out_of_scope", "specific", "general", "missing", "sentences")
    told = [one["text"] for one in state.get("sentences") or () if not any(one["text"] in text for text in texts)]
    beside = "\n".join(within(told, ALL // 4))
    knowledge = [*within(texts, ALL - len(beside)), beside]
    return grounds_of(state, {"knowledge": knowledge}, limits=limits, shown=shown)


class LocalReplyState(AskedState, LocalState):
    """What a reply from local search reads."""


class LocalReplySettings(GraphReplySettings, LocalSearchSettings):
    """A reply from local search."""


@needs(question="read_turn", reached="search_locally", followed="search_locally")
async def respond_from_graph(state: LocalReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the entities and relations that local search reached; nobody says what the role cannot know."""
    run = await open_run(runtime, LocalReplySettings)
    grounds = await local_grounds(run, state)
    reply, slips = await spoken(run, state, "respond_from_knowledge", grounds, data={"knowledge": ""})
    return {"messages": [reply], "evidence": slips, "usage": {"respond_from_graph": run.usage}}


async def local_grounds(run: Run[ChunkSettings], state: LocalReplyState) -> Grounds:
    """What a reply can rest on after a local search: "knowledge", the entities and relations that it reached."""
    graph = await graph_of_turn(run, state.get("graph_version"))
    relations = [graph.relation(*ends) for ends in state["followed"]]
    texts = [entity_text(graph.entity(one["entity"])) for one in state["reached"]]
    texts += [relation_text(relation) for relation in relations if relation]
    return grounds_of(state, {"knowledge": within(texts)}, shown=("reached", "followed"))


def within(texts: Sequence[str], most: int = ALL) -> list[str]:
    """As many texts as a prompt has room for, in characters; the first in any case."""
    shown: list[str] = []
    for text in texts:
        if sum(map(len, shown)) + len(text) > most and shown:
            break
        shown.append(text)
    return shown
