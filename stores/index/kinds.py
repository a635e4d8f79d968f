"""The kinds of index that there are: what each is made of and from, and which method makes it."""

from typing import Any

from dramaturg.stores.index.dialogues import DialogueStore, StoredDialogue
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.memories import MemoryStore, StoredMemory
from dramaturg.stores.index.passages import StoredPassage, passage_kind

_GRAPHS = ("graph", "graph-unmerged")  # both extract the same facts from the same chunks
GRAPH_KIND = IndexKind("graph", StoredPassage, KnowledgeGraph, "persona", "role-rag", _GRAPHS)
"""The knowledge graph of RoleRAG."""
UNMERGED_GRAPH_KIND = IndexKind("graph-unmerged", StoredPassage, KnowledgeGraph, "persona", "graph-rag-local", _GRAPHS)
"""The same without entity normalization."""
MEMORY_KIND = IndexKind("memories", StoredMemory, MemoryStore, "memories", "emotional-rag", ("memories",))
"""The memories of Emotional RAG, each with its mood."""
DIALOGUE_KIND = IndexKind("dialogues", StoredDialogue, DialogueStore, "dialogues", "drmr", ("dialogues",))
"""The dialogues of DRMR, and who speaks with whom in them."""

KINDS: tuple[IndexKind[Any, Any], ...] = (
    *map(passage_kind, ("acts", "ats", "fixed")),
    GRAPH_KIND,
    UNMERGED_GRAPH_KIND,
    MEMORY_KIND,
    DIALOGUE_KIND,
)


def kind_named(name: str) -> IndexKind[Any, Any]:
    """Return the kind of index that lies in a folder of this name; one of another name holds passages.

    Raises:
        RoleError: the name cannot be that of a kind.
    """
    return next((kind for kind in KINDS if kind.name == name), None) or passage_kind(name)
