"""Talks as a whole over HTTP: titles, pins, search, and deleting one for good; to their caller, and to nobody else."""

import asyncio
from pathlib import Path
from shutil import copytree
from typing import Any

import httpx
import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import BaseMessage

from dramaturg.conversations.chats import taken_in
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.json_lines import imported
from dramaturg.conversations.opening import open_conversation
from dramaturg.server.access import Access
from dramaturg.stores.conversations.labels import Label
from dramaturg.stores.formats.chats import read_chat
from dramaturg.workflows.vanilla import VanillaContext

from fakes import ScriptedChatModel
from roles import said
from served_roles import Screen, served

KEYS = {"alice": "a" * 20, "bob": "b" * 20}
ALICE, BOB = ({"Authorization": f"Bearer {key}"} for key in KEYS.values())
CODE = "zebulon9417"
SECRET = f"The word that opens my safe is {CODE}, and nobody else may ever hear it."


def plain(**how: Any) -> dict[str, Any]:
    return {"method": "vanilla", "model": ScriptedChatModel(reply=lambda _: "I see."), **how}


async def says(http: httpx.AsyncClient, thread: str, text: str, user: str = "", **headers: str) -> None:
    body = {"model": "ada", "messages": [{"role": "user", "content": text}], "metadata": {"thread_id": thread}}
    answer = await http.post("/v1/chat/completions", json=body | ({"user": user} if user else {}), headers=headers)
    assert answer.is_success, answer.text


async def listed(http: httpx.AsyncClient, headers: Any = None, **asked: Any) -> list[dict[str, Any]]:
    answer = await http.get("/v1/threads", params={"role": "ada", **asked}, headers=headers)
    assert answer.is_success, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


async def delete(http: httpx.AsyncClient, thread: str, **headers: str) -> httpx.Response:
    return await http.request("DELETE", f"/v1/threads/{thread}", params={"role": "ada"}, json={}, headers=headers)


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes().lower() for path in folder.rglob("*") if path.is_file())


