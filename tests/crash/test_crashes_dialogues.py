"""Dialogues that are indexed and scored, killed or refused at every write; scores that conversations keep; damage."""

import asyncio
import errno
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest
from pydantic import JsonValue

from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes import asking as asked_answers
from dramaturg.nodes.dialogues.index import edge_key, edges_of
from dramaturg.stores.errors import MissingIndex, StorageError
from dramaturg.stores.index.answers import ANSWERS
from dramaturg.stores.index.dialogues import DIALOGUE_KIND, DIALOGUES_FILE, VECTORS_FILE
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.records import encode_records
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, take_back
from dramaturg.workflows.drmr_index import DrmrIndexContext, graph

import cast_roles
from cast_roles import SCENES, cast_role
from crash_points import Crash, after, failures, few_or_many, kills, mutations
from fakes import ScriptedChatModel
from memory_roles import add_line, everything, leftovers
from passage_samples import quick, stand_apart
from roles import fenced, run_settings
from scope_roles import player, reasoned, shown

FILE = "dialogues/scenes.jsonl"
SECRET = ("Tom Quill", "The zanzibark is full tonight."), ("Nell", "The zanzibark sings.")
ONLY_THERE = b"zanzibark"
SERVED = ("manifest.json", DIALOGUES_FILE, VECTORS_FILE)  # what dialogues are read from
EDGES = 6

Operation = Callable[..., None]
Content = tuple[bytes, bytes, bytes]


def scoring() -> ScriptedChatModel:
    """Score an edge by its names, and say something of its text."""
    return player(edge=lambda text: reasoned(len(fenced("pair", text)) % 5 + 1, fenced("dialogue", text)[:30]))


def index(folder: Path, model: ScriptedChatModel | None = None, **wishes: bool) -> None:
    """Index and score the role in a folder; scores are written two at a time, vectors too."""
    settings = run_settings(folder, model or scoring(), embedding_batch=2)
    with patch.object(asked_answers, "AT_ONCE", 2):
        wanted = {"scores": True, **wishes}
        asyncio.run(graph.ainvoke(wanted, context=DrmrIndexContext(**settings)))  # type: ignore[call-overload]


def index_alone(folder: Path, model: ScriptedChatModel | None = None) -> None:
    """Without scores, as a turn does where the index is not of now."""
    index(folder, model, scores=False)


def rebuild(folder: Path, model: ScriptedChatModel | None = None) -> None:
    index(folder, model, rebuild=True)


def go_back(folder: Path, model: ScriptedChatModel | None = None) -> None:
    if "supper" not in said(folder):
        take_back(role_in(folder), DIALOGUE_KIND)
    index(folder, model)


def erase(folder: Path, model: ScriptedChatModel | None = None) -> None:
    drop(folder, ONLY_THERE.decode())
    index(folder, model)
    erase_past(role_in(folder))


def talk(folder: Path, model: ScriptedChatModel | None = None) -> None:
    """Take a turn; what it asks about edges is kept with the role, two at a time."""
    with patch.object(asked_answers, "AT_ONCE", 2):
        asyncio.run(cast_roles.take(role_in(folder), model or scoring(), "Where is my parcel?", user_role="tom"))


def keep_and_say_so(folder: Path) -> None:
    """Keep the score of each edge, one after the other, and write down which were acknowledged."""
    role = role_in(folder)
    builder = role.index(DIALOGUE_KIND).builder
    for edge in edges_of(role.index(DIALOGUE_KIND).open().dialogues):
        key = edge_key(edge, role.card)
        builder.keep({key: {"score": 5, "reason": edge.dialogues[0].scene}})
        with suppress(OSError), (folder / "acknowledged.txt").open("a") as file:
            file.write(f"{key}\n")


def drop(folder: Path, text: str) -> None:
    """Take the lines with a text out of the file."""
    left = said(folder).splitlines(keepends=True)
    if any(text in line for line in left):
        aside = folder / "aside"
        aside.write_text("".join(line for line in left if text not in line), encoding="utf-8")
        aside.replace(folder / "ada" / FILE)


def said(folder: Path) -> str:
    return (folder / "ada" / FILE).read_text(encoding="utf-8")


def role_in(folder: Path) -> Role:
    """The role as another process would see it: nothing in memory."""
    return Role(folder / "ada")


def content(role: Role, version: str | None = None) -> Content:
    """All that is asked of dialogues, and the scores that their version holds."""
    store, folder = role.index(DIALOGUE_KIND).open(version), IndexFolder(role.root, DIALOGUE_KIND)
    current = folder.pointer()
    assert current
    published = next(one for one in current.versions if one.version == store.version)
    scores = (folder.folder_of(published) / ANSWERS).read_bytes()
    return encode_records(store.dialogues), store.vectors().tobytes(), scores


