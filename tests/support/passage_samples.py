"""A role to index, made-up passages, and vectors that depend on the text alone."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.files import remove
from dramaturg.stores.index.folder import EmbeddingRecord, IndexFolder, Manifest
from dramaturg.stores.index.passages import PassageStore, StoredPassage, passage_kind
from dramaturg.stores.index.vectors import pack, unit_rows, unpack
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role

DIMENSION = 8
EMBEDDING = "hash-8"
SOURCES = {"life.md": "0" * 64}


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk; which steps are taken, and in what order, stays the same."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def names_in(folder: Path) -> list[str]:
    """What lies in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


def new_role(library: Path, role: str = "ada") -> Role:
    """A role with nothing but a name."""
    return Library(library).create(role, RoleCard(name="Ada"))


def reopened(role: Role) -> Role:
    """The same role, as another process would see it: nothing in memory."""
    return Role(role.root)


def passages_of(texts: Sequence[str]) -> list[StoredPassage]:
    """Passages with these texts, one after the other."""
    return [
        StoredPassage(id=f"p{at}", text=text, source="life.md", start=at, end=at + 1) for at, text in enumerate(texts)
    ]


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """A direction for each text."""
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) for text in texts]
    return np.stack([np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32) for seed in seeds])


def build(role: Role, texts: Sequence[str], *, embedding: str = EMBEDDING, batch: int = 2) -> tuple[Manifest, int]:
    """Index these texts; return the manifest and how many were embedded."""
    builder, embedded = role.index(passage_kind("acts")).builder, 0
    version = builder.draft(passages_of(texts), embedding=embedding, settings={"longest": 3}, sources=SOURCES)
    while left := builder.unembedded(version):
        builder.add_vectors(version, left[:batch], embed(left[:batch]))
        embedded += len(left[:batch])
    return builder.publish(version, {"passages": len(texts)}), embedded


def store_of(vectors: np.ndarray) -> PassageStore:
    """A store of these vectors; the texts are numbers."""
    manifest = Manifest(
        kind="acts",
        version="0" * 24,
        created="2026-01-01T00:00:00Z",
        embedding=EmbeddingRecord(name=EMBEDDING, dimension=vectors.shape[1]),
        settings={},
        sources={},
        counts={},
        files={},
    )
    return PassageStore(
        manifest, passages_of([str(at) for at in range(len(vectors))]), unpack(pack(unit_rows(vectors)))
    )


def texts_of(role: Role) -> list[str]:
    """What a reader of the role sees now."""
    return [passage.text for passage in role.index(passage_kind("acts")).open().passages]


def stand_apart(folder: IndexFolder) -> None:
    """Give each version all of its files, so that damage to one leaves the others whole."""
    versions = [folder.undivided(one) for one in folder.published()]
    folder.switch(versions)
    folder.drop_others(versions)
    remove(folder.drafts)
