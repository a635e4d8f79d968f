"""What a role's documents say of a question, beside what a reply rests on where its method does not read them.

The papers' methods that rest on memories, relations or an identity have no documents: this is no paper's.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from dramaturg.models.errors import ModelError, WeightsError
from dramaturg.nodes.index_steps import current
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.passages.index import split_documents
from dramaturg.nodes.passages.retrieval import PassageSettings, evidence_of, in_context
from dramaturg.nodes.reply import NO_GROUNDS, Grounds, within_budget
from dramaturg.nodes.run import RoleContext, Run, by_rules
from dramaturg.nodes.self_contained import in_full
from dramaturg.nodes.text.similarity import cosines
from dramaturg.nodes.text.timed import SaidTexts, TimedTexts
from dramaturg.nodes.told import by_names, knowers_of
from dramaturg.stores.errors import DamagedIndex
from dramaturg.stores.index.folder import left_out_of
from dramaturg.stores.index.passages import PassageStore, StoredPassage, passage_kind
from dramaturg.stores.role import Role

__all__ = ["DocumentSettings", "document_grounds"]

SPLITTER = "acts"
"""Whose index is searched: that of the methods that read documents, as they are by default."""
UNINDEXED = 60_000
"""Characters of all documents that are searched without an index: each passage is embedded once a process."""
TOKENS = 1000
"""The most of what is found."""


class DocumentSettings(RoleContext):
    """How much of the role's documents is shown next to what a reply rests on."""

    document_passages: Open[int] = by_rules(
        paper=0,
        ours=3,
        ge=0,
        le=50,
        description="The passages of the role's documents, the nearest to the question, that a reply is shown beside "
        "its memories, relations or identity. 0: none, and ID-RAG's reply is not shown the profile either (the "
        "papers, which know of neither); ours costs no question to the model.",
    )


async def document_grounds(run: Run[DocumentSettings], state: Mapping[str, Any]) -> Grounds:
    """What a reply can rest on beside what its method found: "knowledge", the passages nearest to the question.

    What the profile says already is left out. Long documents are searched in their index and not without one: then the
    evidence says so, as `documents_warning`. Where they cannot be searched it says why, as `documents_error`.
    """
    most = run.settings.document_passages
    if not most:
        return NO_GROUNDS
    try:
        found, warned = await found_in_documents(run, in_full(state), most)
    except (ModelError, WeightsError, ValueError) as error:
        return {**NO_GROUNDS, "evidence": {"documents_error": str(error)}}
    texts = {"knowledge": [in_context(passage) for passage, _ in found]} if found else {}
    grounds, _ = within_budget({**NO_GROUNDS, "texts": texts}, TOKENS)
    kept = grounds["texts"].get("knowledge", [])
    shown = [evidence_of(*one) for at, one in enumerate(found) if not at or in_context(one[0]) in kept]
    kept_back = run.kept_back(state.get("evidence"))
    return {**grounds, "evidence": {**warned, **kept_back, **({"knowledge": shown} if shown else {})}}


async def found_in_documents(
    run: Run[DocumentSettings], question: str, most: int
) -> tuple[list[tuple[StoredPassage, float]], dict[str, Any]]:
    """The passages nearest to a question with their similarities, and what the evidence says of the search.

    Raises:
        ModelError: the embedding model cannot be asked.
        RoleFileError: a document cannot be read.
    """
    role, warned = run.role, dict[str, Any]()
    if not await asyncio.to_thread(role.persona.names):
        return [], {}
    model, said = await run.embedder(), " ".join(role.card.profile.split())
    store = await asyncio.to_thread(indexed, role, model.name)
    if store is not None:
        store = await run.as_known(role.index(passage_kind(SPLITTER)), store)
        near = await asyncio.to_thread(store.search, await model.query(question), 4 * most)
        ranked = [(store.get(one), score) for one, score in near]
        warned = {"documents_warning": store.warning} if store.warning else {}
    else:
        documents = await asyncio.to_thread(role.documents)
        if (length := sum(len(one.text) for one in documents)) > UNINDEXED:
            warning = f"The documents of {role.id!r} have {length:,} characters: they are searched in their index only."
            return [], {"documents_warning": f"{warning} `dramaturg index {role.id}` makes it."}
        passages, _ = await asyncio.to_thread(split_documents, documents, PassageSettings())
        told = SaidTexts({one.name: one for one in documents}, knowers_of).verdicts(by_names(role.own_names))
        there, passages = passages, [one for one in passages if told(one.source, one.start, one.end)]
        run.keep_untold(passages=len(there) - len(passages))
        if as_of := run.as_of:
            said_when = TimedTexts({one.name: one for one in documents}, as_of.timeline).verdicts(as_of.knows)
            known = [said_when(one.source, one.start, one.end) for one in passages]
            run.keep_back(passages=left_out_of(known))
            passages = [one for one, is_known in zip(passages, known, strict=True) if is_known]
        scores = await cosines(model, question, [one.embedding_text for one in passages])
        ranked = sorted(zip(passages, scores, strict=True), key=lambda one: -one[1])
    return [one for one in ranked if " ".join(one[0].text.split()) not in said][:most], warned


def indexed(role: Role, embedding: str) -> PassageStore | None:
    """The index of the documents as they are, made with this embedding model; None: there is none; blocks."""
    try:
        return current(role.index(passage_kind(SPLITTER)), embedding, lambda _: True)
    except DamagedIndex:
        return None
