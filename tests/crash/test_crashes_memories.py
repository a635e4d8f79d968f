"""Memories that are made, changed, taken back and erased, killed or refused at every write; files that are damaged."""

import asyncio
import errno
import random
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes import asking as asked_answers
from dramaturg.nodes.memories.index import memory_unit
from dramaturg.stores.documents.memories import edit, read_memory_files, remove
from dramaturg.stores.errors import DamagedIndex, MissingIndex, StorageError
from dramaturg.stores.index.answers import ANSWERS
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.memories import MEMORIES_FILE, MEMORY_KIND, MOODS_FILE, VECTORS_FILE, MemoryStore
from dramaturg.stores.index.records import encode_records
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, take_back

import memory_roles
from crash_points import Crash, after, failures, few_or_many, killed_after, kills, mutations
from fakes import ScriptedChatModel
from memory_roles import (
    ALL,
    CALM,
    STORM,
    add_line,
    everything,
    feeling,
    files_of,
    leftovers,
    memories_asked,
    memory_role,
)
from passage_samples import quick, stand_apart
from roles import WordEmbeddings, mood

SECRET = "The zanzibark sang in the rigging."
ONLY_THERE = b"zanzibark"
EDITED = "Calm at last, and I like it."
SERVED = ("manifest.json", MEMORIES_FILE, MOODS_FILE, VECTORS_FILE)  # what memories are read from

Operation = Callable[..., None]
Content = tuple[bytes, bytes, bytes]


def index(folder: Path, model: ScriptedChatModel | None = None, **wishes: bool) -> None:
    """Index the role in a folder, as the command does; moods are written two at a time, vectors too."""
    with patch.object(asked_answers, "AT_ONCE", 2):
        asyncio.run(memory_roles.index(role_in(folder), model, wishes, embedding_batch=2))


def edit_and_index(folder: Path, model: ScriptedChatModel | None = None) -> None:
    if found := places(folder, CALM):
        edit(role_in(folder).root, found, EDITED)
    index(folder, model)


def remove_and_index(folder: Path, model: ScriptedChatModel | None = None) -> None:
    if found := places(folder, STORM) + places(folder, CALM):
        remove(role_in(folder).root, found)
    index(folder, model)


def change_alone(folder: Path, model: ScriptedChatModel | None = None) -> None:
    if found := places(folder, STORM) + places(folder, CALM):
        remove(role_in(folder).root, found)


def rebuild(folder: Path, model: ScriptedChatModel | None = None) -> None:
    index(folder, model, rebuild=True)


def go_back(folder: Path, model: ScriptedChatModel | None = None) -> None:
    if not places(folder, CALM):
        take_back(role_in(folder), MEMORY_KIND)
    index(folder, model)


def erase(folder: Path, model: ScriptedChatModel | None = None) -> None:
    if found := places(folder, SECRET):
        remove(role_in(folder).root, found)
    index(folder, model)
    erase_past(role_in(folder))


def role_in(folder: Path) -> Role:
    """The role as another process would see it: nothing in memory."""
    return Role(folder / "ada")


def places(folder: Path, text: str) -> tuple[str, ...]:
    """Where a memory is written."""
    role = role_in(folder)
    found = memory_unit(read_memory_files(role.memory_files), role.card)
    return next((one.places for one in found if one.text == text), ())


def content(store: MemoryStore) -> Content:
    """All that is asked of memories."""
    return encode_records(store.memories), encode_records(store.moods), store.vectors().tobytes()


def served(folder: Path) -> Content | None:
    """The memories that are read now; None before the first."""
    try:
        store = role_in(folder).index(MEMORY_KIND).open()
    except MissingIndex:
        return None
    assert not store.warning
    return content(store)


def kept(folder: Path) -> set[str]:
    """What the answers on the disk are kept by."""
    return {*role_in(folder).index(MEMORY_KIND).builder.known()}


def on_disk(folder: Path) -> dict[str, bytes]:
    """The files as they lie there: a change that has begun is not finished."""
    role = folder / "ada"
    paths = [role / "memories.jsonl", *sorted((role / "dialogues").glob("[!.]*"))]
    return {path.relative_to(role).as_posix(): path.read_bytes() for path in paths}


