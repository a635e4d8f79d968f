"""A LangChain vector store of documents that change: exact cosine search with FAISS, saved without pickle."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from dramaturg.stores.marginal_relevance import marginal_relevance
from dramaturg.stores.vector_store_arguments import Ids, Metadatas, accepts, copied, name_of, new_documents
from dramaturg.stores.vector_store_files import load_documents, save_documents
from dramaturg.stores.vector_store_index import DocumentIndex, Hit, unit_vectors


class FaissVectorStore(VectorStore):
    """Documents with ids and metadata, searched by the cosine of their vectors; safe to use from many threads.

    Every search takes `filter`: a dictionary of metadata that must be equal, or a function that is given each document
    and says whether it counts (it must not change it). It is applied before the k nearest are taken. Scores are
    cosines, best first; equal ones come in the order in which the documents were added. An option that a search does
    not know is refused, so that a slip of the pen is no search without a filter.

    Args:
        embedding: makes the vectors.
        embedding_name: of the model, for `save` and `load`; its class and `model` if not given.
    """

    def __init__(self, embedding: Embeddings, *, embedding_name: str | None = None) -> None:
        self.embedding = embedding
        self.embedding_name = embedding_name or name_of(embedding)
        self._index = DocumentIndex()

    def __len__(self) -> int:
        return len(self._index)

    def __bool__(self) -> bool:
        return True  # an empty store is a store: `store or other` means None

    @property
    def embeddings(self) -> Embeddings:
        """What makes the vectors."""
        return self.embedding

    def add_texts(
        self, texts: Iterable[str], metadatas: Metadatas = None, *, ids: Ids = None, **kwargs: Any
    ) -> list[str]:
        """Embed and add texts; one whose id is there already takes its place. Returns the ids; all are added, or none.

        Args:
            texts: what to add.
            metadatas: of each text; copied.
            ids: of each text; a random one is made where it is missing.
            **kwargs: of no effect; LangChain's `index` passes a `batch_size`.

        Raises:
            ValueError: there are more or fewer ids or metadatas than texts, or the model failed on a text.
            EmbeddingMismatch: the vectors are of another dimension than those that are there.
        """
        documents = new_documents(texts, metadatas, ids)
        vectors = self.embedding.embed_documents([one.page_content for one in documents]) if documents else []
        return self._put(documents, vectors)

    async def aadd_texts(
        self, texts: Iterable[str], metadatas: Metadatas = None, *, ids: Ids = None, **kwargs: Any
    ) -> list[str]:
        """Do what `add_texts` does."""
        documents = new_documents(texts, metadatas, ids)
        vectors = await self.embedding.aembed_documents([one.page_content for one in documents]) if documents else []
        return await asyncio.to_thread(self._put, documents, vectors)

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:
        """Delete these documents, or all if no ids are given; ids that are not there do not matter.

        Raises:
            ValueError: `ids` is one text, or there is an option, such as a filter: it would delete everything.
        """
        if kwargs:
            raise ValueError(f"delete takes nothing but ids, not {', '.join(kwargs)}: search for the ids first.")
        self._index.remove(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return copies of the documents that are there, in the order of the ids."""
        return [copied(document) for document in self._index.get(ids)]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest to a text."""
        return self.similarity_search_by_vector(self.embedding.embed_query(query), k, **kwargs)

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest to a text."""
        return await self.asimilarity_search_by_vector(await self.embedding.aembed_query(query), k, **kwargs)

    def similarity_search_by_vector(self, embedding: Sequence[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the k documents nearest to a vector of shape (d,).

        Raises:
            ValueError: k is below 1, or the vector is zero or not finite.
            EmbeddingMismatch: the vector is of another dimension.
        """
        return [copied(hit.document) for hit in self._hits(embedding, k, kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """Return the k documents nearest to a text, each with its cosine similarity."""
        hits = self._hits(self.embedding.embed_query(query), k, kwargs)
        return [(copied(hit.document), hit.score) for hit in hits]

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the k documents nearest to a text, each with its cosine similarity."""
        vector = await self.embedding.aembed_query(query)
        hits = await asyncio.to_thread(self._hits, vector, k, kwargs)
        return [(copied(hit.document), hit.score) for hit in hits]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k documents near a text and different from each other."""
        vector = self.embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **kwargs)

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k documents near a text and different from each other."""
        vector = await self.embedding.aembed_query(query)
        return await self.amax_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self, embedding: Sequence[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Return k of the `fetch_k` documents nearest to a vector, by maximal marginal relevance.

        Args:
            embedding: of shape (d,).
            k: how many.
            fetch_k: how many to choose from; at least k.
            lambda_mult: 1: as near as possible, 0: as different as possible.
            **kwargs: `filter`.

        Raises:
            ValueError: `lambda_mult` is not from 0 to 1, or what `similarity_search_by_vector` refuses.
        """
        if not 0 <= lambda_mult <= 1:
            raise ValueError(f"lambda_mult must be from 0 to 1, not {lambda_mult}.")
        hits = self._hits(embedding, k if k < 1 else max(k, fetch_k), kwargs)
        if not hits:
            return []
        scores, rows = np.array([hit.score for hit in hits], dtype=np.float32), np.stack([hit.vector for hit in hits])
        return [copied(hits[at].document) for at in marginal_relevance(scores, rows, k, lambda_mult)]

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], embedding: Embeddings, metadatas: Metadatas = None, *, ids: Ids = None, **kwargs: Any
    ) -> Self:
        """Make a store of texts; the other arguments are those of the class."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def save(self, folder: str | Path) -> None:
        """Save the documents and their vectors; a folder that has a store keeps it until the new one is whole.

        Raises:
            ValueError: JSON cannot hold the metadata of a document as it is; nothing was written.
            RoleBusy: another program was saving there for a minute.
            StorageError: the file system refuses; what was there still is.
        """
        save_documents(Path(folder), self.embedding_name, *self._index.content())

    @classmethod
    def load(cls, folder: str | Path, embedding: Embeddings, *, embedding_name: str | None = None) -> Self:
        """Read a saved store, after its checksums were compared; nothing is embedded. The model is the one it had.

        Raises:
            MissingIndex: nothing was saved there.
            DamagedIndex: a file is not what was written.
            EmbeddingMismatch: another embedding model made the vectors.
        """
        store = cls(embedding, embedding_name=embedding_name)
        documents, rows = load_documents(Path(folder), store.embedding_name)
        if rows.shape[1]:
            store._index.put(documents, rows)
        return store

    def _put(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]]) -> list[str]:
        if documents:
            self._index.put(documents, unit_vectors(vectors))
        return [str(document.id) for document in documents]

    def _hits(self, vector: Sequence[float], k: int, options: Mapping[str, Any]) -> list[Hit]:
        return self._index.search(vector, k, accepts(options))

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: min(max(cosine, 0.0), 1.0)  # what points away from the question has no relevance
