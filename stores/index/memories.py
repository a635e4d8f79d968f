"""The memories of a role: read once, verified, each with its meaning and its mood."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from dramaturg.stores.index.folder import IndexKind, IndexStore, LeftOut, Manifest
from dramaturg.stores.index.records import Record, decode_records

MEMORIES_FILE = "memories.jsonl"
MOODS_FILE = "moods.jsonl"
VECTORS_FILE = "vectors.faiss"
NOT_ASKED = "It was not asked for."
"""The error of a mood that nothing has needed yet."""


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


class MemoryStore(IndexStore):
    """One version of a role's memories, each with its meaning and its mood."""

    FILES = (MEMORIES_FILE, MOODS_FILE, VECTORS_FILE)

    def __init__(self, manifest: Manifest, memories: Sequence[StoredMemory], moods: Sequence[Mood], index: Any) -> None:
        super().__init__(manifest, index)
        self.memories: Sequence[StoredMemory] = tuple(memories)
        self.moods: Sequence[Mood] = tuple(moods)

    @classmethod
    def decode(cls, manifest: Manifest, files: Sequence[bytes], index: Any) -> Self:
        """Return the version that these files hold; ValueError: they are not what was written."""
        memories, moods = files
        store = cls(manifest, decode_records(memories, StoredMemory), decode_records(moods, Mood), index)
        if len(store.moods) != len(store.memories):
            raise ValueError("There is not one mood for each memory.")
        return store

    def cut(self, rows: Sequence[int], left_out: Mapping[str, LeftOut]) -> Self:
        """Return the same version with some of its memories."""
        some = super().cut(rows, left_out)
        some.memories = tuple(self.memories[at] for at in rows)
        some.moods = tuple(self.moods[at] for at in rows)
        return some

    @property
    def encoder(self) -> str:
        """The name of what encoded the moods."""
        return str(self.manifest.settings.get("encoder", ""))

    def embedded_texts(self) -> list[str]:
        """Return the texts that were embedded, in the order of the memories."""
        return [memory.embedding_text for memory in self.memories]


MEMORY_KIND = IndexKind("memories", StoredMemory, MemoryStore, "memories", "emotional-rag", ("memories",))
"""The memories of Emotional RAG, each with its mood."""
