"""Who speaks: one name for a speaker, however a line spells it."""

import unicodedata
from collections.abc import Iterable


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
