"""Which of some entities a text names: by whole names, and by words, or parts, that stand for one."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

K = TypeVar("K")

CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # kana, Chinese characters, Hangul: no spaces around a name
PIECE = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
POSSESSOR = re.compile(rf"(?<![^\W_{CJK}])([^\W_{CJK}]++)['’]s?(?=\s)")
LONGEST_NAME = 500  # characters of a name that are looked at
MARKS = re.compile("[\u0300-\u036f]")
STROKES = str.maketrans({"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "Ae", "œ": "oe"})
PLAIN_WORDS = """
a an and as at by for from her his in its my of on or our the their this to with your
al da das de del der des di du el la le les van von zu
captain count doctor dr duke emperor king lady lord master miss mr mrs ms old prince princess professor queen saint sir
st young
"""
PLAIN = frozenset(PLAIN_WORDS.split())
"""Words of a name that alone mean nobody: what joins, whose it is, titles."""


class Name(NamedTuple):
    """A name as it is looked for."""

    words: tuple[str, ...]
    """Those with spaces between, one after the other: what the whole name is known by."""
    telling: frozenset[str]
    """Those that stand for the whole: tom for Tom Quill, apollo for Apollo 11, brother for her brother."""
    parts: tuple[str, ...]
    """What stands for it where there are no spaces: all of it, or its end, as 悟空 for 孙悟空; the longest first."""


class Span(NamedTuple):
    """Where a text names something; `whole`: by its whole name."""

    begin: int
    end: int
    whole: bool

    def within(self, others: Iterable["Span"]) -> bool:
        """Whether the text means something else there: by a longer name, or by these words as its whole name."""
        around = (one for one in others if one.begin <= self.begin and self.end <= one.end)
        return any(one[:2] != self[:2] or one.whole > self.whole for one in around)


def named_in(text: str, entities: Mapping[K, Iterable[str]]) -> set[K]:
    """Which entities a text names.

    Args:
        text: a question, or a passage.
        entities: the names of each; case and diacritics do not count, nor the s of a plural.

    Returns:
        Their keys. Where a name is a part of a longer one that stands there, the longer one is meant.
    """
    plain = folded(text)
    pieces = [(word_of(found.group()), *found.span()) for found in PIECE.finditer(plain)]
    places: dict[str, list[int]] = {}
    for number, (word, _, _) in enumerate(pieces):
        places.setdefault(word, []).append(number)

    def spans(name: Name) -> Iterator[Span]:
        for first in places.get(name.words[0], ()) if name.words else ():
            there = pieces[first : first + len(name.words)]
            if tuple(word for word, _, _ in there) == name.words:
                yield Span(there[0][1], there[-1][2], True)
        for word in name.telling:
            yield from (Span(*pieces[number][1:], False) for number in places.get(word, ()))
        if part := next((one for one in name.parts if one in plain), ""):
            yield from (Span(*found.span(), part == name.parts[0]) for found in re.finditer(re.escape(part), plain))

    found = {key: {span for name in names for span in spans(parsed(name))} for key, names in entities.items()}
    everywhere = {span for of in found.values() for span in of}
    return {key for key, of in found.items() if any(not one.within(everywhere) for one in of)}


def may_mean(name: str, known: str) -> bool:
    """Whether a name may mean what a known one does: it says more of it, or leaves something out.

    Apollo 11 landing and Apollo may mean Apollo 11; Apollo 13 does not.
    """
    one, other = parsed(name), parsed(known)
    if one.parts and other.parts:
        return one.parts[0] in other.parts or other.parts[0] in one.parts[0]
    words, others = set(one.words), set(other.words)
    return (words <= others and not other.telling.isdisjoint(words)) or (
        others <= words and not one.telling.isdisjoint(others)
    )


@lru_cache(maxsize=100_000)
def parsed(name: str) -> Name:
    """Take a name apart."""
    plain = folded(name[:LONGEST_NAME])
    pieces, owners = PIECE.findall(plain), set(POSSESSOR.findall(plain))
    runs = [one for one in pieces if re.match(f"[{CJK}]", one)]
    words = [one for one in pieces if one not in runs]
    able = [one for one in words if len(one) > 1 and not one.isdecimal() and one.casefold() not in PLAIN]
    able = [one for one in able if one not in owners] or able
    # A name in capitals is known by them; else what a thing is called stands last: the harbour master.
    telling = [one for one in able if not one.islower()] or able[-1:]
    while len(words) > 1 and words[0].casefold() in PLAIN:
        del words[0]
    parts: list[str] = []
    if runs and (not telling or len(max(runs, key=len)) > 1):
        words = words if telling else []
        parts.append(re.sub(r"^\W+|\W+$", "", plain))
        known = [one for one in runs if len(one) > 1 and not (len(runs) > 1 and one.endswith("의"))]
        # 路德维希·范·贝多芬 is known by each of his names, 이순신 장군 by the longest.
        for run in known if "·" in plain else sorted(known, key=len)[-1:]:
            least = max(2, (len(run) + 1) // 2)
            parts += [run[begin:] for begin in range(len(run) - least + 1)]
    return Name(tuple(map(word_of, words)), frozenset(map(word_of, telling)), tuple(dict.fromkeys(parts)))


def folded(text: str) -> str:
    """A text without diacritics and compatibility forms."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", MARKS.sub("", unicodedata.normalize("NFKD", text))).translate(STROKES)


def word_of(piece: str) -> str:
    """One spelling for a word, in the singular and in the plural."""
    word = piece.casefold()
    return word.removesuffix("s") if len(word) > 3 else word
