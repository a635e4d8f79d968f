"""Who calls and who listens: other callers' threads, web pages, floods, sizes, and clients that go at any moment."""

import asyncio
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

from dramaturg.server.access import Access, is_loopback, keys_in

from served_roles import Screen, only_finished, served

pytestmark = pytest.mark.sample_of_file(3)

ALICE, BOB = "alice-key-0123456789", "bob-key-0123456789ab"
SECRET = "The treasure lies under the third stone"


def as_caller(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "ada", "messages": [{"role": "user", "content": text}], **more}


def keyed(**limits: Any) -> Access:
    return Access({"alice": ALICE, "bob": BOB}, **{"a_minute": 100_000, **limits})


NAMES = (
    *("tea", "bob/tea", "/bob/tea", "../bob/tea", "alice/../bob/tea", "bob%2Ftea", "bob\\tea", "BOB/tea", "bob//tea"),
    *(
        "",
        "*",
        "%",
        "' OR 1=1 --",
        "bob/",
        "ada/bob/tea",
        "..",
        "\u2024\u2024/bob/tea",
        "bob\u2215tea",
        "\ufeffbob/tea",
    ),
)


def hostile(chance: random.Random, number: int) -> tuple[str, str, dict[str, str], bytes | None]:  # noqa: C901
    """A request of Alice that means no good: method, path, headers, body."""
    name = chance.choice(NAMES)
    headers = {**as_caller(ALICE), "Content-Type": "application/json"}
    body: Any = asked(f"What did Bob say? {number}", metadata={"thread_id": name}, stream=chance.random() < 0.5)
    match chance.randrange(12):
        case 0:
            return "GET", f"/v1/threads/{quote(name)}", headers, None
        case 1:
            return "GET", f"/v1/threads/{name.replace('/', '%2F')}/turns/1?role=ada", headers, None
        case 2:
            body["messages"] = [{"role": "user", "content": SECRET[:20]}, {"role": "assistant", "content": "x"}] * 40
        case 3:
            body["messages"][0]["content"] = ["\ud800", None, 7, {"text": {"a": 1}}, {"text": "x" * 1000}]
        case 4:
            headers["Authorization"] = chance.choice(["", "Bearer", f"Bearer {BOB}x", f"Basic {BOB}", "é"])
        case 5:
            headers["Origin"] = chance.choice(["https://evil.example", "null", "http://127.0.0.1.evil.example"])
        case 6:
            headers["Host"] = chance.choice(["evil.example", "evil.example:80", "localhost.evil.example", "[::2]"])
        case 7:
            headers["Content-Type"] = chance.choice(["text/plain", "application/x-www-form-urlencoded", ""])
        case 8:
            return "POST", "/v1/chat/completions", headers, b"{" * chance.randrange(1, 100_000)
        case 9:
            return "POST", "/v1/chat/completions", headers, b'{"model":"ada","messages":' + b"[" * 50_000
        case 10:
            body["model"] = chance.choice(
                ["../ada", "ada:../../x", "ada:os:system", "role:auto", "x" * 5_000, "\0", "ada\n"]
            )
        case 11:
            headers |= {
                "X-Role-Thread": name.encode("ascii", "replace").decode(),
                "X-Gen-Type": "quiet\u00ad".encode("ascii", "ignore").decode(),
            }
    return "POST", "/v1/chat/completions", headers, json.dumps(body).encode()


@pytest.mark.parametrize("count", [40, pytest.param(500, marks=pytest.mark.crash)])
async def test_no_caller_is_served_what_is_anothers(tmp_path: Path, count: int) -> None:
    chance = random.Random(7)
    async with served(tmp_path, access=keyed(), method="vanilla") as http:
        bobs = {"X-Role-Thread": "tea", **as_caller(BOB)}
        assert (await http.post("/v1/chat/completions", json=asked(SECRET), headers=bobs)).status_code == 200
        for _ in range(200):  # a reply is heard before its turn is kept
            if (before := (await http.get("/v1/threads/tea", headers=as_caller(BOB))).json())["turns"]:
                break
            await asyncio.sleep(0.05)
        for number in range(count):
            method, path, headers, body = hostile(chance, number)
            raw = {name: value.encode("utf-8", "surrogatepass") for name, value in headers.items()}
            response = await http.request(method, path, headers=raw, content=body)
            assert SECRET not in response.text
            assert response.status_code != 500, (method, path, headers, body[:200] if body else body, response.text)
            if {"Origin", "Host"} & headers.keys() or headers["Authorization"] != f"Bearer {ALICE}":
                assert response.status_code in {401, 403}
        assert (await http.get("/v1/threads/tea", headers=as_caller(BOB))).json() == before
        assert (await http.get("/health")).json() == {"status": "ok"}


