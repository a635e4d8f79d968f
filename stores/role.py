"""A role: what people wrote of it, and what was derived from that."""

from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

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
    document,
    parse_card,
    parse_chronicle,
    parse_memories,
    read_questions,
)
from dramaturg.stores.documents.memories import memory_paths, read_dialogue_files
from dramaturg.stores.documents.secrets import Known, is_told, own_names
from dramaturg.stores.documents.sources import DIALOGUES, Sources, dialogue_paths, document_paths, is_of_story
from dramaturg.stores.errors import RoleError
from dramaturg.stores.files import read_bytes
from dramaturg.stores.followed import Followed

if TYPE_CHECKING:
    from dramaturg.stores.index.folder import IndexKind, S
    from dramaturg.stores.index.opened import Index
    from dramaturg.stores.index.records import R

T = TypeVar("T")


class Shelf(Protocol):
    """The library that a role is of, as far as it needs it: for its story."""

    def open(self, role: str) -> "Role":
        """Return a role by its id; RoleError: there is none."""

    def cards(self) -> Mapping[str, Callable[[], RoleCard]]:
        """Return how the card of each role is had, by its id."""


class Role:
    """One folder of a library. Its files are read when asked for; its stores once a version, and shared by threads.

    Card, chronicle and memories, which turns ask for, are read and parsed again only when they changed.
    """

    def __init__(self, root: Path, library: Shelf | None = None) -> None:
        self.id = root.name
        self.root = root
        self.library = library
        self.persona = Sources(root, "persona/", document_paths, self._story_root)
        self.memory_files = Sources(root, "", memory_paths, self._story_root)
        self.dialogue_files = Sources(root, "", dialogue_paths, self._story_root)
        self._lock = RLock()
        self._held: RoleCard | None = None
        self._card = _Parsed(root / CARD, parse_card)
        self._chronicle = _Parsed(root / CHRONICLE, parse_chronicle, b"")
        self._memories = _Parsed(root / MEMORIES, parse_memories, b"")
        self._indexes: dict[IndexKind[Any, Any], Index[Any, Any]] = {}

    @property
    def card(self) -> RoleCard:
        """`role.yaml`, as it is now; without a timeline of its own it has that of its story."""
        if self._held:
            return self._held
        card, story = self._card.now(), self.story
        return card if card.timeline or not story else card.model_copy(update={"timeline": story.card.timeline})

    @property
    def story(self) -> "Role | None":
        """The role of the library whose files it reads, too, as far as they are known to it; None: it names none.

        Raises:
            RoleError: the library has no such role, or that is of a story itself.
        """
        if not (name := self._card.now().story):
            return None
        if self.library is None:
            raise RoleError(f"{self.id!r} is of the story {name!r}: open it with the library that has both.")
        try:
            story = self.library.open(name)
        except RoleError as error:
            raise RoleError(f"{CARD} of {self.id!r} names the story {name!r}. {error}") from error
        if story._card.now().story or name == DIALOGUES.strip("/"):
            raise RoleError(
                f"{CARD} of {self.id!r} names the story {name!r}, which cannot be one: name a role that is of no story "
                "itself, and is not called dialogues."
            )
        return story

    def _story_root(self) -> Path | None:
        story = self.story
        return story.root if story else None

    def with_card_of_now(self) -> Self:
        """The same role for one turn, which asks for the card in every line of its prompts: it stays as it is."""
        role = copy(self)  # what is parsed and opened is shared
        role._held = self.card
        return role

    def documents(self) -> list[Document]:
        """Return the texts of `persona/`, sorted by name, those of its story last; what has begun is finished first."""
        return [document(read_bytes(*place), *place, name) for name, place in self.persona.places()]

    @staticmethod
    def path_of(one: Document) -> str:
        """Where a document lies, from the folder of the role, or from the library where it is its story's."""
        story, _, name = one.name.rpartition("/")
        return f"{story}/persona/{name}" if story else f"persona/{name}"

    @property
    def own_names(self) -> Known:
        """The names by which `known_to` may name the role: its id, its name and its aliases."""
        return own_names(self.id, self.card.name, *self.card.aliases)

    def told_whole(self) -> list[Document]:
        """Return its own documents of which nothing is kept from it, for forms that have no place for `known_to`."""
        own, there = self.own_names, (one for one in self.documents() if not is_of_story(one.name))
        return [one for one in there if all(is_told(names, own) for _, names in one.known_to)]

    def dialogues(self) -> list[DialogueLine]:
        """Return the lines of `dialogues/`, those of its story last."""
        return [line for lines in read_dialogue_files(self.dialogue_files).values() for line in lines.values()]

    def memories(self) -> list[Memory]:
        """Return the lines of `memories.jsonl`, those of its story last."""
        return [one for _, one in self.placed_memories()]

    def placed_memories(self) -> list[tuple[str, Memory]]:
        """Return the same, each with the name of its file and the number of its line in it, from 1."""
        own = [(f"{MEMORIES}:{number}", one) for number, one in self._memories.now().items()]
        story = self.story
        return [*own, *((f"{story.id}/{place}", one) for place, one in story.placed_memories())] if story else own

    @property
    def own_chronicle(self) -> Chronicle:
        """What `chronicle.yaml` holds; empty if there is none."""
        return self._chronicle.now()

    def chronicle(self) -> Chronicle:
        """Return what its chronicle holds, and after that what the chronicle of its story does."""
        own, story = self.own_chronicle, self.story
        if not story:
            return own
        more = story.own_chronicle
        both = {"triples": (*own.triples, *more.triples), "sentences": {**more.sentences, **own.sentences}}
        return own.model_copy(update=both)

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
