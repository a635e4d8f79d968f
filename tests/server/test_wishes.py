"""A wish for one reply over HTTP: by a header or in `metadata`, for a message, a swipe, and the rest of a reply."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from dramaturg.testing import write_role

from fakes import ScriptedChatModel
from roles import fenced
from served_roles import Screen, read_events, served
from talks import Player

WISH = "짧게, and angry"


async def ask(screen: Screen, kind: str, wish: str = "", **more: Any) -> httpx.Response:
    """What a client sends that can be told to send a header more."""
    headers = {**screen.sent(kind)} | ({"X-Role-Wish": wish} if wish else {})
    return await screen.http.post("/v1/chat/completions", json=screen.body(**more), headers=headers)


async def test_a_wish_holds_for_one_reply_and_is_told_of_it_alone(tmp_path: Path) -> None:
    player = Player()
    async with served(tmp_path, ScriptedChatModel(reply=player)) as http:
        screen = Screen(http, "tea", said=[("user", "one")])
        replies = [read_events((await ask(screen, "normal", quote(WISH))).text).content]
        assert fenced("wish", player.shown[-1]) == WISH
        replies.append(read_events((await ask(screen, "swipe", metadata={"role_wish": " longer\n"})).text).content)
        assert fenced("wish", player.shown[-1]) == "longer"
        replies.append(read_events((await ask(screen, "swipe")).text).content)
        assert "<wish>" not in player.shown[-1]
        tree = (await http.get("/v1/threads/tea/tree")).json()["turns"]
        assert [(one["reply"], one.get("wish")) for one in tree] == [
            (replies[0], WISH),
            (replies[1], "longer"),
            (replies[2], None),
        ]
        turn = (await http.get(f"/v1/threads/tea/turns/{tree[0]['id']}?language=zh")).json()
        assert (turn["wish"], turn["evidence"]["wish"]) == (WISH, WISH)
        assert f"当时的要求是“{WISH}”" in turn["why"]
        screen.said += [("assistant", replies[0])]
        rest = read_events((await ask(screen, "continue", "in rhyme")).text).content
        assert fenced("wish", player.shown[-1]) == "in rhyme"
        screen.said = [("user", "one"), ("assistant", f"{replies[0]} {rest}"), ("user", "two")]
        await ask(screen, "normal")
        assert "<wish>" not in player.shown[-1]
        assert "rhyme" not in player.shown[-1]
        (last,) = (await http.get("/v1/threads/tea")).json()["turns"][-1:]
        assert (last["question"], "wish" in last) == ("two", False)


@pytest.mark.parametrize(
    ("where", "given"),
    [("X-Role-Wish", {"wish": "x" * 10_000}), ("metadata.role_wish", {"metadata": {"role_wish": "x" * 501}})],
)
async def test_a_wish_that_is_too_long_is_a_400_that_names_the_field(
    tmp_path: Path, where: str, given: dict[str, Any]
) -> None:
    async with served(tmp_path) as http:
        response = await ask(Screen(http, "tea", said=[("user", "one")]), "normal", **given)
        assert response.status_code == 400
        assert response.json()["error"]["param"] == where
        assert "and 500 are the most" in response.json()["error"]["message"]
        assert not (await http.get("/v1/threads?role=ada")).json()["data"]


async def test_a_wish_for_a_turn_of_a_scene_holds_for_all_who_speak_in_it(tmp_path: Path) -> None:
    for role, name in (("ada", "Ada"), ("ben", "Bennet")):
        write_role(tmp_path / "library", role, name=name)
    (tmp_path / "library" / "scenes").mkdir()
    cast = "cast: [{role: ada, method: vanilla}, {role: ben, method: vanilla}]\nlines: 2\nnext: round\nuser_role: Mira"
    (tmp_path / "library" / "scenes" / "inn.yaml").write_text(cast, encoding="utf-8")
    model = ScriptedChatModel(reply=lambda _: "Aye, so it is.")
    async with served(tmp_path, model, method="vanilla", settings={"summary_tokens": 0}) as http:
        screen = Screen(http, "inn", model="scene:inn", said=[("user", "Good evening.")])
        screen.headers = False
        about = {"metadata": {"thread_id": "inn"}}
        said = read_events((await ask(screen, "", quote(WISH), **about)).text).content
        assert [fenced("wish", call.text) for call in model.calls] == [WISH, WISH]
        model.calls.clear()
        screen.said += [("assistant", said), ("user", "And now?")]
        await ask(screen, "", **about)
        assert len(model.calls) == 2
        assert not [call for call in model.calls if "<wish>" in call.text or "angry" in call.text]
        first, second = (await http.get("/v1/threads/inn/tree?role=scene:inn")).json()["turns"]
        assert (first["wish"], second.get("wish")) == (WISH, None)
        turn = (await http.get("/v1/threads/inn/turns/1?role=scene:inn")).json()
        assert {turn["evidence"][role]["wish"] for role in ("ada", "ben")} == {WISH}
        assert turn["why"].count(WISH) == 1
