"""Which lines of a script say who speaks, and by which of the forms that people write: `HAMLET.`, `Hamlet: …`, `HAMLET`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from dramaturg.stores.texts.staging import heading

CueForm: TypeAlias = Literal["alone", "colon", "dotted", "named", "spaced", "timed"]
"""`alone`: a name in capitals has a line; `colon`: `Hamlet: To be`; `dotted`: `HAMLET. To be`; `named`: `Hamlet. To
be`; `spaced`: `HAMLET  To be`; `timed`: `Hamlet  00:01`. A script has one of them."""
LETTERS = 1500
"""Of a script to a cue, at most; a novel has more, even where it holds verses or letters."""


class Cue(NamedTuple):
    """Who speaks, and what stands after it on the line, directions first, in brackets."""

    form: CueForm
    name: str
    rest: str
    time: str = ""


_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?"
_STAMP = re.compile(rf"(?:[-*>•–—]\s+)?(?:[\[(]\s*({_TIME})\s*[\])]|({_TIME}))?\s*(?:[-–—|]\s+)?")
_LATER = re.compile(rf"(\S[^:：\n]{{0,60}}?[*_]*)\s*[\[(]\s*({_TIME})\s*[\])]\s*(?=[*_]*[:：])")
_TIMED = re.compile(rf"(\S.{{0,60}}?)(?:\s{{2,}}|\t|\s*[-–—|·]\s*|\s+(?=[\[(]))[\[(]?({_TIME})[\])]?")
_BRACKETS = re.compile(r"\s*[\[(（［【]([^\])）］】]{0,200})[\])）］】]\s*,?\s*")
_EXTENSIONS = re.compile(
    r"(?:v\.?\s*o\.?|o\.?\s*s\.?|o\.?\s*c\.?|n\.?\s*v\.?|voice[ -]?over|off|off[ -]?screen|off[ -]?camera|on[ -]?screen"
    r"|pre-?lap|filtered|subtitled?|cont(?:inuing|inued|[’'`.]?\s*d)?[.’']?|more|续|續|画外音|畫外音|旁白|계속)",
    re.IGNORECASE,
)
_SMALL = {"a", "al", "and", "at", "bin", "da", "de", "del", "der", "di", "du", "e", "et", "from", "in", "la", "le", "of"}
_SMALL |= {"on", "the", "to", "und", "van", "von", "with", "y", "&"}
_SHORT = {"capt", "col", "dr", "fr", "gen", "hon", "lt", "m", "maj", "messrs", "mlle", "mme", "mr", "mrs", "ms", "mt"}
_SHORT |= {"no", "prof", "rev", "sgt", "sr", "st", "jr"}
_NO_NAMES = """
    the of and in on at with
    act added address advice aim answer appendix args article attention attributes author bcc caption categories category
    caution cc changed chapter city class copyright created critical credit date day debug definition deprecated
    description details diet difficulty duration edit email end error errors example examples except exercise explanation
    fatal figure file fix fixed for format from goal header hint id image important info ingredients input instructions
    issue item keywords language legal lesson level link list location merge message method mood name note notes notice
    number object option optional output page params parameters part password phone place plot point ps price priority
    problem publisher purpose question raises reason recipe re references related removed reply requirements result return
    returns role rule scene section security see sent serves service servings setting size solution source stage start
    state status step steps story subject success summary synopsis table tags task temperature text theme time tip tips
    title to todo topic total trace translator type types unit unreleased update updated url usage user value version
    view volume warn warning weather web website week weight yields yield
    the_end the_curtain curtain fade_in fade_out cut_to exit exeunt contents dramatis_personae persons characters cast
    cast_of_characters end_credits credits continued intermission blackout black_out tableau finis fin omitted
    日期 时间 時間 地点 地點 天气 天氣 标题 標題 作者 注 备注 備註 注意 说明 說明 提示 来源 來源 人物 登场人物 登場人物 场景 場景 布景 时 景
    날짜 시간 장소 날씨 제목 저자 참고 주의 설명 출처 등장인물 때 곳 무대
