"""Dates at the beginning of a line, as people head the days of a diary: "3 May. Bistritz.", "2024년 5월 3일 금요일"."""

import re
from collections.abc import Iterable
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from babel.dates import get_day_names, get_month_names

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "sv")
"""Whose months and days are known by their names; Chinese, Japanese and Korean say them by numbers."""
_DIGITS = {one: at for at, one in enumerate("〇一二三四五六七八九")} | {"零": 0, "○": 0, "元": 1}
_CJK = "〇零○元一二三四五六七八九十廿\\d"


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
    before = _weekdays().match(text)
    weekday = _numbers()[_folded(before[1])] if before else 0
    found = _date(text[before.end() :]) if before else _date(text)
    if found is None and before and (found := _date(text)):  # "Mar 3" is of March, though "mar" is a Tuesday elsewhere
        before, weekday = None, 0
    if found is None:
        alone = before and not text[before.end() :].strip(" .:,—–-*_#])】」")
        return Day(0, 0, 0, "", weekday, before[0].strip(" ,.:"), "") if before and alone else None
    rest = text[(before.end() if before else 0) + len(found.said) :]
    said = text[: len(text) - len(rest)]
    if after := _weekdays_after().match(rest):
        weekday = weekday or _numbers()[_folded(after[1])]
        said, rest = said + rest[: after.end()], rest[after.end() :]
    clock = re.match(r"(?:[,T]|\s|\bat\b|\bum\b|[—–-])*(\d{1,2})[:：](\d{2})(?::\d{2})?(?:[.,]\d+)?Z?\s*([ap])?\.?(?:m\b\.?)?", rest, re.IGNORECASE)
    time = ""
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
    order = _order([one for one in days if one.ambiguous])
    found = list[str]()
    last: date | None = None
    month = 0
    for one in days:
        if one.ambiguous and order:
            one = one._replace(ambiguous=False, month=one.day if order == "month" else one.month, day=one.month if order == "month" else one.day)
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


def _order(days: list[Day]) -> str:
    """Whether 03/05 is a day and a month, or a month and a day: what some date says, or what makes days follow."""
    if any(one.month > 12 for one in days):
        return "month"
    if any(one.day > 12 for one in days):
        return "day"
    by_day = [(one.year, one.month, one.day) for one in days]
    by_month = [(one.year, one.day, one.month) for one in days]
    if (sorted(by_day) == by_day) != (sorted(by_month) == by_month):
        return "day" if sorted(by_day) == by_day else "month"
    return ""


def _date(text: str) -> Day | None:
    for pattern in _patterns():
        if found := pattern.match(text):
            parts = found.groupdict()
            names = _numbers()
            year = _number(parts.get("y") or "")
            if parts.get("y") and len(parts["y"]) == 2:
                year += 2000 if year < 70 else 1900
            name = parts.get("name")
            month = names[_folded(name)] if name else _number(parts.get("m") or "")
            day = _number(parts.get("d") or "")
            slashed = "slash" in pattern.groupindex and found["slash"] in "/-"
            if slashed and day > 12 >= month:
                slashed = slashed and day <= 31
            elif not slashed and (month > 12 or day > 31):
                continue
            elif slashed and (max(month, day) > 31 or min(month, day) > 12):
                continue
            return Day(year, month, day, "", 0, found[0], "", ambiguous=slashed and month != day)
    return None


def _number(text: str) -> int:
    if text.isdigit() and text.isascii():
        return int(text)
    if "十" in text:
        tens, _, ones = text.partition("十")
        return 10 * (_DIGITS.get(tens, 1) if tens else 1) + (_DIGITS.get(ones, 0) if ones else 0)
    if text.startswith("廿"):
        return 20 + _DIGITS.get(text[1:], 0)
    value = 0
    for one in text:
        value = value * 10 + _DIGITS.get(one, 0)
    return value


def _folded(name: str) -> str:
    return name.casefold().rstrip(".")


@cache
def _numbers() -> dict[str, int]:
    """Months and days of the week by their names: 1 is January, and Monday."""
    found = {"sept": 9}
    for language in LANGUAGES:
        for width in ("wide", "abbreviated"):
            for context in ("format", "stand-alone"):
                found |= {_folded(name): at for at, name in get_month_names(width, context, language).items()}
                found |= {_folded(name): at + 1 for at, name in get_day_names(width, context, language).items()}
    for language in ("zh", "ja", "ko"):
        found |= {name: at + 1 for at, name in get_day_names("wide", locale=language).items()}
    found |= {f"{week}{one}": at for week in ("周", "週", "礼拜", "禮拜") for at, one in enumerate("一二三四五六日", start=1)}
    return found | {one: at for at, one in enumerate("월화수목금토일", start=1)} | {"星期天": 7, "周天": 7, "礼拜天": 7}


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted((re.escape(one) for one in set(names)), key=len, reverse=True))


@cache
def _months() -> str:
    widths = [(width, context) for width in ("wide", "abbreviated") for context in ("format", "stand-alone")]
    names = {_folded(one) for to in LANGUAGES for width in widths for one in get_month_names(*width, to).values()}
    return rf"(?:{_any([*names, 'sept'])})(?:\.(?=,?\s*\d))?"


@cache
def _days() -> str:
    widths = [(width, context) for width in ("wide", "abbreviated") for context in ("format", "stand-alone")]
    names = {_folded(one) for to in LANGUAGES for width in widths for one in get_day_names(*width, to).values()}
    east = [one for one in _numbers() if re.match(r"[\u3040-\u9fff\uac00-\ud7af]{2,}", one)]
    return _any([*(one for one in names if len(one) > 1), *east])


@cache
def _weekdays() -> re.Pattern[str]:
    return re.compile(rf"(?:on |le |el |am )?({_days()})(?!\w)\.?[,:.]?(?:\s+(?:the|den|le|el|de))?\s*[—–-]?\s*", re.IGNORECASE)


@cache
def _weekdays_after() -> re.Pattern[str]:
    return re.compile(rf"[\s,，]*[(（]?({_days()}|(?<=[(（])[월화수목금토일](?=[)）]))(?!\w)[)）]?\.?", re.IGNORECASE)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    name, year = rf"(?P<name>{_months()})", r"(?P<y>[12]\d{3})"
    end = r"(?![\w]|[-/.]\d)"
    return tuple(
        re.compile(one, re.IGNORECASE)
        for one in (
            rf"{year}(?P<sep>[-/.])(?P<m>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}})(?!\d)\.?",
            r"(?P<d>\d{1,2})(?P<slash>[/.-])(?P<m>\d{1,2})(?P=slash)(?P<y>[12]\d{3}|\d{2})(?!\w|[-/.]\d)",
            rf"(?:the |le |el |am |den )?(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?\s+(?:of |de |d')?{name}(?:,?\s+(?:de |del )?{year})?{end}",
            rf"{name}\s+(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+{year})?{end}",
            rf"{name},?\s+{year}{end}",
            rf"(?:(?P<y>[{_CJK}]{{2,4}})\s*[年년]\s*)?(?P<m>[{_CJK}]{{1,3}})\s*[月월]\s*(?P<d>[{_CJK}]{{1,3}})\s*[日号號일](?!\w*[间間])",
            rf"(?P<y>[{_CJK}]{{4}})\s*[年년]\s*(?P<m>[{_CJK}]{{1,3}})\s*[月월](?=\s|$)",
        )
    )
