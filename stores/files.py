"""Files that are whole or not there: written aside, flushed to the disk, renamed.

What reads or writes raises RoleError for a path that leads out of the folder `within`, and StorageError when the file
system refuses; what was there before is there still.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from uuid import uuid4

from pydantic import JsonValue

from dramaturg.stores.errors import RoleError, RoleFileError, StorageError

LARGEST = 100_000_000  # bytes of one file that people write; compared before it is read
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
    """Return the path with its links followed, if that is still in the folder.

    Raises:
        RoleError: a link or `..` leads out of the folder.
    """
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
    inside(path.parent, within)
    aside = path.parent / f".{path.name}.{uuid4().hex}.tmp"
    try:
        _make(path.parent)
        with open(aside, "xb", opener=_owners if private else None) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)  # noqa: PTH105 (one name for the step that tests interrupt)
        _flush_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise _refusal(path, error) from error


def close_to_others(path: Path) -> None:
    """Take the rights to a file or a folder from all but its owner, where it is there.

    Raises:
        StorageError: it is a link, or its rights cannot be changed.
    """
    try:
        if path.is_symlink():
            raise StorageError(f"{path} is a link: put what it leads to in its place.")
        if os.name != "nt" and path.exists() and path.stat().st_mode & 0o077:
            path.chmod(0o700 if path.is_dir() else 0o600)
    except OSError as error:
        raise _refusal(path, error) from error


def _owners(path: str, flags: int) -> int:
    """Open a file that only its owner may read, from its first moment on."""
    return os.open(path, flags, 0o600)


def append_bytes(path: Path, data: bytes, *, within: Path) -> None:
    """Add to the end of a file: once this returns, it is on the disk.

    After a crash a part of it may be there: write lines, and leave out one that does not end.
    """
    inside(path.parent, within)
    try:
        _make(path.parent)
        new = not path.exists()
        with path.open("ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if new:
            _flush_folder(path.parent)
    except OSError as error:
        raise _refusal(path, error) from error


def move_folder(source: Path, target: Path, *, within: Path) -> None:
    """Rename a folder whose files are flushed already; the target must not be there.

    Raises:
        StorageError: the file system refuses, or the target is there.
    """
    inside(source, within)
    inside(target.parent, within)
    try:
        _make(target.parent)
        os.replace(source, target)  # noqa: PTH105 (see above)
        _flush_folder(target.parent)
    except OSError as error:
        raise _refusal(target, error) from error


def make_folder(folder: Path, *, within: Path) -> None:
    """Make a folder and its parents so that they outlive a power cut."""
    inside(folder, within)
    try:
        _make(folder)
    except OSError as error:
        raise _refusal(folder, error) from error


def remove_file(path: Path, *, within: Path) -> None:
    """Remove a file for good; one that is not there is removed already."""
    inside(path.parent, within)
    try:
        path.unlink(missing_ok=True)
        _flush_folder(path.parent)
    except OSError as error:
        raise _refusal(path, error) from error


def remove(folder: Path) -> None:
    """Remove a folder as far as the system lets us: what stays is seen by nobody and goes the next time."""
    shutil.rmtree(folder, ignore_errors=True)


def sweep(folder: Path, name: str = "") -> None:
    """Remove what a killed process wrote aside, all or of one file; call it only where nobody else can be writing."""
    for path in folder.glob(f".{name}*.tmp"):
        if _ASIDE.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()


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


def _refusal(path: Path, error: OSError) -> StorageError:
    reason = error.strerror or str(error)
    return StorageError(f"{path} cannot be written ({reason}): make room or give permission, then run it again.")
