"""The files of a role that an index is made from, and what is asked of those who change them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from dramaturg.stores.changes import CHANGE, KeptDocuments, change_documents
from dramaturg.stores.errors import RoleError, StaleDraft
from dramaturg.stores.files import read_bytes, sha256
from dramaturg.stores.locks import role_lock

DIALOGUES = "dialogues/"
"""The folder of a role's dialogues; no story has this name."""
StoryFolder = Callable[[], Path | None]
"""Returns the folder of the story that a role is of, as its card says now; None: it is of none."""


def no_story() -> None:
    """The folder of the story of a role that has none."""


class Place(NamedTuple):
    """Where a file lies: its path, and the folder of the role that it is of."""

    path: Path
    role: Path


class Sources:
    """The files of one kind, as they are on disk; who changes them with this class never meets half a change.

    Those of the story that a role is of are among them, by names such as "treasure_island/inn.md". They are read as
    the role's, and changed where they lie.

    Args:
        role: the folder of the role.
        folder: the folder in it that their names count from, such as "persona/"; empty: the role's.
        find: returns their paths in a role.
        story: returns the folder of its story; None: it has none.
    """

    def __init__(
        self,
        role: Path,
        folder: str,
        find: Callable[[Path], list[Path]],
        story: StoryFolder = no_story,
    ) -> None:
        self._role = role
        self._folder = folder
        self._find = find
        self.story = story

    def names(self) -> list[str]:
        """Return the names of the files, sorted, its story's after its own; a change that has begun is finished."""
        story = self.story()
        of_story = [f"{story.name}/{name}" for name in self._names_in(story)] if story else []
        return [*self._names_in(self._role), *of_story]

    def _names_in(self, role: Path) -> list[str]:
        finish_begun_change(role)
        return sorted(path.relative_to(role / self._folder).as_posix() for path in self._find(role))

    def place(self, name: str) -> Place:
        """Return where a file lies."""
        role, story, own = self._role, self.story() if is_of_story(name) else None, name
        if story and name.startswith(f"{story.name}/"):
            role, own = story, name.removeprefix(f"{story.name}/")
        return Place(role / self._folder / own, role)

    def places(self) -> list[tuple[str, Place]]:
        """Return the names of the files, as `names` does, each with where it lies."""
        return [(name, self.place(name)) for name in self.names()]

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        return read_bytes(*self.place(name))

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
            RoleError: a file is its story's.
            StaleDraft: a file is not what `was` says.
            StorageError: the file system refuses; what was there is there, or the change is finished later.
        """
        refuse_story(name for name in changes if self.place(name).role != self._role)
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
        same = {*self.names()} == sources.keys()
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


def is_of_story(name: str) -> bool:
    """Whether the name of a file says that it is one of a role's story: of its own, only dialogues lie in a folder."""
    return "/" in name and not name.startswith(DIALOGUES)


def refuse_story(names: Iterable[str]) -> None:
    """Refuse to change files of a story in a role; RoleError: one of them is."""
    for name in filter(is_of_story, names):
        story, _, own = name.partition("/")
        raise RoleError(f"{name} belongs to the story {story!r}, which other roles read, too: change {own} in {story}.")


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
    return _files_in(role / DIALOGUES, ".jsonl")


def _files_in(folder: Path, suffix: str) -> list[Path]:
    if not folder.is_dir():
        return []
    found = (path for path in folder.iterdir() if path.suffix.lower() == suffix and not path.name.startswith("."))
    return sorted((path for path in found if not path.is_dir()), key=lambda path: path.name)
