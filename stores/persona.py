"""`persona/`: the documents of a role, and what is asked of those who change them."""

from collections.abc import Mapping
from pathlib import Path

from dramaturg.stores.document_changes import change_documents
from dramaturg.stores.errors import StaleDraft
from dramaturg.stores.files import sha256
from dramaturg.stores.kept_documents import KeptDocuments
from dramaturg.stores.reading import read_bytes
from dramaturg.stores.role_files import document_paths
from dramaturg.stores.role_lock import role_lock


class Persona:
    """The documents of one role, as they are on disk; who changes them with this class never meets half a change."""

    def __init__(self, role: Path) -> None:
        self._role = role

    def names(self) -> list[str]:
        """Return the names of the documents, sorted."""
        return [path.name for path in document_paths(self._role)]

    def read(self, name: str) -> bytes:
        """Return the bytes of a document.

        Raises:
            RoleFileError: it is not there, or cannot be read.
        """
        return read_bytes(self._role / "persona" / name, self._role)

    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of each document, by its name."""
        return {name: sha256(self.read(name)) for name in self.names()}

    def change(self, changes: Mapping[str, bytes | None], *, was: Mapping[str, str | None] | None = None) -> None:
        """Write (bytes) and remove (None) documents, all or none.

        Args:
            changes: the new bytes, by the name of the document.
            was: the SHA-256 that documents must have for the change to be made; None: not there.

        Raises:
            StaleDraft: a document is not what `was` says.
            RoleBusy: another program holds the role.
            StorageError: the file system refuses; what was there is there, or the change is finished later.
        """
        with role_lock(self._role):
            now = self.checksums() if was else {}
            for name, digest in (was or {}).items():
                if now.get(name) != digest:
                    raise StaleDraft(
                        f"{name} of {self._role.name!r} was changed meanwhile: look at it, then try again."
                    )
            change_documents(self._role, changes)

    def keep(self, sources: Mapping[str, str]) -> None:
        """Keep the documents of a version, so that it can be taken back; for callers that hold the role's lock.

        Raises:
            StaleDraft: the documents are no longer these.
            StorageError: the file system refuses.
        """
        kept = KeptDocuments(self._role)
        same = self.names() == sorted(sources)
        for name in sources if same else ():
            data = self.read(name)
            same = same and sha256(data) == sources[name]
            if same:
                kept.keep(data)
        if not same:
            raise StaleDraft(
                f"The documents of {self._role.name!r} were changed while they were indexed: "
                f"run `dramaturg index {self._role.name}` again."
            )
