"""Files of one kind of index are never taken for those of another: not published, and not read."""

import shutil
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError
from dramaturg.stores.files import sha256
from dramaturg.stores.index.answers import encode_answers
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.graph import GRAPH_KIND, UNMERGED_GRAPH_KIND
from dramaturg.stores.index.kinds import KINDS, kind_named
from dramaturg.stores.index.memories import MEMORY_KIND, MemoryStore, StoredMemory
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, take_back, versions

from crossed_indexes import BESIDE, RECORDS, begun, cross, files_of, publish
from passage_samples import EMBEDDING, new_role, quick, reopened

Kind = IndexKind[Any, Any]
ACTS, ATS = passage_kind("acts"), passage_kind("ats")
OTHER_STORES = [(one, other) for one, other in permutations((ACTS, GRAPH_KIND, MEMORY_KIND, DIALOGUE_KIND), 2)]


def named(value: object) -> str | None:
    return value.name if isinstance(value, IndexKind) else None


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return new_role(tmp_path)


def written(role: Role) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (role.root / "index").rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_every_kind_serves_what_is_published(role: Role, kind: Kind) -> None:
    manifest = publish(role, kind)
    assert (kind_named(kind.name), reopened(role).index(kind).open().manifest) == (kind, manifest)


@pytest.mark.parametrize(("held", "into"), OTHER_STORES, ids=named)
def test_an_index_that_holds_files_of_another_kind_is_damaged_and_made_anew(role: Role, held: Kind, into: Kind) -> None:
    publish(role, held)
    cross(role.root, held, into)
    index = reopened(role).index(into)
    for read in (index.open, index.manifest):
        with pytest.raises(DamagedIndex, match=f"run `{into.command('ada')}`, which makes it again"):
            read()
    assert versions(reopened(role), into) == []
    with pytest.raises(MissingIndex):
        take_back(reopened(role), into)
    made = publish(reopened(role), into)
    assert reopened(role).index(into).open().version == made.version
    assert [one.version for one in versions(role, into)] == [made.version]


@pytest.mark.parametrize(("held", "into"), OTHER_STORES[-2:], ids=named)
def test_the_version_before_stands_in_and_past_is_erased(role: Role, held: Kind, into: Kind) -> None:
    before = publish(role, into)
    publish(role, held)
    cross(role.root, held, into)
    store = reopened(role).index(into).open()
    assert store.version == before.version
    assert f"run `{into.command('ada')}`, which makes it again" in store.warning
    erase_past(reopened(role))
    assert reopened(role).index(into).open().warning == ""


@pytest.mark.parametrize(
    ("one", "other"), [(ACTS, ATS), (ACTS, passage_kind("fixed")), (GRAPH_KIND, UNMERGED_GRAPH_KIND)], ids=named
)
def test_an_index_is_not_read_under_another_name(role: Role, one: Kind, other: Kind) -> None:
    publish(role, one)
    shutil.copytree(role.root / "index" / one.name, role.root / "index" / other.name)
    with pytest.raises(DamagedIndex, match=r"current\.json"):
        role.index(other).open()
    version = publish(reopened(role), other).version
    assert reopened(role).index(other).open().version == version


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_records_of_another_kind_are_refused(role: Role, kind: Kind) -> None:
    builder = role.index(kind).builder
    for record in RECORDS.values():
        if type(record) is not kind.records:
            with pytest.raises(RoleError, match=f"A {type(record).__name__} is no record of the index '{kind.name}'"):
                builder.draft([record], embedding=EMBEDDING, settings={}, sources={})
    assert written(role) == {}


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_files_of_another_kind_are_refused(role: Role, kind: Kind) -> None:
    draft, builder = begun(role, kind), role.index(kind).builder
    before, own = written(role), files_of(kind)
    for files in ({**own, "notes.jsonl": b""}, {**own, kind.store.FILES[0]: b""}, dict(BESIDE), {} if own else BESIDE):
        with pytest.raises(RoleError, match=f"Beside records and vectors the index '{kind.name}' has"):
            builder.publish(draft, {}, files=files)
    for name in own:
        with pytest.raises(RoleError, match="do not fit each other"):
            builder.publish(draft, {}, files={name: b"[1]"})
    assert written(role) == before
    with pytest.raises(MissingIndex):
        role.index(kind).open()


@pytest.mark.parametrize(("one", "other"), [(ACTS, ATS), (ACTS, GRAPH_KIND), (MEMORY_KIND, DIALOGUE_KIND)], ids=named)
def test_a_draft_of_another_kind_is_not_published(role: Role, one: Kind, other: Kind) -> None:
    draft = begun(role, one)
    shutil.copytree(role.root / "index" / one.name / "drafts", role.root / "index" / other.name / "drafts")
    with pytest.raises(MissingIndex, match="There is no draft"):
        role.index(other).builder.publish(draft, {}, files=files_of(other))
    assert not (role.root / "index" / other.name / "versions").exists()


def test_a_kind_of_ones_own_may_not_take_the_name_of_another(role: Role) -> None:
    own = IndexKind("dialogues", StoredMemory, MemoryStore, "memories", "emotional-rag", ("dialogues",))
    with pytest.raises(RoleError, match=r"The index 'dialogues' is of another kind: take `kind_named\('dialogues'\)`"):
        publish(role, own)
    assert written(role) == {}


@pytest.mark.parametrize("data", [BESIDE["moods.jsonl"], b"5\n", b"[[1], 2]\n", b"[1, 2]\n", b"{}\n"])
def test_a_file_that_holds_no_answers_is_passed_over(role: Role, data: bytes) -> None:
    kept = role.root / "index" / "dialogues" / "answers"
    kept.mkdir(parents=True)
    for content in (data, encode_answers({"a": 1})):
        (kept / f"{sha256(content)}.jsonl").write_bytes(content)
    assert role.index(DIALOGUE_KIND).builder.known() == {"a": 1}
