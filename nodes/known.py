"""What a role knows at a time: a version of an index is cut to it when it is read, before anything is looked up in it.

A cut version is one like any other, without what is later: whatever is looked up, ranked or counted in it takes no
place from what is known. It is made once a moment, and kept with the version.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dramaturg.nodes.text.timed import TimedTexts
from dramaturg.stores.changes import KeptDocuments
from dramaturg.stores.documents.forms import DialogueLine, Document, Memory, RoleCard, document
from dramaturg.stores.documents.memories import Lines, form_of, read_memory_files, split_place
from dramaturg.stores.documents.reading import parse_lines
from dramaturg.stores.errors import RoleError
from dramaturg.stores.files import sha256
from dramaturg.stores.index.dialogues import DialogueStore, StoredDialogue
from dramaturg.stores.index.folder import IndexStore, LeftOut, left_out_of
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.memories import MemoryStore
from dramaturg.stores.index.passages import PassageStore
from dramaturg.stores.moments import Moment, read_moment, require_moment

if TYPE_CHECKING:
    from dramaturg.stores.index.folder import S
    from dramaturg.stores.index.opened import Index
    from dramaturg.stores.role import Role

CUTS = 8
"""The moments for which a version is kept as it is cut to them."""


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
    return keep_cut(store, (as_of, card.name, card.aliases), _cut(index, store, as_of, card))


def keep_cut(store: "S", key: Hashable, made: "S") -> "S":
    """Keep a version as it is cut, by what it is cut to; the one that is kept already, if another was faster."""
    with _lock:
        for old in list(store.cuts)[: 1 - CUTS]:
            del store.cuts[old]
        return store.cuts.setdefault(key, made)


def _cut(index: "Index[Any, S]", store: "S", as_of: AsOf, card: RoleCard) -> "S":
    sources, cut = MadeFrom(index, store), cast("Any", store)
    if isinstance(store, KnowledgeGraph):
        texts = TimedTexts(sources.documents(), as_of.timeline)
        known = texts.known(as_of.knows)
        return cast("S", store.cut_to(texts.verdicts(as_of.knows), known, (card.name, *card.aliases)))

    def parts() -> Callable[[str, int, int], bool | None]:
        return TimedTexts(sources.documents(), as_of.timeline).verdicts(as_of.knows)

    def lines(found: Sequence[Memory | DialogueLine], when: str) -> bool | None:
        times = {when_of_line(one, as_of.timeline) for one in found} or {when} - {""}
        return as_of.knows(read_moment(one, as_of.timeline) for one in times if one) if times else None

    kind, known_of = verdicts(store, sources, parts, lines)
    rows = [at for at, one in enumerate(known_of) if one]
    return cast("S", cut.cut(rows, {kind: left_out_of(known_of)}))


def verdicts(
    store: IndexStore,
    sources: "MadeFrom",
    parts: Callable[[], Callable[[str, int, int], bool | None]],
    lines: Callable[[Sequence[Memory | DialogueLine], str], bool | None],
) -> tuple[str, list[bool | None]]:
    """What a version has, passages, memories or dialogues, and of each in its order whether it is known.

    Args:
        store: the version.
        sources: what it was made from.
        parts: gives what says whether a part of a document is known, by its name, start and end.
        lines: says whether a copy of a memory, or of a dialogue, is known by its lines, none where they are lost, and
            the time that the version itself has for it.
    """
    if isinstance(store, PassageStore):
        known = parts()
        return "passages", [known(one.source, one.start, one.end) for one in store.passages]
    files = sources.lines()
    if isinstance(store, MemoryStore):
        copies = ([(line_at(place, files), one.when or "") for place in one.places] for one in store.memories)
        return "memories", [any_known(lines(*copy) for copy in of) for of in copies]
    if isinstance(store, DialogueStore):
        return "dialogues", [any_known(lines(copy, "") for copy in copies_of(one, files)) for one in store.dialogues]
    raise TypeError(f"Nothing says what of {type(store).__name__} is known.")


def any_known(found: Iterable[bool | None]) -> bool | None:
    """Whether one of several copies of a thing is known: then it is."""
    told = {*found}
    return True if True in told else False if False in told else None


def line_at(place: str, files: Mapping[str, Lines]) -> list[Memory | DialogueLine]:
    """The line at a place; none where it is lost."""
    name, number = split_place(place)
    line = files.get(name, {}).get(number)
    return [] if line is None else [line]


def copies_of(one: StoredDialogue, files: Mapping[str, Lines]) -> list[list[DialogueLine]]:
    """The lines of a dialogue where it says that it is from; none where they are lost.

    What only some know of a scene is a dialogue of its own. Where two say the same, either may be meant.
    """
    found = _LINES.fullmatch(one.source)
    lines = files.get(found["file"], {}) if found else {}
    of, said = dict[Any, list[DialogueLine]](), {line.text for line in one.lines}
    for at in range(int(found["first"]), int(found["last"] or found["first"]) + 1) if found else ():
        line = lines.get(at)
        if isinstance(line, DialogueLine) and line.scene == one.scene and " ".join(line.text.split()) in said:
            of.setdefault(line.known_to, []).append(line)
    return [copy for copy in of.values() if {" ".join(line.text.split()) for line in copy} == said]


class MadeFrom:
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

    def mention(self, word: str) -> bool:
        """Whether a word stands in one of them, as it was then or, where that is lost, as it is now."""
        for name, digest in self._made_from.items():
            data = self._read(name, digest)
            if data is None:
                with suppress(OSError, RoleError):
                    data = self._index.sources.read(name)
            if data is not None and word in data.decode(errors="replace").casefold():
                return True
        return False

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
    said = [(role.path_of(one), one.when) for one in role.documents()]
    for name, lines in read_memory_files(role.memory_files).items():
        said += [(f"{name}:{number}", when_of_line(line, timeline)) for number, line in lines.items()]
    return [f"{place}: {when}" for place, when in said if when and not read_moment(when, timeline).is_read]


_LINES = re.compile(r"(?P<file>.+):(?P<first>[0-9]+)(?:–(?P<last>[0-9]+))?")


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
