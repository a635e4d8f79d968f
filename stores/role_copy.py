"""What a machine's copy of a role was when it was last the same as in the database; by it one sees what differs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dramaturg.stores.files import files_in, remove_file, write_bytes


class _Seen(NamedTuple):
    """A file of a copy when it was last the same as in the database: its hash, size, time and number on the disk."""

    digest: str
    size: int
    changed: int
    inode: int


class Copy:
    """What a copy of a role was when it was last the same as in the database; kept beside the role's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder.parent / f".{folder.name}.copy.json"
        self._mark = folder.parent / f".{folder.name}.changing"
        self._folder = folder

    @property
    def is_in_change(self) -> bool:
        """Whether somebody is changing it, or was stopped before the database had what was changed."""
        return self._mark.exists()

    def begin_change(self) -> None:
        """Say that what is written from now on is not in the database yet."""
        write_bytes(self._mark, b"", within=self._folder.parent)

    def end_change(self) -> None:
        """Say that it is what the database has."""
        if self.is_in_change:
            remove_file(self._mark, within=self._folder.parent)

    def read(self) -> tuple[int, dict[str, _Seen]]:
        """The revision, and the files by their paths; -1 and nothing where none is known."""
        try:
            known = json.loads(self._path.read_bytes())
            return int(known["revision"]), {path: _Seen(*seen) for path, seen in known["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return -1, {}

    def write(self, revision: int, files: Mapping[str, str]) -> None:
        """Note what the folder is now: the hash of each file by its path."""
        seen = {path: (digest, *_stat(self._folder / path)) for path, digest in files.items()}
        data = json.dumps({"revision": revision, "files": seen}).encode()
        write_bytes(self._path, data, within=self._folder.parent)

    def same(self, files: Mapping[str, _Seen]) -> dict[str, str]:
        """The files that are as they were when they were seen: the hash of each, by its path."""
        here = {path: _stat(self._folder / path) for path in files_in(self._folder)}
        return {path: seen.digest for path, seen in files.items() if path in here and here[path] == seen[1:]}


def _stat(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino
