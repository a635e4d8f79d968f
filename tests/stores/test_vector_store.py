"""The vector store passes LangChain's standard tests, finds what brute force finds, and loads nothing damaged."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from dramaturg.stores.errors import DamagedIndex, EmbeddingMismatch, MissingIndex, StorageError
from dramaturg.stores.index.kinds import passage_kind
from dramaturg.stores.index.retriever import PassageRetriever
from dramaturg.stores.index.vectors import unit_rows
from dramaturg.stores.marginal_relevance import marginal_relevance
from dramaturg.stores.vector_store import FaissVectorStore

from passage_samples import EMBEDDING, build, embed, names_in, new_role, quick
from property_settings import property_settings
from weight_sources import together

FRUIT = ["apple", "pear", "plum", "quince", "cherry"]


class TextVectors(Embeddings):
    """The vector of a text is what the text says; `counted` is how many were asked for."""

    def __init__(self) -> None:
        self.counted = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.counted += len(texts)
        return [[float(number) for number in text.split()] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class HashVectors(Embeddings):
    """The vectors that `passage_samples` indexes a role with."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in row] for row in embed(texts)]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def fruit() -> FaissVectorStore:
    store = FaissVectorStore(DeterministicFakeEmbedding(size=6))
    metadatas = [{"at": at, "stone": name in ("plum", "cherry")} for at, name in enumerate(FRUIT)]
    store.add_texts(FRUIT, metadatas, ids=FRUIT)
    return store


class TestStandardStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> VectorStore:
        return FaissVectorStore(self.get_embeddings())


class TestStandardLoadedStore(VectorStoreIntegrationTests):
    """A store that was saved when it was empty and read again is like a new one."""

    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> VectorStore:
        FaissVectorStore(self.get_embeddings()).save(tmp_path)
        return FaissVectorStore.load(tmp_path, self.get_embeddings())


class TestStandardEmptiedStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> VectorStore:
        store = FaissVectorStore.from_texts(FRUIT, self.get_embeddings())
        store.delete()
        store.save(tmp_path)
        return FaissVectorStore.load(tmp_path, self.get_embeddings())


class OfFruit(RetrieversIntegrationTests):
    search: dict[str, Any] = {}  # noqa: RUF012

    @pytest.fixture(autouse=True)
    def filled(self, fruit: FaissVectorStore) -> None:
        self.fruit = fruit

    @property
    def retriever_constructor(self) -> Any:
        def construct(**numbers: int) -> BaseRetriever:
            return self.fruit.as_retriever(**{**self.search, "search_kwargs": self.search["search_kwargs"] | numbers})

        return construct

    @property
    def retriever_query_example(self) -> str:
        return "plum"


class TestStandardRetriever(OfFruit):
    search = {"search_type": "similarity", "search_kwargs": {"filter": lambda document: document.id != "pear"}}  # noqa: RUF012


class TestStandardDiverseRetriever(OfFruit):
    search = {"search_type": "mmr", "search_kwargs": {"fetch_k": 2}}  # noqa: RUF012


class TestStandardThresholdRetriever(OfFruit):
    search = {"search_type": "similarity_score_threshold", "search_kwargs": {"score_threshold": 0.0}}  # noqa: RUF012


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


rows_of = st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4).filter(any), min_size=1, max_size=30)
row_of = st.lists(st.integers(-3, 3), min_size=4, max_size=4).filter(any)


def text_of(row: list[int]) -> str:
    return " ".join(map(str, row))


def brute_force(rows: dict[str, list[int]], query: list[int], k: int) -> list[float]:
    cosines = unit_rows(list(rows.values())) @ unit_rows([query])[0] if rows else np.zeros(0)
    return sorted(cosines.tolist(), reverse=True)[:k]


