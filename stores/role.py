"""A role: what people wrote of it, and what was derived from that."""

from pathlib import Path
from threading import RLock

from dramaturg.stores.errors import MissingIndex
from dramaturg.stores.index_folder import IndexFolder
from dramaturg.stores.manifest import Current, Manifest, Published
from dramaturg.stores.passage_builder import PassageBuilder
from dramaturg.stores.passages import PassageStore
from dramaturg.stores.role_files import (
    DialogueLine,
    Document,
    Memory,
    Question,
    RoleCard,
    Triple,
    read_card,
    read_chronicle,
    read_dialogues,
    read_documents,
    read_memories,
    read_questions,
)


class Role:
    """One folder of a library. Its files are read when asked for; its stores once a version, and shared by threads."""

    def __init__(self, root: Path) -> None:
        self.id = root.name
        self.root = root
        self._lock = RLock()
        self._stores: dict[tuple[str, Published], PassageStore] = {}

    @property
    def card(self) -> RoleCard:
        """`role.yaml`, as it is now."""
        return read_card(self.root)

    def documents(self) -> list[Document]:
        """Return the texts of `persona/`, sorted by name."""
        return read_documents(self.root)

    def dialogues(self) -> list[DialogueLine]:
        """Return the lines of `dialogues/`."""
        return read_dialogues(self.root)

    def memories(self) -> list[Memory]:
        """Return the lines of `memories.jsonl`."""
        return read_memories(self.root)

    def chronicle(self) -> list[Triple]:
        """Return the triples of `chronicle.yaml`."""
        return read_chronicle(self.root)

    def questions(self) -> list[Question]:
        """Return the lines of `questions.jsonl`."""
        return read_questions(self.root)

    def current(self, kind: str) -> Manifest | None:
        """Return the manifest of what is published, or None; the vectors are not read.

        Raises:
            DamagedIndex: the pointer or the manifest is not what was written.
        """
        folder = self._folder(kind)
        current = folder.current()
        return folder.manifest(current.versions[0]) if current else None

    def passages(self, kind: str, version: str | None = None) -> PassageStore:
        """Return the current or the named version, verified; loaded once and kept for all threads.

        Raises:
            MissingIndex: the role is not indexed, or has no such version.
            DamagedIndex: a file is not what was published.
        """
        folder = self._folder(kind)
        for attempt in range(3):
            current = folder.current()
            published = _choose(folder, current, version)
            try:
                return self._store(folder, published)
            except MissingIndex:
                if attempt == 2 or folder.current() == current:
                    raise  # else a builder has removed the version since the pointer was read
        raise folder.missing(version)

    def builder(self, kind: str) -> PassageBuilder:
        """Return the builder of one kind of passages."""
        return PassageBuilder(self._folder(kind))

    def _store(self, folder: IndexFolder, published: Published) -> PassageStore:
        key = (folder.kind, published)
        with self._lock:
            if key not in self._stores:
                self._stores[key] = PassageStore.open(folder, published)
            return self._stores[key]

    def _folder(self, kind: str) -> IndexFolder:
        return IndexFolder(self.root, kind)


def _choose(folder: IndexFolder, current: Current | None, version: str | None) -> Published:
    versions = current.versions if current else ()
    for published in versions:
        if version in (None, published.version):
            return published
    raise folder.missing(version)
