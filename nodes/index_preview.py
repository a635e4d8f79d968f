"""What indexing would cost, before anything is written."""

import asyncio
from collections.abc import Mapping

from typing_extensions import TypedDict

from dramaturg.nodes.context import embedder_of, role_of
from dramaturg.nodes.current_index import served_or_none
from dramaturg.nodes.document_splitting import split_documents
from dramaturg.nodes.retrieval import PassageSettings
from dramaturg.stores.index.kinds import passage_kind
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import Document, document


class IndexPreview(TypedDict):
    """How many passages an index would hold, and how many of them would have to be embedded."""

    documents: int
    passages: int
    to_embed: int


async def preview(context: PassageSettings, changes: Mapping[str, bytes | None]) -> IndexPreview:
    """Say what an index would be if documents were written (bytes) or removed (None).

    Raises:
        RoleError: the library has no such role, or its files cannot be read.
    """
    role = await role_of(context)
    model = await embedder_of(context, role)
    return await asyncio.to_thread(_preview, role, context, model.name, changes)


def _preview(role: Role, context: PassageSettings, embedding: str, changes: Mapping[str, bytes | None]) -> IndexPreview:
    documents = documents_after(role, changes)
    passages, _ = split_documents(documents, context, served_or_none(role, context))
    builder = role.index(passage_kind(context.splitter)).builder
    to_embed = builder.to_embed([one.embedding_text for one in passages], embedding)
    return {
        "documents": len(documents),
        "passages": len(passages),
        "to_embed": len(to_embed),
    }


def documents_after(role: Role, changes: Mapping[str, bytes | None]) -> list[Document]:
    """The documents that a role would have after a change."""
    documents = [one for one in role.documents() if one.name not in changes]
    documents += (_document(role, name, data) for name, data in changes.items() if data is not None)
    return sorted(documents, key=lambda one: one.name)


def _document(role: Role, name: str, data: bytes) -> Document:
    return document(data, role.root / "persona" / name, role.root)
