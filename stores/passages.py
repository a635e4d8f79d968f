"""The passages of a role: read once, verified, and searched by cosine."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dramaturg.stores.errors import EmbeddingMismatch, RoleError
from dramaturg.stores.index_folder import IndexFolder
from dramaturg.stores.manifest import Manifest, Published
from dramaturg.stores.vectors import Vectors, nearest, unit_rows, unpack

PASSAGES = "passages.jsonl"
VECTORS = "vectors.faiss"


class StoredPassage(BaseModel):
    """A passage of a document, as it was split, with what was embedded for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
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


def encode_passages(passages: Sequence[StoredPassage]) -> bytes:
    """Return the JSON lines of passages."""
    return b"".join(passage.model_dump_json().encode() + b"\n" for passage in passages)


def decode_passages(data: bytes) -> tuple[StoredPassage, ...]:
    """Return the passages of JSON lines (split at line feeds only: a text may hold other line separators)."""
    return tuple(StoredPassage.model_validate_json(line) for line in data.split(b"\n") if line)


class PassageStore:
    """One version of a role's passages, in memory and immutable: a reader keeps the version that it opened."""

    def __init__(self, manifest: Manifest, passages: Sequence[StoredPassage], index: Any) -> None:
        self.manifest = manifest
        self.version = manifest.version
        self.passages: Sequence[StoredPassage] = tuple(passages)
        self._index = index
        self._by_id: Mapping[str, StoredPassage] = {passage.id: passage for passage in self.passages}
        self.warning = ""

    @classmethod
    def open(cls, folder: IndexFolder, published: Published) -> Self:
        """Read and verify a version.

        Raises:
            MissingIndex: the version is no longer there.
            DamagedIndex: a file is not what was published.
        """
        manifest = folder.manifest(published)
        texts, vectors = (folder.content(published, manifest, name) for name in (PASSAGES, VECTORS))
        try:
            store = cls(manifest, decode_passages(texts), unpack(vectors))
        except (ValidationError, ValueError) as error:
            raise folder.damaged(PASSAGES + " or " + VECTORS) from error
        if not store._whole():
            raise folder.damaged(VECTORS)
        return store

    def in_place_of(self, error: Exception) -> Self:
        """Return the same version, with a warning that a newer one could not be read."""
        standing_in = copy(self)
        standing_in.warning = f"{error} Until then the version of {self.manifest.created:%Y-%m-%d %H:%M} UTC is read."
        return standing_in

    def search(self, vector: Sequence[float] | NDArray[np.floating[Any]], k: int) -> list[tuple[str, float]]:
        """Return (passage id, cosine similarity) of the k nearest passages, best first, ties by passage order.

        Args:
            vector: the embedded question, of shape (d,); its length does not matter.
            k: how many; more than there are gives all.

        Raises:
            ValueError: k is below 1, or the vector is zero, not finite or of another dimension than the index.
        """
        if k < 1:
            raise ValueError(f"k must be 1 or more, not {k}.")
        query = np.asarray(vector, dtype=np.float64)
        dimension = self.manifest.embedding.dimension
        if query.shape != (dimension,):
            raise ValueError(f"The index has vectors of shape ({dimension},), the question one of {query.shape}.")
        return [(self.passages[at].id, score) for at, score in nearest(self._index, unit_rows(query[None]), k)]

    def get(self, passage_id: str) -> StoredPassage:
        """Return a passage by its id.

        Raises:
            RoleError: this version has no such passage.
        """
        try:
            return self._by_id[passage_id]
        except KeyError:
            raise RoleError(f"Version {self.version} has no passage {passage_id!r}.") from None

    def vectors(self) -> Vectors:
        """Return the unit vectors, of shape (n, d), in the order of the passages."""
        rows: Vectors = self._index.reconstruct_n(0, self._index.ntotal)
        return rows

    def require(self, embedding: str, dimension: int | None = None) -> None:
        """Refuse to compare what different embedding models made.

        Raises:
            EmbeddingMismatch: the index was made by another model, with another dimension, or not normalized.
        """
        record = self.manifest.embedding
        if not record.normalized:
            raise EmbeddingMismatch(
                "The role is indexed with vectors that are not of length 1, which cannot be compared: index it again."
            )
        if embedding != record.name or dimension not in (None, record.dimension):
            asked = embedding if dimension is None else f"{embedding} ({dimension} dimensions)"
            raise EmbeddingMismatch(
                f"The role is indexed with the embedding model {record.name} ({record.dimension} dimensions), the "
                f"question comes with {asked}: set that model, or index the role again with this one."
            )

    def _whole(self) -> bool:
        size = (self._index.ntotal, self._index.d)
        expected = (len(self.passages), self.manifest.embedding.dimension)
        return size == expected and len(self._by_id) == len(self.passages)
