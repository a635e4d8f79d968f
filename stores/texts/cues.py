"""Which lines of a script say who speaks, and in which form: `HAMLET.`, `Hamlet: …`, `HAMLET`, `Hamlet  00:01`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple, TypeAlias

from dramaturg.stores.texts.staging import heading

CueForm: TypeAlias = Literal["alone", "colon", "dotted", "named", "spaced", "timed"]
"""`alone`: a name in capitals has a line; `colon`: `Hamlet: To be`; `dotted`: `HAMLET. To be`; `named`: `Hamlet. To
be`; `spaced`: `HAMLET  To be`; `timed`: `Hamlet  00:01`. A script has one of them."""
LETTERS, LINES = 1500, 12
"""Of a script to a cue, at most; a novel has more even where it holds verses or letters, and so has documentation."""


class Cue(NamedTuple):
    """Who speaks, and what stands after it on the line, directions first, in brackets."""

    form: CueForm
    name: str
    rest: str
    time: str = ""


def _words(text: str) -> list[str]:
    return [one.replace("_", " ") for one in text.split()]


_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?"
_STAMP = re.compile(rf"(?:[-*>•–—]\s+)?(?:[\[(]\s*({_TIME})\s*[\])]|({_TIME}))?\s*(?:[-–—|]\s+)?")
_LATER = re.compile(rf"(\S[^:：\n]{{0,60}}?[*_]*)\s*[\[(]\s*({_TIME})\s*[\])]\s*(?=[*_]*[:：])")
_TIMED = re.compile(rf"(\S.{{0,60}}?)(?:\s{{2,}}|\t|\s*[-–—|·]\s*|\s+(?=[\[(]))[\[(]?({_TIME})[\])]?")
_BRACKETS = re.compile(r"[\[(（［【]([^\])）］】]{0,200})[\])）］】]")
_EXTENSIONS = re.compile(
    r"(?:v\.?\s*o\.?|o\.?\s*s\.?|o\.?\s*c\.?|n\.?\s*v\.?|voice[ -]?over|off|off[ -]?screen|off[ -]?camera|on[ -]?screen"
    r"|pre-?lap|filtered|subtitled?|cont(?:inuing|inued|[’'`.]?\s*d)?[.’']?|more|续|續|画外音|畫外音|旁白|계속)",
    re.IGNORECASE,
)
_NEVER = re.compile(r"[!?,;\"“”«»=<>{}|/\\@\[\]_*。，、！？；…~^+$%()（）「」『』]")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)\b", re.IGNORECASE)
_ROMAN = re.compile(r"[IVXLCDM]+|[A-Z]")
_SMALL = set(_words("a al and at bin da de del der di du e et from in la le of on the to und van von with y &"))
_SHORT = set(_words("capt col dr fr gen hon lt m maj messrs mlle mme mr mrs ms mt no prof rev sgt sr st jr"))
"""Words whose full stop ends no name: "MRS. LINDE. I am here."."""
_NO_FIRST_WORD = set(
    _words("""
    act appendix article aside chapter curtain day enter example exercise exit exeunt figure lesson page part re-enter
    rule scene section step table to volume week
    """)
)
_NO_NAME = set(
    _words("""
    added address advice aim and answer args at attention attributes author bcc caption cast
    cast_of_characters categories category caution cc changed characters city class contents continued
    copyright created credit credits critical cut_to date debug definition deprecated description details
    diet difficulty dramatis_personae duration edit email end end_credits error errors examples except
    explanation fade_in fade_out fatal file finis fix fixed for format from goal here header hint id image
    important in info ingredients input instructions intermission issue item keywords kind language legal
    level link list location measured merge message metadata method mood name note notes notice number object of on
    option optional options output params parameters password persons phone place plot point price priority
    problem ps publisher purpose question raises reason recipe re reference references related removed reply
    requirements result return returns role security see_also sent serves service servings setting size
    solution source spec stage start state status steps story subject success summary synopsis tableau tags
    task temperature text the the_curtain the_end theme time tip tips title todo topic total trace
    translator type types unit unreleased update updated url usage user value version view warn warning
    weather web website weight with yield yields
    日期 时间 時間 地点 地點 天气 天氣 标题 標題 作者 注 备注 備註
    注意 说明 說明 提示 来源 來源 人物 登场人物 登場人物 场景 場景 布景 时 景
    날짜 시간 장소 날씨 제목 저자 참고 주의 설명 출처 등장인물 때 곳 무대
    """)
)
"""What heads lines of recipes, letters, records, logs and documentation, and is nobody."""
_NO_NAMED = _SHORT | set(
    _words("""
    ah alas amen but come etc good he hello hush i indeed it never no nothing now o oh ok okay right she so
    stop sure thanks then there they this true wait we well what why yes you
    """)
)
"""What sentences of one word are, too: "Yes. He is."."""


def cue(line: str, *, followed: bool) -> Cue | None:
    """Return who speaks from a line on, if it may say so; `followed`: the next line has text too."""
    line = line.strip()
    stamp = _STAMP.match(line)
    time, line = (stamp[1] or stamp[2] or "", line[stamp.end() :]) if stamp else ("", line)
    if not line or line[0] in "\"“«'‘”":
        return None
    for found in (_timed(line, followed), _colon(line, followed), _capitals(line, followed), _named(line)):
        if found:
            return found._replace(time=found.time or time)
    return None


def cues(lines: Sequence[str]) -> Iterator[Cue]:
    """Go over the lines that may say who speaks."""
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        if (found := cue(line, followed=bool(after.strip()))) and not heading(line):
            yield found


def is_loose(lines: Sequence[str]) -> bool:
    """Return whether all lines have blank ones between, as those of documents do."""
    filled = sum(bool(line.strip()) for line in lines)
    return len(lines) - filled >= filled - 1


def form_of(lines: Sequence[str]) -> CueForm | None:
    """Return the form in which a text says who speaks; None if it is no script.

    Sure is what has two who speak more than once, four lines or more, not too much between them, and says sentences.
    """
    found = list(cues([line for line in lines if line.strip()] if is_loose(lines) else lines))
    counts = {form: Counter(one.name for one in found if one.form == form) for form in {one.form for one in found}}
    form = max(sorted(counts), key=lambda one: _often(counts[one]), default=None)
    if form is None:
        return None
    names = counts[form]
    often = _often(names)
    if len(names) < 2 or names.total() < 4 or often < (12 if form == "named" else 3) or often * 2 < names.total():
        return None
    if sum(map(len, lines)) > LETTERS * often or sum(bool(line.strip()) for line in lines) > LINES * often:
        return None
    return (
        form if _sentences(one.rest for one in found if one.form == form and one.rest and names[one.name] > 1) else None
    )


def name_of(text: str) -> str:
    """Return a name as it is, or nothing if no name looks like this."""
    name = " ".join(text[:80].strip("*_ \t\u3000").split())
    words = name.split()
    plain = name.rstrip(" .0123456789#").casefold()
    if not 0 < len(name) <= 40 or len(words) > 6 or _NEVER.search(name) or not any(map(str.isalpha, name)):
        return ""
    if plain in _NO_NAME or words[0].casefold() in _NO_FIRST_WORD or (name[0].isdigit() and not _ORDINAL.match(name)):
        return ""
    if (len(name) > 14 and name.upper() == name.lower()) or any("." in word and len(word) > 6 for word in words):
        return ""
    return name if all(word in _SMALL or _begins_high(word) for word in words) else ""


def _begins_high(word: str) -> bool:
    first = word.lstrip("'’#")[:1]
    return first.isalnum() and not first.islower()


def _often(names: Counter[str]) -> int:
    return sum(count for count in names.values() if count > 1)


def _sentences(said: Iterable[str]) -> bool:
    """Whether people talk: their sentences end, or have some words; records of data have neither."""
    rests = [one.rstrip(" \t)]*_\"”’'」』") for one in said]
    ends = sum(one.endswith((".", "!", "?", "…", "。", "！", "？", "—", "-")) or len(one.split()) > 5 for one in rests)
    return not rests or ends * 2 >= len(rests)


def _directed(text: str) -> tuple[str, str]:
    """A name without what stands in brackets after it, and that, without `V.O.` and the like."""
    name = re.split(r"[\[(（［【]", text, maxsplit=1)[0]
    inner = [one.strip(" _*") for one in _BRACKETS.findall(text[len(name) :])]
    kept = [f"({one.rstrip('.')})" for one in inner if one and not _EXTENSIONS.fullmatch(one)]
    return name, " ".join(kept)


def _colon(line: str, followed: bool) -> Cue | None:
    time = _LATER.match(line)
    line = f"{time[1]}{line[time.end() :]}" if time else line
    mark = re.search("[:：]", line[:240])
    if not mark:
        return None
    head, rest = line[: mark.start()], line[mark.end() :]
    if rest.startswith("//") or (head[-1:].isdigit() and rest[:1].isdigit()):  # an address, an hour
        return None
    for emphasis in ("**", "__", "*", "_"):
        if head.lstrip().startswith(emphasis):
            rest = rest.lstrip()
            rest = rest.removeprefix(emphasis) if not head.rstrip().endswith(emphasis) else rest
            break
    before, directions = _directed(head)
    name, rest = name_of(before), rest.strip()
    if not name or not (rest or followed):
        return None
    return Cue("colon", name, f"{directions} {rest}".strip(), time[2] if time else "")


def _capitals(line: str, followed: bool) -> Cue | None:
    """`HAMLET. To be`, `HAMLET (aside). To be`, `HAMLET, aside  To be`, `HAMLET`."""
    first = line.split(maxsplit=1)[0]
    if sum(one.isupper() for one in first) * 2 <= sum(one.isalpha() for one in first):
        return None
    for stop in re.finditer(r"\.(?=[\s\[(_—–-]|$)|(?:\s{2,}|\t)(?=[^\s(\[（［])|[—–](?=\S)", line[:120]):
        head = line[: stop.start()]
        before, directions = _directed(head)
        if before.split()[-1:] and before.split()[-1].rstrip(".").casefold() in _SHORT and "." in stop[0]:
            continue
        name = _shouted(before.rstrip(" ,"))
        if not name:
            break
        rest = re.sub(r"^[—–-]+\s*", "", line[stop.end() :].strip())
        if not rest and not followed:
            return None
        return Cue("spaced" if stop[0].isspace() else "dotted", name, f"{directions} {rest}".strip())
    line = line.removesuffix("^").rstrip()
    before, directions = _directed(line)
    name = _shouted(before.rstrip(" ,"))
    closed = before == line or line.endswith((")", "]", "）", "］"))
    return Cue("alone", name, directions) if name and closed and followed else None


def _shouted(text: str) -> str:
    """A name in capitals, but for the little words within it: "MARK and McBRIDE"."""
    name = name_of(text)
    plain = re.sub(r"\b(?:and|of|the|de|von|\d+(?:st|nd|rd|th))\b|(?<=\bM)a?c(?=[A-Z])", "", name)
    return name if plain.isupper() and not _ROMAN.fullmatch(name) else ""


def _named(line: str) -> Cue | None:
    """`Algernon. Did you hear …`, which only many others like it make sure."""
    found = re.match(
        r"[_*]{0,2}((?:[^\W\d_][\w'’-]{1,15}\.? ?){1,3}?)[_*]{0,2} ?((?:[\[(][^\])]{0,120}[\])])?) ?"
        r"\.[_*]{0,2}\s+(\S.*)",
        line,
    )
    if not found or found[1].casefold().rstrip(".") in _NO_NAMED:
        return None
    name = name_of(found[1])
    return Cue("named", name, f"{_directed(found[2])[1]} {found[3]}".strip()) if name else None


def _timed(line: str, followed: bool) -> Cue | None:
    found = _TIMED.fullmatch(line) if line[-1:] in "0123456789])" else None
    name = name_of(found[1]) if found and followed else ""
    return Cue("timed", name, "", found[2]) if found and name else None
