"""Indexing, learning, forgetting and taking back, killed or refused at every write: what was there is served."""

import asyncio
import errno
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from dramaturg.stores.errors import StorageError
from dramaturg.stores.index.kinds import passage_kind
from dramaturg.stores.learning import forget, learn
from dramaturg.stores.role import Role
from dramaturg.stores.versions import erase_past, take_back
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph

from crash_points import Crash, failures, killed_after, kills
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


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A role with one made-up version."""
    build(new_role(tmp_path / "small"), OLD)
    return tmp_path / "small"


@pytest.fixture
def indexed(tmp_path: Path) -> Path:
    """A role with one document, indexed."""
    small_role(tmp_path / "one")
    index(tmp_path / "one")
    return tmp_path / "one"


@pytest.fixture
def taught(indexed: Path) -> Path:
    """The same after it learned and changed a document."""
    learn_and_index(indexed)
    return indexed


def test_a_build_killed_at_any_write(small: Path, tmp_path: Path) -> None:
    points = 0
    for crash in kills(build_new, small, tmp_path, ("before",)):
        points += 1
        assert seen(crash.folder) in (OLD, NEW)
        build_new(crash.folder)
        assert seen(crash.folder) == NEW
        assert leftovers(crash.folder) == []
    assert points > 50


@pytest.mark.slow
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_build_that_the_disk_refuses_at_any_write(small: Path, tmp_path: Path, error: int) -> None:
    refused = 0
    for crash in failures(build_new, small, tmp_path, error):
        assert crash.error is None or isinstance(crash.error, StorageError), crash
        refused += crash.error is not None
        assert seen(crash.folder) in (OLD, NEW)
        build_new(crash.folder)
        assert seen(crash.folder) == NEW
        assert leftovers(crash.folder) == []
    assert refused > 40


def test_learning_killed_at_any_write_is_all_or_nothing(indexed: Path, tmp_path: Path) -> None:
    both = {"dog.md": MORE, "life.md": EDITED}
    for crash in kills(learn_two, indexed, tmp_path, ("before",)):
        assert documents(crash.folder) in ({"life.md": LIFE}, both)
        assert served(crash.folder) == {"life.md"}
        learn_two(crash.folder)
        assert documents(crash.folder) == both


def test_learning_with_a_full_disk_is_all_or_nothing(indexed: Path, tmp_path: Path) -> None:
    both = {"dog.md": MORE, "life.md": EDITED}
    for crash in failures(learn_two, indexed, tmp_path, errno.ENOSPC):
        assert crash.error is None or isinstance(crash.error, StorageError), crash
        assert documents(crash.folder) in ({"life.md": LIFE}, both)
        assert served(crash.folder) == {"life.md"}
        learn_two(crash.folder)
        assert documents(crash.folder) == both


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
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
    when: str,
) -> None:
    prepared: Path = request.getfixturevalue(start)
    states = {tuple(seen(prepared))}
    crashes: list[Crash] = []
    for crash in kills(operation, prepared, tmp_path, (when,)):  # type: ignore[arg-type]
        crashes.append(crash)
        before = tuple(seen(crash.folder))  # something whole is always served
        operation(crash.folder)
        assert after(crash.folder), crash
        assert leftovers(crash.folder) == [], crash
        states |= {before, tuple(seen(crash.folder))}
    assert len(states) <= 3
    print(f"{len(crashes)} points")  # noqa: T201


@pytest.mark.slow
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize(("operation", "start"), [(learn_and_index, "indexed"), (go_back, "taught"), (erase, "taught")])
def test_every_change_of_a_role_that_the_disk_refuses(
    request: pytest.FixtureRequest, tmp_path: Path, operation: Callable[[Path], None], start: str, error: int
) -> None:
    for crash in failures(operation, request.getfixturevalue(start), tmp_path, error):
        assert crash.error is None or isinstance(crash.error, StorageError), crash
        assert seen(crash.folder)
        operation(crash.folder)
        assert leftovers(crash.folder) == [], crash


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_five_hundred_builds_killed_at_random(small: Path) -> None:
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
