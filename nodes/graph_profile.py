"""The role in its own knowledge graph: which node it is, and what the graph says of it in short."""

import asyncio
from typing import TypeVar

from dramaturg.nodes.chunking import ChunkSettings
from dramaturg.nodes.context import role_of
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.role import Role

NEAREST = 20  # neighbours that a profile names
LONGEST = 1200  # characters of a description

C = TypeVar("C", bound=ChunkSettings)


async def graph_of_turn(context: ChunkSettings, version: str) -> tuple[Role, KnowledgeGraph]:
    """The role and the graph that this turn reads, also when a newer version was published meanwhile.

    Raises:
        MissingIndex: the role has no graph.
        DamagedIndex: no version is what was written.
    """
    role = await role_of(context)
    return role, await asyncio.to_thread(role.index(context.index_kind).open, version or None)


def own_node(role: Role, graph: KnowledgeGraph) -> str | None:
    """The entity that the role is; None if no document names it."""
    return graph.find(role.card.name, *role.card.aliases)


def profile_of(role: Role, graph: KnowledgeGraph) -> str:
    """The profile, summarized from the graph: the card, the role's description, and who is closest to it (3.4)."""
    own = own_node(role, graph)
    if own is None:
        return role.card.profile
    names = ", ".join(entity.name for entity, _ in graph.neighbours(own)[:NEAREST])
    return "\n".join(filter(None, [role.card.profile.strip(), graph.entity(own).description[:LONGEST], names]))
