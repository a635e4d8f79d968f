"""A version of each kind of index, and one whose files are of another kind than its folder says."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dramaturg.stores.files import sha256
from dramaturg.stores.index.dialogues import SpokenLine, StoredDialogue
from dramaturg.stores.index.folder import MANIFEST, IndexFolder, IndexKind, Manifest, Published
from dramaturg.stores.index.graph import GRAPH_FILE, Entity, encode_graph, graph_of
from dramaturg.stores.index.memories import MOODS_FILE, Mood, StoredMemory
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.stores.index.records import Record, encode_records
from dramaturg.stores.role import Role

from passage_samples import EMBEDDING, embed

ADA = Entity(name="Ada", type="character", description="She keeps the light.", names=("Ada",))
RECORDS: Mapping[type[Record], Record] = {
    StoredPassage: StoredPassage(id="p", text="She keeps the light.", source="life.md", start=0, end=20),
    StoredMemory: StoredMemory(
        id="m", text="The lamp went out.", own="The lamp went out.", places=("memories.jsonl:1",)
    ),
    StoredDialogue: StoredDialogue(
        id="d", scene="quay", source="dialogues/a.jsonl:1", lines=(SpokenLine(speaker="Ada", text="Come in."),)
    ),
}
"""The one record that an index holds, by what it is made of."""
BESIDE: Mapping[str, bytes] = {
    MOODS_FILE: encode_records([Mood(emotions=None, error="?")]),
    GRAPH_FILE: encode_graph(graph_of([ADA], [])),
}


def files_of(kind: IndexKind[Any, Any]) -> dict[str, bytes]:
    """What is published of a kind beside records and vectors."""
    return {name: data for name, data in BESIDE.items() if name in kind.store.FILES}


def begun(role: Role, kind: IndexKind[Any, Any]) -> str:
    """The draft of one record, with all the vectors that it needs."""
    builder, record = role.index(kind).builder, RECORDS[kind.records]
    draft = builder.draft([record], embedding=EMBEDDING, settings={}, sources={})
    texts = [record.embedding_text, ADA.embedding_text]
    builder.add_vectors(draft, texts, embed(texts))
    return draft


def publish(role: Role, kind: IndexKind[Any, Any]) -> Manifest:
    """Publish one record."""
    texts = [ADA.embedding_text] if GRAPH_FILE in kind.store.FILES else None
    return role.index(kind).builder.publish(begun(role, kind), {}, files=files_of(kind), texts=texts)


def cross(role: Path, held: IndexKind[Any, Any], into: IndexKind[Any, Any]) -> None:
    """Publish what an index holds as one of another kind, as was possible once; the index itself is gone."""
    source, target = IndexFolder(role, held), IndexFolder(role, into)
    pointer = source.pointer()
    assert pointer
    manifest = source.manifest(pointer.versions[0]).model_copy(update={"kind": into.name}).encoded()
    crossed = Published(version=pointer.versions[0].version, manifest=sha256(manifest))
    shutil.copytree(source.folder_of(pointer.versions[0]), target.folder_of(crossed))
    (target.folder_of(crossed) / MANIFEST).write_bytes(manifest)
    target.switch([crossed, *target.published()])
    shutil.rmtree(source.path)
