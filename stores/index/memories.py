"""The memories of a role: read once, verified, each with its meaning and its mood."""

from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dramaturg.stores.index.folder import IndexFolder, OpenedVersion
from dramaturg.stores.index.manifest import Manifest, Published
from dramaturg.stores.index.records import Record, decode_records
from dramaturg.stores.index.vectors import unpack

MEMORIES = "memories.jsonl"


MOODS = "moods.jsonl"


VECTORS = "vectors.faiss"


class StoredMemory(Record):
    """A memory m_k (Emotional RAG, II.B.2): a question and its answer, or free words; copies of it are one with it."""

    text: str
    own: str
    """The role's own words in it."""
    when: str | None = None
    pinned: bool = False
    """Recalled whatever is asked."""
    places: tuple[str, ...] = Field(min_length=1)
    """Where it is written: the file and the number of the line, for each copy."""

    @property
    def embedding_text(self) -> str:
        """The text to embed."""
        return self.text


class Felt(BaseModel):
    """How strong an emotion is, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: int = Field(ge=1, le=10)
    reason: str


class Mood(BaseModel):
    """What a role feels in a memory: eight emotions, or why they could not be had."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    emotions: dict[str, Felt] | None
    error: str = ""

    @property
    def scores(self) -> dict[str, int] | None:
        """The scores alone."""
        return None if self.emotions is None else {name: felt.score for name, felt in self.emotions.items()}


class MemoryStore(OpenedVersion):
    """One version of a role's memories, in memory and immutable: a reader keeps the version that it opened."""

    def __init__(self, manifest: Manifest, memories: Sequence[StoredMemory], moods: Sequence[Mood], index: Any) -> None:
        super().__init__(manifest, index)
        self.memories: Sequence[StoredMemory] = tuple(memories)
        self.moods: Sequence[Mood] = tuple(moods)

    @classmethod
    def open(cls, folder: IndexFolder, published: Published) -> Self:
        """Read and verify a version.

        Raises:
            MissingIndex: the version is no longer there.
            DamagedIndex: a file is not what was published.
        """
        manifest = folder.manifest(published)
        lines, moods, vectors = (folder.content(published, manifest, name) for name in (MEMORIES, MOODS, VECTORS))
        try:
            store = cls(manifest, decode_records(lines, StoredMemory), decode_moods(moods), unpack(vectors))
        except (ValidationError, ValueError) as error:
            raise folder.damaged(f"{MEMORIES}, {MOODS} or {VECTORS}") from error
        if not store.has_vectors(len(store.memories)) or len(store.moods) != len(store.memories):
            raise folder.damaged(VECTORS)
        return store

    @property
    def encoder(self) -> str:
        """The name of what encoded the moods."""
        return str(self.manifest.settings.get("encoder", ""))

    def embedded_texts(self) -> list[str]:
        """Return the texts that were embedded, in the order of the memories."""
        return [memory.embedding_text for memory in self.memories]


def encode_moods(moods: Sequence[Mood]) -> bytes:
    """Return the JSON lines of moods."""
    return b"".join(mood.model_dump_json().encode() + b"\n" for mood in moods)


def decode_moods(data: bytes) -> tuple[Mood, ...]:
    """Return the moods of JSON lines.

    Raises:
        ValueError: the bytes are not what `encode_moods` made.
    """
    return tuple(Mood.model_validate_json(line) for line in data.split(b"\n") if line)
