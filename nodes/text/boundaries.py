"""Where a text is cut best: between paragraphs, sentences, lines, words, and never inside a visible character."""

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol

Unit = Literal["characters", "tokens"]

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
# Each character that is no space is in a token. Long runs of letters are cut, or a line without spaces were one token.
TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]{{1,16}}|[^\w\s]")

WORD, LINE, SENTENCE, PARAGRAPH = range(4)
# Chinese and Japanese write no space after a sentence.
_GAP = re.compile(r"([。！？][。！？…”’」』）》]*)\s*|\s+")
_LINE_END = re.compile(r"\r\n|[\r\n\f]")
_STOPS = (".", "!", "?", "…", "。", "！", "？")
_CLOSERS = "\"'”’)]»」』）》*_"
# Those of the gaps that can be more than the space between two words, which most are.
_MAY_STOP = re.compile(rf"([。！？][。！？…”’」』）》]*)\s*|(?<=[{re.escape(''.join(_STOPS) + _CLOSERS)}])\s+|\s\s+")

_JOINER = "\u200d"
_LONGEST_CLUSTER = 64
_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # a flag is two of these letters


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


class Gap(NamedTuple):
    """A place between two parts of a text: one ends at `end`, the next begins at `begin`."""

    rank: int
    end: int
    begin: int


def last_end(text: str, low: int, high: int) -> int | None:
    """Where a part of the highest rank ends, the last of them, from low to high."""
    # A few characters more, to see what kind of space follows.
    found = [gap for gap in _gaps(text, low, high + 4) if low <= gap.end <= high]
    return max(found, key=lambda gap: (gap.rank, gap.end)).end if found else None


def first_begin(text: str, low: int, high: int) -> int | None:
    """Where a part of the highest rank begins, the first of them, from low to high."""
    found = [gap for gap in _gaps(text, max(low - 4, 0), high) if low <= gap.begin <= high]
    return max(found, key=lambda gap: (gap.rank, -gap.begin)).begin if found else None


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end; headings and the items of a list stand for themselves."""
    begin = len(text) - len(text.lstrip())
    for gap in _gaps(text, begin, len(text.rstrip()), _MAY_STOP):
        after = text[gap.begin : gap.begin + 1]
        stops = gap.rank == SENTENCE and not (text[gap.end - 1] == "." and (after.islower() or after.isdecimal()))
        if stops or gap.rank == PARAGRAPH:  # the full stop of "opus no. 5" ends no sentence
            yield begin, gap.end
            begin = gap.begin
    if text[begin:].strip():
        yield begin, len(text.rstrip())


def _gaps(text: str, low: int, high: int, pattern: re.Pattern[str] = _GAP) -> Iterator[Gap]:
    for match in pattern.finditer(text, low, high):
        end = match.start() if match[1] is None else match.end(1)
        yield Gap(_rank(text, end, match.end()), end, match.end())


def _rank(text: str, end: int, begin: int) -> int:
    line_ends = len(_LINE_END.findall(text, end, begin))
    if line_ends > 1:
        return PARAGRAPH
    if ends_sentence(text[max(end - 4, 0) : end]):
        return SENTENCE
    return LINE if line_ends else WORD


def ends_sentence(text: str) -> bool:
    """Whether a text ends with a full stop or the like, in quotation marks or not."""
    return text.rstrip(_CLOSERS).endswith(_STOPS)


def cluster_start(text: str, position: int, low: int) -> int:
    """The position, or where the visible character begins that it would cut through, if that is above low."""
    back = position
    while back > max(low, position - _LONGEST_CLUSTER) and _inside_cluster(text, back):
        back -= 1
    return position if _inside_cluster(text, back) else back


def cluster_end(text: str, position: int, high: int) -> int:
    """The position, or where the visible character ends that it would cut through, if that is below high."""
    onward = position
    while onward < min(high, position + _LONGEST_CLUSTER) and _inside_cluster(text, onward):
        onward += 1
    return position if _inside_cluster(text, onward) else onward


def _inside_cluster(text: str, position: int) -> bool:
    """Whether a cut here splits what is seen as one character.

    The rules of Unicode's annex 29 that text in living languages meets: marks, emoji, flags, conjoining Hangul, CRLF.
    """
    if not 0 < position < len(text):
        return False
    before, after = text[position - 1], text[position]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    return before == _JOINER or _extends(after) or (after in _FLAG_HALVES and _flags_before(text, position) % 2 == 1)


def _extends(character: str) -> bool:
    return (
        character == _JOINER
        or unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\u1160" <= character <= "\u11ff"  # vowels and final consonants of Hangul
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags, as in the flag of Scotland
    )


def _flags_before(text: str, position: int) -> int:
    """How many halves of flags stand before a position; past some hundreds in a row a flag may be cut."""
    before = text[max(position - 512, 0) : position]
    return len(before) - len(before.rstrip(_FLAG_HALVES))
