"""Indexing of persona documents as a knowledge graph: its first and last steps. Resumable at every answer."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import JsonValue
from typing_extensions import TypedDict

from dramaturg.models.errors import UnusableAnswer
from dramaturg.nodes.graph.build import ChunkSettings, GraphBuild, GraphDraftState, GraphReport, open_build
from dramaturg.nodes.graph.construction import (
    DescriptionSettings,
    description_of,
    needs_summary,
    put_together,
    repeated_in,
    skeleton,
)
from dramaturg.nodes.graph.facts import facts_key, failures, names_in
from dramaturg.nodes.graph.merging import NormalizationSettings
from dramaturg.nodes.index_steps import cost, made_again_if_stale
from dramaturg.nodes.passages.index import (
    LENGTHS,
    IndexCheckState,
    as_checked,
    documents_after,
    split_documents,
    splitting,
)
from dramaturg.nodes.run import embedder_of, role_of, settings
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.index.graph import GRAPH_FILE, Entity, KnowledgeGraph, encode_graph
from dramaturg.stores.merge_files import PLAN, accept_plan, digest_of_decisions
from dramaturg.stores.role import Role


class GraphIndexSettings(DescriptionSettings):
    """How a knowledge graph is made."""


class GraphPreview(TypedDict):
    """How many chunks there would be, and how many of them the model would have to be asked about."""

    documents: int
    chunks: int
    to_extract: int


def request_outcome(state: GraphDraftState) -> Literal["index", "apply"]:
    """Whether a plan is to be accepted first."""
    return "apply" if state.get("apply") else "index"


async def accept_merge_plan(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make the plan that a person has read and edited the decisions that hold from now on.

    Raises:
        RoleFileError: there is no plan, or a slip in it.
    """
    context = settings(runtime, GraphIndexSettings)
    role = await role_of(context)
    answers = await asyncio.to_thread(role.index(context.index_kind).builder.known)
    await asyncio.to_thread(accept_plan, role.root, names_in(answers.values()))
    return {"apply": False}


