"""Persona documents into the passages that are stored, again as they were wherever a document was not edited."""

from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from dramaturg.nodes.passage_evidence import under_headings
from dramaturg.nodes.resplit import kept_length, split_again
from dramaturg.nodes.retrieval import PassageSettings
from dramaturg.nodes.sliding_window import Window
from dramaturg.nodes.splitter import Passage, longest_paragraph, split_document
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.passages import PassageStore, StoredPassage
from dramaturg.stores.role_files import Document

LENGTHS = "lengths"  # in a manifest's settings: the l_max of each document


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
    for document in documents:
        length = known.get(document.name) if isinstance(known, dict) else None
        found, lengths[document.name] = split_one(document.text, context, old.get(document.name, []), length)
        passages += (stored(document.name, passage) for passage in found)
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
