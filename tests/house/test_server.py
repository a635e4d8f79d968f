"""The tour that docs/how-to/studio.md describes, against a real `langgraph dev` with a model on loopback."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client, get_sync_client

from changing_roles import CORE, changing
from dev_server import STARTS_A_SERVER, dev_server
from node_client import check, tour
from roles import small_role
from served_graphs import SERVED, bounded
from stub_endpoint import Endpoint, Handler, endpoint

pytestmark = STARTS_A_SERVER

ROOT = Path(__file__).parents[2]
QUESTION = {"messages": [{"role": "user", "content": "Do storms frighten you?"}]}
ADA = {"role": "ada"}
SHORT = {**ADA, "window": 2}  # what the window still shows is not remembered, too


@pytest.fixture(scope="module")
def stub() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def url(stub: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over a library with one role."""
    folder = tmp_path_factory.mktemp("server")
    small_role(folder / "library")
    with dev_server(folder, ROOT / "langgraph.json", stub.variables()) as url:
        yield url


@pytest.fixture
async def client(url: str) -> AsyncIterator[Any]:
    async with get_client(url=url) as made:
        yield made


async def test_every_graph_has_an_assistant_and_a_form(client: Any) -> None:
    assistants = {found["graph_id"]: found["assistant_id"] for found in await client.assistants.search(limit=100)}
    assert set(assistants) == set(SERVED)
    for assistant in assistants.values():
        schemas = await client.assistants.get_schemas(assistant)
        form = schemas["input_schema"].get("properties", {})
        assert form.keys() <= {"messages", "rebuild", "retry", "plan", "apply", "scores", "again"}
        assert all(field["description"] for field in (form | schemas["output_schema"]["properties"]).values())
        settings = schemas["context_schema"]["properties"]
        assert len(settings) >= 10
        assert all(field["description"] and bounded(field) for field in settings.values())
        assert set(schemas["output_schema"]["properties"]) & {"messages", "index", "log", "cast"}


async def test_the_graph_is_drawn_with_the_graph_inside_it(client: Any) -> None:
    drawn = await client.assistants.get_graph("amadeus", xray=True)
    names = {str(node["id"]) for node in drawn["nodes"]}
    assert {"judge", "fall_back", "amadeus_index:embed_passages"} <= names
    loops = [edge for edge in drawn["edges"] if edge["source"] == edge["target"] == "judge"]
    assert [edge["data"] for edge in loops] == ["more"]


async def test_a_run_streams_events_and_the_reply(client: Any) -> None:
    thread = (await client.threads.create())["thread_id"]
    seen: Counter[str] = Counter()
    words = ""
    async for part in client.runs.stream(
        thread, "amadeus", input=QUESTION, context=ADA, stream_mode=["custom", "messages-tuple", "values"]
    ):
        if part.event == "custom":
            seen[part.data["event"]] += 1
        elif part.event == "messages":
            words += part.data[0]["content"] if part.data[0]["type"] == "AIMessageChunk" else ""
        elif part.event == "values":
            last = part.data
    assert seen["retrieved"] == seen["extracted"] == 1
    assert seen["judged"] == 4
    assert words == last["messages"][-1]["content"] == "I keep the light."
    # What the same user has said on other threads comes back, if a test before this one has said anything.
    assert set(last["evidence"]) - {"talk"} == {"knowledge", "selection", "attributes", "role_memory"}
    assert last["usage"]["judge"]["calls"] >= 4  # the first ask too for log-probabilities, which the stub lacks


async def test_what_a_thread_made_the_role_remember_is_in_the_servers_store(client: Any) -> None:
    thread, other = [(await client.threads.create())["thread_id"] for _ in range(2)]
    for earlier in (0, 0, 1):  # that have left the window
        last = await client.runs.wait(thread, "emotional_rag", input=QUESTION, context=SHORT)
        said = [one for one in last["evidence"]["memories"] if not one["canon"]]
        assert len(said) == earlier
    assert "Do storms frighten you?" in said[0]["text"]
    assert len((await client.threads.get_state(thread))["values"]["remembered"]) == 3
    elsewhere = await client.runs.wait(other, "emotional_rag", input=QUESTION, context=SHORT)
    assert all(one["canon"] for one in elsewhere["evidence"]["memories"])


async def test_the_user_plays_a_role_and_a_draft_is_not_streamed_before_it_is_verified(client: Any) -> None:
    thread = (await client.threads.create())["thread_id"]
    context, replies = {**ADA, "user_role": "Tom"}, []
    async for part in client.runs.stream(
        thread, "drmr", input=QUESTION, context=context, stream_mode=["messages-tuple", "values"]
    ):
        if part.event == "messages" and part.data[0]["type"] in {"ai", "AIMessageChunk"}:
            replies.append(part.data[0]["content"])
        elif part.event == "values":
            last = part.data
    assert replies == ["I keep the light."]  # once and whole
    assert last["messages"][-1]["content"] == "I keep the light."
    assert last["evidence"]["relations"]["clique"] == ["Ada Quill", "Tom"]
    assert last["evidence"]["verification"]["passed"]
    again = await client.runs.wait(thread, "drmr", input=QUESTION, context=context)
    assert "score_edges" not in again["usage"] or not again["usage"]["score_edges"]["calls"]
    assert len((await client.threads.get_state(thread))["values"]["memory_records"]) == 1