class Done(NamedTuple):
    """What an operation leads to where nothing goes wrong."""

    memories: Content | None
    files: dict[str, bytes]
    asked: set[str]
    """What its answers are kept by."""


def done(operation: Operation, prepared: Path, scratch: Path) -> Done:
    """Carry an operation out in a copy."""
    folder, model = Path(shutil.copytree(prepared, scratch / "whole")), feeling()
    before = kept(folder)
    operation(folder, model)
    asked = kept(folder) - before
    assert len(asked) == len(memories_asked(model)) == len(model.calls) or operation is rebuild
    assert leftovers(folder) == []
    return Done(served(folder), on_disk(folder), asked)


def whole_then_completed(crash: Crash, operation: Operation, prepared: Path, end: Done) -> None:
    """The old memories or the new are served, no file is half changed; run again, it asks only what is not kept."""
    before = on_disk(prepared)
    lying = on_disk(crash.folder)
    assert all(data in (before.get(name), end.files.get(name)) for name, data in lying.items()), crash
    assert served(crash.folder) in (served(prepared), end.memories), crash
    assert files_of(role_in(crash.folder)) in (before, end.files), crash  # whoever reads finishes what was begun
    left, model = end.asked - kept(crash.folder), feeling()
    operation(crash.folder, model)
    assert len(model.calls) == len(left) or operation is rebuild, crash
    assert served(crash.folder) == end.memories, crash
    assert on_disk(crash.folder) == end.files, crash
    assert leftovers(crash.folder) == [], crash
    assert operation is not erase or ONLY_THERE not in everything(crash.folder), crash


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A role that was never indexed; one memory is written twice in a file, one in two files."""
    role = memory_role(tmp_path_factory.mktemp("fresh"))
    add_line(role, text=STORM)
    add_line(role, "dialogues/again.jsonl", scene="calm", speaker="Ada Quill", text=CALM.removeprefix("Ada Quill: "))
    return role.root.parent


@pytest.fixture(scope="module")
def indexed(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with its memories indexed."""
    return after(fresh, tmp_path_factory, "indexed", index)


