"""The methods by name, imported when asked for: a chat graph, its context, and the graph that prepares a role."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from langgraph.graph import StateGraph

from dramaturg.nodes.index_steps import IndexingCost, Wishes
from dramaturg.nodes.run import RoleContext, run_of
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.memories import MEMORY_KIND
from dramaturg.stores.index.passages import passage_kind


class Method(NamedTuple):
    """Where a method's parts are."""

    chat: str
    prepare: str | None
    """None: there is nothing to prepare."""
    context: str


METHODS: Mapping[str, Method] = {
    "amadeus": Method("amadeus", "amadeus_index", "AmadeusContext"),
    "role-rag": Method("role_rag", "role_rag_index", "RoleRagContext"),
    "emotional-rag": Method("emotional_rag", "emotional_rag_index", "EmotionalRagContext"),
    "drmr": Method("drmr", "drmr_index", "DrmrContext"),
    "id-rag": Method("id_rag", None, "IdRagContext"),
    "naive-rag": Method("naive_rag", "amadeus_index", "NaiveRagContext"),
    "crag": Method("crag", "amadeus_index", "CragContext"),
    "graph-rag-local": Method("graph_rag_local", "role_rag_index", "GraphRagLocalContext"),
    "role-gpt": Method("role_gpt", "drmr_index", "RoleGptContext"),
    "profile": Method("profile", None, "ProfileContext"),
    "vanilla": Method("vanilla", None, "VanillaContext"),
}


COSTS: Mapping[str, tuple[str, str]] = {
    "role_rag_index": ("graph", "cost_of_graph"),
    "emotional_rag_index": ("memories", "cost_of_memories"),
    "drmr_index": ("dialogues", "cost_of_dialogues"),
}
"""The graphs that ask a chat model while they prepare a role, and what counts their questions; others embed only."""


def method(name: str) -> Method:
    """Look a method up.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in METHODS:
        msg = f"There is no method {name!r}; there are: {', '.join(METHODS)}."
        raise ValueError(msg)
    return METHODS[name]


def chat_graph(name: str) -> StateGraph[Any, Any, Any, Any]:
    """The builder of a method's conversation."""
    return _module(method(name).chat).build()  # type: ignore[no-any-return]


def index_graph(name: str) -> StateGraph[Any, Any, Any, Any]:
    """The builder of the graph that prepares a role for a method.

    Raises:
        ValueError: there is nothing to prepare.
    """
    prepare = method(name).prepare
    if prepare is None:
        msg = f"The method {str(name)!r} has no index: there is nothing to prepare."
        raise ValueError(msg)
    return _module(prepare).build()  # type: ignore[no-any-return]


def asks_for_index(name: str) -> bool:
    """Whether a chat model is asked while a role is prepared for a method."""
    return method(name).prepare in COSTS


async def indexing_cost(name: str, context: RoleContext, wishes: Wishes) -> IndexingCost:
    """What preparing a role for a method would ask a chat model; nothing is asked, and no index is changed.

    Args:
        name: of the method.
        context: for which role, with which models.
        wishes: `rebuild`, `retry`, `scores`, as the graph that prepares takes them.
    """
    prepare = method(name).prepare or ""
    if prepare not in COSTS:
        documents = await asyncio.to_thread((await run_of(context)).role.documents)
        return IndexingCost("documents", len(documents), 0, 0)
    folder, count = COSTS[prepare]
    counting = getattr(import_module(f"dramaturg.nodes.{folder}.index"), count)
    return await counting(context, wishes)  # type: ignore[no-any-return]


def index_kind(name: str, context: Any) -> IndexKind[Any, Any] | None:
    """The kind of index that a method reads with these settings; None: it has none."""
    from dramaturg.nodes.graph.build import graph_kind

    match method(name).prepare:
        case "amadeus_index":
            return passage_kind(context.splitter)
        case "role_rag_index":
            return graph_kind(context)
        case "emotional_rag_index":
            return MEMORY_KIND
        case "drmr_index":
            return DIALOGUE_KIND
    return None


def context_type(name: str) -> type[RoleContext]:
    """What a method may be told."""
    return getattr(_module(method(name).chat), method(name).context)  # type: ignore[no-any-return]


def _module(name: str) -> Any:
    return import_module(f"dramaturg.workflows.{name}")
