"""Scenes of a play out of its pieces: headings with the place, directions, and what is said to whom."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from dramaturg.stores.texts.form import Line, Scene, SourceText

_NUMBER = (
    r"(?:[ivxlc]+|\d+|one|two|three|four|five|six|seven|eight|nine|ten|the (?:first|second|third|fourth|fifth|last))"
)
_ORDINAL = r"(?:first|second|third|fourth|fifth|sixth|seventh|last)"
_ACT = (
    rf"(?:act\s+{_NUMBER}\b|(?:the\s+)?{_ORDINAL}\s+act(?=\s*[.:—–]|\s*$)"
    r"|第\s*[\d一二三四五六七八九十百]+\s*幕|제?\s*\d+\s*막(?!\w))"
)
_SCENE = (
    rf"(?:scene\s+{_NUMBER}\b|scene(?=\s*[.:—–-]|$)|(?:the\s+)?{_ORDINAL}\s+scene(?=\s*[.:—–]|\s*$)"
    r"|第\s*[\d一二三四五六七八九十百]+\s*[场場景]|제?\s*\d+\s*[장경](?!\w)|(?:s#|씬)\s*\d+)"
)
_APART = ("prologue", "epilogue", "induction", "序幕", "尾声", "尾聲", "프롤로그", "에필로그")
_APART_ALONE = re.compile(rf"(?:{'|'.join(_APART)})[.:]?", re.IGNORECASE)
_DIVISION = re.compile(
    rf"(?:(?P<act>{_ACT})[\s.,:;—–-]*)?(?:(?P<scene>{_SCENE})[\s.,:;—–-]*)?(?P<place>.*)", re.IGNORECASE
)
_SLUG = re.compile(r"(?:INT|EXT|EST|INT\.?\s*/\s*EXT|EXT\.?\s*/\s*INT|I\s*/\s*E)[.\s]\s*(.*)", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*#[\w.-]{1,12}#\s*$")
_YEAR = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")
_MARKDOWN = re.compile(r"(#{1,6})\s+(\S.*?)[\s#]*$")
_HOUR = re.compile(
    r"\s+[-–—]+\s+(?:.*\b)?(?:DAY|NIGHT|MORNING|EVENING|AFTERNOON|NOON|DAWN|DUSK|SUNSET|SUNRISE|LATER|CONTINUOUS"
    r"|SAME(?: TIME)?|MOMENTS? LATER)\b.*$"
)
_WHERE = re.compile(r"(?:地点|地點|장소|place|setting|location)\s*[:：]\s*(\S.*)", re.IGNORECASE)
_FIRST_SENTENCE = re.compile(
    r"(?![\[(（_]*(?:enter|re-enter|flourish|alarum)\b)[\[(（_]*([^\n\])）]{3,100}$|[^\n.。\])）]{3,120}(?=[.。]))",
    re.IGNORECASE,
)
_TO = re.compile(
    r"\bto (?P<en>(?:the |his |her )?[^\W\d_][\w'’. -]{0,39})|^[^对對向]{0,6}[对對向](?P<zh>[^\s说說道着地，,。]{1,12})"
    r"|(?P<ko>[^\s,]{1,12}?)(?:에게|한테|께)(?!\w)",
    re.IGNORECASE,
)


class Heading(NamedTuple):
    """What begins a scene, or is above some."""

    title: str
    rank: int
    """The smaller, the more is below it: those of Markdown have 1 to 6, acts `ACT`, scenes `SCENE`, places `PLACE`."""
    place: str = ""
    is_scene: bool = True
    """Whether it is an act, a scene or a place, and no title of something else."""


class Speech(NamedTuple):
    """What one says, with directions in round brackets."""

    speaker: str
    text: str
    at: str


class Direction(NamedTuple):
    """What is seen, and everything else that nobody says."""

    text: str


Piece: TypeAlias = Heading | Speech | Direction
ACT, SCENE, PLACE = 7, 8, 9
"""Ranks of headings that have no mark of Markdown."""


def heading(line: str) -> Heading | None:
    """Return what a line says if it begins an act, a scene or, as in a screenplay, a place; or None."""
    line = line.strip().replace("\u3000", " ")
    if marked := _MARKDOWN.match(line):
        inner = heading(marked[2])
        return inner._replace(rank=len(marked[1])) if inner else Heading(marked[2], len(marked[1]), is_scene=False)
    line = line.strip("*_ ")
    if len(line) > 200:
        return None
    if slug := slugline(line):
        return slug
    if _APART_ALONE.fullmatch(line):
        return Heading(line.rstrip(".:"), ACT)
    found = _DIVISION.match(line)
    if not found or not (found["act"] or found["scene"]):
        return None
    place = found["place"].strip(" []().。")
    stop = line[: found.start("place")].rstrip()
    if place and stop.isascii() and stop[-1].isalnum():  # "Act two was long.", "scene ii is where"
        return None
    return Heading(line.strip(" ."), SCENE if found["scene"] else ACT, place)


def parted(head: Heading) -> list[Heading]:
    """Return `ACT I. Scene 2. A room` as two headings, and every other as it is."""
    found = _DIVISION.match(head.title) if head.rank == SCENE else None
    if not found or not found["act"] or not found["scene"]:
        return [head]
    return [Heading(found["act"].strip(), ACT), head._replace(title=head.title[found.start("scene") :])]


def slugline(line: str, *, forced: bool = False) -> Heading | None:
    """Return what a heading of a screenplay says: `INT. HOUSE - NIGHT (1973)` is in a house."""
    line = _NUMBERED.sub("", line).strip()
    found = _SLUG.match(line)
    if not forced and (not found or not line[:3].isupper()):
        return None
    place = _HOUR.sub("", found[1] if found else line)
    return Heading(line, PLACE, place.strip(" .-–—"))


def addressed(direction: str, speakers: Iterable[str]) -> str:
    """Return whom a direction names after "to" (对, 에게), as the script spells its speakers; or nothing."""
    found = _TO.search(direction)
    if not found:
        return ""
    name = next(one for one in found.groups() if one).strip(" .")
    bare = re.sub(r"^(?:the|his|her) ", "", name, flags=re.IGNORECASE)
    for one in speakers:
        if one.casefold() in (name.casefold(), bare.casefold()):
            return one
    if found["en"]:
        proper = re.match(r"(?:[^\W\d_a-z][\w'’-]*\.?\s?)+", bare)
        return proper[0].strip(" .") if proper and proper[0][0].isupper() else ""
    return name if found["zh"] else ""


def staged(name: str, pieces: Iterable[Piece], missing: tuple[str, ...] = ()) -> SourceText:
    """Return a script as its scenes, and all of it as Markdown: headings, directions, speeches begun with a name."""
    pieces = _without_front(list(pieces))
    speakers = list(dict.fromkeys(piece.speaker for piece in pieces if isinstance(piece, Speech)))
    written = "\n\n".join(filter(None, map(_written, pieces)))
    return SourceText(name, "script", f"{written}\n", tuple(_scenes(pieces, speakers)), missing)


def _without_front(pieces: list[Piece]) -> list[Piece]:
    """The pieces, of which none above the play is a speech: a list of its persons may look so."""
    acts = [
        (at, piece.title.casefold())
        for at, piece in enumerate(pieces)
        if isinstance(piece, Heading) and piece.rank == ACT
    ]
    again = next((at for at, title in acts[1:] if title == acts[0][1]), 0)
    front = [Direction(f"{one.speaker}\n{one.text}") if isinstance(one, Speech) else one for one in pieces[:again]]
    return front + pieces[again:]


def _written(piece: Piece) -> str:
    if isinstance(piece, Heading):
        return f"{'#' * (piece.rank if piece.rank < ACT else piece.rank - 5)} {piece.title}"
    return f"{piece.speaker}: {piece.text}" if isinstance(piece, Speech) else piece.text


def _scenes(pieces: Iterable[Piece], speakers: list[str]) -> Iterator[Scene]:
    """The scenes in which somebody speaks; those of a table of contents have nobody."""
    above, lines, place = list[Heading](), list[Line](), ""
    bare = False  # whether the last piece is the heading of a scene that does not say where
    for piece in pieces:
        if isinstance(piece, Speech):
            directions = re.findall(r"\(([^()]*)\)", piece.text)
            to = next(filter(None, (addressed(one, speakers) for one in directions)), "")
            lines.append(Line(piece.speaker, piece.text, piece.at, to))
        elif isinstance(piece, Heading):
            if lines:
                yield _scene(above, lines, place)
            lines, place = [], piece.place
            bare = piece.rank in (ACT, SCENE)
            above = [one for one in above if one.rank < piece.rank] + [piece]
        elif not lines and not place:
            said = _WHERE.match(piece.text) or (_FIRST_SENTENCE.match(piece.text) if above and bare else None)
            place = said[1].strip(" .。") if said else ""
            bare = False
    if lines:
        yield _scene(above, lines, place)


def _scene(above: list[Heading], lines: list[Line], place: str) -> Scene:
    titles = [one.title.strip(" .") for one in above if one.is_scene] or [one.title for one in above[-1:]]
    year = _YEAR.search(above[-1].title) if above and above[-1].rank == PLACE else None
    return Scene(". ".join(titles), tuple(lines), place, year[0] if year else "")
