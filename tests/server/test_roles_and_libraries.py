"""Groups, users who are known, flows of one's own, and a library that several servers share."""

from pathlib import Path

import pytest
from all_methods import whole_role

from dramaturg.server.rooms import Rooms
from dramaturg.stores.library import Library
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.testing import write_role

from fakes import ScriptedChatModel
from roles import small_role
from served_roles import Screen, served
from talks import Player

GROUP = {"X-Role-Group": "Ada Quill, Tom"}


async def test_each_role_of_a_group_has_heard_the_others_and_keeps_its_own_thread(tmp_path: Path) -> None:
    small_role(tmp_path / "library")
    write_role(tmp_path / "library", "tom", name="Tom", profile="A fisher.")
    async with served(tmp_path, method="vanilla") as http:

        async def speak(who: str, said: list[tuple[str, str]]) -> str:
            messages = [{"role": role, "content": text} for role, text in said]
            messages.append({"role": "system", "content": f"[Write the next reply only as {who}.]"})
            headers = {
                "X-Role-Thread": "party",
                "X-Role-Char": who,
                "X-Role-User": "Sam",
                "X-Gen-Type": "normal",
                **GROUP,
            }
            body = {"model": "ada", "messages": messages}
            response = await http.post("/v1/chat/completions", json=body, headers=headers)
            return f"{who}: {response.json()['choices'][0]['message']['content']}"

        said = [("user", "Hello both.")]
        said.append(("assistant", await speak("Ada Quill", said)))
        said.append(("assistant", await speak("Tom", said)))
        said.append(("user", "Go on."))
        await speak("Ada Quill", said)
        ada = (await http.get("/v1/threads/party?role=ada")).json()["turns"]
        tom = (await http.get("/v1/threads/party?role=tom")).json()["turns"]
        assert [turn["question"] for turn in tom] == [f"Sam: Hello both.\n\n{said[1][1]}"]
        assert [turn["question"] for turn in ada] == ["Sam: Hello both.", f"{said[2][1]}\n\nSam: Go on."]
        both = await http.get("/v1/threads/party")
        assert both.status_code == 400
        assert "?role=" in both.json()["error"]["message"]


async def test_a_user_whom_the_role_knows_is_that_role(tmp_path: Path) -> None:
    whole_role(tmp_path / "library")
    async with served(tmp_path, method="drmr", model=playing()) as http:
        known = {"X-Role-User": "Tom", "X-Role-Thread": "tea"}
        strangers = [
            (known | {"X-Role-User": name}, "") for name in ("Zoe", "Ada Quill")
        ]  # she cannot be asked by herself
        for headers, who in ((known, "Tom Morgan"), *strangers):
            body = {"model": "ada", "messages": [{"role": "user", "content": "Hello."}]}
            response = await http.post("/v1/chat/completions", json=body, headers=headers)
            assert response.status_code == 200, response.text
            turn = (await http.get("/v1/threads/tea/turns/1")).json()
            assert (turn["evidence"]["relations"].get("user_role") or "") == who


async def test_a_flow_of_ones_own_is_a_model(tmp_path: Path) -> None:
    (tmp_path / "own_flow.py").write_text("from dramaturg.workflows.vanilla import build\n")
    async with served(tmp_path, flows={"mine": f"{tmp_path / 'own_flow.py'}:build"}) as http:
        names = [one["id"] for one in (await http.get("/v1/models")).json()["data"]]
        assert "ada:mine" in names
        assert await Screen(http, "tea", model="ada:mine").say("hi")


async def test_a_role_of_a_database_is_found_by_its_name_without_the_files_of_others(
    tmp_path: Path, postgres: str
) -> None:
    for role, name in (("ada", "Ada Quill"), ("bert", "Bert"), ("captain", "Zoe Marsh")):
        write_role(tmp_path / "library", role, name=name)
    library, folder = SharedLibrary(postgres, tmp_path / "cache"), Library(tmp_path / "library")
    library.replace({role: folder.contents(role) for role in folder.roles()}, new=True)
    assert Rooms(library, "vanilla", {}, {}).model("role:auto", "Zoe Marsh").role == "captain"
    assert not [one for one in folder.roles() if (library.root / one).exists()]
    library.close()


async def test_two_servers_serve_the_same_threads_of_a_database(tmp_path: Path, postgres: str) -> None:
    small_role(tmp_path / "library")
    one, other = (SharedLibrary(postgres, tmp_path / name) for name in ("one", "other"))
    one.replace({"ada": Library(tmp_path / "library").contents("ada")}, new=True)
    async with served(tmp_path, library=one) as first, served(tmp_path, library=other) as second:
        screen = Screen(first, headers=False, greeting="Hello.")
        for number in range(6):
            screen.http = (first, second)[number % 2]
            await screen.say(f"question {number}")
        await screen.swipe()
        (thread,) = (await first.get("/v1/threads?role=ada")).json()["data"]
        turns = (await second.get(f"/v1/threads/{thread['id']}")).json()["turns"]
        assert [turn["question"] for turn in turns] == ["", *(f"question {number}" for number in range(6))]
        assert (await second.get("/v1/threads?role=ada")).json()["data"] == [thread]


def playing() -> ScriptedChatModel:
    """A model that answers whatever is asked."""
    return ScriptedChatModel(reply=Player())


@pytest.mark.parametrize("language", ["zh", "ko"])
async def test_what_is_continued_has_its_language(tmp_path: Path, language: str) -> None:
    player = Player()
    small_role(tmp_path / "library")
    card = tmp_path / "library" / "ada" / "role.yaml"
    card.write_text(card.read_text().replace("language: en", f"language: {language}"))
    async with served(tmp_path, ScriptedChatModel(reply=player), method="vanilla") as http:
        screen = Screen(http, "tea", greeting="…")
        await screen.say("one")
        await screen.go_on()
        assert "Go on" not in player.shown[-1]
