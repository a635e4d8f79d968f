"""Moments of a story: dates, ages, places in a text, names of a role's own timeline; which of two comes first."""

import re
from calendar import monthrange
from contextlib import suppress
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field

DATE = re.compile(r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?)?")
READ = 1000
"""Characters of a text in which a moment is looked for."""
DAYS = 8
"""Places in a text at which a date in words is looked for."""
LONGEST_NAME = 4
"""Pieces between commas that a name of a time may have."""
UNITS = ("volume", "book", "part", "act", "chapter", "scene")
"""The units of a text, the largest first."""
_ACT, _CHAPTER, _SCENE = UNITS.index("act"), UNITS.index("chapter"), UNITS.index("scene")
_WORDS = {
    "volume": r"volume|vol\.?",
    "book": r"book|bk\.?",
    "part": r"part|pt\.?",
    "act": r"act",
    "chapter": r"chapters?|chap\.?|ch\.?|canto|stave|episode|ep\.?",
    "scene": r"scenes?|sc\.?",
}
_EAST = dict(zip("卷册冊部幕章回集话話场場", (0, 0, 0, 2, 3, 4, 4, 4, 4, 4, 5, 5), strict=True))
_KOREAN = dict(zip(("권", "부", "막", "장면", "장", "회", "화"), (0, 2, 3, 5, 4, 4, 4), strict=True))
_NUMBER_WORDS = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
sixteenth seventeenth eighteenth nineteenth twentieth
"""
_NUMBERS = {word: at % 20 + 1 for at, word in enumerate(_NUMBER_WORDS.split())}
_ORDINALS = list(_NUMBERS)[20:]
_DIGITS = {one: at for at, one in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
_DIGITS |= {one: at for at, one in enumerate("일이삼사오육칠팔구", start=1)}

_DASH = r"\s*(?:[-–—~～至到]|to\b|and\b|&)\s*"
_WORD = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_NUMBER = rf"(?:\d{{1,4}}(?:st|nd|rd|th)?|[IVXLC]+|[ivxlc]+|{_WORD})(?![^\W_])"
_UNIT = "|".join(f"(?P<{name}>{words})" for name, words in _WORDS.items())
_PLACE = re.compile(
    rf"(?<![^\W_])(?:{_UNIT})\s*(?:the\s+)?(?P<first>{_NUMBER})(?:{_DASH}(?P<last>{_NUMBER}))?", re.IGNORECASE
)
_PLACE_AFTER = re.compile(
    rf"(?<![^\W_])(?P<first>{'|'.join(_ORDINALS)}|\d{{1,4}}(?:st|nd|rd|th))\s+(?:{_UNIT})(?![^\W_])", re.IGNORECASE
)
_HAN, _HANGUL = "〇零一二三四五六七八九十百廿两0-9", "일이삼사오육칠팔구십백0-9"
_PLACE_EAST = re.compile(rf"第\s*([{_HAN}]+)\s*([{''.join(_EAST)}])|([卷])之?([{_HAN}]+)")
_PLACE_KOREAN = re.compile(rf"(?:제\s*([{_HANGUL}]+)|(?<![^\W_])(\d{{1,4}}))\s*({'|'.join(_KOREAN)})(?![^\W\d_])")
_ROMAN = re.compile(r"(C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
_ROMAN_VALUES = dict(zip("IVXLC", (1, 5, 10, 50, 100), strict=True))

_AGE = re.compile(
    rf"(?<![^\W_])(?:aged?|age\s+of|at\s+the\s+age\s+of)\s+(?P<a>\d{{1,3}}|{_WORD})(?:{_DASH}(?P<b>\d{{1,3}}))?(?![^\W_])"
    rf"|(?<![^\W_])(?:(?P<c>\d{{1,3}}){_DASH})?(?P<d>\d{{1,3}}|{_WORD})[\s-]years?[\s-]old(?![^\W_])"
    rf"|(?P<e>[{_HAN}]{{1,3}})\s*[岁歲]|(?<!\d)(?P<f>\d{{1,3}})\s*[살세](?![^\W\d_])",
    re.IGNORECASE,
)
_DAY = re.compile(r"(?<!\d)[0-9]{4}-(?:0[1-9]|1[0-2])(?:-[0-9]{2})?(?![\d])")
_YEARS = re.compile(
    r"(?<![\d])(?P<year>[12][0-9]{3})(?![\d])(?:(?P<decade>0?s(?![^\W_])|年代|년대)|\s*[-–—/]\s*(?P<end>[0-9]{2})(?!\d))?"
    r"|(?<!\d)(?P<early>[0-9]{3})\s*[年년]"
)
_STAMP = re.compile(r"([0-9]{4}-[0-9]{2}(?:-[0-9]{2})?)(?:[T ][0-9]{2}:[0-9]{2}.*)?")
_DAY_BEGINS = re.compile(r"(?<!\w)(?=\d|[^\W\d_]{3,12}\.?,?\s+\d)")
_PIECES = re.compile(r"\s+[-–—]+\s+|[,;:.()\[\]/（）：；，、。—–]+")
_WHAT = "write a year, a month or a day, as 1824, 1824-05 or 1824-05-07"


@lru_cache(maxsize=128)  # a chronicle is read at one date, triple by triple
def last_day(when: str) -> str:
    """The last day of a year, a month or a day, as ISO 8601 writes it.

    Raises:
        ValueError: there is no such date.
    """
    found = DATE.fullmatch(when)
    try:
        year, month = int(found["year"] if found else 0), int((found and found["month"]) or 12)
        day = int((found and found["day"]) or monthrange(year, month)[1])
        return date(year, month, day).isoformat()
    except ValueError:
        msg = f"{when!r} is no date: write a year, a month or a day, as 1824, 1824-05 or 1824-05-07."
        raise ValueError(msg) from None


Extent = tuple[int, int]
"""A first and a last number, both included."""
Place = tuple[Extent | None, ...]
"""Of each of `UNITS`, which are meant; None: nothing is said of it."""


class Moment(NamedTuple):
    """When something was, by each kind of time that is said of it; of no kind: nobody can say before what it was."""

    days: tuple[str, str] | None = None
    """Its first and its last day, as ISO 8601 writes them."""
    ages: Extent | None = None
    place: Place | None = None
    through: frozenset[int] = frozenset()
    """The units of its text that are numbered through, whatever larger unit they stand in."""
    named: Extent | None = None
    """Its places in a timeline."""

    @property
    def is_read(self) -> bool:
        """Whether any kind of time is said."""
        return any(one is not None for one in (self.days, self.ages, self.place, self.named))

    def ends_by(self, other: "Moment") -> bool | None:
        """Whether all of it has been once all of the other has; None: the two cannot be compared."""
        return self._compared(other, 1)

    def begins_by(self, other: "Moment") -> bool | None:
        """Whether it has begun once all of the other has been; None: the two cannot be compared."""
        return self._compared(other, 0)

    def _compared(self, other: "Moment", edge: int) -> bool | None:
        """By every kind of time that both have: where they differ, the later holds."""
        found = list[bool | None]()
        if self.days and other.days:
            found.append(self.days[edge] <= other.days[1])
        if self.ages and other.ages:
            found.append(self.ages[edge] <= other.ages[1])
        if self.named and other.named:
            found.append(self.named[edge] <= other.named[1])
        if self.place and other.place:
            found.append(_place_by(self.place, other.place, self.through | other.through, edge))
        known = [one for one in found if one is not None]
        return all(known) if known else None


def _place_by(place: Place, other: Place, through: frozenset[int], edge: int) -> bool | None:
    """Whether a place in a text has ended (edge 1), or begun (0), where another one ends."""
    shared = False
    for at, (one, two) in enumerate(zip(place, other, strict=True)):
        if one is None and two is None:
            continue
        if one is not None and two is not None:
            if one[edge] != two[1]:
                return one[edge] < two[1]
            shared = True
            continue
        finer = place[at + 1 :] if one is None else other[at + 1 :]
        if any(finer):  # one of them leaves a larger unit out: what is in it tells, if its numbers do not begin again
            common = next((step for step in range(at + 1, len(UNITS)) if place[step] and other[step]), None)
            if common is None or common not in through:
                return None
        elif shared:
            return one is not None or edge == 0  # a whole covers its parts, and a part no whole
        else:
            return None
    return True if shared else None


@lru_cache(maxsize=50_000)  # the same memories are read turn after turn
def read_moment(text: str, timeline: tuple[str, ...] = ()) -> Moment:
    """Return the moment that a text names, of no kind where it names none.

    Args:
        text: such as "1824-05", "summer 1802", "age 12", "Act 3, Scene 2", 第三章, or a name of the timeline.
        timeline: names of times, in their order.
    """
    text = text[:READ].strip()
    if stamp := _STAMP.fullmatch(text):  # as messengers write it, line by line
        with suppress(ValueError):
            return Moment(days=(f"{stamp[1]}-01"[:10], last_day(stamp[1])), named=_named_in(text, timeline))
    place, rest = _place_in(text)
    ages = _ages_in(rest)
    return Moment(days=_days_in(_AGE.sub(" ", rest)), ages=ages, place=place, named=_named_in(text, timeline))


def within(outer: Moment | None, inner: Moment) -> Moment:
    """Return a moment inside of another one, as a scene is of an act: of each kind the inner counts, if it says it."""
    if outer is None:
        return inner
    place = placed_within(outer.place, inner.place) if outer.place and inner.place else inner.place or outer.place
    return Moment(
        days=inner.days or outer.days,
        ages=inner.ages or outer.ages,
        place=place,
        through=inner.through | outer.through,
        named=inner.named or outer.named,
    )


def placed_within(outer: Place, inner: Place) -> Place:
    """Return a place with the larger units of what it stands in."""
    first = next(at for at, one in enumerate(inner) if one)
    return (*outer[:first], *inner[first:])


def require_moment(text: str, timeline: tuple[str, ...]) -> Moment:
    """Return the moment that somebody sets.

    Raises:
        ValueError: none can be read.
    """
    found = read_moment(text, timeline)
    if found.is_read:
        return found
    names = f", or a name of the role's timeline: {', '.join(timeline)}" if timeline else ""
    hint = "" if timeline else " Names of times can be written under `timeline` into role.yaml, in their order."
    raise ValueError(
        f"{text!r} is no moment that can be read: {_WHAT}, an age, as age 12, a place in the text, as chapter 3 or act "
        f"2, scene 1{names}.{hint}"
    )


def as_moment(text: str) -> str:
    """Return a moment that a person writes; what looks like a date must be one.

    Raises:
        ValueError: it is none.
    """
    if re.fullmatch(r"[0-9]+(-[0-9]*)*", text):
        last_day(text)
    return text


When = Annotated[str, BeforeValidator(str), Field(min_length=1, max_length=200), AfterValidator(as_moment)]
"""A moment that people write; YAML reads a year as a number."""


def _place_in(text: str) -> tuple[Place | None, str]:
    """The place that a text names, and the text without it."""
    found: list[list[int]] = [[] for _ in UNITS]

    def western(match: re.Match[str]) -> str:
        unit = next(at for at, name in enumerate(UNITS) if match[name])
        groups = match.groupdict()
        numbers = [_number(one) for one in (groups["first"], groups.get("last")) if one]
        pronoun = groups["first"] == "I" and UNITS[unit] in ("book", "part")
        if not numbers[0] or (pronoun and re.match(r"\s+[a-z]", match.string[match.end() :])):
            return match[0]
        found[unit] += filter(None, numbers)
        return " "

    def eastern(match: re.Match[str]) -> str:
        number, unit, lone, after = match.groups()
        found[0 if lone else _EAST[unit]].append(_number(after or number))
        return " "

    def korean(match: re.Match[str]) -> str:
        found[_KOREAN[match[3]]].append(_number(match[1] or match[2]))
        return " "

    for pattern, read in (
        (_PLACE, western),
        (_PLACE_AFTER, western),
        (_PLACE_EAST, eastern),
        (_PLACE_KOREAN, korean),
    ):
        text = pattern.sub(read, text)
    if found[_ACT] and found[_CHAPTER] and not found[_SCENE]:  # 제1막 제2장 is a scene of an act
        found[_CHAPTER], found[_SCENE] = [], found[_CHAPTER]
    place = tuple((min(one), max(one)) if one else None for one in found)
    return (place if any(place) else None), text


def _number(text: str) -> int:
    """13, 13th, XIII, thirteen, thirteenth, 十三 or 십삼 as a number; 0: it is none."""
    word = text.casefold()
    if word in _NUMBERS:
        return _NUMBERS[word]
    if digits := re.match(r"[0-9]+", text):
        return int(digits[0])
    if text.isascii():
        roman = text.upper()
        values = [_ROMAN_VALUES[one] for one in roman] if _ROMAN.fullmatch(roman) else []
        return sum(-one if one < next_one else one for one, next_one in zip(values, [*values[1:], 0], strict=True))
    text = text.replace("廿", "二十").replace("십", "十").replace("백", "百")
    hundreds, mark, rest = text.rpartition("百")
    tens, ten, ones = rest.rpartition("十")
    value = 100 * _plain(hundreds or "一") if mark else 0
    return value + (10 * _plain(tens.strip("零〇") or "一") if ten else 0) + _plain(ones)


def _plain(text: str) -> int:
    """Digits of Chinese or Korean, one after the other."""
    value = 0
    for one in text:
        value = value * 10 + (int(one) if one.isdecimal() else _DIGITS.get(one, 0))
    return value


def _ages_in(text: str) -> Extent | None:
    found = [_number(one) for match in _AGE.finditer(text) for one in match.groups() if one]
    return (min(found), max(found)) if found else None


def _days_in(text: str) -> tuple[str, str] | None:
    """The first and the last day of all dates in a text; of one that is said in words, the day itself."""
    if DATE.fullmatch(text):
        with suppress(ValueError):
            return f"{text}-01-01"[:10] if len(text) == 4 else f"{text}-01"[:10], last_day(text)
    spans = list[tuple[str, str]]()
    for match in _DAY.finditer(text):
        with suppress(ValueError):
            spans.append((f"{match[0]}-01"[:10], last_day(match[0])))
    years = list(_YEARS.finditer(_DAY.sub(" ", text)))
    spans += [one for match in years if (one := _years(match))]
    if len(years) == len(spans) == 1 and (day := _day_in_words(text)):
        return day
    return (min(one[0] for one in spans), max(one[1] for one in spans)) if spans else None


def _years(match: re.Match[str]) -> tuple[str, str] | None:
    first = last = int(match["early"] or match["year"])
    if match["decade"]:
        last = first + (99 if first % 100 == 0 else 9)
    elif match["end"] and int(match["end"]) > first % 100:
        last = first - first % 100 + int(match["end"])
    return (f"{first:04}-01-01", f"{last:04}-12-31") if first else None


def _day_in_words(text: str) -> tuple[str, str] | None:
    """The one date of a text, as "the storm of 3 May 1824" or 1824年5月; of "3 May to 9 June 1824" the last."""
    if not re.search(r"[^\W\d_]", text):
        return None
    from dramaturg.stores.dates import day_of  # its names of months take a moment to load

    for begin in islice(_DAY_BEGINS.finditer(text), DAYS):
        found = day_of(text[begin.start() :])
        said = found.iso()[:10] if found and found.month else ""
        if found and len(said) >= 7 and not re.search(r"\d", found.rest):
            return (f"{said}-01"[:10], last_day(said))
    return None


def _named_in(text: str, timeline: tuple[str, ...]) -> Extent | None:
    """The places of all names of a timeline between the commas of a text."""
    pieces = _pieces(text) if timeline else ()
    said = {pieces[start:end] for end in range(len(pieces) + 1) for start in range(max(end - LONGEST_NAME, 0), end)}
    found = [at for at, name in enumerate(timeline) if _pieces(name) in said]
    return (found[0], found[-1]) if found else None


@lru_cache(maxsize=1000)
def _pieces(text: str) -> tuple[str, ...]:
    pieces = (" ".join(one.casefold().split()).removeprefix("the ") for one in _PIECES.split(text))
    return tuple(filter(None, pieces))
