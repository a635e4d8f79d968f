"""Subtitles (.srt, .vtt) that say who speaks, as those of meetings and those for the deaf do."""

import html
import re
from collections.abc import Iterator

from dramaturg.stores.texts.cues import cue, name_of
from dramaturg.stores.texts.form import SourceText, Unreadable
from dramaturg.stores.texts.staging import Direction, Piece, Speech, staged

_SPAN = re.compile(r"[ \t]*((?:\d{1,3}:)?\d{1,2}:\d{2})[.,]\d{1,3}[ \t]*-->[ \t]*(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,80})>")
_NAMED = re.compile(r"(?:[-–—]\s*)?[\[(]([^\])]{1,40})[\])]\s*(\S.*)", re.DOTALL)


def is_subtitles(name: str, text: str) -> bool:
    """Return whether a text is subtitles: by its name, or since it begins as they do."""
    return bool(name.lower().endswith((".srt", ".vtt")) or _SPAN.search(text[:2_000]))


def read_subtitles(name: str, text: str) -> SourceText:
    """Return who says what; subtitles in a row of one who speaks are one line, `at` when it begins.

    Raises:
        Unreadable: no subtitle says who speaks.
    """
    shown = list(_shown(text))
    if not shown:
        raise Unreadable("has no subtitles: a line with two times stands above each")
    pieces, nameless = list[Piece](), 0
    for at, line in shown:
        speaker, said = _speaker(line)
        last = pieces[-1] if pieces else None
        open_ = isinstance(last, Speech) and not last.text.rstrip("\"”’'").endswith(
            (".", "!", "?", "…", "。", "！", "？")
        )
        if isinstance(last, Speech) and (last.speaker == speaker or (not speaker and open_ and line[0] not in "-–—")):
            pieces[-1] = last._replace(text=f"{last.text} {said}")
        elif speaker:
            pieces.append(Speech(speaker, said, at))
        else:
            nameless += not said.startswith(("(", "[", "♪", "♫"))
            pieces.append(Direction(said))
    if not any(isinstance(piece, Speech) for piece in pieces):
        raise Unreadable(
            'has subtitles that do not say who speaks: begin each with its speaker, as "Ada: Good evening."'
        )
    missing = f"{nameless} subtitles do not say who speaks" if nameless > 1 else "1 subtitle does not say who speaks"
    return staged(name, pieces, (missing,) if nameless else ())


def _shown(text: str) -> Iterator[tuple[str, str]]:
    """What is shown at a time; a subtitle in which two speak, a line each, is two."""
    at, lines = "", list[str]()
    for line in [*text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if span := _SPAN.match(line):
            at, lines = span[1], []
        elif line.strip() and at:
            lines.append(line.strip())
        elif at:
            yield from ((at, one) for one in _parts(lines) if one)
            at, lines = "", []


def _parts(lines: list[str]) -> Iterator[str]:
    part = ""
    for line in lines:
        if part and (_speaker(line)[0] or line[0] in "-–—"):
            yield part
            part = ""
        part = f"{part} {line}".strip()
    yield part


def _speaker(line: str) -> tuple[str, str]:
    """Who speaks in a subtitle, and what; nobody where it does not say."""
    voice = _VOICE.search(line)
    plain = html.unescape(re.sub(r"<[^<>]*>|\{\\[^{}]*\}", "", line)).strip()
    if voice:
        return " ".join(html.unescape(voice[1]).split()), plain
    found = cue(plain, followed=False)
    if found and found.form == "colon":
        return found.name, found.rest
    named = _NAMED.fullmatch(plain)
    if named and (who := name_of(named[1])):
        return who, named[2]
    return "", plain
