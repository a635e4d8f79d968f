"""An operation that is killed at its writes, meets a full disk there, or finds its files changed.

An operation is a function of a module that can be imported; it is given a folder and depends on nothing else. For a new
workflow a line each is enough:

    for crash in kills(operation, prepared, tmp_path, most): ...  # look into crash.folder, run the operation again
    for crash in failures(operation, prepared, tmp_path, errno.ENOSPC, most): ...  # and at crash.error
    for artefact, how in mutations(prepared, seed=1, count=1000): ...  # the file is changed while the body runs

A quick test takes a sample of the writes, the same test marked `crash` takes all: see `SOME_OR_ALL` and `few_or_many`.
To be killed after a write is to be killed before the next one, so only the latter is tried. All that a kill leaves is
what lies in the folder at that moment, so the operation is carried out once and the folder copied before each write;
where two copies are the same (a statement in a transaction, a flush), one is tried. What the disk refuses is met by a
process of its own, forked from one that has the libraries loaded.
"""

import multiprocessing
import os
import pickle
import random
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple, TypeVar
from unittest.mock import patch

import pytest

from counted_writes import KILLED, Plan, Writes

Operation = Callable[[Path], object]
T = TypeVar("T")
SOME_OR_ALL = pytest.mark.parametrize("most", [2, pytest.param(None, marks=pytest.mark.crash)], ids=["some", "all"])
"""For the parameter `most`: a few of the writes in a quick test, each of them where there is time."""
PATIENCE = 240.0  # seconds for one operation
PRELOADED = (
    *(
        "pytest",
        "hypothesis",
        "numpy",
        "faiss",
        "aiosqlite",
        "sqlite3",
        "filelock",
        "psycopg",
        "psycopg_pool",
        "langgraph.checkpoint.sqlite.aio",
    ),
    *("dramaturg.workflows.amadeus", "dramaturg.workflows.naive_rag", "dramaturg.stores.library"),
    *("dramaturg.workflows.role_rag", "dramaturg.workflows.role_rag_index"),
    *("dramaturg.workflows.emotional_rag_index", "dramaturg.workflows.drmr", "dramaturg.workflows.drmr_index"),
    *("dramaturg.workflows.id_rag", "dramaturg.workflows.riverbend", "dramaturg.cli.app"),
    *("cast_roles", "changing_roles", "commands", "crash_points", "fakes", "memory_roles", "passage_samples"),
    *("roles", "scope_roles", "townspeople"),
)


class Ran(NamedTuple):
    """How an operation ended: killed, with an error, or done; and its writes, unless it was killed."""

    killed: bool
    error: BaseException | None
    writes: list[str]


class Entry(NamedTuple):
    """A name in a folder: its mode, when a file was changed (ns), and what a file holds or where a link leads."""

    mode: int
    changed: int
    content: bytes


Picture = dict[str, Entry]
"""All that lies in a folder, by its path in there."""


class Crash(NamedTuple):
    """What is left: the folder, the write (from 1) and what happened there."""

    folder: Path
    point: int
    error: BaseException | None


@cache
def forkserver() -> ForkServerContext:
    """Return what starts a process with the libraries loaded.

    Every test that forks takes this one: there is one server a process, and it loads nothing once it runs.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    here = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    with patch.dict(os.environ, {"PYTHONPATH": here}):
        multiprocessing.forkserver.ensure_running()
    return context


def writes_of(operation: Operation, folder: Path) -> list[str]:
    """Run the operation in a folder; return the names of its writes."""
    ran = _run(operation, folder, Plan())
    if ran.error is not None:
        raise ran.error
    return ran.writes


def killed_at(operation: Operation, folder: Path, point: int) -> bool:
    """Kill the operation before its n-th write, from 1; False if it had ended before that."""
    ran = _run(operation, folder, Plan(point))
    if ran.error is not None:
        raise ran.error
    return ran.killed


def fails_at(operation: Operation, folder: Path, point: int, error: int) -> BaseException | None:
    """Let the n-th write, from 1, fail with ENOSPC or EIO; return what the operation raised."""
    return _run(operation, folder, Plan(point, "fail", error)).error


def few_or_many(few: int, many: int) -> pytest.MarkDecorator:
    """For the parameter `count`: how many mutations of a file, in a quick test and where there is time."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.crash)])


