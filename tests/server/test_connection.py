"""The connection to a model over HTTP, where only who runs the server can call; and the methods in plain words."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from all_methods import whole_cast, whole_role
from wild_endpoint import WildEndpoint, wild_endpoint

from dramaturg.conversations.opening import open_conversation
from dramaturg.models.environment import KEPT, kept_endpoint, settings_file
from dramaturg.server.access import Access
from dramaturg.workflows.about import ABOUT, line_of
from dramaturg.workflows.methods import context_type

from fault_server import SECRET
from roles import run_settings
from served_roles import served

OWNER = Access(a_minute=100_000, connects=True)
AUTO = {"settings": {"chat_model": "auto"}, "method": "vanilla", "access": OWNER}


@pytest.fixture
def server() -> Iterator[WildEndpoint]:
    with wild_endpoint() as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """No endpoint is named; what a test sets is gone after it."""
    for name in KEPT:
        monkeypatch.setenv(name, "")
        os.environ.pop(name)


def address(server: WildEndpoint) -> str:
    return f"http://127.0.0.1:{server.server_port}/v1"


async def connect(http: httpx.AsyncClient, **wanted: Any) -> httpx.Response:
    return await http.post("/v1/connection", json={"model": "m", **wanted})


async def asked(http: httpx.AsyncClient) -> httpx.Response:
    body = {"model": "ada", "messages": [{"role": "user", "content": "Who are you?"}]}
    return await http.post("/v1/chat/completions", json=body)


async def test_a_model_that_answers_is_asked_from_the_next_turn_on_and_kept(
    tmp_path: Path, server: WildEndpoint
) -> None:
    async with served(tmp_path, **AUTO) as http:
        told = (await http.get("/v1/connection")).json()
        assert (told["address"], told["kept"], told["key"], told["changes"]) == ("", False, False, True)
        assert told["embedded"].keys() == {"there", "name", "used"}
        assert (await http.get("/v1/roles")).json()["connection"]
        answer = await connect(http, address=f"127.0.0.1:{server.server_port}", key=SECRET)
        assert answer.is_success, answer.text
        assert SECRET not in answer.text + (await http.get("/v1/connection")).text
        told = answer.json()
        assert (told["address"], told["model"], told["kept"], told["key"]) == (address(server), "m", True, True)
        assert settings_file().stat().st_mode & 0o777 == 0o600
        server.asked.clear()
        assert (await asked(http)).is_success
        assert server.asked
        again = await connect(http, address=address(server), model="words")  # with the key that is kept
        assert (again.json()["model"], again.json()["key"]) == ("words", True)
        assert (await http.request("DELETE", "/v1/connection", json={})).json()["kept"] is False
        assert kept_endpoint({}) == {}
        assert (await http.get("/v1/connection")).json()["key"] is False


async def test_a_key_goes_to_no_other_address_than_it_was_given_for(tmp_path: Path, server: WildEndpoint) -> None:
    async with served(tmp_path, **AUTO) as http:
        assert (await connect(http, address=address(server), key=SECRET)).is_success
        with wild_endpoint() as other:
            assert (await connect(http, address=address(other))).json()["key"] is False
            assert SECRET not in repr(other.asked) + repr(dict(os.environ)) + settings_file().read_text()


async def test_what_does_not_answer_is_not_kept(tmp_path: Path, server: WildEndpoint) -> None:
    async with served(tmp_path, **AUTO) as http:
        assert (await connect(http, address=address(server))).is_success
        before = settings_file().read_bytes()
        server.ways = ["no model"]
        refused = await connect(http, address=address(server), model="x", key=SECRET)
        assert refused.status_code == 400
        assert SECRET not in refused.text
        strange = [{"address": ""}, {"address": "x" * 3000}, {"address": "file:///etc/passwd"}, {"address": "http://["}]
        strange += [{"address": address(server), "key": key} for key in ("a b", "é" * 9, "k\nX: y", "k" * 9000)]
        strange += [{"address": address(server), "model": one} for one in ("", " ", "m" * 300, "m\n")]
        strange += [{"address": address(server), "embedding": "x"}, {"address": 3}, {}]
        for one in strange:
            assert (await connect(http, **one)).status_code == 400, one
        assert settings_file().read_bytes() == before
        assert os.environ["DRAMATURG_CHAT_MODEL"] == "m"


@pytest.mark.parametrize(
    "access", [Access(), Access({"alice": "a" * 20}), Access({"alice": "a" * 20}, changes_roles=True)]
)
async def test_nobody_else_sees_or_chooses_the_connection(tmp_path: Path, access: Access) -> None:
    alice = {"Authorization": f"Bearer {'a' * 20}"}
    async with served(tmp_path, **{**AUTO, "access": access}) as http:
        asked = [
            *(("GET", "/v1/connection"), ("POST", "/v1/connection"), ("DELETE", "/v1/connection")),
            ("POST", "/v1/connection/check"),
        ]
        for method, path in asked:
            assert (await http.request(method, path, json={}, headers=alice)).status_code == 403
            for header in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
                answer = await http.request(method, path, json={}, headers=alice | header)
                assert answer.status_code == 403


async def test_what_was_said_where_the_server_was_started_goes_before(
    tmp_path: Path, server: WildEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(tmp_path, access=OWNER, method="vanilla") as http:  # with a model of its own
        assert (await http.get("/v1/connection")).json()["changes"] is False
        assert (await connect(http, address=address(server))).status_code == 409
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    async with served(tmp_path, **AUTO) as http:
        assert (await http.get("/v1/connection")).json()["changes"] is False
        answer = await connect(http, address=address(server))
        assert (answer.status_code, "OPENAI_API_KEY" in answer.text) == (409, True)
        assert (await http.request("DELETE", "/v1/connection", json={})).status_code == 409
    assert os.environ["OPENAI_API_KEY"] == "sk-of-openai"


async def test_a_model_is_tried_and_what_it_can_do_is_told(tmp_path: Path, server: WildEndpoint) -> None:
    async with served(tmp_path, **AUTO) as http:
        assert (await connect(http, address=address(server))).is_success
        found = await http.post("/v1/connection/check", json={})
        events = [json.loads(line[6:]) for line in found.text.splitlines() if line.startswith("data: {")]
        assert {"object": "progress", "what": "check", "step": "questions", "done": 10, "total": 10} in events
        findings = events[-1]["findings"]
        assert findings[0]["what"] == "chat model"
        assert {"· amadeus", "· ensemble"} & {one["what"] for one in findings} == {"· amadeus"}
        server.ways = ["no model"]
        found = await http.post("/v1/connection/check", json={})
        assert "error" in found.text


async def test_methods_are_told_in_plain_words_of_three_languages(tmp_path: Path) -> None:
    flows = {"mine": "dramaturg.workflows.vanilla:graph"}
    async with served(tmp_path, flows=flows) as http:
        told = (await http.get("/v1/methods")).json()["data"]
        assert [one["id"] for one in told] == [*ABOUT, "mine"]
        first = told[0]
        assert (first["title"], first["questions"], first["needs"]) == ("AMADEUS", [6, 7], ["persona"])
        assert first["line"].endswith("A turn asks the model 6 to 7 questions.")
        assert (told[-1]["line"], told[-1]["questions"]) == ("", None)
        korean = (await http.get("/v1/methods?language=ko")).json()["data"][0]["line"]
        assert korean == line_of("amadeus", "ko")
        assert (await http.get("/v1/methods?language=xx")).json()["data"][0]["line"] == first["line"]


@pytest.mark.parametrize("method", ABOUT)
async def test_a_first_turn_asks_as_many_questions_as_is_said(tmp_path: Path, method: str) -> None:
    whole_role(tmp_path)
    context = context_type(method)(**run_settings(tmp_path, whole_cast()))
    async with open_conversation(method, context, "tea") as talk:
        usage = (await talk.take_turn("Who is Tom?"))["usage"]
    low, high = ABOUT[method].questions
    assert low <= sum(one["calls"] for one in usage.values()) <= high
