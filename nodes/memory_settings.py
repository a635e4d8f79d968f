"""Which memories a role has, and what made their vectors and moods."""

from pydantic import Field

from dramaturg.nodes.emotion_encoder import EmotionSettings
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.kinds import MEMORY_KIND
from dramaturg.stores.index.memories import MemoryStore, StoredMemory


class MemorySettings(EmotionSettings):
    """How memories are encoded."""

    embedding_batch: int = Field(default=64, ge=1, le=2048, description="Memories embedded in one step.")

    @property
    def index_kind(self) -> IndexKind[StoredMemory, MemoryStore]:
        """The kind of index that is read."""
        return MEMORY_KIND
