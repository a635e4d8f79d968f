"""A role: what people wrote of it, and what was derived from that."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from dramaturg.stores.documents.forms import (
    CARD,
    CHRONICLE,
    MEMORIES,
    Chronicle,
    DialogueLine,
    Document,
    Memory,
    Question,
    RoleCard,
    parse_card,
    parse_chronicle,
    parse_memories,
    read_dialogues,
    read_documents,
    read_questions,
)
from dramaturg.stores.documents.memories import memory_paths
from dramaturg.stores.documents.sources import Sources, dialogue_paths, document_paths, finish_begun_change
from dramaturg.stores.files import read_bytes

if TYPE_CHECKING:
    from dramaturg.stores.index.folder import IndexKind, S
    from dramaturg.stores.index.opened import Index
    from dramaturg.stores.index.records import R

T = TypeVar("T")


class Role:
    """One folder of a library. Its files are read when asked for; its stores once a version, and shared by threads.

    Card, chronicle and memories, which turns ask for, are parsed again only when they changed.
    """

    def __init__(self, root: Path) -> None:
        self.id = root.name
        self.root = root
        self.persona = Sources(root, "persona/", document_paths)
        self.memory_files = Sources(root, "", memory_paths)
        self.dialogue_files = Sources(root, "", dialogue_paths)
        self._lock = RLock()
        self._held: RoleCard | None = None
        self._cards: list[tuple[bytes, RoleCard]] = []
        self._chronicles: list[tuple[bytes, Chronicle]] = []
        self._memories: list[tuple[bytes, tuple[Memory, ...]]] = []
        """The bytes of the file when it was last read, and what they say."""
        self._indexes: dict[IndexKind[Any, Any], Index[Any, Any]] = {}

    @property
    def card(self) -> RoleCard:
        """`role.yaml`, as it is now."""
        if self._held:
            return self._held
        return _parsed(self._cards, read_bytes(self.root / CARD, self.root), parse_card, self.root)

    def with_card_of_now(self) -> Self:
        """The same role for one turn, which asks for the card in every line of its prompts: it stays as it is."""
        role = copy(self)  # what is parsed and opened is shared
        role._held = self.card
        return role

    def documents(self) -> list[Document]:
        """Return the texts of `persona/`, sorted by name; a change that has begun is finished first."""
        finish_begun_change(self.root)
        return read_documents(self.root)

    def dialogues(self) -> list[DialogueLine]:
        """Return the lines of `dialogues/`."""
        return read_dialogues(self.root)

    def memories(self) -> list[Memory]:
        """Return the lines of `memories.jsonl`."""
        lines = _parsed(self._memories, self._written(MEMORIES), parse_memories, self.root)
        return [*lines]

    def chronicle(self) -> Chronicle:
        """Return what `chronicle.yaml` holds; empty if there is none."""
        return _parsed(self._chronicles, self._written(CHRONICLE), parse_chronicle, self.root)

    def questions(self) -> list[Question]:
        """Return the lines of `questions.jsonl`."""
        return read_questions(self.root)

    def _written(self, name: str) -> bytes:
        """The bytes of a file that need not be there."""
        path = self.root / name
        return read_bytes(path, self.root) if path.exists() else b""

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


def _parsed(last: list[tuple[bytes, T]], data: bytes, parse: Callable[[bytes, Path], T], root: Path) -> T:
    """What a file's bytes say, parsed where they are others than the last time."""
    if not last or last[0][0] != data:
        last[:] = [(data, parse(data, root))]
    return last[0][1]
