"""Which store a kind of index is read with."""

from dramaturg.stores.index.dialogues import DialogueStore
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.manifest import Published
from dramaturg.stores.index.memories import MemoryStore
from dramaturg.stores.index.passages import PassageStore

GRAPH_KINDS = ("graph", "graph-unmerged")
"""The knowledge graph of RoleRAG, with and without entity normalization; what is none of these kinds is passages."""


MEMORY_KINDS = ("memories",)
"""The memories of Emotional RAG."""


DIALOGUE_KINDS = ("dialogues",)
"""The dialogues of DRMR, and who speaks with whom in them."""


Store = PassageStore | KnowledgeGraph | MemoryStore | DialogueStore


def open_store(folder: IndexFolder, published: Published) -> Store:
    """Read and verify a version.

    Raises:
        MissingIndex: the version is no longer there.
        DamagedIndex: a file is not what was published.
    """
    if folder.kind in GRAPH_KINDS:
        return KnowledgeGraph.open(folder, published)
    if folder.kind in MEMORY_KINDS:
        return MemoryStore.open(folder, published)
    if folder.kind in DIALOGUE_KINDS:
        return DialogueStore.open(folder, published)
    return PassageStore.open(folder, published)
