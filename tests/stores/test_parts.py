"""Versions share what did not change: what is new is written, the rest is read from where it lies, and goes in time."""

from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.errors import DamagedIndex
from dramaturg.stores.index import parts
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.parts import FOLDERS, Piece, divided, record_of
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, take_back, versions

from crash_points import SOME_OR_ALL, kills
from passage_samples import build, embed, new_role, passages_of, quick, reopened, texts_of
from property_settings import property_settings

pytestmark = pytest.mark.sample_of_file(4)

ACTS = passage_kind("acts")
LONG = [f"{at} " * 300 for at in range(60)]  # lines of some kilobytes


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


def changed(*places: int) -> list[str]:
    return [f"changed {at}" if at in places else text for at, text in enumerate(LONG)]


def on_disk(role: Role) -> int:
    return sum(path.stat().st_size for path in role.root.glob("index/acts/versions/**/*") if path.is_file())


# Files in pieces


def joined(new: bytes, pieces: list[Piece], folders: dict[str, bytes]) -> bytes:
    held = {**folders, "": new}
    return b"".join(held[one.folder][one.start : one.start + one.length] for one in pieces)


lines = st.lists(st.integers(0, 40), max_size=40)


@property_settings(300)
@given(st.lists(lines, min_size=1, max_size=12), st.booleans())
def test_a_file_is_put_together_from_what_is_new_and_what_was_there(drafts: list[list[int]], vectors: bool) -> None:
    folders, before, made = dict[str, bytes](), b"", list[Piece]()
    for number, draft in enumerate(drafts):
        data = b"head" + b"".join(b"%08d" % one for one in draft) if vectors else b"".join(b"%d\n" % n for n in draft)
        sizes = {name: len(held) for name, held in folders.items()}
        with patch.object(parts, "BLOCK", 16):
            new, pieces = divided(data, before, made, 8 if vectors else 0, sizes)
        assert joined(new, pieces, folders) == data
        assert record_of(data, pieces).made_of() in (pieces, [Piece("", 0, len(data))])
        own, others = f"{number:024}-{number:012}", [one for one in pieces if one.folder]
        assert all(one.length >= 16 for one in others)
        assert len({one.folder for one in others}) <= FOLDERS
        folders[own], before = new, data
        made = [one._replace(folder=one.folder or own) for one in pieces]


def test_what_moves_is_found_again() -> None:
    data = "".join(f"{text}\n" for text in LONG).encode()
    middle = len(data) // 2
    moved = data[middle:] + b"new\n" + data[:middle]
    new, _ = divided(moved, data, [Piece("v", 0, len(data))], 0, {"v": len(data)})
    assert len(new) < 3 * 1200


def test_a_folder_of_which_little_is_used_is_let_go() -> None:
    data = "".join(f"{text}\n" for text in LONG[:20]).encode()
    new, pieces = divided(data, data + b"x" * 5, [Piece("v", 0, len(data) + 5)], 0, {"v": 3 * len(data)})
    assert (new, pieces) == (data, [Piece("", 0, len(data))])


# Versions


def test_ten_changes_take_less_than_a_fifth_of_ten_copies(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, LONG)
    copy = on_disk(role)
    for number in range(10):
        texts = changed(number)
        build(role, texts)
        assert texts_of(reopened(role)) == texts
    assert on_disk(role) - copy < copy * 10 / 5
    assert len(versions(role, ACTS)) == 5


def test_versions_of_which_nothing_is_left_are_gone(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, LONG)
    (first,) = role.root.glob("index/acts/versions/*")
    build(role, changed(7))
    for number in range(5):
        build(role, [*changed(7), f"{number}"])
    assert sorted(path.name for path in first.iterdir()) == ["passages.jsonl"]  # no version is read from the rest
    for number in range(6):
        build(role, [f"{number}"])
    assert not first.exists()
    assert len(list(role.root.glob("index/acts/versions/*"))) == 5


