"""Clients that people have, at a real `langgraph dev`: agent-chat-ui's hook, MCP, A2A; and settings that it refuses."""

import ast
import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import mcp
import pytest
from langgraph_sdk import get_client

from changing_roles import CORE, changing
from dev_server import STARTS_A_SERVER, dev_server
from node_client import chat
from roles import small_role
from served_graphs import SERVED
from stub_endpoint import Endpoint, endpoint

pytestmark = STARTS_A_SERVER

CONFIG = Path(__file__).parents[2] / "langgraph.json"
QUESTION, REPLY = "Do storms frighten you?", "I keep the light."
LONGER = "I trim the lamp at dusk and at midnight, and it has never gone out. Storms cannot frighten me."
"""A reply of which some is shown before its end: its first sentence, as soon as it is known to be no slip."""
ADA = {"role": "ada"}
AS_THE_HOOK = {
    "stream_mode": ["values", "messages-tuple", "custom"],
    "stream_subgraphs": True,
    "stream_resumable": True,
}


@pytest.fixture(scope="module")
def stub() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def url(stub: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over a library with one role."""
    folder = tmp_path_factory.mktemp("clients")
    small_role(folder / "library")
    with dev_server(folder, CONFIG, stub.variables()) as url:
        yield url


@pytest.fixture
async def client(url: str) -> AsyncIterator[Any]:
    async with get_client(url=url) as made:
        yield made


@pytest.fixture
def changes(stub: Endpoint) -> Iterator[None]:
    """In each turn the model finds that she has become somebody else."""
    old, stub.model.reply = stub.model.reply, changing(CORE)
    yield
    stub.model.reply = old


@pytest.fixture
def stops(stub: Endpoint) -> Iterator[None]:
    """The model keeps back the last word of its replies, until the test has seen some of it."""
    old = stub.model.reply
    stub.model.reply = lambda messages: LONGER if (said := old(messages)) == REPLY else said
    stub.goes_on.clear()
    yield
    stub.goes_on.set()
    stub.model.reply = old


def said_by_a_person(text: str) -> dict[str, Any]:
    """A message as agent-chat-ui sends it."""
    return {"messages": [{"type": "human", "id": str(uuid4()), "content": [{"type": "text", "text": text}]}]}


# agent-chat-ui: all that it asks of a server is by an assistant, on a thread, with the hook useStream


@pytest.mark.usefixtures("stops")
async def test_a_chat_shows_words_before_the_reply_is_whole_and_events(client: Any, stub: Endpoint) -> None:
    ada = (await client.assistants.create("amadeus", context=ADA))["assistant_id"]
    thread = (await client.threads.create())["thread_id"]
    words: list[str] = []
    events: list[str] = []
    async for part in client.runs.stream(thread, ada, input=said_by_a_person(QUESTION), **AS_THE_HOOK):
        kind = part.event.partition("|")[0]
        if kind == "messages":
            words.append(part.data[0]["content"])
            stub.goes_on.set()
        elif kind == "custom":
            events.append(part.data["event"])
        elif part.event == "values":
            last = part.data
    assert len([word for word in words if word]) > 1
    assert "".join(words) == last["messages"][-1]["content"] == LONGER
    assert {"retrieved", "judged", "extracted"} <= {*events}


@pytest.mark.usefixtures("changes")
async def test_a_view_of_interrupts_shows_what_waits_and_its_answer_is_taken(client: Any) -> None:
    ada = (await client.assistants.create("id_rag", context={**ADA, "update": True}))["assistant_id"]
    thread = (await client.threads.create())["thread_id"]
    async for part in client.runs.stream(thread, ada, input=said_by_a_person(QUESTION), **AS_THE_HOOK):
        asked = part.data.get("__interrupt__") if part.event == "values" else None
    (waits,) = asked or ()
    require_shown(waits["value"])
    (head,) = await client.threads.get_history(thread, limit=1)
    decisions = {"resume": {"decisions": [{"type": "approve"}]}}
    answered = client.runs.stream(thread, ada, input={}, command=decisions, checkpoint=head["checkpoint"])
    assert [part.event for part in [one async for one in answered] if part.event == "error"] == []
    state = await client.threads.get_state(thread)
    assert (state["interrupts"], became(state["values"])) == ([], ["a sailor"])


def require_shown(asked: dict[str, Any]) -> None:
    """Whether the view of agent-chat-ui would show buttons, by its check of what is asked, and not a table of JSON."""
    assert asked["changes"]
    assert len(asked["action_requests"]) == len(asked["changes"])
    for request in asked["action_requests"]:
        assert isinstance(request["name"], str)
        assert request["args"]["sentence"] == "Ada Quill is by profession a sailor."
        assert request["args"]["replaces"] == "Ada Quill is by profession keeper of the light."
    names = {request["name"] for request in asked["action_requests"]}
    assert {config["action_name"] for config in asked["review_configs"]} == names
    assert all({*config["allowed_decisions"]} == {"approve", "reject"} for config in asked["review_configs"])


def became(values: dict[str, Any]) -> list[str]:
    """What she has become on a thread."""
    return [change["triple"]["object"] for change in values["identity_changes"]]


@pytest.mark.usefixtures("stops")
async def test_the_hook_in_javascript_shows_words_as_they_come(client: Any, url: str, stub: Endpoint) -> None:
    ada = (await client.assistants.create("amadeus", context=ADA))["assistant_id"]
    shown: list[str] = []

    def more(text: str) -> None:
        shown.append(text)
        stub.goes_on.set()

    seen = await asyncio.to_thread(chat, more, url, ada, QUESTION)
    assert LONGER.startswith(shown[0])
    assert shown[0] != LONGER == shown[-1]
    assert {"retrieved", "judged", "extracted"} <= {event["event"] for event in seen["events"]}
    assert seen["said"] == [["human", [{"type": "text", "text": QUESTION}]], ["ai", LONGER]]
    assert "selection" in seen["values"]["evidence"]
    assert seen["errors"] == []


@pytest.mark.usefixtures("changes")
async def test_the_hook_in_javascript_answers_what_is_asked(client: Any, url: str) -> None:
    ada = (await client.assistants.create("id_rag", context={**ADA, "update": True}))["assistant_id"]
    seen = await asyncio.to_thread(chat, lambda _: None, url, ada, QUESTION, "And the fog?")
    require_shown(seen["asked"][0])
    assert (seen["waits"], seen["errors"]) == (None, [])
    assert became(seen["values"])[0] == "a sailor"
    assert [kind for kind, _ in seen["said"]] == ["human", "ai", "human", "ai"]


# MCP: each assistant is a tool


async def test_over_mcp_a_role_is_a_tool_that_answers(client: Any, url: str) -> None:
    about = "Talk to Ada, who keeps the light."
    await client.assistants.create("amadeus", context=ADA, name="Ada Quill", description=about)
    async with mcp.Client(f"{url}/mcp") as one:
        tools = {tool.name: tool for tool in (await one.list_tools()).tools}
        result = await one.call_tool("Ada_Quill", {"messages": QUESTION})
    assert {*SERVED} <= {*tools}
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools.values())
    assert tools["Ada_Quill"].description == about
    assert tools["Ada_Quill"].input_schema["properties"]["messages"]["type"] == "string"
    assert not result.is_error
    (content,) = result.content
    said = ast.literal_eval(content.text)  # the server writes what a graph gives as Python does
    assert said["messages"][-1]["content"] == REPLY
    assert "selection" in said["evidence"]


# A2A: each assistant is an agent


async def a2a(url: str, assistant: str, *parts: dict[str, Any], **where: str) -> dict[str, Any]:
    """Send a message, and return the task."""
    message = {"role": "user", "messageId": str(uuid4()), "parts": parts, **where}
    call = {"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": {"message": message}}
    async with httpx.AsyncClient(timeout=600) as http:
        answer = (await http.post(f"{url}/a2a/{assistant}", json=call, headers={"Accept": "application/json"})).json()
    assert "result" in answer, answer
    task: dict[str, Any] = answer["result"]
    return task


def text(words: str) -> dict[str, Any]:
    return {"kind": "text", "text": words}


async def test_over_a2a_a_role_answers_and_its_context_is_the_thread(client: Any, url: str) -> None:
    ada = (await client.assistants.create("amadeus", context=ADA, name="Ada"))["assistant_id"]
    first = await a2a(url, ada, text(QUESTION))
    second = await a2a(url, ada, text("And the fog?"), contextId=first["contextId"])
    for task in (first, second):
        assert (task["status"]["state"], task["artifacts"][0]["parts"]) == ("completed", [text(REPLY)])
    assert second["contextId"] == first["contextId"]
    kept = (await client.threads.get_state(first["contextId"]))["values"]["messages"]
    assert [one["content"] for one in kept] == [QUESTION, REPLY, "And the fog?", REPLY]


@pytest.mark.usefixtures("changes")
async def test_over_a2a_what_waits_is_answered_by_data(client: Any, url: str) -> None:
    ada = (await client.assistants.create("id_rag", context={**ADA, "update": True}))["assistant_id"]
    task = await a2a(url, ada, text(QUESTION))
    where = {"contextId": task["contextId"], "taskId": task["id"]}
    wrong = await a2a(url, ada, text("yes"), **where)
    for one in (task, wrong):
        assert one["status"]["state"] == "input-required"
        asked = one["artifacts"][0]["parts"][0]["data"]["value"]
        require_shown(asked)
    assert "Resume with {'approved': [numbers]}" in asked["error"]
    done = await a2a(url, ada, {"kind": "data", "data": {"resume": {"approved": [1]}}}, **where)
    assert done["status"]["state"] == "completed"
    assert became((await client.threads.get_state(task["contextId"]))["values"]) == ["a sailor"]


# What cannot be is refused when it starts


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("DRAMATURG_THREADS", "0", "DRAMATURG_THREADS cannot be '0': it should be greater than or equal to 1"),
        ("DRAMATURG_OPEN_SETTINGS", "scenari", "DRAMATURG_OPEN_SETTINGS cannot name 'scenari'"),
    ],
)
def test_a_setting_that_cannot_be_stops_the_start(tmp_path: Path, variable: str, value: str, sentence: str) -> None:
    with pytest.raises(pytest.fail.Exception) as stopped, dev_server(tmp_path, CONFIG, {variable: value}):
        pass
    assert sentence in str(stopped.value)
