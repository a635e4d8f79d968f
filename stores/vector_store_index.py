"""Documents and their unit vectors in memory: added, replaced, removed and searched by many threads."""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from langchain_core.documents import Document
from numpy.typing import ArrayLike, NDArray

from dramaturg.stores.errors import EmbeddingMismatch
from dramaturg.stores.index.vectors import Vectors, nearest, unit_rows

Numbers = NDArray[np.int64]


class Hit(NamedTuple):
    """A document that was found, its cosine similarity, and its unit vector of shape (d,)."""

    document: Document
    score: float
    vector: Vectors


class DocumentIndex:
    """An exact index that changes. The documents in it are shared and are never changed themselves.

    Every document gets a number that no other one had, so that what a filter accepted stays right while others write.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents: dict[int, Document] = {}
        self._numbers: dict[str, int] = {}
        self._next = 0
        self._flat: Any = None
        self._index: Any = None

    def __len__(self) -> int:
        return len(self._documents)

    def put(self, documents: Sequence[Document], rows: Vectors) -> None:
        """Add documents that have ids; one whose id is there already takes its place, and so does the last of several.

        Args:
            documents: what to add.
            rows: their unit vectors, of shape (n, d).

        Raises:
            ValueError: there are more or fewer vectors than documents; nothing was added.
            EmbeddingMismatch: they are of another dimension than those that are there; nothing was added.
        """
        if len(rows) != len(documents):
            raise ValueError(f"There are {len(documents)} documents but {len(rows)} vectors.")
        last = {str(document.id): at for at, document in enumerate(documents)}
        with self._lock:
            self._require(rows.shape[1])
            numbers = np.arange(self._next, self._next + len(last))
            self._index.add_with_ids(rows[list(last.values())], numbers)
            self._forget(last)
            self._next += len(last)
            self._numbers.update(zip(last, numbers.tolist(), strict=True))
            self._documents.update((self._numbers[name], documents[at]) for name, at in last.items())

    def remove(self, ids: Collection[str] | None) -> None:
        """Remove these documents, or all; ids that are not there do not matter.

        Raises:
            ValueError: `ids` is one text, whose letters would be taken for ids.
        """
        if isinstance(ids, str):
            raise ValueError(f"ids must be a list: write [{ids!r}].")
        with self._lock:
            self._forget(list(self._numbers) if ids is None else ids)

    def get(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents that are there, in the order of the ids."""
        with self._lock:
            return [self._documents[self._numbers[one]] for one in ids if one in self._numbers]

    def search(self, vector: ArrayLike, k: int, accept: Callable[[Document], bool] | None) -> list[Hit]:
        """Return the k nearest documents, or the k nearest that are accepted; ties in the order they were added.

        Args:
            vector: of shape (d,); its length does not matter.
            k: how many; more than there are gives all.
            accept: says which documents count; it may take its time, others go on meanwhile.

        Raises:
            ValueError: k is below 1, or the vector is zero, not finite or of another shape.
            EmbeddingMismatch: the vector is of another dimension than those that are there.
        """
        if k < 1:
            raise ValueError(f"k must be 1 or more, not {k}.")
        query = unit_vectors([vector])
        accepted = None if accept is None else self._accepted(accept)
        with self._lock:
            if not self._documents:
                return []
            self._require(query.shape[1])
            return self._nearest(query, k, accepted)

    def content(self) -> tuple[list[Document], Vectors]:
        """Return the documents and, in the same order, their unit vectors of shape (n, d)."""
        with self._lock:
            if self._flat is None:
                return [], np.zeros((0, 0), dtype=np.float32)
            return list(self._documents.values()), self._flat.reconstruct_n(0, self._flat.ntotal)

    def _accepted(self, accept: Callable[[Document], bool]) -> list[int]:
        with self._lock:
            entries = list(self._documents.items())
        return [number for number, document in entries if accept(document)]

    def _nearest(self, query: Vectors, k: int, accepted: Sequence[int] | None) -> list[Hit]:
        index = self._index
        if accepted is not None:
            still = [number for number in accepted if number in self._documents]
            index = _Among(index, np.array(still, dtype=np.int64))
        found = nearest(index, query, k) if index.ntotal else []
        rows = self._index.reconstruct_batch(np.array([number for number, _ in found], dtype=np.int64))
        return [Hit(self._documents[number], score, row) for (number, score), row in zip(found, rows, strict=True)]

    def _forget(self, ids: Collection[str]) -> None:
        numbers = [self._numbers.pop(one) for one in dict.fromkeys(ids) if one in self._numbers]
        if numbers:
            self._index.remove_ids(np.array(numbers, dtype=np.int64))
        for number in numbers:
            del self._documents[number]

    def _require(self, dimension: int) -> None:
        """Take the dimension of the first vectors, and no other after it."""
        import faiss

        if self._flat is None:
            self._flat = faiss.IndexFlatIP(dimension)
            self._index = faiss.IndexIDMap2(self._flat)
        elif dimension != self._flat.d:
            raise EmbeddingMismatch(
                f"The store has vectors of {self._flat.d} dimensions, this one has {dimension}: take the embedding "
                f"model that the store was made with, or make a new store."
            )


@dataclass(frozen=True)
class _Among:
    """Some rows of an index, searched like an index: the others are passed over, not sorted out afterwards."""

    index: Any
    numbers: Numbers

    @property
    def ntotal(self) -> int:
        return len(self.numbers)

    def search(self, query: Vectors, k: int) -> tuple[Vectors, Numbers]:
        import faiss

        parameters, selected = faiss.SearchParameters(), faiss.IDSelectorBatch(self.numbers)
        parameters.sel = selected  # the parameters hold no reference to it: it has to outlive the search
        scores, numbers = self.index.search(query, k, params=parameters)
        return scores, numbers


def unit_vectors(vectors: Any) -> Vectors:
    """Return what an embedding model gave as unit vectors of shape (n, d).

    Raises:
        ValueError: these are no lists of numbers of one length, or one is zero or not finite.
    """
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("The embedding model gave no lists of numbers of one length: it failed.") from error
    return unit_rows(rows)
