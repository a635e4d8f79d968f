"""What lay in a folder before a write is what a process leaves that is killed there."""

import shutil
import sqlite3
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import counted_writes
from counted_writes import Plan, Writes
from crash_points import killed_at, kills, pictures, spread, writes_of

Content = dict[str, Any]


def write_all_ways(folder: Path) -> None:
    """A file, another in its place, a database with a log and one without, and a file of another thread's."""
    (folder / "card.txt").write_text("Ada, who keeps the light")
    for name, mode in (("log", "WAL"), ("journal", "DELETE")):
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as database:
            database.execute(f"PRAGMA journal_mode = {mode}")
            with database:
                database.execute("CREATE TABLE IF NOT EXISTS said (text)")
                database.execute("INSERT INTO said VALUES ('Ay.')")
    thread = Thread(target=(folder / "aside").write_text, args=("Ada, who kept the light",))
    thread.start()
    thread.join()
    (folder / "aside").replace(folder / "card.txt")
    (folder / "empty").mkdir()


def content(folder: Path) -> Content:
    """All files and folders, of a log its length, for there is chance in it; and what is read in the databases then.

    The memory that processes share about a log is begun anew by the next one.
    """
    found: Content = {
        path.relative_to(folder).as_posix(): path.is_file()
        and (path.stat().st_size if path.name.endswith(("-wal", "-journal")) else path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if not path.name.endswith("-shm")
    }
    for path in sorted(folder.glob("*.sqlite")):
        with closing(sqlite3.connect(path)) as database:
            tables = database.execute("SELECT name FROM sqlite_master").fetchall()
            found[f"rows of {path.name}"] = tables and database.execute("SELECT text FROM said").fetchall()
    return found


@pytest.mark.parametrize("most", [4, pytest.param(None, marks=pytest.mark.crash)], ids=["some", "all"])
def test_a_picture_is_what_a_kill_leaves(tmp_path: Path, most: int | None) -> None:
    prepared, killed = tmp_path / "prepared", tmp_path / "killed"
    prepared.mkdir()
    left = {crash.point: content(crash.folder) for crash in kills(write_all_ways, prepared, tmp_path)}
    writes = len(writes_of(write_all_ways, Path(shutil.copytree(prepared, tmp_path / "dry"))))
    assert 8 < len(left) < writes  # statements of a transaction change nothing on the disk
    for at in spread(range(1, writes + 1), most):
        shutil.copytree(prepared, killed)
        assert killed_at(write_all_ways, killed, at)
        assert content(killed) == left[max(point for point in left if point <= at)], at
        shutil.rmtree(killed)


def test_each_picture_differs_from_the_one_before(tmp_path: Path) -> None:
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    found = [picture for _, picture in pictures(write_all_ways, prepared, tmp_path)]
    assert all(before != after for before, after in pairwise(found))


def test_nobody_is_in_the_midst_of_a_write_while_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_writes, "AT_REST", 60)  # no locks here, and a write may take long on busy cores
    seen, path = list[bytes](), tmp_path / "file"
    writes = Writes(Plan(), lambda: seen.append(path.read_bytes() if path.exists() else b""))
    path.write_bytes(b"")

    def slowly() -> None:
        for byte in (b"a", b"b"):
            with path.open("ab") as file:
                file.write(byte)
            time.sleep(0.01)

    threads = [Thread(target=writes.step, args=("slow", slowly)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [b"ab" * number for number in range(4)]
