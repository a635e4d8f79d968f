"""Diaries: dated entries of one who writes, each of them a scene in which only the writer speaks."""

import json
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

from dramaturg.stores.dates import Day, dated, day_of
from dramaturg.stores.texts.form import Line, Scene, SourceText, Unreadable

FEWEST = 3
"""Entries of what is surely a diary."""
_FIRST_PERSON = re.compile(
    r"\bI\b|\b(?i:my|me|we|our|ich|mein\w*|mir|mich|wir|je|j['’]\w+|mon|ma|nous"
    r"|yo|mi|io|mio|eu|meu|minha|ik|mijn|ja|moje|я|мне|jag|min)\b"
    r"|我|俺|吾|私|僕|나는|나의|나도|내가|내\s|나를|우리|저는|제가"
)
_WRITERS = re.compile(r"^[^\S\n]*+[#_* ]*+(\S.{0,40}?)['’]s? (?:journal|diary)\b", re.IGNORECASE | re.MULTILINE)
_CHAT = re.compile(r"[\s\]),—–-]*(?:[ap]\.?m\.?[\s\]),—–-]*)?[^\s:][^:\n]{0,40}:\s", re.IGNORECASE)
_EMPHASIS = re.compile(r"^([\s#>-]*)([_*]{1,3})([^_*\n]{1,80})\2")
_SECONDS = re.compile(r":\d\d:\d\d")
"""Which a machine writes."""
_YEAR_ABOVE = re.compile(r"#*\s*(?:.{0,30}?\b)?(1[0-9]{3}|20[0-9]{2})(?:年|년)?\W*$")
_SENTENCES = re.compile(r"[.!?。！？—–-]\s*\w.*[.!?。！？]|(?:\S+\s+){3}\S*[.!?]$|\S{5}[。！？]$")
_CAPITAL = r"[^\W\d_a-z\u3040-\u9fff\uac00-\ud7af]"
_PLACE = re.compile(
    rf"(?:(?i:at|in|on board|aboard|near|à|en|auf|zu) (?:the )?)?{_CAPITAL}[\w'’-]*"
    rf"(?: (?:(?:of|the|de|la|am|an) )*{_CAPITAL}[\w'’-]*){{0,4}}"
    r"|(?i:at|on) (?:sea|home|board|the [\w ]{2,20})|[于於在@]\s*\S{1,12}|\S{1,12}에서"
)
_NO_PLACE = re.compile(
    r"(?:early|late|later|same|before|after|morning|noon|afternoon|evening|night|midnight|midday|dawn|sun|sunny|rain|rainy|snow|cloud|cloudy"
    r"|clear|fair|fine|wind|windy|hot|cold|warm|fog|storm|overcast|continued|cont|day|dear|diary|entry|weather|a\.?m|p\.?m)\b",
    re.IGNORECASE,
)


class _Entry(NamedTuple):
    day: Day
    title: str
    place: str
    lines: list[str]
    at: str


def looks_like_diary(name: str, text: str) -> bool:
    """Return whether a text is surely a diary: several dated entries, in most of which one says "I"."""
    if day_one := _day_one(text):
        return bool(day_one)
    entries, front, _ = _entries(text)
    entries = [one for one in entries if one.day.day or one.lines]
    if not entries and _day_of_file(name):
        return bool(_FIRST_PERSON.search(text))
    bodies = ["\n".join(one.lines) for one in entries]
    own = sum(bool(_FIRST_PERSON.search(body)) for body in bodies)
    told, longest = sum(map(len, bodies)), max(map(len, bodies), default=0)
    chat = sum(
        bool(one.day.time and _CHAT.match(one.day.rest)) or bool(_SECONDS.search(one.day.said)) for one in entries
    )
    writers = {found.casefold() for found in _WRITERS.findall(text)}
    return (
        len(entries) >= FEWEST
        and own * 2 > len(entries)
        and chat * 2 < len(entries)
        and told >= 8 * len(entries)
        and told > len("".join(front))
        and longest * 2 < told + 1000  # a novel may begin with some letters
        and len(writers) < 2
    )


def read_diary(name: str, text: str) -> SourceText:
    """Return the entries of a diary, each a scene with its date, its place where it says one, and one line.

    A year that is not said is that of the entry before, or of a heading or the file's name; from December to January
    it is the next. Without any, there is no date; the title has the day.

    Raises:
        Unreadable: no line begins with a date.
    """
    if scenes := _day_one(text):
        return SourceText(name, "diary", _markdown([], scenes), tuple(scenes))
    entries, front, year = _entries(text)
    of_file = _day_of_file(name)
    if not entries and of_file and text.strip():
        when, body = of_file.iso(), text.replace("\ufeff", "").strip()
        scene = Scene(of_file.said, (Line("", body, "line 1", when=when),), when=when)
        return SourceText(name, "diary", _markdown([], [scene]), (scene,))
    found = re.search(r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?!\d)", PurePath(name).stem)
    dates = dated((one.day for one in entries), year or (int(found[1]) if found else 0))
    scenes, empty = list[Scene](), 0
    for one, when in zip(entries, dates, strict=True):
        body, title = "\n".join(one.lines).strip(), one.title
        if not body and one.day.day and not one.place and re.search(r"\w", one.day.rest):
            body, title = one.day.rest.lstrip(" .,:;，。：—–-"), one.day.said  # a line for a day
        empty += bool(one.day.day) and not body
        if body:
            scenes.append(Scene(title, (Line("", body, one.at, when=when),), one.place, when))
    if not scenes:
        raise Unreadable('has no dated entries: begin each with its date, as "3 May 1897" or "2024-05-03"')
    missing = (f"{empty} dated {'entries have' if empty > 1 else 'entry has'} no text",) if empty else ()
    return SourceText(name, "diary", _markdown(front, scenes), tuple(scenes), missing)