@property_settings(80)
@given(rows=rows_of, query=row_of, k=st.integers(1, 40), data=st.data())
def test_search_is_brute_force_with_filters_and_after_changes(
    rows: list[list[int]], query: list[int], k: int, data: st.DataObject
) -> None:
    store, expected = FaissVectorStore(TextVectors()), {str(at): row for at, row in enumerate(rows)}
    store.add_texts(map(text_of, rows), [{"even": at % 2 == 0} for at in range(len(rows))], ids=list(expected))
    gone = data.draw(st.lists(st.sampled_from(list(expected)), unique=True))
    new = data.draw(st.dictionaries(st.sampled_from(list(expected)), row_of))
    store.delete(gone)
    store.add_texts(map(text_of, new.values()), [{"even": int(at) % 2 == 0} for at in new], ids=list(new))
    expected = {at: row for at, row in expected.items() if at not in gone} | new
    kinds: list[tuple[Any, Callable[[str], bool]]] = [
        (None, lambda at: True),
        ({}, lambda at: True),
        ({"even": True}, lambda at: int(at) % 2 == 0),
        ({"even": True, "odd": True}, lambda at: False),
        (lambda document: int(document.id) % 3 == 0, lambda at: int(at) % 3 == 0),
    ]
    for accept, counts in kinds:
        found = store.similarity_search_with_score(text_of(query), k, filter=accept)
        among = {at: row for at, row in expected.items() if counts(at)}
        assert [score for _, score in found] == pytest.approx(brute_force(among, query, k), abs=1e-6)
        assert len({document.id for document, _ in found}) == len(found) == min(k, len(among))
        for document, score in found:
            assert document.page_content == text_of(among[str(document.id)])
            assert [score] == pytest.approx(brute_force({"": among[str(document.id)]}, query, 1), abs=1e-6)
    assert len(store) == len(expected)


@property_settings(60)
@given(copies=st.lists(st.integers(0, 2), min_size=1, max_size=60), k=st.integers(1, 60))
def test_ties_come_in_the_order_they_were_added(copies: list[int], k: int) -> None:
    directions = ["3 1 1 1", "1 3 1 1", "1 1 3 1"]  # the last two are equally far from the first
    store = FaissVectorStore(TextVectors())
    store.add_texts([directions[copy] for copy in copies], ids=[str(at) for at in range(len(copies))])
    expected = sorted(range(len(copies)), key=lambda at: (copies[at] != 0, at))
    for accept in (None, {}):
        found = store.similarity_search(directions[0], k, filter=accept)
        assert [int(document.id or "") for document in found] == expected[:k]


