"""A knowledge graph that is made, changed and erased, killed or refused at every write: what was there is served."""

import asyncio
import errno
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from dramaturg.nodes import asking as asked_answers
from dramaturg.nodes.graph.merging import ORDER
from dramaturg.stores.documents.merges import DECISIONS, PLAN, Merge, MergePlan, accept_plan, read_plan, write_plan
from dramaturg.stores.errors import MissingIndex, StorageError
from dramaturg.stores.index.graph import GRAPH_KIND, UNMERGED_GRAPH_KIND, encode_graph
from dramaturg.stores.learning import forget, learn
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, take_back

import graph_roles
from crash_points import SOME_OR_ALL, Crash, after, failures, killed_after, kills
from fakes import ScriptedChatModel
from graph_roles import graph_actor, graph_role
from passage_samples import quick

DOG = "# Dog\n\nKit sleeps on a zanzibark. Tom gave Kit to Ada Quill.\n"
ONLY_THERE = (b"zanzibark", b"Kit")
EDITED = MergePlan(
    merges=(Merge(name="the mate", names=("Tom", "Tom Quill")),),
    alone=("Ada Quill", "harbour master", "Jory Penrose"),
)

Operation = Callable[..., None]


def index(folder: Path, model: ScriptedChatModel | None = None, normalization: bool = True, **wishes: bool) -> None:
    """Index the role in a folder, as the command does; answers are written two at a time."""
    given = {"neighbours": 2, "reasons": True, "normalization": normalization}
    with patch.object(asked_answers, "AT_ONCE", 2):
        asyncio.run(graph_roles.index(role_in(folder), model, wishes, **given))


def learn_and_index(folder: Path, model: ScriptedChatModel | None = None) -> None:
    if "dog.md" not in role_in(folder).persona.names():
        learn(role_in(folder), [("dog.md", DOG.encode())])
    index(folder, model)


def apply(folder: Path, model: ScriptedChatModel | None = None) -> None:
    index(folder, model, apply=(folder / "ada" / PLAN).exists())


def accept(folder: Path) -> None:
    if (folder / "ada" / PLAN).exists():
        accept_plan(folder / "ada", graph_roles.NAMES, [])


def unmerge(folder: Path, model: ScriptedChatModel | None = None) -> None:
    role = role_in(folder)
    plan = read_plan(role.root) or MergePlan()
    if plan.merges:
        write_plan(role.root, plan.without("Tom"))
    index(folder, model)


def go_back(folder: Path, model: ScriptedChatModel | None = None) -> None:
    if "dog.md" in role_in(folder).persona.names():
        take_back(role_in(folder), GRAPH_KIND)
    index(folder, model)


def erase(folder: Path, model: ScriptedChatModel | None = None) -> None:
    role = role_in(folder)
    if "dog.md" in role.persona.names():
        forget(role, "dog.md")
    index(folder, model)
    erase_past(role)


def role_in(folder: Path) -> Role:
    """The role as another process would see it: nothing in memory."""
    return Role(folder / "ada")


def served(folder: Path) -> bytes | None:
    """The graph that is read now; None before the first."""
    try:
        graph = role_in(folder).index(GRAPH_KIND).open()
    except MissingIndex:
        return None
    assert not graph.warning
    return encode_graph(graph.graph)


def kept(folder: Path) -> set[str]:
    """The questions whose answers lie on the disk."""
    return {*role_in(folder).index(GRAPH_KIND).builder.known()} - {ORDER}


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def leftovers(folder: Path) -> list[str]:
    names = [path.name for path in folder.rglob("*")]
    return [name for name in names if name.endswith((".tmp", ".npz")) or name in ("change.json", "draft.json")]


class Done(NamedTuple):
    """What an operation leads to where nothing goes wrong."""

    graph: bytes | None
    asked: set[str]
    """The questions that it asks of the model."""
    left: list[str]
    """What stays of drafts, those of a plan among them."""


