"""Roles as characters over HTTP: how they are listed, their pictures, and making, importing and exporting them."""

import base64
import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from wild_cards import WILD, lost, png_of

from dramaturg.server.access import Access
from dramaturg.stores.formats.archives import zipped
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.bundles import bundled
from dramaturg.stores.formats.cards import Card
from dramaturg.stores.formats.png import Chunk, blank, with_texts
from dramaturg.stores.formats.told import read_sent
from dramaturg.stores.library import Library, examples

from served_roles import served

JPEG, WEBP = b"\xff\xd8\xff\xe0" + b"x" * 20, b"RIFF\x10\0\0\0WEBPVP8 " + b"x" * 20
KEYS = {"alice": "a" * 20, "bob": "b" * 20}
ALICE, BOB = ({"Authorization": f"Bearer {key}"} for key in KEYS.values())
AS_JSON = {"Content-Type": "application/json"}
MIRA = dumped({"name": "Mira", "description": "An archivist."})
CHAT = b'{"format": "dramaturg-conversation", "version": 1, "role": "ada", "thread": "tea"}\n'


def file_of(name: str, data: bytes) -> dict[str, Any]:
    return {"file": {"name": name, "data": base64.b64encode(data).decode()}}


def named(folder: Path, pattern: str) -> list[Path]:
    return [*folder.rglob(pattern)]


