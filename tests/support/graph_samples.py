"""Knowledge graphs in memory, with names that a page or a file could stumble over."""

from collections.abc import Sequence
from datetime import UTC, datetime

import faiss
import numpy as np

from dramaturg.stores.index.folder import EmbeddingRecord, Manifest
from dramaturg.stores.index.graph import TYPES, Entity, KnowledgeGraph, Relation, Statement, graph_of
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.stores.index.vectors import pack, unit_rows, unpack

LIFE = "Ada kept the light with her brother Tom. The lamp came from Leith."
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!-- <b>&amp;\"'`$data",
    "安德烈·莫罗瓦",
    "등대지기",
    "a\x00\x0b\ufffe",
]


def statement(text: str) -> Statement:
    return Statement(text=text, passage="p1", source="life.md", start=4, end=18)


def knowledge(entities: Sequence[Entity], relations: Sequence[Relation] = ()) -> KnowledgeGraph:
    manifest = Manifest(
        kind="graph",
        version="0" * 24,
        created=datetime(2026, 1, 1, tzinfo=UTC),
        embedding=EmbeddingRecord(name="words", dimension=4),
        settings={},
        sources={},
        counts={},
        files={},
    )
    vectors = unpack(pack(unit_rows(np.ones((len(entities), 4))))) if entities else faiss.IndexFlatIP(4)
    passage = StoredPassage(id="p1", text=LIFE, source="life.md", start=0, end=len(LIFE))
    return KnowledgeGraph(manifest, graph_of(entities, relations), [passage], vectors)


def star(names: Sequence[str]) -> KnowledgeGraph:
    """A role in the middle, who knows all but the last of these."""
    others = [
        Entity(name=name, type=TYPES[at % len(TYPES)], description=name, names=(name, f"{name} too"))  # type: ignore[arg-type]
        for at, name in enumerate(names)
    ]
    kept = (statement("Kept the light."),)
    ada = Entity(name="Ada Quill", type="character", description="Keeper.", names=("Ada Quill",), statements=kept)
    relations = [
        Relation(source=ada.name, target=name, description=f"of {name}", strength=1 + at % 10, statements=kept)
        for at, name in enumerate(names[:-1])
    ]
    return knowledge([ada, *others], relations)


def known_as_ada(known: KnowledgeGraph) -> str | None:
    return known.find("Ada Quill")
