"""What every version in memory has: a manifest, unit vectors, and perhaps a warning."""

from collections.abc import Mapping
from copy import copy
from typing import Any, Self

from dramaturg.stores.manifest import Manifest
from dramaturg.stores.vectors import Vectors


class OpenedVersion:
    """One version of an index, in memory and immutable: a reader keeps the version that it opened."""

    def __init__(self, manifest: Manifest, index: Any) -> None:
        self.manifest = manifest
        self.version = manifest.version
        self.warning = ""
        self._index = index

    def in_place_of(self, error: Exception) -> Self:
        """Return the same version, with a warning that a newer one could not be read."""
        standing_in = copy(self)
        standing_in.warning = f"{error} Until then the version of {self.manifest.created:%Y-%m-%d %H:%M} UTC is read."
        return standing_in

    def vectors(self) -> Vectors:
        """Return the unit vectors, of shape (n, d), in the order of what they are of."""
        rows: Vectors = self._index.reconstruct_n(0, self._index.ntotal)
        return rows

    def has_vectors(self, number: int) -> bool:
        """Whether there are so many vectors, each of the dimension that was recorded."""
        return (self._index.ntotal, self._index.d) == (number, self.manifest.embedding.dimension)

    def made_from(self, embedding: str, sources: Mapping[str, str]) -> bool:
        """Whether this embedding model made it from files with these checksums."""
        made = self.manifest.embedding
        return made.normalized and (made.name, self.manifest.sources) == (embedding, sources)

    def require(self, embedding: str, dimension: int | None = None) -> None:
        """Refuse to compare what different embedding models made.

        Raises:
            EmbeddingMismatch: the index was made by another model, with another dimension, or not normalized.
        """
        self.manifest.embedding.require(embedding, dimension)
