"""Who speaks: one name for a speaker, however a line spells it, and the role that the user plays, E_u (DRMR 3.1)."""

import asyncio
import unicodedata
from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import Field

from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import RoleContext, Run
from dramaturg.nodes.turn import stranger_name
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.index.dialogues import DIALOGUE_KIND, DialogueStore
from dramaturg.stores.library import find_card
from dramaturg.stores.role import Role


class Speakers:
    """The name of each speaker: the first spelling that was met, or the name that these spellings are said to mean.

    Args:
        names: a name and its other spellings, such as a role's name and its aliases; the first of each is the name.
    """

    def __init__(self, *names: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        for spellings in names:
            first, *others = spellings
            for one in (first, *others):
                self._names.setdefault(spelling(one), first)

    def name(self, speaker: str) -> str:
        """The name of a speaker, which is remembered if it is new."""
        return self._names.setdefault(spelling(speaker), " ".join(speaker.split()))


def spelling(speaker: str) -> str:
    """What two spellings of one name have in common: letters and digits, whatever their case and width."""
    return letters_of(speaker) or speaker.strip()


def letters_of(text: str) -> str:
    """The letters and digits of a text, whatever their case and width."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


class UserRoleSettings(RoleContext):
    """Who the user is."""

    user_role: Open[str] = Field(
        default="",
        max_length=80,
        description="The role that the user plays: a role of the library by its id or name, or any name that speaks in "
        "the dialogues; empty: a stranger.",
    )


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


def one_sided(cast: Cast) -> Cast:
    """The same where the user's role has a name and nothing else: neither a profile nor dialogues of its own."""
    return cast._replace(user=cast.user._replace(profile="", speaker=None))


async def cast_of(run: Run[Any], version: str | None) -> Cast:
    """Find out who speaks in a turn.

    Args:
        run: of settings that inherit `UserRoleSettings`.
        version: of the dialogues, which a turn reads to its end, whatever is published meanwhile; empty: the newest.

    Raises:
        ValueError: the user would play the role that answers.
        MissingIndex: the role has no index of dialogues.
        RoleError: the card of the user's role cannot be read.
    """
    role, own = run.role, run.role.card
    store = await run.store(DIALOGUE_KIND, version)
    wanted = " ".join(run.settings.user_role.split())
    if not wanted:
        return Cast(role, own, store, UserRole(stranger_name(run), "", None, True))
    spoken = {spelling(speaker): speaker for speaker in store.graph if speaker != own.name}
    taken = spelling(wanted) in spoken  # by a speaker of these dialogues, who is not another tale's Tom
    card = await asyncio.to_thread(find_card, wanted, role.root.parent, taken=taken)
    names = (card.name, *card.aliases) if card else (wanted,)
    if {spelling(wanted), spelling(names[0])} & {spelling(name) for name in (role.id, own.name, *own.aliases)}:
        msg = f"The user cannot play {own.name}, who answers: name somebody else with --user-role, or nobody."
        raise ValueError(msg)
    speaker = next((spoken[key] for name in names if (key := spelling(name)) in spoken), None)
    user = UserRole(card.name if card else speaker or wanted, card.profile.strip() if card else "", speaker, False)
    return Cast(role, own, store, user)
