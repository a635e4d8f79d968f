"""The moments of the parts of documents: what stands above a text, and in its headings."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from dramaturg.nodes.text.splitter import plain, sections
from dramaturg.stores.documents.forms import Document
from dramaturg.stores.moments import Moment, Place, placed_within, read_moment, within

NUMBERED = (1, 2, 3, 4)  # a book, part, act or chapter may be numbered through
TOLD_BY = 2  # headings that name places make a text that is told by them
T = TypeVar("T")
Knows: TypeAlias = Callable[[Iterable[T]], bool | None]
"""Whether a part is known of which some things are said, such as its moments; None: nobody can say."""


class Span(NamedTuple, Generic[T]):
    """A part of a document, and what is said of it, such as its moment; None: nothing, and it is always known."""

    start: int
    end: int
    said: T | None


class SaidTexts(Generic[T]):
    """Documents, and what is said of their parts."""

    def __init__(self, documents: Mapping[str, Document | None], spans: Callable[[Document], list[Span[T]]]) -> None:
        self._texts = {name: one.text for name, one in documents.items() if one}
        self._spans = {name: spans(one) for name, one in documents.items() if one}
        self._starts = {name: [span.start for span in spans] for name, spans in self._spans.items()}

    def said(self, name: str, start: int, end: int) -> list[T] | None:
        """What is said of a part of a document; None: nobody knows any more what the document said."""
        if name not in self._spans:
            return None
        first = max(bisect_right(self._starts[name], start) - 1, 0)
        last = bisect_right(self._starts[name], max(end - 1, start))
        return [span.said for span in self._spans[name][first:last] if span.said is not None]

    def known(self, knows: Knows[T]) -> str:
        """All that is known of the documents."""
        return "\n".join(
            self._texts[name][span.start : span.end]
            for name, spans in self._spans.items()
            for span in spans
            if knows([] if span.said is None else [span.said])
        )

    def verdicts(self, knows: Knows[T]) -> Callable[[str, int, int], bool | None]:
        """What says whether a part of a document is known, by its name, start and end."""

        def known(name: str, start: int, end: int) -> bool | None:
            said = self.said(name, start, end)
            return None if said is None else knows(said)

        return known


class TimedTexts(SaidTexts[Moment]):
    """Documents and the moments of their parts."""

    def __init__(self, documents: Mapping[str, Document | None], timeline: tuple[str, ...]) -> None:
        super().__init__(documents, lambda one: spans_of(one, timeline))


def spans_of(one: Document, timeline: tuple[str, ...]) -> list[Span[Moment]]:
    """The parts of a document, each with its moment.

    It is what stands above the text, and in the headings over a part: the inner counts, and a scene is of the act that
    it stands in, also where both headings are of one level. In a text that is told by such places, what has a heading
    without one is of the place before it: an epilogue is of the last chapter.
    """
    whole = read_moment(one.when, timeline) if one.when else None
    cut = sections(plain(one.text))
    own = [moment_of_heading(section.headings[-1], timeline) if section.headings else Moment() for section in cut]
    told_by_places = sum(moment.place is not None for moment in own) >= TOLD_BY
    spans, above, place = list[Span[Moment]](), list[tuple[int, Moment | None]](), whole.place if whole else None
    for section, said in zip(cut, own, strict=True):
        above = [(level, over) for level, over in above if level < section.level]
        over = above[-1][1] if above else whole
        if said.place:
            place = placed_within(place, said.place) if place else said.place
        moment = said._replace(place=place if said.place or told_by_places else None)
        found = within(over, moment) if moment.is_read else over
        if section.headings:
            above.append((section.level, found))
        spans.append(Span(section.title if section.headings else 0, section.end, found))
    through = numbered_through([span.said.place for span in spans if span.said and span.said.place])
    return [
        span._replace(said=span.said._replace(through=through)) if span.said and span.said.place else span
        for span in spans
    ]


_NUMBER_ALONE = re.compile(r"[IVXLC]{1,8}\.?|[0-9]{1,3}\.?")


def moment_of_heading(title: str, timeline: tuple[str, ...]) -> Moment:
    """The moment that a heading names; a number alone is that of a chapter."""
    return read_moment(f"chapter {title}" if _NUMBER_ALONE.fullmatch(title) else title, timeline)


def numbered_through(places: Sequence[Place]) -> frozenset[int]:
    """The units that are numbered through a text: their numbers go on in the next larger unit."""
    found = set[int]()
    for at in NUMBERED:
        runs = [(place[:at], one[0]) for place in places if (one := place[at])]
        on = (two > one if other != unit else two >= one for (unit, one), (other, two) in pairwise(runs))
        if runs and all(on):
            found.add(at)
    return frozenset(found)
