"""Dates at the beginning of a line, as people head the days of a diary: "3 May. Bistritz.", "2024년 5월 3일 금요일"."""

import re
from collections.abc import Iterable
from datetime import date, timedelta
from functools import cache
from typing import Literal, NamedTuple

from babel.dates import get_day_names, get_month_names

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "sv")
"""Whose months and days are known by their names; Chinese, Japanese and Korean say them by numbers."""
_DIGITS = {one: at for at, one in enumerate("〇一二三四五六七八九")} | {"零": 0, "○": 0, "元": 1}
EAST = "〇零○元一二三四五六七八九十廿\\d"
KOREAN_DAYS = "월화수목금토일"
WIDTHS: tuple[Literal["wide", "abbreviated"], ...] = ("wide", "abbreviated")
CONTEXTS: tuple[Literal["format", "stand-alone"], ...] = ("format", "stand-alone")


_CLOCK = re.compile(
    r"(?:[,T\s—–-]|\bat\b|\bum\b){0,8}(\d{1,2})[:：](\d{2})(?::\d{2})?(?:[.,]\d+)?Z?(?:\s*([ap])\.?m\b\.?)?",
    re.IGNORECASE,
)


class Day(NamedTuple):
    """A date that a line begins with; what it does not say is 0."""

    year: int
    month: int
    day: int
    time: str
    weekday: int
    """1 is Monday."""
    said: str
    """The words of the date."""
    rest: str
    """What the line says after it."""
    ambiguous: bool = False
    """Whether month and day may be the other way round: 03/05/2024."""

    def iso(self) -> str:
        """Return it as ISO 8601 writes it, as exact as it is said; nothing without a year or of no calendar."""
        try:
            whole = date(self.year, self.month or 1, self.day or 1)
        except ValueError:
            return ""
        if self.ambiguous:
            return f"{self.year:04}"
        exact = whole.isoformat()[: 10 if self.day else 7 if self.month else 4]
        return f"{exact} {self.time}" if self.time and self.day else exact


def day_of(line: str) -> Day | None:
    """Return the date that a line begins with, or None; marks of headings, lists and emphasis are no words of it."""
    text = re.sub(r"^[\s#>*_\[(【「—–-]+", "", line).replace("\u3000", " ")
    if not text[:1].isalnum():
        return None
    before = _before().match(text)
    found = _date(text[before.end() :]) if before else _date(text)
    if found is None and before and (found := _date(text)):  # "Mar 3" is of March, though "mar" is a Tuesday elsewhere
        before = None
    weekday = _weekdays()[_folded(before[1])] if before else 0
    if found is None:
        alone = before and not text[before.end() :].strip(" .:,—–-*_#])】」")
        return Day(0, 0, 0, "", weekday, before[0].strip(" ,.:"), "") if before and alone else None
    rest = text[(before.end() if before else 0) + len(found.said) :]
    said = text[: len(text) - len(rest)]
    if after := _after().match(rest):
        weekday = weekday or (_weekdays()[_folded(after[1])] if after[1] else 1 + KOREAN_DAYS.index(after[2]))
        said, rest = said + rest[: after.end()], rest[after.end() :]
    clock, time = _CLOCK.match(rest), ""
    if clock and int(clock[1]) < 24 and int(clock[2]) < 60:
        hour = int(clock[1]) % 12 + 12 * (clock[3].lower() == "p") if clock[3] else int(clock[1])
        time = f"{hour:02}:{clock[2]}"
        said, rest = said + rest[: clock.end()], rest[clock.end() :]
    if rest[:1].isalnum() and not re.match(r"[\u3040-\u9fff\uac00-\ud7af]", rest):
        return None
    return found._replace(time=time, weekday=weekday, said=said.strip(), rest=rest)


def dated(days: Iterable[Day], year: int = 0) -> list[str]:
    """Return the dates of days that follow each other as ISO 8601 writes them; years go on from the day before.

    Args:
        days: as they stand in a diary.
        year: of the first, where something above it says so.
    """
    days = list(days)
    turned = _turned([one for one in days if one.ambiguous])
    found = list[str]()
    last: date | None = None
    month = 0
    for said in days:
        one = said
        if one.ambiguous and turned is not None:
            order = (one.day, one.month) if turned else (one.month, one.day)
            one = one._replace(ambiguous=False, month=order[0], day=order[1])
        if not one.month and one.weekday and last:
            last += timedelta(days=(one.weekday - 1 - last.weekday()) % 7 or 7)
            one = one._replace(year=last.year, month=last.month, day=last.day)
        if one.month and not one.year and year:
            year += month - one.month > 6
            one = one._replace(year=year)
        year, month = one.year or year, one.month or month
        found.append(one.iso())
        if len(found[-1]) >= 10:
            last = date.fromisoformat(found[-1][:10])
    return found