async def test_talks_are_listed_by_what_was_said_first_and_pinned_ones_before_the_others(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        await says(
            http, "2026-11-27 14.48 one", "*waves* Do you like to be alone in the **woods**, or rather by the sea?"
        )
        await says(http, "b" * 32, "Who are you?")
        await says(http, "b" * 32, "And what do you do all day?")
        second, first = await listed(http)
        assert [second["title"], second["pinned"]] == ["Who are you?", False]
        assert first["title"] == "waves Do you like to be alone in the woods, or rather by…"
        assert second["last"] > first["last"]
        answer = await http.patch("/v1/threads/2026-11-27%2014.48%20one?role=ada", json={"pinned": True})
        assert answer.json()["pinned"]
        assert [one["pinned"] for one in await listed(http)] == [True, False]
        assert len(await listed(http, limit=1)) == len(await listed(http, skip=1)) == 1
        for strange in ({"limit": "-1"}, {"skip": "9" * 30}, {"search": "\0'\"<" * 1000}, {"limit": "x"}):
            await listed(http, **strange)


async def test_a_talk_has_the_title_that_a_person_gives_it_until_it_is_taken_away(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        await says(http, "tea", "Who are you?")
        answer = await http.patch("/v1/threads/tea?role=ada", json={"title": "  Tea\nwith\x07 Ada 👩‍👩‍👧 "})
        assert answer.json()["title"] == "Tea with Ada 👩‍👩‍👧"
        assert (await listed(http))[0]["title"] == "Tea with Ada 👩‍👩‍👧"
        assert (await http.patch("/v1/threads/tea?role=ada", json={"pinned": True})).json()["title"]
        for strange in ({"title": "x" * 10_000}, {"title": "x" * 201}, {"title": 3}, {"pinned": "so"}, {"id": "t"}, []):
            assert (await http.patch("/v1/threads/tea?role=ada", json=strange)).status_code == 400, strange
        assert (await http.patch("/v1/threads/none?role=ada", json={"title": "x"})).status_code == 404
        await http.patch("/v1/threads/tea?role=ada", json={"title": ""})
        (one,) = await listed(http)
        assert (one["title"], one["pinned"]) == ("Who are you?", True)


async def test_without_a_role_the_talks_with_all_roles_are_listed(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        copytree(tmp_path / "library" / "ada", tmp_path / "library" / "bob")
        for thread, role in (("one", "ada"), ("two", "bob"), ("three", "ada")):
            body = {"model": role, "messages": [{"role": "user", "content": "Who?"}], "metadata": {"thread_id": thread}}
            assert (await http.post("/v1/chat/completions", json=body)).is_success
        await http.patch("/v1/threads/one", json={"pinned": True})
        found = (await http.get("/v1/threads")).json()
        assert [(one["id"], one["role"]) for one in found["data"]] == [("one", "ada"), ("three", "ada"), ("two", "bob")]
        part = (await http.get("/v1/threads?skip=1&limit=1")).json()
        assert [[one["id"] for one in part["data"]], part["more"]] == [["three"], True]
        assert [one["id"] for one in (await http.get("/v1/threads?skip=2&limit=1")).json()["data"]] == ["two"]


async def test_words_are_looked_for_in_titles_and_in_what_was_said_on_any_branch(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        screen = Screen(http, "tea")
        await screen.say("one")
        await screen.say("Have you seen my tortoise?")
        await screen.edit(2, "another")
        screen.said.pop()
        await screen.ask("normal")
        await says(http, "dinner", "two")
        await http.patch("/v1/threads/dinner?role=ada", json={"title": "Parrots"})
        found = {
            words: [one["id"] for one in await listed(http, search=words)] for words in ("TORTOISE seen", "parrot")
        }
        assert found == {"TORTOISE seen": ["tea"], "parrot": ["dinner"]}
        assert [one.get("found") for one in await listed(http, search="tortoise")] == ["Have you seen my tortoise?"]
        assert [one.get("found") for one in await listed(http, search="parrot")] == [None]  # it is in the title
        assert await listed(http, search="tortoise parrot") == []
        await says(http, "long", f"{'lo ' * 50}the **owl** {'hi ' * 50}")
        (one,) = await listed(http, search="OWL")
        assert one["found"].startswith("…lo ")
        assert "the owl hi" in one["found"]
        assert one["found"].endswith("…")
        assert len(one["found"]) < 110
        await says(http, "longer", "猫" * 100 + "在 ÉTÉ 🐢" + "x" * 300)
        for words in ("été", "猫在", "🐢xx", "猫猫 ÉTÉ xxx"):
            assert [one["id"] for one in await listed(http, search=words)] == ["longer"], words
        assert await listed(http, search="HumanMessage") == []


@pytest.mark.parametrize(("form", "begins"), [("chat", "chat"), ("jsonl", "conversation")])
async def test_a_talk_is_exported_with_its_title_and_its_pin(tmp_path: Path, form: str, begins: str) -> None:
    async with served(tmp_path, **plain()) as http:
        await says(http, "tea/é", "Who are you?")
        await http.patch("/v1/threads/tea%2F%C3%A9?role=ada", json={"title": "Tea", "pinned": True})
        found = await http.get("/v1/threads/tea%2F%C3%A9/export", params={"role": "ada", "form": form})
        assert f"{begins} ada tea" in found.headers["Content-Disposition"]
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert (await http.get("/v1/threads/tea%2F%C3%A9/export?form=exe")).status_code == 400
        context = VanillaContext(role="ada", library=str(tmp_path / "library"))
        async with open_conversation("vanilla", context, "other") as talk:
            if form == "jsonl":
                await imported(talk, found.text.splitlines())
            else:
                await taken_in(talk, read_chat(found.content), ["ada", "Ada"])
            assert await talk.label() == Label(title="Tea", pinned=True)
        assert {(one["id"], one["title"], one["pinned"]) for one in await listed(http)} == {
            ("tea/é", "Tea", True),
            ("other", "Tea", True),
        }


async def test_nobody_changes_finds_or_deletes_what_another_has_said(tmp_path: Path) -> None:
    async with served(tmp_path, access=Access(KEYS, a_minute=10_000), **plain()) as http:
        await says(http, "tea", SECRET, **ALICE)
        await says(http, "tea", "one", **BOB)
        for thread in ("alice%2Ftea", "none", "..%2Ftea"):
            assert (await http.patch(f"/v1/threads/{thread}", json={"title": "x"}, headers=BOB)).status_code == 404
            assert (await delete(http, thread, **BOB)).status_code == 404
        assert await listed(http, BOB, search=CODE) == []
        await http.patch("/v1/threads/tea?role=ada", json={"title": "Mine"}, headers=BOB)
        assert (await delete(http, "tea", **BOB)).json()["deleted"]
        (left,) = await listed(http, ALICE)
        assert left["title"] == "The word that opens my safe is zebulon9417, and nobody else…"
        assert (await http.request("DELETE", "/v1/threads/tea?role=ada", headers=ALICE)).status_code == 415
        assert (await http.request("DELETE", "/v1/threads/tea?role=ada", json={})).status_code == 401


@pytest.mark.parametrize("method", ["vanilla", "amadeus"])
async def test_of_a_talk_that_is_deleted_no_byte_is_left_and_the_others_go_on(tmp_path: Path, method: str) -> None:
    """Its name and its title say what was said, too; and it came back in another talk."""
    async with served(tmp_path, **plain(method=method)) as http:
        for at in range(3):
            await says(http, f"my {CODE}", f"{SECRET} {at}", "tom")
        await http.patch(f"/v1/threads/my%20{CODE}?role=ada", json={"title": f"Of {CODE}", "pinned": True})
        await says(http, "dinner", "What is the word that opens my safe?", "tom")
        before = (await http.get("/v1/threads/dinner/turns/1?role=ada")).text
        assert CODE in before
        answer = await delete(http, f"my%20{CODE}")
        assert answer.json() == {"object": "thread.deleted", "id": f"my {CODE}", "role": "ada", "deleted": True}
        assert [one["id"] for one in await listed(http)] == ["dinner"]
        assert CODE not in (await http.get("/v1/threads/dinner/turns/1?role=ada")).text
        assert CODE.encode() not in all_bytes(tmp_path)
        assert (await delete(http, f"my%20{CODE}")).status_code == 404
        await says(http, "dinner", "And what is the word that opens my safe now?", "tom")
        assert CODE not in (await http.get("/v1/threads/dinner/turns/2?role=ada")).text
    assert CODE.encode() not in all_bytes(tmp_path)


async def test_a_talk_whose_deletion_is_cut_short_is_found_no_more_by_what_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is kept where a client's history is looked up."""
    async with served(tmp_path, **plain()) as http:
        await says(http, f"my {CODE}", "one")

        async def killed(_: Conversation) -> None:
            raise RuntimeError("killed")

        with monkeypatch.context() as patched:
            patched.setattr(Conversation, "erase", killed)
            assert (await delete(http, f"my%20{CODE}")).status_code == 500
        assert CODE.encode() not in (tmp_path / "library" / ".conversations" / "ada.memories.sqlite").read_bytes()
        assert (await delete(http, f"my%20{CODE}")).is_success


async def test_talks_that_are_deleted_at_once_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        for at in range(4):
            await says(http, f"t{at}", f"{SECRET} {at}", "tom")
        answers = await asyncio.wait_for(asyncio.gather(*(delete(http, f"t{at}") for at in range(4))), 30)
        assert [one.status_code for one in answers] == [200] * 4
        assert await listed(http) == []


async def test_what_is_kept_of_a_reply_that_was_stopped_does_not_begin_a_deleted_talk_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_over, begun = Conversation.take_over, asyncio.Event()

    async def later(self: Conversation, history: Any) -> None:
        begun.set()
        await asyncio.sleep(0.5)
        await take_over(self, history)

    monkeypatch.setattr(Conversation, "take_over", later)
    model = ScriptedChatModel(reply=lambda _: f"{CODE} " * 300)
    async with served(tmp_path, **plain(model=model)) as http:
        screen = Screen(http, "tea")
        await screen.say("one")
        screen.said.append(("user", "two"))
        await screen.stopped()
        if not begun.is_set():
            await asyncio.wait_for(begun.wait(), 20)
        assert (await delete(http, "tea")).is_success
        await asyncio.sleep(1)
        assert await listed(http) == []
    assert CODE.encode() not in all_bytes(tmp_path)


async def asks(http: httpx.AsyncClient, text: str, thread: str = "tea") -> str:
    """Say something on the branch that was spoken on last, as the page does; return the id of the turn."""
    turns = (await http.get(f"/v1/threads/{thread}?role=ada")).json().get("turns", [])
    messages = [
        {"role": who, "content": one[part]}
        for one in turns
        for who, part in (("user", "question"), ("assistant", "reply"))
        if one[part]
    ]
    body = {"model": "ada", "messages": [*messages, {"role": "user", "content": text}]}
    how = {"X-Gen-Type": "normal", "X-Role-Thread": thread, "X-Role-User": "Mira"}
    answer = await http.post("/v1/chat/completions", json=body, headers=how)
    assert answer.is_success, answer.text
    return str(answer.json()["turn"])


async def leaves_out(http: httpx.AsyncClient, turn: str, **more: str) -> httpx.Response:
    return await http.post("/v1/threads/tea/leave-out?role=ada", json={"turn": turn, **more})


@pytest.mark.parametrize(
    ("method", "number"),
    [("amadeus", 0), ("role-rag", 1), ("emotional-rag", 2), ("drmr", 0), ("id-rag", 1), ("ensemble", 2)],
)
async def test_a_turn_that_is_left_out_reaches_no_prompt_of_the_branch(
    tmp_path: Path, method: str, number: int
) -> None:
    whole_role(tmp_path / "library")
    prompts, cast = list[str](), whole_cast(reply=lambda text: f"Aye, {len(text)}.")

    def reply(messages: list[BaseMessage]) -> Any:
        prompts.append(said(messages))
        return cast.reply(messages)

    how: Any = {"method": method, "settings": {"window": 4, "redraws": 0}}
    async with served(tmp_path, ScriptedChatModel(reply=reply), **how) as http:
        lines = ["Good morning.", "Is the ferry late?", "Who mends your nets?"]
        lines[number] = SECRET
        told = [await asks(http, line) for line in lines]
        for thread in ("lunch", "tea"):
            prompts.clear()
            asked = await asks(http, "Which word opens my safe?", thread)
            assert any(CODE in one for one in prompts)
        answer = await leaves_out(http, told[number])
        assert answer.is_success, answer.text
        turns = (await http.get("/v1/threads/tea?role=ada")).json()["turns"]
        assert [one["question"] for one in turns] == [
            *(line for line in lines if line != SECRET),
            "Which word opens my safe?",
        ]
        for thread in ("tea", "dinner"):
            prompts.clear()
            await asks(http, "And which word opens my safe?", thread)
            assert prompts
            assert not any(CODE in one for one in prompts)
        tree = (await http.get("/v1/threads/tea/tree?role=ada")).json()["turns"]
        assert asked in {one["id"] for one in tree}  # the branch with it is there as it was


async def test_of_a_branch_the_first_the_last_and_every_turn_are_left_out(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        told = [await asks(http, text) for text in ("one", "two", "three")]

        async def shown() -> list[str]:
            return [one["question"] for one in (await http.get("/v1/threads/tea?role=ada")).json()["turns"]]

        assert (await leaves_out(http, told[2])).json()["head"] == told[1]
        assert await shown() == ["one", "two"]
        assert (await leaves_out(http, told[0], until=told[2])).is_success  # of a branch that is not the head's
        assert await shown() == ["two", "three"]
        await asks(http, "four")
        old = {"model": "ada", "messages": [{"role": "user", "content": "one"}], "metadata": {"thread_id": "tea"}}
        for text in ("two", "three"):
            old["messages"] += [{"role": "assistant", "content": "I see."}, {"role": "user", "content": text}]
        await http.post("/v1/chat/completions", json=old, headers={"X-Gen-Type": "normal"})
        assert await shown() == ["one", "two", "three"]
        del old["messages"][:2]  # what is left of the branch without the first looks like the newest part of this one
        old["messages"] += [{"role": "assistant", "content": "I see."}, {"role": "user", "content": "five"}]
        await http.post("/v1/chat/completions", json=old, headers={"X-Gen-Type": "normal"})
        assert await shown() == ["two", "three", "five"]
        while turns := (await http.get("/v1/threads/tea?role=ada")).json()["turns"]:
            assert (await leaves_out(http, turns[0]["id"])).is_success
        assert [one["title"] for one in await listed(http)] == [""]
        await asks(http, "six")
        assert await shown() == ["six"]
        for strange in ({"turn": "none"}, {"turn": told[0]}, {"turn": told[0], "until": "none"}, {}):
            answer = await http.post("/v1/threads/tea/leave-out?role=ada", json=strange)
            assert answer.status_code == 400, strange
        assert "has no turn" in answer.text or "Field required" in answer.text


async def test_what_was_written_down_twice_is_forgotten_on_both_branches(tmp_path: Path) -> None:
    async with served(tmp_path, **plain()) as http:
        told = [await asks(http, text) for text in ("one", CODE, "three")]
        assert (await leaves_out(http, told[0])).is_success
        (copy,) = [
            one["id"] for one in (await http.get("/v1/threads/tea?role=ada")).json()["turns"] if one["question"] == CODE
        ]
        await http.post("/v1/threads/tea/forget?role=ada", json={"ids": [copy]})
        tree = (await http.get("/v1/threads/tea/tree?role=ada")).json()["turns"]
        assert sorted(one["question"] for one in tree) == ["one", "three", "three"]