def served(folder: Path) -> Content | None:
    """The dialogues that are read now; None before the first."""
    try:
        assert not role_in(folder).index(DIALOGUE_KIND).open().warning
    except MissingIndex:
        return None
    return content(role_in(folder))


def kept(folder: Path) -> Mapping[str, JsonValue]:
    """The scores on the disk."""
    return role_in(folder).index(DIALOGUE_KIND).builder.known()


def loose(folder: Path) -> list[Path]:
    return sorted(folder.glob("ada/index/dialogues/answers/*.jsonl"))


class Done(NamedTuple):
    """What an operation leads to where nothing goes wrong."""

    dialogues: Content | None
    file: str
    scores: Mapping[str, JsonValue]


def done(operation: Operation, prepared: Path, scratch: Path) -> Done:
    """Carry an operation out in a copy."""
    folder, model = Path(shutil.copytree(prepared, scratch / "whole")), scoring()
    before = kept(folder)
    operation(folder, model)
    asked = kept(folder).keys() - before.keys()
    assert len(asked) == len(shown(model, "edge")) or operation is rebuild
    assert leftovers(folder) == []
    return Done(served(folder), said(folder), kept(folder))


def whole_then_completed(crash: Crash, operation: Operation, prepared: Path, end: Done) -> int:
    """The old dialogues or the new are served, no score is lost; run again, it asks only what is not kept."""
    assert served(crash.folder) in (served(prepared), end.dialogues), crash
    now = kept(crash.folder)
    assert now.items() <= {**kept(prepared), **end.scores}.items() or operation is rebuild, crash
    assert kept(prepared).keys() <= now.keys() or operation is erase, crash
    left, model = end.scores.keys() - now.keys(), scoring()
    operation(crash.folder, model)
    assert len(shown(model, "edge")) == len(left) or operation is rebuild, crash
    assert (served(crash.folder), said(crash.folder), kept(crash.folder)) == end, crash
    if operation is talk:  # what it wrote aside is swept up by who indexes next
        index_alone(crash.folder)
    assert leftovers(crash.folder) == [], crash
    assert operation is not erase or ONLY_THERE not in everything(crash.folder / "ada"), crash
    return crash.point


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cast that was never indexed."""
    folder = tmp_path_factory.mktemp("fresh")
    cast_role(folder)
    return folder


@pytest.fixture(scope="module")
def indexed(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with its dialogues indexed, and no score."""
    return after(fresh, tmp_path_factory, "indexed", index_alone)


