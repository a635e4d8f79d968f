"""A role is cast from texts by the API that the page calls: who is there, what it costs, drafts and decisions."""

import asyncio
import base64
import json
import threading
import zipfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from dramaturg.server.access import Access
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library
from dramaturg.stores.texts.draft import CastDraft, Statement

from fakes import ScriptedChatModel
from served_roles import served
from stub_endpoint import Endpoint, endpoint

TEXTS = Path(__file__).parents[2] / "examples" / "texts"
FERRY = (TEXTS / "the_ferry.md").read_bytes()
CHAT = (TEXTS / "mira_and_hale.txt").read_bytes()
DIARY = (TEXTS / "mira_diary.md").read_bytes()


def sent(*files: tuple[str, str | bytes], **more: Any) -> dict[str, Any]:
    packed = [
        {"name": name, "data": base64.b64encode(text.encode() if isinstance(text, str) else text).decode()}
        for name, text in files
    ]
    return {"files": packed, **more}


def events(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def tells(messages: list[Any]) -> str:
    """The model finds that the first sentence of each part tells who she is, and nothing else."""
    rules = str(messages[0].content)
    kind = next((one for one in ("told", "episodes", "triples", "quotes", "profile") if f'{{"{one}"' in rules), "")
    if kind == "told":
        return '{"told": [{"sentence": 1, "kind": "who"}], "episodes": [], "triples": []}'
    return json.dumps({kind: "She runs a ferry." if kind == "profile" else []})


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with endpoint() as running:
        running.model = ScriptedChatModel(reply=tells)
        for name, value in running.variables().items():
            monkeypatch.setenv(name, value)
        yield running


@asynccontextmanager
async def house(folder: Path, **how: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Serve Ada's library; casting asks the model of the endpoint."""
    async with served(folder, settings={"chat_model": "auto"}, **how) as http:
        yield http


async def ended(http: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    told = events((await http.post("/v1/casting", json=body)).text)
    return told[-1]


async def waiting(http: httpx.AsyncClient, role: str) -> dict[str, Any]:
    found = (await http.get(f"/v1/roles/{role}/drafts")).json()
    return {one["kind"]: one for one in found["kinds"]}


async def test_who_is_in_texts_and_of_what_form_they_are(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        body = sent(("the_ferry.md", FERRY), ("wa.txt", CHAT), ("diary.md", DIARY))
        told = (await http.post("/v1/casting/people", json=body)).json()
        assert [one["form"] for one in told["texts"]] == ["prose", "chat", "diary"]
        assert any("media" in line for line in told["texts"][1]["missing"])
        assert {"Mira", "Jonas Hale", "Pip"} <= {one["name"] for one in told["people"]}
        assert told["language"] == "en"
        assert Library(tmp_path / "library").roles() == ["ada"]


async def test_a_text_of_many_empty_lines_is_read(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        told = (await http.post("/v1/casting/people", json=sent(("lines.txt", "x" + "\n" * 1_000_000)))).json()
        assert [one["form"] for one in told["texts"]] == ["prose"]
        assert told["people"] == []


async def test_a_character_is_weighed_cast_and_decided_on(tmp_path: Path, stub: Endpoint) -> None:
    async with house(tmp_path) as http:
        wish = sent(("the_ferry.md", FERRY), character="Mira Castellan")
        cost = (await http.post("/v1/casting/preview", json=wish)).json()
        assert (cost["role"], cost["new"], cost["embedded"]) == ("mira-castellan", True, False)
        assert cost["address"] == stub.variables()["OPENAI_BASE_URL"]
        assert cost["model"] == "stub"
        assert cost["characters"] > 0 < cost["questions"]["drafts"]
        assert not stub.asked
        assert Library(tmp_path / "library").roles() == ["ada"]
        told = events((await http.post("/v1/casting", json=wish)).text)
        assert {one["step"] for one in told if one["object"] == "progress"} >= {"drafts"}
        assert (told[-1]["object"], told[-1]["role"]) == ("done", "mira-castellan")
        assert len([one for one in stub.asked if "messages" in one]) <= sum(cost["questions"].values())
        assert (await http.get("/v1/casting")).json()["waiting"] == [
            {
                "role": "mira-castellan",
                "name": "Mira Castellan",
                "drafts": sum(told[-1]["cast"]["waiting"].values()),
                "work": False,
            }
        ]
        kinds = await waiting(http, "mira-castellan")
        first = kinds["persona"]["drafts"][0]
        assert first["number"] == 1
        assert first["source"].startswith("the_ferry.md, ")
        assert "broad, sunburnt woman" in first["text"]
        at = "/v1/roles/mira-castellan/drafts"
        for kind, decision, numbers in (
            ("persona", "accept", [1]),
            ("dialogues", "accept", None),
            ("card", "refuse", [1]),
        ):
            body = {"kind": kind, "version": kinds[kind]["version"], "decision": decision, "numbers": numbers}
            left = (await http.post(at, json=body)).json()
            assert left["decided"] == (len(numbers) if numbers else kinds[kind]["total"])
            again = await http.post(at, json=body)  # from another window
            assert (again.status_code, again.json()["error"]["code"]) == (409, "changed")
        role = Library(tmp_path / "library").role("mira-castellan")
        assert "broad, sunburnt woman" in role.documents()[0].text
        assert role.dialogue_files.names()
        assert "dialogues" not in {one["kind"] for one in left["kinds"]}
        methods = (await http.get("/v1/roles/mira-castellan")).json()["methods"]
        assert {"id": "amadeus", "lacks": []} in methods
        later = await ended(http, wish)  # what was decided does not come back, and nothing is asked twice
        assert later["cast"]["new"] == dict.fromkeys(later["cast"]["new"], 0)
        assert later["cast"]["calls"] == 0


async def test_drafts_of_each_kind_are_edited(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        body = sent(("wa.txt", CHAT), ("diary.md", DIARY), character="Mira", asks=False)
        assert (await ended(http, body))["role"] == "mira"
        at = "/v1/roles/mira/drafts"
        kinds = await waiting(http, "mira")
        assert {"persona", "dialogues", "memories", "chronicle"} <= {*kinds}
        for kind in kinds:
            draft = (await http.get(f"{at}/{kind}/1")).json()
            assert draft["text"]
            fields = {name: value for name, value in draft["fields"].items() if isinstance(value, str)}
            longest = max(fields, key=lambda name: len(fields[name]))
            fields[longest] = "The lamp is out."
            if kind == "dialogues":
                lines = draft["fields"]["lines"]
                lines[0]["text"], lines[-1]["text"] = "Who is there?", ""
                fields["lines"] = lines
            done = await http.post(f"{at}/{kind}/1", json={"version": draft["version"], "fields": fields})
            assert done.status_code == 200, (kind, done.text)
            after = (await http.get(f"{at}/{kind}/1")).json()
            assert "The lamp is out." in after["fields"].values() or kind == "dialogues"
            assert after["source"].partition(",")[0] == draft["source"].partition(",")[0]
            late = await http.post(f"{at}/{kind}/1", json={"version": draft["version"], "fields": fields})
            assert late.status_code == 409
        scene = CastDraft(Library(tmp_path / "library").role("mira").root).items("dialogues")[0]
        assert scene.lines[0].text == "Who is there?"
        assert scene.lines[0].at  # where it is from stays so
        assert len(scene.lines) == len(lines) - 1


async def test_who_writes_is_cast_in_the_first_person_and_a_role_that_is_there_gets_more(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        diary = sent(("diary.md", DIARY), first_person=True, asks=False)
        assert (await ended(http, diary))["role"] == "me"
        ada = sent(("diary.md", DIARY), character="Ada", first_person=True, asks=False, role="Ada Quill")
        assert (await http.post("/v1/casting/preview", json=ada)).json()["new"] is False
        assert (await ended(http, ada))["role"] == "ada"
        assert "memories" in await waiting(http, "ada")
        own = await http.post("/v1/casting", json=sent(("d.md", FERRY), character="Pip", role="nobody"))
        assert (own.status_code, "no role 'nobody'" in own.text) == (400, True)


async def test_a_name_in_other_capitals_is_that_of_the_texts(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        role = (await ended(http, sent(("the_ferry.md", FERRY), character="INSPECTOR HALE", asks=False)))["role"]
        assert role == "inspector-hale"
        assert Library(tmp_path / "library").role(role).card.name == "Inspector Hale"


@pytest.mark.parametrize(("name", "file"), [("林秋禾", "the_ferry.zh.md"), ("한미래", "the_ferry.ko.md")])
async def test_a_name_without_latin_letters_has_an_id_too(tmp_path: Path, name: str, file: str) -> None:
    async with served(tmp_path) as http:
        body = sent((file, (TEXTS / file).read_bytes()), character=name, asks=False)
        role = (await ended(http, body))["role"]
        assert Library(tmp_path / "library").role(role).card.name == name
        assert (await ended(http, body))["role"] == role  # the same one


async def test_a_role_that_was_not_cast_is_not_added_to_unless_it_is_named(tmp_path: Path) -> None:
    Library(tmp_path / "library").create("pip", RoleCard(name="Philip"))
    async with served(tmp_path) as http:
        body = sent(("the_ferry.md", FERRY), character="Pip", asks=False)
        answer = await http.post("/v1/casting", json=body)
        assert (answer.status_code, "There is a role 'pip' already" in answer.text) == (400, True)
        alice = await http.post("/v1/casting", json=sent(("a.txt", "Alice: Hi.\nBob: Hi.\n" * 9), character="Alice"))
        assert (alice.status_code, "There is a role 'alice' already" in alice.text) == (400, True)  # an example
        assert not CastDraft(tmp_path / "library" / "pip").folder.exists()


def bomb() -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.txt", b"a" * 100_000_001)
    return packed.getvalue()


HOSTILE: Sequence[tuple[str, str | bytes]] = (
    ("../evil.md", FERRY),
    ("a/b.md", FERRY),
    ("C:\\evil.md", FERRY),
    ("..", FERRY),
    (".", FERRY),
    ("a\0b.md", FERRY),
    ("a\u202eb.md", FERRY),
    ("empty.txt", " \n"),
    ("evil.pdf", b"no pdf"),
    ("evil.epub", b"PK\x03\x04 no archive"),
    ("two.zip", b"PK\x05\x06" + b"\0" * 18),
    ("bomb.zip", bomb()),
    ("binary.txt", bytes(range(256)) * 40),
)


async def test_a_hostile_name_or_file_is_refused_in_a_sentence_and_nothing_changes(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        before = sorted((tmp_path / "library").rglob("*"))
        for name, data in HOSTILE:
            for path, more in (("people", {}), ("preview", {"character": "Mira"})):
                answer = await http.post(f"/v1/casting/{path}", json=sent((name, data), **more))
                assert answer.status_code == 400, (name, answer.text)
                message = answer.json()["error"]["message"]
                assert "\n" not in message
                assert str(tmp_path) not in message
        ferry = ("the_ferry.md", FERRY)
        for body in (
            {"files": []},
            sent(*[ferry] * 17, character="Mira"),
            {"files": [{"name": "a.md", "data": "%%%"}], "character": "Mira"},
            sent(ferry, character="Mira", library="/etc"),
            sent(ferry, character="Mira", chat_model="openai:other"),
            sent(ferry, character="Mira", drafts=["songs"]),
            sent(ferry, character="Zebulon"),
            sent(ferry, character="Mi\nra"),
            sent(ferry, character="Pip", until="Chapter 9"),
            sent(ferry),
        ):
            answer = await http.post("/v1/casting", json=body)
            assert answer.status_code == 400, body
            assert str(tmp_path) not in answer.text
        large = await http.post("/v1/casting/people", json=sent(("a.md", "x" * 25 * 2**20)))
        assert large.status_code == 413
        assert sorted((tmp_path / "library").rglob("*")) == before


async def test_wrong_numbers_kinds_and_fields_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        role = Library(tmp_path / "library").role("ada")
        told = [Statement(document="a.md", heading="Past", text=f"<b>{'so ' * n}</b>") for n in (1, 900)]
        CastDraft(role.root).put({"persona": told})
        at = "/v1/roles/ada/drafts"
        kinds = await waiting(http, "ada")
        assert [one["cut"] for one in kinds["persona"]["drafts"]] == [False, True]
        assert len((await http.get(f"{at}?shown=1")).json()["kinds"][0]["drafts"]) == 1
        good = {"kind": "persona", "version": kinds["persona"]["version"], "decision": "accept", "numbers": [1]}
        for wrong in ({"numbers": [3]}, {"numbers": [0]}, {"numbers": []}, {"kind": "songs"}, {"decision": "maybe"}):
            assert (await http.post(at, json=good | wrong)).status_code == 400, wrong
        for path, status in (("songs/1", 404), ("persona/3", 400), ("persona/0", 400), ("persona/x", 404)):
            assert (await http.get(f"{at}/{path}")).status_code == status, path
        for fields in ({"source": "b.md"}, {"text": ""}, {"text": [{"speaker": "a", "text": "b"}]}, {"document": "x"}):
            edit = await http.post(f"{at}/persona/1", json={"version": good["version"], "fields": fields})
            assert edit.status_code == 400, fields
        assert (await http.get("/v1/roles/nobody/drafts")).status_code == 404
        assert CastDraft(role.root).items("persona") == told


async def test_who_may_change_no_role_may_neither_cast_nor_see_drafts(tmp_path: Path) -> None:
    async with served(tmp_path, access=Access(changes_roles=False)) as http:
        role = Library(tmp_path / "library").role("ada")
        CastDraft(role.root).put({"persona": [Statement(document="a.md", heading="Past", text="A secret.")]})
        opened = (await http.get("/v1/casting")).json()
        assert (opened["changes"], opened["waiting"]) == (False, [])
        wish = sent(("the_ferry.md", FERRY), character="Mira Castellan")
        draft = "/v1/roles/ada/drafts"
        decision = {"kind": "persona", "version": "x", "decision": "accept"}
        for method, path, body in (
            ("POST", "/v1/casting/people", sent(("the_ferry.md", FERRY))),
            ("POST", "/v1/casting/preview", wish),
            ("POST", "/v1/casting", wish),
            ("GET", draft, None),
            ("POST", draft, decision),
            ("GET", f"{draft}/persona/1", None),
            ("POST", f"{draft}/persona/1", {"version": "x", "fields": {}}),
        ):
            answer = await http.request(method, path, json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "read_only"), path
            assert "secret" not in answer.text
        assert Library(tmp_path / "library").roles() == ["ada"]


async def begun(http: httpx.AsyncClient, role: str, *, still: bool = True) -> None:
    """Wait until a role is being cast, or no more."""
    while still != any(  # noqa: ASYNC110 (it has no event)
        one["work"] and one["role"] == role for one in (await http.get("/v1/casting")).json()["waiting"]
    ):
        await asyncio.sleep(0.01)


async def test_two_cast_at_once_of_which_one_is_another_role(tmp_path: Path, stub: Endpoint) -> None:
    async with house(tmp_path) as http:
        mira, hale = (sent(("wa.txt", CHAT), character=name) for name in ("Mira", "Jonas Hale"))
        done = threading.Event()  # until then no question of the first one is answered
        stub.faults["chat"] = lambda handler: done.wait(60) and handler.answer(handler.body)
        first = asyncio.create_task(http.post("/v1/casting", json=mira))
        await begun(http, "mira")
        second = await http.post("/v1/casting", json=mira)
        assert (second.status_code, second.json()["error"]["code"]) == (409, "role_busy")
        other = asyncio.create_task(http.post("/v1/casting", json=hale))
        await begun(http, "jonas-hale")
        done.set()
        third = await other
        assert events(third.text)[-1]["role"] == "jonas-hale"
        assert events((await first).text)[-1]["object"] == "done"
        assert Library(tmp_path / "library").roles() == ["ada", "jonas-hale", "mira"]
        assert (await ended(http, mira))["cast"]["calls"] == 0


async def test_a_cast_goes_on_where_nobody_listens_and_is_seen_where_the_role_is_taught(
    tmp_path: Path, stub: Endpoint
) -> None:
    async with house(tmp_path) as http:
        stub.latency = 0.2
        async with http.stream("POST", "/v1/casting", json=sent(("wa.txt", CHAT), character="Mira")) as response:
            async for line in response.aiter_lines():
                if '"drafts"' in line:  # by then the role is there
                    break
        known = (await http.get("/v1/roles/mira/knowledge")).json()
        assert known["work"] is None or known["work"]["what"] == "cast"
        await begun(http, "mira", still=False)
        assert "dialogues" in await waiting(http, "mira")
