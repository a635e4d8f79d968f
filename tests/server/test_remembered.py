"""What a role remembers of who talks to it, by the API that the page calls: to that person, and to nobody else."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from dramaturg.server.access import Access
from dramaturg.server.lookups import with_own_names
from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.conversations.talk import TalksOf

from fakes import ScriptedChatModel
from served_roles import Screen, served

KEYS = {"alice": "a" * 20, "bob": "b" * 20}
ALICE, BOB = ({"Authorization": f"Bearer {key}"} for key in KEYS.values())
TOLD = "My sister Wilhelmina keeps a one-eyed tortoise called Zebulon in the cellar."
ASKED = "What does Wilhelmina keep?"


def plain(**how: Any) -> dict[str, Any]:
    return {"method": "vanilla", "model": ScriptedChatModel(reply=lambda _: "I see."), **how}


async def says(http: httpx.AsyncClient, thread: str, text: str, user: str = "", **headers: str) -> httpx.Response:
    body = {"model": "ada", "messages": [{"role": "user", "content": text}], "metadata": {"thread_id": thread}}
    answer = await http.post("/v1/chat/completions", json=body | ({"user": user} if user else {}), headers=headers)
    assert answer.is_success, answer.text
    return answer


async def remembered(http: httpx.AsyncClient, headers: Any = None, **asked: Any) -> dict[str, Any]:
    answer = await http.get("/v1/roles/ada/remembered", params=asked, headers=headers)
    assert answer.is_success, answer.text
    told: dict[str, Any] = answer.json()
    return told


def questions(told: dict[str, Any]) -> Iterable[str]:
    return [one["said"][0]["text"] for one in told["data"]]


def test_an_earlier_talk_that_a_record_is_made_of_is_named_as_it_is_listed() -> None:
    kept = {"earlier_records": [{"text": "He is my friend.", "talk": "own/monday"}], "talk": "of another form"}
    assert with_own_names(kept, "own/")["earlier_records"] == [{"text": "He is my friend.", "talk": "monday"}]


async def test_all_that_was_said_is_shown_the_latest_first_page_by_page_and_found_by_its_words(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        for at in range(53):
            await says(http, "tea", f"one more {at}" if at else TOLD)
        told = await remembered(http, thread="tea")
        assert (told["role"], told["keeps"], told["total"], len(told["data"])) == ("ada", True, 53, 50)
        assert list(questions(told))[:2] == ["one more 52", "one more 51"]
        assert list(questions(await remembered(http, thread="tea", skip=50))) == ["one more 2", "one more 1", TOLD]
        (found,) = (await remembered(http, thread="tea", q="TORTOISE sister"))["data"]
        assert [(one["who"], one["text"]) for one in found["said"]] == [("human", TOLD), ("ai", "I see.")]
        turns = (await http.get("/v1/threads/tea?role=ada")).json()["turns"]
        assert (found["turn"], found["thread"], found["here"]) == (turns[0]["id"], "tea", True)
        assert (await remembered(http, thread="tea", q="tortoise parrot"))["data"] == []
        assert list(questions(await remembered(http, thread="tea", turn=2))) == ["one more 1", TOLD]
        for strange in ({"skip": "-1"}, {"skip": "9" * 30}, {"q": "x" * 10_000}, {"user": "\0'\"<"}):
            await remembered(http, thread="tea", **strange)


async def test_a_branch_has_what_was_said_on_it(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        screen = Screen(http, "tea")
        await screen.say("one")
        await screen.say(TOLD)
        await screen.edit(2, "another")
        screen.said.pop()
        await screen.ask("normal")
        assert list(questions(await remembered(http, thread="tea"))) == ["another", "one"]
        turns = (await http.get("/v1/threads/tea/tree?role=ada")).json()["turns"]
        (told,) = [one["id"] for one in turns if one["question"] == TOLD]
        assert list(questions(await remembered(http, thread="tea", turn=told))) == [TOLD, "one"]


async def test_what_was_said_in_other_talks_is_shown_to_who_said_it(tmp_path: Path) -> None:
    async with served(tmp_path, access=Access(KEYS), **plain()) as http:
        await says(http, "monday", TOLD, "Mira", **ALICE)
        answer = await says(http, "tuesday", ASKED, "Mira", **ALICE)
        told = await remembered(http, ALICE, thread="tuesday", user="Mira")
        assert [(one["thread"], one["here"]) for one in told["data"]] == [("tuesday", True), ("monday", False)]
        assert list(questions(await remembered(http, ALICE, user="Mira"))) == [ASKED, TOLD]  # before a talk begins
        assert told["others"]
        turn = (await http.get(f"/v1/threads/tuesday/turns/{answer.json()['turn']}?role=ada", headers=ALICE)).json()
        assert [one["talk"] for one in turn["evidence"]["talk"]] == ["monday"]  # as /v1/threads lists it
        for asked in ({}, {"user": "Tom"}, {"user": "alice/Mira"}):
            assert (await remembered(http, ALICE, **asked))["data"] == []
            assert (await remembered(http, BOB, **asked))["data"] == []
        assert (await remembered(http, BOB, user="Mira"))["data"] == []


async def test_a_talk_that_was_not_held_here_takes_the_place_of_none(tmp_path: Path) -> None:
    """A program of the same library has known the user by the same name, on a thread of another."""
    async with served(tmp_path, access=Access(KEYS), **plain()) as http:
        await says(http, "tea", TOLD, "Mira", **ALICE)
        await says(http, "tea", "Good morning.", "Mira", **BOB)
        kept = ItemStore(tmp_path / "library" / ".conversations" / "ada.memories.sqlite")
        for thread in ("tea", "bob/tea"):
            await TalksOf(kept, "ada", "alice/Mira").note(thread, "0")
        told = await remembered(http, ALICE, user="Mira")
        assert [(one["thread"], one["said"][0]["text"]) for one in told["data"]] == [("tea", TOLD)]


@pytest.mark.parametrize("thread", ["tea", "alice/tea", "../alice/tea"])
async def test_what_a_role_remembers_of_another_caller_is_not_there(tmp_path: Path, thread: str) -> None:
    async with served(tmp_path, access=Access(KEYS), **plain()) as http:
        await says(http, "tea", TOLD, **ALICE)
        assert list(questions(await remembered(http, ALICE, thread="tea"))) == [TOLD]
        answer = await http.get("/v1/roles/ada/remembered", params={"thread": thread}, headers=BOB)
        assert answer.status_code == 404
        assert (await http.get("/v1/roles/ada/remembered", params={"thread": thread})).status_code == 401


async def test_a_server_that_keeps_nothing_says_so(tmp_path: Path) -> None:
    async with served(tmp_path, **plain(settings={"talk_tokens": 0})) as http:
        await says(http, "tea", TOLD)
        told = await remembered(http, thread="tea")
        assert (told["keeps"], told["data"]) == (False, [])
        strange = await http.get("/v1/roles/ada/remembered", params={"thread": "tea", "turn": "none"})
        assert strange.status_code == 404
        assert (await http.get("/v1/roles/nobody/remembered")).status_code == 404


async def test_a_client_hears_what_came_back_as_thinking(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        await says(http, "monday", TOLD, "Mira")
        body = {"model": "ada", "messages": [{"role": "user", "content": ASKED}], "user": "Mira", "stream": True}
        told = (await http.post("/v1/chat/completions", json=body)).text
        assert "Recalled from earlier messages: 1." in told
        assert "Zebulon" in told


async def test_what_was_said_is_forgotten_for_good_by_who_said_it_alone(tmp_path: Path) -> None:
    async with served(tmp_path, access=Access(KEYS), **plain()) as http:
        for line in ("Good morning.", TOLD, f"I say it again: {TOLD}", "Do you like rain?"):
            await says(http, "tea", line, **ALICE)
        told = (await remembered(http, ALICE, thread="tea", q="Zebulon"))["data"]
        body = {"ids": [told[-1]["id"]]}
        for path in ("tea", "alice%2Ftea"):
            for what in ("forget", "forget/preview", "pin"):
                more = {"pinned": True} if what == "pin" else {}
                answer = await http.post(f"/v1/threads/{path}/{what}?role=ada", json=body | more, headers=BOB)
                assert answer.status_code == 404, (path, what)
        before = (await http.post("/v1/threads/tea/forget/preview?role=ada", json=body, headers=ALICE)).json()
        assert [one["said"][0]["text"] for one in before["said"]] == [TOLD, f"I say it again: {TOLD}"]
        assert (await remembered(http, ALICE, thread="tea"))["total"] == 4  # nothing is forgotten yet
        gone = (await http.post("/v1/threads/tea/forget?role=ada", json=body, headers=ALICE)).json()
        assert (gone["object"], gone["total"]) == ("forgotten", 2)
        assert list(questions(await remembered(http, ALICE, thread="tea"))) == ["Do you like rain?", "Good morning."]
        turns = (await http.get("/v1/threads/tea?role=ada", headers=ALICE)).json()["turns"]
        assert [one["question"] for one in turns] == ["Good morning.", "Do you like rain?"]
        again = (await http.post("/v1/threads/tea/forget?role=ada", json=body, headers=ALICE)).json()
        assert again["total"] == 0
    kept = [one.read_bytes() for one in (tmp_path / "library" / ".conversations").iterdir() if one.is_file()]
    assert kept
    assert not any(b"Zebulon" in one for one in kept)


async def test_a_note_is_kept_in_mind_and_forgotten(tmp_path: Path) -> None:
    async with served(tmp_path, access=Access(KEYS), **plain()) as http:
        await says(http, "tea", "Good morning.", **ALICE)
        at, body = "/v1/threads/tea/notes?role=ada", {"text": "  I am  called Tom. "}
        assert (await http.post(at, json=body, headers=BOB)).status_code == 404
        note = (await http.post(at, json=body, headers=ALICE)).json()
        (shown,) = (await remembered(http, ALICE, thread="tea"))["notes"]
        assert (shown["id"], shown["text"]) == (note["id"], "I am called Tom.")
        for text in ("", " ", "x" * 501):
            assert (await http.post(at, json={"text": text}, headers=ALICE)).status_code == 400
        turn = (await says(http, "tea", "Who am I?", **ALICE)).json()["turn"]
        evidence = (await http.get(f"/v1/threads/tea/turns/{turn}?role=ada", headers=ALICE)).json()["evidence"]
        assert [one["text"] for one in evidence["talk"]] == ["I am called Tom."]
        assert (await remembered(http, ALICE))["notes"] == []  # of no talk
        gone = await http.post("/v1/threads/tea/forget?role=ada", json={"ids": [note["id"]]}, headers=ALICE)
        assert gone.json()["total"] == 1
        assert (await remembered(http, ALICE, thread="tea"))["notes"] == []


@pytest.mark.parametrize(
    "body", [{}, {"ids": []}, {"ids": ["x"] * 101}, {"ids": ["x" * 201]}, {"ids": [1]}, {"ids": ["x"], "phrase": "a"}]
)
async def test_what_is_to_be_forgotten_is_named(tmp_path: Path, body: dict[str, Any]) -> None:
    async with served(tmp_path, **plain()) as http:
        await says(http, "tea", TOLD)
        assert (await http.post("/v1/threads/tea/forget?role=ada", json=body)).status_code == 400
        assert (await http.post("/v1/threads/tea/pin?role=ada", json=body | {"pinned": True})).status_code == 400
        assert (await remembered(http, thread="tea"))["total"] == 1


async def test_what_is_pinned_comes_back_whatever_is_said(tmp_path: Path) -> None:
    async with served(tmp_path, **plain(settings={"window": 2, "summary_tokens": 0})) as http:
        for line in (TOLD, "Good morning.", "Do you like rain?"):
            await says(http, "tea", line)
        (found,) = (await remembered(http, thread="tea", q="Zebulon"))["data"]
        for pinned in (True, False):
            body = {"ids": [found["id"]], "pinned": pinned}
            answer = (await http.post("/v1/threads/tea/pin?role=ada", json=body)).json()
            assert (answer["pinned"], answer["kept"]) == (pinned, 1)
            (shown,) = (await remembered(http, thread="tea", q="Zebulon"))["data"]
            assert shown["pinned"] is pinned
            turn = (await says(http, "tea", "4 + 4 = ?")).json()["turn"]
            evidence = (await http.get(f"/v1/threads/tea/turns/{turn}?role=ada")).json()["evidence"]
            assert any(one["pinned"] and TOLD in one["text"] for one in evidence["talk"]) is pinned