async def take_in(
    http: httpx.AsyncClient, name: str, data: bytes, preview: int = 0, role: str = "", only: str = "", **headers: str
) -> dict[str, Any]:
    body = file_of(name, data) | ({"role": role} if role else {}) | ({"only": only} if only else {})
    answer = await http.post("/v1/roles/import", params={"preview": preview}, json=body, headers=headers)
    assert answer.is_success, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def test_a_role_is_listed_with_a_line_a_picture_and_the_methods_that_it_has_files_for(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        told = {one["id"]: one for one in (await http.get("/v1/roles")).json()["data"]}
        ada = told["ada"]
        assert (ada["example"], ada["picture"], ada["language"]) == (False, None, "en")
        assert ada["line"]
        lacks = (await http.get("/v1/roles/ada")).json()["methods"]
        assert ada["methods"] == [one["id"] for one in lacks if not one["lacks"]]
        assert "amadeus" in ada["methods"]
        assert told["mother"]["methods"] == []  # of whom there is but a card
        assert all(told[role]["example"] for role in examples())
        assert "id-rag" in told["beethoven"]["methods"]
        assert 60 < len(told["beethoven"]["line"]) <= 160
        assert Library(tmp_path / "library").roles() == ["ada"]


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("png", blank(), "image/png"),
        ("jpg", JPEG, "image/jpeg"),
        ("jpeg", JPEG, "image/jpeg"),
        ("webp", WEBP, "image/webp"),
    ],
)
async def test_the_picture_of_a_role_is_sent_as_what_it_is(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    async with served(tmp_path) as http:
        assert (await http.get("/v1/roles/ada/picture")).status_code == 404
        (tmp_path / "library" / "ada" / f"picture.{name}").write_bytes(data)
        (told,) = [one for one in (await http.get("/v1/roles")).json()["data"] if one["id"] == "ada"]
        found = await http.get(told["picture"])
        assert (found.content, found.headers["Content-Type"]) == (data, kind)
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Cache-Control"].startswith("private")
        again = await http.get(told["picture"], headers={"If-None-Match": found.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_a_list_is_sent_the_faces_in_pictures(tmp_path: Path) -> None:
    picture = Image.frombytes("RGB", (800, 1200), random.Random(0).randbytes(800 * 1200 * 3))
    picture.paste((200, 0, 0), (0, 0, 800, 800))
    place = tmp_path / "library" / "ada" / "picture.png"
    async with served(tmp_path) as http:
        picture.save(place)
        found = await http.get("/v1/roles/ada/picture?small=1")
        with Image.open(io.BytesIO(found.content)) as face:
            assert (face.size, found.headers["Content-Type"]) == ((256, 256), "image/webp")
            assert face.convert("RGB").getpixel((250, 250))[0] > 180  # the upper part, where the face is
        whole = await http.get("/v1/roles/ada/picture")
        assert len(found.content) < 20_000 < len(whole.content)
        assert "Content-Encoding" not in whole.headers  # a picture is compressed already
        picture.paste((0, 0, 200), (0, 0, 800, 800))
        picture.save(place)
        assert (await http.get("/v1/roles/ada/picture?small=1")).content != found.content
        place.write_bytes(blank()[:40])
        assert (await http.get("/v1/roles/ada/picture?small=1")).content == blank()[:40]  # it is no whole picture


async def test_what_is_no_picture_or_leads_elsewhere_is_not_sent(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        place = tmp_path / "library" / "ada" / "picture.png"
        for data in (b"", b"<svg onload='alert(1)'>", b"<html>", b"GIF89a", blank() + b"x" * 26_000_000):
            place.write_bytes(data)
            assert (await http.get("/v1/roles/ada/picture")).status_code == 404
        place.unlink()
        (tmp_path / "elsewhere.png").write_bytes(blank())
        place.symlink_to(tmp_path / "elsewhere.png")
        assert (await http.get("/v1/roles/ada/picture")).status_code == 400
        for role in ("none", "beethoven", "..%2Fada"):
            assert (await http.get(f"/v1/roles/{role}/picture")).status_code == 404
        assert Library(tmp_path / "library").roles() == ["ada"]


async def test_a_role_is_made_by_what_a_person_writes_and_can_be_spoken_with(tmp_path: Path) -> None:
    async with served(tmp_path, method="vanilla") as http:
        made = {"name": "Mira Tal", "language": "en", "profile": "An archivist.", "greeting": "You are late, {{user}}."}
        answer = await http.post("/v1/roles", json={**made, "persona": "# Work\n\nShe keeps the archive."})
        assert (answer.status_code, answer.json()["role"]) == (201, "mira-tal")
        (told,) = [one for one in (await http.get("/v1/roles")).json()["data"] if one["id"] == "mira-tal"]
        assert (told["name"], told["line"], told["example"]) == ("Mira Tal", "An archivist.", False)
        assert "amadeus" in told["methods"]
        body = {"model": "mira-tal", "messages": [{"role": "user", "content": "Who are you?"}]}
        assert (await http.post("/v1/chat/completions", json=body)).is_success
        again = await http.post("/v1/roles", json={"name": "MIRA  TAL"})
        assert again.status_code == 400
        assert "'mira-tal' already" in again.json()["error"]["message"]
        assert (
            (await http.post("/v1/roles", json={"name": "美惠", "language": "zh"})).json()["role"].startswith("role-")
        )


@pytest.mark.parametrize(
    "strange",
    [
        *(
            {},
            {"name": ""},
            {"name": "  "},
            {"name": "x" * 10_000},
            {"name": "a\x07b"},
            {"name": 3},
            {"name": "\ud800"},
        ),
        *({"name": "a", "language": "xx"}, {"name": "a", "profile": "x" * 200_000}, {"name": "a", "id": "../ada"}),
        *({"name": "ada"}, {"name": "Beethoven"}, []),
    ],
)
async def test_a_role_that_cannot_be_is_refused(tmp_path: Path, strange: Any) -> None:
    async with served(tmp_path) as http:
        answer = await http.post("/v1/roles", content=json.dumps(strange), headers=AS_JSON)
        assert answer.status_code == 400
        assert Library(tmp_path / "library").roles() == ["ada"]


async def test_a_card_becomes_a_role_with_its_picture_and_goes_back_into_a_card(tmp_path: Path) -> None:
    card = png_of(WILD["w++"])
    async with served(tmp_path) as http:
        preview = await take_in(http, "mira.png", card, preview=1)
        assert (preview["kind"], preview["role"], preview["preview"]) == ("card", "mira", True)
        assert {"name", "description", "picture"} <= {one["part"] for one in preview["lines"]}
        assert Library(tmp_path / "library").roles() == ["ada"]
        assert (await take_in(http, "mira.png", card))["lines"] == preview["lines"]
        (told,) = [one for one in (await http.get("/v1/roles")).json()["data"] if one["id"] == "mira"]
        assert (await http.get(told["picture"])).headers["Content-Type"] == "image/png"
        for form, end in (("card", "png"), ("json", "json"), ("charx", "charx")):
            found = await http.get(f"/v1/roles/mira/export?form={form}")
            assert found.headers["Content-Disposition"].startswith(f'attachment; filename="mira.{end}"')
            back = read_sent("back", found.content)
            assert isinstance(back, Card)
            assert list(lost(dict(WILD["w++"]["data"]), dict(back.data))) == []
        again = await http.post("/v1/roles/import", json=file_of("mira.png", card))
        assert "'mira' already" in again.json()["error"]["message"]
        assert (await take_in(http, "mira.png", card, role="mira-2"))["role"] == "mira-2"
        assert (await http.get("/v1/roles/mira/export?form=exe")).status_code == 400


async def test_a_card_may_be_a_picture_of_ten_megabytes(tmp_path: Path) -> None:
    head, end = blank()[:33], blank()[-12:]
    dots = Chunk(b"IDAT", random.Random(0).randbytes(10_000_000)).packed()
    card = with_texts(head + dots + end, {"chara": base64.b64encode(dumped(WILD["w++"]))})
    async with served(tmp_path) as http:
        await take_in(http, "mira.png", card)
        assert (await http.get("/v1/roles/mira/picture")).content[: len(head + dots)] == head + dots
        assert len((await http.get("/v1/roles/mira/export?form=card")).content) > 10_000_000


@pytest.mark.parametrize(
    ("name", "icon", "kind"), [("main.jpg", JPEG, "image/jpeg"), ("main.webp", WEBP, "image/webp")]
)
async def test_the_icon_of_a_packed_card_is_the_picture_of_the_role(
    tmp_path: Path, name: str, icon: bytes, kind: str
) -> None:
    data = {"name": "Mira", "description": "An archivist."}
    data |= {"assets": [{"type": "icon", "name": "main", "uri": f"embeded://assets/{name}", "ext": name[5:]}]}
    card = {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}
    async with served(tmp_path) as http:
        await take_in(http, "mira.charx", zipped({"card.json": dumped(card), f"assets/{name}": icon}))
        found = await http.get("/v1/roles/mira/picture")
        assert (found.content, found.headers["Content-Type"]) == (icon, kind)


async def test_a_bundle_is_a_role_again_with_talks_of_who_brings_it(tmp_path: Path) -> None:
    """A talk in a bundle that is called like another caller's is nothing of that caller's."""
    async with served(tmp_path, method="vanilla", access=Access(KEYS, changes_roles=True)) as http:
        found = await http.get("/v1/roles/ada/export?form=bundle", headers=ALICE)
        assert 'filename="ada.role.zip"' in found.headers["Content-Disposition"]
        body = {"model": "ada", "messages": [{"role": "user", "content": "Who?"}], "metadata": {"thread_id": "tea"}}
        assert (await http.post("/v1/chat/completions", json=body, headers=ALICE)).is_success
        await http.patch("/v1/threads/tea?role=ada", json={"title": "Tea", "pinned": True}, headers=ALICE)
        talk = (await http.get("/v1/threads/tea/export?role=ada&form=jsonl", headers=ALICE)).text
        library = Library(tmp_path / "library")
        data = bundled(library, library.open("ada"), index=True, talks={"alice/tea": talk, "odd": "{"})
        told = await take_in(http, "ada.role.zip", data, role="eve", **BOB)
        assert (told["kind"], told["role"]) == ("bundle", "eve")
        sizes = {one["part"]: one["size"] for one in told["lines"]}
        assert sizes["conversation alice/tea"] == "1 turns"
        assert sizes["conversation odd"].startswith("not taken in: Line 1")
        (of_bob,) = (await http.get("/v1/threads?role=eve", headers=BOB)).json()["data"]
        assert (of_bob["id"], of_bob["title"], of_bob["pinned"]) == ("alice/tea", "Tea", True)
        assert (await http.get("/v1/threads?role=eve", headers=ALICE)).json()["data"] == []


async def test_a_lorebook_is_given_to_a_role(tmp_path: Path) -> None:
    book = dumped(
        {"name": "Coast", "entries": {"3": {"uid": 3, "key": ["reef"], "content": "The reef took nine ships."}}}
    )
    async with served(tmp_path) as http:
        nobody = await http.post("/v1/roles/import", json=file_of("coast.json", book))
        assert "lorebook" in nobody.json()["error"]["message"]
        before = Library(tmp_path / "library").open("ada").persona.checksums()
        told = await take_in(http, "coast.json", book, role="ada", preview=1)
        assert Library(tmp_path / "library").open("ada").persona.checksums() == before
        assert (await take_in(http, "coast.json", book, role="ada"))["lines"] == told["lines"]
        assert "nine ships" in "".join(one.text for one in Library(tmp_path / "library").open("ada").documents())


async def test_of_a_file_with_several_characters_one_is_chosen(tmp_path: Path) -> None:
    people = dumped([{"name": "Mira", "description": "An archivist."}, {"name": "Juno", "description": "A pilot."}])
    async with served(tmp_path) as http:
        answer = await http.post("/v1/roles/import", json=file_of("crew.json", people))
        assert "Mira, Juno" in answer.json()["error"]["message"]
        assert (await take_in(http, "crew.json", people, only="Juno"))["role"] == "juno"
        assert (
            await http.post("/v1/roles/import", json={**file_of("c.json", people), "only": "Eve"})
        ).status_code == 400


async def test_a_file_that_is_hostile_makes_nothing(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", b"0" * 60_000_000)
    outside = io.BytesIO()
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("../../evil.json", b"{}")
        archive.writestr("card.json", dumped({"name": "Eve", "description": "x"}))
    files = [b"", b"\0" * 100, b"{", b"[" * 100_000, blank(), b"\x89PNG\r\n\x1a\n", b"<html>", b'{"name": 3}', b"hello"]
    files += [bomb.getvalue(), outside.getvalue(), b"PK\x03\x04", CHAT]
    async with served(tmp_path) as http:
        for data in files:
            answer = await http.post("/v1/roles/import", json=file_of("x.png", data))
            assert answer.status_code == 400, (data[:20], answer.text)
        bodies = [{}, {"file": {"name": "x", "data": "§"}}, {"file": {"name": "", "data": ""}}, {"file": "x"}]
        bodies += [
            {**file_of("a.json", MIRA), "role": role} for role in ("../ada", "con", "x" * 100, "Ada", "beethoven")
        ]
        for body in bodies:
            assert (await http.post("/v1/roles/import", json=body)).status_code == 400, body
        large = await http.post("/v1/roles/import", content=b"x" * 50_000_000, headers=AS_JSON)
        assert large.status_code == 413
        for name in ("../../evil.json", "a/b\\c.json", "x" * 255):
            assert (await take_in(http, name, MIRA, preview=1))["role"] == "mira"
    assert Library(tmp_path / "library").roles() == ["ada"]
    assert not named(tmp_path, "evil*")


async def test_who_may_not_change_roles_makes_none_and_takes_none_away(tmp_path: Path) -> None:
    async with served(tmp_path, access=Access(KEYS, changes_roles=False)) as http:
        told = (await http.get("/v1/roles", headers=ALICE)).json()
        assert (told["changes"], told["connection"]) == (False, False)
        asked = [http.post("/v1/roles", json={"name": "Eve"}, headers=ALICE)]
        asked += [http.post("/v1/roles/import", json=file_of("m.json", MIRA), headers=ALICE)]
        asked += [http.get("/v1/roles/ada/export?form=bundle", headers=ALICE)]
        for one in asked:
            assert (await one).status_code == 403
        assert (await http.post("/v1/roles", json={"name": "Eve"})).status_code == 401
        assert (
            await http.post("/v1/roles/import", content="x", headers={**ALICE, "Content-Type": "text/plain"})
        ).status_code == 415
