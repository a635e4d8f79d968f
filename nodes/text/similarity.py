"""Cosines of short texts that come back turn after turn: each is embedded once a process."""

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


async def text_vectors(model: Embedder, texts: Sequence[str], dimension: int | None = None) -> Vectors:
    """Return the unit vectors of texts, shape (n, d); only texts that are new are embedded.

    Args:
        model: what embeds them.
        texts: one or more.
        dimension: d, where it is known.

    Raises:
        ModelError: the model cannot be reached, or gives something else than vectors, all of one length.
        ValueError: it gives a vector of zeros.
    """
    embeddings = model.embeddings
    with _lock:
        known = {text: _vectors[id(embeddings), text][1] for text in texts if (id(embeddings), text) in _vectors}
    dimension = dimension or (len(next(iter(known.values()))) if known else None)
    known = {text: row for text, row in known.items() if len(row) == dimension}
    if new := [text for text in dict.fromkeys(texts) if text not in known]:
        rows = dict(zip(new, unit_rows(await model.documents(new, dimension=dimension)), strict=True))
        known |= rows
        with _lock:
            _vectors.update({(id(embeddings), text): (embeddings, row) for text, row in rows.items()})
            while len(_vectors) > MOST_VECTORS:
                _vectors.popitem(last=False)
    return np.stack([known[text] for text in texts])


async def cosines(model: Embedder, query: str, texts: Sequence[str]) -> list[float]:
    """Return the cosine of a query with each text.

    Raises:
        ModelError, ValueError: as `text_vectors` does.
    """
    if not texts:
        return []
    vector = unit_rows([await model.query(query)])[0]
    found: list[float] = (await text_vectors(model, texts, len(vector)) @ vector).tolist()
    return found
