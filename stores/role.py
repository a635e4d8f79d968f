"""A role: what people wrote of it, and what was derived from that."""

from collections.abc import Sequence
from pathlib import Path
from threading import RLock

from dramaturg.stores.errors import MissingIndex
from dramaturg.stores.index_folder import IndexFolder
from dramaturg.stores.manifest import Current, Manifest, Published
from dramaturg.stores.passage_builder import PassageBuilder
from dramaturg.stores.passages import PassageStore
from dramaturg.stores.reading import read_bytes
from dramaturg.stores.role_files import (
    CARD,
    DialogueLine,
    Document,
    Memory,
    Question,
    RoleCard,
    Triple,
    parse_card,
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
        self._card: tuple[bytes, RoleCard] | None = None
        self._builders: dict[str, PassageBuilder] = {}
        self._stores: dict[tuple[str, Published], PassageStore] = {}

    @property
    def card(self) -> RoleCard:
        """`role.yaml`, as it is now; parsed again only when it changed.

        Raises:
            RoleFileError: the file cannot be used.
        """
        data = read_bytes(self.root / CARD, self.root)
        if self._card is None or self._card[0] != data:
            self._card = (data, parse_card(data, self.root))
        return self._card[1]

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
        if (opened := self._opened(kind, version)) is not None:
            return opened
        for attempt in range(3):
            current = folder.current()
            if current is None:
                raise folder.missing()
            published = _choose(folder, current, version)
            try:
                return self._store(folder, published, current.versions)
            except MissingIndex:
                if attempt == 2 or folder.current() == current:
                    raise  # else a builder has removed the version since the pointer was read
        raise folder.missing(version)

    def _opened(self, kind: str, version: str | None) -> PassageStore | None:
        """A named version that this process has open is served also when it was removed meanwhile."""
        with self._lock:
            found = (store for (of, _), store in self._stores.items() if (of, store.version) == (kind, version))
            return next(found, None)

    def builder(self, kind: str) -> PassageBuilder:
        """Return the builder of one kind of passages, shared by threads."""
        with self._lock:
            return self._builders.setdefault(kind, PassageBuilder(self._folder(kind)))

    def _store(self, folder: IndexFolder, published: Published, kept: Sequence[Published]) -> PassageStore:
        with self._lock:
            store = self._stores.get((folder.kind, published)) or PassageStore.open(folder, published)
            others = {key: one for key, one in self._stores.items() if key[0] != folder.kind or key[1] in kept}
            self._stores = {**others, (folder.kind, published): store}
            return store

    def _folder(self, kind: str) -> IndexFolder:
        return IndexFolder(self.root, kind)


def _choose(folder: IndexFolder, current: Current, version: str | None) -> Published:
    for published in current.versions:
        if version in (None, published.version):
            return published
    raise folder.missing(version)
