"""A role: what people wrote of it, and what was derived from that."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock
from typing import TypeVar, cast

from dramaturg.stores.dialogue_builder import DialogueBuilder
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.graph_builder import GraphBuilder
from dramaturg.stores.index.dialogues import DialogueStore
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.kinds import DIALOGUE_KINDS, MEMORY_KINDS, Store, open_store
from dramaturg.stores.index.manifest import Current, Manifest, Published
from dramaturg.stores.index.memories import MemoryStore
from dramaturg.stores.index.passages import PassageStore
from dramaturg.stores.memory_builder import MemoryBuilder
from dramaturg.stores.memory_files import memory_paths
from dramaturg.stores.passage_builder import PassageBuilder
from dramaturg.stores.reading import read_bytes
from dramaturg.stores.role_files import (
    CARD,
    Chronicle,
    DialogueLine,
    Document,
    Memory,
    Question,
    RoleCard,
    dialogue_paths,
    document_paths,
    parse_card,
    read_chronicle,
    read_dialogues,
    read_documents,
    read_memories,
    read_questions,
)
from dramaturg.stores.sources import Sources, finish_begun_change

B = TypeVar("B", PassageBuilder, GraphBuilder, MemoryBuilder, DialogueBuilder)


class Role:
    """One folder of a library. Its files are read when asked for; its stores once a version, and shared by threads."""

    def __init__(self, root: Path) -> None:
        self.id = root.name
        self.root = root
        self.persona = Sources(root, "persona/", document_paths)
        self.memory_files = Sources(root, "", memory_paths)
        self.dialogue_files = Sources(root, "", dialogue_paths)
        self._lock = RLock()
        self._card: tuple[bytes, RoleCard] | None = None
        self._builders: dict[str, PassageBuilder | GraphBuilder | MemoryBuilder | DialogueBuilder] = {}
        self._stores: dict[tuple[str, Published], Store] = {}

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
        """Return the texts of `persona/`, sorted by name; a change that has begun is finished first."""
        finish_begun_change(self.root)
        return read_documents(self.root)

    def dialogues(self) -> list[DialogueLine]:
        """Return the lines of `dialogues/`."""
        return read_dialogues(self.root)

    def memories(self) -> list[Memory]:
        """Return the lines of `memories.jsonl`."""
        return read_memories(self.root)

    def chronicle(self) -> Chronicle:
        """Return what `chronicle.yaml` holds."""
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

        A current version that is damaged is stood in for by the last one that is whole; its `warning` says so.

        Raises:
            MissingIndex: the role is not indexed, or has no such version.
            DamagedIndex: the named version, or every version, is not what was published.
        """
        return cast("PassageStore", self._served(kind, version))

    def graph(self, kind: str, version: str | None = None) -> KnowledgeGraph:
        """Return the current or the named version of a knowledge graph; see `passages`.

        Raises:
            MissingIndex: the role is not indexed, or has no such version.
            DamagedIndex: the named version, or every version, is not what was published.
        """
        return cast("KnowledgeGraph", self._served(kind, version))

    def remembered(self, kind: str, version: str | None = None) -> MemoryStore:
        """Return the current or the named version of the memories; see `passages`.

        Raises:
            MissingIndex: the role is not indexed, or has no such version.
            DamagedIndex: the named version, or every version, is not what was published.
        """
        return cast("MemoryStore", self._served(kind, version))

    def spoken(self, kind: str, version: str | None = None) -> DialogueStore:
        """Return the current or the named version of the dialogues; see `passages`.

        Raises:
            MissingIndex: the role is not indexed, or has no such version.
            DamagedIndex: the named version, or every version, is not what was published.
        """
        return cast("DialogueStore", self._served(kind, version))

    def sources(self, kind: str) -> Sources:
        """Return the files that a kind of index is made from."""
        if kind in DIALOGUE_KINDS:
            return self.dialogue_files
        return self.memory_files if kind in MEMORY_KINDS else self.persona

    def _served(self, kind: str, version: str | None) -> Store:
        folder = self._folder(kind)
        if (opened := self._opened(kind, version)) is not None:
            return opened
        for _ in range(3):
            current = folder.current()
            store, error = self._first_whole(folder, current, version)
            if error is not None and folder.current() != current:
                continue  # a builder has removed the version since the pointer was read
            if store is None:
                raise error or folder.missing(version if current else None)
            return store if error is None else store.in_place_of(error)
        raise folder.missing(version)

    def _first_whole(
        self, folder: IndexFolder, current: Current | None, version: str | None
    ) -> tuple[Store | None, DamagedIndex | MissingIndex | None]:
        """The first version that can be read, and why the one before it could not."""
        trouble: DamagedIndex | MissingIndex | None = None
        for published in current.versions if current else ():
            if version in (None, published.version):
                try:
                    return self._store(folder, published, current.versions if current else ()), trouble
                except (DamagedIndex, MissingIndex) as error:
                    trouble = trouble or error
        return None, trouble

    def _opened(self, kind: str, version: str | None) -> Store | None:
        """A named version that this process has open is served also when it was removed meanwhile."""
        with self._lock:
            found = (store for (of, _), store in self._stores.items() if (of, store.version) == (kind, version))
            return next(found, None)

    def builder(self, kind: str) -> PassageBuilder:
        """Return the builder of one kind of passages, shared by threads."""
        return self._builder(kind, PassageBuilder)

    def graph_builder(self, kind: str) -> GraphBuilder:
        """Return the builder of one kind of knowledge graph, shared by threads."""
        return self._builder(kind, GraphBuilder)

    def memory_builder(self, kind: str) -> MemoryBuilder:
        """Return the builder of one kind of memories, shared by threads."""
        return self._builder(kind, MemoryBuilder)

    def dialogue_builder(self, kind: str) -> DialogueBuilder:
        """Return the builder of one kind of dialogues, shared by threads."""
        return self._builder(kind, DialogueBuilder)

    def _builder(self, kind: str, make: Callable[[IndexFolder], B]) -> B:
        with self._lock:
            return cast("B", self._builders.setdefault(kind, make(self._folder(kind))))

    def forget_opened(self) -> None:
        """Let go of the versions that are open, and of what builders remember."""
        with self._lock:
            self._stores = {}
            builders = list(self._builders.values())
        for builder in builders:
            builder.forget()

    def _store(self, folder: IndexFolder, published: Published, kept: Sequence[Published]) -> Store:
        with self._lock:
            store = self._stores.get((folder.kind, published)) or open_store(folder, published)
            others = {key: one for key, one in self._stores.items() if key[0] != folder.kind or key[1] in kept}
            self._stores = {**others, (folder.kind, published): store}
            return store

    def _folder(self, kind: str) -> IndexFolder:
        return IndexFolder(self.root, kind)
