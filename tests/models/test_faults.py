"""What servers and models do wrong becomes a typed error or an answer, in time, and no message repeats a secret."""

import socket
import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, Field

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.clients import openai_compatible
from dramaturg.models.errors import ModelError, ModelRefused, ModelTimeout, ModelUnavailable, UnusableAnswer
from dramaturg.models.questions import Decision, Rating, choose, decide, extract, rate, write

from fault_server import ENDS, FAULTS, SECRET, FaultServer, serving

# The client library warns of messages that are not made as they should be, before it fails on them.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    pytest.mark.asyncio(loop_scope="module"),
]

MESSAGES = [SystemMessage("Judge."), HumanMessage("Is it so?")]


class Person(BaseModel):
    name: str = Field(max_length=100)
    born: int = Field(ge=1000, le=2000)


ASK: dict[str, Callable[[ChatModel], Awaitable[Any]]] = {
    "decide": lambda asked: decide(asked, MESSAGES),
    "rate": lambda asked: rate(asked, MESSAGES, low=1, high=5),
    "choose": lambda asked: choose(asked, MESSAGES, ["red", "green", "blue"]),
    "extract": lambda asked: extract(asked, MESSAGES, Person),
    "write": lambda asked: write(asked, MESSAGES),
}
ANSWERS = {
    "decide": Decision(True, None),
    "rate": Rating(4.0, None),
    "choose": "green",
    "extract": Person(name="Ludwig", born=1770),
    "write": "Good evening, my dear friend.",
}
FORMS = [kind for kind in ASK if kind != "write"]
ALL = list(ASK)


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving() as server:
        yield server


def asked_of(server: FaultServer, fault: str, kind: str, *, retries: int = 0, **bounds: Any) -> ChatModel:
    model = openai_compatible("m", server.url(fault, kind), SECRET, retries=retries)
    return chat_model(model, **{"deadline": 200, **bounds})


async def error_of(question: Awaitable[Any]) -> ModelError:
    """The error of a question, which is one of ours and tells nothing that the server said."""
    with pytest.raises(ModelError) as caught:
        await question
    told = "".join(traceback.format_exception(caught.value))
    assert SECRET not in told
    assert "'m'" in str(caught.value)
    return caught.value


TYPED: dict[str, tuple[type[ModelError], list[str]]] = {
    "drop": (ModelUnavailable, ALL),
    "429": (ModelUnavailable, ALL),
    "429 retry later": (ModelUnavailable, ALL),
    "500": (ModelUnavailable, ALL),
    "503": (ModelUnavailable, ALL),
    "400 context": (ModelRefused, ALL),
    "400 always": (ModelRefused, ALL),
    "401": (ModelRefused, ALL),
    "403": (ModelRefused, ALL),
    "404": (ModelRefused, ALL),
    "html": (ModelRefused, ALL),
    "truncated": (UnusableAnswer, ALL),
    "choices empty": (UnusableAnswer, ALL),
    "choices null": (UnusableAnswer, ALL),
    "choices of numbers": (UnusableAnswer, ALL),
    "error in 200": (ModelUnavailable, ALL),
    "empty": (UnusableAnswer, ALL),
    "null": (UnusableAnswer, ALL),
    "refusal": (UnusableAnswer, ALL),
    "content filter": (UnusableAnswer, ALL),
    "length, nothing said": (UnusableAnswer, ALL),
    "huge": (UnusableAnswer, ["decide", "extract", "write"]),
    "list of numbers": (UnusableAnswer, ALL),
    "duplicate key": (UnusableAnswer, FORMS),
    "NaN": (UnusableAnswer, FORMS),
    "infinite": (UnusableAnswer, FORMS),
    "number in words": (UnusableAnswer, [kind for kind in FORMS if kind != "rate"]),  # of which it is the answer
    "out of range": (UnusableAnswer, FORMS),
    "deep": (UnusableAnswer, FORMS),
    "cut json": (UnusableAnswer, FORMS),
}


