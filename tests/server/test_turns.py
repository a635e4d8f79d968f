"""Turns that go on where nobody listens: joined from the beginning, and stopped by their thread."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import BaseMessage

from dramaturg.models.errors import ModelUnavailable
from dramaturg.server.access import Access
from dramaturg.server.rooms import Rooms

from changing_roles import FREE, changing
from fakes import ScriptedChatModel
from roles import said
from served_roles import Slow, read_events, served
from talks import Player

ALICE, BOB = ({"Authorization": f"Bearer {'k' * 20}{who}"} for who in "ab")
KEYS = Access(a_minute=100_000, keys={"alice": f"{'k' * 20}a", "bob": f"{'k' * 20}b"})
HERE, SILVER = {"role": "ada"}, {"role": "silver"}


def asked(text: str = "one", thread: str = "tea", **more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": text}]
    wanted = {"stream": True, "background": True, "metadata": {"thread_id": thread}}
    return {"model": "ada", "messages": said} | wanted | more


async def leave(http: httpx.AsyncClient, body: dict[str, Any], **how: Any) -> str:
    """Have a turn taken, and go when its first words are there."""
    text = ""
    async with http.stream("POST", "/v1/chat/completions", json=body, **how) as response:
        async for line in response.aiter_lines():
            text += f"{line}\n"
            if read_events(text).content:
                break
    return read_events(text).content


async def joined(http: httpx.AsyncClient, **how: Any) -> httpx.Response:
    """Listen to the turn of the thread; what is heard of it can be read later."""
    return await http.send(http.build_request("GET", "/v1/threads/tea/coming", params=HERE, **how), stream=True)


async def whole(hears: httpx.Response) -> str:
    assert hears.status_code == 200
    return (await hears.aread()).decode()


def told_first(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.partition("\n")[0].removeprefix("data: "))
    return found


async def held(http: httpx.AsyncClient, count: int = 1, **how: Any) -> list[tuple[str, str]]:
    """The turns of the thread, as soon as there are so many."""
    while True:
        found = await http.get("/v1/threads/tea", params=HERE, **how)
        if len(turns := found.json().get("turns", [])) >= count:
            return [(one["question"], one["reply"]) for one in turns]
        await asyncio.sleep(0.01)


async def test_a_reply_that_nobody_hears_is_joined_from_its_beginning_and_kept(tmp_path: Path) -> None:
    let = asyncio.Event()
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        at = "/v1/threads/tea/coming"
        assert (await http.get(at, params=HERE)).status_code == 204
        begun = await leave(http, asked())
        async with http.stream("GET", at, params=HERE) as hears:  # as it comes
            assert "Content-Encoding" not in hears.headers
            async for line in hears.aiter_lines():
                if read_events(line).content:
                    break
        two = [await joined(http) for _ in range(2)]
        let.set()
        texts = [await whole(one) for one in two]
        first = told_first(texts[0])
        assert (first["object"], first["question"], first["after"]) == ("turn.joined", "one", None)
        said = [read_events(text) for text in texts]
        assert said[0] == said[1]
        assert said[0].done
        assert said[0].reasoning
        assert said[0].content.startswith(begun)
        assert await held(http) == [("one", said[0].content)]
        assert (await http.get(at, params=HERE)).status_code == 204
        let.clear()
        more = asked("two")
        more["messages"] = [*({"role": r, "content": c} for r, c in (("user", "one"), ("assistant", said[0].content)))]
        more["messages"].append({"role": "user", "content": "two"})
        assert "wish" not in first
        await leave(http, more, headers={"X-Role-Wish": "shorter"})
        hears = await joined(http)
        turns = (await http.get("/v1/threads/tea", params=HERE)).json()["turns"]
        let.set()
        first = told_first(await whole(hears))
        assert (first["after"], first["wish"]) == (turns[0]["id"], "shorter")


async def test_who_does_not_ask_for_it_stops_by_leaving(tmp_path: Path) -> None:
    let = asyncio.Event()
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        begun = await leave(http, asked(background=None))
        ((_, reply),) = await held(http)
        assert reply.startswith(begun.strip())
        assert "one" not in reply


async def test_a_reply_is_stopped_by_its_thread_and_all_who_listen_are_told(tmp_path: Path) -> None:
    slow = Slow(reply=Player(), let=asyncio.Event())
    async with served(tmp_path, slow, access=KEYS, settings={"redraws": 0}) as http:
        begun = await leave(http, asked(), headers=ALICE)
        listens = await joined(http, headers=ALICE)
        for other in ("coming", "stop"):  # nobody else's
            method = "GET" if other == "coming" else "POST"
            answer = await http.request(method, f"/v1/threads/tea/{other}", params=HERE, headers=BOB, json={})
            assert answer.status_code == 204 or answer.json()["stopped"] is False
            answer = await http.request(method, f"/v1/threads/tea/{other}", params=SILVER, headers=ALICE, json={})
            assert answer.status_code == 204 or answer.json()["stopped"] is False  # the same name, with another role
        said = (await http.post("/v1/threads/tea/stop", params=HERE, json={}, headers=ALICE)).json()
        ((_, reply),) = await held(http, headers=ALICE)  # it is kept when the answer comes
        assert reply.startswith(begun.strip())
        turns = (await http.get("/v1/threads/tea", params=HERE, headers=ALICE)).json()["turns"]
        assert (said["stopped"], said["turn"]) == (True, turns[0]["id"])
        text = await whole(listens)
        assert read_events(text).done
        assert f'"turn": "{said["turn"]}", "stopped": true' in text
        again = (await http.post("/v1/threads/tea/stop", params=HERE, json={}, headers=ALICE)).json()
        assert (again["stopped"], again["turn"]) == (False, None)


async def test_a_reply_that_is_stopped_before_a_word_leaves_nothing(tmp_path: Path) -> None:
    slow = Slow(reply=Player(), let=asyncio.Event(), words=0)
    async with served(tmp_path, slow, settings={"redraws": 0}) as http:
        asking = asyncio.create_task(http.post("/v1/chat/completions", json=asked()))
        status = 204
        while status == 204:
            async with http.stream("GET", "/v1/threads/tea/coming", params=HERE) as response:
                status = response.status_code
        said = (await http.post("/v1/threads/tea/stop", params=HERE, json={})).json()
        assert (said["stopped"], said["turn"]) == (True, None)
        assert not read_events((await asking).text).errors
        assert (await http.get("/v1/threads", params=HERE)).json()["data"] == []


@pytest.mark.parametrize("stream", [True, False])
async def test_who_asks_for_a_turn_and_goes_at_once_finds_it(tmp_path: Path, stream: bool) -> None:
    async with served(tmp_path, ScriptedChatModel(reply=Player()), settings={"redraws": 0}) as http:
        asking = asyncio.create_task(http.post("/v1/chat/completions", json=asked(stream=stream)))
        hears = await joined(http)
        while hears.status_code == 204 and not asking.done():
            hears = await joined(http)
        await hears.aclose()
        asking.cancel()
        assert await held(http) == [("one", "Reply 1 to one")]


async def test_a_talk_that_is_deleted_in_the_middle_of_a_reply_is_gone(tmp_path: Path) -> None:
    let = asyncio.Event()
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        let.set()
        await http.post("/v1/chat/completions", json=asked("zero"))
        let.clear()
        await leave(http, asked())
        headers = {"Content-Type": "application/json"}
        gone = await http.request("DELETE", "/v1/threads/tea", params=HERE, headers=headers)
        assert gone.status_code == 200
        let.set()
        await asyncio.sleep(0.1)
        assert (await http.get("/v1/threads", params=HERE)).json()["data"] == []


async def test_a_server_that_ends_keeps_what_was_said_where_nobody_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dramaturg.server.turns.ENDS_WITHIN", 0.1)
    slow = Slow(reply=Player(), let=asyncio.Event())
    async with served(tmp_path, slow, settings={"redraws": 0}, grace=0) as http:
        begun = await leave(http, asked())
    async with served(tmp_path) as http:
        ((question, reply),) = await held(http)
    assert question == "one"
    assert reply.startswith(begun.strip())


async def test_a_reply_is_stopped_while_the_next_question_waits_for_it(tmp_path: Path) -> None:
    slow = Slow(reply=Player(), let=asyncio.Event())
    async with served(tmp_path, slow, settings={"redraws": 0}) as http:
        begun = await leave(http, asked())
        waits = asyncio.create_task(http.post("/v1/chat/completions", json=asked("two", background=None)))
        await asyncio.sleep(0.1)
        async with asyncio.timeout(10):
            said = (await http.post("/v1/threads/tea/stop", params=HERE, json={})).json()
        assert said["stopped"]
        slow.let.set()
        assert read_events((await waits).text).content == "Reply 2 to two"
        (_, reply), (question, _) = await held(http, 2)
        assert reply.startswith(begun.strip())
        assert question == "two"


async def test_a_talk_is_deleted_while_a_reply_comes_on_one_whose_name_is_the_end_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dramaturg.server.talks.PATIENCE", 0.1)
    let = asyncio.Event()
    let.set()
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        await http.post("/v1/chat/completions", json=asked())
        let.clear()
        await leave(http, asked(thread="ea"))
        headers = {"Content-Type": "application/json"}
        gone = await http.request("DELETE", "/v1/threads/tea", params=HERE, headers=headers)
        assert gone.status_code == 200
        let.set()


async def test_a_server_that_ends_waits_for_what_it_keeps_of_a_reply_that_nobody_hears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember = Rooms.remember

    async def late(*given: Any) -> None:
        await asyncio.sleep(0.2)
        await remember(*given)

    monkeypatch.setattr(Rooms, "remember", late)
    let = asyncio.Event()
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        await leave(http, asked(metadata={}))  # of no thread that it names
        let.set()
    async with served(tmp_path, settings={"redraws": 0}) as http:
        said = [("user", "one"), ("assistant", "Reply 1 to one"), ("user", "two")]
        shown = [{"role": role, "content": text} for role, text in said]
        await http.post("/v1/chat/completions", json={"model": "ada", "messages": shown})
        assert len((await http.get("/v1/threads", params=HERE)).json()["data"]) == 1


async def test_a_client_that_names_no_thread_goes_on_after_a_reply_that_it_has_stopped(tmp_path: Path) -> None:
    let = asyncio.Event()
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        begun = await leave(http, asked(background=None, metadata={}))
        turns = list[dict[str, Any]]()
        while not turns:
            listed = (await http.get("/v1/threads", params=HERE)).json()["data"]
            turns = (await http.get(f"/v1/threads/{listed[0]['id']}", params=HERE)).json()["turns"] if listed else []
        (turn,) = turns
        assert turn["reply"].startswith(begun.strip())
        let.set()
        shown = [("user", "one"), ("assistant", turn["reply"]), ("user", "two")]
        messages = [{"role": role, "content": text} for role, text in shown]
        answer = await http.post("/v1/chat/completions", json=asked(metadata={}, messages=messages))
        assert answer.headers["X-Role-Thread"] == listed[0]["id"]


async def test_a_talk_that_is_deleted_before_it_is_kept_where_it_is_found_is_found_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember, gone, let = Rooms.remember, asyncio.Event(), asyncio.Event()

    async def late(*given: Any) -> None:
        await gone.wait()
        await remember(*given)

    monkeypatch.setattr(Rooms, "remember", late)
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        await leave(http, asked(metadata={}))
        let.set()
        while not (listed := (await http.get("/v1/threads", params=HERE)).json()["data"]):
            pass
        headers = {"Content-Type": "application/json"}
        answer = await http.request("DELETE", f"/v1/threads/{listed[0]['id']}", params=HERE, headers=headers)
        assert answer.status_code == 200
        gone.set()
    async with served(tmp_path, settings={"redraws": 0}) as http:
        shown = [("user", "one"), ("assistant", "Reply 1 to one"), ("user", "two")]
        messages = [{"role": role, "content": text} for role, text in shown]
        answer = await http.post("/v1/chat/completions", json=asked(metadata={}, messages=messages))
        assert answer.headers["X-Role-Thread"] != listed[0]["id"]


async def test_a_server_that_ends_waits_for_no_reply_that_is_sent_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dramaturg.server.turns.ENDS_WITHIN", 0.1)
    slow = Slow(reply=Player(), let=asyncio.Event())
    async with served(tmp_path, slow, settings={"redraws": 0}, grace=0) as http:
        stays = httpx.AsyncClient(base_url=http.base_url, trust_env=False, timeout=60)
        asking = asyncio.create_task(stays.post("/v1/chat/completions", json=asked(stream=False, background=None)))
        async with http.stream("GET", "/v1/threads/tea/coming", params=HERE) as hears:
            async for line in hears.aiter_lines():
                if read_events(line).content:
                    break
    await asyncio.gather(asking, return_exceptions=True)
    await stays.aclose()
    async with served(tmp_path) as http:
        assert (await http.get("/v1/threads", params=HERE)).json()["data"] == []


async def test_why_a_reply_failed_that_nobody_hears_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    let = asyncio.Event()
    async with served(tmp_path, Breaking(reply=Player(), let=let), settings={"redraws": 0}) as http:
        await leave(http, asked())
        await asyncio.sleep(0.1)  # it is seen that nobody listens
        let.set()
    assert "The model is gone." in caplog.text


async def test_a_turn_counts_for_its_caller_until_it_has_ended_however_it_ends(tmp_path: Path) -> None:
    let, one = asyncio.Event(), Access(a_minute=100_000, at_once=1)
    async with served(tmp_path, Slow(reply=Player(), let=let), one, settings={"redraws": 0}) as http:
        for body in (asked(model="nobody"), {"model": "ada"}, asked(response_format={"type": "json_object"})):
            assert (await http.post("/v1/chat/completions", json=body)).status_code in (400, 404)
        for background in (True, None):
            let.clear()
            await leave(http, asked(background=background))
            if background:
                refused = await http.post("/v1/chat/completions", json=asked("two"))
                assert refused.json()["error"]["code"] == "too_many_turns"
                assert (await http.post("/v1/threads/tea/stop", params=HERE, json={})).json()["stopped"]
            let.set()
            for stream in (True, False):
                async with asyncio.timeout(20):  # what is left of a turn goes on behind its reply
                    while (await http.post("/v1/chat/completions", json=asked(stream=stream))).status_code == 429:
                        pass
            async with asyncio.timeout(20):
                while (await http.post("/v1/chat/completions", json=asked(model="nobody"))).status_code == 429:
                    pass


@pytest.mark.parametrize("background", [True, None])
async def test_a_turn_whose_reply_is_there_is_neither_joined_nor_stopped(
    tmp_path: Path, background: bool | None
) -> None:
    let, finds = threading.Event(), changing(FREE)

    def reply(messages: list[BaseMessage]) -> str:
        if "salience" in said(messages):  # what she has become is looked for behind the reply
            let.wait(30)
        return finds(messages)

    update = {"update": True}
    async with served(tmp_path, ScriptedChatModel(reply=reply), method="id-rag", settings=update) as http:
        try:
            answer = await http.post("/v1/chat/completions", json=asked(background=background))
            assert read_events(answer.text).done
            assert (await http.get("/v1/threads/tea/coming", params=HERE)).status_code == 204
            stopped = (await http.post("/v1/threads/tea/stop", params=HERE, json={})).json()
            assert (stopped["stopped"], stopped["turn"]) == (False, None)
        finally:
            let.set()
        assert await held(http) == [("one", "I keep the light.")]
        evidence = (await http.get("/v1/threads/tea/turns/1", params=HERE)).json()["evidence"]
        assert [one["triple"]["object"] for one in evidence["identity_changes"]] == ["brandy"]


class Breaking(Slow):
    """Fails in the middle of a reply."""

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        async for one in super()._astream(messages, *args, **kwargs):
            yield one
            if self.let.is_set():
                raise ModelUnavailable("The model is gone.")
