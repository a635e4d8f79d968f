"""An operation that is killed at its writes, meets a full disk there, or finds its files changed.

An operation is a function of a module that can be imported; it is given a folder and depends on nothing else. It runs
in a process of its own, forked from one that has the libraries loaded. For a new workflow a line each is enough:

    for crash in kills(operation, prepared, tmp_path, most): ...  # look into crash.folder, run the operation again
    for crash in failures(operation, prepared, tmp_path, errno.ENOSPC, most): ...  # and at crash.error
    for artefact, how in mutations(prepared, seed=1, count=1000): ...  # the file is changed while the body runs

A quick test takes a sample of the writes, the same test marked `crash` takes all: see `SOME_OR_ALL` and `few_or_many`.
To be killed after a write is to be killed before the next one, so only the latter is tried.
"""

import multiprocessing
import os
import pickle
import random
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from counted_writes import KILLED, Plan, Writes

Operation = Callable[[Path], object]
SOME_OR_ALL = pytest.mark.parametrize("most", [2, pytest.param(None, marks=pytest.mark.crash)], ids=["some", "all"])
"""For the parameter `most`: a few of the writes in a quick test, each of them where there is time."""
PATIENCE = 60.0  # seconds for one operation
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


def points(operation: Operation, folder: Path) -> int:
    """Run the operation in a folder; return the number of its writes."""
    return len(writes_of(operation, folder))


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
    """Kill the operation before each of its writes, or so many of them, each time in a fresh copy of a folder."""
    for at in _points(operation, prepared, scratch, most):
        folder = _copy(prepared, scratch)
        if killed_at(operation, folder, at):  # there are a few writes more or less each time
            yield Crash(folder, at, None)
        shutil.rmtree(folder, ignore_errors=True)


def failures(
    operation: Operation, prepared: Path, scratch: Path, error: int, most: int | None = None
) -> Iterator[Crash]:
    """Let each write of the operation fail, or so many of them, each time in a fresh copy of a prepared folder."""
    for at in _points(operation, prepared, scratch, most):
        folder = _copy(prepared, scratch)
        yield Crash(folder, at, fails_at(operation, folder, at, error))
        shutil.rmtree(folder, ignore_errors=True)


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


def _points(operation: Operation, prepared: Path, scratch: Path, most: int | None) -> Iterable[int]:
    """The writes of the operation, from 1: all, or at most so many, spread evenly."""
    folder = _copy(prepared, scratch)
    last = points(operation, folder)
    shutil.rmtree(folder)
    if most is None or most >= last:
        return range(1, last + 1)
    return [1 + (2 * number + 1) * last // (2 * most) for number in range(most)]


def _copy(prepared: Path, scratch: Path) -> Path:
    folder = scratch / f"crash-{time.monotonic_ns()}"
    return Path(shutil.copytree(prepared, folder, symlinks=True))


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
