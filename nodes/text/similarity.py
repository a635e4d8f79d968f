"""Cosines of short texts that come back turn after turn: each is embedded once a process."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
from langchain_core.embeddings import Embeddings

from dramaturg.models.embeddings import Embedder
from dramaturg.stores.index.vectors import Vectors, unit_rows

MOST_VECTORS = 20_000  # 30 MB of 384 numbers each; the oldest go first

# By the model itself, which is kept with them: two live ones may have one name.
_vectors: OrderedDict[tuple[int, str], tuple[Embeddings, Vectors]] = OrderedDict()
_lock = Lock()


async def text_vectors(model: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the unit vectors of texts, shape (n, d); only texts that are new are embedded.

    Raises:
        ValueError: the model gives a vector that cannot be used.
    """
    embeddings = model.embeddings
    with _lock:
        known = {text: _vectors[id(embeddings), text][1] for text in texts if (id(embeddings), text) in _vectors}
    if new := [text for text in dict.fromkeys(texts) if text not in known]:
        rows = dict(zip(new, unit_rows(await asyncio.to_thread(embeddings.embed_documents, new)), strict=True))
        known |= rows
        with _lock:
            _vectors.update({(id(embeddings), text): (embeddings, row) for text, row in rows.items()})
            while len(_vectors) > MOST_VECTORS:
                _vectors.popitem(last=False)
    return np.stack([known[text] for text in texts])


async def cosines(model: Embedder, query: str, texts: Sequence[str]) -> list[float]:
    """Return the cosine of a query with each text.

    Raises:
        ValueError: the model gives a vector that cannot be used.
    """
    if not texts:
        return []
    vector = unit_rows([await asyncio.to_thread(model.embeddings.embed_query, query)])[0]
    found: list[float] = (await text_vectors(model, texts) @ vector).tolist()
    return found
