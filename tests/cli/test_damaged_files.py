"""Five hundred damaged or hostile files at the door of `dramaturg import`: a sentence and nothing written, or read."""

import re
import tracemalloc
from pathlib import Path

import pytest
from damaged_files import NUMBER, Case, cases

from dramaturg.stores.files import files_in
from dramaturg.stores.formats.told import read_file
from dramaturg.stores.library import Library

from commands import Command

CASES = cases()
MEMORY = 150_000_000
"""Bytes that a command may take beside ten times the file."""


def held(library: Path) -> dict[str, bytes]:
    """All that a library holds, but for locks."""
    return {path: (library / path).read_bytes() for path in files_in(library) if not path.endswith(".lock")}


def test_there_are_five_hundred() -> None:
    assert len({case.label for case in CASES}) == NUMBER


@pytest.mark.sample(16)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_a_damaged_file_is_refused_in_a_sentence_or_read_right(
    case: Case, run: Command, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("damaged") / "some.bin"
    file.write_bytes(case.make())
    whose = ["ada"] if case.name.startswith(("book", "world", "chat", "conversation")) else []
    before = held(tmp_path)
    tracemalloc.start()
    try:
        code, out, err = run("import", *whose, str(file), "--thread", "t")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEMORY + 10 * file.stat().st_size
    assert [path.name for path in file.parent.iterdir()] == ["some.bin"]
    if code:
        assert re.fullmatch(r"Error: \S.*\.", err), err
        assert len(err) < 420
        assert err.isprintable()
        assert (code, out, held(tmp_path)) == (2, "", before)
        return
    library = Library(tmp_path)
    for name in library.roles():
        role = library.role(name)
        assert role.card.name
        assert role.documents() is not None
        again = tmp_path / "card.png"
        assert run("export", name, str(again))[0] == 0
        assert read_file(again)