@pytest.fixture(scope="module")
def changed(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after two memories were removed; the version before it is kept."""
    return after(indexed, tmp_path_factory, "changed", remove_and_index)


@pytest.fixture(scope="module")
def added(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with one memory more that is not indexed yet."""
    return after(indexed, tmp_path_factory, "added", lambda folder: add_line(role_in(folder), text=SECRET))


@pytest.fixture(scope="module")
def doomed(added: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a memory that is to leave no trace: in two versions, in a draft, and half written aside."""
    folder = after(added, tmp_path_factory, "doomed", index)
    index(folder, feeling(lambda memory: mood(anger=4).replace("so it seems", memory[:14])), rebuild=True)
    model = feeling()
    model.reply = feeling(lambda _: ModelUnavailable("It is gone.") if len(model.calls) > 2 else None).reply
    with pytest.raises(ModelUnavailable):
        index(folder, model, rebuild=True)
    for path in (folder / "ada", folder / "ada" / "dialogues", folder / "ada" / "index" / "documents"):
        (path / f".memories.jsonl.{0:032x}.tmp").write_bytes(SECRET.encode())
    return folder


def test_what_is_made_ready(fresh: Path, indexed: Path, changed: Path, doomed: Path) -> None:
    assert served(fresh) is None
    assert len({served(folder) for folder in (indexed, changed, doomed)}) == 3
    assert len(places(indexed, STORM)) == len(places(indexed, CALM)) == 2
    assert {one.text for one in role_in(indexed).index(MEMORY_KIND).open().memories} == ALL
    assert places(changed, STORM) == places(changed, CALM) == ()
    assert everything(doomed).count(ONLY_THERE) > 5


@pytest.mark.crash
def test_removing_copies_killed_at_any_write_is_all_or_nothing(indexed: Path, tmp_path: Path) -> None:
    """Else whoever removes them again would take other lines out."""
    before, whole = on_disk(indexed), Path(shutil.copytree(indexed, tmp_path / "whole"))
    change_alone(whole)
    crashes = 0
    for crash in kills(change_alone, indexed, tmp_path):
        crashes += 1
        assert files_of(role_in(crash.folder)) in (before, on_disk(whole)), crash
        change_alone(crash.folder)
        assert on_disk(crash.folder) == on_disk(whole), crash
        assert not [name for name in leftovers(crash.folder) if name == "change.json"], crash
    assert crashes > 20


def test_nothing_is_left_of_what_was_erased(doomed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(doomed, tmp_path / "library"))
    erase(folder)
    assert (ONLY_THERE in everything(folder), leftovers(folder)) == (False, [])
    index(folder, model := feeling())
    assert model.calls == []


MANY = [
    *((index, "fresh", 40), (index, "added", 20), (edit_and_index, "indexed", 40), (remove_and_index, "indexed", 20)),
    *((rebuild, "indexed", 20), (go_back, "changed", None), (erase, "doomed", 30)),
]


@pytest.mark.parametrize(
    ("operation", "start", "most"),
    [
        *((index, "added", 3), (edit_and_index, "indexed", 3)),
        *(pytest.param(*one, marks=pytest.mark.crash) for one in MANY),
    ],
)
def test_every_change_of_memories_killed_at_any_write(
    request: pytest.FixtureRequest, tmp_path: Path, operation: Operation, start: str, most: int | None
) -> None:
    prepared: Path = request.getfixturevalue(start)
    end = done(operation, prepared, tmp_path)
    number = 0
    for crash in kills(operation, prepared, tmp_path, most):
        number += 1
        whole_then_completed(crash, operation, prepared, end)
    assert number >= 0.8 * (most or 25)


@pytest.mark.crash
@pytest.mark.parametrize(("operation", "start"), [(index, "added"), (change_alone, "indexed")], ids=["add", "change"])
def test_every_change_of_memories_that_the_disk_refuses(
    request: pytest.FixtureRequest, tmp_path: Path, operation: Operation, start: str
) -> None:
    prepared: Path = request.getfixturevalue(start)
    end, refused = done(operation, prepared, tmp_path), 0
    for crash in failures(operation, prepared, tmp_path, errno.ENOSPC):
        refused += crash.error is not None
        assert crash.error is None or isinstance(crash.error, StorageError), crash
        whole_then_completed(crash, operation, prepared, end)
    assert refused > 20


@pytest.mark.crash
def test_thirty_changes_killed_at_random(indexed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(indexed, tmp_path / "library"))
    chance, killed, number = random.Random(0), 0, 0
    others = {one.text for one in role_in(folder).index(MEMORY_KIND).open().memories} - {CALM}
    while killed < 30:
        number += 1
        killed += killed_after(partial(edit_number, number=number), folder, chance.uniform(0, 0.4))
        texts = {one.text for one in role_in(folder).index(MEMORY_KIND).open().memories}
        assert others < texts
        assert len(texts) == 5
        assert served(folder)
        first, second = (on_disk(folder)[f"dialogues/{name}.jsonl"] for name in ("again", "scenes"))
        files_of(role_in(folder))
        assert spoken(folder, "again") == spoken(folder, "scenes"), (first, second)
    edit_number(folder, number=number)
    assert any(f"number {number}." in one.text for one in role_in(folder).index(MEMORY_KIND).open().memories)
    assert not [name for name in leftovers(folder) if name.endswith(".tmp")]
    print(f"{killed} of {number} changes were killed")  # noqa: T201


def edit_number(folder: Path, number: int) -> None:
    copies = ["dialogues/again.jsonl:1", "dialogues/scenes.jsonl:4"]
    edit(role_in(folder).root, copies, f"Calm of number {number}.")
    index(folder)


def spoken(folder: Path, name: str) -> str:
    """What stands last in a dialogue."""
    lines = read_memory_files(role_in(folder).memory_files)[f"dialogues/{name}.jsonl"]
    return list(lines.values())[-1].text or ""


# Files that are damaged

COUNTS = few_or_many(15, 100)


@pytest.fixture
def library(changed: Path, tmp_path: Path) -> Path:
    """Two versions, and a draft with answers and vectors."""
    folder = Path(shutil.copytree(changed, tmp_path / "library"))
    stand_apart(IndexFolder(folder / "ada", MEMORY_KIND))
    add_line(role_in(folder), text=SECRET)
    model = feeling()
    model.reply = feeling(lambda memory: ModelUnavailable("Gone.") if len(model.calls) > 1 else None).reply
    add_line(role_in(folder), text="One more.")
    with pytest.raises(ModelUnavailable), patch.object(asked_answers, "SECONDS", 0):
        asyncio.run(memory_roles.index(role_in(folder), model, concurrency=1))
    builder = role_in(folder).index(MEMORY_KIND).builder
    draft = next((folder / "ada" / "index" / "memories" / "drafts").iterdir()).name
    left = builder.unembedded(draft, [one.embedding_text for one in builder.records(draft)])
    builder.add_vectors(draft, left, WordEmbeddings().embed_documents(left))
    return folder


def versions_of(folder: Path) -> list[Content]:
    """The versions as they were written, the one that is served first."""
    current = IndexFolder(folder / "ada", MEMORY_KIND).pointer()
    assert current
    return [content(role_in(folder).index(MEMORY_KIND).open(one.version)) for one in current.versions]


@COUNTS
def test_nothing_changed_is_read(library: Path, count: int) -> None:
    now, before = versions_of(library)
    found = Counter[str]()
    for path, how in mutations(library / "ada" / "index", seed=1, count=count, only=lambda one: one.suffix != ".lock"):
        store = role_in(library).index(MEMORY_KIND).open()
        assert content(store) == (before if store.warning else now), (path, how)
        found[path.name if store.warning else "as it was"] += 1
    assert {*SERVED, "as it was"} == set(found)
    assert all(found[name] == count for name in SERVED)


@few_or_many(15, 200)
def test_nothing_changed_is_read_where_there_is_no_other_version(library: Path, count: int) -> None:
    folder, now = IndexFolder(library / "ada", MEMORY_KIND), versions_of(library)[0]
    current = folder.pointer()
    assert current
    shutil.rmtree(folder.folder_of(current.versions[1]))
    shutil.rmtree(folder.drafts)
    (folder.path / "current.copy.json").unlink()
    number = 0
    for path, how in mutations(folder.path, seed=2, count=count):
        number += 1
        if path.name == ANSWERS:  # no memory is read from it; what it holds is asked again
            assert content(role_in(library).index(MEMORY_KIND).open()) == now, how
            continue
        with pytest.raises((DamagedIndex, MissingIndex), match="dramaturg index ada"):
            role_in(library).index(MEMORY_KIND).open()
    assert number == count * (len(SERVED) + 2)


@COUNTS
def test_no_changed_answer_is_believed(library: Path, count: int) -> None:
    known, lost = role_in(library).index(MEMORY_KIND).builder.known(), 0
    for path, how in mutations(
        library / "ada" / "index" / "memories", seed=3, count=count, only=lambda one: one.suffix == ".jsonl"
    ):
        found = role_in(library).index(MEMORY_KIND).builder.known()
        assert all(answer == known[key] for key, answer in found.items()), (path, how)
        lost += len(found) < len(known)
    assert lost


@COUNTS
def test_no_changed_draft_goes_into_a_version(library: Path, count: int) -> None:
    drafts = library / "ada" / "index" / "memories" / "drafts"
    draft = next(drafts.iterdir()).name
    memories = role_in(library).index(MEMORY_KIND).builder.records(draft)
    texts = [one.embedding_text for one in memories]
    rows = role_in(library).index(MEMORY_KIND).builder.vectors(draft, texts)
    for path, how in mutations(drafts, seed=4, count=count):
        builder = role_in(library).index(MEMORY_KIND).builder
        try:
            assert builder.records(draft) == memories, (path, how)
        except MissingIndex:
            assert path.name in ("passages.jsonl", "draft.json")
            continue
        assert path.parent.name in ("vectors", "answers"), (path, how)
        if not builder.unembedded(draft, texts):
            assert (builder.vectors(draft, texts) == rows).all(), (path, how)
