"""A role: what people wrote of it, and what was derived from that."""

from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from dramaturg.stores.documents.forms import (
    CARD,
    CHRONICLE,
    Chronicle,
    DialogueLine,
    Document,
    Memory,
    Question,
    RoleCard,
    parse_card,
    parse_chronicle,
    read_dialogues,
    read_documents,
    read_memories,
    read_questions,
)
from dramaturg.stores.documents.memories import memory_paths
from dramaturg.stores.documents.sources import Sources, dialogue_paths, document_paths, finish_begun_change
from dramaturg.stores.files import read_bytes

if TYPE_CHECKING:
    from dramaturg.stores.index.folder import IndexKind, S
    from dramaturg.stores.index.opened import Index
    from dramaturg.stores.index.records import R


class Role:
    """One folder of a library. Its files are read when asked for; its stores once a version, and shared by threads.

    Card and chronicle, which every turn asks for, are parsed again only when they changed.
    """

    def __init__(self, root: Path) -> None:
        self.id = root.name
        self.root = root
        self.persona = Sources(root, "persona/", document_paths)
        self.memory_files = Sources(root, "", memory_paths)
        self.dialogue_files = Sources(root, "", dialogue_paths)
        self._lock = RLock()
        self._card: tuple[bytes, RoleCard] | None = None
        self._chronicle: tuple[bytes, Chronicle] | None = None
        self._indexes: dict[IndexKind[Any, Any], Index[Any, Any]] = {}

    @property
    def card(self) -> RoleCard:
        """`role.yaml`, as it is now."""
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
        """Return what `chronicle.yaml` holds; empty if there is none."""
        path, known = self.root / CHRONICLE, self._chronicle
        data = read_bytes(path, self.root) if path.exists() else b""
        if known is None or known[0] != data:
            self._chronicle = known = (data, parse_chronicle(data, self.root))
        return known[1]

    def questions(self) -> list[Question]:
        """Return the lines of `questions.jsonl`."""
        return read_questions(self.root)

    def index(self, kind: "IndexKind[R, S]") -> "Index[R, S]":
        """Return one kind of index, the same object for all threads."""
        from dramaturg.stores.index.opened import Index

        sources = {"persona": self.persona, "memories": self.memory_files, "dialogues": self.dialogue_files}
        with self._lock:
            return self._indexes.setdefault(kind, Index(self.root, kind, sources[kind.sources]))

    def forget_opened(self) -> None:
        """Let go of the versions that are open, and of what builders remember."""
        with self._lock:
            indexes = list(self._indexes.values())
        for index in indexes:
            index.forget()