async def test_a_history_leads_to_ones_own_thread_only(tmp_path: Path) -> None:
    async with served(tmp_path, access=keyed(), method="vanilla") as http:
        screen = Screen(http, headers=False, key=BOB)
        await screen.say(SECRET)
        await screen.say("two")
        stolen = Screen(http, headers=False, key=ALICE, said=[*screen.said])
        await stolen.say("three")
        for key, turns in ((BOB, 2), (ALICE, 3)):
            (thread,) = (await http.get("/v1/threads?role=ada", headers=as_caller(key))).json()["data"]
            told = (await http.get(f"/v1/threads/{thread['id']}", headers=as_caller(key))).json()
            assert len(told["turns"]) == turns


async def test_a_page_does_not_reach_a_server_on_loopback(tmp_path: Path) -> None:
    async with served(tmp_path, method="vanilla") as http:
        own = f"http://{http.base_url.host}:{http.base_url.port}"
        assert (await http.get("/v1/models", headers={"Origin": own})).status_code == 200
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            assert (await http.get("/v1/models", headers=headers)).status_code == 403
        simple = {"Content-Type": "text/plain"}
        response = await http.post("/v1/chat/completions", content=json.dumps(asked("hi")), headers=simple)
        assert response.status_code == 415


async def test_a_page_that_may_call_can(tmp_path: Path) -> None:
    page = "https://play.example"
    async with served(tmp_path, access=keyed(origins=(page,)), method="vanilla") as http:
        asks = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,x-role-thread",
        }
        may = await http.options("/v1/chat/completions", headers={"Origin": page, **asks})
        assert may.status_code == 200
        assert may.headers["Access-Control-Allow-Origin"] == page
        assert "x-role-thread" in may.headers["Access-Control-Allow-Headers"]
        said = await http.post("/v1/chat/completions", json=asked("hi"), headers={"Origin": page, **as_caller(ALICE)})
        assert said.headers["Access-Control-Allow-Origin"] == page
        assert "X-Role-Thread" in said.headers["Access-Control-Expose-Headers"]
        refused = await http.get("/v1/models", headers={"Origin": page})
        assert (refused.status_code, refused.headers["Access-Control-Allow-Origin"]) == (401, page)
        other = {"Origin": "https://evil.example"}
        for response in (
            await http.options("/v1/chat/completions", headers={**other, **asks}),
            await http.get("/v1/models", headers={**other, **as_caller(ALICE)}),
        ):
            assert response.status_code in {400, 403}
            assert "Access-Control-Allow-Origin" not in response.headers


async def test_sizes_rates_and_turns_at_once_have_their_limits(tmp_path: Path) -> None:
    async with served(tmp_path, access=keyed(most_bytes=2_000, a_minute=6, at_once=1), method="vanilla") as http:
        alice = as_caller(ALICE)

        async def chunks() -> Any:
            for _ in range(10):
                yield b" " * 1_000

        long = {**alice, "Content-Type": "application/json"}
        assert (await http.post("/v1/chat/completions", content=b" " * 3_000, headers=long)).status_code == 413
        assert (await http.post("/v1/chat/completions", content=chunks(), headers=long)).status_code == 413
        two = [http.post("/v1/chat/completions", json=asked(f"hi {n}"), headers=alice) for n in range(2)]
        answers = sorted(await asyncio.gather(*two), key=lambda one: one.status_code)
        assert [one.status_code for one in answers] == [200, 429]
        assert int(answers[1].headers["Retry-After"]) > 0
        codes = [(await http.get("/v1/models", headers=alice)).status_code for _ in range(4)]
        assert codes == [200, 200, 429, 429]
        assert (await http.get("/v1/models", headers=as_caller(BOB))).status_code == 200


