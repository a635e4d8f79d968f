"""What waits for a person, and what a role is taught, by the API that the page calls."""

import asyncio
import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from dramaturg.server.access import Access
from dramaturg.stores.documents.merges import DECISIONS, PLAN, Merge, MergePlan, Why, read_plan, write_plan
from dramaturg.stores.library import Library

from changing_roles import CORE, FREE, KEEPER, SAILOR, approve_it, changing, take_waiting_turn, what_is_kept
from fakes import ScriptedChatModel
from served_roles import Screen, served

pytestmark = pytest.mark.sample_of_file(3)

KEYS = {"alice": "a" * 20, "bob": "b" * 20}
BOB = {"Authorization": f"Bearer {KEYS['bob']}"}
NEW = "# The harbour\n\nThe harbour master is called Imelda.\n"


def events(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def sent(*files: tuple[str, str | bytes], **more: Any) -> dict[str, Any]:
    packed = [
        {"name": name, "data": base64.b64encode(text.encode() if isinstance(text, str) else text).decode()}
        for name, text in files
    ]
    return {"files": packed, **more}


async def waits(http: httpx.AsyncClient, thread: str = "tea", **how: Any) -> dict[str, Any]:
    found = await http.get(f"/v1/threads/{quote(thread, safe='')}/waiting?role=ada", **how)
    assert found.status_code == 200, found.text
    told: dict[str, Any] = found.json()
    return told


@pytest.mark.parametrize(("approved", "becomes"), [([1], ["a sailor", "brandy"]), ([], ["brandy"])])
async def test_a_change_of_identity_is_approved_or_refused_on_the_thread_of_its_own_method(
    tmp_path: Path, approved: list[int], becomes: list[str]
) -> None:
    """The server plays AMADEUS where nothing else is said; the thread waits in ID-RAG."""
    async with served(tmp_path, ScriptedChatModel(reply=changing(CORE, FREE)), settings={"update": True}) as http:
        screen = Screen(http, "tea", model="ada:id-rag")
        await screen.say("Who are you?")
        told = await waits(http)
        (change,) = told["changes"]
        assert change["sentence"] == SAILOR
        assert change["replaces"]["core"]
        answer = {"turn": told["turn"], "approved": approved}
        strange = await http.post("/v1/threads/tea/answer?role=ada", json=answer | {"approved": [2]})
        assert (strange.status_code, "from 1 to 1" in strange.text) == (400, True)
        other = await http.post("/v1/threads/tea/answer?role=ada", json=answer | {"turn": "another"})
        assert (other.status_code, other.json()["error"]["code"]) == (409, "changed")
        done = await http.post("/v1/threads/tea/answer?role=ada", json=answer)
        assert (done.status_code, done.json()["approved"]) == (200, len(approved))
        assert (await waits(http))["changes"] == []
        again = await http.post("/v1/threads/tea/answer?role=ada", json=answer)  # the other window
        assert again.status_code == 409
        tree = (await http.get("/v1/threads/tea/tree?role=ada")).json()
        turn = (await http.get(f"/v1/threads/tea/turns/{tree['head']}?role=ada")).json()
        shown = [one["triple"]["object"] for one in turn["evidence"]["identity_changes"]]
        assert sorted(shown) == becomes
    kept = await asyncio.to_thread(what_is_kept, tmp_path / "library")
    assert sorted(kept[2]) == becomes


async def become(http: httpx.AsyncClient, thread: str = "tea") -> None:
    """Have her become a sailor who likes brandy, approved by who talks."""
    await Screen(http, thread, model="ada:id-rag").say("Who are you?")
    told = await waits(http, thread)
    answer = {"turn": told["turn"], "approved": [1]}
    (await http.post(f"/v1/threads/{thread}/answer?role=ada", json=answer)).raise_for_status()


async def test_what_was_approved_is_written_into_the_chronicle_once(tmp_path: Path) -> None:
    async with served(tmp_path, ScriptedChatModel(reply=changing(CORE, FREE)), settings={"update": True}) as http:
        await become(http)
        told = (await http.get("/v1/threads/tea/became?role=ada")).json()
        assert told["changes"]
        listed = {one["sentence"]: [old["sentence"] for old in one["replaces"]] for one in told["data"]}
        assert listed == {SAILOR: [KEEPER], "Ada Quill likes brandy.": []}
        (sailor,) = [one["number"] for one in told["data"] if one["sentence"] == SAILOR]
        body = {"became": told["became"], "accepted": [sailor]}
        strange = await http.post("/v1/threads/tea/became?role=ada", json=body | {"accepted": [3]})
        assert (strange.status_code, "from 1 to 2" in strange.text) == (400, True)
        done = await http.post("/v1/threads/tea/became?role=ada", json=body)
        assert (done.status_code, done.json()) == (200, {"object": "written", "role": "ada", "written": 1, "left": 1})
        again = await http.post("/v1/threads/tea/became?role=ada", json=body)  # the other window
        assert (again.status_code, again.json()["error"]["code"]) == (409, "changed")
        left = (await http.get("/v1/threads/tea/became?role=ada")).json()["data"]
        assert [one["sentence"] for one in left] == ["Ada Quill likes brandy."]
    triples = {one.object: one for one in Library(tmp_path / "library").role("ada").chronicle().triples}
    assert triples["keeper of the light"].until
    assert triples["a sailor"].since
    assert str(triples["a sailor"].source).startswith("conversation tea")
    assert "brandy" not in triples


async def test_visitors_of_a_server_that_changes_no_role_write_nothing_into_a_chronicle(tmp_path: Path) -> None:
    how: Any = {"settings": {"update": True}, "access": Access(changes_roles=False)}
    async with served(tmp_path, ScriptedChatModel(reply=changing(CORE, FREE)), **how) as http:
        await become(http)
        before = (tmp_path / "library/ada/chronicle.yaml").read_bytes()
        told = (await http.get("/v1/threads/tea/became?role=ada")).json()
        assert (told["changes"], len(told["data"])) == (False, 2)
        body = {"became": told["became"], "accepted": [1]}
        refused = await http.post("/v1/threads/tea/became?role=ada", json=body)
        assert (refused.status_code, "--change-roles" in refused.text) == (403, True)
        assert (tmp_path / "library/ada/chronicle.yaml").read_bytes() == before


async def test_what_somebody_else_s_talk_has_made_of_a_role_is_nobody_else_s_to_write(tmp_path: Path) -> None:
    access = Access(KEYS, changes_roles=True)
    how: Any = {"settings": {"update": True}, "access": access}
    async with served(tmp_path, ScriptedChatModel(reply=changing(CORE, FREE)), **how) as http:
        alice = {"Authorization": f"Bearer {KEYS['alice']}"}
        body = {"model": "ada:id-rag", "messages": [{"role": "user", "content": "Who are you?"}]}
        body |= {"metadata": {"thread_id": "tea"}}
        (await http.post("/v1/chat/completions", json=body, headers=alice)).raise_for_status()
        assert (await http.get("/v1/threads/tea/became?role=ada", headers=alice)).status_code == 200
        assert (await http.get("/v1/threads/tea/became?role=ada", headers=BOB)).status_code == 404


async def test_the_next_message_refuses_what_waits_and_a_terminal_can_answer_too(tmp_path: Path) -> None:
    library = tmp_path / "library"
    await asyncio.to_thread(take_waiting_turn, library)
    async with served(tmp_path, ScriptedChatModel(reply=changing(CORE)), settings={"update": True}) as http:
        first = await waits(http)
        assert len(first["changes"]) == 1  # a turn of the terminal's
        await asyncio.to_thread(approve_it, library)
        assert (await waits(http))["turn"] is None
        screen = Screen(http, "gin", model="ada:id-rag")
        await screen.say("Who are you?")
        assert len((await waits(http, "gin"))["changes"]) == 1
        await screen.say("And now?")
        second = await waits(http, "gin")
        assert second["turn"] != first["turn"]
        turns = (await http.get("/v1/threads/gin?role=ada")).json()["turns"]
        kept = (await http.get("/v1/threads/gin/turns/1?role=ada")).json()
        assert len(turns) == 2
        assert "identity_changes" not in kept["evidence"]


async def test_what_waits_for_another_caller_is_not_there(tmp_path: Path) -> None:
    model = ScriptedChatModel(reply=changing(CORE))
    async with served(tmp_path, model, access=Access(KEYS), settings={"update": True}) as http:
        await Screen(http, "tea", model="ada:id-rag", key=KEYS["alice"]).say("Who are you?")
        for path in ("tea", "alice%2Ftea"):
            assert (await http.get(f"/v1/threads/{path}/waiting?role=ada", headers=BOB)).status_code == 404
            body = {"turn": "x", "approved": [1]}
            answer = await http.post(f"/v1/threads/{path}/answer?role=ada", json=body, headers=BOB)
            assert answer.status_code == 404


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name", ["a/b", "/", "a/tree", "100% tea?#", "茶 & 酒", "a%2Fb", "..x", "tea/turns/1", "'\";--"]
)
async def test_a_thread_is_opened_by_any_name(tmp_path: Path, name: str) -> None:
    async with served(tmp_path) as http:
        body = {"model": "ada", "messages": [{"role": "user", "content": "one"}], "metadata": {"thread_id": name}}
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
        assert (await http.get("/v1/threads?role=ada")).json()["data"][0]["id"] == name
        at = f"/v1/threads/{quote(name, safe='')}"
        tree = (await http.get(f"{at}/tree?role=ada")).json()
        assert tree["id"] == name
        found = (await http.get(f"{at}/turns/{quote(tree['head'], safe='')}?role=ada")).json()
        assert (found["thread"], found["question"]) == (name, "one")
        assert (await http.get(f"{at}?role=ada")).json()["turns"][0]["question"] == "one"
        assert (await waits(http, name))["turn"] is None


