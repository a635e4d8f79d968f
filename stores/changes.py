"""Several files of a role are changed at once or not at all; what a version was made from is kept."""

import contextlib
import logging
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Self
from uuid import uuid4

from pydantic import BaseModel, ConfigDict

from dramaturg.stores.errors import RoleError, RoleFileError, StorageError
from dramaturg.stores.files import (
    canonical,
    inside,
    put_in_place,
    remove,
    remove_file,
    sha256,
    sweep,
    write_bytes,
    written_aside,
)

CHANGE = "index/change.json"
"""What is written down of a change that has begun and is not done."""
TAKEN = "index/originals.json"
"""What documents were made of; of what is in index/, it alone changes with them."""
SET_ASIDE = "index/change.*.set_aside"
"""What was written down of changes that cannot be finished."""
_log = logging.getLogger(__name__)


class KeptDocuments:
    """Written and removed under the role's lock."""

    def __init__(self, role: Path) -> None:
        self._role = role
        self._folder = role / "index" / "documents"

    def keep(self, documents: Iterable[bytes]) -> list[str]:
        """Keep documents, but for those that are there and whole; return their hashes."""
        found = [(sha256(data), data) for data in documents]
        new = {self._folder / digest: data for digest, data in dict(found).items() if self.read(digest) is None}
        with written_aside(new, within=self._role) as aside:
            put_in_place(aside)
        return [digest for digest, _ in found]

    def read(self, digest: str) -> bytes | None:
        """Return a document, or None if it is not there or not what was kept."""
        try:
            data = inside(self._folder / digest, self._role).read_bytes()
        except (OSError, RoleError):
            return None
        return data if sha256(data) == digest else None

    def drop_others(self, used: Collection[str]) -> None:
        """Remove what no version is made from any more, and no change that was set aside would have written."""
        sweep(self._folder)
        kept = {*used, *(one for path in self._role.glob(SET_ASIDE) for one in _documents(path, self._role).values())}
        for path in self._folder.glob("*"):
            if path.name not in kept:
                remove_file(path, within=self._role)


class _Journal(BaseModel):
    """`change.json`: the hash that each file will have, None if it will be gone, and a checksum of this."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    documents: dict[str, str | None]
    sha256: str

    @classmethod
    def of(cls, documents: Mapping[str, str | None]) -> Self:
        return cls(documents=dict(documents), sha256=sha256(canonical(dict(documents))))


def change_documents(role: Path, changes: Mapping[str, bytes | None]) -> None:
    """Write (bytes) and remove (None) files, by their paths from the role's folder; for callers that hold its lock.

    After a crash either nothing has changed, or the next one who takes the lock does what is left.

    Raises:
        RoleError: a path cannot be written; nothing has changed.
        StorageError: the file system refuses; nothing has changed, or what is left is done by the next one.
    """
    files = {_writable(role, name): data for name, data in changes.items()}
    kept = iter(KeptDocuments(role).keep(data for data in changes.values() if data is not None))
    digests = {name: None if data is None else next(kept) for name, data in changes.items()}
    with written_aside(files, within=role) as aside:
        write_bytes(role / CHANGE, _Journal.of(digests).model_dump_json().encode(), within=role)
        put_in_place(aside)
    remove_file(role / CHANGE, within=role)


def finish_change(role: Path) -> None:
    """Do what is written down, if anything is; for callers that hold the role's lock.

    What cannot be done is set aside, with a warning that says so, and the role is as it is found.
    """
    path = role / CHANGE
    if not path.exists():
        return
    try:
        files = {}
        for name, digest in _documents(path, role, strict=True).items():
            files[_writable(role, name)] = _left_to_write(role, name, digest)
        for target in files:
            sweep(target.parent, target.name)
        with written_aside(files, within=role) as aside:
            put_in_place(aside)
    except (RoleError, StorageError) as error:
        set_aside = path.with_name(f"change.{uuid4().hex[:8]}.set_aside")
        path.replace(set_aside)
        _log.warning(
            "A change of %r that was interrupted cannot be finished (%s). It is set aside as %s, and what it would "
            "have written is kept in index/documents: look which files have changed, then make the change again.",
            *(role.name, str(error).rstrip("."), set_aside.relative_to(role).as_posix()),
        )
    else:
        remove_file(path, within=role)


def drop_set_aside(role: Path) -> None:
    """Remove what was set aside; for callers that hold the role's lock."""
    for path in role.glob(SET_ASIDE):
        remove(path) if path.is_dir() and not path.is_symlink() else remove_file(path, within=role)


def _writable(role: Path, name: str) -> Path:
    """Return the path of a file that can be put there, or removed, as far as that can be seen.

    Raises:
        RoleError: it cannot; the message says why.
    """
    path, steps = role / name, name.split("/")
    no_path = f"{name[:80]!r} cannot be the path of a file of a role: take letters, digits, spaces, - and _."
    try:
        if "\0" in name or not name.encode() or {"", ".", ".."} & {*steps} or (steps[0] == "index" and name != TAKEN):
            raise RoleError(no_path)
        if inside(path.parent, role) and path.is_dir() and not path.is_symlink():
            raise RoleError(f"{name} of {role.name!r} is a folder: move it away, or take another name.")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            path.lstat()  # from Python 3.14 on `exists` only says of a name that is too long that it is not there
        if path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            raise RoleError(f"{name} of {role.name!r} may not be written: give permission.")
    except (OSError, UnicodeError) as error:
        raise RoleError(no_path) from error
    return path


def _left_to_write(role: Path, name: str, digest: str | None) -> bytes | None:
    """The bytes that a file will have: kept, or there already."""
    if digest is None:
        return None
    kept = KeptDocuments(role).read(digest)
    if kept is None:
        with contextlib.suppress(OSError):
            kept = inside(role / name, role).read_bytes()
    if kept is None or sha256(kept) != digest:
        raise RoleFileError(f"what {name} will hold was not kept, or is damaged")
    return kept


def _documents(path: Path, role: Path, *, strict: bool = False) -> Mapping[str, str | None]:
    """What is written down; nothing where that is damaged, unless it must not be."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        journal = _Journal.model_validate_json(inside(path, role).read_bytes())
        if journal == _Journal.of(journal.documents):
            return journal.documents
    if strict:
        raise RoleFileError(f"{path.relative_to(role).as_posix()} is damaged")
    return {}
