"""Indexing of a persona document: split, embed what changed, publish. Resumable at every step."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from langgraph.runtime import Runtime
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.nodes.index_steps import made_again_if_stale
from dramaturg.nodes.passages.retrieval import PassageSettings, under_headings
from dramaturg.nodes.run import embedder_of, role_of, settings
from dramaturg.nodes.text.resplit import kept_length, split_again
from dramaturg.nodes.text.splitter import Passage, Window, longest_paragraph, split_document
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.index.folder import IndexStore
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.kinds import passage_kind
from dramaturg.stores.index.passages import PassageStore, StoredPassage
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import Document, document


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


LENGTHS = "lengths"  # in a manifest's settings: the l_max of each document


class IndexPreview(TypedDict):
    """How many passages an index would hold, and how many of them would have to be embedded."""

    documents: int
    passages: int
    to_embed: int


async def split_persona(state: IndexingState, runtime: Runtime[Any]) -> dict[str, Any]:
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


async def embed_passages(state: IndexingState, runtime: Runtime[Any]) -> dict[str, Any]:
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
async def publish_index(state: IndexingState, runtime: Runtime[Any]) -> dict[str, Any]:
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


async def check_index(state: IndexCheckState, runtime: Runtime[Any]) -> dict[str, Any]:
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


def splitting(context: PassageSettings) -> dict[str, Any]:
    """The settings that decide which passages there are."""
    if context.splitter == "fixed":
        return {
            "unit": context.unit,
            "fixed_length": context.fixed_length,
            "fixed_overlap": context.fixed_overlap,
        }
    return {"unit": context.unit, "longest": context.longest}


def split_documents(
    documents: Sequence[Document], context: PassageSettings, before: PassageStore | KnowledgeGraph | None = None
) -> tuple[list[StoredPassage], dict[str, JsonValue]]:
    """Split each document, one that was split before with its passages wherever the text still holds them.

    Returns:
        The passages of all documents, and the length l_max of each, to be kept with the settings.
    """
    old: dict[str, list[Passage]] = {}
    for one in before.passages if before else ():
        old.setdefault(one.source, []).append(Passage(one.text, one.headings, one.start, one.end))
    known = before.manifest.settings.get(LENGTHS) if before else None
    passages: list[StoredPassage] = []
    lengths: dict[str, JsonValue] = {}
    for one in documents:
        length = known.get(one.name) if isinstance(known, dict) else None
        found, lengths[one.name] = split_one(one.text, context, old.get(one.name, []), length)
        passages += (stored(one.name, passage) for passage in found)
    return passages, {} if context.splitter == "fixed" else {LENGTHS: lengths}


def split_one(
    text: str, context: PassageSettings, old: Sequence[Passage], before: JsonValue
) -> tuple[list[Passage], int]:
    """Split a document; return its passages and their length."""
    if context.splitter == "fixed":
        window = Window(context.fixed_length, context.fixed_overlap)
        old = old if context.fixed_overlap < context.fixed_length else []
    else:
        measured = min(longest_paragraph(text, context.unit), context.longest)
        length = kept_length(measured, before if isinstance(before, int) else None) if measured else 0
        window = Window(length, length // 2)
        old = old if length == before else []
    if not old:
        return split_document(text, method=context.splitter, **splitting(context)), window.length
    return split_again(text, old, context.splitter, context.unit, window), window.length


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


def current_version(role: Role, context: PassageSettings, embedding: str) -> str | None:
    """The version that is published, if it was made from the sources and settings of now.

    Raises:
        DamagedIndex: no version is what was written.
    """
    store = served(role, context)
    sources = {document.name: document.sha256 for document in role.documents()}
    return store.version if store and store.made_from(embedding, sources) else None


def served(role: Role, context: PassageSettings) -> PassageStore | None:
    """The passages that are read now, if they were split with these settings.

    Raises:
        DamagedIndex: no version is what was written.
    """
    try:
        store = role.index(passage_kind(context.splitter)).open()
    except MissingIndex:
        return None
    same = {name: value for name, value in store.manifest.settings.items() if name != LENGTHS} == splitting(context)
    return store if same else None


def served_or_none(role: Role, context: PassageSettings) -> PassageStore | None:
    """The same for those who make a new version anyway: what is damaged counts as not there."""
    try:
        return served(role, context)
    except DamagedIndex:
        return None


async def preview(context: PassageSettings, changes: Mapping[str, bytes | None]) -> IndexPreview:
    """Say what an index would be if documents were written (bytes) or removed (None).

    Raises:
        RoleError: the library has no such role, or its files cannot be read.
    """
    role = await role_of(context)
    model = await embedder_of(context, role)
    return await asyncio.to_thread(_preview, role, context, model.name, changes)


def _preview(role: Role, context: PassageSettings, embedding: str, changes: Mapping[str, bytes | None]) -> IndexPreview:
    documents = documents_after(role, changes)
    passages, _ = split_documents(documents, context, served_or_none(role, context))
    builder = role.index(passage_kind(context.splitter)).builder
    to_embed = builder.to_embed([one.embedding_text for one in passages], embedding)
    return {
        "documents": len(documents),
        "passages": len(passages),
        "to_embed": len(to_embed),
    }


def documents_after(role: Role, changes: Mapping[str, bytes | None]) -> list[Document]:
    """The documents that a role would have after a change."""
    documents = [one for one in role.documents() if one.name not in changes]
    documents += (_document(role, name, data) for name, data in changes.items() if data is not None)
    return sorted(documents, key=lambda one: one.name)


def _document(role: Role, name: str, data: bytes) -> Document:
    return document(data, role.root / "persona" / name, role.root)