@property_settings(60)
@given(rows=rows_of, query=row_of, k=st.integers(1, 10), trade=st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_marginal_relevance_is_as_good_as_the_library_one(
    rows: list[list[int]], query: list[int], k: int, trade: float
) -> None:
    unit, question = unit_rows(rows), unit_rows([query])[0]
    mine = marginal_relevance(unit @ question, unit, k, trade)
    theirs = maximal_marginal_relevance(question, list(unit), trade, k)
    assert len(set(mine)) == len(mine) == len(theirs)
    assert (unit @ question)[mine[0]] == pytest.approx(max(unit @ question), abs=1e-6)
    for step in range(1, len(mine)):  # ties may be broken otherwise, so what counts is the value of each choice
        value = trade * (unit @ question) - (1 - trade) * (unit @ unit[mine[:step]].T).max(axis=1)
        value[mine[:step]] = -np.inf
        assert value[mine[step]] == pytest.approx(value.max(), abs=1e-5)


def test_marginal_relevance_passes_over_what_is_the_same() -> None:
    store = FaissVectorStore.from_texts(["9 1 0", "9 1 0", "9 0 2", "-1 0 0"], TextVectors(), ids=list("abcd"))
    assert [one.id for one in store.max_marginal_relevance_search("8 1 1", k=2, fetch_k=3)] == ["a", "c"]
    assert [one.id for one in store.max_marginal_relevance_search("9 1 0", k=2, lambda_mult=1)] == ["a", "b"]
    assert [one.id for one in store.max_marginal_relevance_search("8 1 1", k=9, fetch_k=1)] == list("acbd")
    accept = {"filter": lambda document: document.id in "bd"}
    assert [one.id for one in store.max_marginal_relevance_search("9 1 0", k=4, **accept)] == ["b", "d"]
    assert FaissVectorStore(TextVectors()).max_marginal_relevance_search("1 2") == []


async def test_the_async_methods_give_the_same(fruit: FaissVectorStore) -> None:
    for accept in (None, {"stone": True}):
        options: dict[str, Any] = {"k": 3, "filter": accept}
        assert await fruit.asimilarity_search("fig", **options) == fruit.similarity_search("fig", **options)
        scored = fruit.similarity_search_with_score("fig", **options)
        assert await fruit.asimilarity_search_with_score("fig", **options) == scored
        vector = fruit.embeddings.embed_query("fig")
        assert await fruit.asimilarity_search_by_vector(vector, **options) == [document for document, _ in scored]
        relevance = fruit.similarity_search_with_relevance_scores("fig", **options)
        assert await fruit.asimilarity_search_with_relevance_scores("fig", **options) == relevance
        diverse = fruit.max_marginal_relevance_search("fig", **options)
        assert await fruit.amax_marginal_relevance_search("fig", **options) == diverse
    made = await FaissVectorStore.afrom_texts(FRUIT, DeterministicFakeEmbedding(size=6), ids=FRUIT)
    assert await made.asimilarity_search("plum", 1) == [Document(id="plum", page_content="plum")]
    assert await made.adelete() is True
    assert len(made) == 0


def test_relevance_is_from_0_to_1() -> None:
    store = FaissVectorStore.from_texts(["1 0", "1 1", "0 1", "-1 0"], TextVectors())
    found = [score for _, score in store.similarity_search_with_relevance_scores("3 0", k=4)]
    assert found == pytest.approx([1, 0.5**0.5, 0, 0], abs=1e-6)
    assert all(0 <= score <= 1 for score in found)
    near = store.similarity_search_with_relevance_scores("3 0", k=4, score_threshold=0.7)
    assert [document.page_content for document, _ in near] == ["1 0", "1 1"]


def test_a_store_of_documents_made_at_once() -> None:
    documents = [Document(id="a", page_content="1 0", metadata={"n": 1}), Document(page_content="0 1")]
    store = FaissVectorStore.from_documents(documents, TextVectors(), embedding_name="texts")
    assert store.embedding_name == "texts"
    assert store.similarity_search("1 0", 1) == documents[:1]
    assert len(store) == 2


def test_the_last_of_several_with_one_id_stays(fruit: FaissVectorStore) -> None:
    assert fruit.add_texts(["fig", "date"], ids=["one", "one"]) == ["one", "one"]
    assert [document.page_content for document in fruit.get_by_ids(["one"])] == ["date"]
    assert len(fruit) == 6
    assert fruit.add_texts(iter([])) == []
    assert len(set(fruit.add_texts(name for name in ("x", "y")))) == 2
    assert len(fruit) == 8


def test_documents_are_copied_in_and_out(fruit: FaissVectorStore) -> None:
    metadata: dict[str, Any] = {"tags": ["a"]}
    fruit.add_texts(["fig"], [metadata], ids=["fig"])
    metadata["tags"].append("b")
    for found in (fruit.get_by_ids(["fig"]), fruit.similarity_search("fig", 1)):
        assert found[0].metadata == {"tags": ["a"]}
        found[0].metadata["tags"].append("c")
    assert fruit.similarity_search_with_score("fig", 1)[0][0].metadata == {"tags": ["a"]}


def test_langchain_indexing_keeps_the_store_in_step() -> None:
    store, records = FaissVectorStore(DeterministicFakeEmbedding(size=6)), InMemoryRecordManager("test")
    records.create_schema()

    def step(*texts: str) -> dict[str, int]:
        documents = [Document(page_content=text, metadata={"source": "list"}) for text in texts]
        return dict(index(documents, records, store, cleanup="full", source_id_key="source", key_encoder="sha256"))

    assert step("a", "b")["num_added"] == 2
    assert step("b", "c") == {"num_added": 1, "num_updated": 0, "num_skipped": 1, "num_deleted": 1}
    assert {document.page_content for document in store.similarity_search("b", 9)} == {"b", "c"}


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda store: store.similarity_search("x", 0), "k must be 1 or more, not 0"),
        (lambda store: store.max_marginal_relevance_search("x", -1), "k must be 1 or more, not -1"),
        (lambda store: store.max_marginal_relevance_search("x", lambda_mult=1.5), "from 0 to 1, not 1.5"),
        (lambda store: store.similarity_search_by_vector([0.0] * 6), "zero"),
        (lambda store: store.similarity_search_by_vector([float("nan")] * 6), "not finite"),
        (lambda store: store.similarity_search_by_vector([float("inf")] * 6), "not finite"),
        (lambda store: store.similarity_search_by_vector([1.0] * 5), "6 dimensions, this one has 5"),
        (lambda store: store.similarity_search_by_vector([[1.0] * 6]), "shape"),
        (lambda store: store.similarity_search_by_vector("plum"), "no lists of numbers"),
        (
            lambda store: store.similarity_search("x", filters={"stone": True}),
            "no option 'filters' of a search; did you mean 'filter'",
        ),
        (lambda store: store.similarity_search("x", filter="stone"), "a dictionary of metadata, or a function"),
        (lambda store: store.similarity_search("x", score_threshold=0.5), "a search takes `filter`"),
        (lambda store: store.delete(filter={"stone": True}), "nothing but ids, not filter: search for the ids first"),
        (lambda store: store.delete("plum"), r"must be a list: write \['plum'\]"),
        (lambda store: store.add_texts(["a"], ids="a"), r"must be a list: write \['a'\]"),
        (lambda store: store.add_texts(["a", "b"], ids=["1"]), "2 texts but 1 ids"),
        (lambda store: store.add_texts(["a", "b"], [{}]), "2 texts but 1 metadatas"),
    ],
)
def test_what_has_no_answer_is_refused(
    act: Callable[[FaissVectorStore], Any], says: str, fruit: FaissVectorStore
) -> None:
    with pytest.raises(ValueError, match=says):
        act(fruit)
    assert len(fruit) == 5


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        ([[1.0, 0.0]], "2 documents but 1 vectors"),
        ([[1.0, 0.0], [0.0, 0.0]], "zero"),
        ([[1.0, 0.0], [1.0, float("nan")]], "not finite"),
        ([[1.0, 0.0], [1.0]], "no lists of numbers of one length"),
        ([[1.0, 0.0, 0.0]] * 2, "2 dimensions, this one has 3"),
        ([[], []], "shape"),
        ([], "shape"),
        (None, "shape|numbers"),
    ],
)
def test_a_model_that_fails_adds_nothing(vectors: Any, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FaissVectorStore.from_texts(["1 2"], TextVectors(), ids=["a"])
    monkeypatch.setattr(store.embedding, "embed_documents", lambda texts: vectors)
    with pytest.raises(ValueError, match=says):
        store.add_texts(["3 4", "5 6"], ids=["a", "b"])
    assert store.get_by_ids(["a", "b"]) == [Document(id="a", page_content="1 2")]
    assert len(store.similarity_search_by_vector([1, 1], k=9)) == 1


def test_many_threads_read_and_write(fruit: FaissVectorStore) -> None:
    turns = iter(range(100))

    def work() -> int:
        name = f"t{next(turns)}"
        for _ in range(15):
            fruit.add_texts([name, name + "b"], ids=[name, name + "b"])
            stone = fruit.similarity_search(name, 9, filter={"stone": True})
            assert {document.id for document in stone} == {"plum", "cherry"}
            nearest = fruit.similarity_search_with_score(name, 1)
            assert (nearest[0][0].id, nearest[0][1]) == (name, pytest.approx(1.0))
            fruit.delete([name])
            assert fruit.get_by_ids([name]) == []
        return 1

    assert together(work, 6) == [1] * 6
    assert len(fruit) == 5 + 6


def test_a_filter_may_use_the_store_and_others_may_change_it(fruit: FaissVectorStore) -> None:
    def accept(document: Document) -> bool:
        fruit.delete(["plum"])
        return bool(fruit.get_by_ids(["apple"])) and document.id in {"plum", "pear"}

    assert [document.id for document in fruit.similarity_search("plum", 4, filter=accept)] == ["pear"]


metadata_of = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
any_text = st.text(st.characters(exclude_categories=[]), max_size=8)


@property_settings(40)
@given(entries=st.dictionaries(any_text.filter(bool), st.tuples(row_of, metadata_of), max_size=12), query=row_of)
def test_a_store_survives_its_files(
    entries: dict[str, tuple[list[int], dict[str, Any]]],
    query: list[int],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, model = tmp_path_factory.mktemp("store"), TextVectors()
    rows, metadatas = [text_of(row) for row, _ in entries.values()], [metadata for _, metadata in entries.values()]
    store = FaissVectorStore.from_texts(rows, model, metadatas, ids=list(entries))
    store.delete(list(entries)[::3])
    store.add_texts(rows[1::3], metadatas[1::3], ids=list(entries)[1::3])
    store.save(folder)
    counted = model.counted
    again = FaissVectorStore.load(folder, model)
    assert model.counted == counted
    assert again.get_by_ids(list(entries)) == store.get_by_ids(list(entries))
    found = store.similarity_search_with_score(text_of(query), 20)
    assert again.similarity_search_with_score(text_of(query), 20) == found
    assert len(again) == len(store) == len(found) == len(entries) - len(rows[::3])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    again.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_texts_with_halves_of_characters_are_kept(tmp_path: Path) -> None:
    model = DeterministicFakeEmbedding(size=3)
    store = FaissVectorStore(model)
    store._index.put(
        [Document(id="\ud83d", page_content="\ude00\u2028\n", metadata={"\ud83d": "\ude00"})], np.eye(1, 3)
    )
    store.save(tmp_path)
    assert FaissVectorStore.load(tmp_path, model).get_by_ids(["\ud83d"]) == store.get_by_ids(["\ud83d"])


def test_saving_again_replaces_what_was_there(fruit: FaissVectorStore, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("stays")
    fruit.save(tmp_path / "deep" / "store")
    for store in (fruit, FaissVectorStore.from_texts(["fig"], fruit.embeddings)):
        store.save(tmp_path)
        assert len(FaissVectorStore.load(tmp_path, fruit.embeddings)) == len(store)
        assert len([name for name in names_in(tmp_path) if name.startswith(("documents-", "vectors-"))]) == 2
    assert "mine.txt" in names_in(tmp_path)
    assert len(FaissVectorStore.load(tmp_path / "deep" / "store", fruit.embeddings)) == 5


def test_readers_while_others_save(fruit: FaissVectorStore, tmp_path: Path) -> None:
    stores = [fruit, FaissVectorStore.from_texts(["fig"], fruit.embeddings)]
    fruit.save(tmp_path)
    done, sizes = threading.Event(), set[int]()

    def read() -> None:
        while not done.is_set():
            sizes.add(len(FaissVectorStore.load(tmp_path, fruit.embeddings)))

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(40):
        stores[turn % 2].save(tmp_path)
    done.set()
    reader.join()
    assert sizes
    assert sizes <= {1, 5}


@pytest.mark.parametrize(
    "metadata",
    [{"a": (1, 2)}, {1: "a"}, {"a": {1}}, {"a": float("nan")}, {"a": b"x"}, {"a": object}],
    ids=["tuple", "number as key", "set", "nan", "bytes", "object"],
)
def test_metadata_that_json_would_change_is_refused(metadata: Any, fruit: FaissVectorStore, tmp_path: Path) -> None:
    fruit.save(tmp_path)
    fruit.add_texts(["fig"], [metadata], ids=["fig"])
    with pytest.raises(ValueError, match="metadata of 'fig' cannot be saved as JSON"):
        fruit.save(tmp_path)
    assert len(FaissVectorStore.load(tmp_path, fruit.embeddings)) == 5


def test_another_embedding_model_is_refused(fruit: FaissVectorStore, tmp_path: Path) -> None:
    fruit.save(tmp_path)
    for model, name in ((TextVectors(), None), (fruit.embeddings, "another")):
        with pytest.raises(EmbeddingMismatch, match="are of the embedding model DeterministicFakeEmbedding, not of"):
            FaissVectorStore.load(tmp_path, model, embedding_name=name)
    loaded = FaissVectorStore.load(tmp_path, DeterministicFakeEmbedding(size=7))
    for act in (lambda: loaded.similarity_search("fig"), lambda: loaded.add_texts(["fig"])):
        with pytest.raises(EmbeddingMismatch, match="6 dimensions, this one has 7"):
            act()


def test_nothing_saved(tmp_path: Path) -> None:
    with pytest.raises(MissingIndex, match="There is no vector store in"):
        FaissVectorStore.load(tmp_path / "none", TextVectors())
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingIndex):
        FaissVectorStore.load(tmp_path / "file", TextVectors())
    with pytest.raises(StorageError):
        FaissVectorStore(TextVectors()).save(tmp_path / "file")


@pytest.mark.parametrize("kind", ["manifest", "documents", "vectors"])
def test_a_file_that_is_missing_is_healed_by_saving_again(kind: str, fruit: FaissVectorStore, tmp_path: Path) -> None:
    fruit.save(tmp_path)
    (path,) = tmp_path.glob(f"{kind}*")
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(MissingIndex if kind == "manifest" else DamagedIndex):
        FaissVectorStore.load(tmp_path, fruit.embeddings)
    path.write_bytes(b"")
    fruit.save(tmp_path)
    assert path.read_bytes() == whole


def test_files_of_another_store_are_refused(fruit: FaissVectorStore, tmp_path: Path) -> None:
    fruit.save(tmp_path / "a")
    FaissVectorStore.from_texts(["fig"], fruit.embeddings).save(tmp_path / "b")
    shutil.copy(tmp_path / "b" / "manifest.json", tmp_path / "a" / "manifest.json")
    with pytest.raises(DamagedIndex, match="a file of it is missing"):
        FaissVectorStore.load(tmp_path / "a", fruit.embeddings)


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
