"""Which knowledge graph is served now, and whether it is what a role's documents and the settings ask for."""

import asyncio
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import JsonValue

from dramaturg.nodes.chunking import ChunkSettings
from dramaturg.nodes.context import embedder_of, role_of, settings
from dramaturg.nodes.document_splitting import LENGTHS, splitting
from dramaturg.nodes.graph_questions import NormalizationSettings
from dramaturg.nodes.indexing import IndexCheckState, as_checked
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.merge_files import digest_of_decisions
from dramaturg.stores.role import Role

N = TypeVar("N", bound=NormalizationSettings)


async def check_graph(state: IndexCheckState, runtime: Runtime[N]) -> dict[str, Any]:
    """Look whether the graph was made from the documents, the settings, the decisions and the embedding model of now.

    Which chat model made it does not matter: a graph is not made again for another one.
    """
    context = settings(runtime, NormalizationSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    return as_checked(await asyncio.to_thread(current_graph, role, context, model.name))


def current_graph(role: Role, context: NormalizationSettings, embedding: str) -> KnowledgeGraph | None:
    """The graph that is served, if it was made from the sources and settings of now.

    Raises:
        DamagedIndex: no version is what was written.
    """
    graph = served_graph(role, context)
    if graph is None:
        return None
    made = {name: value for name, value in graph.manifest.settings.items() if name != LENGTHS}
    sources = {one.name: one.sha256 for one in role.documents()}
    current = made == recipe_settings(context, role) and graph.made_from(embedding, sources)
    return graph if current else None


def served_graph(role: Role, context: ChunkSettings) -> KnowledgeGraph | None:
    """The graph that is read now.

    Raises:
        DamagedIndex: no version is what was written.
    """
    try:
        return role.index(context.index_kind).open()
    except MissingIndex:
        return None


def graph_to_split_by(role: Role, context: ChunkSettings) -> KnowledgeGraph | None:
    """The graph whose chunks new ones should be like; none if it is damaged or was split in another way."""
    try:
        graph = served_graph(role, context)
    except DamagedIndex:
        return None
    same = graph is not None and all(graph.manifest.settings.get(k) == v for k, v in chunking(context).items())
    return graph if same else None


def recipe_settings(context: NormalizationSettings, role: Role) -> dict[str, JsonValue]:
    """All that decides which graph there is, besides documents and answers."""
    if not context.normalization:
        return chunking(context)
    return {
        **chunking(context),
        "neighbours": context.neighbours,
        "least_similarity": context.least_similarity,
        "same_above": context.same_above,
        "merges": digest_of_decisions(role.root),
    }


def chunking(context: ChunkSettings) -> dict[str, JsonValue]:
    """The settings that decide which chunks there are."""
    return {"splitter": context.splitter, **splitting(context)}
