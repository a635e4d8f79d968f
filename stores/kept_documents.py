"""`index/documents/`: the documents that the versions of an index were made from, by the hash of their bytes."""

from collections.abc import Collection
from pathlib import Path

from dramaturg.stores.errors import RoleError
from dramaturg.stores.files import inside, remove_file, sha256, sweep, write_bytes


class KeptDocuments:
    """Written and removed under the role's lock."""

    def __init__(self, role: Path) -> None:
        self._role = role
        self._folder = role / "index" / "documents"

    def keep(self, data: bytes) -> str:
        """Keep a document, unless it is there and whole; return its hash.

        Raises:
            StorageError: the file system refuses.
        """
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
        """Remove what no version is made from any more.

        Raises:
            StorageError: the file system refuses.
        """
        sweep(self._folder)
        for path in self._folder.glob("*"):
            if path.name not in used:
                remove_file(path, within=self._role)
