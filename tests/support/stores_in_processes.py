"""Vector stores that are saved in a process of its own; FaissVectorStore is imported when it is forked."""

from pathlib import Path

from langchain_core.embeddings import DeterministicFakeEmbedding

from dramaturg.stores.vector_store import FaissVectorStore

OLD, NEW = ["apple", "pear", "plum"], ["apple", "quince"]


def save(folder: Path, texts: list[str]) -> None:
    """Save a store of these texts."""
    FaissVectorStore.from_texts(texts, DeterministicFakeEmbedding(size=6), ids=texts).save(folder)


def save_new(folder: Path) -> None:
    """Replace what is there."""
    save(folder, NEW)


def saved(folder: Path) -> list[str]:
    """The texts that are there."""
    store = FaissVectorStore.load(folder, DeterministicFakeEmbedding(size=6))
    return sorted(document.page_content for document in store.similarity_search("apple", 9))
