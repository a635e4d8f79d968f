"""The passages of a role: read once, verified, and searched by cosine."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dramaturg.stores.errors import RoleError
from dramaturg.stores.index.folder import IndexKind, IndexStore, LeftOut, Manifest
from dramaturg.stores.index.records import Record, decode_records
from dramaturg.stores.index.vectors import nearest, query_row

PASSAGES_FILE = "passages.jsonl"
VECTORS_FILE = "vectors.faiss"


class StoredPassage(Record):
    """A passage of a document, as it was split, with what was embedded for it."""

    text: str
    headings: tuple[str, ...] = ()
    """The path of headings above the passage, outermost first."""
    source: str
    """The name of the document."""
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    """The passage is `text[start:end]` of the document."""
    embedded: str | None = None
    """The text that was embedded, where it is not the passage alone (AMADEUS, 3.1: the chunk with its headings)."""

    @property
    def embedding_text(self) -> str:
        """The text to embed."""
        return self.text if self.embedded is None else self.embedded


class PassageStore(IndexStore):
    """One version of a role's passages, searched by cosine."""

    FILES = (PASSAGES_FILE, VECTORS_FILE)

    def __init__(self, manifest: Manifest, passages: Sequence[StoredPassage], index: Any) -> None:
        super().__init__(manifest, index)
        self.passages: Sequence[StoredPassage] = tuple(passages)
        self._by_id: Mapping[str, StoredPassage] = {passage.id: passage for passage in self.passages}

    @classmethod
    def decode(cls, manifest: Manifest, files: Sequence[bytes], index: Any) -> Self:
        """Return the version that these files hold; ValueError: they are not what was written."""
        (passages,) = files
        store = cls(manifest, decode_records(passages, StoredPassage), index)
        if len(store._by_id) != len(store.passages):
            raise ValueError("Two passages have one id.")
        return store

    def search(self, vector: Sequence[float] | NDArray[np.floating[Any]], k: int) -> list[tuple[str, float]]:
        """Return (passage id, cosine similarity) of the k nearest passages, best first, ties by passage order.

        Args:
            vector: the embedded question, of shape (d,); its length does not matter.
            k: how many; more than there are gives all.

        Raises:
            ValueError: k is below 1, or the vector is zero, not finite or of another dimension than the index.
        """
        query = query_row(vector, self.manifest.embedding.dimension, k)
        return [(self.passages[at].id, score) for at, score in nearest(self._index, query, k)]

    def get(self, passage_id: str) -> StoredPassage:
        """Return a passage by its id."""
        try:
            return self._by_id[passage_id]
        except KeyError:
            raise RoleError(f"Version {self.version} has no passage {passage_id!r}.") from None

    def cut(self, rows: Sequence[int], left_out: Mapping[str, LeftOut]) -> Self:
        """Return the same version with some of its passages."""
        some = super().cut(rows, left_out)
        some.passages = tuple(self.passages[at] for at in rows)
        some._by_id = {passage.id: passage for passage in some.passages}
        return some

    def embedded_texts(self) -> list[str]:
        """Return the texts that were embedded, in the order of the passages."""
        return [passage.embedding_text for passage in self.passages]


def passage_kind(splitter: str) -> IndexKind[StoredPassage, PassageStore]:
    """Return the kind of index that holds the passages of a splitter.

    Raises:
        RoleError: the name cannot be that of a folder.
    """
    method = "naive-rag" if splitter == "fixed" else ""
    return IndexKind(splitter, StoredPassage, PassageStore, "persona", method)
