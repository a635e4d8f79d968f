"""The index of a knowledge graph (RoleRAG 3.1): its first and last step; facts, merging and summaries are between."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.nodes.asking import asked_in_all
from dramaturg.nodes.graph.build import ChunkSettings, GraphDraftState, GraphVersion, graph_kind, open_build
from dramaturg.nodes.graph.construction import (
    DescriptionSettings,
    description_of,
    needs_summary,
    put_together,
    repeated_in,
    skeleton,
)
from dramaturg.nodes.graph.facts import (
    entities_in,
    facts_key,
    failures,
    left_out,
    mentions_in,
    names_in,
    source_sentences,
    without_answer,
    without_facts,
)
from dramaturg.nodes.graph.merging import NormalizationSettings, groups_of
from dramaturg.nodes.index_steps import (
    IndexingCost,
    Wishes,
    begin_draft,
    checked,
    cost_of_texts,
    done_with,
    made_again_if_stale,
    told,
    unchanged,
    whole_version,
)
from dramaturg.nodes.passages.index import documents_after, made_with, read_persona, split_documents, splitting
from dramaturg.nodes.run import Run, needs, open_run, run_of
from dramaturg.stores.documents.merges import PLAN, accept_plan, digest_of_decisions, read_plan
from dramaturg.stores.index.graph import GRAPH_FILE, Entity, KnowledgeGraph, encode_graph, graph_texts
from dramaturg.stores.role import Role


class GraphIndexSettings(DescriptionSettings):
    """How a knowledge graph is made."""


class GraphCheckState(TypedDict):
    """Whether there is something to read."""

    graph_stale: Annotated[bool, Field(description="Whether the graph must be made before the role can be asked.")]
    graph_version: NotRequired[GraphVersion]


async def check_graph(state: GraphCheckState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether the graph was made from the documents, the settings, the decisions and the embedding model of now.

    Which chat model made it does not matter: a graph is not made again for another one.
    """
    run = await open_run(runtime, NormalizationSettings)
    index = run.role.index(graph_kind(run.settings))
    return await checked(run, index, "graph", lambda graph: is_made_so(graph, run.settings, run.role))


def is_made_so(graph: KnowledgeGraph, context: NormalizationSettings, role: Role) -> bool:
    """Whether a graph was made with these settings; how chains are cut does not matter where none holds a no.

    One of an earlier version, which did not count them, is read as it is until the role is indexed.
    """
    made, wanted = dict(made_with(graph)), recipe(context, role)
    if not graph.manifest.counts.get("noes"):
        made.pop("chains", None)
        wanted.pop("chains", None)
    return made == wanted


@needs(graph_stale="check_graph")
def graph_outcome(state: GraphCheckState) -> Literal["current", "stale"]:
    """Whether the graph can be read as it is."""
    return "stale" if state["graph_stale"] else "current"


