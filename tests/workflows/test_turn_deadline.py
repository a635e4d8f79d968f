"""A turn is over within its deadline, whatever its endpoint does, and does not go on asking one that is gone."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.conversations.conversation import Conversation
from dramaturg.models.errors import ModelError, ModelTimeout
from dramaturg.workflows.methods import METHODS, chat_graph, context_type

from roles import WordEmbeddings, run_settings
from stub_endpoint import Endpoint, Handler, completion, endpoint

pytestmark = pytest.mark.sample_of_file(3)

SECONDS = 0.6  # of a turn
PATIENCE = 20.0  # of a server that says nothing
IN_TIME = PATIENCE / 2  # far from that, and from what a busy machine adds to a second


def silent(handler: Handler) -> None:
    server: Any = handler.server
    server.ended.wait(PATIENCE)


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
    with endpoint() as running:
        running.model, running.joins = whole_cast(), False
        yield running, library


@pytest.fixture
def stage(whole: tuple[Endpoint, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Endpoint, Path]]:
    running, _ = whole
    for name, value in running.variables().items():
        monkeypatch.setenv(name, value)
    yield whole
    running.faults, running.latency = {}, 0.0


async def turn(stage: tuple[Endpoint, Path], method: str, **settings: Any) -> Any:
    context = context_type(method)(role="ada", library=str(stage[1]), **settings)
    return await chat_graph(method).compile().ainvoke({"messages": [HumanMessage("Who is Tom?")]}, context=context)


async def timed(stage: tuple[Endpoint, Path], method: str, **settings: Any) -> tuple[Any, float]:
    """A turn's output or error, and its seconds; what the turn reads is there before."""
    await turn(stage, method)
    server = stage[0]
    server.faults, faults = {}, settings.pop("faults", {})
    server.faults, server.latency = faults, settings.pop("latency", 0.0)
    server.asked.clear()
    begun = time.monotonic()
    try:
        output = await turn(stage, method, **settings)
    except ModelError as error:
        output = error
    return output, time.monotonic() - begun


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
    output, seconds = await timed(stage, method, faults=FAULTS[fault], turn_deadline=SECONDS)
    assert seconds < IN_TIME
    if isinstance(output, Exception):
        assert isinstance(output, ModelTimeout)
        assert "turn_deadline" in str(output)
    else:
        assert output["messages"][-1].text


@pytest.mark.parametrize("method", ["amadeus", "emotional-rag"])
async def test_embeddings_obey_the_deadline_of_a_question(stage: Any, method: str) -> None:
    output, seconds = await timed(stage, method, faults={"embeddings": silent}, deadline=0.2)
    assert seconds < IN_TIME
    assert isinstance(output, ModelTimeout)


def silent_but_for_texts(handler: Handler) -> None:
    """Answer no question that has a form, only what is written: the reply, streamed or in one piece."""
    formed = {"response_format", "logprobs", "tools"} & handler.body.keys()
    return silent(handler) if formed else handler.answer(handler.body)


SLOW = [pytest.param(one, marks=[] if one == "amadeus" else [pytest.mark.crash]) for one in METHODS]


@pytest.mark.parametrize("slow", [{"latency": 0.3}, {"faults": {"chat": silent_but_for_texts}}], ids=["slow", "silent"])
@pytest.mark.parametrize("method", SLOW)
async def test_what_does_not_fit_is_left_out_and_the_role_replies(stage: Any, method: str, slow: Any) -> None:
    output, seconds = await timed(stage, method, turn_deadline=1.5, attempts=1, concurrency=2, **slow)
    assert seconds < IN_TIME
    assert not isinstance(output, Exception), output
    assert output["messages"][-1].text
    if method == "amadeus" and "faults" in slow:
        assert "have no verdict (ModelTimeout: " in output["evidence"]["selection_error"]