@pytest.mark.sample(40)
@pytest.mark.parametrize(("fault", "kind"), [(fault, kind) for fault, (_, kinds) in TYPED.items() for kind in kinds])
async def test_a_fault_is_a_typed_error(server: FaultServer, fault: str, kind: str) -> None:
    asked = asked_of(server, fault, kind)
    error = await error_of(ASK[kind](asked))
    assert isinstance(error, TYPED[fault][0])
    used = asked.account.usage()
    assert used["failures"] == used["calls"] >= 1


ANSWERED = {
    "none": ALL,
    "list": ALL,
    "length": ALL,
    "fenced": FORMS,
    "prose": FORMS,
    "extra text": FORMS,
    "extra key": FORMS,
    "429 retry soon": ALL,
    "bad at first": FORMS,
    "logprobs rejected": FORMS,
    "logprobs malformed": FORMS,
    "schema rejected": FORMS,
    "temperature rejected": FORMS,
}


@pytest.mark.sample(20)
@pytest.mark.parametrize(("fault", "kind"), [(fault, kind) for fault, kinds in ANSWERED.items() for kind in kinds])
async def test_a_fault_that_can_be_borne_is_answered(server: FaultServer, fault: str, kind: str) -> None:
    server.hits.clear()
    asked = asked_of(server, fault, kind, retries=1)
    assert await ASK[kind](asked) == ANSWERS[kind]
    used = asked.account.usage()
    assert used["calls"] == used["failures"] + 1
    assert used["completion_tokens"] >= 3


@pytest.mark.parametrize("kind", ["extract", "write"])
@pytest.mark.parametrize("fault", ["NUL and surrogate", "escaped NUL"])
async def test_an_answer_can_be_stored(server: FaultServer, fault: str, kind: str) -> None:
    answer = str(await ASK[kind](asked_of(server, fault, kind)))
    assert "\0" not in answer
    assert "\\x00" not in answer
    assert answer.encode()


@pytest.mark.parametrize(
    "kind", [pytest.param(one, marks=[pytest.mark.crash] if one != "write" else []) for one in ALL]
)
@pytest.mark.parametrize("fault", ["hang", "drip", "drip of tokens"])
async def test_the_deadline_bounds_all_attempts(server: FaultServer, fault: str, kind: str) -> None:
    asked = asked_of(server, fault, kind, retries=2, deadline=0.3, attempts=3)
    error = await error_of(ASK[kind](asked))
    assert isinstance(error, ModelTimeout)
    assert asked.account.usage()["failures"] == asked.account.usage()["calls"] == 1
    assert "0.3 s" in str(error)


async def test_no_server() -> None:
    with socket.socket() as taken:  # so that nobody else listens there
        taken.bind(("127.0.0.1", 0))
        model = openai_compatible("m", f"http://127.0.0.1:{taken.getsockname()[1]}/v1", SECRET, retries=0)
        assert isinstance(await error_of(ASK["rate"](chat_model(model))), ModelUnavailable)


async def test_log_probabilities_are_used(server: FaultServer) -> None:
    decision = await decide(asked_of(server, "logprobs", "decide"), MESSAGES, threshold=0.8)
    assert not decision.answer
    assert decision.probability == pytest.approx(0.7 / 0.9)
    rating = await rate(asked_of(server, "logprobs", "rate"), MESSAGES, low=1, high=5)
    assert rating.value == pytest.approx(4.0)
    assert rating.distribution == pytest.approx({1: 0, 2: 0, 3: 0.25, 4: 0.5, 5: 0.25})
    chosen = asked_of(server, "logprobs", "choose")
    assert await choose(chosen, MESSAGES, ["red", "green", "blue"]) == "green"
    assert chosen.account.usage()["calls"] == 1


