"""The files that dialogues are made of, read line by line."""

from collections.abc import Mapping
from pathlib import Path

from dramaturg.stores.reading import numbered_lines
from dramaturg.stores.role_files import DialogueLine, dialogue_paths
from dramaturg.stores.sources import finish_begun_change


def read_dialogue_files(role: Path) -> dict[str, Mapping[int, DialogueLine]]:
    """Return the lines of each file by their numbers, from 1; a change that has begun is finished first.

    Raises:
        RoleFileError: a file or a line cannot be used.
    """
    finish_begun_change(role)
    return {
        path.relative_to(role).as_posix(): numbered_lines(path, DialogueLine, role) for path in dialogue_paths(role)
    }
