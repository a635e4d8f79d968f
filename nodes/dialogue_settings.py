"""Which dialogues a role has, and what made their vectors."""

from pydantic import Field

from dramaturg.nodes.context import RoleContext
from dramaturg.stores.index.dialogues import DialogueStore, StoredDialogue
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.kinds import DIALOGUE_KIND


class DialogueSettings(RoleContext):
    """How scenes become dialogues."""

    dialogue_length: int = Field(
        default=1000,
        ge=100,
        le=20_000,
        description="Characters of a dialogue; a longer scene becomes several. Embedding models read no more than so "
        "much of a text.",
    )
    embedding_batch: int = Field(default=64, ge=1, le=2048, description="Dialogues embedded in one step.")

    @property
    def index_kind(self) -> IndexKind[StoredDialogue, DialogueStore]:
        """The kind of index that is read."""
        return DIALOGUE_KIND
