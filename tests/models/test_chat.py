"""How a chat model is had: by name, once a process, with a limit that chat models share in one event loop."""

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, SecretStr

from dramaturg.models import clients
from dramaturg.models.chat import chat_model
from dramaturg.models.clients import chat_client
from dramaturg.models.errors import ModelRefused, WeightsError
from dramaturg.models.local import embedded
from dramaturg.models.per_loop import PerLoop
from dramaturg.models.questions import decide, extract, write, write_message
from dramaturg.models.servers.connections import connections

from fakes import ScriptedChatModel, scripted
from fault_server import FaultServer, serving
from stub_endpoint import endpoint as endpoint_of_stub

KEY = "sk-planted-0123456789abcdef"
MESSAGES = [HumanMessage("Is it so?")]
USAGE: Any = {"input_tokens": 4, "output_tokens": 5, "total_tokens": 9}


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def no_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_clients", {})


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, server: FaultServer) -> str:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url("none", "decide"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return server.url("none", "decide")


def test_auto_is_the_endpoint_of_the_environment(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = chat_client("auto")
    assert isinstance(chat, ChatOpenAI)
    assert (chat.openai_api_base, chat.model_name) == (endpoint, clients.DEFAULT_MODEL)
    assert chat.max_retries == 0  # its connections send a request again
    assert chat.stream_usage
    monkeypatch.setenv("DRAMATURG_CHAT_MODEL", "other")
    assert chat_model("auto").name == "other"
    assert isinstance(other := chat_client("auto"), ChatOpenAI)
    assert other.model_name == "other"


@pytest.mark.parametrize(
    ("model", "name"), [("some-model", "some-model"), ("openai:some-model", "some-model"), ("openai:a:8b", "a:8b")]
)
def test_a_name_is_a_model_at_the_endpoint(endpoint: str, model: str, name: str) -> None:
    chat = chat_client(model)
    assert isinstance(chat, ChatOpenAI)
    assert (chat.model_name, chat.openai_api_base, chat_model(model).name) == (name, endpoint, name)
    assert chat_client(model) is chat


async def test_auto_without_an_endpoint_is_the_embedded_model(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "serve", lambda: server.url("none", "decide"))
    asked = chat_model("auto")
    assert asked.name == embedded.EMBEDDED_MODEL == chat_model("embedded").name
    assert (await decide(asked, MESSAGES)).answer


async def test_only_the_embedded_model_is_kept_from_repeating_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint_of_stub() as stub:
        monkeypatch.setattr(embedded, "serve", lambda: stub.variables()["OPENAI_BASE_URL"])
        await write(chat_model("auto"), MESSAGES, temperature=0.3, max_tokens=9)
        monkeypatch.setenv("OPENAI_BASE_URL", stub.variables()["OPENAI_BASE_URL"])
        await write(chat_model("auto"), MESSAGES)
    own, other = stub.asked
    assert (own["repeat_penalty"], own["repeat_last_n"], own["temperature"]) == (1.15, 256, 0.3)
    assert "repeat_penalty" not in other


async def test_missing_weights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        msg = "Run `dramaturg models pull chat`."
        raise WeightsError(msg)

    monkeypatch.setattr(embedded, "serve", missing)
    with pytest.raises(WeightsError, match="models pull"):
        await decide(chat_model("embedded"), MESSAGES)


@pytest.mark.parametrize("model", ["some-model", "nowhere:some-model", "anthropic:some-model"])
async def test_a_model_that_cannot_be_built(model: str) -> None:
    with pytest.raises(ModelRefused, match="some-model"):
        await decide(chat_model(model), MESSAGES)


def test_a_model_object_is_used_as_it_is() -> None:
    model = scripted("yes")
    assert chat_model(model).client is chat_client(model) is model
    assert chat_model(ChatOpenAI(model="m", api_key=SecretStr(KEY))).name == "m"
    assert chat_model(model).name == "scripted"


@pytest.mark.parametrize("bounds", [{"deadline": 0}, {"attempts": 0}, {"concurrency": 0}])
def test_bounds_are_positive(bounds: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="positive"):
        chat_model(scripted("yes"), **bounds)


class Person(BaseModel):
    name: str
    born: int


class SlowModel(ScriptedChatModel):
    """Takes its time, and counts who is with it at once."""

    at_once: int = 0
    most: int = 0

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.01)
        self.at_once -= 1
        return super()._generate(*args, **kwargs)


def test_chat_models_of_a_model_share_its_limit_in_every_loop() -> None:
    model = SlowModel(reply=lambda _: "yes")

    async def many() -> None:
        asked = [chat_model(model, concurrency=2) for _ in range(10)]
        await asyncio.gather(*(decide(one, MESSAGES) for one in asked))

    for _ in range(3):
        asyncio.run(many())
    assert len(model.calls) == 30
    assert model.most == 2


def test_the_deadline_begins_with_the_turn() -> None:
    model = SlowModel(reply=lambda _: "yes")

    async def late_turn() -> None:
        loop, waited = asyncio.get_running_loop(), 0.0
        clock, asked = loop.time, chat_model(model, concurrency=1, deadline=3600)
        loop.time = lambda: clock() + waited  # type: ignore[method-assign]
        async with asked.limit:
            waiting = asyncio.create_task(decide(asked, MESSAGES))
            for _ in range(5):
                await asyncio.sleep(0)
            waited = 3601.0  # longer than the deadline, before it has its turn
            for _ in range(5):
                await asyncio.sleep(0)
            assert not waiting.done()
        assert (await waiting).answer

    asyncio.run(late_turn())
    assert len(model.calls) == 1


def test_what_chat_models_share_goes_with_the_model() -> None:
    from dramaturg.models.shared import _shared

    before = len(_shared)
    asked = [chat_model(scripted("yes")) for _ in range(5)]
    assert len(_shared) == before + 5
    asked.clear()
    gc.collect()
    assert len(_shared) <= before


def test_things_of_closed_loops_are_forgotten() -> None:
    made = PerLoop(object)

    async def get() -> tuple[object, object]:
        return made.get(), made.get()

    seen = [asyncio.run(get()) for _ in range(3)]
    assert all(one is other for one, other in seen)
    assert len({id(one) for one, _ in seen}) == 3
    assert len(made._things) == 1


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_client_outlives_an_event_loop(server: FaultServer) -> None:
    model = clients.openai_compatible("m", server.url("kept alive", "extract"), KEY, retries=0)
    for _ in range(3):
        assert asyncio.run(extract(chat_model(model), MESSAGES, Person)).born == 1770
    connections(0)._pools._things.clear()
    gc.collect()


class Whole(BaseChatModel):
    """Gives its answer in one piece, as many models of LangChain do."""

    @property
    def _llm_type(self) -> str:
        return "whole"

    def _generate(self, messages: list[BaseMessage], *args: Any, **parameters: Any) -> ChatResult:
        message = AIMessage("I keep the light.", usage_metadata=USAGE, response_metadata={"finish_reason": "stop"})
        return ChatResult(generations=[ChatGeneration(message=message)])


async def test_a_model_that_does_not_stream_writes() -> None:
    asked = chat_model(Whole())
    message = await write_message(asked, MESSAGES)
    assert message.text == "I keep the light."
    assert asked.account.usage()["completion_tokens"] == 5


async def test_text_streams_and_judgements_do_not() -> None:
    model = scripted("yes", "Good evening, my friend.")

    async def node(state: MessagesState) -> dict[str, list[AIMessage]]:
        asked = chat_model(model)
        await decide(asked, state["messages"])
        return {"messages": [AIMessage(await write(asked, state["messages"]))]}

    graph = StateGraph(MessagesState).add_node(node).add_edge(START, "node").compile()
    asked = MessagesState(messages=[*MESSAGES])
    parts = [part async for part, _ in graph.astream(asked, stream_mode="messages")]
    words = [part.text for part in parts if isinstance(part, BaseMessage)]
    assert words[:4] == ["Good ", "evening, ", "my ", "friend."]
    assert "yes" not in words
