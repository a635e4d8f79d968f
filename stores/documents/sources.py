"""The files of a role that an index is made from, and what is asked of those who change them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from dramaturg.stores.changes import CHANGE, KeptDocuments, change_documents
from dramaturg.stores.errors import StaleDraft
from dramaturg.stores.files import read_bytes, sha256
from dramaturg.stores.locks import role_lock


class Sources:
    """The files of one kind, as they are on disk; who changes them with this class never meets half a change.

    Args:
        role: the folder of the role.
        folder: the folder in it that their names count from, such as "persona/"; empty: the role's.
        find: returns their paths in a role.
    """

    def __init__(self, role: Path, folder: str, find: Callable[[Path], list[Path]]) -> None:
        self._role = role
        self._folder = folder
        self._find = find

    def names(self) -> list[str]:
        """Return the names of the files, sorted; a change that has begun is finished first."""
        finish_begun_change(self._role)
        return sorted(path.relative_to(self._role / self._folder).as_posix() for path in self._find(self._role))

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        return read_bytes(self._role / self._folder / name, self._role)

    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of each file, by its name."""
        return {name: sha256(self.read(name)) for name in self.names()}

    def change(
        self,
        changes: Mapping[str, bytes | None],
        *,
        was: Mapping[str, str | None] | None = None,
        beside: Mapping[str, bytes | None] | None = None,
    ) -> None:
        """Write (bytes) and remove (None) files, all or none.

        Args:
            changes: the new bytes, by the name of the file.
            was: the SHA-256 that files must have for the change to be made; None: not there.
            beside: other files of the role, by their paths in it.

        Raises:
            StaleDraft: a file is not what `was` says.
            StorageError: the file system refuses; what was there is there, or the change is finished later.
        """
        with role_lock(self._role):
            now = self.checksums() if was else {}
            for name, digest in (was or {}).items():
                if now.get(name) != digest:
                    raise StaleDraft(
                        f"{name} of {self._role.name!r} was changed meanwhile: look at it, then try again."
                    )
            self.make(changes, beside)

    def make(self, changes: Mapping[str, bytes | None], beside: Mapping[str, bytes | None] | None = None) -> None:
        """Change files as `change` does, and others `beside` by their paths in the role, for who holds its lock."""
        own = {f"{self._folder}{name}": data for name, data in changes.items()}
        change_documents(self._role, {**own, **(beside or {})})

    def keep(self, sources: Mapping[str, str]) -> None:
        """Keep the files of a version, so that it can be taken back; for callers that hold the role's lock."""
        kept = KeptDocuments(self._role)
        same = self.names() == sorted(sources)
        for name in sources if same else ():
            data = self.read(name)
            same = same and sha256(data) == sources[name]
            if same:
                kept.keep([data])
        if not same:
            raise StaleDraft(
                f"The files of {self._role.name!r} were changed while they were indexed: "
                f"run `dramaturg index {self._role.name}` again, with the same --method."
            )


def finish_begun_change(role: Path) -> None:
    """Do what is left of a change that was interrupted, or wait for who is at it, before files are read."""
    if (role / CHANGE).exists():
        with role_lock(role):
            pass


def document_paths(role: Path) -> list[Path]:
    """Return the paths of the documents, sorted by name."""
    return _files_in(role / "persona", ".md")


def dialogue_paths(role: Path) -> list[Path]:
    """Return the paths of `dialogues/*.jsonl`, sorted by name."""
    return _files_in(role / "dialogues", ".jsonl")


def _files_in(folder: Path, suffix: str) -> list[Path]:
    if not folder.is_dir():
        return []
    found = (path for path in folder.iterdir() if path.suffix.lower() == suffix and not path.name.startswith("."))
    return sorted((path for path in found if not path.is_dir()), key=lambda path: path.name)
