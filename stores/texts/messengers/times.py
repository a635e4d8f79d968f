"""Times as messengers write them, in the form of every locale, some with digits of other scripts and narrow spaces.

`12/31/23, 9:41 PM`, `31.12.2023 klo 21.41`, `2023年12月31日 下午9:41`. Whether 1/2 is in January or in February is
decided from all times of a file together.
"""

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

LONGEST = 60
"""Letters of a time."""
MARKS = "\u200b-\u200f\u202a-\u202e\u2060-\u2069\u061c\ufeff"
"""Signs that turn the direction of a text, for a class of a regular expression."""
Order: TypeAlias = Literal["ymd", "dmy", "mdy"]
_MARK = re.compile(f"[{MARKS}]")
_SPACE = re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000\t ]+")
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_TIME = re.compile(
    r"(\d{1,4}) ?([./\-年년]) ?(\d{1,2}) ?[./\-月월] ?(\d{1,4})"  # a date
    r"(\D{1,30}?)"  # half of the day, or a word
    r"(\d{1,2}) ?[:.h时時点] ?(\d{2})(?:[:.](\d{2}))?"
    r"(\D{0,20})"
)
_MORNING = frozenset({
        "am", "上午", "午前", "오전", "凌晨", "早上", "清晨", "ص", "قظ", "πμ", "fm", "dop", "de", "öö", "sa",
        "ip", "पूर्वाह्न",
})  # fmt: skip
_EVENING = frozenset({
        "pm", "下午", "午後", "오후", "晚上", "傍晚", "中午", "م", "بظ", "μμ", "em", "odp", "du", "ös", "ch",
        "अपराह्न",
})  # fmt: skip
_JOINING = frozenset({
        "", "à", "às", "as", "alas", "a", "um", "uhr", "at", "klo", "kl", "lúc", "в", "у", "om", "o", "v", "г",
        "ч", "гч", "pukul", "alle", "alleore", "ore", "saat", "h", "日", "일", "t",
})  # fmt: skip
_NO_LETTER = re.compile(r"[\s.,،:\-']+")
_NAMES_OF_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {month: at for at, month in enumerate(_NAMES_OF_MONTHS, start=1)}
_MONTH = f"({'|'.join(_MONTHS)})[a-z]{{0,6}}"
_MONTH_FIRST = re.compile(rf"(?:[a-z]{{3,9}}, )?{_MONTH}\.? (\d{{1,2}}),? (\d{{4}})", re.IGNORECASE)
_MONTH_SECOND = re.compile(rf"(?:[a-z]{{3,9}}, )?(\d{{1,2}})[ -]{_MONTH}[ -](\d{{2,4}})", re.IGNORECASE)


class Stamp(NamedTuple):
    """A time as it stands there: three numbers of a date whose order is not known yet, hour, minute, second."""

    date: tuple[int, int, int]
    hour: int
    minute: int
    second: int
    eastern: bool
    """Written with signs for year and month, or Chinese, Japanese or Korean words: the year comes first."""
    dotted: bool
    """With full stops: then no month comes first."""
    half: bool
    """With a.m. or p.m."""


def plain(text: str) -> str:
    """A text with digits of ASCII, plain spaces and no marks of direction: for times alone."""
    text = _SPACE.sub(" ", _MARK.sub("", text))
    return _FOREIGN_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)


def stamp(text: str) -> Stamp | None:
    """The time that a text is; None if it is none."""
    if len(text) > LONGEST or not (found := _TIME.fullmatch(_in_numbers(plain(text).strip()))):
        return None
    between, after = (_NO_LETTER.sub("", part.casefold()) for part in found.group(5, 9))
    words = [between.removeprefix("日").removeprefix("일"), after]
    morning, evening = (any(word in half for word in words) for half in (_MORNING, _EVENING))
    if not all(word in _JOINING or word in _MORNING or word in _EVENING for word in words):
        return None
    hour, minute, second = int(found[6]), int(found[7]), int(found[8] or 0)
    if evening and hour < 12 and not ("中午" in words and hour > 10):
        hour += 12
    elif (morning or "晚上" in words) and hour == 12:
        hour = 0
    if hour > 23 or minute > 59 or second > 59:
        return None
    first, middle, last = (int(found[at]) for at in (1, 3, 4))
    eastern = bool(re.search(r"[年년月月월午오]", found[0]))
    return Stamp((first, middle, last), hour, minute, second, eastern, found[2] == ".", morning or evening)


def date_alone(text: str) -> Stamp | None:
    """The midnight with which a date begins."""
    return stamp(f"{text.strip().removesuffix('.')} 0:00")


def hour_alone(text: str, day: Stamp) -> Stamp | None:
    """A time of day, on a day."""
    time = stamp(f"2000-1-1 {text}")
    return time and time._replace(date=day.date, eastern=day.eastern, dotted=day.dotted)


def _in_numbers(text: str) -> str:
    """A time with the English name of its month as a number: `May 17, 2022 5:29 PM`, `31-Dec-23 09:41 PM`."""
    if found := _MONTH_FIRST.match(text):
        return f"{found[3]}-{_MONTHS[found[1].casefold()]}-{found[2]}{text[found.end() :]}"
    if found := _MONTH_SECOND.match(text):
        return f"{found[1]}.{_MONTHS[found[2].casefold()]}.{found[3]}{text[found.end() :]}"
    return text


def order_of(stamps: Sequence[Stamp]) -> tuple[Order, str]:
    """Return the order in which a file writes its dates, and a remark where nothing in it decides.

    What no calendar has rules an order out (a 13th month); of the rest that is taken in which time goes back least.
    """
    dates = list(dict.fromkeys(one.date for one in stamps))
    if not dates:
        return "dmy", ""
    if any(first > 999 for first, _, _ in dates):
        return "ymd", ""
    usual: list[Order] = ["dmy", "mdy"]
    if any(one.half for one in stamps) and any(first < 10 for first, _, year in dates if year < 100):
        usual = ["mdy", "dmy"]  # 1/5/23, 9:41 PM: so phones in the United States write
    if any(one.dotted for one in stamps):
        usual = ["dmy"]
    eastern = any(one.eastern for one in stamps)
    orders: list[Order] = ["ymd", *usual] if eastern else [*usual, "ymd"]
    faults = {order: sum(_day(date, order) is None for date in dates) for order in orders}
    fewest = min(faults.values())
    likely = [order for order in orders if faults[order] == fewest]
    back = {order: _steps_back(dates, order) for order in likely}
    best = min(likely, key=lambda order: back[order])
    rivals = [order for order in likely if order != "ymd" and back[order] == back[best]]
    remark = "" if best == "ymd" or len(rivals) < 2 else f"dates are read as {_NAMES[best]}"
    return best, remark


def timed(one: Stamp, order: Order) -> datetime | None:
    """The time of a stamp; None where no calendar has it, or not ours."""
    day = _day(one.date, order)
    return datetime(*day, one.hour, one.minute, one.second) if day else None


_NAMES = {"dmy": "day/month", "mdy": "month/day"}


def _day(date: tuple[int, int, int], order: Order) -> tuple[int, int, int] | None:
    year, month, day = (date[order.index(part)] for part in "ymd")
    if year < 100:
        year += 2000
    if 2400 < year < 2700:  # of the Buddhist calendar
        year -= 543
    try:
        datetime(year, month, day)
    except ValueError:
        return None
    return (year, month, day) if 1990 <= year <= 2100 else None


def _steps_back(dates: Sequence[tuple[int, int, int]], order: Order) -> int:
    days = [day for date in dates if (day := _day(date, order))]
    return sum(later < earlier for earlier, later in pairwise(days))
