"""A turn that is killed at each of its writes, or meets a full disk there: nothing acknowledged is lost or doubled."""

import errno
import multiprocessing
import random
import time
from functools import partial
from pathlib import Path

import pytest

from dramaturg.stores.conversations.memories import memory_id
from dramaturg.stores.errors import StorageError
from dramaturg.workflows.methods import METHODS

from crash_points import SOME_OR_ALL, Crash, failures, killed_after, kills
from turns_in_processes import acknowledged, go_on, history, prepared, remembered, take

TURN = {method: partial(take, method=method, messages=["m-3"]) for method in METHODS}
ON = {method: partial(go_on, method=method, turns=4) for method in METHODS}

# The others write what these write, and less.
ALL = ["amadeus", *(pytest.param(name, marks=pytest.mark.crash) for name in ("role-rag", "emotional-rag"))]


@pytest.fixture(scope="module", params=ALL)
def method(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def before(method: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp(method), method, turns=2)


def ids(folder: Path, method: str) -> list[str]:
    """The turns of the history; where turns become memories, those of the state are theirs, and can be read."""
    found = [turn.id for turn in history(folder, method)]
    expected = [memory_id(turn) for turn in found] if method == "emotional-rag" else []
    kept, read = remembered(folder, method)
    assert kept == read
    kept = [one.partition("-")[0] for one in kept]  # of the turn, and not of what was said in it
    assert kept in (expected[-200:], expected[-201:-1])  # a turn may have stopped between its reply and its memory
    return found


def finished(folder: Path, method: str) -> list[str]:
    """The turns, the last of them remembered too."""
    found = ids(folder, method)
    assert len(remembered(folder, method)[0]) == (len(found) if method == "emotional-rag" else 0)
    return found


@SOME_OR_ALL
def test_a_turn_that_is_killed_at_any_write_is_whole_or_not_there(
    method: str, before: Path, tmp_path: Path, most: int | None
) -> None:
    points = [whole_or_not_there(crash, method) for crash in kills(TURN[method], before, tmp_path, most)]
    assert len(points) >= (most or 5)


def whole_or_not_there(crash: Crash, method: str) -> int:
    """What was acknowledged is in the history, once; the client sends again what it has no answer to."""
    found = ids(crash.folder, method)
    assert found[:2] == ["m-1", "m-2"]
    assert found[2:] in ([], ["m-3"])
    assert set(acknowledged(crash.folder)) <= set(found)
    take(crash.folder, method, ["m-3"])
    assert finished(crash.folder, method) == ["m-1", "m-2", "m-3"]
    return crash.point


@SOME_OR_ALL
def test_a_disk_that_is_full_at_any_write_costs_the_turn_only(
    method: str, before: Path, tmp_path: Path, most: int | None
) -> None:
    for crash in failures(TURN[method], before, tmp_path, errno.ENOSPC, most):
        assert crash.error is None or isinstance(crash.error, StorageError)
        found = ids(crash.folder, method)
        assert found[:2] == ["m-1", "m-2"]
        assert crash.error is not None or found == ["m-1", "m-2", "m-3"]
        take(crash.folder, method, ["m-3"])
        assert finished(crash.folder, method) == ["m-1", "m-2", "m-3"]


@pytest.mark.crash
def test_turns_that_are_killed_at_any_time(before: Path, method: str, tmp_path: Path) -> None:
    """A hundred kills a method."""
    chance = random.Random(1)
    folder = prepared(tmp_path / "library", method, turns=2)
    begun = time.monotonic()
    assert not killed_after(ON[method], folder, 600)
    long = time.monotonic() - begun
    killed = 0
    for _ in range(100):
        is_killed = killed_after(ON[method], folder, chance.uniform(0, long))
        killed += is_killed
        long *= 1.1 if is_killed else 0.8  # a machine's speed changes: some turns are to end before they are killed
        found = ids(folder, method)
        assert found == [f"m-{number}" for number in range(1, len(found) + 1)]
        assert set(acknowledged(folder)) <= set(found)
    # How many of each is the machine's speed; that there are some of each is the test's.
    assert killed
    assert len(found) > 6


@pytest.mark.crash
def test_four_processes_on_one_thread(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "library", "amadeus", turns=0)
    spawn = multiprocessing.get_context("spawn")
    workers = [
        spawn.Process(target=take, args=(folder, "amadeus", [f"{worker}-{n}" for n in range(100)]))
        for worker in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    found = ids(folder, "amadeus")
    assert len(found) == 400
    assert set(found) == {f"{worker}-{n}" for worker in range(4) for n in range(100)}
    for worker in range(4):
        assert [one for one in found if one.startswith(f"{worker}-")] == [f"{worker}-{n}" for n in range(100)]
