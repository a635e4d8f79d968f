"""Roles that are being made when the process is killed: each is whole or not there, and the same command goes on."""

from pathlib import Path

import tiny_datasets as tiny

from dramaturg.evaluation.datasets.cast import placed, put_into
from dramaturg.evaluation.datasets.casting import cast_of
from dramaturg.evaluation.datasets.folders import Wish
from dramaturg.stores.library import Library

from crash_points import SOME_OR_ALL, kills


def make(folder: Path) -> None:
    """Make the roles of a book."""
    cast, library = cast_of(Wish("coser", folder / "data")), Library(folder / "library")
    put_into(cast, placed(cast, [*cast.members], library), library)


@SOME_OR_ALL
def test_a_kill_leaves_whole_roles(tmp_path: Path, most: int | None) -> None:
    prepared = tmp_path / "prepared"
    tiny.coser(prepared / "data")
    cast, points = cast_of(Wish("coser", prepared / "data")), 0
    for crash in kills(make, prepared, tmp_path, most):
        library, points = Library(crash.folder / "library"), points + 1
        for role in library.roles():
            assert library.contents(role) == cast.files(role)
        make(crash.folder)
        assert {role: library.contents(role) for role in library.roles()} == {
            role: cast.files(role) for role in cast.members
        }
    assert points > 1
