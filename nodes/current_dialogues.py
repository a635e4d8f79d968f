"""Which dialogues are served now, and whether they are what a role's files and the settings ask for."""

import asyncio
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import JsonValue

from dramaturg.nodes.context import embedder_of, role_of, settings
from dramaturg.nodes.dialogue_settings import DialogueSettings
from dramaturg.nodes.indexing import IndexCheckState, as_checked
from dramaturg.stores.errors import MissingIndex
from dramaturg.stores.index.dialogues import DialogueStore
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import RoleCard

S = TypeVar("S", bound=DialogueSettings)


async def check_dialogues(state: IndexCheckState, runtime: Runtime[S]) -> dict[str, Any]:
    """Look whether the dialogues were made from the files, the settings and the embedding model of now."""
    context = settings(runtime, DialogueSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    return as_checked(await asyncio.to_thread(current_dialogues, role, context, model.name))


def current_dialogues(role: Role, context: DialogueSettings, embedding: str) -> DialogueStore | None:
    """The dialogues that are served, if they were made from the sources and settings of now.

    Raises:
        DamagedIndex: no version is what was written.
    """
    try:
        store = role.index(context.index_kind).open()
    except MissingIndex:
        return None
    same = recipe_settings(role.card, context) == store.manifest.settings
    return store if same and store.made_from(embedding, role.dialogue_files.checksums()) else None


def recipe_settings(card: RoleCard, context: DialogueSettings) -> dict[str, JsonValue]:
    """All that decides what dialogues there are, besides the files and the embedding model."""
    return {"length": context.dialogue_length, "names": [card.name, *card.aliases]}


async def dialogues_of_turn(context: DialogueSettings, version: str) -> DialogueStore:
    """The dialogues that this turn reads, also when a newer version was published meanwhile."""
    role = await role_of(context)
    return await asyncio.to_thread(role.index(context.index_kind).open, version or None)