async def test_a_run_waits_for_approval_and_goes_on_when_it_is_resumed(client: Any, stub: Endpoint) -> None:
    thread, context, old = (await client.threads.create())["thread_id"], {**ADA, "update": True}, stub.model.reply
    stub.model.reply = changing(CORE)
    try:
        await client.runs.wait(thread, "id_rag", input=QUESTION, context=context)
        for answer in (None, "yes", {"approved": [1]}):
            if answer:
                await client.runs.wait(thread, "id_rag", command={"resume": answer}, context=context)
            state = await client.threads.get_state(thread)
            asked = [one["value"] for task in state["tasks"] for one in task["interrupts"]]
            assert [len(one["changes"]) for one in asked] == ([] if isinstance(answer, dict) else [1])
    finally:
        stub.model.reply = old
    assert state["values"]["messages"][-1]["content"] == "I keep the light."
    assert [change["triple"]["object"] for change in state["values"]["identity_changes"]] == ["a sailor"]


async def test_role_memory_lives_on_the_thread_and_history_can_be_forked(client: Any) -> None:
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "amadeus", input=QUESTION, context=ADA)
    second = await client.runs.wait(thread, "amadeus", input=QUESTION, context=ADA)
    assert len(second["messages"]) == 4
    state = await client.threads.get_state(thread)
    assert len(state["values"]["role_memory"]) == 2
    history = await client.threads.get_history(thread, limit=100)
    earlier = next(found for found in history if found["next"] == ["begin_selection"])
    context = {**ADA, "slots": 1}
    forked = await client.runs.wait(thread, "amadeus", input=None, checkpoint=earlier["checkpoint"], context=context)
    assert len(forked["evidence"]["selection"]["selected"]) == 1
    assert len(forked["messages"]) == 4


@pytest.mark.parametrize(("graph", "least"), [("amadeus", 8), ("drmr", 9)])
async def test_a_run_goes_on_from_an_edit_after_each_step(client: Any, graph: str, least: int) -> None:
    thread, context = (await client.threads.create())["thread_id"], {**ADA, "user_role": "Tom"}
    context = context if graph == "drmr" else ADA
    await client.runs.wait(thread, graph, input=QUESTION, context=context)
    history = (await client.threads.get_history(thread, limit=100))[::-1]
    steps = [(*before["next"], after) for before, after in pairwise(history) if before["next"] != ["__start__"]]
    assert len(steps) >= least
    for node, after in steps:
        written = {"question": f"Edited after {node}?"}
        for as_node in (node, None):
            edited = await client.threads.update_state(thread, written, as_node=as_node, checkpoint=after["checkpoint"])
            state = await client.threads.get_state(thread, checkpoint=edited["checkpoint"])
            assert (state["next"], state["values"]["question"]) == (after["next"], written["question"])
        if state["next"]:
            last = await client.runs.wait(thread, graph, input=None, checkpoint=edited["checkpoint"], context=context)
            assert last["messages"][-1]["content"] == "I keep the light."


async def test_a_role_there_is_called_as_a_graph_here(url: str, client: Any) -> None:
    config: Any = {"configurable": {"thread_id": (await client.threads.create())["thread_id"]}}
    with get_sync_client(url=url) as blocking:
        role = RemoteGraph("vanilla", client=client, sync_client=blocking)
        said = await asyncio.to_thread(role.invoke, QUESTION, config, context=ADA)
    assert said["messages"][-1]["type"] == "ai"
    assert len((await role.ainvoke(QUESTION, config, context=ADA))["messages"]) == 4


async def test_a_run_can_be_cancelled(client: Any, stub: Endpoint) -> None:
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "amadeus", input=QUESTION, context=ADA)
    asked, over = threading.Event(), threading.Event()

    def hold(_: Handler) -> None:
        asked.set()
        over.wait()

    stub.faults["chat"] = hold
    try:
        run = await client.runs.create(thread, "amadeus", input=QUESTION, context=ADA)
        assert await asyncio.to_thread(asked.wait, 600)
        await client.runs.cancel(thread, run["run_id"], wait=True)
    finally:
        over.set()
        stub.faults.clear()
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    again = await client.runs.wait(thread, "amadeus", input=QUESTION, context=ADA)
    assert again["messages"][-1]["content"] == "I keep the light."


async def test_an_assistant_keeps_a_context(client: Any) -> None:
    made = await client.assistants.create("amadeus", context={**ADA, "slots": 1}, name="ada")
    output = await client.runs.wait(None, made["assistant_id"], input=QUESTION)
    assert len(output["evidence"]["selection"]["selected"]) == 1


@pytest.mark.parametrize(
    ("context", "sentence"),
    [({"role": "nobody"}, "nobody"), ({"role": "ada", "slots": 0}, "greater than or equal to 1")],
)
async def test_an_error_says_what_is_wrong(client: Any, context: dict[str, Any], sentence: str) -> None:
    thread = (await client.threads.create())["thread_id"]
    with pytest.raises(Exception, match=sentence):
        await client.runs.wait(thread, "amadeus", input=QUESTION, context=context)


async def test_a_role_can_be_indexed_by_itself(client: Any) -> None:
    output = await client.runs.wait(None, "amadeus_index", input={"rebuild": True}, context=ADA)
    assert output["index"]["passages"] == output["index"]["embedded"] == 7


def test_the_client_in_javascript_talks_to_it(url: str) -> None:
    check(tour(url))