""".split()
_NO_NAME = {one.replace("_", " ") for one in _NO_NAMES}
_ROMAN = re.compile(r"[IVXLCDM]+|[A-Z]")
_WORDS_OF_PROSE = {"ah", "alas", "amen", "but", "come", "good", "he", "hello", "hush", "i", "indeed", "it", "never", "no"}
_WORDS_OF_PROSE |= {"nothing", "now", "o", "oh", "she", "so", "stop", "sure", "thanks", "then", "there", "they", "this"}
_WORDS_OF_PROSE |= {"true", "wait", "we", "well", "what", "why", "yes", "you", "etc", "right", "okay", "ok", "mr", "mrs", "dr"}


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
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if (found := cue(line, followed=bool(after.strip()))) and not heading(line):
            yield found


def form_of(lines: Sequence[str]) -> CueForm | None:
    """Return the form in which a text says who speaks; None if it is no script.

    Sure is what has two who speak in turns, four lines or more, not too much between them, and says sentences.
    """
    found = list(cues(lines))
    best: tuple[CueForm, Counter[str]] | None = None
    for form in dict.fromkeys(one.form for one in found):
        names = Counter(one.name for one in found if one.form == form)
        if best is None or _often(names) > _often(best[1]):
            best = form, names
    if best is None:
        return None
    form, names = best
    letters = sum(map(len, lines))
    said = [one.rest for one in found if one.form == form and one.rest and names[one.name] > 1]
    sure = len(names) > 1 and _often(names) >= (12 if form == "named" else 3) and names.total() >= 4
    return form if sure and letters <= LETTERS * names.total() and _sentences(said) else None


def name_of(text: str) -> str:
    """Return a name as it is, or nothing if no name looks like this."""
    name = " ".join(text.strip("*_ \t\u3000").split())
    words = name.split()
    plain = name.rstrip(" .0123456789#").casefold()
    if not 0 < len(name) <= 40 or len(words) > 6 or plain in _NO_NAME or words[0].casefold() in _FIRST_OF_NONE:
        return ""
    if re.search(r"[!?,;\"“”«»=<>{}|/\\@\[\]_*。，、！？；…~^+$%()（）「」『』]", name) or not re.search(r"[^\W\d_]", name):
        return ""
    if name[0].isdigit() and not re.match(r"\d+(?:st|nd|rd|th)\b", name, re.IGNORECASE):
        return ""
    for word in words:
        if not word[0].isalnum() and word not in _SMALL and word[0] not in "'’#(":
            return ""
        letter = re.search(r"[^\W\d_]", word)
        if letter and letter[0].islower() and word.casefold() not in _SMALL and not word[0].isdigit():
            return ""
        if "." in word[:-1] and len(word) > 6 or (word.endswith(".") and len(word) > 6):
            return ""
    no_case = not any(one.isupper() or one.islower() for one in name)
    return "" if no_case and len(name) > 14 else name


_FIRST_OF_NONE = {"enter", "re-enter", "reenter", "exit", "exeunt", "to", "aside", "curtain", "act", "chapter", "scene", "section", "article", "part", "step", "figure", "table", "lesson", "exercise"}
_FIRST_OF_NONE |= {"page", "rule", "volume", "appendix", "example", "day", "week"}


def _often(names: Counter[str]) -> int:
    return sum(count for count in names.values() if count > 1)


def _sentences(said: Iterable[str]) -> bool:
    """Whether people talk: their sentences end, or have some words; records of data have neither."""
    rests = [re.sub(r"[\s)\]*_\"”’']+$", "", one) for one in said]
    ends = sum(one.endswith((".", "!", "?", "…", "。", "！", "？", "—", "-")) or len(one.split()) > 5 for one in rests)
    return not rests or ends * 2 >= len(rests)


def _directed(text: str) -> tuple[str, str]:
    """A name without what stands in brackets after it, and that, without `V.O.` and the like."""
    name, _, _ = re.split(r"([\[(（［【])", text, maxsplit=1) if re.search(r"[\[(（［【]", text) else (text, "", "")
    inner = [one.strip(" _*") for one in _BRACKETS.findall(text[len(name) :])]
    kept = [f"({one.rstrip('.')})" for one in inner if one and not _EXTENSIONS.fullmatch(one)]
    return name, " ".join(kept)


def _colon(line: str, followed: bool) -> Cue | None:
    time = _LATER.match(line)
    line = f"{time[1]}{line[time.end():]}" if time else line
    head, mark, rest = re.split(r"([:：])", line[:240], maxsplit=1) if re.search("[:：]", line[:240]) else ("", "", "")
    if not mark or rest.startswith("//") or (head[-1:].isdigit() and rest[:1].isdigit()):
        return None
    rest = line[len(head) + 1 :]
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
    name = name_of(text)
    lower = sum(one.islower() for one in re.sub(r"\b(?:Mc|Mac|1st|2nd|3rd|\dth|and|of|the|de|von)\b|(?<=Mc)", "", name))
    return name if name and lower <= name.count("Mc") and name.upper() != name.lower() and not _ROMAN.fullmatch(name) else ""


def _named(line: str) -> Cue | None:
    """`Algernon. Did you hear …`, which only many others like it make sure."""
    found = re.match(r"[_*]{0,2}((?:[^\W\d_][\w'’-]{1,15}\.? ?){1,3}?)[_*]{0,2}\s*((?:[\[(][^\])]{0,120}[\])])?)\s*\.[_*]{0,2}\s+(\S.*)", line)
    if not found or found[1].casefold().rstrip(".") in _WORDS_OF_PROSE | _SHORT:
        return None
    name = name_of(found[1])
    return Cue("named", name, f"{_directed(found[2])[1]} {found[3]}".strip()) if name else None


def _timed(line: str, followed: bool) -> Cue | None:
    found = _TIMED.fullmatch(line) if line[-1:] in "0123456789])" else None
    name = name_of(found[1]) if found and followed else ""
    return Cue("timed", name, "", found[2]) if found and name else None
