"""Scenes that are put together over HTTP: made, changed and deleted as files, and what was played of them stays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from dramaturg.conversations.scene_files import read_scene
from dramaturg.server.access import Access
from dramaturg.stores.library import library_at
from dramaturg.testing import write_role

from fakes import ScriptedChatModel
from served_roles import served

PAIR = [{"role": "ada"}, {"role": "ben", "hidden": True}]
WRITTEN = """# Whoever comes by.
place: An inn by night.   # not the other one
title: The Old Inn
lines: 1  # each
as_of: chapter 3
cast:
  # the keeper
  - {role: ada, method: vanilla, told: You know the way., settings: {window: 900}}
  - {role: ben, method: vanilla, hidden: true}
# how it goes on
next: round
"""


@asynccontextmanager
async def house(folder: Path, access: Access | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """Serve three roles of whom there is but a card."""
    for role, name in (("ada", "Ada Quill"), ("ben", "Ben Gunn"), ("tom", "Tom Morgan")):
        write_role(folder / "library", role, name=name)
    model: Any = ScriptedChatModel(reply=lambda _: "Aye, so it is.")
    async with served(folder, model, access, method="vanilla", settings={"summary_tokens": 0}) as http:
        yield http


def made(folder: Path) -> set[str]:
    """The files of scenes that there are."""
    return {one.name for one in (folder / "library" / "scenes").glob("*.y*")}


async def play(http: httpx.AsyncClient, scene: str, line: str, thread: str = "one") -> str:
    body = {"model": scene, "messages": [{"role": "user", "content": line}], "metadata": {"thread_id": thread}}
    answer = await http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["choices"][0]["message"]["content"])


async def test_a_scene_is_made_played_changed_and_deleted_and_its_chats_stay(tmp_path: Path) -> None:
    async with house(tmp_path) as http:
        body = {"name": "Below Deck", "place": "The hold.", "opening": "It is dark.", "user": "Mira", "cast": PAIR}
        answer = await http.post("/v1/scenes", json=body)
        assert answer.status_code == 201
        scene = answer.json()
        assert scene["id"] == "scene:below-deck"
        listed = {one["id"]: one for one in (await http.get("/v1/scenes")).json()["data"]}
        assert scene == {"object": "scene", **listed[scene["id"]]}
        assert scene.items() >= {**body, "cast": scene["cast"], "example": False}.items()
        assert [(one["name"], one["hidden"], one["method"]) for one in scene["cast"]] == [
            ("Ada Quill", False, "profile"),
            ("Ben Gunn", True, "profile"),
        ]
        assert await play(http, scene["id"], "/next Ada Quill") == "Ada Quill: Aye, so it is."

        cast = [*PAIR, {"role": "tom", "absent": True, "method": "vanilla"}]
        change = {"name": "The hold", "opening": "", "cast": cast}
        changed = (await http.patch("/v1/scenes/below-deck", json=change)).json()
        assert changed.items() >= {"id": scene["id"], "name": "The hold", "place": "The hold.", "opening": ""}.items()
        assert await play(http, scene["id"], "/enter Tom", "two")
        assert (await http.get("/v1/scenes/below-deck")).json() == changed

        assert (await http.delete("/v1/scenes/below-deck", headers=JSON)).json()["deleted"]
        assert made(tmp_path) == set()
        assert (await http.get("/v1/scenes/below-deck")).status_code == 404
        about = "?role=scene:below-deck"
        for path in ("/v1/threads", f"/v1/threads{about}"):
            listed = [(one["role"], one["id"]) for one in (await http.get(path)).json()["data"]]
            assert listed == [(scene["id"], "two"), (scene["id"], "one")]
        (turn,) = (await http.get(f"/v1/threads/one/tree{about}")).json()["turns"]
        assert "Aye, so it is." in turn["reply"]
        heard = {one: (await http.get(f"/v1/threads/{one}/heard{about}")).json() for one in ("one", "two")}
        assert len(heard["two"]["cast"]) == 3
        begins = {one: [line["text"] for line in heard[one]["lines"] if not line["turn"]] for one in heard}
        assert begins == {"one": ["It is dark."], "two": []}  # as it was then
        refused = await http.post("/v1/chat/completions", json={"model": scene["id"], "messages": [GO]})
        assert refused.status_code == 404
        again = (await http.post("/v1/scenes", json=body)).json()["id"]
        assert again == "scene:below-deck-2"  # else the chats of the former one would go on with another cast
        assert (await http.delete(f"/v1/threads/two{about}", headers=JSON)).status_code == 200


JSON = {"Content-Type": "application/json"}
GO = {"role": "user", "content": "/go"}


async def test_what_somebody_wrote_in_the_file_stays(tmp_path: Path) -> None:
    async with house(tmp_path) as http:
        file = tmp_path / "library" / "scenes" / "inn.yaml"
        file.parent.mkdir()
        file.write_text(WRITTEN, encoding="utf-8")
        shown = (await http.get("/v1/scenes/inn")).json()
        assert shown["name"] == "The Old Inn"
        cast = [{key: one[key] for key in ("role", "hidden", "absent", "method")} for one in shown["cast"]]
        same = {"name": shown["name"], "place": shown["place"], "opening": "", "user": "", "cast": cast}
        assert (await http.patch("/v1/scenes/inn", json=same)).status_code == 200
        assert file.read_text(encoding="utf-8") == WRITTEN
        answer = await http.patch("/v1/scenes/inn", json={**same, "place": "Here.", "user": "Mira", "name": "Inn"})
        assert answer.status_code == 200
        text = file.read_text(encoding="utf-8")
        assert "# Whoever comes by.\nplace: Here.\nlines: 1  # each\nas_of" in text
        assert "  # the keeper\n" in text
        assert "title" not in text  # it is called as its file
        cast[0]["absent"] = True
        await http.patch("/v1/scenes/inn", json={"cast": [cast[0], {"role": "tom"}]})
        text = file.read_text(encoding="utf-8")
        assert "# how it goes on\nnext: round\n" in text
        read = read_scene(library_at(tmp_path / "library"), "inn")
        assert (read.lines, read.as_of, read.user_role, read.playing) == (1, "chapter 3", "Mira", ("ada", "tom"))
        assert (read.cast[0].told, read.cast[0].settings) == ("You know the way.", {"window": 900})
        assert (read.cast[0].absent, read.cast[0].method, read.cast[1].method) == (True, "vanilla", "profile")
        refused = await http.patch("/v1/scenes/inn", json={"user": "tom morgan"})  # who is in the cast
        assert (refused.status_code, read_scene(library_at(tmp_path / "library"), "inn").user_role) == (400, "Mira")
        file.write_text("{place: All in one line., cast: [{role: ada}], next: user}", encoding="utf-8")
        assert (await http.patch("/v1/scenes/inn", json={"opening": "Rain."})).status_code == 200
        read = read_scene(library_at(tmp_path / "library"), "inn")
        assert (read.place, read.opening, read.next) == ("All in one line.", "Rain.", "user")


async def test_a_new_scene_takes_no_file_whose_name_is_its_own_in_another_case(tmp_path: Path) -> None:
    async with house(tmp_path) as http:
        file = tmp_path / "library" / "scenes" / "INN.yaml"
        file.parent.mkdir()
        file.write_text(WRITTEN, encoding="utf-8")
        scene = (await http.post("/v1/scenes", json={"name": "Inn", "cast": PAIR})).json()
        assert (scene["id"], scene["name"]) == ("scene:inn-2", "Inn")
        assert file.read_text(encoding="utf-8") == WRITTEN


async def test_an_example_is_changed_as_a_copy(tmp_path: Path) -> None:
    async with house(tmp_path) as http:
        for answer in (
            await http.patch("/v1/scenes/apple_barrel", json={"place": "Here."}),
            await http.delete("/v1/scenes/apple_barrel", headers=JSON),
        ):
            assert answer.status_code == 400
            assert "is an example, which cannot be changed: make a scene of your own like it" in answer.text
        example = (await http.get("/v1/scenes/apple_barrel")).json()
        assert example["example"]
        body = {"name": "My barrel", "like": example["id"], "place": "A cellar."}
        mine = (await http.post("/v1/scenes", json=body)).json()
        assert mine.items() >= {"id": "scene:my-barrel", "opening": example["opening"], "cast": example["cast"]}.items()
        told = {one.role: one.told for one in read_scene(library_at(tmp_path / "library"), "my-barrel").cast}
        assert "apple barrel" in told["jim"]


NAMES = {
    "../x": "x",
    "con": "con-2",
    "auto": "auto-2",
    "사과 통": "사과-통",
    "夜": "夜",
    "🎭": "scene",
    "a\\b/c: [d]": "a-b-c-d",
    "x" * 100: "x" * 50,
    'Fantômas\' "Nacht"': "fantômas-nacht",
    "title: x # y": "title-x-y",
}


@pytest.mark.parametrize("name", NAMES)
async def test_a_scene_may_be_called_as_one_likes(tmp_path: Path, name: str) -> None:
    async with house(tmp_path) as http:
        text = "Line\u2028one: {a}\n - *b\n\n# no comment \ttab\x85 \U0001f3ad 'q' \"r\" \\ %  "
        answer = await http.post("/v1/scenes", json={"name": name, "place": text, "opening": "---", "cast": PAIR})
        assert answer.status_code == 201, answer.text
        scene = answer.json()
        assert scene["id"] == f"scene:{NAMES[name]}"
        assert (scene["name"], scene["place"], scene["opening"]) == (name, "\n".join(text.splitlines()).strip(), "---")
        assert made(tmp_path) == {f"{NAMES[name]}.yaml"}
        assert "Aye" in await play(http, scene["id"], "/go")
        assert (await http.patch(f"/v1/scenes/{scene['id']}", json={"place": "Here."})).json()["name"] == name
        other = {"name": f"{name[:80]} at once", "cast": PAIR}
        both = await asyncio.gather(*(http.post("/v1/scenes", json=other) for _ in range(3)))
        assert sorted(one.status_code for one in both) == [201, 400, 400]
        twice = await http.post("/v1/scenes", json={"name": name.upper(), "cast": PAIR})
        assert "There is a scene" in twice.json()["error"]["message"]
        assert (await http.delete(f"/v1/scenes/{scene['id']}", headers=JSON)).status_code == 200
        assert [one["role"] for one in (await http.get("/v1/threads")).json()["data"]] == [scene["id"]]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": " \t"}, "needs a name"),
        ({"name": "a\u202eb"}, "letters that can be seen"),
        ({"name": "x" * 300}, "name: String should have at most 100 characters"),
        ({"name": "Apple Barrel"}, "There is a scene 'Apple barrel' already"),
        ({"cast": []}, "needs somebody who plays"),
        ({"cast": None}, "needs somebody who plays"),
        ({"cast": [{"role": f"r{at}"} for at in range(9)]}, "at most 8 roles, and this one has 9"),
        ({"cast": [{"role": "nobody"}]}, "There is no role 'nobody'"),
        ({"cast": [{"role": "../ada"}]}, "There is no role '../ada'"),
        ({"cast": [{"role": "ada"}, {"role": "ada"}]}, "'ada' is in the cast twice"),
        ({"cast": [{"role": "ada", "method": "amadeu"}]}, "no method 'amadeu'; did you mean 'amadeus'"),
        (
            {"cast": [{"role": "mother", "method": "emotional-rag"}]},
            "Mrs Hawkins has no memories, which emotional-rag reads",
        ),
        ({"cast": [{"role": "ada", "settings": {"chat_model": "x"}}]}, "settings: Extra inputs are not permitted"),
        ({"user": "ben gunn"}, "You play 'ben gunn', who is in the cast"),
        ({"place": "x" * 2_001}, "place: String should have at most 2000 characters"),
        ({"like": "nothing"}, "There is no scene 'nothing'"),
        ({"like": "../x"}, "can't be the name of a scene"),
    ],
)
async def test_what_cannot_be_is_refused_with_a_sentence(tmp_path: Path, body: dict[str, Any], said: str) -> None:
    async with house(tmp_path) as http:
        answer = await http.post("/v1/scenes", json={"name": "Mine", "cast": PAIR, **body})
        assert answer.status_code == 400, answer.text
        assert said in answer.json()["error"]["message"]
        assert made(tmp_path) == set()


async def test_who_may_change_nothing_makes_no_scene(tmp_path: Path) -> None:
    async with house(tmp_path, Access(a_minute=10_000, changes_roles=False)) as http:
        for answer in (
            await http.post("/v1/scenes", json={"name": "Mine", "cast": PAIR}),
            await http.patch("/v1/scenes/apple_barrel", json={"name": "Mine"}),
            await http.delete("/v1/scenes/apple_barrel", headers=JSON),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "read_only")
        assert (await http.get("/v1/scenes/apple_barrel")).status_code == 200
        assert not (tmp_path / "library" / "scenes").exists()
