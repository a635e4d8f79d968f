"""Macros of character cards: what `{{char}}`, `{{user}}` and their like stand for where a card's text is read.

Those that need a client (`{{time}}`, `{{getvar::x}}`) stand as they are. Nothing is run: a macro is a name, a choice of
words that stand in the text, or a roll of dice.
"""

import random
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

LONGEST = 200_000
"""Characters of a text after its macros were filled in."""
ROUNDS = 5
"""How deep macros within macros are filled in."""
MOST_DICE = 100
_INNERMOST = re.compile(r"\{\{([^{}]*+)\}\}")
_OLD = re.compile(r"<(user|bot|char)>", re.IGNORECASE)
_WORD = re.compile(r"\s*(//|[A-Za-z_]+)\s*(?:(::?|\s)(.*))?\Z", re.DOTALL)
_ROLL = re.compile(r"\s*(?:(\d{1,3})?d)?(\d{1,6})\s*\Z", re.IGNORECASE)
_ESCAPED = "\ue000"  # for `\,` within a choice


class Names(NamedTuple):
    """Who a text is about, and whom it is shown to."""

    char: str
    user: str
    original: str = ""
    """What would stand in the text's place: ours stands around it anyway."""


STRANGER: Mapping[str, str] = {"en": "the visitor", "zh": "来访者", "ko": "손님"}
"""By language, what a user is called in documents, which are written before anybody is there."""
GREETED: Mapping[str, str] = {"en": "stranger", "zh": "陌生人", "ko": "손님"}
"""By language, how somebody is greeted whose name is not known."""


def filled(text: str, names: Names, seed: str = "") -> str:
    """Return a text with its macros filled in, of at most LONGEST characters.

    Args:
        text: of a card.
        names: what stands for `{{char}}`, `{{user}}` and `{{original}}`, with the old forms `<BOT>` and `<USER>`.
        seed: the same seed makes the same choices; `{{pick}}` makes the same whatever the seed.
    """
    chance, picks = random.Random(f"{seed}\0{text}"), random.Random(text)  # noqa: S311 (no secret)

    def value(match: re.Match[str]) -> str:
        word, given = _parts(match[1])
        make = _FILLED.get(word)
        return match[0] if make is None else make(given, names, picks if word == "pick" else chance)

    old = {"user": names.user, "bot": names.char, "char": names.char}
    text = _OLD.sub(lambda match: old[match[1].lower()], text)[:LONGEST]
    for _ in range(ROUNDS):
        before, text = text, _INNERMOST.sub(value, text)[:LONGEST]
        if text == before:
            break
    return text


def unknown(text: str) -> set[str]:
    """Return the macros in a text that stand as they are, without what is given to them."""
    found = {_parts(match[1])[0] for match in _INNERMOST.finditer(text[:LONGEST])}
    return {f"{{{{{word[:40]}}}}}" for word in found - {*_FILLED, ""}}


def _parts(macro: str) -> tuple[str, str]:
    """The name of a macro in small letters, and what it is given."""
    if macro.lstrip().startswith("//"):
        return "//", macro
    match = _WORD.match(macro)
    return (match[1].lower(), match[3] or "") if match else ("", "")


def _chosen(given: str, _: Names, chance: random.Random) -> str:
    """One of several words, between `::` or commas; a comma behind a backslash is one of the text."""
    choices = given.split("::") if "::" in given else given.replace(r"\,", _ESCAPED).split(",")
    return chance.choice(choices).replace(_ESCAPED, ",").strip(":").strip()


def _rolled(given: str, _: Names, chance: random.Random) -> str:
    """The sum of dice, such as 6, d6 or 2d6; "" for what is none."""
    match = _ROLL.match(given)
    if match is None or not int(match[2]):
        return ""
    return str(sum(chance.randint(1, int(match[2])) for _ in range(min(int(match[1] or 1), MOST_DICE))))


def _nothing(given: str, names: Names, chance: random.Random) -> str:
    return ""


_FILLED: Mapping[str, Callable[[str, Names, random.Random], str]] = {
    "char": lambda given, names, chance: names.char,
    "bot": lambda given, names, chance: names.char,
    "user": lambda given, names, chance: names.user,
    "original": lambda given, names, chance: names.original,
    "random": _chosen,
    "pick": _chosen,
    "roll": _rolled,
    "//": _nothing,
    "comment": _nothing,
    "hidden_key": _nothing,
}
