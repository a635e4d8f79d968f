"""Values of an answer in the writings that models have for them: numbers on a scale, numbers of things, yes and no.

Who asks for a number from 1 to 5 is told 4, 4.0, "4", "4/5", "4 分", "5점 만점에 4점", "four", or 4 in a list. All of
these are that number. What is beyond the scale, or of another one, as 5/10, is none.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dramaturg.models.reading import NO, PUNCTUATION, SENTENCE_END, YES, normalize_word

WORDS = {
    word: value
    for words in (
        "zero one two three four five six seven eight nine ten",
        "零 一 二 三 四 五 六 七 八 九 十",
        "영 일 이 삼 사 오 육 칠 팔 구 십",
        "공 하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열",
        "〇 한 두 세 네",
        "零 壹 两",
    )
    for value, word in enumerate(words.split())
}
_NUMBER = "|".join([r"[+-]?\d+(?:[.,]\d+)?", r"[+-]?\.\d+", *sorted(WORDS, key=len, reverse=True)])
_KNOWN_LABEL = r"(?:about|approximately|roughly|score|rating|约|大约|得分|得|약|~)\s*"
_LABEL = rf"(?:[^\W\d_]+(?:[ _][^\W\d_]+){{0,2}}\s*[:=]\s*|{_KNOWN_LABEL})?"
_UNIT = r"\s*(?:points?|pts?|stars?|分|点|점)?"
_TAIL = r"\s*(?:[(\[:,;.–—-]\D*)?"
ON_SCALE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_LABEL}(?P<number>{_NUMBER})(?:\s*(?:/|out\s+of|of)\s*(?P<of>{_NUMBER}))?(?P<percent>\s*%)?{_UNIT}{_TAIL}",
        rf"满分\s*(?P<of>{_NUMBER})\s*分?[,;\s]*[得打给为]?\s*(?P<number>{_NUMBER})\s*分?(?P<percent>)",
        rf"(?P<of>{_NUMBER})\s*점\s*(?:만점에|만점\s*중에?|중에?)\s*(?P<number>{_NUMBER})\s*점?(?P<percent>)",
    )
)
"""A number, perhaps with the end of its scale or a sign for percent; what else is said of it has no digits."""
OF_A_THING = re.compile(
    rf"(?:(?!not\b|no\b(?!\.))[^\W\d_]{{1,20}}\W{{0,3}})?(?P<number>-?\d+(?:\.\d+)?)\W?(?:[^\W\d_]{{1,3}})?(?:[:.,-]\s\D*)?"
    rf"|(?P<word>{'|'.join(WORDS)})"
)
"""The number of a thing: "statement 2", "#2", "[2]", "第2句", "2번"."""
LONGEST = 300  # characters of a number with what is said of it
NOTHING = frozenset(
    {"none", "null", "nil", "nothing", "nobody", "no one", "n/a", "na", "无", "没有", "无人", "없음", "없다"}
)
"""What models write where there is nothing."""
TRUTHS = (
    dict.fromkeys([*YES, "y", "t", "1", "对", "真", "有", "네", "참", "맞다", "맞음", "그렇다"], True)
    | dict.fromkeys([*NO, "n", "f", "0", "错", "假", "没有", "无", "거짓", "아니", "아님", "아니다"], False)
)  # fmt: skip


def is_nothing(value: object) -> bool:
    """Whether a value says that there is nothing."""
    return value is None or value in ([], {}) or (isinstance(value, str) and normalize_word(value) in {"", *NOTHING})


def spelling(text: str) -> str:
    """One spelling of a name in any script: "Works At", "works-at" and "worksAt" are worksat."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(one for one in folded if unicodedata.category(one)[0] in "LMN")


def alone(value: Any) -> Any:
    """What a list or an object of one value holds; any other value as it is."""
    while isinstance(value, list | Mapping) and len(value) == 1:
        (value,) = value.values() if isinstance(value, Mapping) else value
    return value


def in_digits(said: str) -> float:
    """The value of a number in digits of any script, or in words."""
    return float(WORDS[said]) if said in WORDS else float(said.replace(",", "."))


def folded(text: str) -> str:
    """A text without what spellings of a number differ in; empty where it is too long for one."""
    return (
        ""
        if len(text) > LONGEST
        else unicodedata.normalize("NFKC", text).replace("−", "-").strip(" \t\r\n\"'`*_“”「」").casefold()
    )


