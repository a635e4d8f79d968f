"""Plays, screenplays and transcripts by their form: who heads a line says it.

Of Fountain (https://fountain.io/syntax) everything that bears on who says what is read: its forced elements, notes,
boneyards, dual dialogue, lyrics and sections.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from dramaturg.stores.texts.cues import Cue, CueForm, cue, form_of, is_loose, name_of
from dramaturg.stores.texts.final_draft import is_final_draft, read_final_draft
from dramaturg.stores.texts.form import SourceText, Unreadable
from dramaturg.stores.texts.staging import Direction, Heading, Piece, Speech, heading, parted, slugline, staged
from dramaturg.stores.texts.subtitles import is_subtitles, read_subtitles

_FOUNTAIN = (".fountain", ".spmd")
_BEGIN = re.compile(r"\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG[^\n]*\n", re.IGNORECASE)
_END = re.compile(r"\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
_TRANSITION = re.compile(r"(?:[A-Z][A-Z .'’-]{1,40}\bTO:|FADE (?:IN|OUT|TO BLACK)[.:]?|THE END[.]?)")
_ENTERS = re.compile(
    r"[\[(_（［【]*(?:(?i:re-?enter|enter|exit|exeunt|manent?)"
    r"(?:,?\s+(?:[A-Z_]|(?:the|an?|two|three|both|all|with)\b)|[\s._\])]*$)"
    r"|(?i:flourish|alarums?|sennet)[.,;_\])\s]*(?:[A-Z\[(_].*)?$"
    r"|(?i:(?:the )?curtain(?: falls| rises)?|tableau|the end"
    r"|end of (?:the )?(?:first |second |third )?(?:act|scene|play)\b.{0,12}"
    r"|finis)[.\s_\])]*$)|[(（［【\[].{1,16}[上下][。.]?[)）\]］】]$|[(（［【\[]?(?:幕.{0,6}[落启啟]|막이 )"
    r"|.{1,20}(?:등장|퇴장)(?:한다)?\.?[)\]]?$"
)
_OPEN, _CLOSED = "[(（［【", "])）］】"
_PAGE = re.compile(r"\(?(?:MORE|CONTINUED)\)?:?(?:\s*\(\d+\))?")
_NUMBER_OF_PAGE = re.compile(r"\s{30,}\d{1,4}\.?")


def looks_like_script(name: str, text: str) -> bool:
    """Return whether a text is surely a script: by its kind of file, or since its lines say throughout who speaks."""
    if name.lower().endswith(_FOUNTAIN) or is_final_draft(text) or is_subtitles(name, text):
        return True
    return form_of([line for _, line in _lines(text)]) is not None


def read_script(name: str, text: str) -> SourceText:
    """Return who says what in a script, in scenes with their places.

    Directions within a speech stand in its text in round brackets, all others only in `SourceText.text`.

    Raises:
        Unreadable: nobody speaks in it, as far as its form says.
    """
    if is_final_draft(text):
        return staged(name, read_final_draft(text))
    if is_subtitles(name, text):
        return read_subtitles(name, text)
    fountain = name.lower().endswith(_FOUNTAIN)
    text, notes = _without_notes(text) if fountain else (text, 0)
    lines = _lines(text)
    bare = [line for _, line in lines]
    form = "alone" if fountain else form_of(bare)
    if form is None:
        raise Unreadable('does not say who speaks: begin each speech with a line such as "HAMLET." or with "Hamlet: "')
    screen = fountain or sum(bool(slugline(line.strip())) for line in bare) > 1
    loose = not fountain and is_loose(bare)
    roles = _often_named(bare) if form == "named" else set() if screen else _roles(bare)
    pieces = list(_Reading(form, screen, fountain, loose, roles).pieces(lines))
    if not any(isinstance(piece, Speech) for piece in pieces):
        raise Unreadable("has nobody who speaks: a character's name is a line in capitals, above what is said")
    missing = (f"{notes} {'notes are' if notes > 1 else 'note is'} left out",) if notes else ()
    return staged(name, pieces, missing)


class _Reading(NamedTuple):
    """How the lines of a script are read."""

    form: CueForm
    screen: bool
    """A screenplay: a blank line ends what one says, and what follows is seen."""
    fountain: bool
    loose: bool
    """All lines have blank ones between, as those of documents do."""
    roles: set[str]
    """Those whose names begin their lines though they are in small letters: "Messenger"."""

    def pieces(self, lines: Sequence[tuple[int, str]]) -> Iterator[Piece]:
        """Go over a script, a heading, a speech or a direction at a time."""
        speech, gap = _Spoken(), True  # a gap: above the first line, too
        for place, (number, raw) in enumerate(lines):
            line = raw.strip()
            if self._is_nothing(raw, line):
                if not line and self.screen and not (self.fountain and raw and speech.said):
                    yield from speech.ended(unless_begun=self.loose)
                gap = gap or not line or not speech.speaker
                continue
            seen = self._is_seen(line)
            found = None if seen else self._cue(raw, gap=gap, following=lines[place + 1 : place + 4])
            head = None if seen or found else self._heading(line, gap=gap)
            if seen or found or head or not speech.speaker:
                yield from speech.ended()
            if found:
                speech = _Spoken(found.name, found.time or f"line {number}", [found.rest] if found.rest else [])
            elif head:
                yield from parted(head)
            elif speech.speaker:
                speech.go_on(
                    line.lstrip("~") if self.fountain else line, gap=gap and not self.screen, play=not self.screen
                )
            elif not (self.fountain and set(line) == {"="}):
                yield Direction(_plain(line.lstrip("!~") if self.fountain else line))
            gap = False
        yield from speech.ended()

    def _is_nothing(self, raw: str, line: str) -> bool:
        """Whether a line is blank, or has what only a printed page needs."""
        return not line or (self.screen and bool(_PAGE.fullmatch(line) or _NUMBER_OF_PAGE.fullmatch(raw)))

    def _is_seen(self, line: str) -> bool:
        return self.screen and bool(_TRANSITION.fullmatch(line) or (self.fountain and line[0] in "!>="))

    def _heading(self, line: str, *, gap: bool) -> Heading | None:
        if self.fountain and gap and re.match(r"\.(?=\w)", line):
            return slugline(line[1:], forced=True)
        if self.fountain and (section := re.match(r"(#{1,6})\s*([^#\s].*)", line)):
            return heading(f"{section[1]} {section[2]}")
        return heading(line) if not self.screen or gap else None

    def _cue(self, raw: str, *, gap: bool, following: Sequence[tuple[int, str]]) -> Cue | None:
        line = raw.strip()
        below = next((one for _, one in following if one.strip() or not self.loose), "")
        followed = bool(below.strip())
        if self.fountain and (forced := _forced(line, followed=followed)):
            return forced
        if self.screen and self.form == "alone" and (not gap or (self.fountain and raw.endswith("  "))):
            return None
        if self.form == "alone" and followed and line in self.roles:
            return Cue("alone", line, "")
        found = cue(line, followed=followed)
        if not found or found.form != self.form or heading(line):
            return None
        return found if self.form != "named" or found.name in self.roles else None


class _Spoken:
    """What one is saying, line by line."""

    def __init__(self, speaker: str = "", at: str = "", said: list[str] | None = None) -> None:
        self.speaker, self.at, self.said = speaker, at, said or []
        self._aside = list[str]()
        """What is seen meanwhile: within the speech if it goes on after it."""

    def go_on(self, line: str, *, gap: bool, play: bool) -> None:
        """Take a line; in a play it may be a direction. `gap`: a blank line is above it."""
        bracket = line.lstrip("_*")[:1]
        if play and (_ENTERS.match(line) or (gap and bracket and bracket in _OPEN)):
            self._aside.append(line)
        elif self._aside and self._aside[-1].lstrip("_*")[0] in _OPEN and not set(self._aside[-1]) & set(_CLOSED):
            self._aside[-1] += f" {line}"
        else:
            self.said += [*map(_bracketed, self._aside), line.strip()]
            self._aside.clear()

    def ended(self, *, unless_begun: bool = False) -> Iterator[Piece]:
        """Go over what was said and then seen; a name alone is kept `unless_begun` for the words below a blank line."""
        if not self.speaker or (unless_begun and all(one[0] in _OPEN for one in self.said)):
            return
        yield Speech(self.speaker, _plain(_joined(self.said)), self.at) if self.said else Direction(self.speaker)
        yield from (Direction(_plain(one)) for one in self._aside)
        self.speaker, self.said = "", []
        self._aside.clear()


def _forced(line: str, *, followed: bool) -> Cue | None:
    """`@McDUCK (V.O.)` of Fountain."""
    if not line.startswith("@") or not followed or not line[1:].strip():
        return None
    name, bracket, extension = line[1:].removesuffix("^").strip().partition("(")
    inner = cue(f"A ({extension}" if bracket else "", followed=True)
    return Cue("alone", name.strip(), inner.rest if inner else "")


def _joined(said: Sequence[str]) -> str:
    """Verses stay lines; lines that only the width of a page ended are joined."""
    text = said[0]
    for before, line in pairwise(said):
        wrapped = len(before) > 54 or line[0].islower() or (before[0] in _OPEN and before[-1] in _CLOSED)
        wide = re.match(r"[\u3000-\u9fff\uff00-\uffef]", line) and re.search(r"[\u3000-\u9fff\uff00-\uffef]$", before)
        text += ("" if wide else " " if wrapped else "\n") + line
    return text


def _bracketed(direction: str) -> str:
    inner = direction.strip("_* ").strip(_OPEN + _CLOSED).strip("_* ")
    return f"({inner})"


def _plain(text: str) -> str:
    """Without marks of emphasis, and with directions in round brackets."""
    text = re.sub(r"\*{1,3}(?=\S)([^*]+)\*{1,3}", r"\1", text)
    text = re.sub(r"(?<!\w)_+([^_]+)_+(?!\w)", r"\1", text)
    text = re.sub(r"\[([^\[\]]*)\]", lambda found: f"({found[1].strip(' _').replace('_.', '.')})", text)
    return text.replace("\\*", "*")


def _often_named(lines: Sequence[str]) -> set[str]:
    """Who is named in small letters before some lines; places are below headings only: "Verona. A street."."""
    filled = [line for line in lines if line.strip()]
    named = [
        (found.name, bool(heading(before)))
        for before, line in zip(["", *filled], filled, strict=False)
        if (found := cue(line, followed=True)) and found.form == "named"
    ]
    count, below = Counter(name for name, _ in named), Counter(name for name, under in named if under)
    return {name for name, often in count.items() if often > 2 and below[name] < often}


def _roles(lines: Sequence[str]) -> set[str]:
    """Names in small letters that stand alone above others' lines, often enough to be no verses."""
    pairs = pairwise(lines)
    alone = (line.strip() for line, after in pairs if after.strip() and len(line) < 30)
    found = Counter(
        one for one in alone if re.fullmatch(r"(?:[^\W\d_a-z][\w'’-]*)(?: (?:of |the )?[^\W\d_a-z][\w'’-]*){0,3}", one)
    )
    return {one for one, count in found.items() if count > 1 and name_of(one) and not heading(one)}


def _without_notes(text: str) -> tuple[str, int]:
    """Fountain without its notes and boneyards; lines keep their numbers."""
    kept, at, notes = list[str](), 0, 0
    last = {"[[": text.rfind("]]"), "/*": text.rfind("*/")}
    for found in re.finditer(r"\[\[|/\*", text):
        if at <= found.start() <= last[found[0]] - 2:
            end = text.find("]]" if found[0] == "[[" else "*/", found.end())
            kept += [text[at : found.start()], "\n" * text.count("\n", found.start(), end)]
            at, notes = end + 2, notes + 1
    return "".join([*kept, text[at:]]), notes


def _lines(text: str) -> list[tuple[int, str]]:
    """The lines with their numbers, without what Project Gutenberg says before and after a work."""
    begin, end = _BEGIN.search(text), _END.search(text)
    first = text.count("\n", 0, begin.end()) if begin else 0
    inner = text[begin.end() if begin else 0 : end.start() if end else len(text)]
    plain = inner.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").expandtabs(4)
    return list(enumerate((line.rstrip() if line != "  " else line for line in plain.split("\n")), start=first + 1))
