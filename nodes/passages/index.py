"""The index of passages (AMADEUS 3.1): persona documents are split, embedded and published."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.nodes.index_steps import (
    IndexBuild,
    IndexDraftState,
    IndexingCost,
    NoVector,
    PublishedVersion,
    Rebuild,
    Wishes,
    begin_draft,
    checked,
    cost_of_texts,
    done_with,
    embed_batches,
    made_again_if_stale,
    told,
    unchanged,
    whole_version,
    with_embedding,
)
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.passages.retrieval import PassageSettings, PassagesVersion, under_headings
from dramaturg.nodes.run import needs, open_run, run_of
from dramaturg.nodes.text.splitter import Passage, Window, kept_length, longest_paragraph, split_again, split_document
from dramaturg.stores.documents.forms import Document, document
from dramaturg.stores.documents.originals import unread_sentence
from dramaturg.stores.errors import MissingIndex
from dramaturg.stores.index.folder import IndexStore
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.passages import PassageStore, StoredPassage, passage_kind
from dramaturg.stores.role import Role

LENGTHS = "lengths"  # in a manifest's settings: the l_max of each document


class IndexingSettings(PassageSettings):
    """How passages are embedded."""

    embedding_batch: Open[int] = Field(default=64, ge=1, le=2048, description="Passages embedded in one step.")


class IndexReport(TypedDict):
    """What an index holds, and how much of it was embedded now."""

    version: str
    splitter: str
    documents: int
    passages: int
    embedded: int


class IndexInput(TypedDict, total=False):
    """What indexing may be told."""

    rebuild: Rebuild


class IndexOutput(TypedDict):
    """What indexing gives."""

    index: Annotated[IndexReport, Field(description="What the index holds, and how much of it was embedded now.")]
    version: PublishedVersion
    passages_version: PassagesVersion


class IndexingState(IndexInput, IndexOutput, IndexDraftState):
    """Indexing under way."""

    unembedded: Annotated[int, Field(description="How many passages of the draft have no vector yet.")]


class PassagesCheckState(TypedDict):
    """Whether there is something to read."""

    passages_stale: Annotated[bool, Field(description="Whether passages must be indexed before the role can be asked.")]
    passages_version: NotRequired[PassagesVersion]


async def check_index(state: PassagesCheckState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether the index was made from the persona, the splitting and the embedding model of now."""
    run = await open_run(runtime, PassageSettings)
    kind = passage_kind(run.settings.splitter)
    same = splitting(run.settings)
    return await checked(run, run.role.index(kind), "passages", lambda store: made_with(store) == same)


@needs(passages_stale="check_index")
def passages_outcome(state: PassagesCheckState) -> Literal["current", "stale"]:
    """Whether the passages can be read as they are."""
    return "stale" if state["passages_stale"] else "current"


