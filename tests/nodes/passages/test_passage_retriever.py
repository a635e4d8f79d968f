"""The retriever of passages passes LangChain's standard tests, and reads what is published."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from dramaturg.models.embeddings import embedder
from dramaturg.nodes.passages.retriever import PassageRetriever
from dramaturg.stores.errors import EmbeddingMismatch, MissingIndex
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.library import open_role
from dramaturg.testing import ScriptedChatModel, WordEmbeddings, write_role
from dramaturg.workflows.methods import context_type, preparations

from passage_samples import EMBEDDING, build, embed, new_role, quick
from roles import run_settings

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


async def test_a_retriever_finds_what_the_role_has_been_told_up_to_its_time(tmp_path: Path) -> None:
    parts = ["# Chapter 1\n\nAn apple.", "# Chapter 2\n\nA pear.", "## Tom\n\nknown_to: tom\n\nA plum."]
    write_role(tmp_path, persona="\n\n".join(parts) + "\n", memories=(), dialogue=())
    context = context_type("naive-rag")(**run_settings(tmp_path, ScriptedChatModel(), splitter="acts"))
    for one in preparations("naive-rag", context).values():
        await one.made({}, lambda *_: None)
    role, model = open_role("ada", tmp_path), embedder(WordEmbeddings(), "en")
    own = {"role": role, "embedding": model.embeddings, "embedding_name": model.name}
    found = {
        as_of: {one.page_content for one in PassageRetriever(**own, as_of=as_of).invoke("Which fruit?")}
        for as_of in ("", "chapter 2", "chapter 1")
    }
    assert found == {"": {"An apple.", "A pear."}, "chapter 2": {"An apple.", "A pear."}, "chapter 1": {"An apple."}}
    with pytest.raises(ValueError, match="'some day' is no moment that can be read"):
        PassageRetriever(**own, as_of="some day").invoke("Which fruit?")
