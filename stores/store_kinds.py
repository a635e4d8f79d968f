"""Which store a kind of index is read with."""

from dramaturg.stores.index_folder import IndexFolder
from dramaturg.stores.knowledge_graph import KnowledgeGraph
from dramaturg.stores.manifest import Published
from dramaturg.stores.memories import MemoryStore
from dramaturg.stores.passages import PassageStore

GRAPH_KINDS = ("graph", "graph-unmerged")
"""The knowledge graph of RoleRAG, with and without entity normalization; what is none of these kinds is passages."""
MEMORY_KINDS = ("memories",)
"""The memories of Emotional RAG."""

Store = PassageStore | KnowledgeGraph | MemoryStore


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
    return PassageStore.open(folder, published)