async def test_a_name_that_no_path_can_hold_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        body = {"model": "ada", "messages": [{"role": "user", "content": "one"}], "metadata": {"thread_id": ".."}}
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 400


async def test_a_document_is_weighed_learned_and_taken_back(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        at = "/v1/roles/ada/knowledge"
        before = (await http.get(at)).json()
        assert (before["reads"], before["changes"], before["versions"], before["work"]) == (True, True, [], None)
        body = sent(("harbour.md", NEW))
        preview = (await http.post(f"{at}/preview", json=body)).json()
        assert [(one["document"], one["change"]) for one in preview["documents"]] == [("harbour.md", "new")]
        (cost,) = preview["costs"]
        assert (cost["questions"], cost["documents"]) == (0, len(before["documents"]) + 1)
        assert cost["to_embed"] > 0
        assert (await http.get(at)).json() == before  # nothing was changed
        told = events((await http.post(at, json=body)).text)
        assert {"object": "done", "documents": told[-1]["documents"], "index": told[-1]["index"]} == told[-1]
        assert "progress" in {one["object"] for one in told[:-1]}
        after = (await http.get(at)).json()
        assert "harbour.md" in [one["name"] for one in after["documents"]]
        served_now, former = after["versions"]
        assert served_now["served"]
        assert "harbour.md" not in former["documents"]
        undone = events((await http.post(f"{at}/undo", json={"version": former["version"]})).text)
        assert undone[-1]["documents"] == [one["name"] for one in before["documents"]]
        assert (await http.get(at)).json()["documents"] == before["documents"]


async def test_role_rag_says_how_many_questions_a_document_costs(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        body = sent(("harbour.md", NEW), method="role-rag")
        (cost,) = (await http.post("/v1/roles/ada/knowledge/preview", json=body)).json()["costs"]
        assert cost["questions"] == cost["pieces"] > 0
        none = sent(("harbour.md", NEW), method="vanilla")
        refused = await http.post("/v1/roles/ada/knowledge", json=none)
        assert (refused.status_code, "reads no documents" in refused.text) == (400, True)


@pytest.mark.parametrize("method", ["emotional-rag", "drmr", "id-rag"])
async def test_a_method_that_is_shown_passages_of_documents_is_taught_them_and_says_them(
    tmp_path: Path, method: str
) -> None:
    async with served(tmp_path) as http:
        at = "/v1/roles/ada/knowledge"
        assert (await http.get(f"{at}?method={method}")).json()["reads"] is True
        body = sent(("harbour.md", NEW), method=method)
        (cost,) = (await http.post(f"{at}/preview", json=body)).json()["costs"]
        assert (cost["index"], cost["questions"], cost["to_embed"] > 0) == ("amadeus_index", 0, True)
        assert events((await http.post(at, json=body)).text)[-1]["index"]["amadeus_index"]["embedded"] > 0
        former = (await http.get(f"{at}?method={method}")).json()["versions"][-1]
        undone = events((await http.post(f"{at}/undo", json={"method": method, "version": former["version"]})).text)
        assert undone[-1]["documents"] == former["documents"]


async def test_a_method_that_is_shown_none_of_the_documents_says_so(tmp_path: Path) -> None:
    async with served(tmp_path, settings={"document_passages": 0}, method="drmr") as http:
        assert (await http.get("/v1/roles/ada/knowledge?method=drmr")).json()["reads"] is False


HOSTILE: Sequence[tuple[str, str | bytes]] = (
    ("../evil.md", NEW),
    ("a/b.md", NEW),
    ("C:\\evil.md", NEW),
    ("..\\evil.md", NEW),
    ("..", NEW),
    (".md", NEW),
    ("con.md", NEW),
    ("a\0b.md", NEW),
    ("a\u202eb.md", NEW),
    (f"{'a' * 250}.md", NEW),
    ("evil.exe", NEW),
    ("evil.yaml", NEW),
    ("role.yaml", NEW),
    ("<img src=x onerror=bad()>.md", NEW),
    ("empty.md", "  \n"),
    ("binary.md", b"\xff\xfe\0\0"),
    ("zero.txt", b"a\0b"),
    ("evil.pdf", b"no pdf"),
)


async def test_a_hostile_name_or_kind_is_refused_in_one_sentence_and_nothing_changes(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        before = sorted(path for path in (tmp_path / "library").rglob("*") if "persona" in path.parts)
        for name, data in HOSTILE:
            for path in ("knowledge", "knowledge/preview"):
                answer = await http.post(f"/v1/roles/ada/{path}", json=sent((name, data)))
                assert answer.status_code == 400, name
                message = answer.json()["error"]["message"]
                assert "\n" not in message
                assert str(tmp_path) not in message, message
        for body in (
            {"files": []},
            sent(*[("a.md", NEW)] * 17),
            {"files": [{"name": "a.md", "data": "%%%"}]},
            sent(("a.md", NEW), x=1),
        ):
            assert (await http.post("/v1/roles/ada/knowledge", json=body)).status_code == 400
        two = await http.post("/v1/roles/ada/knowledge", json=sent(("a.md", NEW), ("A.md", NEW)))
        assert (two.status_code, "Two of the files" in two.text) == (400, True)
        large = await http.post("/v1/roles/ada/knowledge", json=sent(("a.md", "x" * 32 * 2**20)))
        assert large.status_code == 413
        assert sorted(path for path in (tmp_path / "library").rglob("*") if "persona" in path.parts) == before


async def test_a_server_that_may_not_change_roles_says_so(tmp_path: Path) -> None:
    async with served(tmp_path, access=Access(changes_roles=False)) as http:
        assert (await http.get("/v1/roles/ada/knowledge")).json()["changes"] is False
        for path, body in (
            ("knowledge", sent(("a.md", NEW))),
            ("knowledge/preview", sent(("a.md", NEW))),
            ("knowledge/undo", {"version": "x"}),
            ("merges", {"plan": "x", "approved": []}),
        ):
            answer = await http.post(f"/v1/roles/ada/{path}", json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "read_only"), path


def planned(library: Path) -> MergePlan:
    """A plan of names that are in the documents: one merge that is right, one that is not."""
    yes = Why(names=("Tom", "Thomas Quill"), certainty=0.9, reason="They share a mother.")
    merges = (
        Merge(name="Thomas Quill", names=yes.names, why=(yes,)),
        Merge(name="The Lamp", names=("The Lamp", "Light"), why=(Why(names=("The Lamp", "Light"), certainty=0.5),)),
    )
    apart = (Why(names=("Tom", "Ada Quill"), same=False, reason="A brother."),)
    plan = MergePlan(merges=merges, alone=("Ada Quill",), apart=apart)
    write_plan(library / "ada", plan, PLAN)
    return plan


async def test_a_merge_plan_waits_and_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "library"
    async with served(tmp_path) as http:
        assert (await http.get("/v1/roles/ada/merges")).json()["plan"] is None
        plan = planned(library)
        told = (await http.get("/v1/roles/ada/merges")).json()
        assert [one["name"] for one in told["merges"]] == ["Thomas Quill", "The Lamp"]
        assert told["merges"][0]["why"][0]["reason"] == "They share a mother."
        assert told["apart"][0]["same"] is False
        stale = await http.post("/v1/roles/ada/merges", json={"plan": "0" * 64, "approved": [1]})
        assert stale.status_code == 409
        strange = await http.post("/v1/roles/ada/merges", json={"plan": told["plan"], "approved": [3]})
        assert strange.status_code == 400
        assert read_plan(library / "ada", PLAN) == plan
        decided = await http.post("/v1/roles/ada/merges", json={"plan": told["plan"], "approved": [1]})
        ended = events(decided.text)[-1]  # the scripted model knows no names: the plan is refused, and still waits
        assert "which no document does" in ended["error"]["message"]
        left = read_plan(library / "ada", PLAN)
        assert left is not None
        assert [one.name for one in left.merges] == ["Thomas Quill"]
        assert {"The Lamp", "Light"} <= set(left.alone)
        assert not (library / "ada" / DECISIONS).exists()


async def test_a_damaged_plan_is_said_and_nothing_is_decided(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        (tmp_path / "library" / "ada" / PLAN).write_text("merges: [")
        answer = await http.get("/v1/roles/ada/merges")
        assert (answer.status_code, PLAN in answer.text) == (400, True)
        assert Library(tmp_path / "library").roles() == ["ada"]
