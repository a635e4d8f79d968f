"""Vectors for what a draft is made of, batch by batch: a run that is killed embeds only what is left."""

import asyncio
from typing import Any

import numpy as np
from langgraph.runtime import Runtime

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.asked_answers import progress
from dramaturg.stores.index.builder import IndexBuilder
from dramaturg.stores.index.records import R


async def embed_records(
    builder: IndexBuilder[R], draft: str, model: Embedder, at_once: int, runtime: Runtime[Any]
) -> None:
    """Embed every record of a draft that has no vector yet.

    Raises:
        MissingIndex: the draft is gone.
        ModelError: the embedding model cannot be reached; what came before is kept.
    """
    left = await asyncio.to_thread(builder.unembedded, draft)
    announce = progress(runtime, "vectors", len(left), each=at_once)
    for number, start in enumerate(range(0, len(left), at_once), start=1):
        batch = left[start : start + at_once]
        vectors = np.array(await model.embeddings.aembed_documents(batch), np.float32)
        await asyncio.to_thread(builder.add_vectors, draft, batch, vectors)
        announce(number)
