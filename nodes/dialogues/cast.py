"""Who speaks: one name for a speaker, however a line spells it, and the role that the user plays, E_u (DRMR 3.1)."""

import asyncio
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from pydantic import Field

from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import RoleContext, Run
from dramaturg.nodes.turn import stranger_name
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.index.dialogues import DIALOGUE_KIND, DialogueStore, StoredDialogue
from dramaturg.stores.library import find_role
from dramaturg.stores.macros import STRANGER
from dramaturg.stores.role import Role

LISTED = 8
"""Speakers that are named where none has the name that is looked for."""
LIKELY, ALIKE = 0.5, 0.8
"""How near two names are that may be one person's, and how like their letters are where they share no word."""
TITLES = frozenset(
    (
        *("the", "of", "old", "young", "mr", "mrs", "ms", "miss", "dr", "sir", "lady", "lord", "captain"),
        *("mother", "father", "uncle", "aunt", "grandma", "grandpa", "granny"),
    )
)
"""Words that two people's names may share."""


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
    of_card: bool = False
    """Whether it is the user of a card's example chats, under whatever name: `{{user}}` is who talks to the role."""
    names: tuple[str, ...] = ()
    """All of its names."""
    role: str = ""
    """Its id in the library; empty: it is not there."""

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
    return cast._replace(user=cast.user._replace(profile="", speaker=None, of_card=False, names=()))


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
    wanted, visitor = " ".join(run.settings.user_role.split()), visitor_in(own, store)
    if not wanted:
        name = visitor or stranger_name(run)
        return Cast(role, own, store, UserRole(name, "", visitor, True, visitor is not None))
    spoken = {spelling(speaker): speaker for speaker in store.graph if speaker != own.name}
    taken = spelling(wanted) in spoken  # by a speaker of these dialogues, who is not another tale's Tom
    found = await asyncio.to_thread(find_role, wanted, role.root.parent, taken=taken)
    card = found[1] if found else None
    names = (card.name, *card.aliases) if card else (wanted,)
    if {spelling(wanted), spelling(names[0])} & {spelling(name) for name in (role.id, own.name, *own.aliases)}:
        msg = f"The user cannot play {own.name}, who answers: name somebody else with --user-role, or nobody."
        raise ValueError(msg)
    speaker = next((spoken[key] for name in names if (key := spelling(name)) in spoken), None)
    name, profile = card.name if card else speaker or wanted, card.profile.strip() if card else ""
    of_card = speaker is None and visitor is not None
    user = UserRole(name, profile, speaker or visitor, False, of_card, names, found[0] if found else "")
    return Cast(role, own, store, user)


def visitor_in(card: RoleCard, store: DialogueStore) -> str | None:
    """As whom the user of a card's example chats speaks in the dialogues; None: it does not."""
    if not card.card:
        return None
    names = {*map(spelling, STRANGER.values())}
    return next((speaker for speaker in store.graph if spelling(speaker) in names), None)


def as_told(dialogue: StoredDialogue, cast: Cast) -> str:
    """A dialogue as a model reads it: in a card's example chats the user has the name of who talks now."""
    user = cast.user
    return dialogue.text.replace(user.speaker, user.name) if user.of_card and user.speaker else dialogue.text


def speakers_warning(cast: Cast) -> str:
    """That the names of the role, or of the user's, are nobody's in the dialogues; empty: they are somebody's.

    Who speaks only later than the time of the turn is no slip.
    """
    if cast.store.later:
        return ""
    lines, there = (line.speaker for one in cast.store.dialogues for line in one.lines), cast.store.graph
    own = "" if cast.card.name in there else unheard(cast.card, lines)
    user = nobody_like(cast.user, [one for one in there if one != cast.card.name]) if cast.user.names else ""
    return " ".join(filter(None, [own, user]))


def unheard(card: RoleCard, speakers: Iterable[str]) -> str:
    """That nobody in its dialogues speaks by a role's names, and who may be meant; empty where somebody does.

    Args:
        card: of the role.
        speakers: of each line.
    """
    lines, names = Counter(" ".join(one.split()) for one in speakers if one.strip()), (card.name, *card.aliases)
    if not lines or {*map(spelling, names)} & {*map(spelling, lines)}:
        return ""
    there = [name for name, _ in lines.most_common()]
    said = f"Nobody in the dialogues speaks as {card.name}; who speaks is {listed(there)}."
    likely = likely_meant(names, there)
    if (
        card.story
    ):  # where others may speak and the role does not, but for a name that has the role's in it, or is in it
        likely = [one for one in likely if max(nearness(name, one) for name in names) == 1]
    if not likely and card.story:
        return ""
    if not likely:
        return f"{said} If one of them is the role, write that name under `aliases` into role.yaml."
    aliases = ", ".join([*card.aliases, likely[0]])
    return f"{said} If {likely[0]} is the role, write `aliases: [{aliases}]` into role.yaml, and index it again."


def nobody_like(user: UserRole, speakers: Sequence[str]) -> str:
    """That nobody in the dialogues speaks by the names of the user's role, and who may be meant; empty: somebody does.

    One of the library that is like none of them has never spoken with the role: that is no slip.
    """
    likely = [] if user.speaker else likely_meant(user.names, speakers)
    if user.speaker or (user.role and not likely):
        return ""
    if user.role:
        alias = f"if {likely[0]} is the same, write `aliases: [{likely[0]}]` into its role.yaml"
        return f"{user.name!r} ({user.role}) speaks nowhere in the dialogues; {alias}, and index the role again."
    meant = f"did you mean {' or '.join(map(repr, likely[:3]))}?" if likely else f"who speaks is {listed(speakers)}."
    return f"Nobody in the dialogues or in the library is called {user.name!r}; {meant}"


def listed(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def likely_meant(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """Those of other names that may be of one person with one of these, the likeliest first."""
    near = {other: max(nearness(name, other) for name in names) for other in others}
    return sorted((other for other in others if near[other] >= LIKELY), key=lambda other: -near[other])


def nearness(one: str, other: str) -> float:
    """How near two names are, 0 to 1: by the words they share, else by letters, as 小明 is part of 王小明."""
    words, more = name_words(one), name_words(other)
    if shared := {*words} & {*more}:
        return len(shared) / min(len({*words}), len({*more}))
    letters, rest = "".join(words), "".join(more)
    if min(len(letters), len(rest)) > 1 and (letters in rest or rest in letters):
        return LIKELY
    ratio = SequenceMatcher(None, letters, rest).ratio()
    return ratio if ratio > ALIKE else 0.0


def name_words(name: str) -> list[str]:
    """The words of a name but for titles; all of them where there are no others."""
    words = [spelling(word) for word in re.findall(r"\w+", name)]
    return [word for word in words if word not in TITLES] or words
