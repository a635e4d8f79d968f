"""A document that was edited is split where it was edited; elsewhere its passages stay as they are.

Windows that slide on from an edit would not meet those of before again for a while, and would be embedded again.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dramaturg.nodes.text.boundaries import Ruler, Unit, ruler
from dramaturg.nodes.text.splitter import Method, Passage, Window, headings_by, parts_of, plain, sections, slide

KEPT = 0.25  # how much of l_max the longest paragraph may grow or shrink by before passages get another length
REACH = 1_000_000  # characters in which text that has moved is looked for
MISSES = 200  # passages in a row that are looked for
SURE = 20  # characters; shorter passages are not looked for


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
            if misses < MISSES and len(passage.text) >= SURE:
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