def test_all_kept_versions_are_taken_back_whole(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    made = [(build(role, changed(number))[0].version, changed(number)) for number in range(8)]
    folder = IndexFolder(role.root, ACTS)
    assert [one.version for one in folder.published()] == [version for version, _ in reversed(made[3:])]
    for version, texts in made[3:]:
        assert [one.text for one in reopened(role).index(ACTS).open(version).passages] == texts


def test_damage_to_what_is_shared_is_noticed_and_a_rebuild_stands_by_itself(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, LONG)
    (first,) = role.root.glob("index/acts/versions/*")
    build(role, changed(3))
    shared = first / "passages.jsonl"
    shared.write_bytes(shared.read_bytes().replace(b"50 50", b"50 51", 1))
    with pytest.raises(DamagedIndex, match="run `dramaturg index ada`, which makes it again"):
        reopened(role).index(ACTS).open()
    builder = reopened(role).index(ACTS).builder
    draft = builder.draft(passages_of(changed(3)), embedding="hash-8", settings={}, sources={}, fresh=True)
    builder.add_vectors(draft, changed(3), embed(changed(3)))
    manifest = builder.publish(draft, {})
    assert not any(record.folders for record in manifest.files.values())
    assert texts_of(reopened(role)) == changed(3)


def test_what_lies_in_a_shared_folder_and_is_not_read_from_it_may_be_anything(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, LONG)
    (first,) = role.root.glob("index/acts/versions/*")
    build(role, changed(3))
    shared = first / "passages.jsonl"
    shared.write_bytes(shared.read_bytes().replace(b"3 3 3 3", b"3 3 4 3", 1))
    assert texts_of(reopened(role)) == changed(3)


def test_erasing_the_past_leaves_no_byte_of_it(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    for texts in (LONG, [*LONG[:59], "zanzibark"], LONG[:59]):
        (role.root / "persona" / "life.md").write_text("".join(texts))
        builder = role.index(ACTS).builder
        draft = builder.draft(passages_of(texts), embedding="hash-8", settings={}, sources=role.persona.checksums())
        left = builder.unembedded(draft)
        builder.add_vectors(draft, left, embed(left) if left else [])
        builder.publish(draft, {}, sources=role.persona)
    assert any(record.folders for record in role.index(ACTS).open().manifest.files.values())
    erase_past(role)
    assert texts_of(reopened(role)) == LONG[:59]
    found = b"".join(path.read_bytes() for path in role.root.glob("index/**/*") if path.is_file())
    assert (b"zanzibark" in found, LONG[59].encode() in found) == (False, False)
    assert len(list(role.root.glob("index/acts/versions/*"))) == 1


def test_a_version_of_the_first_format_is_shared_too(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, LONG)
    folder = IndexFolder(role.root, ACTS)
    (published,) = folder.published()
    manifest = folder.manifest(published).model_copy(update={"format": 1})
    files = {name: folder.content(published, manifest, name) for name in manifest.files}
    folder.switch([folder.put("old", manifest, files)])
    build(reopened(role), changed(3))
    assert texts_of(reopened(role)) == changed(3)
    assert on_disk(role) < 3 * len("".join(LONG))


def change(folder: Path, number: int) -> None:
    build(Role(folder / "ada"), changed(number))


def erase(folder: Path) -> None:
    role = Role(folder / "ada")
    if texts_of(role) == changed(1):
        take_back(role, ACTS)
    erase_past(role)


@SOME_OR_ALL
def test_sharing_that_is_killed_at_any_write(tmp_path: Path, most: int | None) -> None:
    prepared = tmp_path / "prepared"
    role = new_role(prepared)
    for number in (9, 8, 7, 6, 5):
        build(role, changed(number))
    for crash in kills(partial(change, number=1), prepared, tmp_path, most):
        assert texts_of(Role(crash.folder / "ada")) in (changed(5), changed(1))
        change(crash.folder, 1)
        role = Role(crash.folder / "ada")
        assert texts_of(role) == changed(1)
        assert len(versions(role, ACTS)) == 5
        for one in IndexFolder(role.root, ACTS).published():
            assert IndexFolder(role.root, ACTS).whole(one)


def test_a_reader_beside_a_builder_always_reads_something_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = new_role(tmp_path)
    build(role, LONG)
    folder, seen = IndexFolder(role.root, ACTS), []
    read = IndexFolder.content

    def overtaken(self: IndexFolder, *given: object) -> bytes:
        if not seen:  # the version that is about to be read is dropped, with all that it shares
            seen.append(1)
            for number in range(6):
                build(reopened(role), [f"{number}"])
        return read(self, *given)  # type: ignore[arg-type]

    reader = reopened(role)
    monkeypatch.setattr(IndexFolder, "content", overtaken)
    assert texts_of(reader) == ["5"]
    assert folder.published()
