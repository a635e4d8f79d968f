"""A turn is over within its deadline, whatever its endpoint does, and does not go on asking one that is gone.

What is silent here is so until the end of the test, and other deadlines than the one in question are far: a turn whose
deadline is not kept does not end before the test is given up. Nothing is timed.
"""

import asyncio
import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.conversations.conversation import Conversation
from dramaturg.models import clients, embeddings, questions
from dramaturg.models import clock as turn_clock
from dramaturg.models.clock import TurnClock
from dramaturg.models.errors import ModelError, ModelTimeout
from dramaturg.workflows.methods import METHODS, chat_graph, context_type

from roles import WordEmbeddings, run_settings
from stub_endpoint import Endpoint, Handler, completion, endpoint

pytestmark = pytest.mark.sample_of_file(3)

SECONDS = 0.6  # of a turn
FAR: dict[str, Any] = {"deadline": 3600, "turn_deadline": 86_400}
"""The deadlines of a question and of a turn, where they are not what is tested."""


def silent(handler: Handler) -> None:
    server: Any = handler.server
    server.ended.wait()


def dripping(handler: Handler) -> None:
    """Send a blank now and then, which keeps a client's read timeout quiet."""
    server: Any = handler.server
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    while not server.ended.wait(0.05):
        handler.wfile.write(b": \n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Endpoint, Path]]:
    """An endpoint that plays all parts, and a role with files for every method."""
    library = tmp_path_factory.mktemp("library")
    whole_role(library)
    with endpoint() as running, pytest.MonkeyPatch.context() as patch:
        running.model, running.joins = whole_cast(), False
        for module in (clients, embeddings):
            patch.setattr(module, "TIMEOUT", FAR["turn_deadline"])  # of one read
        yield running, library


@pytest.fixture
def stage(whole: tuple[Endpoint, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Endpoint, Path]]:
    running, _ = whole
    for name, value in running.variables().items():
        monkeypatch.setenv(name, value)
    yield whole
    running.faults = {}


async def turn(stage: tuple[Endpoint, Path], method: str, **settings: Any) -> Any:
    context = context_type(method)(role="ada", library=str(stage[1]), **{**FAR, **settings})
    return await chat_graph(method).compile().ainvoke({"messages": [HumanMessage("Who is Tom?")]}, context=context)


async def ended(stage: tuple[Endpoint, Path], method: str, **settings: Any) -> Any:
    """A turn's output or error; what the turn reads is there before."""
    await turn(stage, method)
    server = stage[0]
    server.faults = settings.pop("faults", {})
    server.asked.clear()
    try:
        return await turn(stage, method, **settings)
    except ModelError as error:
        return error


FAULTS: dict[str, dict[str, Callable[[Handler], None]]] = {
    "chat silent": {"chat": silent},
    "chat dripping": {"chat": dripping},
    "embeddings silent": {"embeddings": silent},
    "embeddings dripping": {"embeddings": dripping},
    "all silent": {"chat": silent, "embeddings": silent},
}
CASES = [
    pytest.param(method, fault, marks=[] if (method, fault) in QUICK else [pytest.mark.crash])
    for QUICK in [{("amadeus", "chat silent"), ("ensemble", "embeddings silent"), ("vanilla", "chat dripping")}]
    for method in METHODS
    for fault in FAULTS
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("method", "fault"), CASES)
async def test_a_turn_is_over_within_its_deadline(stage: Any, method: str, fault: str) -> None:
    output = await ended(stage, method, faults=FAULTS[fault], turn_deadline=SECONDS)
    if isinstance(output, Exception):
        assert isinstance(output, ModelTimeout)
        assert "turn_deadline" in str(output)
    else:
        assert output["messages"][-1].text


@pytest.mark.parametrize("method", ["amadeus", "emotional-rag"])
async def test_embeddings_obey_the_deadline_of_a_question(stage: Any, method: str) -> None:
    output = await ended(stage, method, faults={"embeddings": silent}, deadline=0.2)
    assert isinstance(output, ModelTimeout)


class Later:
    """The time of turns, which stands still, and that of a loop: both go on at once when it is told."""

    def __init__(self, patch: pytest.MonkeyPatch, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._ahead, began, clock = loop, 0.0, time.monotonic(), loop.time
        patch.setattr(turn_clock, "time", SimpleNamespace(monotonic=lambda: began + self._ahead))
        patch.setattr(loop, "time", lambda: clock() + self._ahead)
        self._clocks, begin = list[TurnClock](), TurnClock.__init__
        patch.setattr(
            TurnClock,
            "__init__",
            lambda turn, seconds: (begin(turn, seconds), math.isinf(seconds) or self._clocks.append(turn))[0],
        )

    @property
    def is_replied(self) -> bool:
        """Whether the last turn has its reply: then other questions have all that is left of it."""
        return self._clocks[-1].replied

    def by(self, seconds: float) -> None:
        """Be later, and wait until what is over by then has ended; in a thread of its own."""

        async def go_on() -> None:
            self._ahead += seconds
            for _ in range(5):
                await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(go_on(), self._loop).result(120)


@pytest.fixture
async def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    return Later(monkeypatch, asyncio.get_running_loop())


SLOW = [pytest.param(one, marks=[] if one == "amadeus" else [pytest.mark.crash]) for one in METHODS]


@pytest.mark.parametrize("fault", ["slow", "silent"])
@pytest.mark.parametrize("method", SLOW)
async def test_what_does_not_fit_is_left_out_and_the_role_replies(
    stage: Any, method: str, later: Later, fault: str
) -> None:
    over = threading.Lock()

    def slow(handler: Handler) -> None:
        """Eight answers take two thirds of the turn."""
        later.by(125)
        handler.answer(handler.body)

    def silent_but_for_texts(handler: Handler) -> None:
        """Answer no question that has a form, only what is written: the reply, streamed or in one piece."""
        if not {"response_format", "logprobs", "tools"} & handler.body.keys():
            return handler.answer(handler.body)
        if over.acquire(blocking=False) or later.is_replied:
            later.by(1000)
        return silent(handler)

    faults = {"chat": slow if fault == "slow" else silent_but_for_texts}
    output = await ended(stage, method, faults=faults, turn_deadline=1500, attempts=1, concurrency=2)
    assert not isinstance(output, Exception), output
    assert output["messages"][-1].text
    if method == "amadeus" and fault == "silent":
        assert "have no verdict (ModelTimeout: " in output["evidence"]["selection_error"]


async def test_a_turn_that_is_finished_has_its_time_anew(stage: Any) -> None:
    await turn(stage, "amadeus")
    server, library = stage
    context = context_type("amadeus")(role="ada", library=str(library), **FAR)
    conversation = Conversation(chat_graph("amadeus"), InMemorySaver(), context, "talk")
    conversation.change(turn_deadline=0.3)
    server.faults = {"chat": silent}
    with pytest.raises(ModelTimeout, match=r"turn's 0\.3 s"):
        await conversation.take_turn("Who is Tom?")
    server.faults = {}
    conversation.change(**FAR)
    assert (await conversation.finish())["messages"][-1].text


@pytest.mark.parametrize(("bound", "says"), [({"deadline": 100}, ""), ({"turn_deadline": 100}, r"turn's 100 s")])
async def test_a_reply_that_is_heard_has_what_is_left_of_its_turn(
    stage: Any, later: Later, monkeypatch: pytest.MonkeyPatch, bound: Any, says: str
) -> None:
    heard, is_heard = threading.Event(), questions.is_heard
    words = ["Tom ", "taught ", "me ", "to ", "sail."]

    def slowly(handler: Handler) -> None:
        """Write a word, and the others when all time is over."""
        server: Any = handler.server
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for number, word in enumerate(words):
            handler.wfile.write(b"data: " + json.dumps(completion({"content": word}, "delta")).encode() + b"\n\n")
            if number == 0:
                heard.wait(120)
                later.by(200)
                if says:
                    server.ended.wait()
        handler.wfile.write(b"data: [DONE]\n\n")

    monkeypatch.setattr(questions, "is_heard", lambda: (is_heard(), heard.set()))
    output = await ended(stage, "vanilla", faults={"chat": slowly}, redraws=0, **bound)
    assert heard.is_set()
    if says:
        assert isinstance(output, ModelTimeout)
        assert re.search(says, str(output))
    else:
        assert not isinstance(output, Exception), output
        assert output["messages"][-1].text == "".join(words).strip()


async def test_a_reply_of_which_nothing_is_heard_has_the_deadline_of_a_question(stage: Any) -> None:
    output = await ended(stage, "vanilla", faults={"chat": dripping}, redraws=0, deadline=0.3)
    assert isinstance(output, ModelTimeout)


def gone(status: int, **headers: str) -> Callable[[Handler], None]:
    return lambda handler: handler.fail(status, **headers)


REFUSED = [
    pytest.param(method, status, marks=[] if method == "amadeus" else [pytest.mark.crash])
    for method in METHODS
    for status in (401, 403, 404)
]


@pytest.mark.parametrize(("method", "status"), REFUSED)
async def test_who_refuses_all_is_not_asked_again_in_the_turn(stage: Any, method: str, status: int) -> None:
    error = await ended(stage, method, faults={"chat": gone(status)}, concurrency=2)
    assert isinstance(error, ModelError)
    server = stage[0]
    asked = [body for body in server.asked if "messages" in body]
    assert len(asked) <= 2  # what was on its way
    where = server.variables()["OPENAI_BASE_URL"]
    assert str(status) in str(error)
    assert f"{where}/chat/completions" in str(error)
    assert ("OPENAI_API_KEY" if status < 404 else "DRAMATURG_CHAT_MODEL") in str(error)
    assert 'stub"' not in str(error)
    assert "later" not in str(error)
    server.faults = {}
    assert (await turn(stage, method))["messages"][-1].text


def reset(handler: Handler) -> None:
    """Hang up without a word."""
    handler.close_connection = True


@pytest.mark.parametrize("method", [one for one in SLOW if one.values[0] in ("amadeus", "role-rag", "crag")])
async def test_who_cannot_be_reached_is_not_asked_again_in_the_turn(stage: Any, method: str) -> None:
    error = await ended(stage, method, faults={"chat": reset}, concurrency=1)
    assert isinstance(error, ModelError)
    assert len([body for body in stage[0].asked if "messages" in body]) <= 3  # one question, which is sent again
    assert "OPENAI_BASE_URL" in str(error)


async def test_a_servers_wish_for_a_pause_is_kept_and_fewer_are_sent_at_once(stage: Any) -> None:
    """The first answers are "too many": what comes then comes after the pause, and one at a time at first."""
    server, times = stage[0], list[float]()

    def busy(handler: Handler) -> None:
        times.append(time.monotonic())
        if len(times) <= 4:
            return handler.fail(429, Retry_After="1")
        server.faults.pop("chat", None)
        return handler.fail(429, Retry_After="0")

    output = await ended(stage, "amadeus", faults={"chat": busy}, concurrency=4)
    assert not isinstance(output, Exception), output
    first, *rest = times
    assert all(one > first + 0.95 for one in rest[3:])  # three may have been on their way
    assert len(times) <= 6


async def test_a_pause_beyond_the_turn_is_not_waited_for(stage: Any) -> None:
    bounds = {"deadline": 120, "turn_deadline": 300}
    error = await ended(stage, "amadeus", faults={"chat": gone(429, Retry_After="3600")}, concurrency=1, **bounds)
    assert isinstance(error, ModelError)
    assert len([body for body in stage[0].asked if "messages" in body]) == 1
    assert "3600 s" in str(error)
    stage[0].faults = {}
    assert (await turn(stage, "amadeus"))["messages"][-1].text


class Broken(WordEmbeddings):
    """The words' model, which gives one vector too few, or one that is not a number."""

    def __init__(self, broken: Callable[[list[list[float]]], Any]) -> None:
        self.broken = broken

    def embed_documents(self, texts: list[str]) -> Any:
        return self.broken(super().embed_documents(texts))


Broken.__name__ = WordEmbeddings.__name__  # the same model, by name


@pytest.mark.sample(5)
@pytest.mark.parametrize("method", ["amadeus", "emotional-rag", "drmr", "role-rag", "id-rag"])
@pytest.mark.parametrize(
    "broken",
    [lambda rows: rows[:-1], lambda rows: [*rows, rows[0]], lambda rows: [rows[0][:-1], *rows[1:]]],
    ids=["fewer", "more", "several lengths"],
)
async def test_vectors_that_are_not_those_of_the_texts_are_an_error(broken: Any, method: str, tmp_path: Path) -> None:
    whole_role(tmp_path)
    context = context_type(method)(**run_settings(tmp_path, whole_cast(), embedding_model=Broken(broken)))
    with pytest.raises(ModelError, match="The embedding model 'WordEmbeddings:words' did not give"):
        await chat_graph(method).compile().ainvoke({"messages": [HumanMessage("Who is Tom?")]}, context=context)