def _markdown(front: list[str], scenes: list[Scene]) -> str:
    before = "\n".join(front).strip()
    told = "\n\n".join(f"## {one.title}\n\n{one.lines[0].text}" for one in scenes)
    return f"{before}\n\n{told}\n" if before else f"{told}\n"


def _entries(text: str) -> tuple[list[_Entry], list[str], int]:
    """The entries, what stands before the first, and the year that it says last."""
    entries, front, year, gap = list[_Entry](), list[str](), 0, True
    lines = text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, raw in enumerate(lines, start=1):
        line = _EMPHASIS.sub(r"\1\3", raw, count=1)
        day = day_of(line) if line.strip() else None
        entry = _entry(day, line, number, gap=gap, after=lines[number] if number < len(lines) else "") if day else None
        if entry:
            entries.append(entry)
        elif entries:
            above = _YEAR_ABOVE.match(line) if line.startswith("#") else None
            if above:  # the entries below it are of that year
                entries.append(_Entry(Day(int(above[1]), 0, 0, "", 0, line, ""), line, "", [], f"line {number}"))
            else:
                entries[-1].lines.append(raw.rstrip())
        else:
            found = _YEAR_ABOVE.match(line.strip()) if line.strip() else None
            year = int(found[1]) if found else year
            front.append(raw.rstrip())
        gap = not line.strip() or line.startswith("#")
    return entries, front, year


def _entry(day: Day, line: str, number: int, *, gap: bool, after: str) -> _Entry | None:
    """The entry that begins with a line; None where a date only happens to stand at its beginning."""
    rest = day.rest.lstrip(" .,:;*_)]】」").rstrip("*_ ")
    marked = line.lstrip().startswith("#")
    if marked or not rest or (gap and not after.strip() and len(rest) <= 60 and not _SENTENCES.search(rest)):
        title = line.strip().lstrip("#>*_ ").rstrip("#*_ ")
        return _Entry(day, title, _place(day.rest), [], f"line {number}")
    rest = day.rest.strip()
    boundary = re.match(r"[.,:;*_)\]】」\s]*(?:[—–]|--+|[.:*_)\]】」]|\s{2}|$)[\s*_]*", rest)
    east = re.match(r"[\s,，。.:：]+(?=[\u3040-\u9fff\uac00-\ud7af])", day.rest) or re.match(r"[，。：:]", day.rest)
    if not gap or not (boundary or east or re.match(r"[,;]\s*(?:[^\W\d_a-z]|.{1,40}(?:[—–]|--))", day.rest)):
        return None
    # "3 May. Bistritz.--Left Munich", "24 June, before morning.--Last night"
    place = re.match(r"[\s.,:;]*(\w[^.—–:\n]{0,39}?)[.,]?[_*]{0,2}(?:\s*[—–]|\s*--+|\.?[_*]+\s)[\s*_]*", rest)
    said = place[1].strip() if place else ""
    weather = re.match(r"[\s,，]*([^\s.。,，]{1,4})(?:\s+|[.。，,]\s*)(?=\S)", day.rest) if east else None
    if place and said:
        title, body = f"{day.said}. {said}", rest[place.end() :]
    elif weather and re.fullmatch(r"[晴阴陰雨雪云雲多小大转轉风風맑음흐림비눈갬]+", weather[1]):
        title, body = f"{day.said} {weather[1]}", day.rest[weather.end() :]
    else:
        title, body = day.said, re.sub(r"^[\s.,:;，。：*_)\]】」—–-]+", "", rest)
    return _Entry(day, title, _place(said), [body] if body else [], f"line {number}")


def _place(rest: str) -> str:
    """Where a heading says that it was written; nothing where it may as well be something else."""
    for part in re.split(r"[.,;|—–:()]|--+|\s-\s", rest[:80]):
        said = part.strip(" .*_#[]】」")
        if said and _PLACE.fullmatch(said) and not _NO_PLACE.match(said) and not day_of(said):
            return re.sub(r"^(?:[于於在@]\s*)|에서$", "", said)
    return ""


def _day_of_file(name: str) -> Day | None:
    stem = PurePath(name).stem
    found = day_of(stem.replace("_", "-")) or (
        day_of(re.sub(r"^(\d{4})(\d{2})(\d{2})$", r"\1-\2-\3", stem)) if stem.isdigit() else None
    )
    return found if found and found.iso() and found.day else None


def _day_one(text: str) -> list[Scene]:
    """The entries of an export of Day One; none of any other text."""
    if not text.lstrip("\ufeff \n\r\t").startswith("{") or '"creationDate"' not in text:
        return []
    try:
        kept: Any = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return []
    found = kept.get("entries") if isinstance(kept, dict) else None
    return list(_day_one_scenes(found if isinstance(found, list) else []))


def _day_one_scenes(entries: list[Any]) -> Iterator[Scene]:
    known = [one for one in entries if isinstance(one, dict) and isinstance(one.get("creationDate"), str)]
    for number, one in enumerate(sorted(known, key=lambda one: str(one["creationDate"])), start=1):
        day, body = day_of(one["creationDate"]), one.get("text")
        if not day or not isinstance(body, str) or not body.strip():
            continue
        where = one.get("location")
        named = [where.get(key) for key in ("placeName", "localityName")] if isinstance(where, dict) else []
        place = next((one for one in named if isinstance(one, str)), "")
        plain = re.sub(r"!\[[^\]]*\]\(dayone-moment:[^)]*\)", "", body).replace("\\.", ".").strip()
        if plain:
            yield Scene(day.iso(), (Line("", plain, f"entry {number}", when=day.iso()),), place, day.iso())
