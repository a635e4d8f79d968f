"""Several files of a role are changed at once or not at all; what a version was made from is kept."""

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

from dramaturg.stores.errors import RoleError
from dramaturg.stores.files import canonical, inside, make_folder, remove_file, sha256, sweep, write_bytes

CHANGE = "index/change.json"
"""What is written down of a change that has begun and is not done."""


class KeptDocuments:
    """Written and removed under the role's lock."""

    def __init__(self, role: Path) -> None:
        self._role = role
        self._folder = role / "index" / "documents"

    def keep(self, data: bytes) -> str:
        """Keep a document, unless it is there and whole; return its hash."""
        digest = sha256(data)
        if self.read(digest) is None:
            write_bytes(self._folder / digest, data, within=self._role)
        return digest

    def read(self, digest: str) -> bytes | None:
        """Return a document, or None if it is not there or not what was kept."""
        try:
            data = inside(self._folder / digest, self._role).read_bytes()
        except (OSError, RoleError):
            return None
        return data if sha256(data) == digest else None

    def drop_others(self, used: Collection[str]) -> None:
        """Remove what no version is made from any more."""
        sweep(self._folder)
        for path in self._folder.glob("*"):
            if path.name not in used:
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
    """
    kept = KeptDocuments(role)
    digests = {name: None if data is None else kept.keep(data) for name, data in changes.items()}
    write_bytes(role / CHANGE, _Journal.of(digests).model_dump_json().encode(), within=role)
    finish_change(role)


def finish_change(role: Path) -> None:
    """Do what is written down, if anything is; for callers that hold the role's lock."""
    path = role / CHANGE
    if not path.exists():
        return
    kept = KeptDocuments(role)
    for name, digest in _read(path, role).items():
        target = role / name
        make_folder(target.parent, within=role)
        sweep(target.parent, target.name)
        if digest is None:
            remove_file(target, within=role)
        elif (data := kept.read(digest)) is not None:
            write_bytes(target, data, within=role)
    remove_file(path, within=role)


def _read(path: Path, role: Path) -> Mapping[str, str | None]:
    """What is written down; nothing if it is damaged: then not a document was changed yet, or all are kept."""
    with contextlib.suppress(OSError, ValueError):
        journal = _Journal.model_validate_json(inside(path, role).read_bytes())
        if journal == _Journal.of(journal.documents):
            return journal.documents
    return {}
