"""Roles as characters over HTTP: how they are listed, their pictures, and making, importing and exporting them."""

from pathlib import Path

import pytest

from dramaturg.stores.formats.png import blank
from dramaturg.stores.library import Library, examples
from dramaturg.stores.library_folder import example_files

from served_roles import served

JPEG, WEBP = b"\xff\xd8\xff\xe0" + b"x" * 20, b"RIFF\x10\0\0\0WEBPVP8 " + b"x" * 20


async def test_a_role_is_listed_with_a_line_a_picture_and_the_methods_that_it_has_files_for(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        told = {one["id"]: one for one in (await http.get("/v1/roles")).json()["data"]}
        ada = told["ada"]
        assert (ada["example"], ada["picture"], ada["language"]) == (False, None, "en")
        assert ada["line"]
        lacks = (await http.get("/v1/roles/ada")).json()["methods"]
        assert ada["methods"] == [one["id"] for one in lacks if not one["lacks"]]
        assert "amadeus" in ada["methods"]
        assert next(told[role]["methods"] for role in examples() if not example_files(role)) == []
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


async def test_what_is_no_picture_or_leads_elsewhere_is_not_sent(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        place = tmp_path / "library" / "ada" / "picture.png"
        for data in (b"", b"<svg onload='alert(1)'>", b"<html>", b"GIF89a", b"x" * 17_000_000):
            place.write_bytes(data)
            assert (await http.get("/v1/roles/ada/picture")).status_code == 404
        place.unlink()
        (tmp_path / "elsewhere.png").write_bytes(blank())
        place.symlink_to(tmp_path / "elsewhere.png")
        assert (await http.get("/v1/roles/ada/picture")).status_code == 400
        for role in ("none", "beethoven", "..%2Fada"):
            assert (await http.get(f"/v1/roles/{role}/picture")).status_code == 404
        assert Library(tmp_path / "library").roles() == ["ada"]
