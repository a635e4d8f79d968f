"""Vectors that need not be made again: those of the version that is served and of the drafts."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dramaturg.stores.index.draft import key, read_batch
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.manifest import Published
from dramaturg.stores.whole_versions import listed, opened

Vector = NDArray[np.float32]


class KnownVectors:
    """Vectors of one embedding model at a time, by the hash of the embedded text; each file is read once.

    With `draft`, only the vectors of this draft count.
    """

    def __init__(self, index: IndexFolder, draft: str | None = None) -> None:
        self._index = index
        self._draft = draft
        self._embedding = ""
        self._vectors: dict[str, Vector] = {}
        self._read: set[Path | Published] = set()

    def of(self, embedding: str) -> Mapping[str, Vector]:
        """Return what there is now; damaged files count as not there."""
        batches = set(self._index.drafts.glob(f"{self._draft or '*'}/vectors/*.npz"))
        gone = {one for one in self._read if isinstance(one, Path)} - batches
        if gone or embedding != self._embedding:
            self.forget()
            self._embedding = embedding
        if self._draft is None:
            self._add_served(embedding)
        for path in sorted(batches - self._read):
            self._vectors.update(read_batch(self._index, path, embedding))
            self._read.add(path)
        return self._vectors

    def forget(self) -> None:
        """Give the memory back."""
        self._vectors, self._read, self._embedding = {}, set(), ""

    def _add_served(self, embedding: str) -> None:
        """Add the vectors of the newest version that is whole."""
        for published in listed(self._index):
            if published in self._read:
                return
            store = opened(self._index, published)
            if store is None:
                continue
            if store.manifest.embedding.name == embedding and store.manifest.embedding.normalized:
                self._vectors.update(zip(map(key, store.embedded_texts()), store.vectors(), strict=True))
            self._read.add(published)
            return