async def test_files_may_be_larger_than_a_turn_where_callers_may_change_roles(tmp_path: Path) -> None:
    """What holds for a length that is said holds for one that is not."""

    async def answers(where: str, size: int) -> set[int]:
        async def chunks() -> Any:
            yield b" " * size

        headers = {**as_caller(ALICE), "Content-Type": "application/json"}
        return {(await http.post(where, content=body, headers=headers)).status_code for body in (b" " * size, chunks())}

    for changes in (True, False):
        access = keyed(most_bytes=2_000, most_upload_bytes=5_000, changes_roles=changes)
        refused = {413} if changes else {403, 413}  # who may not do it is told so before a length is known
        async with served(tmp_path, access=access, method="vanilla") as http:
            assert (await http.get("/v1/roles", headers=as_caller(ALICE))).json()["most_bytes"] < 5_000
            for where in ("roles/import", "casting", "casting/people", "casting/preview", "roles/ada/knowledge"):
                assert await answers(f"/v1/{where}", 3_000) <= ({400} if changes else refused)
                assert await answers(f"/v1/{where}", 6_000) <= refused
            for where in ("chat/completions", "roles", "roles/ada/knowledge/undo", "roles/ada/drafts"):
                assert await answers(f"/v1/{where}", 3_000) <= refused


async def test_who_has_waited_may_ask_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("dramaturg.server.access.time", SimpleNamespace(monotonic=lambda: now[0]))
    async with served(tmp_path, access=keyed(a_minute=6), method="vanilla") as http:

        async def asked_now(times: int) -> list[int]:
            return [(await http.get("/v1/models/ada", headers=as_caller(ALICE))).status_code for _ in range(times)]

        assert await asked_now(7) == [200] * 6 + [429]
        now[0] = 20.0
        assert await asked_now(3) == [200, 200, 429]
        now[0] = 2_000.0
        assert await asked_now(7) == [200] * 6 + [429]


@pytest.mark.parametrize("every", [97, pytest.param(1, marks=pytest.mark.crash)])
async def test_a_client_that_goes_at_any_byte_leaves_no_lock_and_no_half_turn(tmp_path: Path, every: int) -> None:
    async with served(tmp_path, method="vanilla") as http:
        body = json.dumps(asked("Who are you?", stream=True, metadata={"thread_id": "tea"})).encode()
        port = http.base_url.port
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        for sent in range(1, len(request), every):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request[:sent])
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        for read in range(0, 1_200, every):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            if read:
                await reader.read(read)
            writer.close()
            await writer.wait_closed()
        screen = Screen(http, "tea")
        await screen.say("And now?")
        await only_finished(tmp_path, "vanilla", "tea")


@pytest.mark.parametrize("talks", [8, pytest.param(50, marks=pytest.mark.crash)])
async def test_talks_at_once_are_threads_of_their_own(tmp_path: Path, talks: int) -> None:
    async with served(tmp_path) as http:
        screens = [
            Screen(http, f"talk {number}" if number % 2 else "", headers=bool(number % 2)) for number in range(talks)
        ]
        for turn in range(2):
            said = await asyncio.gather(*(one.say(f"{turn} of {n}") for n, one in enumerate(screens)))
            assert [text.partition(" to ")[2] for text in said] == [f"{turn} of {n}" for n in range(talks)]
        threads = (await http.get("/v1/threads?role=ada")).json()["data"]
        assert len(threads) == talks
        found = [(await http.get(f"/v1/threads/{one['id']}")).json()["turns"] for one in threads]
        asked_on = sorted([turn["question"] for turn in turns] for turns in found)
        assert asked_on == sorted([f"0 of {n}", f"1 of {n}"] for n in range(talks))


def test_keys_are_read_and_refused_by_line() -> None:
    assert keys_in(f"# who may call\nalice {ALICE}\n\nbob   {BOB}\n") == {"alice": ALICE, "bob": BOB}
    for text in ("", "alice", "alice short", f"al/ice {ALICE}", f"alice {ALICE}\nalice {BOB}", f"a {ALICE}\nb {ALICE}"):
        with pytest.raises(ValueError, match="key"):
            keys_in(text)


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("127.8.8.8", True), ("0.0.0.0", False), ("::", False)],
)
def test_what_only_this_machine_reaches_is_told(host: str, here: bool) -> None:
    assert is_loopback(host) == here
