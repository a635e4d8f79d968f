"""Files that are whole or not there: written aside, flushed to the disk, renamed.

What reads or writes raises RoleError for a path that leads out of the folder `within`, and StorageError when the file
system refuses; what was there before is there still.
"""

import contextlib
import errno
import glob
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from uuid import uuid4

from pydantic import JsonValue

from dramaturg.stores.errors import RoleError, RoleFileError, StorageError

LARGEST = 100_000_000  # bytes of one file that people write; compared before it is read
_IN_THE_WAY = "something else is in its place: move that away"
_TODO = {
    errno.ENAMETOOLONG: "take a shorter name",
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY), _IN_THE_WAY),
}
_ASIDE = re.compile(r"\..+\.[0-9a-f]{32}\.tmp", re.DOTALL)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def canonical(value: JsonValue) -> bytes:
    """Return the one JSON text of a value: sorted keys, no spaces, UTF-8.

    Raises:
        ValueError: a number is not finite, or a text is not Unicode (a lone surrogate).
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode()


def inside(path: Path, folder: Path) -> Path:
    """Return the path with links below the folder followed, if that is still in the folder.

    Raises:
        RoleError: a link or `..` leads out of the folder.
    """
    if path.is_relative_to(folder):  # each file that is read comes by here, and to follow links takes long
        parts = path.parts[len(folder.parts) :]
        steps = list(accumulate(parts, os.path.join, initial=os.fspath(folder)))[1:]
        if ".." not in parts and not any(map(os.path.islink, steps)):
            return path
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of links: RuntimeError up to Python 3.12, OSError after it
        raise RoleError(f"{path.name} is a link that leads nowhere: remove it.") from error
    if not resolved.is_relative_to(folder.resolve()):
        raise RoleError(f"{path.name} leads out of {folder.name}: put a copy there in place of the link.")
    return resolved


def read_if_there(path: Path, *, within: Path) -> bytes | None:
    """Return the bytes of a file, or None if it is not there."""
    try:
        return inside(path, within).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read ({error.strerror}): give permission, or check the disk.") from error


def read_bytes(path: Path, within: Path) -> bytes:
    """Return the bytes of a file that people write, of at most 100 MB.

    Raises:
        RoleFileError: it is larger, is not there, or cannot be read.
    """
    real, name = inside(path, within), path.relative_to(within.parent).as_posix()
    try:
        size = real.stat().st_size
        if size > LARGEST:
            raise RoleFileError(f"{name} has more than {LARGEST:,} bytes: split it into several files.")
        return real.read_bytes()
    except OSError as error:
        raise RoleFileError(f"{name} cannot be read ({error.strerror}): put it there.") from error


def write_bytes(path: Path, data: bytes, *, within: Path, private: bool = False) -> None:
    """Put a file in place in one step: after a crash there is the old file or the new one, never a part.

    Args:
        path: the file.
        data: all that it will hold.
        within: the folder that it must not lead out of.
        private: whether it is its owner's alone.
    """
    with written_aside({path: data}, within=within, private=private) as aside:
        put_in_place(aside)


@contextlib.contextmanager
def written_aside(
    files: Mapping[Path, bytes | None], *, within: Path, private: bool = False
) -> Iterator[dict[Path, Path | None]]:
    """Write files beside where they will be: give what `put_in_place` takes; what is not put there is removed.

    What the file system refuses, such as for want of room, it refuses here, while nothing has changed.

    Args:
        files: what each will hold; None: it will be gone.
        within: the folder that they must not lead out of.
        private: whether they are their owner's alone.
    """
    aside = dict[Path, Path | None]()
    try:
        for path, data in files.items():
            inside(path.parent, within)
            aside[path] = None if data is None else path.parent / f".{path.name}.{uuid4().hex}.tmp"
            if data is not None:
                with _refusals(path):
                    _make(path.parent)
                    with open(str(aside[path]), "xb", opener=_owners if private else None) as file:
                        file.write(data)
        for path, written in aside.items():  # when all are written: of thousands, most are on the disk by then
            if written is not None:
                with _refusals(path), written.open("r+b") as file:
                    os.fsync(file.fileno())
        yield aside
    finally:
        for left in filter(None, aside.values()):
            with contextlib.suppress(OSError):
                left.unlink() if left.exists() else None


def put_in_place(aside: Mapping[Path, Path | None]) -> None:
    """Rename files that are written aside, one after the other, and remove those that are to be gone.

    Each folder is flushed once, when all of its files are there: thousands of files are one change of a folder.
    """
    changed = dict[Path, Path]()
    for path, written in aside.items():
        with _refusals(path):
            if written is not None:
                os.replace(written, path)  # noqa: PTH105 (one name for the step that tests interrupt)
                changed[path.parent] = path
            elif path.parent.is_dir():
                path.unlink(missing_ok=True)
                changed[path.parent] = path
    for folder, path in changed.items():
        with _refusals(path):
            _flush_folder(folder)


def close_to_others(path: Path) -> None:
    """Take the rights to a file or a folder from all but its owner, where it is there.

    Raises:
        StorageError: it is a link, or its rights cannot be changed.
    """
    with _refusals(path):
        if path.is_symlink():
            raise StorageError(f"{path} is a link: put what it leads to in its place.")
        if os.name != "nt" and path.exists() and path.stat().st_mode & 0o077:
            path.chmod(0o700 if path.is_dir() else 0o600)


def _owners(path: str, flags: int) -> int:
    """Open a file that only its owner may read, from its first moment on."""
    return os.open(path, flags, 0o600)


def append_bytes(path: Path, data: bytes, *, within: Path) -> None:
    """Add to the end of a file: once this returns, it is on the disk.

    After a crash a part of it may be there: write lines, and leave out one that does not end.
    """
    inside(path.parent, within)
    with _refusals(path):
        _make(path.parent)
        new = not path.exists()
        with path.open("ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if new:
            _flush_folder(path.parent)


def move_folder(source: Path, target: Path, *, within: Path) -> None:
    """Rename a folder whose files are flushed already; the target must not be there.

    Raises:
        StorageError: the file system refuses, or the target is there.
    """
    inside(source, within)
    inside(target.parent, within)
    with _refusals(target):
        _make(target.parent)
        os.replace(source, target)  # noqa: PTH105 (see above)
        _flush_folder(target.parent)


def make_folder(folder: Path, *, within: Path) -> None:
    """Make a folder and its parents so that they outlive a power cut."""
    inside(folder, within)
    with _refusals(folder):
        _make(folder)


def remove_file(path: Path, *, within: Path) -> None:
    """Remove a file for good; one that is not there is removed already."""
    inside(path.parent, within)
    with _refusals(path):
        path.unlink(missing_ok=True)
        _flush_folder(path.parent)


def remove(folder: Path) -> None:
    """Remove a folder as far as the system lets us: what stays is seen by nobody and goes the next time."""
    shutil.rmtree(folder, ignore_errors=True)


def sweep(folder: Path, name: str = "") -> None:
    """Remove what a killed process wrote aside, all or of one file; call it only where nobody else can be writing."""
    for path in left_aside(folder, name):
        with contextlib.suppress(OSError):
            path.unlink()


def left_aside(folder: Path, name: str = "") -> list[Path]:
    """Return what is written aside in a folder, or was by a killed process: all, or of one file."""
    return [path for path in folder.glob(f".{glob.escape(name)}*.tmp") if _ASIDE.fullmatch(path.name)]


def files_in(folder: Path) -> list[str]:
    """The paths of the files of a role, sorted; what begins with a dot is a lock, or was not finished."""
    found = list[str]()
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(where, name).relative_to(folder).as_posix() for name in names if not name.startswith(".")]
    return sorted(found)


def _make(folder: Path) -> None:
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        _flush_folder(folder.parent)


def _flush_folder(folder: Path) -> None:
    """Flush the names in a folder; without it, a rename may be lost in a power cut."""
    if os.name == "nt":
        return  # Windows keeps names in its journal and cannot open a folder
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Say of what the file system refuses which file it is about, and what to do."""
    try:
        yield
    except OSError as error:
        todo = _TODO.get(error.errno or 0, "make room or give permission, then run it again")
        raise StorageError(f"{path} cannot be written ({error.strerror or error}): {todo}.") from error
