"""What indexing a knowledge graph would cost, before anything is written."""

import asyncio
from collections.abc import Mapping

from typing_extensions import TypedDict

from dramaturg.nodes.chunking import ChunkSettings
from dramaturg.nodes.context import role_of
from dramaturg.nodes.current_graph import graph_to_split_by
from dramaturg.nodes.document_splitting import split_documents
from dramaturg.nodes.fact_extraction import facts_key
from dramaturg.nodes.index_preview import documents_after
from dramaturg.stores.role import Role


class GraphPreview(TypedDict):
    """How many chunks there would be, and how many of them the model would have to be asked about."""

    documents: int
    chunks: int
    to_extract: int


async def preview_graph(context: ChunkSettings, changes: Mapping[str, bytes | None]) -> GraphPreview:
    """Say what a graph would be made of if documents were written (bytes) or removed (None).

    Raises:
        RoleError: the library has no such role, or its files cannot be read.
    """
    return await asyncio.to_thread(_preview, await role_of(context), context, changes)


def _preview(role: Role, context: ChunkSettings, changes: Mapping[str, bytes | None]) -> GraphPreview:
    documents = documents_after(role, changes)
    chunks, _ = split_documents(documents, context, graph_to_split_by(role, context))
    known = role.index(context.index_kind).builder.known()
    left = {facts_key(chunk) for chunk in chunks} - set(known)
    return {"documents": len(documents), "chunks": len(chunks), "to_extract": len(left)}
