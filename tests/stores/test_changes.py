"""Changes of several files that the system refuses, before they begin and after they were interrupted."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dramaturg.stores.changes import CHANGE, change_documents
from dramaturg.stores.errors import RoleError, StorageError
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.learning import learn
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past

from roles import LIFE, small_role

DOG = b"# The dog\n\nKit is a grey dog.\n"


@pytest.fixture
def role(tmp_path: Path) -> Role:
    small_role(tmp_path)
    return Role(tmp_path / "ada")


def folder_of_that_name(root: Path) -> None:
    (root / "persona" / "dog.md").mkdir()


def persona_is_a_file(root: Path) -> None:
    (root / "persona" / "life.md").unlink()
    (root / "persona").rmdir()
    (root / "persona").write_text("text")


def persona_leads_out(root: Path) -> None:
    (root / "persona").rename(root.parent / "elsewhere")
    (root / "persona").symlink_to(root.parent / "elsewhere")


def nothing(root: Path) -> None:
    pass


def journal(root: Path, changes: dict[str, bytes | None], **given: Any) -> Path:
    """Write down a change as the first version of this package did, as if it had been interrupted."""
    documents = {name: None if data is None else sha256(data) for name, data in changes.items()}
    for data in filter(None, changes.values()):
        kept = root / "index" / "documents" / sha256(data)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(data)
    path = root / CHANGE
    path.write_text(json.dumps({"documents": documents, "sha256": sha256(canonical(documents))} | given))
    return path


@pytest.mark.parametrize("obstacle", [folder_of_that_name, persona_is_a_file, persona_leads_out])
def test_what_cannot_be_written_is_refused_before_it_begins(role: Role, obstacle: Callable[[Path], None]) -> None:
    obstacle(role.root)
    with pytest.raises((RoleError, StorageError)):
        role.persona.change({"cat.md": DOG, "dog.md": DOG})
    assert not (role.root / CHANGE).exists()
    assert not list(role.root.rglob("cat.md"))
    assert not list(role.root.parent.rglob("*.tmp"))


@pytest.mark.parametrize(
    "name", ["..", "../x.md", "a/../../x.md", "", ".", "a\0.md", "x" * 300 + ".md", "/x.md", "\ud800.md"]
)
@pytest.mark.parametrize("data", [DOG, None])
def test_a_path_that_is_none_is_refused_before_it_begins(role: Role, name: str, data: bytes | None) -> None:
    before = sorted(role.root.parent.rglob("*"))
    with pytest.raises((RoleError, StorageError)):
        role.persona.change({"cat.md": DOG, name: data})
    assert not (role.root / CHANGE).exists()
    assert not [one for one in role.root.parent.rglob("*") if one not in before and "index" not in one.parts]


def test_nothing_of_an_index_is_written_as_a_document(role: Role) -> None:
    for name in ("index/passages/current.json", "index", "index/.lock"):
        with pytest.raises(RoleError, match="cannot be the path of a file of a role"):
            change_documents(role.root, {"persona/cat.md": DOG, name: b"{}"})
    assert not (role.root / "persona" / "cat.md").exists()


def test_a_file_that_may_not_be_written_is_refused_before_it_begins(
    role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "life.md")
    for data in (DOG, None):
        with pytest.raises(RoleError, match=r"persona/life\.md .*give permission"):
            role.persona.change({"cat.md": DOG, "life.md": data})
        assert not (role.root / CHANGE).exists()
    assert role.documents()[0].text == LIFE


def test_a_full_disk_leaves_no_change_behind(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open

    def full(path: Any, *given: Any, **named: Any) -> Any:
        if Path(path).name.startswith(".dog.md"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(path, *given, **named)

    monkeypatch.setattr("builtins.open", full)
    with pytest.raises(StorageError, match="No space left"):
        role.persona.change({"cat.md": DOG, "dog.md": DOG})
    assert role.persona.names() == ["life.md"]
    assert not (role.root / CHANGE).exists()
    assert not list(role.root.rglob("*.tmp"))


@pytest.mark.parametrize(
    ("obstacle", "changes", "given"),
    [
        (folder_of_that_name, {"persona/cat.md": DOG, "persona/dog.md": DOG}, {}),
        (folder_of_that_name, {"persona/cat.md": DOG, "persona/dog.md": None}, {}),
        (nothing, {"persona/cat.md": DOG, "persona/" + "x" * 300 + ".md": DOG}, {}),
        (nothing, {"persona/cat.md": DOG, "persona/..": DOG}, {}),
        (nothing, {"persona/cat.md": DOG, "../x.md": DOG}, {}),
        (nothing, {"persona/cat.md": DOG, "persona/a\0.md": DOG}, {}),
        (nothing, {"persona/cat.md": DOG, "persona/life.md/x.md": DOG}, {}),
        (nothing, {"persona/cat.md": DOG}, {"sha256": "0" * 64}),
        (nothing, {"persona/cat.md": DOG}, {"documents": 3}),
        (nothing, {"persona/cat.md": DOG}, {"later": True}),
    ],
)
def test_a_change_that_cannot_be_finished_is_set_aside(
    role: Role,
    obstacle: Callable[[Path], None],
    changes: dict[str, bytes | None],
    given: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    obstacle(role.root)
    written = journal(role.root, changes, **given).read_bytes()
    assert [one.text for one in role.documents()] == [LIFE]
    assert not (role.root / CHANGE).exists()
    (aside,) = (role.root / "index").glob("change.*.set_aside")
    assert aside.read_bytes() == written
    (said,) = caplog.messages
    assert said.startswith("A change of 'ada' that was interrupted cannot be finished")
    assert aside.name in said
    assert said.endswith("then make the change again.")
    learn(role, [("bird.md", b"# The bird")])
    assert role.persona.names() == ["bird.md", "life.md"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{", b"[" * 100_000, None])
def test_a_change_that_cannot_be_read_is_set_aside(
    role: Role, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    (role.root / "index").mkdir(exist_ok=True)
    (role.root / CHANGE).mkdir() if content is None else (role.root / CHANGE).write_bytes(content)
    assert [one.text for one in role.documents()] == [LIFE]
    assert len(list((role.root / "index").glob("change.*.set_aside"))) == len(caplog.messages) == 1


def test_a_change_whose_text_is_damaged_is_set_aside_unless_it_is_there_already(
    role: Role, caplog: pytest.LogCaptureFixture
) -> None:
    journal(role.root, {"persona/life.md": DOG, "persona/dog.md": DOG})
    (role.root / "index" / "documents" / sha256(DOG)).write_bytes(b"other")
    assert [one.name for one in role.documents()] == ["life.md"]
    assert len(caplog.messages) == 1
    (role.root / "persona" / "dog.md").write_bytes(DOG)
    journal(role.root, {"persona/dog.md": DOG})
    (role.root / "index" / "documents" / sha256(DOG)).unlink()
    assert [one.name for one in role.documents()] == ["dog.md", "life.md"]
    assert len(caplog.messages) == 1


def test_what_was_set_aside_is_kept_until_it_is_erased(role: Role) -> None:
    folder_of_that_name(role.root)
    journal(role.root, {"persona/dog.md": DOG})
    learn(role, [("bird.md", b"# The bird")])
    kept = role.root / "index" / "documents" / sha256(DOG)
    from dramaturg.stores.index.folder import IndexFolder, drop_documents

    drop_documents(IndexFolder(role.root, passage_kind("acts")))
    assert kept.read_bytes() == DOG
    erase_past(role)
    assert not kept.exists()
    assert not list((role.root / "index").glob("change.*"))