@pytest.fixture(scope="module")
def talked(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the scores that a conversation has asked for beside it."""
    return after(indexed, tmp_path_factory, "talked", talk)


@pytest.fixture(scope="module")
def scored(talked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with all edges scored in a version; the one before it is kept."""
    return after(talked, tmp_path_factory, "scored", index)


@pytest.fixture(scope="module")
def changed(scored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after a scene was taken out."""
    return after(scored, tmp_path_factory, "changed", lambda folder: drop(folder, "supper"), index)


@pytest.fixture(scope="module")
def doomed(scored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a scene that is to leave no trace: in a version, beside it, in a draft, and half written aside."""

    def spoken(folder: Path) -> None:
        for speaker, text in SECRET:
            add_line(role_in(folder), FILE, scene="moon", speaker=speaker, text=text)

    folder = after(scored, tmp_path_factory, "doomed", spoken, index_alone)
    keep_and_say_so(folder)
    index_alone(folder)
    model = scoring()
    answer = model.reply
    model.reply = lambda messages: ModelUnavailable("Gone.") if len(model.calls) > 5 else answer(messages)
    with pytest.raises(ModelUnavailable):
        index(folder, model, rebuild=True)
    builder = role_in(folder).index(DIALOGUE_KIND).builder
    builder.keep({"f" * 64: {"score": 1, "reason": "of the zanzibark"}})
    for path in (folder / "ada" / "dialogues", folder / "ada" / "index" / "documents"):
        (path / f".scenes.jsonl.{0:032x}.tmp").write_bytes(ONLY_THERE)
    return folder


def test_what_is_made_ready(
    fresh: Path, indexed: Path, talked: Path, scored: Path, changed: Path, doomed: Path
) -> None:
    assert served(fresh) is None
    assert served(talked) == served(indexed)
    assert (kept(indexed), len(kept(scored))) == ({}, EDGES)
    assert 2 < len(kept(talked)) < EDGES
    assert len(loose(talked)) > 1
    assert loose(scored) == []
    assert len({served(folder) for folder in (indexed, scored, changed, doomed)}) == 4
    assert everything(doomed).count(ONLY_THERE) > 5
    assert len(loose(doomed)) == 1


@pytest.mark.parametrize("most", [5, pytest.param(None, marks=pytest.mark.crash)])
def test_no_score_that_was_acknowledged_is_lost(indexed: Path, tmp_path: Path, most: int | None) -> None:
    last, number = 0, 0
    for crash in kills(keep_and_say_so, indexed, tmp_path, most):
        number, last = number + 1, len(kept(crash.folder))
        said_so = acknowledged(crash.folder)
        assert {*said_so} <= {*kept(crash.folder)}, crash
        assert last <= len(said_so) + 1, crash
        assert all(score == {"score": 5} | reason for score, reason in reasons(crash.folder)), crash
    assert number >= (4 if most else 30)
    assert last > 3


def acknowledged(folder: Path) -> list[str]:
    """What was acknowledged; the last line may be cut off."""
    path = folder / "acknowledged.txt"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [line.strip() for line in lines if len(line) == 65]


def reasons(folder: Path) -> Iterator[tuple[JsonValue, dict[str, JsonValue]]]:
    """Each score that is kept, and the reason that it was kept with."""
    role, found = role_in(folder), kept(folder)
    for edge in edges_of(role.index(DIALOGUE_KIND).open().dialogues):
        if (key := edge_key(edge, role.card)) in found:
            yield found[key], {"reason": edge.dialogues[0].scene}


def test_nothing_is_left_of_what_was_erased(doomed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(doomed, tmp_path / "library"))
    erase(folder)
    assert (ONLY_THERE in everything(folder / "ada"), leftovers(folder), loose(folder)) == (False, [], [])
    index(folder, model := scoring())
    assert model.calls == []


MANY = [
    *((index, "fresh", 40), (index, "talked", 40), (index_alone, "talked", 40), (talk, "indexed", 20)),
    *((rebuild, "scored", 30), (go_back, "changed", 30), (erase, "doomed", 30)),
]


@pytest.mark.parametrize(
    ("operation", "start", "most"),
    [(index, "talked", 3), (talk, "indexed", 3), *(pytest.param(*one, marks=pytest.mark.crash) for one in MANY)],
)
def test_every_change_of_dialogues_killed_at_many_writes(
    request: pytest.FixtureRequest, tmp_path: Path, operation: Operation, start: str, most: int
) -> None:
    prepared: Path = request.getfixturevalue(start)
    end = done(operation, prepared, tmp_path)
    crashes = kills(operation, prepared, tmp_path, most)
    # How many answers one write keeps hangs on when they come: a run may be over before the last points.
    assert len([whole_then_completed(crash, operation, prepared, end) for crash in crashes]) >= most / 2


@pytest.mark.crash
@pytest.mark.parametrize(("operation", "start"), [(index, "talked"), (talk, "indexed")], ids=["index", "talk"])
def test_every_change_of_dialogues_that_the_disk_refuses(
    request: pytest.FixtureRequest, tmp_path: Path, operation: Operation, start: str
) -> None:
    prepared: Path = request.getfixturevalue(start)
    end, refused = done(operation, prepared, tmp_path), 0
    for crash in failures(operation, prepared, tmp_path, errno.ENOSPC):
        refused += crash.error is not None
        assert crash.error is None or isinstance(crash.error, StorageError), crash
        whole_then_completed(crash, operation, prepared, end)
    assert refused > 5


# Files that are damaged

COUNTS = few_or_many(15, 100)


@pytest.fixture
def library(changed: Path, tmp_path: Path) -> Path:
    """Two versions and more, and a score beside them."""
    folder = Path(shutil.copytree(changed, tmp_path / "library"))
    stand_apart(IndexFolder(folder / "ada", DIALOGUE_KIND))
    role_in(folder).index(DIALOGUE_KIND).builder.keep({"f" * 64: {"score": 1, "reason": "of another day"}})
    return folder


@COUNTS
def test_nothing_changed_is_read(library: Path, count: int) -> None:
    current = IndexFolder(library / "ada", DIALOGUE_KIND).pointer()
    assert current
    now, before = (content(role_in(library), one.version) for one in current.versions[:2])
    found = Counter[str]()
    for path, how in mutations(library / "ada" / "index", seed=1, count=count, only=lambda one: one.suffix != ".lock"):
        store = role_in(library).index(DIALOGUE_KIND).open()
        expected = before if store.warning else now
        assert (encode_records(store.dialogues), store.vectors().tobytes()) == expected[:2], (path, how)
        found[path.name if store.warning else "as it was"] += 1
    assert {*SERVED, "as it was"} == set(found)
    assert all(found[name] == count for name in SERVED)


@COUNTS
def test_no_changed_score_is_believed(library: Path, count: int) -> None:
    known, lost = kept(library), 0
    assert "f" * 64 in known
    assert {scene for scene in SCENES if scene != "supper"} == {
        one.scene for one in role_in(library).index(DIALOGUE_KIND).open().dialogues
    }
    for path, how in mutations(
        library / "ada" / "index" / "dialogues", seed=3, count=count, only=lambda one: one.suffix == ".jsonl"
    ):
        found = kept(library)
        assert all(score == known[key] for key, score in found.items()), (path, how)
        lost += len(found) < len(known)
    assert lost