def done(operation: Operation, prepared: Path, scratch: Path) -> Done:
    """Carry an operation out in a copy."""
    folder, model = Path(shutil.copytree(prepared, scratch / "whole")), graph_actor()
    before = kept(folder)
    operation(folder, model)
    asked = kept(folder) - before
    assert len(asked) == len(model.calls)
    return Done(served(folder), asked, leftovers(folder))


def whole_then_completed(crash: Crash, operation: Operation, before: bytes | None, end: Done) -> None:
    """The old graph or the new one is served; run again, the operation ends as ever and asks only what is not kept."""
    assert served(crash.folder) in (before, end.graph), crash
    left, model = end.asked - kept(crash.folder), graph_actor()
    operation(crash.folder, model)
    assert len(model.calls) == len(left), crash
    assert served(crash.folder) == end.graph, crash
    assert {*leftovers(crash.folder)} <= {*end.left}, crash


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A role that was never indexed."""
    return graph_role(tmp_path_factory.mktemp("fresh")).root.parent


@pytest.fixture(scope="module")
def indexed(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The role with a graph of one document."""
    return after(fresh, tmp_path_factory, "indexed", index)


@pytest.fixture(scope="module")
def planned(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a plan that somebody has edited."""
    folder = after(indexed, tmp_path_factory, "planned", partial(index, plan=True))
    assert (folder / "ada" / PLAN).exists()
    write_plan(folder / "ada", EDITED, PLAN)
    return folder


@pytest.fixture(scope="module")
def merged(planned: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after the plan was carried out."""
    return after(planned, tmp_path_factory, "merged", apply)


@pytest.fixture(scope="module")
def taught(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The role with a graph of two documents, and one of the first of them."""
    return after(indexed, tmp_path_factory, "taught", learn_and_index)


@pytest.fixture(scope="module")
def doomed(taught: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a draft, a plan that names what one of the documents tells, and half of such a plan."""
    folder = after(taught, tmp_path_factory, "doomed", partial(index, plan=True))
    (folder / "ada" / f".{PLAN}.{0:032x}.tmp").write_bytes(b"alone:\n- Kit\n")
    return folder


def test_what_is_made_ready(fresh: Path, indexed: Path, merged: Path, taught: Path, doomed: Path) -> None:
    assert served(fresh) is None
    assert len({served(folder) for folder in (indexed, merged, taught)}) == 3
    assert (role_in(merged).index(GRAPH_KIND).open().find("Tom Quill"), read_plan(merged / "ada")) == (
        "the mate",
        EDITED,
    )
    assert all(word in everything(doomed) for word in ONLY_THERE)
    assert b"Kit" in (doomed / "ada" / PLAN).read_bytes()


@SOME_OR_ALL
def test_accepting_a_plan_killed_at_any_write_loses_no_edit(planned: Path, tmp_path: Path, most: int | None) -> None:
    crashes = 0
    for crash in kills(accept, planned, tmp_path, most):
        crashes += 1
        assert EDITED in (read_plan(crash.folder / "ada", PLAN), read_plan(crash.folder / "ada", DECISIONS)), crash
        accept(crash.folder)
        assert read_plan(crash.folder / "ada", DECISIONS) == EDITED
        assert not (crash.folder / "ada" / PLAN).exists()
        assert leftovers(crash.folder) == leftovers(planned)
    assert crashes >= (most or 5)


@SOME_OR_ALL
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_accepting_a_plan_that_the_disk_refuses_loses_no_edit(
    planned: Path, tmp_path: Path, error: int, most: int | None
) -> None:
    refused = 0
    for crash in failures(accept, planned, tmp_path, error, most):
        assert crash.error is None or isinstance(crash.error, StorageError), crash
        refused += crash.error is not None
        assert EDITED in (read_plan(crash.folder / "ada", PLAN), read_plan(crash.folder / "ada", DECISIONS)), crash
        accept(crash.folder)
        assert read_plan(crash.folder / "ada", DECISIONS) == EDITED
    assert refused > (0 if most else 4)


def test_forgetting_for_good_leaves_no_trace(doomed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(doomed, tmp_path / "library"))
    erase(folder)
    assert not any(word in everything(folder) for word in ONLY_THERE)
    assert leftovers(folder) == []
    model = graph_actor()
    index(folder, model)
    assert model.calls == []


def test_forgetting_for_good_leaves_no_trace_in_a_graph_without_normalization(doomed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(doomed, tmp_path / "library"))
    index(folder, normalization=False)
    forget(role_in(folder), "dog.md")
    index(folder, normalization=False)
    erase_past(role_in(folder))
    assert role_in(folder).index(UNMERGED_GRAPH_KIND).open().find("Tom")
    assert not any(word in everything(folder) for word in ONLY_THERE)


CHANGES = [
    (index, "fresh"),
    (learn_and_index, "indexed"),
    (apply, "planned"),
    (unmerge, "merged"),
    (go_back, "taught"),
    (erase, "doomed"),
]
NAMES = ["index", "learn", "apply", "unmerge", "undo", "erase"]
QUICK = {index, learn_and_index, erase}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("operation", "start", "most"),
    [pytest.param(*one, 3, id=f"{name}-some") for name, one in zip(NAMES, CHANGES, strict=True) if one[0] in QUICK]
    + [
        pytest.param(*one, None, id=f"{name}-all", marks=pytest.mark.crash)
        for name, one in zip(NAMES, CHANGES, strict=True)
    ],
)
def test_every_change_of_a_graph_killed_at_any_write(
    request: pytest.FixtureRequest, tmp_path: Path, operation: Operation, start: str, most: int | None
) -> None:
    prepared: Path = request.getfixturevalue(start)
    before, end = served(prepared), done(operation, prepared, tmp_path)
    crashes = saved = 0
    for crash in kills(operation, prepared, tmp_path, most):
        crashes += 1
        saved += len(end.asked & kept(crash.folder))
        edits = [read_plan(crash.folder / "ada", name) for name in (PLAN, DECISIONS)]
        assert operation is not apply or EDITED in edits, crash
        whole_then_completed(crash, operation, before, end)
        assert operation is not erase or not any(word in everything(crash.folder) for word in ONLY_THERE), crash
    assert crashes >= (2 if most else 12)
    assert bool(saved) == bool(end.asked)


@pytest.mark.crash
@pytest.mark.parametrize(("operation", "start"), CHANGES[1::2], ids=NAMES[1::2])
def test_every_change_of_a_graph_that_the_disk_refuses(
    request: pytest.FixtureRequest, tmp_path: Path, operation: Operation, start: str
) -> None:
    prepared: Path = request.getfixturevalue(start)
    before, end = served(prepared), done(operation, prepared, tmp_path)
    for crash in failures(operation, prepared, tmp_path, errno.ENOSPC):
        assert crash.error is None or isinstance(crash.error, StorageError), crash
        edits = [read_plan(crash.folder / "ada", name) for name in (PLAN, DECISIONS)]
        assert operation is not apply or EDITED in edits, crash
        whole_then_completed(crash, operation, before, end)
        assert operation is not erase or not any(word in everything(crash.folder) for word in ONLY_THERE), crash


@pytest.mark.crash
def test_a_hundred_changes_killed_at_random(indexed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(indexed, tmp_path / "library"))
    chance, killed, number = random.Random(0), 0, 0
    while killed < 100:
        number += 1
        killed += killed_after(partial(learn_number, number=number), folder, chance.uniform(0, 0.5))
        names = {passage.source for passage in role_in(folder).index(GRAPH_KIND).open().passages}
        assert {"life.md"} <= names <= {*role_in(folder).persona.names(), "life.md", "dog.md"}
        assert served(folder)
    learn_number(folder, number=number)
    assert b"Kit" in (served(folder) or b"")
    assert not [name for name in leftovers(folder) if name.endswith(".tmp")]
    print(f"{killed} of {number} changes were killed")  # noqa: T201


def learn_number(folder: Path, number: int) -> None:
    role = role_in(folder)
    learn(role, [("dog.md", DOG.replace("zanzibark", f"sack of number {number}").encode())])
    index(folder)
