"""Scenes as models, and groups of a chat client: each role is given what it was there to hear, and nothing else."""

import random
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import BaseMessage

from dramaturg.conversations.scene_files import read_scene
from dramaturg.conversations.scenes import open_scene, usual_thread_of
from dramaturg.server.access import Access
from dramaturg.stores.library import library_at
from dramaturg.testing import write_role

from fakes import ScriptedChatModel
from roles import run_settings, said
from served_roles import read_events, served

SECRET = "The chart of Zebulon lies under the third stair."
CAST = {"ada": "Ada", "ben": "Bennet", "tom": "Thomas"}
KEYS = {"alice": "a" * 20, "bob": "b" * 20}
WORD = re.compile(r"word\d+[ur]")
ACTS = ("say", "say", "say", "speak", "speak", "mute", "swipe", "edit", "delete")
TAVERN = """
place: The taproom of the Spyglass.
lines: 2
next: round
user_role: Visitor
cast:
  - {role: ada, method: vanilla}
  - {role: ben, method: vanilla}
  - {role: tom, method: vanilla, absent: true}
"""


class Players:
    """Plays every role: a line has a number, and what each was shown last is kept."""

    def __init__(self) -> None:
        self.shown = dict[str, list[str]]()
        self.lines = 0

    def __call__(self, messages: list[BaseMessage]) -> str:
        text = said(messages)
        role = min((one for one in CAST if CAST[one] in text), key=lambda one: text.index(CAST[one]))
        self.shown.setdefault(role, []).append(text)
        self.lines += 1
        return f"Line {self.lines}."

    def knew(self, role: str) -> bool:
        """Whether the secret was in what a role was shown last."""
        return "Zebulon" in self.shown[role][-1]


class Group:
    """A group chat as SillyTavern has one: each request asks for one line of one character."""

    def __init__(self, http: httpx.AsyncClient, user: str = "Mira", key: str = "", model: str = "scene:auto") -> None:
        self.http, self.user, self.model, self.thread = http, user, model, "group"
        self.who = {"Authorization": f"Bearer {key}"} if key else {}
        self.muted: set[str] = set()
        self.members = [*CAST.values()]
        self.said: list[tuple[str, str]] = []

    async def say(self, text: str, *speakers: str) -> None:
        self.said.append((self.user, text))
        for one in speakers:
            await self.speak(one)

    async def speak(self, speaker: str, kind: str = "normal") -> str:
        if kind == "swipe":
            self.said.pop()
        members = ", ".join(self.members)
        present = ", ".join(one for one in self.members if one not in self.muted)
        headers = {"X-Role-Char": speaker, "X-Role-Group": members, "X-Role-Present": present, "X-Gen-Type": kind}
        headers |= {"X-Role-Thread": self.thread, **self.who} | ({"X-Role-User": self.user} if self.user else {})
        shown = [
            {
                "role": "user" if name == self.user else "assistant",
                "content": text if name == self.user else f"{name}: {text}",
            }
            for name, text in self.said
        ]
        nudge = {"role": "system", "content": f"[Write the next reply only as {speaker}.]"}
        body = {"model": self.model, "messages": [*shown, nudge], "stream": True}
        response = await self.http.post("/v1/chat/completions", json=body, headers=headers)
        assert response.status_code == 200, response.text
        answer = read_events(response.text)
        assert not answer.errors, answer.errors
        self.said.append((speaker, answer.content))
        return answer.content

    async def alone(self, role: str, text: str) -> None:
        """Say something in a chat with one role alone."""
        headers = {"X-Gen-Type": "normal", "X-Role-Thread": "alone", **self.who}
        headers |= {"X-Role-User": self.user} if self.user else {}
        body = {"model": f"{role}:vanilla", "messages": [{"role": "user", "content": text}]}
        (await self.http.post("/v1/chat/completions", json=body, headers=headers)).raise_for_status()


