"""Vectors of short texts that are met again turn after turn: each is embedded once a process."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
from langchain_core.embeddings import Embeddings

from dramaturg.models.embeddings import Embedder
from dramaturg.stores.index.vectors import Vectors, unit_rows

MOST = 20_000  # vectors that are kept; 30 MB of 384 numbers each


# By the model itself, which is kept with them: two live ones may have one name.
_kept: OrderedDict[tuple[int, str], tuple[Embeddings, Vectors]] = OrderedDict()


_lock = Lock()


async def vectors_of(model: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts, of length 1, shape (n, d); only those are embedded that are not known.

    Raises:
        ValueError: the model gives a vector that cannot be used.
    """
    with _lock:
        known = {text: _kept[id(model.embeddings), text][1] for text in texts if (id(model.embeddings), text) in _kept}
    if new := [text for text in dict.fromkeys(texts) if text not in known]:
        rows = unit_rows(await asyncio.to_thread(model.embeddings.embed_documents, new))
        known |= zip(new, rows, strict=True)
        keep(model.embeddings, {text: known[text] for text in new})
    return np.stack([known[text] for text in texts])


async def likeness(model: Embedder, text: str, others: Sequence[str]) -> list[float]:
    """Return the cosine of a text with each of the others.

    Raises:
        ValueError: the model gives a vector that cannot be used.
    """
    if not others:
        return []
    query = unit_rows([await asyncio.to_thread(model.embeddings.embed_query, text)])[0]
    cosines: list[float] = (await vectors_of(model, others) @ query).tolist()
    return cosines


def keep(model: Embeddings, rows: dict[str, Vectors]) -> None:
    """Keep vectors, and let go of those that have been there the longest."""
    with _lock:
        _kept.update({(id(model), text): (model, row) for text, row in rows.items()})
        while len(_kept) > MOST:
            _kept.popitem(last=False)
