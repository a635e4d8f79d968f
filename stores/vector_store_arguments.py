"""What callers give a vector store: texts with ids and metadata, filters, options."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from dramaturg.stores.errors import did_you_mean

Metadatas = Sequence[dict[str, Any]] | None
Ids = Sequence[str | None] | None
Filter = Mapping[str, Any] | Callable[[Document], bool]


def accepts(options: Mapping[str, Any]) -> Callable[[Document], bool] | None:
    """Return the filter among the options of a search, as a function.

    No option goes unheeded: a misspelt filter would be none.

    Raises:
        ValueError: it is neither a dictionary nor a function, or there is another option.
    """
    for name in options:
        if name != "filter":
            hint = did_you_mean(name, ["filter"]) or ": a search takes `filter`."
            raise ValueError(f"There is no option {name!r} of a search{hint}")
    condition: Filter | None = options.get("filter")
    if condition is None or callable(condition):
        return condition
    if not isinstance(condition, Mapping):
        raise ValueError("A filter is a dictionary of metadata, or a function of a document.")
    wanted = dict(condition).items()
    return lambda document: all(key in document.metadata and document.metadata[key] == value for key, value in wanted)


def new_documents(texts: Iterable[str], metadatas: Metadatas, ids: Ids) -> list[Document]:
    """Make documents that nobody else has, each with an id; a random one where it is missing.

    Raises:
        ValueError: there are more or fewer ids or metadatas than texts, or `ids` is one text.
    """
    if isinstance(ids, str):
        raise ValueError(f"ids must be a list: write [{ids!r}].")
    texts = list(texts)
    for name, given in (("metadatas", metadatas), ("ids", ids)):
        if given is not None and len(given) != len(texts):
            raise ValueError(f"There are {len(texts)} texts but {len(given)} {name}.")
    names = [None] * len(texts) if ids is None else ids
    return [
        copied(Document(id=name or str(uuid.uuid4()), page_content=text, metadata=metadata or {}))
        for text, metadata, name in zip(texts, metadatas or [{}] * len(texts), names, strict=True)
    ]


def copied(document: Document) -> Document:
    """Return a document that can be changed without changing the other."""
    return document.model_copy(deep=True)


def name_of(embedding: Embeddings) -> str:
    """Return the name of an embedding model that has none: its class, and its model if it says which."""
    own = getattr(embedding, "model", None) or getattr(embedding, "model_name", None)
    return f"{type(embedding).__name__}:{own}" if isinstance(own, str) else type(embedding).__name__
