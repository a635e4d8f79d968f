"""A role: what people wrote of it, and what was derived from that."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

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
from dramaturg.stores.documents.secrets import Known, is_told, own_names
from dramaturg.stores.documents.sources import Sources, dialogue_paths, document_paths, finish_begun_change
from dramaturg.stores.files import read_bytes
from dramaturg.stores.followed import Followed

if TYPE_CHECKING:
    from dramaturg.stores.index.folder import IndexKind, S
    from dramaturg.stores.index.opened import Index
    from dramaturg.stores.index.records import R

T = TypeVar("T")


class Role:
    """One folder of a library. Its files are read when asked for; its stores once a version, and shared by threads.

    Card, chronicle and memories, which turns ask for, are read and parsed again only when they changed.
    """

    def __init__(self, root: Path) -> None:
        self.id = root.name
        self.root = root
        self.persona = Sources(root, "persona/", document_paths)
        self.memory_files = Sources(root, "", memory_paths)
        self.dialogue_files = Sources(root, "", dialogue_paths)
        self._lock = RLock()
        self._held: RoleCard | None = None
        self._card = _Parsed(root / CARD, parse_card)
        self._chronicle = _Parsed(root / CHRONICLE, parse_chronicle, b"")
        self._memories = _Parsed(root / MEMORIES, parse_memories, b"")
        self._indexes: dict[IndexKind[Any, Any], Index[Any, Any]] = {}

    @property
    def card(self) -> RoleCard:
        """`role.yaml`, as it is now."""
        return self._held or self._card.now()

    def with_card_of_now(self) -> Self:
        """The same role for one turn, which asks for the card in every line of its prompts: it stays as it is."""
        role = copy(self)  # what is parsed and opened is shared
        role._held = self.card
        return role

    def documents(self) -> list[Document]:
        """Return the texts of `persona/`, sorted by name; a change that has begun is finished first."""
        finish_begun_change(self.root)
        return read_documents(self.root)

    @property
    def own_names(self) -> Known:
        """The names by which `known_to` may name the role: its id, its name and its aliases."""
        return own_names(self.id, self.card.name, *self.card.aliases)

    def told_whole(self) -> list[Document]:
        """Return the documents of which nothing is kept from the role, for forms that have no place for `known_to`."""
        own = self.own_names
        return [one for one in self.documents() if all(is_told(names, own) for _, names in one.known_to)]

    def dialogues(self) -> list[DialogueLine]:
        """Return the lines of `dialogues/`."""
        return read_dialogues(self.root)

    def memories(self) -> list[Memory]:
        """Return the lines of `memories.jsonl`."""
        return [*self._memories.now()]

    def chronicle(self) -> Chronicle:
        """Return what `chronicle.yaml` holds; empty if there is none."""
        return self._chronicle.now()

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


class _Parsed(Generic[T]):
    """What a file in a role's folder says: read again when it changed, and parsed again when its bytes are others.

    Args:
        path: the file.
        parse: makes what it says of its bytes and the role's folder.
        missing: its bytes where it is not there; None: it must be.
    """

    def __init__(self, path: Path, parse: Callable[[bytes, Path], T], missing: bytes | None = None) -> None:
        self._path = path
        self._parse = parse
        self._missing = missing
        self._bytes = Followed[bytes](path)
        self._last: tuple[bytes, T] | None = None

    def now(self) -> T:
        """What it says now."""
        data, last = self._bytes.get(self._read), self._last
        if last is None or last[0] != data:
            self._last = last = data, self._parse(data, self._path.parent)
        return last[1]

    def _read(self) -> bytes:
        if self._missing is not None and not self._path.exists():
            return self._missing
        return read_bytes(self._path, self._path.parent)
