"""Indexing of a persona document: split, embed what changed, publish. Resumable at every step."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.context import embedder_of, role_of, settings
from dramaturg.nodes.passage_evidence import under_headings
from dramaturg.nodes.retrieval import PassageSettings
from dramaturg.nodes.splitter import Passage, split_document
from dramaturg.stores.passages import StoredPassage
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import Document


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
    """What indexing may be told; with `rebuild`, what is there is thrown away first."""

    rebuild: bool


class IndexOutput(TypedDict):
    """What indexing gives."""

    index: IndexReport
    version: str


class IndexingState(IndexInput, IndexOutput):
    """Indexing under way: the draft on disk, and how many of its passages have no vector yet."""

    draft: str
    left: int


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
    passages = await asyncio.to_thread(passages_in, documents, context)
    if not passages:
        msg = f"The role {role.id!r} has no persona yet: write Markdown into its folder persona/ and index it again."
        raise ValueError(msg)
    builder = role.builder(context.splitter)
    if state.get("rebuild"):
        await asyncio.to_thread(builder.clear)
    sources = {document.name: document.sha256 for document in documents}
    draft = await asyncio.to_thread(
        builder.draft, passages, embedding=model.name, settings=splitting(context), sources=sources
    )
    left = len(await asyncio.to_thread(builder.pending, draft))
    report: IndexReport = {
        "version": draft,
        "splitter": context.splitter,
        "documents": len(documents),
        "passages": len(passages),
        "embedded": left,
    }
    runtime.stream_writer({"event": "split", **report})
    return {"draft": draft, "left": left, "index": report}


async def embed_passages(state: IndexingState, runtime: Runtime[X]) -> dict[str, Any]:
    """Embed the next passages that have no vector yet, and save them."""
    context = settings(runtime, IndexingSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    builder = role.builder(context.splitter)
    pending = await asyncio.to_thread(builder.pending, state["draft"])
    batch = pending[: context.embedding_batch]
    if batch:
        vectors = np.array(await model.embeddings.aembed_documents([p.embedding_text for p in batch]), np.float32)
        await asyncio.to_thread(builder.add_vectors, state["draft"], [p.id for p in batch], vectors)
    left = len(pending) - len(batch)
    total = state["index"]["embedded"]
    runtime.stream_writer({"event": "embedded", "done": total - left, "total": total})
    return {"left": left}


def embedding_outcome(state: IndexingState) -> Literal["more", "done"]:
    """Whether passages are left without a vector."""
    return "more" if state["left"] else "done"


async def publish_index(state: IndexingState, runtime: Runtime[X]) -> dict[str, Any]:
    """Make the draft the version that is read from now on."""
    context = settings(runtime, IndexingSettings)
    role = await role_of(context)
    await asyncio.to_thread(role.builder(context.splitter).publish, state["draft"])
    runtime.stream_writer({"event": "published", **state["index"]})
    return {"index": state["index"], "version": state["draft"], "rebuild": False}


async def check_index(state: IndexCheckState, runtime: Runtime[P]) -> dict[str, Any]:
    """Look whether the index was made from the persona, the splitting and the embedding model of now."""
    context = settings(runtime, PassageSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    version = await asyncio.to_thread(current_version, role, context, model.name)
    return {"stale": version is None, "version": version or ""}


def index_outcome(state: IndexCheckState) -> Literal["current", "stale"]:
    """Whether the index can be read as it is."""
    return "stale" if state["stale"] else "current"


def current_version(role: Role, context: PassageSettings, embedding: str) -> str | None:
    """The version that is published, if it was made from the sources and settings of now."""
    manifest = role.current(context.splitter)
    current = (
        manifest is not None
        and manifest.embedding.name == embedding
        and manifest.settings == splitting(context)
        and manifest.sources == {d.name: d.sha256 for d in role.documents()}
    )
    return manifest.version if manifest and current else None


def splitting(context: PassageSettings) -> dict[str, Any]:
    """The settings that decide which passages there are."""
    if context.splitter == "fixed":
        return {
            "unit": context.unit,
            "fixed_length": context.fixed_length,
            "fixed_overlap": context.fixed_overlap,
        }
    return {"unit": context.unit, "longest": context.longest}


def passages_in(documents: Sequence[Document], context: PassageSettings) -> list[StoredPassage]:
    """Split each document."""
    return [
        stored(document.name, passage)
        for document in documents
        for passage in split_document(document.text, method=context.splitter, **splitting(context))
    ]


def stored(source: str, passage: Passage) -> StoredPassage:
    """A passage as it is kept; one with headings is embedded under them (ĉ = c + H, Eq. 5)."""
    return StoredPassage(
        id=f"{source}:{passage.start}-{passage.end}",
        text=passage.text,
        headings=passage.headings,
        source=source,
        start=passage.start,
        end=passage.end,
        embedded=under_headings(passage.headings, passage.text) if passage.headings else None,
    )
