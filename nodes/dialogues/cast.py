"""The role that the user plays, E_u (DRMR 3.1): who it is to the library and in the dialogues, or a stranger."""

import asyncio
from typing import NamedTuple

from pydantic import Field

from dramaturg.nodes.dialogues.index import DialogueSettings, dialogues_of_turn
from dramaturg.nodes.run import RoleContext, language_of, role_of, run_of
from dramaturg.nodes.speakers import spelling
from dramaturg.prompts import load
from dramaturg.stores.index.dialogues import DialogueStore
from dramaturg.stores.library import find_card
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import RoleCard


class UserRoleSettings(RoleContext):
    """Who the user is."""

    user_role: str = Field(
        default="",
        max_length=80,
        description="The role that the user plays: a role of the library by its id or name, or any name that speaks in "
        "the dialogues; empty: a stranger.",
    )


class CastSettings(DialogueSettings, UserRoleSettings):
    """Who speaks in a turn, and what was said before it."""


class UserRole(NamedTuple):
    """Who the user is."""

    name: str
    """As the prompts call it."""
    profile: str
    """P_u; empty where the library has none."""
    speaker: str | None
    """Its name in the dialogues; None where it does not speak in them."""
    stranger: bool
    """Whether nobody said who it is."""

    @property
    def known_as(self) -> str:
        """Its name in any language; empty for a stranger."""
        return "" if self.stranger else self.name


class Cast(NamedTuple):
    """Who speaks in a turn: the role that answers, and the user's; and the dialogues that both are known from."""

    role: Role
    card: RoleCard
    """Of the role that answers, read once."""
    store: DialogueStore
    user: UserRole


async def cast_of(context: CastSettings, version: str) -> Cast:
    """Find out who speaks in a turn.

    Raises:
        ValueError: the user would play the role that answers.
        MissingIndex: the role has no index of dialogues.
    """
    role = await role_of(context)
    store = await dialogues_of_turn(await run_of(context), version)
    return Cast(role, role.card, store, await user_role_of(context, role, store))


async def user_role_of(context: UserRoleSettings, role: Role, store: DialogueStore) -> UserRole:
    """Find out who the user is.

    Raises:
        ValueError: it is the role that answers.
        RoleError: its card cannot be read.
    """
    wanted = " ".join(context.user_role.split())
    if not wanted:
        return UserRole(stranger_name(language_of(context, role)), "", None, True)
    card = await asyncio.to_thread(find_card, wanted, role.root.parent)
    names, own = (card.name, *card.aliases) if card else (wanted,), role.card
    if {spelling(wanted), spelling(names[0])} & {spelling(name) for name in (role.id, own.name, *own.aliases)}:
        msg = f"The user cannot play {own.name}, who answers: name somebody else with --user-role, or nobody."
        raise ValueError(msg)
    spoken = {spelling(speaker): speaker for speaker in store.graph if speaker != own.name}
    speaker = next((spoken[key] for name in names if (key := spelling(name)) in spoken), None)
    name = card.name if card else speaker or wanted
    return UserRole(name, card.profile.strip() if card else "", speaker, False)


def stranger_name(language: str) -> str:
    """What prompts call a user of whom nothing is known."""
    (only,) = load("stranger", language).messages()
    return only.text
