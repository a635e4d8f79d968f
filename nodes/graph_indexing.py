"""Indexing of persona documents as a knowledge graph: its first and last steps. Resumable at every answer."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import JsonValue

from dramaturg.models.errors import UnusableAnswer
from dramaturg.nodes.context import embedder_of, role_of, settings
from dramaturg.nodes.current_graph import graph_to_split_by, recipe_settings
from dramaturg.nodes.document_splitting import split_documents
from dramaturg.nodes.draft_work import cost, made_again_if_stale
from dramaturg.nodes.fact_extraction import failures
from dramaturg.nodes.graph_construction import built, told_in
from dramaturg.nodes.graph_draft import GraphDraftState, GraphReport
from dramaturg.nodes.graph_facts import names_in
from dramaturg.nodes.graph_questions import Asked, asked_of, embedded
from dramaturg.nodes.graph_summaries import DescriptionSettings, description_of, long_enough, skeleton
from dramaturg.stores.graph_records import Entity
from dramaturg.stores.merge_files import PLAN, accept_plan
from dramaturg.stores.role import Role


class GraphIndexSettings(DescriptionSettings):
    """How a knowledge graph is made."""


G = TypeVar("G", bound=GraphIndexSettings)


def request_outcome(state: GraphDraftState) -> Literal["index", "apply"]:
    """Whether a plan is to be accepted first."""
    return "apply" if state.get("apply") else "index"


async def accept_merge_plan(state: GraphDraftState, runtime: Runtime[G]) -> dict[str, Any]:
    """Make the plan that a person has read and edited the decisions that hold from now on.

    Raises:
        RoleFileError: there is no plan, or a slip in it.
    """
    context = settings(runtime, GraphIndexSettings)
    role = await role_of(context)
    answers = await asyncio.to_thread(role.graph_builder(context.index_kind).known)
    await asyncio.to_thread(accept_plan, role.root, names_in(answers.values()))
    return {"apply": False}


async def chunk_persona(state: GraphDraftState, runtime: Runtime[G]) -> dict[str, Any]:
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
        role.graph_builder(context.index_kind).draft,
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


def normalization_outcome(state: GraphDraftState, runtime: Runtime[G]) -> Literal["on", "off"]:
    """Whether names are to be made one."""
    return "on" if settings(runtime, GraphIndexSettings).normalization else "off"


@made_again_if_stale
async def publish_graph(state: GraphDraftState, runtime: Runtime[G]) -> dict[str, Any]:
    """Put the graph together, embed its entities, and make it the version that is read from now on.

    Raises:
        StaleDraft: the persona was changed each time that it was indexed.
        MissingIndex: the draft was taken away each time.
        UnusableAnswer: no chunk has any facts, so that there is nothing to publish.
    """
    seen: dict[str, JsonValue] = {}
    asked = (await asked_of(runtime, state["draft"]))._replace(seen=seen)
    made, answers = await skeleton(asked, runtime), await asked.answers()
    described = {told: description_of(told, answers) for told in told_in(made)}
    graph = built(made, lambda told: described.get(told) or " ".join(told.texts))
    entities: list[Entity] = [data["entity"] for _, data in graph.nodes(data=True)]
    chunks = await asyncio.to_thread(asked.builder.records, asked.draft)
    failed = [one._asdict() for one in failures(chunks, answers)]
    if not entities:
        raise UnusableAnswer(nothing_found(asked, failed))
    await embedded([entity.embedding_text for entity in entities], asked, runtime)
    counts = {
        "chunks": len(chunks),
        "failed": len(failed),
        "entities": len(entities),
        "relations": graph.number_of_edges(),
        "merges": sum(len(entity.names) > 1 for entity in entities),
        "undescribed": sum(text is None and long_enough(told, asked) for told, text in described.items()),
    }
    manifest = await asyncio.to_thread(asked.builder.publish, asked.draft, graph, seen, counts, asked.role.persona)
    report = {**state["index"], **counts, "failed": failed, **cost(state["usage"]), "version": manifest.version}
    runtime.stream_writer({"event": "published", **report})
    return {"index": report, "version": manifest.version, "rebuild": False, "retry": False, "overtaken": 0}


def nothing_found(asked: Asked, failed: Sequence[Mapping[str, str]]) -> str:
    """Why a graph would be empty, and what to do."""
    if not failed:
        return f"The model {asked.chat.name!r} found nobody and nothing in the documents of {asked.role.id!r}."
    return (
        f"None of the chunks of {asked.role.id!r} has facts ({len(failed)} failed): {failed[0]['error']} Run "
        f"`dramaturg index {asked.role.id} --method role-rag --retry`, with another model if that is the reason."
    )
