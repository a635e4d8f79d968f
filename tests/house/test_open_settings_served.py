"""What a caller of a real `langgraph dev` may set, at each of its doors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dev_server import STARTS_A_SERVER, dev_server
from roles import small_role
from stub_endpoint import endpoint

pytestmark = STARTS_A_SERVER

ROOT = Path(__file__).parents[2]
QUESTION = {"messages": [{"role": "user", "content": "Do storms frighten you?"}]}
YEARLY = {"schedule": "0 0 1 1 *"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("server")
    small_role(folder / "library")
    small_role(folder / "elsewhere")
    (folder / "secret.yaml").write_text("password_of_the_house: x\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[httpx.Client]:
    with (
        endpoint() as stub,
        dev_server(folder, ROOT / "langgraph.json", stub.variables()) as url,
        httpx.Client(base_url=url, timeout=300) as client,
    ):
        yield client


def stored(server: httpx.Client) -> list[int]:
    """How many assistants and crons there are."""
    paths = ("/assistants/count", "/runs/crons/count")
    return [server.post(path, json={}).json() for path in paths]


def doors(server: httpx.Client, graph: str, context: dict[str, Any]) -> dict[str, httpx.Response]:
    """The same context through each door that takes one."""
    run = {"assistant_id": graph, "input": QUESTION, "context": context}
    thread = server.post("/threads", json={}).json()["thread_id"]
    assistant = server.post("/assistants", json={"graph_id": graph}).json()["assistant_id"]
    cron = server.post("/runs/crons", json={**YEARLY, "assistant_id": graph, "input": QUESTION}).json()["cron_id"]
    configured = {"assistant_id": graph, "input": QUESTION, "config": {"configurable": context}}
    call = {"jsonrpc": "2.0", "id": "1"}
    said = {"role": "user", "parts": [{"kind": "text", "text": "Hello?"}], "messageId": "m1"}
    before = stored(server)
    answers = {
        "runs": server.post("/runs", json=run),
        "runs by configurable": server.post("/runs", json=configured),
        "wait": server.post("/runs/wait", json=run),
        "stream": server.post("/runs/stream", json=run),
        "batch": server.post("/runs/batch", json=[run]),
        "of a thread": server.post(f"/threads/{thread}/runs", json=run),
        "wait, of a thread": server.post(f"/threads/{thread}/runs/wait", json=run),
        "stream, of a thread": server.post(f"/threads/{thread}/runs/stream", json=run),
        "of an assistant": server.post("/runs/wait", json={**run, "assistant_id": assistant}),
        "command": server.post(
            f"/threads/{thread}/commands",
            json={"id": 1, "method": "run.start", "params": configured},
        ),
        "assistant": server.post("/assistants", json={"graph_id": graph, "context": context}),
        "assistant by configurable": server.post(
            "/assistants", json={"graph_id": graph, "config": {"configurable": context}}
        ),
        "assistant, changed": server.patch(f"/assistants/{assistant}", json={"context": context}),
        "cron": server.post("/runs/crons", json={**run, **YEARLY}),
        "cron by configurable": server.post("/runs/crons", json={**configured, **YEARLY}),
        "cron of a thread": server.post(f"/threads/{thread}/runs/crons", json={**run, **YEARLY}),
        "cron, changed": server.patch(f"/runs/crons/{cron}", json={"context": context}),
        "MCP": server.post(
            "/mcp",
            json={
                **call,
                "method": "tools/call",
                "params": {"name": graph, "arguments": QUESTION, "context": context},
            },
            headers={"Accept": "application/json, text/event-stream"},
        ),
        "A2A": server.post(
            f"/a2a/{assistant}",
            json={**call, "method": "message/send", "params": {"message": said, "context": context}},
            headers={"Accept": "application/json"},
        ),
    }
    assert stored(server) == before
    assert server.get(f"/threads/{thread}/runs").json() == []
    return answers


@pytest.mark.parametrize(
    ("graph", "context", "sentence"),
    [
        ("amadeus", {"role": "ada", "library": "elsewhere"}, "DRAMATURG_OPEN_SETTINGS"),
        ("amadeus", {"role": "ada", "slotz": 1}, "did you mean 'slots'"),
        ("ensemble", {"role": "ada", "relations": {"embedding_model": "elsewhere"}}, "DRAMATURG_OPEN_SETTINGS"),
    ],
)
def test_what_is_not_open_is_refused_at_every_door_and_not_stored(
    server: httpx.Client, graph: str, context: dict[str, Any], sentence: str
) -> None:
    answers = doors(server, graph, context)
    passed = {door: one.text[:300] for door, one in answers.items() if sentence not in one.text}
    assert not passed


def test_a_scenario_is_no_file_of_the_callers(server: httpx.Client, folder: Path) -> None:
    answer = server.post(
        "/runs/wait", json={"assistant_id": "riverbend", "context": {"scenario": str(folder / "secret.yaml")}}
    )
    assert "password_of_the_house" not in answer.text
    assert answer.status_code == 422


@pytest.mark.parametrize("key", ["base_url", "api_key", "__pregel_store", "checkpoint_path"])
def test_foreign_keys_are_refused(server: httpx.Client, key: str) -> None:
    run = {"assistant_id": "amadeus", "input": QUESTION}
    for given in ({"context": {key: "x"}}, {"config": {"configurable": {key: "x"}}}):
        assert server.post("/runs/wait", json={**run, **given}).status_code == 422


def test_what_is_open_reaches_the_graph(server: httpx.Client) -> None:
    context = {"role": "ada", "slots": 1, "language": "en", "temperature": 0.2}
    output = server.post("/runs/wait", json={"assistant_id": "amadeus", "input": QUESTION, "context": context}).json()
    assert len(output["evidence"]["selection"]["selected"]) == 1


@pytest.mark.parametrize("opened", ["library scenario", "all"])
def test_the_operator_opens_settings_by_name_or_all(folder: Path, opened: str) -> None:
    with endpoint() as stub:
        variables = {**stub.variables(), "DRAMATURG_OPEN_SETTINGS": opened}
        with (
            dev_server(folder, ROOT / "langgraph.json", variables) as url,
            httpx.Client(base_url=url, timeout=300) as client,
        ):
            context = {"role": "ada", "library": str(folder / "elsewhere")}
            run = {"assistant_id": "amadeus", "input": QUESTION, "context": context}
            assert client.post("/runs/wait", json=run).json()["messages"]
            other = {**run, "context": {**context, "embedding_model": "auto"}}
            assert client.post("/runs/wait", json=other).status_code == (200 if opened == "all" else 422)
            unknown = {**run, "context": {"slotz": 1}}
            assert client.post("/runs/wait", json=unknown).status_code == 422