@asynccontextmanager
async def tavern(
    folder: Path, players: Callable[[list[BaseMessage]], str], access: Access | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve three roles, and a scene of them."""
    for role, name in CAST.items():
        if not (folder / "library" / role).exists():
            write_role(folder / "library", role, name=name)
    (folder / "library" / "scenes").mkdir(exist_ok=True)
    (folder / "library" / "scenes" / "tavern.yaml").write_text(TAVERN, encoding="utf-8")
    model: Any = ScriptedChatModel(reply=players)
    async with served(folder, model, access, method="vanilla", settings={"summary_tokens": 0}) as http:
        yield http


async def test_who_was_muted_while_a_secret_was_told_never_hears_of_it(tmp_path: Path) -> None:
    players = Players()
    async with tavern(tmp_path, players) as http:
        group = Group(http)
        await group.say("Good evening to you all.", "Ada", "Bennet", "Thomas")
        assert all("Good evening" in players.shown[one][-1] for one in CAST)
        group.muted = {"Thomas"}
        await group.say(SECRET, "Ada", "Bennet")
        assert players.knew("ada")
        assert players.knew("ben")
        group.muted = set()
        await group.say("What do you say, Thomas?", "Thomas")
        assert "What do you say, Thomas?" in players.shown["tom"][-1]
        assert "Line 2." in players.shown["tom"][-1]
        assert not players.knew("tom")
        swiped = group.said[-1]
        assert await group.speak("Thomas", "swipe") != swiped[1]
        await group.speak("Ada")
        assert players.knew("ada")
        await group.speak("Thomas")
        assert not players.knew("tom")

        group.said[0] = (group.user, "Good morning to you all.")  # an edit: what follows is taken in again
        await group.speak("Thomas")
        assert "Good morning" in players.shown["tom"][-1]
        assert "What do you say, Thomas?" in players.shown["tom"][-1]
        assert not players.knew("tom")
        await group.speak("Bennet")
        assert players.knew("ben")
        at = next(at for at, (_, text) in enumerate(group.said) if text == SECRET)
        group.said[at] = (group.user, f"{SECRET} Or so they say.")
        await group.speak("Thomas")
        assert not players.knew("tom")
        await group.speak("Bennet")
        assert players.knew("ben")

        for role, knows in (("ada", True), ("tom", False)):
            await group.alone(role, "Where is the chart of the third stair?")
            assert players.knew(role) == knows
        await group.alone("tom", "Who said good evening or good morning to you all?")
        assert "to you all" in players.shown["tom"][-1].replace("Who said good evening or good morning to you all?", "")


async def test_a_message_that_is_asked_again_is_heard_by_those_who_have_heard_it(tmp_path: Path) -> None:
    players = Players()
    async with tavern(tmp_path, players) as http:
        group = Group(http)
        await group.say("Good evening to you all.", "Ada")
        group.muted = {"Thomas"}
        await group.say(SECRET, "Ada")
        group.muted = set()
        await group.speak("Ada", "swipe")
        assert players.knew("ada")
        await group.speak("Thomas")
        assert not players.knew("tom")
        del group.said[-2:]  # the secret is the last line again
        await group.speak("Thomas")
        assert not players.knew("tom")
        group.muted = {"Bennet"}
        await group.speak("Bennet", "swipe")
        assert players.knew("ben")


async def test_what_is_said_to_a_role_alone_does_not_come_back_before_others(tmp_path: Path) -> None:
    players = Players()
    async with tavern(tmp_path, players, Access(KEYS)) as http:
        group = Group(http, "Mira", KEYS["alice"])
        await group.alone("ada", SECRET)
        assert players.knew("ada")
        await group.say("Where is the chart of the third stair?", "Ada")
        assert not players.knew("ada")


class Random:
    """What one does with a group by chance, and who may know of each line: each has a word that no other has."""

    def __init__(self, seed: int, http: httpx.AsyncClient, prompts: list[tuple[str, str]]) -> None:
        self.chance, self.prompts, self.group = random.Random(seed), prompts, Group(http)
        self.heard = dict[str, set[str]]()
        self.sent = set[str]()
        self.touched = False
        """Whether anything was edited or deleted: then a line may be heard by fewer, and never by more."""

    async def act(self, number: int) -> None:
        said, act = self.group.said, self.chance.choice(ACTS)
        self.touched = self.touched or act in ("edit", "delete")
        if act == "mute":
            self.group.muted = {one for one in CAST.values() if self.chance.random() < 0.35}
        elif act == "edit" and said:
            at = self.chance.randrange(len(said))
            said[at] = (said[at][0], f"{said[at][1]} So it is.")
        elif act == "delete" and said:
            at = self.chance.randrange(len(said))
            del said[at : at + 1 if self.chance.random() < 0.5 else None]
        elif act == "swipe" and said and said[-1][0] != self.group.user:
            await self.speak(said[-1][0], "swipe")
        elif act in ("say", "speak"):
            if act == "say" or not said:
                said.append((self.group.user, f"The word{number}u is here."))
            await self.speak(self.chance.choice([*CAST.values()]), "normal")

    async def speak(self, speaker: str, kind: str) -> None:
        shown = self.group.said[:-1] if kind == "swipe" else self.group.said
        present = {*CAST.values()} - self.group.muted
        for at, (_, text) in enumerate(shown):
            if text not in self.sent and not self.sent & {later for _, later in shown[at:]}:  # it is new
                for word in WORD.findall(text):
                    self.heard.setdefault(word, set()).update(present)
        self.prompts.clear()
        (word,) = WORD.findall(await self.group.speak(speaker, kind))
        self.heard[word] = present | {speaker}
        self.sent |= {text for _, text in (*shown, *self.group.said[-1:])}
        for role, prompt in self.prompts:
            assert all(role in self.heard[one] for one in WORD.findall(prompt))
        known = {one for _, text in self.group.said[-6:-1] for one in WORD.findall(text) if speaker in self.heard[one]}
        assert self.touched or known <= {*WORD.findall(self.prompts[-1][1])}


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_one_does_with_a_group_each_knows_what_it_was_there_to_hear(tmp_path: Path, seed: int) -> None:
    prompts, lines = list[tuple[str, str]](), count()

    def answer(messages: list[BaseMessage]) -> str:
        text = said(messages)
        prompts.append((min((one for one in CAST.values() if one in text), key=text.index), text))
        return f"I keep the word{next(lines)}r."

    async with tavern(tmp_path, answer) as http:
        played = Random(seed, http, prompts)
        for number in range(22):
            await played.act(number)


async def test_callers_and_users_do_not_mix(tmp_path: Path) -> None:
    players = Players()
    async with tavern(tmp_path, players, Access(KEYS)) as http:
        group = Group(http, "Mira", KEYS["alice"])
        await group.say(SECRET, "Ada")
        for user, key, knows in (("Mira", "bob", False), ("Finn", "alice", False), ("Mira", "alice", True)):
            other = Group(http, user, KEYS[key])
            await other.alone("ada", "Where is the chart of the third stair?")
            assert players.knew("ada") == knows
        other = Group(http, "Mira", KEYS["bob"])
        await other.say("Where is the chart of the third stair?", "Ada")
        assert not players.knew("ada")


async def test_without_keys_and_names_each_chat_is_for_itself(tmp_path: Path) -> None:
    players = Players()
    async with tavern(tmp_path, players) as http:
        group = Group(http, "")
        await group.say(SECRET, "Ada")
        assert players.knew("ada")
        await group.alone("ada", "Where is the chart of the third stair?")
        assert not players.knew("ada")


async def test_a_scene_is_played_as_its_lines_with_names_and_commands(tmp_path: Path) -> None:
    players = Players()
    async with tavern(tmp_path, players) as http:
        chat: list[dict[str, str]] = []

        async def says(text: str, *, stream: bool = False) -> str:
            chat.append({"role": "user", "content": text})
            body = {"model": "scene:tavern", "messages": chat, "stream": stream}
            response = await http.post("/v1/chat/completions", json=body, headers={"X-Role-Thread": "one"})
            assert response.status_code == 200, response.text
            answer = (
                response.json()["choices"][0]["message"]["content"]
                if not stream
                else read_events(response.text).content
            )
            chat.append({"role": "assistant", "content": answer})
            return str(answer)

        assert await says("Good evening.") == "Ada: Line 1.\n\nBennet: Line 2."
        assert await says("And how are you?", stream=True) == "Ada: Line 3.\n\nBennet: Line 4."
        assert await says(f"/whisper Ada: {SECRET}") == "Ada: (whispers to Visitor) Line 5."
        assert players.knew("ada")
        await says("Well?")
        assert not players.knew("ben")
        await says("/enter Thomas")
        await says("Thomas, what have you heard?")
        assert not players.knew("tom")
        assert "And how are you?" not in players.shown["tom"][-1]
        await says("/leave Thomas")
        await says("Only Ada and Bennet hear of the wine.")
        chat[2] = {
            "role": "user",
            "content": "And how is everybody?",
        }  # what follows is taken in again, with who was there
        await says("/enter Thomas")
        await says("Thomas?")
        assert players.shown["tom"][-1].count("Thomas, what have you heard?") == 1
        assert not any(one in players.shown["tom"][-1] for one in ("Zebulon", "wine", "And how is everybody"))
        assert "everybody" in players.shown["ada"][-1]
        assert players.knew("ada")
        assert not players.knew("ben")


async def test_a_line_is_heard_before_the_next_one_is_said(tmp_path: Path) -> None:
    players, heard = Players(), threading.Event()

    def answer(messages: list[BaseMessage]) -> str:
        if "Line 1." in said(messages):
            assert heard.wait(60)
        return players(messages)

    async with tavern(tmp_path, answer) as http:
        ask = {"model": "scene:tavern", "messages": [{"role": "user", "content": "Hello."}], "stream": True}
        text = ""
        async with http.stream("POST", "/v1/chat/completions", json=ask) as response:
            async for line in response.aiter_lines():
                text += f"{line}\n"
                if read_events(text).content == "Ada: Line 1.":
                    heard.set()
        assert read_events(text).content == "Ada: Line 1.\n\nBennet: Line 2."


async def test_a_history_that_is_known_is_followed_and_not_taken_in_again(tmp_path: Path) -> None:
    players = Players()
    async with tavern(tmp_path, players) as http:
        chat = [{"role": "user", "content": "Good evening."}]
        for text in ("And now?", "And then?"):
            body = {"model": "scene:tavern", "messages": chat}
            reply = (await http.post("/v1/chat/completions", json=body, headers={"X-Role-Thread": "one"})).json()
            content = reply["choices"][0]["message"]["content"]
            chat += [{"role": "assistant", "content": content}, {"role": "user", "content": text}]
        await http.post("/v1/chat/completions", json=body | {"messages": chat}, headers={"X-Role-Thread": "one"})
        shown = players.shown["ben"][-1]
        assert [shown.count(f"Line {at}.") for at in (1, 2, 3, 4)] == [1, 1, 1, 1]
        swiped = await http.post(
            "/v1/chat/completions", json=body | {"messages": chat}, headers={"X-Role-Thread": "one"}
        )
        assert "Line 7." in swiped.json()["choices"][0]["message"]["content"]
        assert "Line 5." not in players.shown["ada"][-1]


async def test_a_scene_is_looked_up_and_deleted_by_its_caller(tmp_path: Path) -> None:
    players = Players()
    async with tavern(tmp_path, players, Access(KEYS)) as http:
        group = Group(http, "Mira", KEYS["alice"])
        await group.say(SECRET, "Ada", "Bennet")
        alice, bob = ({"Authorization": f"Bearer {KEYS[one]}"} for one in ("alice", "bob"))
        of = {"role": "scene:auto"}
        (listed,) = (await http.get("/v1/threads", params=of, headers=alice)).json()["data"]
        assert (listed["id"], listed["title"]) == ("group", SECRET)
        turn = (await http.get("/v1/threads/group/turns/2", params=of, headers=alice)).json()
        assert (turn["question"], turn["reply"], [*turn["evidence"]]) == ("/next ben", "Line 2.", ["ben"])
        assert not (await http.get("/v1/threads", params=of, headers=bob)).json()["data"]
        assert (await http.get("/v1/threads/group", params=of, headers=bob)).status_code == 404
        gone = await http.delete("/v1/threads/group", params=of, headers=alice | {"Content-Type": "application/json"})
        assert gone.status_code == 200, gone.text
        assert not (await http.get("/v1/threads", params=of, headers=alice)).json()["data"]
        await group.alone("ada", "Where is the chart of the third stair?")
        assert not players.knew("ada")


async def test_scenes_are_listed_and_a_wrong_name_is_said(tmp_path: Path) -> None:
    async with tavern(tmp_path, Players()) as http:
        names = [one["id"] for one in (await http.get("/v1/models")).json()["data"]]
        assert {"scene:tavern", "scene:apple_barrel", "scene:auto"} <= {*names}
        assert (await http.get("/v1/models/scene:tavern")).status_code == 200
        ask: Any = {"messages": [{"role": "user", "content": "Hello."}]}
        for name in ("scene:tavren", "scene:../tavern", "scene:"):
            response = await http.post("/v1/chat/completions", json={"model": name, **ask})
            assert response.status_code == 404
            assert "There is no scene" in response.json()["error"]["message"]
        alone = await http.post("/v1/chat/completions", json={"model": "scene:auto", **ask})
        assert (alone.status_code, "X-Role-Group" in alone.json()["error"]["message"]) == (404, True)
        (tmp_path / "library" / "scenes" / "tavern.yaml").write_text("cast: nobody\n", encoding="utf-8")
        errors = {one["id"]: one.get("error", "") for one in (await http.get("/v1/scenes")).json()["data"]}
        assert ("tavern.yaml" in errors["scene:tavern"], errors["scene:apple_barrel"]) == (True, "")
        (tmp_path / "library" / "scenes" / "tavern.yaml").write_text("cast: [{role: nobody}]\n", encoding="utf-8")
        assert "There is no role 'nobody'" in (await http.get("/v1/scenes")).text
        (tmp_path / "library" / "scenes" / "tavern.yaml").write_text("cast: nobody\n", encoding="utf-8")
        assert (
            "tavern.yaml"
            in (await http.post("/v1/chat/completions", json={"model": "scene:tavern", **ask})).json()["error"][
                "message"
            ]
        )


async def test_a_page_is_told_of_scenes_who_speaks_and_who_heard_what(tmp_path: Path) -> None:
    async with tavern(tmp_path, Players()) as http:
        (scene,) = [one for one in (await http.get("/v1/scenes")).json()["data"] if one["id"] == "scene:tavern"]
        assert (scene["name"], scene["user"], scene["place"]) == ("Tavern", "Visitor", "The taproom of the Spyglass.")
        assert [(one["role"], one["name"], one["absent"]) for one in scene["cast"]][1:] == [
            ("ben", "Bennet", False),
            ("tom", "Thomas", True),
        ]
        assert {one.name for one in (tmp_path / "library").iterdir()} == {*CAST, "scenes"}  # no example is taken in
        of = {"role": "scene:tavern"}
        for line in ("Good evening.", f"/whisper Ada: {SECRET}", "/leave ben", "Where is he?"):
            body = {
                "model": "scene:tavern",
                "stream": True,
                "messages": [{"role": "user", "content": line}],
                "metadata": {"thread_id": "evening"},
            }
            response = await http.post("/v1/chat/completions", json=body)
            spoke = re.findall(r'"speaker": "(\w+)"', response.text)
        assert spoke == ["ada"]
        (listed,) = (await http.get("/v1/threads")).json()["data"]
        assert (listed["id"], listed["role"], listed["title"]) == ("evening", "scene:tavern", "Good evening.")
        tree = (await http.get("/v1/threads/evening/tree", params=of)).json()["turns"]
        assert [[(one["by"], one["kind"], one["to"]) for one in turn["lines"]] for turn in tree] == [
            [("user", "line", []), ("ada", "line", []), ("ben", "line", [])],
            [("user", "whisper", ["ada"]), ("ada", "whisper", [])],
            [("", "event", []), ("ada", "line", [])],
            [("user", "line", []), ("ada", "line", [])],
        ]
        assert tree[1]["lines"][1]["text"].startswith("Line ")  # and not that it is whispered
        assert [turn["stage"]["there"] for turn in tree][1:3] == [["ada", "ben"], ["ada"]]
        heard = (await http.get("/v1/threads/evening/heard", params=of)).json()
        assert [one["role"] for one in heard["cast"]] == ["ada", "ben", "tom"]
        assert [one["cells"] for one in heard["lines"]][-5:] == [
            ["said", "to_others", "away"],
            ["seen", "seen", "away"],
            ["said", "away", "away"],
            ["heard", "away", "away"],
            ["said", "away", "away"],
        ]
        first = (await http.get("/v1/threads/evening/heard", params={**of, "turn": tree[0]["id"]})).json()
        assert len(first["lines"]) == 3
        script = await http.get("/v1/threads/evening/export", params=of)
        assert f"@Visitor\n(whispers)\n{SECRET} [[heard by Ada]]" in script.text
        refused = await http.get("/v1/threads/evening/export", params={**of, "form": "jsonl"})
        assert "A scene is exported as script" in refused.json()["error"]["message"]
        missing = await http.get("/v1/threads/evening/heard", params={**of, "turn": "none"})
        assert missing.status_code == 404


async def test_a_scene_that_was_played_in_the_terminal_without_a_name_is_listed(tmp_path: Path) -> None:
    async with tavern(tmp_path, Players()) as http:
        library = library_at(tmp_path / "library")
        settings = run_settings(library.root, ScriptedChatModel(reply=Players()))
        given = {name: settings[name] for name in ("chat_model", "embedding_model")}
        context = read_scene(library, "tavern", **given)
        where = await usual_thread_of(library, "tavern")
        async with open_scene(context, where) as talk:
            await talk.take_turn("Good evening.")
        (listed,) = (await http.get("/v1/threads")).json()["data"]
        assert (listed["id"], listed["role"]) == ("default", "scene:tavern")
        (turn,) = (await http.get("/v1/threads/default/tree?role=scene:tavern")).json()["turns"]
        path = "/v1/threads/default/leave-out?role=scene:tavern"
        refused = await http.post(path, json={"turn": turn["id"]})
        assert (refused.status_code, "Of a scene, no turn" in refused.text) == (400, True)
        assert await usual_thread_of(library, "tavern") == where
        async with open_scene(context, "scene:tavern") as talk:  # as an earlier revision called it
            await talk.take_turn("Good evening.")
        assert await usual_thread_of(library, "tavern") == "scene:tavern"


async def test_what_a_role_has_heard_in_scenes_is_remembered_and_forgotten_by_all_of_them(tmp_path: Path) -> None:
    async with tavern(tmp_path, Players(), Access(KEYS)) as http:
        alice, bob = ({"Authorization": f"Bearer {KEYS[one]}"} for one in ("alice", "bob"))
        body = {
            "model": "scene:tavern",
            "messages": [{"role": "user", "content": SECRET}],
            "metadata": {"thread_id": "evening"},
        }
        assert (await http.post("/v1/chat/completions", json=body, headers=alice)).status_code == 200

        async def remembered(role: str, who: dict[str, str] = alice) -> list[dict[str, Any]]:
            data: list[dict[str, Any]] = (await http.get(f"/v1/roles/{role}/remembered", headers=who)).json()["data"]
            return data

        told = (await remembered("ben"))[-1]
        assert (told["of"], told["thread"], told["here"]) == ("scene:tavern", "evening", False)
        assert [(one["name"], one["text"]) for one in told["said"]] == [("Visitor", SECRET)]
        assert not await remembered("ben", bob)
        at, of = "/v1/threads/evening/forget", {"role": told["of"]}
        gone = await http.post(at, params=of, json={"ids": [told["id"]]}, headers=alice)
        assert gone.json()["total"] >= 1, gone.text
        for role in ("ada", "ben"):
            assert "Zebulon" not in str(await remembered(role))
        assert "Zebulon" not in (await http.get("/v1/threads/evening/tree", params=of, headers=alice)).text


@pytest.mark.parametrize("file_is_left", [True, False])
async def test_who_plays_no_more_is_shown_and_forgets_with_the_others(tmp_path: Path, file_is_left: bool) -> None:
    async with tavern(tmp_path, Players()) as http:
        for text in (f"/whisper Bennet: {SECRET}", "Good night."):
            body = {"model": "scene:tavern", "metadata": {"thread_id": "evening"}}
            body["messages"] = [{"role": "user", "content": text}]
            assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
        file, of = tmp_path / "library" / "scenes" / "tavern.yaml", {"role": "scene:tavern"}
        file.write_text(TAVERN.replace("  - {role: ben, method: vanilla}\n", ""), encoding="utf-8")
        if not file_is_left:
            file.unlink()
        heard = (await http.get("/v1/threads/evening/heard", params=of)).json()
        at = [one["role"] for one in heard["cast"]].index("ben")
        assert [(one["name"], one["cells"][at]) for one in heard["lines"]][:3] == [
            ("Visitor", "whispered"),
            ("Bennet", "said"),
            ("Visitor", "heard"),
        ]
        script = (await http.get("/v1/threads/evening/export", params=of)).text
        assert f"(whispers)\n{SECRET} [[heard by Bennet]]" in script
        gone = await http.post(
            "/v1/threads/evening/forget", params=of, json={"ids": [one["id"] for one in heard["lines"][:2]]}
        )
        assert gone.json()["total"] == 2, gone.text
        assert "Zebulon" not in kept_in(tmp_path)
        assert "Good night." in kept_in(tmp_path)
        gone = await http.delete("/v1/threads/evening", params=of, headers={"Content-Type": "application/json"})
        assert gone.status_code == 200
        assert "Good night." not in kept_in(tmp_path)


def kept_in(folder: Path) -> str:
    """All that is kept of what was said."""
    files = [one for one in (folder / "library" / ".conversations").iterdir() if one.is_file()]
    return "".join(one.read_bytes().decode(errors="replace") for one in files)


@pytest.mark.parametrize("after", [(), ("Ada",)])
async def test_what_who_has_left_the_group_had_said_is_heard_by_nobody_new(
    tmp_path: Path, after: tuple[str, ...]
) -> None:
    players = Players()

    def reply(messages: list[BaseMessage]) -> str:
        line = players(messages)
        return f"{line} {SECRET}" if said(messages).startswith("You are Bennet") else line

    async with tavern(tmp_path, reply) as http:
        group = Group(http)
        group.muted = {"Thomas"}
        await group.say("Where is it?", "Bennet")
        for one in after:
            await group.say("Thank you.", one)
        group.muted, group.members = set(), ["Ada", "Thomas"]
        await group.say("Good evening.", "Thomas", "Ada")
    assert not players.knew("tom")
    assert players.knew("ada")
