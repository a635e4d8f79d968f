"""Indexing, learning, forgetting and taking back, killed or refused at every write: what was there is served."""

import asyncio
import errno
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from dramaturg.stores.errors import StorageError
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.learning import forget, learn
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, take_back
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph

from crash_points import SOME_OR_ALL, Crash, failures, killed_after, kills
from passage_samples import build, embed, new_role, passages_of, quick, texts_of
from roles import LIFE, WordEmbeddings, small_role

OLD, NEW = ["a", "b", "c"], ["a", "x", "y", "z"]
EDITED = LIFE.replace("Storms make her cheerful", "Storms make her sing")
MORE = "# The dog\n\nKit is a grey dog and sleeps under the lamp.\n"


def index(folder: Path, *, rebuild: bool = False) -> None:
    """Index the role in a folder, as the command does."""
    context = AmadeusIndexContext(role="ada", library=str(folder), embedding_model=WordEmbeddings(), embedding_batch=3)
    asyncio.run(graph.ainvoke({"rebuild": rebuild}, context=context))


def build_new(folder: Path) -> None:
    build(Role(folder / "ada"), NEW)


def build_fresh(folder: Path) -> None:
    builder = Role(folder / "ada").index(passage_kind("acts")).builder
    version = builder.draft(passages_of(OLD), embedding="hash-8", settings={}, sources={}, fresh=True)
    while left := builder.unembedded(version):
        builder.add_vectors(version, left[:1], embed(left[:1]))
    builder.publish(version, {})


def learn_two(folder: Path) -> None:
    role = Role(folder / "ada")
    if documents(folder)["life.md"] != EDITED or "dog.md" not in documents(folder):
        learn(role, [("dog.md", MORE.encode()), ("life.md", EDITED.encode())])


def learn_and_index(folder: Path) -> None:
    learn_two(folder)
    index(folder)


def go_back(folder: Path) -> None:
    role = Role(folder / "ada")
    if "dog.md" in documents(folder):
        take_back(role, passage_kind("acts"))
    index(folder)


def erase(folder: Path) -> None:
    role = Role(folder / "ada")
    if "dog.md" in documents(folder):
        forget(role, "dog.md")
    index(folder)
    erase_past(role)


def documents(folder: Path) -> dict[str, str]:
    return {one.name: one.text for one in Role(folder / "ada").documents()}


def served(folder: Path) -> set[str]:
    """The documents that a reader finds passages of."""
    return {passage.source for passage in Role(folder / "ada").index(passage_kind("acts")).open().passages}


def seen(folder: Path) -> list[str]:
    return texts_of(Role(folder / "ada"))


def leftovers(folder: Path) -> list[str]:
    names = [path.name for path in folder.rglob("*")]
    return [name for name in names if name.endswith((".tmp", ".npz")) or name in ("change.json", "fresh", "draft.json")]


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A role with one made-up version."""
    folder = tmp_path_factory.mktemp("small")
    build(new_role(folder), OLD)
    return folder


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A role with one document, indexed."""
    folder = tmp_path_factory.mktemp("indexed")
    small_role(folder)
    index(folder)
    return folder


@pytest.fixture(scope="module")
def taught(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after it learned and changed a document."""
    folder = Path(shutil.copytree(indexed, tmp_path_factory.mktemp("taught") / "library"))
    learn_and_index(folder)
    return folder


@SOME_OR_ALL
@pytest.mark.parametrize("error", [None, errno.ENOSPC], ids=["killed", "full disk"])
def test_learning_that_is_stopped_at_any_write_is_all_or_nothing(
    indexed: Path, tmp_path: Path, error: int | None, most: int | None
) -> None:
    both = {"dog.md": MORE, "life.md": EDITED}
    for crash in stopped(learn_two, indexed, tmp_path, error, most):
        assert crash.error is None or isinstance(crash.error, StorageError), crash
        assert documents(crash.folder) in ({"life.md": LIFE}, both)
        assert served(crash.folder) == {"life.md"}
        learn_two(crash.folder)
        assert documents(crash.folder) == both


def stopped(
    operation: Callable[[Path], None], prepared: Path, scratch: Path, error: int | None, most: int | None
) -> Iterator[Crash]:
    """The operation killed at its writes, or refused by the disk."""
    if error is None:
        return kills(operation, prepared, scratch, most)
    return failures(operation, prepared, scratch, error, most)


@pytest.mark.sample(2)
@SOME_OR_ALL
@pytest.mark.parametrize(
    ("operation", "start", "after"),
    [
        (build_new, "small", lambda folder: seen(folder) == NEW),
        (build_fresh, "small", lambda folder: seen(folder) == OLD),
        (learn_and_index, "indexed", lambda folder: served(folder) == {"life.md", "dog.md"}),
        (partial(index, rebuild=True), "taught", lambda folder: served(folder) == {"life.md", "dog.md"}),
        (go_back, "taught", lambda folder: documents(folder) == {"life.md": LIFE}),
        (erase, "taught", lambda folder: b"grey dog" not in everything(folder) and served(folder) == {"life.md"}),
    ],
    ids=["build", "fresh", "learn", "rebuild", "undo", "erase"],
)
def test_every_change_of_a_role_killed_at_any_write(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    operation: Callable[[Path], None],
    start: str,
    after: Callable[[Path], bool],
    most: int | None,
) -> None:
    prepared: Path = request.getfixturevalue(start)
    states = {tuple(seen(prepared))}
    crashes = 0
    for crash in kills(operation, prepared, tmp_path, most):
        crashes += 1
        before = tuple(seen(crash.folder))  # something whole is always served
        operation(crash.folder)
        assert after(crash.folder), crash
        assert leftovers(crash.folder) == [], crash
        states |= {before, tuple(seen(crash.folder))}
    assert len(states) <= 3
    assert crashes >= (most or 12)


@pytest.mark.crash
@pytest.mark.parametrize(("error", "most"), [(errno.ENOSPC, None), (errno.EIO, 12)])  # which differ in a word only
@pytest.mark.parametrize(
    ("operation", "start"),
    [(build_new, "small"), (learn_and_index, "indexed"), (go_back, "taught"), (erase, "taught")],
)
def test_every_change_of_a_role_that_the_disk_refuses(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    operation: Callable[[Path], None],
    start: str,
    error: int,
    most: int | None,
) -> None:
    refused = 0
    for crash in failures(operation, request.getfixturevalue(start), tmp_path, error, most):
        assert crash.error is None or isinstance(crash.error, StorageError), crash
        refused += crash.error is not None
        assert seen(crash.folder)
        assert operation is not build_new or seen(crash.folder) in (OLD, NEW)
        operation(crash.folder)
        assert operation is not build_new or seen(crash.folder) == NEW
        assert leftovers(crash.folder) == [], crash
    assert refused > (8 if most else 40) or operation is not build_new


@pytest.mark.crash
def test_five_hundred_builds_killed_at_random(tmp_path: Path) -> None:
    small = tmp_path
    build(new_role(small), OLD)
    chance, killed, number, texts = random.Random(0), 0, 0, OLD
    while killed < 500:
        number += 1
        new = [*OLD, f"n{number}", f"m{number}"]
        killed += killed_after(partial(build_texts, texts=new), small, chance.uniform(0, 0.05))
        assert seen(small) in (texts, new)
        texts = seen(small)
    build_texts(small, NEW)
    assert seen(small) == NEW
    assert not [name for name in leftovers(small) if name.endswith(".tmp")]
    print(f"{killed} of {number} builds were killed")  # noqa: T201


def build_texts(folder: Path, texts: list[str]) -> None:
    build(Role(folder / "ada"), texts)