def kills(operation: Operation, prepared: Path, scratch: Path, most: int | None = None) -> Iterator[Crash]:
    """What is left where the operation is killed before each of its writes that changes something, or so many of them.

    Each is given as a folder of its own.
    """
    for point, picture in spread(pictures(operation, prepared, scratch), most):
        folder = _copy(prepared, scratch, picture)
        yield Crash(folder, point, None)
        shutil.rmtree(folder, ignore_errors=True)


def pictures(operation: Operation, prepared: Path, scratch: Path) -> list[tuple[int, Picture]]:
    """Carry the operation out in a copy of a folder; return what lies there before writes, each that differs once."""
    folder, found = _copy(prepared, scratch), list[tuple[int, Picture]]()

    def look() -> None:
        last = found[-1][1] if found else {}
        now = {name: last[name] if last.get(name) == one else one for name, one in _pictured(folder)}
        if not found or now != last:
            found.append((len(writes.names), now))

    writes = Writes(Plan(), look)
    with writes.counted():
        operation(folder)
    shutil.rmtree(folder)
    return found


def failures(
    operation: Operation, prepared: Path, scratch: Path, error: int, most: int | None = None
) -> Iterator[Crash]:
    """Let each write of the operation fail, or so many of them, each time in a fresh copy of a prepared folder."""
    folder = _copy(prepared, scratch)
    last = len(writes_of(operation, folder))
    shutil.rmtree(folder)
    for at in spread(range(1, last + 1), most):
        folder = _copy(prepared, scratch)
        yield Crash(folder, at, fails_at(operation, folder, at, error))
        shutil.rmtree(folder, ignore_errors=True)


def spread(all_of_them: Sequence[T], most: int | None) -> Sequence[T]:
    """All, or at most so many, spread evenly."""
    last = len(all_of_them)
    if most is None or most >= last:
        return all_of_them
    return [all_of_them[(2 * number + 1) * last // (2 * most)] for number in range(most)]


def after(prepared: Path, factory: pytest.TempPathFactory, name: str, *operations: Operation) -> Path:
    """Carry operations out in a copy of a prepared folder, for a fixture; return the copy."""
    folder = Path(shutil.copytree(prepared, factory.mktemp(name) / "library"))
    for operation in operations:
        operation(folder)
    return folder


def killed_after(operation: Operation, folder: Path, seconds: float) -> bool:
    """Kill the operation (SIGKILL) some time after it began; False if it was done by then."""
    process, ours = _start(operation, folder, Plan())
    with ours:
        ours.recv()  # it begins
        done = ours.poll(seconds)
        process.kill()
        process.join()
    return not done


def mutations(
    folder: Path, seed: int, count: int, only: Callable[[Path], bool] = lambda path: True
) -> Iterator[tuple[Path, str]]:
    """Change each file in a folder `count` times: flip, overwrite, cut, lengthen, double, swap, zero, empty, remove.

    Gives the path and what was done while the change is there; afterwards the file is as it was.
    """
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and only(path)):
        whole, chance = path.read_bytes(), random.Random(f"{seed} {path.relative_to(folder).as_posix()}")
        for _ in range(count):
            how = chance.choice(list(HOW))
            changed = HOW[how](whole, chance)
            if changed == whole:
                how, changed = "lengthened", whole + b"\0"
            try:
                path.write_bytes(changed)
                yield path, how
            finally:
                path.write_bytes(whole)


def _bytes(chance: random.Random, most: int) -> bytes:
    return chance.randbytes(chance.randint(1, most))


def _flipped(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) or 1)
    return data[:at] + bytes([(data[at] if data else 0) ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def _overwritten(data: bytes, chance: random.Random) -> bytes:
    at, new = chance.randrange(len(data) or 1), _bytes(chance, 64)
    return data[:at] + new + data[at + len(new) :]


def _swapped(data: bytes, chance: random.Random) -> bytes:
    low, high = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[high:] + data[low:high] + data[:low]


def _zeroed(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) or 1)
    return data[:at] + bytes(min(512, len(data) - at)) + data[at + 512 :]


HOW: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "flipped": _flipped,
    "overwritten": _overwritten,
    "swapped": _swapped,
    "zeroed": _zeroed,
    "cut": lambda data, chance: data[: chance.randrange(len(data) or 1)],
    "beheaded": lambda data, chance: data[chance.randint(1, len(data) or 1) :],
    "lengthened": lambda data, chance: data + _bytes(chance, 64),
    "doubled": lambda data, chance: data + data,
    "emptied": lambda data, chance: b"",
    "replaced": lambda data, chance: _bytes(chance, 2 * len(data) + 1),
}


