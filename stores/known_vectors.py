"""Vectors that need not be made again: those of the current version and of the drafts."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dramaturg.stores.draft import key, read_batch
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.index_folder import IndexFolder
from dramaturg.stores.manifest import Published
from dramaturg.stores.passages import PassageStore

Vector = NDArray[np.float32]


class KnownVectors:
    """Vectors of one embedding model at a time, by the hash of the embedded text; each file is read once."""

    def __init__(self, index: IndexFolder) -> None:
        self._index = index
        self._embedding = ""
        self._vectors: dict[str, Vector] = {}
        self._read: set[Path | Published] = set()

    def of(self, embedding: str) -> Mapping[str, Vector]:
        """Return what there is now; damaged files count as not there."""
        batches = set(self._index.drafts.glob("*/vectors/*.npz"))
        gone = {one for one in self._read if isinstance(one, Path)} - batches
        if gone or embedding != self._embedding:
            self.forget()
            self._embedding = embedding
        self._add_current(embedding)
        for path in sorted(batches - self._read):
            self._vectors.update(read_batch(self._index, path, embedding))
            self._read.add(path)
        return self._vectors

    def forget(self) -> None:
        """Give the memory back."""
        self._vectors, self._read, self._embedding = {}, set(), ""

    def _add_current(self, embedding: str) -> None:
        try:
            current = self._index.current()
            if current is None or current.versions[0] in self._read:
                return
            store = PassageStore.open(self._index, current.versions[0])
        except (DamagedIndex, MissingIndex):
            return
        if store.manifest.embedding.name == embedding:
            self._vectors.update(zip(map(key, store.passages), store.vectors(), strict=True))
        self._read.add(current.versions[0])