async def chunk_persona(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Split the persona documents into chunks D_1 … D_n and write them down as a draft (RoleRAG 3.1).

    Raises:
        ValueError: the role has no persona document with text in it, or a plan is asked for where no names are merged
            or one is waiting already.
    """
    context = settings(runtime, GraphIndexSettings)
    role = await role_of(context)
    if state.get("plan"):
        refuse_plan(context, role)
    model = await embedder_of(context, role)
    documents = await asyncio.to_thread(role.documents)
    rebuild, again = bool(state.get("rebuild")), state.get("overtaken", 0)
    before = None if rebuild else await asyncio.to_thread(graph_to_split_by, role, context)
    chunks, lengths = await asyncio.to_thread(split_documents, documents, context, before)
    if not chunks:
        msg = f"The role {role.id!r} has no persona yet: write Markdown into its folder persona/ and index it again."
        raise ValueError(msg)
    draft = await asyncio.to_thread(
        role.index(context.index_kind).builder.draft,
        chunks,
        embedding=model.name,
        settings={**await asyncio.to_thread(recipe_settings, context, role), **lengths},
        sources={document.name: document.sha256 for document in documents},
        fresh=rebuild,
        after=state["draft"] if again else "",
    )
    runtime.stream_writer({"event": "chunked", "documents": len(documents), "chunks": len(chunks)})
    cost = {} if again else {"usage": Overwrite({})}
    return {"draft": draft, "index": empty_report(len(documents), len(chunks)), "version": "", **cost}


def refuse_plan(context: GraphIndexSettings, role: Role) -> None:
    """Refuse to write a plan that has nothing in it, or over one that a person may have edited.

    Raises:
        ValueError: there is nothing to plan, or a plan is waiting.
    """
    if not context.normalization:
        msg = "There is nothing to plan without entity normalization: leave out normalization=false."
        raise ValueError(msg)
    if (role.root / PLAN).exists():
        msg = f"There is a {PLAN} of {role.id!r} already: carry it out with --apply, or remove it to have a new one."
        raise ValueError(msg)


def empty_report(documents: int, chunks: int) -> GraphReport:
    """What is known before a chunk was read."""
    counts = {"entities": 0, "relations": 0, "merges": 0, "undescribed": 0, "calls": 0, "tokens": 0}
    report = {"version": "", "documents": documents, "chunks": chunks, "failed": [], **counts, "plan": ""}
    return cast("GraphReport", report)


def normalization_outcome(state: GraphDraftState, runtime: Runtime[Any]) -> Literal["on", "off"]:
    """Whether names are to be made one."""
    return "on" if settings(runtime, GraphIndexSettings).normalization else "off"


@made_again_if_stale
async def publish_graph(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Put the graph together, embed its entities, and make it the version that is read from now on.

    Raises:
        StaleDraft: the persona was changed each time that it was indexed.
        MissingIndex: the draft was taken away each time.
        UnusableAnswer: no chunk has any facts, so that there is nothing to publish.
    """
    read: dict[str, JsonValue] = {}
    build = replace(await open_build(state, runtime, GraphIndexSettings), read=read)
    made, answers = await skeleton(build), await build.answers()
    described = {said: description_of(said, answers) for said in repeated_in(made)}
    graph = put_together(made, lambda said: described.get(said) or " ".join(said.texts))
    entities: list[Entity] = [data["entity"] for _, data in graph.nodes(data=True)]
    chunks = await build.chunks()
    failed = failures(chunks, answers)
    if not entities:
        raise UnusableAnswer(nothing_found(build, failed))
    await build.embedded([entity.embedding_text for entity in entities])
    counts = {
        "chunks": len(chunks),
        "failed": len(failed),
        "entities": len(entities),
        "relations": graph.number_of_edges(),
        "merges": sum(len(entity.names) > 1 for entity in entities),
        "undescribed": sum(text is None and needs_summary(said, build) for said, text in described.items()),
    }
    manifest = await asyncio.to_thread(
        build.builder.publish,
        build.draft,
        counts,
        files={GRAPH_FILE: encode_graph(graph)},
        texts=[entity.embedding_text for entity in entities],
        used=read,
        sources=build.run.role.persona,
    )
    report = {**state["index"], **counts, "failed": failed, **cost(state["usage"]), "version": manifest.version}
    runtime.stream_writer({"event": "published", **report})
    return {"index": report, "version": manifest.version, "rebuild": False, "retry": False, "overtaken": 0}


def nothing_found(build: GraphBuild[GraphIndexSettings], failed: Sequence[Mapping[str, str]]) -> str:
    """Why a graph would be empty, and what to do."""
    role, chat = build.run.role, build.run.chat
    if not failed:
        return f"The model {chat.name!r} found nobody and nothing in the documents of {role.id!r}."
    return (
        f"None of the chunks of {role.id!r} has facts ({len(failed)} failed): {failed[0]['error']} Run "
        f"`dramaturg index {role.id} --method role-rag --retry`, with another model if that is the reason."
    )


async def check_graph(state: IndexCheckState, runtime: Runtime[Any]) -> dict[str, Any]:
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


async def preview_graph(context: ChunkSettings, changes: Mapping[str, bytes | None]) -> GraphPreview:
    """Say what a graph would be made of if documents were written (bytes) or removed (None).

    Raises:
        RoleError: the library has no such role, or its files cannot be read.
    """
    return await asyncio.to_thread(_preview, await role_of(context), context, changes)


def _preview(role: Role, context: ChunkSettings, changes: Mapping[str, bytes | None]) -> GraphPreview:
    documents = documents_after(role, changes)
    chunks, _ = split_documents(documents, context, graph_to_split_by(role, context))
    known = role.index(context.index_kind).builder.known()
    left = {facts_key(chunk) for chunk in chunks} - set(known)
    return {"documents": len(documents), "chunks": len(chunks), "to_extract": len(left)}
