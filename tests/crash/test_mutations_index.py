"""Every file under index/ is changed in every way: it is refused, or what was there before is read, never a mixture."""

import shutil
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from dramaturg.stores.changes import CHANGE, KeptDocuments, change_documents, finish_change
from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError
from dramaturg.stores.files import put_in_place
from dramaturg.stores.index.draft import IndexDraft
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.learning import learn
from dramaturg.stores.role import Role
from dramaturg.stores.versions import take_back, versions

from crash_points import few_or_many, mutations
from passage_samples import EMBEDDING, embed, new_role, passages_of, quick, texts_of

BEFORE, NOW, NEXT = ["a", "b", "c"], ["a", "x", "y", "z"], ["a", "x", "new"]
COUNTS = few_or_many(20, 1000)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A role with two versions, both with their document, and a draft with a vector."""
    role = new_role(tmp_path)
    for texts in (BEFORE, NOW):
        learn(role, [("life.md", "\n\n".join(texts).encode())])
        build(role, texts)
    builder = role.index(passage_kind("acts")).builder
    version = builder.draft(passages_of(NEXT), embedding=EMBEDDING, settings={}, sources={})
    builder.add_vectors(version, NEXT[2:], embed(NEXT[2:]))
    return role.root


def build(role: Role, texts: list[str]) -> None:
    builder = role.index(passage_kind("acts")).builder
    version = builder.draft(passages_of(texts), embedding=EMBEDDING, settings={}, sources=role.persona.checksums())
    left = builder.unembedded(version)
    builder.add_vectors(version, left, embed(left) if left else [])
    builder.publish(version, {}, sources=role.persona)


def artefact(path: Path) -> bool:
    return not path.name.endswith(".lock")


@COUNTS
def test_nothing_changed_is_read(root: Path, count: int) -> None:
    found = Counter[str]()
    for path, how in mutations(root / "index", seed=1, count=count, only=artefact):
        role = Role(root)
        texts, warned = texts_of(role), bool(role.index(passage_kind("acts")).open().warning)
        assert texts == (BEFORE if warned else NOW), (path, how)
        found[path.name if warned else "as it was"] += 1
    assert {"manifest.json", "passages.jsonl", "vectors.faiss", "as it was"} == set(found)
    assert all(found[name] == count for name in ("manifest.json", "passages.jsonl", "vectors.faiss"))


@COUNTS
def test_nothing_changed_is_read_where_there_is_no_other_version(root: Path, count: int) -> None:
    served = Role(root).index(passage_kind("acts")).open()
    folder = IndexFolder(root, passage_kind("acts"))
    for path in (root / "index" / "acts" / "versions").iterdir():
        if not path.name.startswith(served.version):
            shutil.rmtree(path)
    (folder.path / "current.copy.json").unlink()
    for path, how in mutations(
        root / "index" / "acts", seed=2, count=count, only=lambda one: "drafts" not in one.parts
    ):
        with pytest.raises((DamagedIndex, MissingIndex), match="dramaturg index ada"):
            Role(root).index(passage_kind("acts")).open()
        assert how, path


@COUNTS
def test_no_changed_draft_goes_into_a_version(root: Path, count: int) -> None:
    version = next((root / "index" / "acts" / "drafts").iterdir()).name
    for path, how in mutations(root / "index" / "acts" / "drafts", seed=3, count=count):
        builder = Role(root).index(passage_kind("acts")).builder
        try:
            left = builder.unembedded(version)
        except MissingIndex:
            assert path.suffix != ".npz"
            assert IndexDraft.read(IndexFolder(root, passage_kind("acts")), version) is None
        else:
            assert path.suffix == ".npz", (path, how)
            assert left == ["new"]


@COUNTS
def test_no_changed_document_is_brought_back(root: Path, count: int) -> None:
    persona = root / "persona" / "life.md"
    now, before = persona.read_bytes(), "\n\n".join(BEFORE).encode()
    for path, _ in mutations(root / "index" / "documents", seed=4, count=count):
        role = Role(root)
        assert KeptDocuments(root).read(path.name) is None
        assert [one.restorable for one in versions(role, passage_kind("acts"))].count(False) == 1
        with pytest.raises(RoleError):
            take_back(role, passage_kind("acts"))
        assert persona.read_bytes() == now
    take_back(Role(root), passage_kind("acts"))
    assert persona.read_bytes() == before


@COUNTS
def test_a_changed_journal_changes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    persona = root / "persona" / "life.md"
    now = persona.read_bytes()

    def begun(aside: Mapping[Path, Path | None]) -> None:
        if (root / CHANGE).exists():
            raise KeyboardInterrupt
        put_in_place(aside)  # what is kept before

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr("dramaturg.stores.changes.put_in_place", begun)
        change_documents(root, {"persona/life.md": b"half done", "persona/more.md": b"more"})
    assert (root / CHANGE).exists()
    for path, _ in mutations(root / "index", seed=5, count=count, only=lambda one: one.name == "change.json"):
        finish_change(root)
        assert not path.exists()
        assert persona.read_bytes() == now
    assert [one.text for one in Role(root).documents()] == ["half done", "more"]
