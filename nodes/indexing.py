"""Indexing of a persona document: split, embed what changed, publish. Resumable at every step."""

import asyncio
from typing import Any, Literal, TypeVar

import numpy as np
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.context import embedder_of, role_of, settings
from dramaturg.nodes.current_index import current_version, served_or_none
from dramaturg.nodes.document_splitting import split_documents, splitting
from dramaturg.nodes.draft_work import made_again_if_stale
from dramaturg.nodes.retrieval import PassageSettings
from dramaturg.stores.errors import MissingIndex
from dramaturg.stores.index.folder import IndexStore
from dramaturg.stores.index.kinds import passage_kind


class IndexingSettings(PassageSettings):
    """How passages are embedded."""

    embedding_batch: int = Field(default=64, ge=1, le=2048, description="Passages embedded in one step.")


class IndexReport(TypedDict):
    """What an index holds, and how much of it was embedded now."""

    version: str
    splitter: str
    documents: int
    passages: int
    embedded: int


class IndexInput(TypedDict, total=False):
    """What indexing may be told; with `rebuild`, all is split and embedded anew, and the old served until then."""

    rebuild: bool


class IndexOutput(TypedDict):
    """What indexing gives."""

    index: IndexReport
    version: str


class IndexingState(IndexInput, IndexOutput):
    """Indexing under way: the draft on disk, its passages without a vector, how often the persona has changed."""

    draft: str
    left: int
    overtaken: int


class IndexCheckState(TypedDict):
    """Whether an index must be made before a role can be asked, or else which version the turn reads."""

    stale: bool
    version: str


P = TypeVar("P", bound=PassageSettings)
X = TypeVar("X", bound=IndexingSettings)


async def split_persona(state: IndexingState, runtime: Runtime[X]) -> dict[str, Any]:
    """Split the persona documents into passages and write them down as a draft (AMADEUS 3.1).

    Raises:
        ValueError: the role has no persona document with text in it.
    """
    context = settings(runtime, IndexingSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    documents = await asyncio.to_thread(role.documents)
    rebuild = bool(state.get("rebuild"))
    before = None if rebuild else await asyncio.to_thread(served_or_none, role, context)
    passages, lengths = await asyncio.to_thread(split_documents, documents, context, before)
    if not passages:
        msg = f"The role {role.id!r} has no persona yet: write Markdown into its folder persona/ and index it again."
        raise ValueError(msg)
    builder = role.index(passage_kind(context.splitter)).builder
    again = state.get("overtaken", 0)
    draft = await asyncio.to_thread(
        builder.draft,
        passages,
        embedding=model.name,
        settings={**splitting(context), **lengths},
        sources={document.name: document.sha256 for document in documents},
        fresh=rebuild,
        after=state["draft"] if again else "",
    )
    left = len(await asyncio.to_thread(builder.unembedded, draft))
    report: IndexReport = {
        "version": draft,
        "splitter": context.splitter,
        "documents": len(documents),
        "passages": len(passages),
        "embedded": left + (state["index"]["embedded"] if again else 0),
    }
    runtime.stream_writer({"event": "split", **report})
    return {"draft": draft, "left": left, "index": report}


async def embed_passages(state: IndexingState, runtime: Runtime[X]) -> dict[str, Any]:
    """Embed the next passages that have no vector yet, and save them."""
    context = settings(runtime, IndexingSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    builder = role.index(passage_kind(context.splitter)).builder
    try:
        pending = await asyncio.to_thread(builder.unembedded, state["draft"])
        batch = pending[: context.embedding_batch]
        if batch:
            vectors = np.array(await model.embeddings.aembed_documents(batch), np.float32)
            await asyncio.to_thread(builder.add_vectors, state["draft"], batch, vectors)
    except MissingIndex:
        return {"left": 0}  # somebody else was faster with the same draft: publishing finds out
    left = len(pending) - len(batch)
    total = state["index"]["embedded"]
    runtime.stream_writer({"event": "embedded", "done": total - left, "total": total})
    return {"left": left}


def embedding_outcome(state: IndexingState) -> Literal["more", "done"]:
    """Whether passages are left without a vector."""
    return "more" if state["left"] else "done"


@made_again_if_stale
async def publish_index(state: IndexingState, runtime: Runtime[X]) -> dict[str, Any]:
    """Make the draft the version that is read from now on, unless the persona is no longer what it was made from.

    Raises:
        StaleDraft: the persona was changed each time that it was indexed.
        MissingIndex: the draft, or a vector of it, was taken away each time.
    """
    context = settings(runtime, IndexingSettings)
    role = await role_of(context)
    builder = role.index(passage_kind(context.splitter)).builder
    await asyncio.to_thread(
        builder.publish, state["draft"], {"passages": state["index"]["passages"]}, sources=role.persona
    )
    runtime.stream_writer({"event": "published", **state["index"]})
    return {"index": state["index"], "version": state["draft"], "rebuild": False, "overtaken": 0}


async def check_index(state: IndexCheckState, runtime: Runtime[P]) -> dict[str, Any]:
    """Look whether the index was made from the persona, the splitting and the embedding model of now."""
    context = settings(runtime, PassageSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    version = await asyncio.to_thread(current_version, role, context, model.name)
    return {"stale": version is None, "version": version or ""}


def as_checked(store: IndexStore | None) -> dict[str, Any]:
    """What a check writes: the version that is current, or that there is none.

    A warning is told here: nodes that come later ask for this version by name, and then it stands in for none.
    """
    if store is None:
        return {"stale": True, "version": ""}
    warned = {"evidence": {"warning": store.warning}} if store.warning else {}
    return {"stale": False, "version": store.version, **warned}


def index_outcome(state: IndexCheckState) -> Literal["current", "stale"]:
    """Whether the index can be read as it is."""
    return "stale" if state["stale"] else "current"
