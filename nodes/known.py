"""What a role knows at a time: a version of an index is cut to it when it is read, before anything is looked up in it.

A cut version is one like any other, without what is later: whatever is looked up, ranked or counted in it takes no
place from what is known. It is made once a moment, and kept with the version.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dramaturg.nodes.text.splitter import plain, sections
from dramaturg.stores.changes import KeptDocuments
from dramaturg.stores.documents.forms import DialogueLine, Document, Memory, RoleCard, document
from dramaturg.stores.documents.memories import Lines, form_of, read_memory_files, split_place
from dramaturg.stores.documents.reading import parse_lines
from dramaturg.stores.errors import RoleError
from dramaturg.stores.files import sha256
from dramaturg.stores.index.dialogues import DialogueStore
from dramaturg.stores.index.folder import IndexStore, LeftOut, left_out_of
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.memories import MemoryStore
from dramaturg.stores.index.passages import PassageStore
from dramaturg.stores.moments import Moment, Place, placed_within, read_moment, require_moment, within

if TYPE_CHECKING:
    from dramaturg.stores.index.folder import S
    from dramaturg.stores.index.opened import Index
    from dramaturg.stores.role import Role

CUTS = 8
"""The moments for which a version is kept as it is cut to them."""
NUMBERED = (1, 2, 3, 4)  # a book, part, act or chapter may be numbered through
TOLD_BY = 2  # headings that name places make a text that is told by them


class AsOf(NamedTuple):
    """The moment up to which a role knows what it knows, and the names of times that it has."""

    text: str
    timeline: tuple[str, ...]

    @property
    def moment(self) -> Moment:
        """The moment."""
        return read_moment(self.text, self.timeline)

    def knows(self, moments: Iterable[Moment]) -> bool | None:
        """Whether all of some moments have been; False: one is later; None: one cannot be compared."""
        found = [one.ends_by(self.moment) for one in moments]
        return False if False in found else None if None in found else True

    def knows_text(self, when: str | None) -> bool | None:
        """Whether what a text says has been; what has no time is always known."""
        return self.knows([read_moment(when, self.timeline)] if when else [])


def as_of_in(text: str, card: RoleCard) -> AsOf | None:
    """The moment that is set for a role; None: none is.

    Raises:
        ValueError: it cannot be read.
    """
    if not text:
        return None
    require_moment(text, card.timeline)
    return AsOf(text, card.timeline)


_lock = Lock()


def known_cut(store: "S", as_of: AsOf, card: RoleCard) -> "S | None":
    """A version as it is cut to a moment, if that is made; it waits for nothing."""
    return store.cuts.get((as_of, card.name, card.aliases))


def cut_to(index: "Index[Any, S]", store: "S", as_of: AsOf, card: RoleCard) -> "S":
    """A version of an index as a role knows it at a moment, the same one each time; it may block.

    Args:
        index: whose version it is.
        store: the version.
        as_of: the moment.
        card: the role's, whose own names it always knows.
    """
    if (there := known_cut(store, as_of, card)) is not None:
        return there
    made = _cut(index, store, as_of, card)
    with _lock:
        for old in list(store.cuts)[: 1 - CUTS]:
            del store.cuts[old]
        return store.cuts.setdefault((as_of, card.name, card.aliases), made)


def _cut(index: "Index[Any, S]", store: "S", as_of: AsOf, card: RoleCard) -> "S":
    sources: Any = _Sources(index, store)
    cut: Any
    if isinstance(store, KnowledgeGraph):
        texts = TimedTexts(sources.documents(), as_of.timeline)
        cut = store.cut_to(texts.verdicts(as_of), texts.known(as_of), (card.name, *card.aliases))
    elif isinstance(store, PassageStore):
        known = TimedTexts(sources.documents(), as_of.timeline).verdicts(as_of)
        cut = _kept(store, "passages", [known(one.source, one.start, one.end) for one in store.passages])
    elif isinstance(store, MemoryStore):
        lines = sources.lines()
        found = [any_known(_of_places(one.places, one.when, lines, as_of)) for one in store.memories]
        cut = _kept(store, "memories", found)
    elif isinstance(store, DialogueStore):
        lines = sources.lines()
        cut = _kept(store, "dialogues", [_of_scene(one.source, one.scene, lines, as_of) for one in store.dialogues])
    else:
        raise TypeError(f"Nothing says how {type(store).__name__} is cut to a time.")
    return cast("S", cut)


def _kept(store: Any, kind: str, known: Sequence[bool | None]) -> Any:
    rows = [at for at, one in enumerate(known) if one]
    return store.cut(rows, {kind: left_out_of(known)})


def any_known(found: Iterable[bool | None]) -> bool | None:
    """Whether one of several copies of a thing is known: then it is."""
    told = {*found}
    return True if True in told else False if False in told else None


class _Sources:
    """What a version was made from, as it was then."""

    def __init__(self, index: "Index[Any, Any]", store: IndexStore) -> None:
        self._index, self._made_from = index, store.manifest.sources

    def _read(self, name: str, digest: str) -> bytes | None:
        data = KeptDocuments(self._index.folder.role).read(digest)
        if data is None:
            try:
                data = self._index.sources.read(name)
            except (OSError, RoleError):
                return None
        return data if sha256(data) == digest else None

    def documents(self) -> Mapping[str, Document | None]:
        """The documents by their names; None: nobody knows any more what it said."""
        role = self._index.folder.role
        read = {name: self._read(name, digest) for name, digest in self._made_from.items()}
        return {name: None if data is None else document(data, role / name, role) for name, data in read.items()}

    def lines(self) -> Mapping[str, Lines]:
        """The lines of files of memories and dialogues, by the names of the files and their numbers."""
        role = self._index.folder.role
        read = {name: self._read(name, digest) for name, digest in self._made_from.items()}
        return {
            name: parse_lines(data, role / name, form_of(name), role) for name, data in read.items() if data is not None
        }


def when_of_line(line: Memory | DialogueLine, timeline: tuple[str, ...]) -> str:
    """The time that a line of a file says it is of; else the name of its scene, or a chapter for its place, says it."""
    if isinstance(line, Memory):
        return line.when or ""
    if told := line.when or line.date:
        return told
    if read_moment(line.scene, timeline).is_read:
        return line.scene
    return line.place if line.place and read_moment(line.place, timeline).place else ""


def unread_times(role: "Role") -> list[str]:
    """What people wrote as a time in a role's files and nobody can read, with its place: it is known at no moment."""
    timeline = role.card.timeline
    said = [(f"persona/{one.name}", one.when) for one in role.documents()]
    for name, lines in read_memory_files(role.root).items():
        said += [(f"{name}:{number}", when_of_line(line, timeline)) for number, line in lines.items()]
    return [f"{place}: {when}" for place, when in said if when and not read_moment(when, timeline).is_read]


