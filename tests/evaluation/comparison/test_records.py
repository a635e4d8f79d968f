"""The records of an evaluation: only added to, whole after a kill, and the newest of a key counts."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.evaluation.comparison.records import Judged, RecordFile, Reply, whole_lines
from dramaturg.stores.errors import RoleFileError, StorageError

from crash_points import SOME_OR_ALL, failures, kills


def reply(key: str, text: str = "Tom.", error: str = "") -> Reply:
    return Reply(
        key=key, contestant="vanilla", role="ada", seed=0, question="q", asked="Who?", text=text, error=error, model="m"
    )


def mark(key: str, value: float | None = 1.0) -> Judged:
    return Judged(key=key, reply="r", metric="accuracy", value=value, model="judge")


def test_what_is_added_is_there_and_the_newest_counts(tmp_path: Path) -> None:
    file = RecordFile(tmp_path)
    assert file.read() == ({}, {}, {})
    file.add([reply("a", "One."), mark("b")])
    file.add([reply("a", "Two.")])
    assert file.read() == ({"a": reply("a", "Two.")}, {"b": mark("b")}, {})


@given(st.lists(st.sampled_from("abc"), max_size=6), st.integers(0, 400))
def test_a_file_that_ends_anywhere_lacks_its_last_record_alone(keys: list[str], cut: int) -> None:
    lines = [reply(key, f"{at}").model_dump_json() + "\n" for at, key in enumerate(keys)]
    data = "".join(lines).encode()[: -cut or None]
    whole = whole_lines(data)
    assert data.startswith(whole)
    assert whole == "".join(lines[: whole.count(b"\n")]).encode()
    assert b"\n" not in data[len(whole) :]


def test_a_line_that_was_not_written_to_its_end_is_cut_off_before_more_is_added(tmp_path: Path) -> None:
    file = RecordFile(tmp_path)
    file.add([reply("a")])
    with file.path.open("ab") as torn:
        torn.write(b'{"kind": "reply", "ke')
    assert file.read().replies.keys() == {"a"}
    with file.opened() as known:
        assert known.replies.keys() == {"a"}
        file.add([reply("b")])
    assert file.read().replies.keys() == {"a", "b"}


@pytest.mark.parametrize("line", ["[]", '{"kind": "other"}', '{"kind": "reply", "key": "a"}', "\x00", '{"kind": 3}'])
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: str) -> None:
    RecordFile(tmp_path).add([reply("a")])
    with (tmp_path / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(RoleFileError, match=r"records\.jsonl, line 2: this is no record"):
        RecordFile(tmp_path).read()


def add_two(folder: Path) -> None:
    """Add records twice; the folder says which of it was acknowledged."""
    file = RecordFile(folder)
    for key in ("b", "c"):
        with file.opened() as known:
            if key not in known.replies:
                file.add([reply(key)])
        os.mkdir(folder / f"done-{key}")  # noqa: PTH102


def begun(folder: Path) -> Path:
    made = folder / "begun"
    made.mkdir()
    RecordFile(made).add([reply("a")])
    return made


def acknowledged(folder: Path) -> set[str]:
    return {"a", *(path.name.removeprefix("done-") for path in folder.glob("done-*"))}


@SOME_OR_ALL
def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path, most: int | None) -> None:
    killed = 0
    for crash in kills(add_two, begun(tmp_path), tmp_path, most):
        killed += 1
        assert acknowledged(crash.folder) <= RecordFile(crash.folder).read().replies.keys()
        for path in crash.folder.glob("done-*"):
            path.rmdir()
        add_two(crash.folder)
        assert RecordFile(crash.folder).read().replies.keys() == {"a", "b", "c"}
    assert killed >= (most or 6)


@SOME_OR_ALL
@pytest.mark.parametrize("error", [28, 5])
def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path, error: int, most: int | None) -> None:
    failed = 0
    for crash in failures(add_two, begun(tmp_path), tmp_path, error, most):
        failed += isinstance(crash.error, StorageError)
        assert acknowledged(crash.folder) <= RecordFile(crash.folder).read().replies.keys()
    assert failed > (0 if most else 1)
