"""The Adaptive Context-aware Text Splitter of AMADEUS (3.1), and the two splitters it is compared with (Table 1)."""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from dramaturg.nodes.text.boundaries import (
    Ruler,
    Unit,
    cluster_end,
    cluster_start,
    ends_sentence,
    first_begin,
    last_end,
    ruler,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

Method = Literal["fixed", "ats", "acts", "acts-document"]

# Possessive quantifiers: a run of a million spaces is read once, not once from every space in it.
PARAGRAPH = re.compile(r"^[^\S\n]*+\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+", re.MULTILINE)
MAYBE_HEADING = re.compile(r"^ {0,3}(?:#|=|-++[ \t]*+$)", re.MULTILINE)
VISIBLE = re.compile(r"\S")
LINE = re.compile(r"[^\n]+")
ITEM = re.compile(r"[-*+>|#]|\d{1,9}[.)]\s")

FEW_BREAKS = 4  # between lines: a document with fewer of them is left as it is
BLANKS = 10  # line breaks for each blank line, at the least, where blank lines do not tell paragraphs apart
WRAPPED = 150  # bytes of UTF-8: nobody wraps lines that long
SURE = 0.9  # of the lines


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk c_i and its hierarchical context H_i (AMADEUS, Equation 5).

    `text` is `document[start:end]` of the document as given; `headings` are the titles above it, outermost first.
    """

    text: str
    headings: tuple[str, ...]
    start: int
    end: int


class Window(NamedTuple):
    """How long a passage is and how much of it the next one repeats, both at most, in the ruler's unit."""

    length: int
    overlap: int

    def give_at_end(self, word: int) -> int:
        """How much a passage may be shorter, to end well; the next one still begins well after it."""
        return min(max(self.length // 4, word), (self.length - self.overlap) * 3 // 4)

    def give_at_begin(self, word: int) -> int:
        """How much the overlap may be shorter, so that the next passage begins well."""
        return max(self.overlap // 4, min(word, self.overlap // 2))


def split_document(
    text: str,
    *,
    method: Method = "acts",
    unit: Unit = "characters",
    longest: int | None = None,
    fixed_length: int = 1000,
    fixed_overlap: int = 100,
) -> list[Passage]:
    """Split a persona document into passages (AMADEUS, Equations 2 to 5).

    Args:
        text: the document, in Markdown or without any markup.
        method: "acts": length l_max and overlap l_max / 2, within sections, with headings; "acts-document": the same
            over the whole document, each passage with the headings under which it begins; "ats": over the whole
            document, without headings; "fixed": `fixed_length` and `fixed_overlap`, without headings.
        unit: what lengths are counted in.
        longest: the most that l_max may be, however long a paragraph is; None: no limit, as in the paper.
        fixed_length: the length of a passage of the method "fixed", in the unit.
        fixed_overlap: the overlap of passages of the method "fixed", in the unit.

    Returns:
        Passages in the order of the document. None is longer than the length, and no text is left out: each character
        that is no space is in a passage or, with "acts", in the heading of one. Headings that follow within a passage
        of "acts-document" stand in its text.

    Raises:
        ValueError: there is no such method or unit, or the sizes leave no room for a passage.
    """
    _check(method, longest, fixed_length, fixed_overlap)
    measure, lines = ruler(text, unit), plain(text)
    if not lines.strip():
        return []
    cut = sections(lines)
    window = Window(fixed_length, fixed_overlap)
    if method != "fixed":
        # The longest heading stands in where a document has headings only.
        l_max = _longest(text, lines, cut, measure) or max(measure.length(one.title, one.title_end) for one in cut)
        l_max = l_max if longest is None else min(l_max, longest)
        window = Window(l_max, l_max // 2)
    headings = headings_by(method, cut)
    return [
        Passage(text[begin:stop], headings(begin), begin, stop)
        for start, end in parts_of(method, lines, cut)
        for begin, stop in slide(text, start, end, window, measure)
    ]


def _check(method: str, longest: int | None, fixed_length: int, fixed_overlap: int) -> None:
    if method not in get_args(Method):
        raise ValueError(f"There is no splitter {method!r}: use {', '.join(get_args(Method))}.")
    if longest is not None and longest < 1:
        raise ValueError(f"A passage cannot have the length {longest}: set longest to 1 or more, or to None.")
    if fixed_length < 1:
        raise ValueError(f"A passage cannot have the length {fixed_length}: set fixed_length to 1 or more.")
    if not 0 <= fixed_overlap < fixed_length:
        raise ValueError(
            f"Passages of the length {fixed_length} cannot overlap by {fixed_overlap}: "
            f"set fixed_overlap to a number from 0 to {fixed_length - 1}."
        )


def plain(text: str) -> str:
    r"""The document with "\n" as its only line end, and not one character longer or shorter.

    CRLF, CR and form feed end a line; a byte order mark is a space, so that a heading may follow it.
    """
    lines = text.replace("\r\n", " \n").replace("\r", "\n").replace("\f", "\n")
    return " " + lines[1:] if lines.startswith("\ufeff") else lines


class Section(NamedTuple):
    """The text under one heading, up to the next heading of any level; the first section may have no heading.

    `title` to `title_end` is the heading's line, `body` to `end` the text under it, as offsets into the document.
    """

    headings: tuple[str, ...]
    level: int
    title: int
    title_end: int
    body: int
    end: int


def sections(lines: str) -> list[Section]:
    """Cut a document, as `plain` gives it, at its headings; what stands before the first one has no headings."""
    starts = [0, *(match.end() for match in re.finditer("\n", lines)), len(lines)]
    found = _headings(lines)
    bounds = [starts[heading.first_line] for heading in found] + [len(lines)]
    cut = [Section((), 0, 0, 0, 0, bounds[0])]
    path: list[_Heading] = []
    for heading, start, end in zip(found, bounds, bounds[1:], strict=False):
        path = [*(above for above in path if above.level < heading.level), heading]
        titles = tuple(above.title for above in path)
        line = lines[start : starts[heading.first_line + 1]]
        title, title_end = start + len(line) - len(line.lstrip()), start + len(line.rstrip())
        cut.append(Section(titles, heading.level, title, title_end, starts[heading.next_line], end))
    return cut


class _Heading(NamedTuple):
    title: str
    level: int
    first_line: int
    next_line: int


def _headings(lines: str) -> list[_Heading]:
    """Headings of the document itself, not of a quotation or a list; with a title; underlined ones of one line.

    CommonMark makes a heading of a whole paragraph above a line of dashes. In prose that line is meant as a rule.
    """
    if not MAYBE_HEADING.search(lines):
        return []  # a long dialogue without headings need not wait for the parser
    found: list[_Heading] = []
    for opening, title in pairwise(_parser().parse(lines)):  # the token after an opening one holds the title
        name = title.content.strip()
        if opening.type == "heading_open" and not opening.level and opening.map and name:
            first, following = opening.map
            if opening.markup not in ("=", "-") or following - first == 2:
                found.append(_Heading(name, int(opening.tag[1]), first, following))
    return found


@cache
def _parser() -> "MarkdownIt":
    # Only blocks are asked for: what stands inside a line is not parsed. Link definitions stay text.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def parts_of(method: Method, lines: str, cut: Sequence[Section]) -> Iterator[tuple[int, int]]:
    """What windows slide over: the whole document; with "acts" the text of each section, or its bare heading."""
    if method != "acts":
        yield 0, len(lines)
        return
    levels = [section.level for section in cut[1:]] + [0]
    for section, next_level in zip(cut, levels, strict=True):
        if lines[section.body : section.end].strip():
            yield section.body, section.end
        elif next_level <= section.level:
            yield section.title, section.title_end


def headings_by(method: Method, cut: Sequence[Section]) -> Callable[[int], tuple[str, ...]]:
    """What gives the headings over a position, outermost first; splitters without hierarchical context have none."""
    titles = [section.title for section in cut]
    return lambda at: cut[bisect_right(titles, at) - 1].headings if method.startswith("acts") else ()


def longest_paragraph(text: str, unit: Unit = "characters") -> int:
    """The length l_max of the longest paragraph (AMADEUS, Equation 3); 0 if the document has none.

    A paragraph is a run of lines that are neither blank nor a heading, without the line break after the last one; in a
    document that has no blank lines between its paragraphs, it is a line.

    Raises:
        ValueError: there is no such unit.
    """
    lines = plain(text)
    return _longest(text, lines, sections(lines), ruler(text, unit))


def _longest(text: str, lines: str, cut: Sequence[Section], measure: Ruler) -> int:
    found = [[match.span() for match in PARAGRAPH.finditer(lines, one.body, one.end)] for one in cut]
    spans = list(chain.from_iterable(found))
    if _line_by_line(lines, spans, blanks=sum(len(of) - 1 for of in found if of)):
        spans = [match.span() for start, end in spans for match in LINE.finditer(lines, start, end)]
    # `plain` made a space of the carriage return before a line feed: it belongs to the line break.
    return max((measure.length(start, end - text.startswith("\r\n", end - 1)) for start, end in spans), default=0)


def _line_by_line(lines: str, runs: Sequence[tuple[int, int]], blanks: int) -> bool:
    """Whether each line is a paragraph: blank lines are rare, and line breaks stand where no wrapped line would end.

    That is after a sentence, or in a line that is too long to have been wrapped; items of a list or table do not count.
    """
    inner = [lines[match.start() : match.end()].strip() for run in runs for match in LINE.finditer(lines, *run)]
    breaks = len(inner) - len(runs)
    if breaks < FEW_BREAKS or blanks * BLANKS > breaks:
        return False
    whole = sum(not ITEM.match(one) and (ends_sentence(one) or len(one.encode()) > WRAPPED) for one in inner)
    return whole >= SURE * len(inner)


def slide(text: str, start: int, end: int, window: Window, ruler: Ruler) -> Iterator[tuple[int, int]]:
    """Passages of a text from start to end: together they hold each visible character, none begins or ends in space.

    langchain's recursive splitter is not used here: between paragraphs that fill a chunk its overlap is nothing
    (it repeats whole pieces only), it drops spaces between pieces, and it finds offsets by searching for the text.
    """
    begin = unseen = _visible(text, start, end)
    while unseen < end:
        stop = _stop(text, begin, unseen, end, window, ruler)
        yield begin, stop
        unseen = _visible(text, stop, end)
        if unseen < end:
            begin = _next_begin(text, begin, stop, unseen, window, ruler)


def _stop(text: str, begin: int, unseen: int, end: int, window: Window, ruler: Ruler) -> int:
    high = min(ruler.reach(begin, window.length), end)
    if _visible(text, high, end) < end:
        # Each passage shows something new, or the window would not move on in a long run of spaces.
        low = max(ruler.reach(begin, window.length - window.give_at_end(ruler.word)), unseen + 1)
        found = last_end(text, low, high)
        high = cluster_start(text, high, low) if found is None else found
    return begin + len(text[begin:high].rstrip())


def _next_begin(text: str, begin: int, stop: int, unseen: int, window: Window, ruler: Ruler) -> int:
    low = max(ruler.back(stop, window.overlap), ruler.reach(begin, 1))
    high = min(ruler.reach(low, window.give_at_begin(ruler.word)), stop)
    found = first_begin(text, low, high)
    onward = _visible(text, cluster_end(text, low, stop) if found is None else found, unseen)
    return onward if ruler.reach(onward, window.length) > unseen else unseen


def _visible(text: str, start: int, end: int) -> int:
    """Where the first character that is no space stands; end if there is none."""
    match = VISIBLE.search(text, start, end)
    return match.start() if match else end


KEPT = 0.25  # how much of l_max the longest paragraph may grow or shrink by before passages get another length
REACH = 1_000_000  # characters in which text that has moved is looked for
MISSES = 200  # passages in a row that are looked for
LEAST = 20  # characters; shorter passages are not looked for


class _Place(NamedTuple):
    """An old passage that the new text holds: its position among the old ones, and where it stands now."""

    at: int
    start: int
    end: int


def kept_length(longest: int, before: int | None) -> int:
    """The l_max to split with: that of before, while the longest paragraph has not changed by more than a quarter."""
    return before if before and abs(longest - before) <= KEPT * before else longest


def split_again(text: str, old: Sequence[Passage], method: Method, unit: Unit, window: Window) -> list[Passage]:
    """Split a document, with the passages of before wherever it still holds them.

    Args:
        text: the document as it is now.
        old: its passages as they were, in their order, split with the same method, unit and window.
        method: of splitting; see `split_document`.
        unit: what lengths are counted in.
        window: the length of a passage and the overlap, both at most.

    Returns:
        Passages in the order of the document; as with `split_document`, none is longer than the window and no text is
        left out.
    """
    lines, measure = plain(text), ruler(text, unit)
    if not lines.strip():
        return []
    cut = sections(lines)
    headings = headings_by(method, cut)
    places = deque(_places(text, old))
    found: list[Passage] = []
    for start, end in parts_of(method, lines, cut):
        here = [p for p in _within(places, start, end) if old[p.at].headings == headings(p.start)]
        spans = dict.fromkeys(_spans(text, start, end, here, old, window, measure))
        found += (Passage(text[begin:stop], headings(begin), begin, stop) for begin, stop in spans)
    return found


def _places(text: str, old: Sequence[Passage]) -> Iterator[_Place]:
    """Where the old passages stand now, those that are still there."""
    shift, last, misses = 0, -1, 0
    for at, passage in enumerate(old):
        start = passage.start + shift
        if start <= last or not text.startswith(passage.text, start):
            start = -1
            if misses < MISSES and len(passage.text) >= LEAST:
                start = text.find(passage.text, last + 1, last + 1 + REACH)
        if start < 0:
            misses += 1
            continue
        shift, last, misses = start - passage.start, start, 0
        yield _Place(at, start, start + len(passage.text))


def _within(places: deque[_Place], start: int, end: int) -> Iterator[_Place]:
    """The places in a part, first to last; they are taken away, those that are left come later."""
    while places and places[0].start < end:
        place = places.popleft()
        if place.start >= start and place.end <= end:
            yield place


def _spans(
    text: str, start: int, end: int, kept: Sequence[_Place], old: Sequence[Passage], window: Window, measure: Ruler
) -> Iterator[tuple[int, int]]:
    """The passages of a part: those that are kept, and new ones over what lies between them."""
    before: _Place | None = None
    for place in (*kept, None):
        seen, until = before.end if before else start, place.start if place else end
        if text[seen:until].strip():
            low, high = _low(before, old) if before else start, min(_high(place, old), end) if place else end
            yield from (span for span in slide(text, low, high, window, measure) if span[1] > seen and span[0] < until)
        if place:
            yield place.start, place.end
        before = place


def _low(before: _Place, old: Sequence[Passage]) -> int:
    """Where new passages begin: where the one after the last kept passage began, or at the end of that."""
    step = old[before.at + 1].start - old[before.at].start if before.at + 1 < len(old) else before.end - before.start
    return min(before.start + step, before.end) if step > 0 else before.end


def _high(after: _Place, old: Sequence[Passage]) -> int:
    """Where new passages end: where the one before the next kept passage ended, at the most with that."""
    shared = old[after.at - 1].end - old[after.at].start if after.at else 0
    return min(after.start + max(shared, 0), after.end)