async def test_a_turn_that_is_finished_has_its_time_anew(stage: Any) -> None:
    await turn(stage, "amadeus")
    server, library = stage
    context = context_type("amadeus")(role="ada", library=str(library), turn_deadline=3)
    conversation = Conversation(chat_graph("amadeus"), InMemorySaver(), context, "talk")
    conversation.change(turn_deadline=0.3)
    server.faults = {"chat": silent}
    with pytest.raises(ModelTimeout, match=r"turn's 0\.3 s"):
        await conversation.take_turn("Who is Tom?")
    server.faults = {}
    conversation.change(turn_deadline=3)
    assert (await conversation.finish())["messages"][-1].text


def slowly(handler: Handler) -> None:
    """Write a reply word by word, in a second and more."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    for word in [
        "Tom",
        "is",
        "my",
        "brother,",
        "and",
        "he",
        "taught",
        "me",
        "to",
        "sail",
        "when",
        "I",
        "was",
        "small.",
    ]:
        handler.wfile.write(b"data: " + json.dumps(completion({"content": word + " "}, "delta")).encode() + b"\n\n")
        time.sleep(0.1)
    handler.wfile.write(b"data: [DONE]\n\n")


@pytest.mark.parametrize(("bound", "says"), [({"deadline": 0.5}, ""), ({"turn_deadline": 0.5}, r"turn's 0\.5 s")])
async def test_a_reply_that_is_heard_has_what_is_left_of_its_turn(stage: Any, bound: Any, says: str) -> None:
    output, seconds = await timed(stage, "vanilla", faults={"chat": slowly}, redraws=0, **bound)
    if says:
        assert isinstance(output, ModelTimeout)
        assert re.search(says, str(output))
    else:
        assert not isinstance(output, Exception), output
        assert output["messages"][-1].text.endswith("when I was small.")
        assert seconds > 1


async def test_a_reply_of_which_nothing_is_heard_has_the_deadline_of_a_question(stage: Any) -> None:
    output, seconds = await timed(stage, "vanilla", faults={"chat": dripping}, redraws=0, deadline=0.3)
    assert isinstance(output, ModelTimeout)
    assert seconds < IN_TIME


def gone(status: int, **headers: str) -> Callable[[Handler], None]:
    return lambda handler: handler.fail(status, **headers)


REFUSED = [
    pytest.param(method, status, marks=[] if method == "amadeus" else [pytest.mark.crash])
    for method in METHODS
    for status in (401, 403, 404)
]


@pytest.mark.parametrize(("method", "status"), REFUSED)
async def test_who_refuses_all_is_not_asked_again_in_the_turn(stage: Any, method: str, status: int) -> None:
    error, _ = await timed(stage, method, faults={"chat": gone(status)}, concurrency=2)
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
    error, _ = await timed(stage, method, faults={"chat": reset}, concurrency=1)
    assert isinstance(error, ModelError)
    assert len([body for body in stage[0].asked if "messages" in body]) <= 3  # one question, which is sent again
    assert "OPENAI_BASE_URL" in str(error)


async def test_a_servers_wish_for_a_pause_is_kept_and_fewer_are_sent_at_once(stage: Any) -> None:
    """The first answers are "too many": what comes then comes after the pause, and one at a time at first."""
    server, times, most = stage[0], list[float](), 0

    def busy(handler: Handler) -> None:
        times.append(time.monotonic())
        if len(times) <= 4:
            return handler.fail(429, Retry_After="1")
        del server.faults["chat"]
        return handler.fail(429, Retry_After="0")

    output, _ = await timed(stage, "amadeus", faults={"chat": busy}, concurrency=4)
    assert not isinstance(output, Exception), output
    first, *rest = times
    assert all(one > first + 0.95 for one in rest[3:])  # three may have been on their way
    assert len([one for one in times if one > first + 0.9]) <= 2, most


async def test_a_pause_beyond_the_turn_is_not_waited_for(stage: Any) -> None:
    error, seconds = await timed(stage, "amadeus", faults={"chat": gone(429, Retry_After="3600")}, concurrency=1)
    assert isinstance(error, ModelError)
    assert seconds < IN_TIME
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