def _pictured(folder: Path) -> Iterator[tuple[str, Entry]]:
    """What lies in a folder: the mode of each name, when a file was changed and what it holds, where a link leads."""
    for path in sorted(folder.rglob("*")):
        status, name = path.lstat(), path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield name, Entry(status.st_mode, 0, os.fsencode(path.readlink()))
        elif path.is_dir():
            yield name, Entry(status.st_mode, 0, b"")
        else:
            yield name, Entry(status.st_mode, status.st_mtime_ns, path.read_bytes())


def _copy(prepared: Path, scratch: Path, picture: Picture | None = None) -> Path:
    """A copy of a folder, or a folder as it was in a picture."""
    folder = scratch / f"crash-{time.monotonic_ns()}"
    if picture is None:
        return Path(shutil.copytree(prepared, folder, symlinks=True))
    folder.mkdir()
    for name, (mode, changed, content) in picture.items():
        path = folder / name
        if stat.S_ISLNK(mode):
            path.symlink_to(os.fsdecode(content))
        elif stat.S_ISDIR(mode):
            path.mkdir(stat.S_IMODE(mode))
        else:
            path.write_bytes(content)
            path.chmod(stat.S_IMODE(mode))
            os.utime(path, ns=(changed, changed))
    return folder


def _run(operation: Operation, folder: Path, plan: Plan) -> Ran:
    process, ours = _start(operation, folder, plan)
    with ours:
        ours.recv()
        ended = ours.poll(PATIENCE)
        if not ended:
            process.kill()
        try:
            writes, error = pickle.loads(ours.recv_bytes())
        except EOFError:
            writes, error = [], None
        process.join()
    if not ended:
        raise TimeoutError(f"The operation hung, with {plan}.")
    if process.exitcode not in (0, KILLED):
        raise ChildProcessError(f"The process ended with {process.exitcode}, with {plan}.")
    return Ran(process.exitcode == KILLED, error, writes)


def _start(operation: Operation, folder: Path, plan: Plan) -> tuple[BaseProcess, Connection]:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = forkserver().Process(target=_child, args=(operation, folder, plan, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _child(operation: Operation, folder: Path, plan: Plan, channel: Connection) -> None:
    writes, error = Writes(plan), None
    channel.send("begun")
    with writes.counted():
        try:
            operation(folder)
        except BaseException as raised:  # noqa: BLE001 (whatever it is, the parent is told)
            error = raised
    channel.send_bytes(_pickled(writes.names, error))
    os._exit(0)  # threads that the error left behind would be waited for


def _pickled(names: list[str], error: BaseException | None) -> bytes:
    try:
        data = pickle.dumps((names, error))
        pickle.loads(data)
    except Exception:  # noqa: BLE001 (an error that cannot be sent is sent as its text)
        data = pickle.dumps((names, RuntimeError(f"{type(error).__name__}: {error}")))
    return data
