"""What the page needs of the server, without a browser: its files, its policy, and the additions to the API."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from all_methods import whole_role
from page_house import Voice

from dramaturg.server.access import Access
from dramaturg.server.pages import PAGE, POLICY
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library, examples

from served_roles import Screen, served
from talks import Player

KEYS = {"alice": "a" * 20, "bob": "b" * 20}
ALICE, BOB = ({"Authorization": f"Bearer {key}"} for key in KEYS.values())
FILES = sorted(one.relative_to(PAGE).as_posix() for one in PAGE.rglob("*.*"))
CASTING = ("card_", "kind_", "means_", "form_", "field_", "col_")
MOST = 300_000  # bytes that a browser loads before somebody opens more, 89 kB of them the library
MOST_SENT = 110_000
MOST_IN_ALL = 370_000


def loaded() -> set[str]:
    """The files that a browser loads at once: what the page names, what that imports, and the texts of a language.

    Of the languages, it is the longest; the other views come when they are opened.
    """
    found, new = set[str](), {"index.html", "style.css", "mark.svg", "main.js", longest()}
    while new:
        found |= new
        modules = (PAGE / name for name in new if name.endswith(".js"))
        imported = {one for path in modules for one in re.findall(r' from "\./([\w./-]+)"', path.read_text("utf-8"))}
        new = imported - found
    return found


def longest() -> str:
    return max((name for name in FILES if name.startswith("texts/")), key=lambda name: (PAGE / name).stat().st_size)


async def test_the_page_and_its_files_need_no_key_and_have_a_policy(tmp_path: Path) -> None:
    async with served(tmp_path, access=Access(KEYS)) as http:
        for path in ("/", *(f"/page/{name}" for name in FILES)):
            found = await http.get(path)
            assert found.status_code == 200, path
            assert found.headers["Content-Security-Policy"] == POLICY
            assert found.headers["X-Content-Type-Options"] == "nosniff"
            if path.endswith(".js"):
                assert found.headers["Content-Type"].startswith("text/javascript")
        for path in ("/v1/roles", "/v1/roles/ada", "/v1/threads?role=ada"):
            assert (await http.get(path)).status_code == 401
        for path in ("/page/", "/page/none.js", "/page/%2e%2e/app.py", "/page/..%2f..%2fapp.py"):
            assert (await http.get(path)).status_code == 404, path
        assert (await http.post("/page/main.js", json={})).status_code == 405
        assert (await http.get("/", headers={"Host": "evil.example"})).status_code == 403


async def test_the_page_is_sent_compressed_once_and_events_as_they_come(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with served(tmp_path, Voice(reply=Player(), gate=gate), settings={"redraws": 0}) as http:
        sent = 0
        for path in ("/", *(f"/page/{name}" for name in loaded())):
            plain = await http.get(path, headers={"Accept-Encoding": "identity"})
            packed = await http.get(path, headers={"Accept-Encoding": "gzip"})
            sent += packed.num_bytes_downloaded
            assert (packed.content, packed.headers["ETag"]) == (plain.content, plain.headers["ETag"])
            for accepted in ("gzip", "identity"):
                known = {"If-None-Match": packed.headers["ETag"], "Accept-Encoding": accepted}
                again = await http.get(path, headers=known)
                assert (again.status_code, again.content) == (304, b"")
                assert again.headers["Cache-Control"] == "no-cache"
        assert sent < MOST_SENT
        listed = await http.get("/v1/roles")
        assert listed.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in listed.headers["Vary"]
        part = await http.get("/page/main.js", headers={"Range": "bytes=0-1999"})
        assert "Content-Encoding" not in part.headers  # its bytes are counted in the file as it is
        assert (part.status_code, part.content) == (206, (PAGE / "main.js").read_bytes()[:2000])
        body = {"model": "ada", "messages": [{"role": "user", "content": "one"}], "stream": True}
        async with http.stream("POST", "/v1/chat/completions", json=body) as stream:
            assert "Content-Encoding" not in stream.headers
            async for line in stream.aiter_lines():
                if "Reply" in line:  # the model says nothing more until this is here
                    gate.set()


def test_nothing_on_the_page_is_inline_made_of_text_or_from_elsewhere() -> None:
    texts = {name: (PAGE / name).read_text(encoding="utf-8") for name in FILES}
    sizes = {name: (PAGE / name).stat().st_size for name in FILES}
    assert sum(sizes[name] for name in loaded()) < MOST
    assert sum(size for name, size in sizes.items() if "texts/" not in name) + sizes[longest()] < MOST_IN_ALL
    for name, text in texts.items():
        if name.startswith("vendor/"):  # it makes tokens and elements of none of them
            assert not re.search(r"\bdocument\b|\bfetch\(|\beval\(|new Function", text)
            continue
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            name
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), name
        if name.endswith(".html"):
            assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", text)
    for name, text in texts.items():
        for module in re.findall(r'from "\./([\w./]+)"', text):
            assert module in FILES, (name, module)


def test_every_language_has_every_text_and_each_is_used() -> None:
    def entries(name: str) -> dict[str, set[str]]:
        text = (PAGE / "texts" / f"{name}.js").read_text(encoding="utf-8")
        found = re.findall(r'(?:^|[\s,{])"?([\w-]+)"?: "((?:[^"\\]|\\.)*)"', text)
        return {key: set(re.findall(r"\{(\w+)\}", said)) for key, said in found}

    english = entries("en")
    assert len(english) > 100
    for other in ("zh", "ko"):
        found = entries(other)
        assert found.keys() == english.keys()
        assert {key: names for key, names in found.items() if names != english[key]} == {}
    others = [(PAGE / name).read_text(encoding="utf-8") for name in FILES if "/" not in name]
    used, made = (
        "".join(others),
        ("lacks_", "does_", "how_", "rests_", "rejected_", "step_", "change_", "cell_", "why_", "theme_", *CASTING),
    )
    named = {key for key in english if f'"{key}"' in used or f"{key}:" in used or key.startswith(made)}
    assert english.keys() - named == set()


async def test_roles_are_listed_by_their_cards_and_methods_with_what_they_lack(tmp_path: Path) -> None:
    library = tmp_path / "library"
    whole_role(library)
    Library(library).create("bare", RoleCard(name="Bare"))
    (library / "broken").mkdir()
    (library / "broken" / "role.yaml").write_text("name: [")
    async with served(tmp_path) as http:
        listed = (await http.get("/v1/roles")).json()
        roles = {one["id"]: one for one in listed["data"]}
        assert roles.keys() == {"ada", "bare", "broken", *examples()}
        assert [one["id"] for one in listed["data"]][:3] == ["ada", "bare", "broken"]
        said = {"name": "Ada Quill", "language": "en", "profile": "A keeper of few words."}
        assert roles["ada"].items() >= {"id": "ada", "example": False, **said}.items()
        assert roles["beethoven"]["example"]
        assert list(roles).index("wukong") < list(roles).index("dick")  # who has no files of his own
        assert list(roles)[-1] == "hispaniola"  # a story, which is nobody to talk to
        assert (roles["jim"]["story_of"], "jim" in roles["hispaniola"]["story_of"]) == ([], True)
        models = {one["id"] for one in (await http.get("/v1/models")).json()["data"]}
        assert ("jim" in models, "hispaniola" in models) == (True, False)
        assert "role.yaml" in roles["broken"]["error"]
        assert listed["embedded"] is False
        assert sorted(Library(library).roles()) == ["ada", "bare", "broken"]  # no example was copied
        methods = (await http.get("/v1/roles/ada")).json()["methods"]
        assert [one["id"] for one in methods] == ["amadeus", "role-rag", "emotional-rag", "drmr", "id-rag", "ensemble"]
        assert not any(one["lacks"] for one in methods)
        lacks = {one["id"]: one["lacks"] for one in (await http.get("/v1/roles/bare")).json()["methods"]}
        assert lacks["amadeus"] == lacks["role-rag"] == ["persona"]
        assert lacks["emotional-rag"] == ["memories"]
        assert lacks["drmr"] == ["dialogues"]
        assert lacks["id-rag"] == ["chronicle"]
        assert (await http.get("/v1/roles/nobody")).status_code == 404


async def test_a_thread_is_a_tree_and_a_reply_names_its_turn(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        screen = Screen(http, "tea")
        await screen.say("one")
        await screen.say("two")
        await screen.swipe()
        told = (await http.get("/v1/threads/tea/tree?role=ada")).json()
        turns = {one["reply"]: one for one in told["turns"]}
        assert [one["question"] for one in told["turns"]] == ["one", "two", "two"]
        first, second, third = (turns[f"Reply {at} to {said}"] for at, said in ((1, "one"), (2, "two"), (3, "two")))
        assert first["after"] is None
        assert second["after"] == third["after"] == first["id"]
        assert told["head"] == third["id"]
        for stream in (True, False):
            turn = await turn_named(http, screen, stream)
            found = (await http.get(f"/v1/threads/tea/turns/{turn}?role=ada")).json()  # at once
            assert found["question"] == "three"
            assert found["evidence"]
        assert (await http.get("/v1/threads/none/tree?role=ada")).status_code == 404


async def turn_named(http: httpx.AsyncClient, screen: Screen, stream: bool) -> str:
    body = {"messages": [{"role": "user", "content": "three"}], "model": "ada", "stream": stream}
    answer = await http.post("/v1/chat/completions", json=body, headers=screen.sent("normal"))
    if not stream:
        return str(answer.json()["turn"])
    (found,) = re.findall(r'"turn": "([^"]+)"', answer.text)
    return str(found)


@pytest.mark.parametrize("path", ["/v1/threads/tea/tree?role=ada", "/v1/threads/alice%2Ftea/tree?role=ada"])
async def test_the_tree_of_another_caller_is_not_there(tmp_path: Path, path: str) -> None:
    async with served(tmp_path, access=Access(KEYS)) as http:
        screen: Any = Screen(http, "tea", key=KEYS["alice"])
        await screen.say("one")
        assert (await http.get("/v1/threads/tea/tree?role=ada", headers=ALICE)).status_code == 200
        assert (await http.get(path, headers=BOB)).status_code == 404