async def recheck_index(state: IndexingState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether indexing would come to the passages that are read now, and to nothing else; see `unchanged`."""
    run = await open_run(runtime, IndexingSettings)
    index = run.role.index(passage_kind(run.settings.splitter))
    return await unchanged(run, index, state, "passages", told(run, IndexingSettings))


async def split_persona(state: IndexingState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Split the persona documents into passages and write them down as a draft (AMADEUS 3.1).

    Raises:
        ValueError: the role has no persona document with text in it.
    """
    run = await open_run(runtime, IndexingSettings)
    index = run.role.index(passage_kind(run.settings.splitter))
    before = None if state.get("rebuild") else await asyncio.to_thread(passages_like, run.role, run.settings)
    passages, lengths, sources = await read_persona(run.role, run.settings, before)
    begun = await begin_draft(run, index, state, passages, {**splitting(run.settings), **lengths}, sources)
    left = len(await asyncio.to_thread(index.builder.unembedded, begun["draft"]))
    report: IndexReport = {
        "version": begun["draft"],
        "splitter": run.settings.splitter,
        "documents": len(sources),
        "passages": len(passages),
        "embedded": left + (state["index"]["embedded"] if state.get("overtaken") else 0),
    }
    runtime.stream_writer({"event": "split", **report})
    return {**begun, "unembedded": left, "index": report}


@needs(draft="split_persona", index="split_persona")
async def embed_passages(state: IndexingState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Embed the next passages that have no vector yet, and save them.

    Raises:
        ModelError: the embedding model cannot be reached.
        NoVector: it gave some of them no direction.
    """
    run = await open_run(runtime, IndexingSettings)
    builder = run.role.index(passage_kind(run.settings.splitter)).builder
    left, without = 0, list[str]()
    try:
        async for done, total in embed_batches(run, builder, state["draft"], run.settings.embedding_batch):
            left = total - done
            still = await asyncio.to_thread(builder.unembedded, state["draft"])
            without = still[: len(still) - left]  # of this batch, which came first
            break
    except MissingIndex:
        return {"unembedded": 0}  # somebody else was faster with the same draft: publishing finds out
    if without:
        raise NoVector((await run.embedder()).name, without)
    total = state["index"]["passages"]
    runtime.stream_writer({"event": "embedded", "done": total - left, "total": total})
    return {"unembedded": left}


@needs(unembedded="embed_passages")
def embedding_outcome(state: IndexingState) -> Literal["more", "done"]:
    """Whether passages are left without a vector."""
    return "more" if state["unembedded"] else "done"


@needs(draft="split_persona", index="split_persona")
@made_again_if_stale
async def publish_index(state: IndexingState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make the draft the version that is read from now on, unless the persona is no longer what it was made from.

    Raises:
        StaleDraft: the persona was changed each time that it was indexed.
        MissingIndex: the draft, or a vector of it, was taken away each time.
    """
    run = await open_run(runtime, IndexingSettings)
    build = IndexBuild(run, runtime, run.role.index(passage_kind(run.settings.splitter)), state["draft"])
    report, counts = state["index"], {"passages": state["index"]["passages"]}
    done = done_with(told(run, IndexingSettings), report)
    return await build.publish("passages", report, counts, "rebuild", done=done)


METHODS_WITHOUT_PERSONA: Mapping[str, Callable[[Role], object]] = {
    "id-rag": lambda role: role.chronicle().triples,
    "drmr": lambda role: role.dialogues(),
    "emotional-rag": lambda role: role.memories(),
}
"""The methods that do without documents, and the files that each of them takes."""


async def read_persona(
    role: Role, context: PassageSettings, before: PassageStore | KnowledgeGraph | None
) -> tuple[list[StoredPassage], dict[str, JsonValue], dict[str, str]]:
    """The passages of the persona documents, what was measured of each (see `split_documents`), their checksums.

    Raises:
        ValueError: the role has no persona document with text in it.
    """
    documents = await asyncio.to_thread(role.documents)
    passages, lengths = await asyncio.to_thread(split_documents, documents, context, before)
    if not passages:
        msg = f"The role {role.id!r} has no persona yet: write Markdown into its folder persona/ and index it again"
        others = [f"`--method {method}`" for method, files in METHODS_WITHOUT_PERSONA.items() if files(role)]
        choice = f", or talk by what it has files for: {' or '.join(others)}." if others else "."
        raise ValueError(f"{msg}{choice} {unread_sentence(role.root)}".strip())
    return passages, lengths, {one.name: one.sha256 for one in documents}


def splitting(context: PassageSettings) -> dict[str, Any]:
    """The settings that decide which passages there are."""
    if context.splitter == "fixed":
        return {"unit": context.unit, "fixed_length": context.fixed_length, "fixed_overlap": context.fixed_overlap}
    return {"unit": context.unit, "longest": context.longest}


def made_with(store: IndexStore) -> dict[str, JsonValue]:
    """The settings that a version was made with, without what was measured of its documents."""
    return {name: value for name, value in store.manifest.settings.items() if name != LENGTHS}


def passages_like(role: Role, context: PassageSettings) -> PassageStore | None:
    """The passages that are read now, if they were split with these settings; new ones are to be like them."""
    store = whole_version(role.index(passage_kind(context.splitter)))
    return store if store and made_with(store) == splitting(context) else None


def split_documents(
    documents: Sequence[Document], context: PassageSettings, before: PassageStore | KnowledgeGraph | None = None
) -> tuple[list[StoredPassage], dict[str, JsonValue]]:
    """Split each document, one that was split before with its passages wherever the text still holds them.

    Returns:
        The passages of all documents, and the length l_max of each, to be kept with the settings.
    """
    old: dict[str, list[Passage]] = {}
    for passage in before.passages if before else ():
        old.setdefault(passage.source, []).append(Passage(passage.text, passage.headings, passage.start, passage.end))
    known = before.manifest.settings.get(LENGTHS) if before else None
    passages: list[StoredPassage] = []
    lengths: dict[str, JsonValue] = {}
    for one in documents:
        length = known.get(one.name) if isinstance(known, dict) else None
        found, lengths[one.name] = split_one(one.text, context, old.get(one.name, []), length)
        passages += (stored(one.name, part) for part in found)
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


class IndexPreview(TypedDict):
    """How many passages an index would hold, and how many of them would have to be embedded."""

    documents: int
    passages: int
    to_embed: int


async def preview(context: PassageSettings, changes: Mapping[str, bytes | None]) -> IndexPreview:
    """Say what an index would be if documents were written (bytes) or removed (None)."""
    run = await run_of(context)
    embedding = (await run.embedder()).name

    def previewed() -> IndexPreview:
        documents = documents_after(run.role, changes)
        passages, _ = split_documents(documents, context, passages_like(run.role, context))
        builder = run.role.index(passage_kind(context.splitter)).builder
        to_embed = builder.to_embed([one.embedding_text for one in passages], embedding)
        return {"documents": len(documents), "passages": len(passages), "to_embed": len(to_embed)}

    return await asyncio.to_thread(previewed)


def documents_after(role: Role, changes: Mapping[str, bytes | None]) -> list[Document]:
    """The documents that a role would have after a change."""
    documents = [one for one in role.documents() if one.name not in changes]
    new = {name: data for name, data in changes.items() if data is not None}
    documents += (document(data, role.root / "persona" / name, role.root) for name, data in new.items())
    return sorted(documents, key=lambda one: one.name)


async def cost_of_passages(context: IndexingSettings, wishes: Wishes) -> IndexingCost:
    """The passages that have no vector; no chat model is asked."""
    run = await run_of(context)
    before = None if wishes.get("rebuild") else await asyncio.to_thread(passages_like, run.role, context)
    passages, _ = await asyncio.to_thread(lambda: split_documents(run.role.documents(), context, before))
    builder = run.role.index(passage_kind(context.splitter)).builder
    return await with_embedding(cost_of_texts("passages", len(passages), []), run, builder, passages, wishes)