def _turned(days: list[Day]) -> bool | None:
    """Whether 03/05 is of March: another date says so, or the days follow each other then; None: nothing says it."""
    if any(one.month > 12 or one.day > 12 for one in days):
        return any(one.month > 12 for one in days)
    by_day = [(one.year, one.month, one.day) for one in days]
    by_month = [(one.year, one.day, one.month) for one in days]
    forward = sorted(by_day) == by_day
    return not forward if forward != (sorted(by_month) == by_month) else None


def _date(text: str) -> Day | None:
    for pattern in _patterns():
        if not (found := pattern.match(text)):
            continue
        parts = {key: value or "" for key, value in found.groupdict().items()}
        month = _months()[_folded(parts["name"])] if "name" in parts else _number(parts["m"])
        year, day = _number(parts.get("y", "")), _number(parts.get("d", ""))
        if len(parts.get("y", "")) == 2:
            year += 2000 if year < 70 else 1900
        either = parts.get("slash", "") in ("/", "-") and month != day
        if max(month, day) <= 31 and (month <= 12 or (either and day <= 12)):
            return Day(year, month, day, "", 0, found[0], "", ambiguous=either)
    return None


def _number(text: str) -> int:
    """13, 十三 or 一三 as a number."""
    if text.isascii():
        return int(text or 0)
    if "十" in text or text.startswith("廿"):
        tens, _, ones = (text if "十" in text else text.replace("廿", "二十")).partition("十")
        return 10 * _DIGITS.get(tens, 1) + _DIGITS.get(ones, 0)
    value = 0
    for one in text:
        value = value * 10 + _DIGITS.get(one, 0)
    return value


def _folded(name: str) -> str:
    return name.casefold().rstrip(".")


@cache
def _months() -> dict[str, int]:
    """Months by their names; 1 is January."""
    found = {"sept": 9}
    for language in LANGUAGES:
        for width in WIDTHS:
            for context in CONTEXTS:
                found |= {_folded(name): at for at, name in get_month_names(width, context, language).items()}
    return found


@cache
def _weekdays() -> dict[str, int]:
    """Days of the week by their names; 1 is Monday."""
    found = {
        f"{week}{one}": at for week in ("周", "週", "礼拜", "禮拜") for at, one in enumerate("一二三四五六日", start=1)
    }
    found |= {"星期天": 7, "周天": 7, "礼拜天": 7}
    for language in ("zh", "ja", "ko"):
        found |= {name: at + 1 for at, name in get_day_names("wide", locale=language).items()}
    for language in LANGUAGES:
        for width in WIDTHS:
            for context in CONTEXTS:
                found |= {_folded(name): at + 1 for at, name in get_day_names(width, context, language).items()}
    return found


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


@cache
def _before() -> re.Pattern[str]:
    """A day of the week before a date: "Monday, the"."""
    days = rf"(?:on |le |el |am )?({_any(_weekdays())})"
    return re.compile(rf"{days}(?!\w)\.?[,:.]?(?:\s+(?:the|den|le|el|de))?\s*[—–-]?\s*", re.IGNORECASE)


@cache
def _after() -> re.Pattern[str]:
    """A day of the week after a date: "(금)", "星期一"."""
    return re.compile(rf"[\s,，]*(?:({_any(_weekdays())})(?!\w)|[(（]([{KOREAN_DAYS}])[)）])\.?", re.IGNORECASE)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    name, year = rf"(?P<name>{_any(_months())})(?:\.(?=,?\s*\d))?", r"(?P<y>[12]\d{3})"
    end = r"(?![\w]|[-/.]\d)"
    return tuple(
        re.compile(one, re.IGNORECASE)
        for one in (
            rf"{year}(?P<sep>[-/.])(?P<m>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}})(?!\d)\.?",
            r"(?P<d>\d{1,2})(?P<slash>[/.-])(?P<m>\d{1,2})(?P=slash)(?P<y>[12]\d{3}|\d{2})(?!\w|[-/.]\d)",
            rf"(?:the |le |el |am |den )?(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?\s+(?:of |de |d')?{name}"
            rf"(?:,?\s+(?:de |del )?{year})?{end}",
            rf"{name}\s+(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+{year})?{end}",
            rf"{name},?\s+{year}{end}",
            rf"(?:(?P<y>[{EAST}]{{2,4}})\s*[年년]\s*)?(?P<m>[{EAST}]{{1,3}})\s*[月월]\s*(?P<d>[{EAST}]{{1,3}})\s*[日号號일]",
            rf"(?P<y>[{EAST}]{{4}})\s*[年년]\s*(?P<m>[{EAST}]{{1,3}})\s*[月월](?=\s|$)",
        )
    )
