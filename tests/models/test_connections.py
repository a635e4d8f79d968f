"""A request is sent again where that helps, and at a pace that the server bears; messages name no secret."""

import asyncio
import time
from collections.abc import Iterator
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import HumanMessage

from dramaturg.models import clock as turn_clock
from dramaturg.models import errors
from dramaturg.models.chat import chat_model
from dramaturg.models.clock import TurnClock, within
from dramaturg.models.embeddings import embedder
from dramaturg.models.errors import ModelError, ModelUnavailable, model_error, retry_after
from dramaturg.models.questions import write
from dramaturg.models.servers import connections, pace

from stub_endpoint import Endpoint, Handler, endpoint

ASKED = [HumanMessage("Who are you?")]


class Clock:
    """The time of modules that it is put into: it passes where somebody sleeps, and at no other time."""

    def __init__(self, patch: pytest.MonkeyPatch, *modules: Any) -> None:
        self.now = 1_000_000.0
        self.slept: list[float] = []
        for module in modules:
            patch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now))
            if hasattr(module, "asyncio"):
                patch.setattr(module, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": self.sleep}))

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.slept.append(seconds)
            self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch, turn_clock, connections, errors, pace)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setattr("dramaturg.models.servers.connections.MOMENT", 0.01)
    with endpoint() as running:
        for name, value in running.variables().items():
            monkeypatch.setenv(name, value)
        yield running


def failing(stub: Endpoint, times: int, status: int | None) -> None:
    """Have the next requests fail: with a status, or, without one, by hanging up."""
    left = [None] * times

    def fault(handler: Handler) -> None:
        left.pop()
        if not left:
            stub.faults = {}
        if status is None:
            handler.close_connection = True
        else:
            handler.fail(status)

    stub.faults = {"chat": fault, "embeddings": fault}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, None])
async def test_what_passes_is_borne(stub: Endpoint, status: int | None) -> None:
    failing(stub, 2, status)
    assert await write(chat_model("m"), ASKED) == "I keep the light."
    failing(stub, 2, status)
    assert (await embedder("openai:words", "en").query("the lamp")).any()
    failing(stub, 2, status)
    assert await asyncio.to_thread(embedder("openai:words", "en").embeddings.embed_query, "the lamp")
    assert len(stub.asked) == 9


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_what_does_not_pass_is_not_sent_again(stub: Endpoint, status: int) -> None:
    failing(stub, 99, status)
    with pytest.raises(ModelError, match=rf"{status} \w+ at http://127\.0\.0\.1:\d+/v1/chat/completions\)"):
        await write(chat_model("m"), ASKED)
    optional = status in (400, 422)  # without what is optional it may pass; nothing is learned where it does not
    assert len(stub.asked) == 1 + optional


async def test_after_too_many_nothing_is_sent_before_the_server_wants_it(clock: Clock) -> None:
    own = pace.Pace()

    async def one(*, too_many: bool) -> None:
        async with own.place(1, "a talk") as place:
            await asyncio.sleep(0)
            place.heed(too_many=too_many, pause=7)

    await asyncio.gather(*(one(too_many=True) for _ in range(8)))
    assert clock.slept == []
    assert own.most == 4
    await asyncio.gather(*(one(too_many=False) for _ in range(4)))
    assert clock.slept == [7]


async def test_who_is_refused_waits_for_a_place_again_and_the_urgent_go_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOMENT", 0)
    own, sent, inside, most = connections.ConnectionsPerLoop(2), list[str](), 0, 0

    class Pool:
        async def send(self, request: httpx.Request) -> httpx.Response:
            nonlocal inside, most
            first = request.url.path not in sent
            sent.append(request.url.path)
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1
            return httpx.Response(429 if first and request.url.path != "/reply" else 200)

    monkeypatch.setattr(own, "_pools", SimpleNamespace(get=Pool))
    shared = pace.Pace()

    async def ask(urgency: pace.Urgency, path: str) -> int:
        nonlocal most
        async with shared.place(urgency, path):
            if path == "/reply":
                most = 0  # from here on, fewer
            return int((await own.send(httpx.Request("GET", f"http://stub{path}"))).status_code)

    judging = [asyncio.create_task(ask(1, f"/{number}")) for number in range(8)]
    await asyncio.sleep(0)
    reply = asyncio.create_task(ask(0, "/reply"))
    assert await asyncio.gather(*judging, reply) == [200] * 9
    assert most < 8
    assert sent.index("/reply") == 8


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after-ms": "20", "retry-after": "7"}, 0.02),
        ({"retry-after": formatdate(1_009_999, usegmt=True)}, 9999),
        ({"retry-after": "Mon, 12 Jan 1970 13:46:39 GMT"}, 0),
    ],
)
def test_when_a_server_wants_to_be_asked_again(clock: Clock, headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


SENT = httpx.Request("POST", "https://ada:pass@host.example:8443/v1/chat?token=secret#secret")


@pytest.mark.parametrize(
    ("status", "code", "says", "lasts"),
    [
        (None, None, "cannot be reached", True),
        (401, None, "OPENAI_API_KEY", True),
        (402, None, "account", True),
        (403, None, "OPENAI_API_KEY", True),
        (404, None, "DRAMATURG_EMBEDDING_MODEL or embedding_model", True),
        (410, None, "check DRAMATURG_EMBEDDING_MODEL", False),
        (429, None, "ask again later", False),
        (429, "insufficient_quota", "quota of the model 'm' is spent", True),
        (503, None, "ask again later", False),
    ],
)
def test_a_message_names_address_status_and_setting_and_no_secret(
    status: int | None, code: str | None, says: str, lasts: bool
) -> None:
    error: Exception
    if status is None:
        error = openai.APIConnectionError(request=SENT)
    else:
        response = httpx.Response(status, request=SENT, text="the key sk-secret")
        error = openai.APIStatusError("the key sk-secret", response=response, body={"code": code})
        if status == 429:
            error = openai.RateLimitError("the key sk-secret", response=response, body={"code": code})
        if status == 503:
            error = openai.InternalServerError("the key sk-secret", response=response, body={"code": code})
    made = model_error(error, "m", "embedding")
    assert says in str(made)
    assert "https://host.example:8443/v1/chat)" in str(made)
    assert str(status or "") in str(made)
    assert not any(one in str(made) for one in ("secret", "pass", "ada"))
    assert ("later" in str(made)) == (status in {429, 503} and not code)
    assert bool(made.lasts) == lasts


def test_time_stands_still_while_a_role_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock = TurnClock(5)
    now[0] += 1
    with clock.stopped():
        now[0] += 60
        with clock.stopped():
            now[0] += 60
        assert clock.rest(0) == 4
    now[0] += 1
    assert clock.rest(0) == 3


async def test_a_turn_waits_for_a_pause_that_fits_into_it_and_for_no_other(clock: Clock) -> None:
    turn, server = TurnClock(2000), object()

    async def ask(lasts: float) -> None:
        async with within(turn, 6000, server, "m"):
            if lasts:
                error = ModelUnavailable("Busy.")
                error.lasts = lasts
                raise error

    with pytest.raises(ModelUnavailable):
        await ask(100)
    await ask(0)
    assert clock.slept == [100]
    for lasts in (3000, 0, 0):
        with pytest.raises(ModelUnavailable, match="Busy"):
            await ask(lasts)
    assert clock.slept == [100]
