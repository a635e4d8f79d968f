"""A LangChain retriever over the passages of a role, for flows of one's own."""

import asyncio
from collections.abc import Sequence

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from dramaturg.nodes.known import as_of_in, cut_to
from dramaturg.nodes.told import cut_to_told
from dramaturg.stores.index.passages import StoredPassage, passage_kind
from dramaturg.stores.role import Role

__all__ = ["PassageRetriever"]


class PassageRetriever(BaseRetriever):
    """Passages that `dramaturg index` made, nearest first: those that are published when it is asked, not copied.

    It only reads: what a role knows changes by its documents. What only others have been told is not among them.
    """

    role: Role
    embedding: Embeddings
    embedding_name: str
    """The name that the index was made with: `name` of `dramaturg.models.embeddings.embedder`."""
    kind: str = "acts"
    """The splitter that made the passages."""
    k: int = Field(default=4, ge=1)
    """How many passages; `invoke(question, k=…)` takes another number."""
    as_of: str = ""
    """The moment up to which the role knows its story, as in the settings of a method; empty: it knows all."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._nearest(self.embedding.embed_query(query), k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await asyncio.to_thread(self._nearest, await self.embedding.aembed_query(query), k)

    def _nearest(self, vector: Sequence[float], k: int | None) -> list[Document]:
        index, card = self.role.index(passage_kind(self.kind)), self.role.card
        as_of = as_of_in(self.as_of, card)
        whole = index.open()
        whole.require(self.embedding_name, len(vector))
        store = cut_to_told(index, whole, self.role.own_names, card)
        store = store if as_of is None else cut_to(index, store, as_of, card)
        found = store.search(vector, self.k if k is None else k)
        return [_document(store.get(name), score, store.version) for name, score in found]


def _document(passage: StoredPassage, score: float, version: str) -> Document:
    where = {"source": passage.source, "headings": list(passage.headings), "start": passage.start, "end": passage.end}
    return Document(id=passage.id, page_content=passage.text, metadata={**where, "score": score, "version": version})
