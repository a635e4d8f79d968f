"""PDF as Markdown: lines become paragraphs, bookmarks or larger letters become headings; what has no text is said."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import groupby
from math import hypot
from typing import Any, NamedTuple

PAGES = 5_000
"""Pages that are read."""
BOOKMARKS = 10_000
LARGER = 1.15
"""How much larger than most of the text a line is that counts as a heading, where there are no bookmarks."""
LONGEST = 120  # letters of such a heading
PARAGRAPH = 2_000
"""Letters after which a paragraph ends with its sentence, where nothing in the PDF shows its end."""
_NUMBER = re.compile(r"\W*(page|p\.)?\s*([0-9]{1,5}|[ivxl]{1,7})(\s*(of|/)\s*[0-9]{1,5})?\W*", re.IGNORECASE)
_ITEM = re.compile(r"([•◦▪*–-]|\(?[0-9]{1,3}[.)])\s")
_END = re.compile(r"[.!?:…。！？]['\"”’»)\]]*$")


class CannotBeRead(Exception):
    """A file is not read at all; the message goes on after its name."""


class Reading(NamedTuple):
    """What a file holds as Markdown, and what of it was not read, a sentence each without its full stop."""

    text: str
    missing: list[str]
    picture: str = ""
    """Of the cover, as PNG in base64."""


class Line(NamedTuple):
    """A line: its page, from 1, and the height of its letters in points."""

    page: int
    text: str
    size: float


def read_pdf(data: bytes) -> Reading:
    """Return the text of a PDF.

    Raises:
        CannotBeRead: it is damaged, encrypted, or has no text.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise CannotBeRead("is protected by a password: save a copy without one")
        count = len(reader.pages)
    except DependencyError as error:
        raise CannotBeRead("is encrypted: save a copy without protection") from error
    except (CannotBeRead, MemoryError):
        raise
    except Exception as error:
        raise CannotBeRead(f"is no whole PDF ({type(error).__name__}): open it elsewhere and save it again") from error
    lines: list[Line] = []
    empty, damaged = list[int](), list[int]()
    for number in range(1, min(count, PAGES) + 1):
        try:
            found = [Line(number, *one) for one in _lines(reader.pages[number - 1])]
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 (what a damaged page raises has no end; the other pages are read)
            damaged.append(number)
            continue
        lines += found
        if not found:
            empty.append(number)
    if not lines:
        raise CannotBeRead(f"has no text on its {count:,} page(s): if it is a scan, have its text recognised first")
    kept, edges = _without_edges(lines)
    missing = [f"{named('page', empty)} no text"] if empty else []
    missing += [f"{named('page', damaged)} no text that can be read"] if damaged else []
    missing += [f"pages {PAGES + 1:,} to {count:,} are left out: split the file"] if count > PAGES else []
    missing += [f"the line {text!r} at the edge of {times} pages is left out" for text, times in edges.items()]
    return Reading(_markdown(kept, _bookmarked(reader, kept) or _larger(kept)), missing)


def named(what: str, numbers: Sequence[int]) -> str:
    """Numbers as people say them, with what they have: "page 3 has", "pages 3, 5–9 have"."""
    runs = []
    for _, run in groupby(enumerate(numbers), lambda one: one[1] - one[0]):
        first, *others = (number for _, number in run)
        runs.append(f"{first}–{others[-1]}" if others else f"{first}")
    return f"{what} {runs[0]} has" if len(numbers) == 1 else f"{what}s {', '.join(runs)} have"


def _lines(page: Any) -> Iterator[tuple[str, float]]:
    """The lines of a page that hold text, each with the size of its largest letters."""
    text, size = "", 0.0
    found: list[tuple[str, float]] = []

    def take(part: str, scale: list[float], matrix: list[float], _: Any, letters: float) -> None:
        nonlocal text, size
        height = letters * hypot(matrix[2], matrix[3]) * hypot(scale[2], scale[3])
        for number, piece in enumerate(part.split("\n")):
            if number:
                found.append((text, size))
                text, size = "", 0.0
            text += piece
            size = max(size, height) if piece.strip() else size

    page.extract_text(visitor_text=take)
    found.append((text, size))
    return ((" ".join(line.split()), round(2 * height) / 2) for line, height in found if line.strip())