def _of_places(
    places: Iterable[str], when: str | None, files: Mapping[str, Lines], as_of: AsOf
) -> Iterator[bool | None]:
    """Of each copy of a memory, whether it is known."""
    for place in places:
        name, number = split_place(place)
        line = files.get(name, {}).get(number)
        yield as_of.knows_text(when if line is None else when_of_line(line, as_of.timeline))


_LINES = re.compile(r"(?P<file>.+):(?P<first>[0-9]+)(?:–(?P<last>[0-9]+))?")


def _of_scene(source: str, scene: str, files: Mapping[str, Lines], as_of: AsOf) -> bool | None:
    """Whether all lines of a dialogue are known; None also where nobody knows any more which they were."""
    found = _LINES.fullmatch(source)
    if not found or found["file"] not in files:
        return None
    lines = files[found["file"]]
    numbers = range(int(found["first"]), int(found["last"] or found["first"]) + 1)
    there = (line for at in numbers if isinstance(line := lines.get(at), DialogueLine) and line.scene == scene)
    texts = {when_of_line(line, as_of.timeline) for line in there}
    return as_of.knows(read_moment(text, as_of.timeline) for text in texts if text)


class Span(NamedTuple):
    """A part of a document, and its moment; None: it has none, and is always known."""

    start: int
    end: int
    moment: Moment | None


class TimedTexts:
    """Documents and the moments of their parts."""

    def __init__(self, documents: Mapping[str, Document | None], timeline: tuple[str, ...]) -> None:
        self._texts = {name: one.text for name, one in documents.items() if one}
        self._spans = {name: spans_of(one, timeline) for name, one in documents.items() if one}
        self._starts = {name: [span.start for span in spans] for name, spans in self._spans.items()}

    def moments(self, name: str, start: int, end: int) -> list[Moment] | None:
        """The moments of a part of a document; None: nobody knows any more what the document said."""
        if name not in self._spans:
            return None
        first = max(bisect_right(self._starts[name], start) - 1, 0)
        last = bisect_right(self._starts[name], max(end - 1, start))
        return [span.moment for span in self._spans[name][first:last] if span.moment is not None]

    def known(self, as_of: AsOf) -> str:
        """All that is known of the documents."""
        return "\n".join(
            self._texts[name][span.start : span.end]
            for name, spans in self._spans.items()
            for span in spans
            if as_of.knows([span.moment] if span.moment else [])
        )

    def verdicts(self, as_of: AsOf) -> Callable[[str, int, int], bool | None]:
        """What says whether a part of a document is known, by its name, start and end."""

        def known(name: str, start: int, end: int) -> bool | None:
            moments = self.moments(name, start, end)
            return None if moments is None else as_of.knows(moments)

        return known


def spans_of(one: Document, timeline: tuple[str, ...]) -> list[Span]:
    """The parts of a document, each with its moment.

    It is what stands above the text, and in the headings over a part: the inner counts, and a scene is of the act that
    it stands in, also where both headings are of one level. In a text that is told by such places, what has a heading
    without one is of the place before it: an epilogue is of the last chapter.
    """
    whole = read_moment(one.when, timeline) if one.when else None
    cut = sections(plain(one.text))
    own = [moment_of_heading(section.headings[-1], timeline) if section.headings else Moment() for section in cut]
    told_by_places = sum(moment.place is not None for moment in own) >= TOLD_BY
    spans, above, place = list[Span](), list[tuple[int, Moment | None]](), whole.place if whole else None
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
    through = numbered_through([span.moment.place for span in spans if span.moment and span.moment.place])
    return [
        span._replace(moment=span.moment._replace(through=through)) if span.moment and span.moment.place else span
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


def not_yet(as_of: AsOf, left_out: Mapping[str, LeftOut], before: Mapping[str, Any]) -> dict[str, Any]:
    """What evidence says of what was kept from a role; nothing where nothing was.

    Args:
        as_of: the moment.
        left_out: by kind, how much.
        before: the evidence so far, whose counts of other kinds stay.
    """
    said = before.get("not_yet") or {}
    found = {
        reason: {
            **{kind: number for kind, number in said.get(reason, {}).items() if kind not in left_out},
            **{kind: number for kind, one in left_out.items() if (number := getattr(one, reason))},
        }
        for reason in LeftOut._fields
    }
    return {"not_yet": {"as_of": as_of.text, **found}} if any(found.values()) else {}
