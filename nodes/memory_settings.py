"""Which memories a role has, and what made their vectors and moods."""

from pydantic import Field

from dramaturg.nodes.emotion_encoder import EmotionSettings


class MemorySettings(EmotionSettings):
    """How memories are encoded."""

    embedding_batch: int = Field(default=64, ge=1, le=2048, description="Memories embedded in one step.")

    @property
    def index_kind(self) -> str:
        """The kind of index that is read."""
        return "memories"
