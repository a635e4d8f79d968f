"""A role in a database, changed by machines that are killed, refused or cut off at statements and writes.

What another machine reads then is what was there, or what was to be there; and the same change made again on the
machine that was stopped comes to its end. The changes are those that are tried on a folder.
"""

import errno
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import psycopg
import pytest

from dramaturg.stores.errors import MissingIndex, RoleBusy, RoleError, StorageError
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.learning import learn
from dramaturg.stores.library import Library
from dramaturg.stores.shared_library import SharedLibrary
from tests.crash.test_crashes_index import erase, everything, go_back, index, learn_and_index, learn_two, leftovers
from tests.stores.test_living_library import teach_twenty

from crash_points import SOME_OR_ALL, fails_at, few_or_many, killed_after, killed_at, mutations, writes_of
from passage_samples import quick
from roles import LIFE, small_role

Operation = Callable[[Path], object]
Contents = Mapping[str, bytes]
DOG = b"# The dog\n\nKit is a grey dog.\n"


def on_machine(cache: Path, operation: Operation, address: str) -> None:
    """Carry an operation out on a machine that keeps its copies in a folder."""
    library = SharedLibrary(address, cache)
    try:
        library.role("ada")
        operation(library.root)
    finally:
        library.close()


class Database:
    """A database, what is read of it on a machine that has seen nothing of it, and what it is set to."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self._folder = folder
        self._keeper = SharedLibrary(address, folder / "keeper")

    def fresh(self) -> Path:
        """A folder that was never used."""
        return self._folder / f"machine-{time.monotonic_ns()}"

    def begin(self, contents: Contents) -> None:
        """Have it hold this, and nothing that was kept."""
        self._keeper.roles()
        with psycopg.connect(self.address, autocommit=True) as session:
            session.execute("DELETE FROM dramaturg_roles")
        self._keeper.replace({"ada": contents})

    def contents(self) -> Contents:
        return self._keeper.contents("ada")

    def read(self) -> "State":
        """What another machine reads."""
        library = SharedLibrary(self.address, self.fresh())
        try:
            role = library.role("ada")
            documents = {one.name: one.text for one in role.documents()}
            try:
                found = role.index(passage_kind("acts")).open()
                served = tuple(sorted({passage.source for passage in found.passages}))
                assert not found.warning, found.warning
            except MissingIndex:
                served = ()
            return State(documents, served, library.root)
        finally:
            library.close()

    def close(self) -> None:
        self._keeper.close()


class State:
    """The documents of a role, and those that its index serves."""

    def __init__(self, documents: Mapping[str, str], served: tuple[str, ...], folder: Path) -> None:
        self.documents, self.served, self.folder = documents, served, folder

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and (self.documents, self.served) == (other.documents, other.served)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{sorted(self.documents)} served {self.served}"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def database(postgres: str, tmp_path: Path) -> Iterator[Database]:
    made = Database(postgres, tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Contents:
    """A role with one document, indexed."""
    folder = tmp_path_factory.mktemp("indexed")
    small_role(folder)
    index(folder)
    return Library(folder).contents("ada")


@pytest.fixture(scope="module")
def taught(indexed: Contents, tmp_path_factory: pytest.TempPathFactory) -> Contents:
    """The same after it learned and changed a document."""
    library = Library(tmp_path_factory.mktemp("taught"))
    library.replace({"ada": indexed})
    learn_and_index(library.root)
    return library.contents("ada")


CHANGES = {
    "learn": (learn_and_index, "indexed"),
    "rebuild": (partial(index, rebuild=True), "taught"),
    "undo": (go_back, "taught"),
    "erase": (erase, "taught"),
}


def some(names: Sequence[str], most: int | None, step: int = 1) -> list[int]:
    """The writes that are tried, from 1: so many, spread evenly; or each statement, or each third, and what follows it.

    Between two statements a machine writes into its copy alone, a file like the next.
    """
    last = len(names)
    if most is not None:
        return [1 + (2 * number + 1) * last // (2 * most) for number in range(most)]
    statements = [at for at, name in enumerate(names, 1) if name.startswith("sql") or name == "commit"][::step]
    return sorted({near for at in statements for near in (at, at + 1) if near <= last})


@pytest.mark.sample(3)
@SOME_OR_ALL
@pytest.mark.parametrize("how", ["killed", errno.ENOSPC, errno.EIO], ids=["killed", "refused", "cut"])
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_that_is_stopped_at_any_write_or_statement(
    request: pytest.FixtureRequest, database: Database, change: str, how: str | int, most: int | None
) -> None:
    operation, start = CHANGES[change]
    contents: Contents = request.getfixturevalue(start)
    database.begin(contents)
    before, run = database.read(), partial(on_machine, operation=operation, address=database.address)
    names = writes_of(run, database.fresh())
    after = database.read()
    for at in some(names, most, 1 if how == "killed" else 3):
        database.begin(contents)
        cache = database.fresh()
        if isinstance(how, int):
            error = fails_at(run, cache, at, how)
            assert error is None or isinstance(error, StorageError | RoleBusy | RoleError), (at, error)
        elif not killed_at(run, cache, at):
            continue
        left = database.read()
        assert left.served in (before.served, after.served), (at, left)
        assert all(name in {*before.documents, *after.documents} for name in left.documents), (at, left)
        on_machine(cache, operation, database.address)
        again = database.read()
        assert again == after, at
        assert leftovers(again.folder) == [], at
        there = everything(again.folder) + b"".join(database_bytes(database))
        assert operation is not erase or b"grey dog" not in there


def database_bytes(database: Database) -> list[bytes]:
    with psycopg.connect(database.address) as session:
        return [bytes(data) for (data,) in session.execute("SELECT data FROM dramaturg_blobs")]


@SOME_OR_ALL
def test_a_role_that_is_fetched_is_never_read_in_part(
    database: Database, indexed: Contents, taught: Contents, most: int | None
) -> None:
    """A machine that is killed while it brings its copy up to date reads the whole of it the next time."""
    database.begin(indexed)
    cache = database.fresh()
    run = partial(on_machine, operation=documents_of, address=database.address)
    run(cache)
    names = writes_of(run, database.fresh())
    for at in some(names, most):
        database.begin(indexed)
        cache = database.fresh()
        run(cache)
        database.begin(taught)
        killed_at(run, cache, at)
        library = SharedLibrary(database.address, cache)
        assert {one.name for one in library.role("ada").documents()} == {"life.md", "dog.md"}, at
        assert {one.source for one in library.role("ada").index(passage_kind("acts")).open().passages} == {
            "life.md",
            "dog.md",
        }
        assert {path: (library.root / "ada" / path).read_bytes() for path in taught} == dict(taught), at
        library.close()


def documents_of(folder: Path) -> None:
    Library(folder).role("ada").documents()


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.crash)])
def test_a_server_process_that_is_killed(database: Database, indexed: Contents, rounds: int) -> None:
    """Postgres ends all its connections then, and comes back by its log."""
    chance = random.Random(0)
    for _ in range(rounds):
        database.begin(indexed)
        library = SharedLibrary(database.address, database.fresh())
        library.role("ada")
        connected = partial(psycopg.connect, database.address, autocommit=True)
        with connected() as session, connected() as other:
            victim = session.info.backend_pid
            killer = threading.Timer(chance.uniform(0, 0.02), os.kill, (victim, signal.SIGKILL))
            killer.start()
            with suppress(StorageError):
                learn_two(library.root)
            killer.join()
            with suppress(psycopg.OperationalError):
                for _ in range(12_000):  # until the server has noticed, and ends all the others
                    other.execute("SELECT 1")
                    time.sleep(0.01)
        library.close()
        for _ in range(2400):
            try:
                left = set(database.read().documents)
                break
            except StorageError:
                time.sleep(0.05)
        assert left in ({"life.md"}, {"life.md", "dog.md"})
        database.close()
        on_machine(database.fresh(), learn_and_index, database.address)
        assert database.read().served == ("dog.md", "life.md")


@pytest.mark.crash
def test_a_hundred_changes_killed_at_random(database: Database, indexed: Contents) -> None:
    database.begin(indexed)
    cache, chance, killed, number = database.fresh(), random.Random(0), 0, 0
    documents = set(database.read().documents)
    while killed < 100:
        number += 1
        change = partial(learn_number, number=number)
        run = partial(on_machine, operation=change, address=database.address)
        killed += killed_after(run, cache, chance.uniform(0, 0.3))
        left = set(database.read().documents)
        assert left in (documents, documents | {f"n{number}.md"})
        documents = left
    on_machine(cache, index, database.address)
    assert set(database.read().served) == documents


def learn_number(folder: Path, number: int) -> None:
    learn(Library(folder).role("ada"), [(f"n{number}.md", f"# {number}\n\nThe number {number}.\n".encode())])
    index(folder)


# Two who publish


@pytest.mark.crash
def test_two_processes_on_two_machines_that_learn_lose_nothing(database: Database, indexed: Contents) -> None:
    database.begin(indexed)
    spawn = get_context("spawn")
    processes = [
        spawn.Process(target=on_machine, args=(database.fresh(), partial(teach_twenty, name=name), database.address))
        for name in ("tom", "kit")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(1200)
    assert [process.exitcode for process in processes] == [0, 0]
    read = database.read()
    assert set(read.served) == {"life.md", *(f"{name}{at}.md" for name in ("tom", "kit") for at in range(20))}


@pytest.mark.parametrize("many", [2, pytest.param(20, marks=pytest.mark.crash)])
def test_two_machines_in_threads_that_learn_lose_nothing(database: Database, indexed: Contents, many: int) -> None:
    database.begin(indexed)
    caches, failed = {name: database.fresh() for name in "ab"}, list[BaseException]()

    def teach(name: str) -> None:
        library = SharedLibrary(database.address, caches[name])
        try:
            for at in range(many):
                learn(library.role("ada"), [(f"{name}{at}.md", f"# {name}\n\nThe number {at}.\n".encode())])
        except BaseException as error:  # noqa: BLE001 (the test says what)
            failed.append(error)
        library.close()

    threads = [threading.Thread(target=teach, args=name) for name in caches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    expected = {"life.md", *(f"{name}{at}.md" for name in caches for at in range(many))}
    assert set(database.read().documents) == expected


# Bytes that are changed


@few_or_many(1, 20)
def test_no_changed_byte_of_the_database_is_read(database: Database, taught: Contents, count: int) -> None:
    """Each file is changed where it lies; a machine that fetches it refuses it."""
    database.begin(taught)
    folder = database.fresh()
    for path, data in taught.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    with psycopg.connect(database.address, autocommit=True) as session:
        for path, _ in mutations(folder, seed=1, count=count):
            name = path.relative_to(folder).as_posix()
            changed = path.read_bytes() if path.exists() else b"gone"
            if changed == taught[name]:
                continue
            where = "role = 'ada' AND digest = (SELECT digest FROM dramaturg_files WHERE role = 'ada' AND path = %s)"
            session.execute(f"UPDATE dramaturg_blobs SET data = %s WHERE {where}".encode(), [changed, name])
            with pytest.raises(StorageError, match="is damaged in"):
                database.read()
            session.execute(f"UPDATE dramaturg_blobs SET data = %s WHERE {where}".encode(), [taught[name], name])
    assert database.read().documents.keys() == {"life.md", "dog.md"}


@few_or_many(10, 60)
def test_a_note_of_a_copy_that_is_changed_leads_to_nothing_else(
    database: Database, indexed: Contents, count: int
) -> None:
    """What a machine notes of its copy is a cache: whatever it says, what is written is what was changed."""
    database.begin(indexed)
    cache = database.fresh()
    on_machine(cache, documents_of, database.address)
    notes = mutations(cache, seed=1, count=count, only=lambda one: one.name == ".ada.copy.json")
    for number, (path, how) in enumerate(notes):
        library = SharedLibrary(database.address, cache)
        learn(library.role("ada"), [("dog.md", DOG + b"%d" % number)])
        library.close()
        found = database.read().documents
        assert found == {"life.md": LIFE, "dog.md": (DOG + b"%d" % number).decode()}, (path, how)
