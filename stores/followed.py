"""What was read at a path, and is read again when the file system says that another thing is there now."""

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

SETTLED = 2_000_000_000  # nanoseconds; no file system counts time in larger steps


class Stamp(NamedTuple):
    """Which file or folder a path is, and when it was changed: what it holds, and what is said of it."""

    device: int
    inode: int
    size: int
    changed: int
    said: int
    """When its size, rights, times or names were last changed: nobody can set this back, as `changed` can be."""


def stamp_of(path: Path) -> Stamp | None:
    """Return the stamp of what is there; None: nothing is, or a link, whose own stamp says nothing of its target."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return None
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Followed(Generic[T]):
    """What was read at a path: one look at its stamp, as long as that is the same.

    File systems count time in steps, of 10 ms or of 2 s: two changes within a step leave the same stamp. What was read
    so soon after a change is therefore read again, until a change would show.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[Stamp, T] | None = None

    def get(self, read: Callable[[], T]) -> T:
        """Return what was read last, or what `read` returns now; if that raises, nothing is known."""
        begun = time.time_ns()
        now, known = stamp_of(self._path), self._known
        if known is not None and known[0] == now:
            return known[1]
        self._known = None
        found = read()
        if now is not None and max(now.changed, now.said) + SETTLED < begun:
            self._known = now, found
        return found