async def recheck_graph(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether indexing would come to the graph that is read now, and to nothing else; see `unchanged`."""
    run = await open_run(runtime, GraphIndexSettings)
    return await unchanged(run, run.role.index(graph_kind(run.settings)), state, "graph", await all_told(run))


async def all_told(run: Run[GraphIndexSettings]) -> str:
    """The digest of all that decides the graph, beside documents and embedding model; of the chat model its kind."""
    by_model = run.settings.quotes(run.chat), run.settings.least_certainty(run.chat)
    return told(run, GraphIndexSettings, *by_model, await asyncio.to_thread(digest_of_decisions, run.role.root))


def request_outcome(state: GraphDraftState) -> Literal["index", "apply"]:
    """Whether a plan is to be accepted first."""
    return "apply" if state.get("apply") else "index"


async def accept_merge_plan(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make the plan that a person has read and edited the decisions that hold from now on.

    Raises:
        RoleFileError: there is no plan, or a mistake in it.
    """
    run = await open_run(runtime, GraphIndexSettings)
    answers = await asyncio.to_thread(run.role.index(graph_kind(run.settings)).builder.known)
    documents = await asyncio.to_thread(run.role.persona.names)
    await asyncio.to_thread(accept_plan, run.role.root, names_in(answers.values()), documents)
    return {"apply": False}


async def chunk_persona(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Split the persona documents into chunks D_1 … D_n and write them down as a draft (RoleRAG 3.1).

    Raises:
        ValueError: the role has no persona document with text in it, or a plan is asked for where no names are merged
            or one is waiting already.
    """
    run = await open_run(runtime, GraphIndexSettings)
    role, context = run.role, run.settings
    if state.get("plan") and not context.normalization:
        msg = "There is nothing to plan without entity normalization: leave out normalization=false."
        raise ValueError(msg)
    if state.get("plan") and (role.root / PLAN).exists():
        msg = f"There is a {PLAN} of {role.id!r} already: carry it out with --apply, or remove it to have a new one."
        raise ValueError(msg)
    before = None if state.get("rebuild") else await asyncio.to_thread(chunks_like, role, context)
    chunks, lengths, sources = await read_persona(role, context, before)
    made = {**await asyncio.to_thread(recipe, context, role), **lengths}
    begun = await begin_draft(run, role.index(graph_kind(context)), state, chunks, made, sources)
    counts = {"documents": len(sources), "chunks": len(chunks)}
    runtime.stream_writer({"event": "chunked", **counts})
    nothing = dict.fromkeys(("entities", "relations", "merges", "cut", "noes", "undescribed", "calls", "tokens"), 0)
    report = {"version": "", **counts, "failed": [], "dropped": [], **nothing, "plan": ""}
    return {**begun, "index": report, "normalized": context.normalization}


@needs(normalized="chunk_persona")
def normalization_outcome(state: GraphDraftState) -> Literal["on", "off"]:
    """Whether names are to be made one."""
    return "on" if state["normalized"] else "off"


@needs(draft="chunk_persona", index="chunk_persona")
@made_again_if_stale
async def publish_graph(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Put the graph together, embed it with the sentences of the documents, and make it the version that is read now.

    Raises:
        StaleDraft: the persona was changed each time that it was indexed.
        MissingIndex: the draft was taken away each time.
        UnusableAnswer: no chunk has any facts, so that there is nothing to publish.
    """
    build = await open_build(state, runtime, GraphIndexSettings, read={})
    role, chat = build.run.role, build.run.chat
    groups, answers = await groups_of(build), await build.answers()
    plan = groups.plan(answers, role.card)
    made = await skeleton(build, plan)
    described = {said: description_of(said, answers) for said in repeated_in(made)}
    chunks = await build.records()
    graph = put_together(made, lambda said: described.get(said) or " ".join(said.texts), source_sentences(chunks))
    entities: list[Entity] = [data["entity"] for _, data in graph.nodes(data=True)]
    failed = failures(chunks, answers)
    if not entities:
        raise without_facts(chunks, answers, chat.name, role.id)
    texts = graph_texts(graph)
    await build.embed(texts)
    long = needs_summary(build)
    counts = {
        "chunks": len(chunks),
        "failed": len(failed),
        "entities": len(entities),
        "relations": graph.number_of_edges(),
        "merges": sum(len(entity.names) > 1 for entity in entities),
        "cut": sum(one.same for one in plan.apart),
        "noes": sum(not one.same for one in (*plan.apart, *(why for merge in plan.merges for why in merge.why))),
        "undescribed": sum(text is None and long(said) for said, text in described.items()),
    }
    report = {
        **state["index"],
        **counts,
        "failed": failed,
        "dropped": left_out(chunks, answers),
        **asked_in_all(state["usage"].values()),
    }
    left = counts["undescribed"] or groups.left or groups.unnamed(answers, role.card)
    done = None if left else done_with(await all_told(build.run), report)
    compared = [one.text for one in groups.entities.values()] if build.run.settings.normalization else []
    kept: dict[str, Any] = {"files": {GRAPH_FILE: encode_graph(graph)}, "texts": texts, "compared": compared}
    # What is published is read back beside what is left here: nothing is, nor of what earlier steps had at hand.
    del made, graph, entities, groups, plan, answers, chunks
    described.clear()
    build.run.opened.at_hand.clear()
    return await build.publish("graph", report, counts, "rebuild", "retry", done=done, **kept)


def chunks_like(role: Role, context: ChunkSettings) -> KnowledgeGraph | None:
    """The graph whose chunks new ones are to be like: the one that is read now, if it was split in this way."""
    graph = whole_version(role.index(graph_kind(context)))
    same = graph is not None and all(graph.manifest.settings.get(k) == v for k, v in chunking(context).items())
    return graph if same else None


def recipe(context: NormalizationSettings, role: Role) -> dict[str, JsonValue]:
    """All that decides which graph there is, besides documents and answers."""
    if not context.normalization:
        return chunking(context)
    return {
        **chunking(context),
        "neighbours": context.neighbours,
        "least_similarity": context.least_similarity,
        "same_above": context.same_above,
        "merges": digest_of_decisions(role.root),
        **(
            {"chains": "cut"} if context.chains == "cut" else {}
        ),  # else a graph is as those from before there was a choice
    }


def chunking(context: ChunkSettings) -> dict[str, JsonValue]:
    """The settings that decide which chunks there are."""
    return {"splitter": context.splitter, **splitting(context)}


class GraphPreview(TypedDict):
    """How many chunks there would be, and how many of them the model would have to be asked about."""

    documents: int
    chunks: int
    to_extract: int


async def preview_graph(context: ChunkSettings, changes: Mapping[str, bytes | None]) -> GraphPreview:
    """Say what a graph would be made of if documents were written (bytes) or removed (None)."""
    role = (await run_of(context)).role

    def previewed() -> GraphPreview:
        documents = documents_after(role, changes)
        chunks, _ = split_documents(documents, context, chunks_like(role, context))
        left = {facts_key(chunk) for chunk in chunks} - set(role.index(graph_kind(context)).builder.known())
        return {"documents": len(documents), "chunks": len(chunks), "to_extract": len(left)}

    return await asyncio.to_thread(previewed)


async def cost_of_graph(context: GraphIndexSettings, wishes: Wishes) -> IndexingCost:
    """The chunks without facts; names are compared when facts are there."""
    role, anew = (await run_of(context)).role, wishes.get("rebuild", False)
    before = None if anew else await asyncio.to_thread(chunks_like, role, context)
    chunks, _ = await asyncio.to_thread(lambda: split_documents(role.documents(), context, before))
    answers = {} if anew else await asyncio.to_thread(role.index(graph_kind(context)).builder.known)
    left = [one.text for one in without_answer(chunks, answers, retry=wishes.get("retry", False))]
    later = "then long descriptions are summarized"
    if context.normalization:
        most, names = context.neighbours, None
        if not left:  # else more names come with the facts
            decisions = await asyncio.to_thread(read_plan, role.root)
            names = len(entities_in(mentions_in(chunks, answers, decisions.splits if decisions else ())))
        later = f"then names are embedded, names that look alike compared ({most_pairs(names, most)}), and long "
        later += "descriptions summarized"
    return cost_of_texts("chunks", len(chunks), left, later)


def most_pairs(names: int | None, neighbours: int) -> str:
    """How many pairs of names are compared at most: each name with its nearest among those before it (Algorithm 1)."""
    if names is None:
        return f"at most {neighbours} pairs for each name; the number of names is known when all chunks have been read"
    pairs = sum(min(at, neighbours) for at in range(names))
    return f"at most {pairs:,} pairs of {names:,} names, without those that were compared before"