def _without_edges(lines: Sequence[Line]) -> tuple[list[Line], Mapping[str, int]]:
    """The lines without numbers of pages and what most pages begin or end with; and the latter, with how often."""
    pages = [list(page) for _, page in groupby(lines, lambda one: one.page)]
    edges = Counter(text for page in pages for text in {_unnumbered(page[0]), _unnumbered(page[-1])} if text)
    repeated = {text: times for text, times in edges.items() if times > max(3, len(pages) / 3)}
    kept = []
    for page in pages:
        ends = {0, len(page) - 1}
        kept += [
            one
            for at, one in enumerate(page)
            if not (at in ends and (_NUMBER.fullmatch(one.text) or _unnumbered(one) in repeated))
        ]
    return kept, repeated


def _unnumbered(line: Line) -> str:
    return re.sub(r"\W*[0-9]+\W*", " ", line.text).strip()


def _bookmarked(reader: Any, lines: Sequence[Line]) -> dict[int, int]:
    """The levels of headings by the places of their lines: those that bookmarks lead to."""
    levels: dict[int, int] = {}
    pages: dict[int, list[int]] = {}
    for at, one in enumerate(lines):
        pages.setdefault(one.page, []).append(at)
    try:
        for title, page, level in _bookmarks(reader, reader.outline):
            wanted = _letters(title)
            place = next((at for at in pages.get(page, ()) if wanted and _letters(lines[at].text) == wanted), None)
            if place is not None:
                levels.setdefault(place, level)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 (damaged bookmarks: headings are told by their letters)
        return {}
    return levels


def _bookmarks(reader: Any, outline: Iterable[Any], level: int = 1) -> Iterator[tuple[str, int, int]]:
    """The titles of bookmarks with their pages, from 1, and levels."""
    for number, one in enumerate(outline):
        if number >= BOOKMARKS:
            return
        if isinstance(one, list):
            yield from _bookmarks(reader, one, level + 1)
        elif (page := reader.get_destination_page_number(one)) is not None:
            yield str(one.title), page + 1, level


def _letters(text: str) -> str:
    """What two ways to write a title have in common: letters, and no number before them."""
    return "".join(re.findall(r"[^\W\d_]", text.casefold()))


def _larger(lines: Sequence[Line]) -> dict[int, int]:
    """The levels of headings by the places of their lines: those in letters larger than most of the text has."""
    sizes = Counter[float]()
    for one in lines:
        sizes[one.size] += len(one.text)
    usual = sizes.most_common(1)[0][0]
    found = {
        at: one.size
        for at, one in enumerate(lines)
        if one.size > LARGER * usual and len(one.text) <= LONGEST and _letters(one.text)
    }
    order = sorted({*found.values()}, reverse=True)
    return {at: min(6, order.index(size) + 1) for at, size in found.items()}


def _markdown(lines: Sequence[Line], levels: Mapping[int, int]) -> str:
    """Paragraphs of the lines: one ends with a sentence, in a short line, at the end of a page or when it is long."""
    widths = sorted(len(one.text) for at, one in enumerate(lines) if at not in levels)
    usual = widths[len(widths) * 9 // 10] if widths else 0
    parts: list[list[str]] = []
    open_, length = False, 0
    for at, one in enumerate(lines):
        if level := levels.get(at):
            if levels.get(at - 1) == level and one.text[:1].islower():  # a heading that goes on in a second line
                parts[-1].append(f" {one.text}")
            else:
                parts.append([f"{'#' * min(level, 6)} {one.text}"])
            open_ = False
            continue
        if open_ and not _ITEM.match(one.text):
            _join(parts[-1], one.text)
        else:
            parts.append([re.sub(r"^(#+\s)", r"\\\1", one.text)])  # no heading of ours
            length = 0
        length += len(one.text)
        last = at + 1 == len(lines) or lines[at + 1].page > one.page
        open_ = not (_END.search(one.text) and (len(one.text) < 0.8 * usual or last or length > PARAGRAPH))
    return "\n\n".join(map("".join, parts)) + "\n"


def _join(before: list[str], after: str) -> None:
    """Put a line after others: a word that was divided is whole again, and no space comes between Chinese signs."""
    end = before[-1]
    if end.endswith("-") and end[-2:-1].isalpha() and after[:1].islower():
        before[-1] = end[:-1]
    elif max(ord(end[-1]), ord(after[0])) < ord("\u2e80"):
        before.append(" ")
    before.append(after)