@pytest.mark.parametrize("kind", ["decide", "rate", "choose"])
async def test_little_mass_is_no_answer(server: FaultServer, kind: str) -> None:
    asked = asked_of(server, "logprobs of something else", kind)
    for _ in range(2):  # and says nothing of the next prompt
        assert await ASK[kind](asked) == ANSWERS[kind]
    assert asked.account.usage()["calls"] == 4


@pytest.mark.parametrize(
    ("fault", "first", "later"),
    [
        ("logprobs rejected", 2, 1),
        ("logprobs without alternatives", 2, 1),
        ("none", 2, 1),
        ("schema rejected", 3, 1),
        ("temperature rejected", 2, 1),
    ],
)
async def test_a_refused_way_is_remembered_for_the_model(
    server: FaultServer, fault: str, first: int, later: int
) -> None:
    asked = asked_of(server, fault, "rate")
    assert await ASK["rate"](asked) == ANSWERS["rate"]
    assert asked.account.usage()["calls"] == first
    again = chat_model(asked.model)
    assert await ASK["rate"](again) == ANSWERS["rate"]
    assert again.account.usage()["calls"] == later


async def test_a_refused_prompt_rules_out_no_way(server: FaultServer) -> None:
    asked = asked_of(server, "400 always", "rate")
    await error_of(ASK["rate"](asked))
    assert asked.shared.server.refused == set()


async def test_a_form_is_asked_for_by_schema_and_never_by_tools(server: FaultServer) -> None:
    server.asked.clear()
    await ASK["extract"](asked_of(server, "none", "extract"))
    ((_, body),) = server.asked
    assert body["response_format"]["json_schema"]["schema"] == Person.model_json_schema()
    assert "tools" not in body
    assert not body.get("stream")


async def test_a_judgement_is_asked_in_one_piece_where_a_graph_streams(server: FaultServer) -> None:
    server.asked.clear()
    asked = asked_of(server, "logprobs", "decide")

    async def node(state: MessagesState) -> dict[str, list[AIMessage]]:
        decision = await decide(asked, state["messages"])
        return {"messages": [AIMessage(str(decision.probability))]}

    graph = StateGraph(MessagesState).add_node(node).add_edge(START, "node").compile()
    parts = [
        part async for part, _ in graph.astream(MessagesState(messages=[HumanMessage("So?")]), stream_mode="messages")
    ]
    assert [part.text[:4] for part in parts if isinstance(part, AIMessage)] == ["0.77"]
    assert [body.get("stream") for _, body in server.asked] == [False]


async def test_a_text_that_nobody_reads_along_is_asked_in_one_piece_where_a_graph_streams(server: FaultServer) -> None:
    server.asked.clear()
    asked = asked_of(server, "none", "write")

    async def node(state: MessagesState) -> dict[str, list[AIMessage]]:
        return {"messages": [AIMessage(await write(asked, state["messages"], quiet=True))]}

    graph = StateGraph(MessagesState).add_node(node).add_edge(START, "node").compile()
    parts = [
        part async for part, _ in graph.astream(MessagesState(messages=[HumanMessage("So?")]), stream_mode="messages")
    ]
    assert [part.text for part in parts if isinstance(part, AIMessage)] == [ANSWERS["write"]]
    assert [body.get("stream") for _, body in server.asked] == [False]


async def test_a_text_that_was_begun_is_not_asked_for_again(server: FaultServer) -> None:
    for fault, calls in {"content filter": 1, "drop": 1, "empty": 3}.items():
        asked = asked_of(server, fault, "write", attempts=3)
        await error_of(ASK["write"](asked))
        assert asked.account.usage()["calls"] == calls


async def test_every_fault_is_tested() -> None:
    elsewhere = {"hang", "drip", "drip of tokens", "NUL and surrogate", "escaped NUL", "logprobs"}
    elsewhere |= {
        *ENDS,
        "whole, no reason",
        "kept alive",
        "logprobs of something else",
        "logprobs without alternatives",
    }
    assert set(FAULTS) == TYPED.keys() | ANSWERED.keys() | elsewhere
