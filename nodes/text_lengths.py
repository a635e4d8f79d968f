"""What the length of a text is counted in: characters, or words, CJK characters and punctuation marks."""

import re
from array import array
from bisect import bisect_left, bisect_right
from typing import Literal, Protocol

Unit = Literal["characters", "tokens"]

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
# Each character that is no space is in a token. Long runs of letters are cut, or a line without spaces were one token.
TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]{{1,16}}|[^\w\s]")


class Ruler(Protocol):
    """Measures a document; positions are offsets of characters, amounts are in the unit."""

    word: int
    """An amount in which a space or another end of a word can be expected."""

    def length(self, start: int, end: int) -> int:
        """How much stands from start to end."""

    def reach(self, start: int, amount: int) -> int:
        """The furthest end of a text from start that is no longer than the amount."""

    def back(self, end: int, amount: int) -> int:
        """The furthest start of a text to end that is no longer than the amount."""


class Characters:
    """Unicode code points, spaces included: what `len` counts."""

    word = 10

    def __init__(self, text: str) -> None:
        self._end = len(text)

    def length(self, start: int, end: int) -> int:
        """How many characters stand from start to end."""
        return end - start

    def reach(self, start: int, amount: int) -> int:
        """The end of so many characters from start."""
        return min(start + amount, self._end)

    def back(self, end: int, amount: int) -> int:
        """The start of so many characters to end."""
        return max(end - amount, 0)


class Tokens:
    """Words, CJK characters and punctuation marks, one each; spaces are not counted.

    A token that a position cuts through counts whole on both sides, so no text is longer than is said here.
    """

    word = 1

    def __init__(self, text: str) -> None:
        # Arrays: ten million tokens as tuples would take a gigabyte.
        self._starts = array("q", (match.start() for match in TOKEN.finditer(text)))
        self._ends = array("q", (match.end() for match in TOKEN.finditer(text)))
        self._end = len(text)

    def length(self, start: int, end: int) -> int:
        """How many tokens stand from start to end."""
        return max(bisect_left(self._starts, end) - bisect_right(self._ends, start), 0)

    def reach(self, start: int, amount: int) -> int:
        """Where the first token begins that is too many."""
        beyond = bisect_right(self._ends, start) + amount
        return self._starts[beyond] if beyond < len(self._starts) else self._end

    def back(self, end: int, amount: int) -> int:
        """Where the earliest of so many tokens before end begins."""
        if amount == 0:
            return end
        return self._starts[max(bisect_left(self._starts, end) - amount, 0)]


def ruler(text: str, unit: Unit) -> Ruler:
    """Measure a document in a unit.

    Raises:
        ValueError: there is no such unit.
    """
    if unit == "characters":
        return Characters(text)
    if unit == "tokens":
        return Tokens(text)
    raise ValueError(f'There is no unit {unit!r}: use "characters" or "tokens".')