class Scale(NamedTuple):
    """Marks a number from `low` to `high`: `Annotated[int, Scale(1, 10)]`; of an `int`, a half counts as the next one.

    The JSON schema has the bounds: a server that holds a model to a schema holds it to them, too.
    """

    low: float
    high: float

    def read(self, value: object) -> float:
        """The number that a value is.

        Raises:
            ValueError: it is none, or none of this scale.
        """
        value = alone(value)
        if isinstance(value, str):
            value = self._said(folded(value))
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise ValueError(f"a number from {self.low:g} to {self.high:g} is wanted")
        return value

    def _said(self, text: str) -> float | None:
        found = next(filter(None, (pattern.fullmatch(text) for pattern in ON_SCALE)), None)
        if not found:
            return None
        number, end = in_digits(found["number"]), in_digits(found["of"] or f"{self.high:g}")
        if self.high == 1 and found["of"] and end:  # a share: 9/10
            return number / end
        if end != self.high:
            return None
        if found["percent"]:
            return number * self.high / 100 if (self.low, self.high) in ((0, 1), (0, 100)) else None
        return number

    def whole(self, value: object) -> int:
        """The whole number that a value is, or is nearest to; see `read`."""
        return math.floor(self.read(value) + 0.5)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The bounds, and how a value is read before it is held against them."""
        if source is int:
            whole = core_schema.int_schema(ge=math.ceil(self.low), le=math.floor(self.high))
            return core_schema.no_info_before_validator_function(self.whole, whole)
        bounded = core_schema.float_schema(ge=self.low, le=self.high, allow_inf_nan=False)
        return core_schema.no_info_before_validator_function(self.read, bounded)


class NumberOf(NamedTuple):
    """Marks the number of one of so many things: `Annotated[int, NumberOf(5)]`; from 0 where none may be meant."""

    most: int
    least: int = 1

    def read(self, value: object) -> int:
        """The number that a value names; null and "none" are 0 where that may be.

        Raises:
            ValueError: it names none of the things.
        """
        value = alone(value)
        if self.least == 0 and (value is None or (isinstance(value, str) and normalize_word(value) in NOTHING)):
            return 0
        if isinstance(value, str):
            found = OF_A_THING.fullmatch(folded(value).strip(PUNCTUATION + "#"))
            value = in_digits(found["number"] or found["word"]) if found else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.least <= value <= self.most:
            raise ValueError(f"a number from {self.least} to {self.most} is wanted")
        if value != int(value):
            raise ValueError("a whole number is wanted")
        return int(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The bounds, and how a value is read before it is held against them."""
        bounded = core_schema.int_schema(ge=self.least, le=self.most)
        return core_schema.no_info_before_validator_function(self.read, bounded)


def truth(value: object) -> bool:
    """The yes or no that a value is, in words or as 1 or 0.

    Raises:
        ValueError: it is neither.
    """
    value = alone(value)
    if isinstance(value, str):
        first = re.split(r"[,.;:!?\n，。；：！？(（]", value.strip(PUNCTUATION), maxsplit=1)[0]
        value = TRUTHS.get(normalize_word(value), TRUTHS.get(normalize_word(first)))
    if value in (0, 1):
        return bool(value)
    raise ValueError("yes or no is wanted")


Truth = Annotated[bool, BeforeValidator(truth)]
"""A yes or no in an answer."""


def as_text(given: Any) -> str | None:
    """A text that came in parts, in an object of its own, or as a number."""
    if isinstance(given, list) and given and all(isinstance(one, str) for one in given):
        sentences = all(SENTENCE_END.search(one.strip()) for one in given)
        return (" " if sentences else ", ").join(one.strip() for one in given)
    one = alone(given)
    if isinstance(one, bool) or not isinstance(one, str | int | float):
        return None
    return str(one)


def option_of(given: Any, options: Iterable[Any]) -> str | None:
    """The option that a value names in another spelling, also in the plural, or before what is said of it."""
    given = alone(given)
    if isinstance(given, dict):
        named = {option_of(one, options) for one in given.values()} - {None}
        return named.pop() if len(named) == 1 else None
    words = [one for one in options if isinstance(one, str)]
    for read in (normalize_word, spelling):
        by_spelling: dict[str, str] = {}
        for one in words:
            by_spelling[read(one)] = "" if read(one) in by_spelling else one
        for way in (str(given), str(given).rstrip(" .").removesuffix("s"), re.split(r"[(（:：]", str(given))[0]):
            if found := by_spelling.get(read(way)):
                return found
    return None
