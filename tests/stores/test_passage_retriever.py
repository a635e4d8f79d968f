"""The retriever of passages passes LangChain's standard tests, and reads what is published."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from dramaturg.stores.errors import EmbeddingMismatch, MissingIndex
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.index.retriever import PassageRetriever

from passage_samples import EMBEDDING, build, embed, new_role, quick

FRUIT = ["apple", "pear", "plum", "quince", "cherry"]


class HashVectors(Embeddings):
    """The vectors that `passage_samples` indexes a role with."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in row] for row in embed(texts)]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


class TestStandardPassageRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def indexed(self, tmp_path: Path) -> None:
        self.role = new_role(tmp_path)
        build(self.role, FRUIT)

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return PassageRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"role": self.role, "embedding": HashVectors(), "embedding_name": EMBEDDING}

    @property
    def retriever_query_example(self) -> str:
        return "plum"


async def test_a_retriever_reads_what_is_published(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    retriever = PassageRetriever(role=role, embedding=HashVectors(), embedding_name=EMBEDDING, k=2)
    with pytest.raises(MissingIndex, match="run `dramaturg index ada`"):
        retriever.invoke("plum")
    version = build(role, FRUIT)[0].version
    (first, second), store = retriever.invoke("plum"), role.index(passage_kind("acts")).open()
    where = {"source": "life.md", "headings": [], "start": 2, "end": 3, "score": pytest.approx(1.0), "version": version}
    assert (first.id, first.page_content, first.metadata) == ("p2", "plum", where)
    assert [first.id, second.id] == [name for name, _ in store.search(embed(["plum"])[0], 2)]
    assert await retriever.ainvoke("plum", None, k=5) == retriever.invoke("plum", None, k=5)
    build(role, ["fig"])
    assert [document.page_content for document in retriever.invoke("plum")] == ["fig"]


def test_a_retriever_refuses_another_model(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, FRUIT)
    for model, name in ((HashVectors(), "other"), (DeterministicFakeEmbedding(size=7), EMBEDDING)):
        with pytest.raises(EmbeddingMismatch, match="set that model, or index the role again"):
            PassageRetriever(role=role, embedding=model, embedding_name=name).invoke("plum")
    with pytest.raises(ValueError, match="k must be 1 or more"):
        PassageRetriever(role=role, embedding=HashVectors(), embedding_name=EMBEDDING).invoke("plum", None, k=0)
