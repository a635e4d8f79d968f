"""What becomes of a lorebook in a role, and lorebooks made of a role's documents or of its knowledge graph."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dramaturg.stores.documents.forms import CARD, RoleCard, card_text, parse_card, with_card
from dramaturg.stores.files import read_bytes
from dramaturg.stores.formats.lorebooks import Book, Entry, Form, as_book_entry
from dramaturg.stores.formats.markdown import as_written, entry_in, entry_text, file_name, title_of
from dramaturg.stores.macros import STRANGER, Names
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role

if TYPE_CHECKING:
    from dramaturg.stores.index.graph import KnowledgeGraph

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_WITHOUT_SPACES = re.compile(r"[\u2e80-\u9fff\uac00-\ud7a3]")
LONGEST_ENTRY = 6_000
"""Characters of an entry that is made of a section; what follows is an entry of its own."""


LONGEST_PROFILE = 4_000
"""Characters of a profile; what is always active and does not fit becomes documents."""


class KeptEntry(NamedTuple):
    """An entry, and where it is in a role."""

    place: str
    """The name of its document; "profile"; "aside": it is kept, and said nowhere."""
    entry: Mapping[str, Any]
    """As it was written; without its content where that can be read from its document."""


class KeptBook(NamedTuple):
    """A book as `role.yaml` keeps it."""

    form: Form
    about: Mapping[str, Any]
    entries: tuple[KeptEntry, ...]

    def counted(self) -> list[tuple[str, str, int]]:
        """What became of the entries, and of how many."""
        places = [one.place for one in self.entries]
        profile, aside = places.count("profile"), places.count("aside")
        return [
            ("entries of the book", "persona/lore-*.md", len(places) - profile - aside),
            ("entries always active", "role.yaml: profile", profile),
            ("entries off or empty", "role.yaml: card", aside),
        ]


def placed(
    book: Book, names: Names, language: str, room: int, taken: tuple[str, ...] = ()
) -> tuple[KeptBook, dict[str, bytes], str]:
    """Find a place in a role for each entry of a book.

    Args:
        book: the lorebook.
        names: of the role, and of whom it speaks with.
        language: of the role.
        room: characters that its profile has left for what is always active.
        taken: names of documents that are there.

    Returns:
        The book as it is kept, the files of its documents, and what is to be added to the profile.
    """
    kept, files, always = list[KeptEntry](), dict[str, bytes](), list[str]()
    documents = {name.casefold(): 0 for name in taken}
    for number, (raw, entry) in enumerate(zip(book.entries, book.read(), strict=True), start=1):
        text = as_written(entry.said, names, 1)
        if not entry.enabled or not text:
            kept.append(KeptEntry("aside", raw))
        elif entry.constant and len(text) <= room:
            always.append(text)
            room -= len(text) + 2
            kept.append(KeptEntry("profile", raw))
        else:
            title = title_of(as_written(entry.title, names, 0)) or f"{number}"
            name = file_name(title, documents)
            document = entry_text(entry, title, names, language)
            files[f"persona/{name}"] = document.encode()
            same = entry_in(document) == raw.get("content")
            kept.append(
                KeptEntry(name, {field: one for field, one in raw.items() if field != "content"} if same else raw)
            )
    return KeptBook(book.form, book.about, tuple(kept)), files, "\n\n".join(always)


def records_of(book: KeptBook) -> dict[str, Any]:
    """A book as it stands in `role.yaml`."""
    entries = [{"place": one.place, "entry": dict(one.entry)} for one in book.entries]
    return {"form": book.form, "about": dict(book.about), "entries": entries}


def kept_books(card: RoleCard) -> list[KeptBook]:
    """The books that `role.yaml` keeps; what in it was edited so that it is none is left out."""
    records: Any = card.card.get("books")
    return [
        KeptBook(
            "world" if one.get("form") == "world" else "book",
            one["about"] if isinstance(one.get("about"), dict) else {},
            tuple(
                KeptEntry(str(entry.get("place", "aside")), entry["entry"])
                for entry in one["entries"]
                if isinstance(entry, dict) and isinstance(entry.get("entry"), dict)
            ),
        )
        for one in (records if isinstance(records, list) else [])
        if isinstance(one, dict) and isinstance(one.get("entries"), list)
    ]


def books_of(role: Role) -> list[Book]:
    """The lorebooks of a role: those that it was given, as their documents are now, and one of its other documents."""
    card = role.card
    names = Names(card.called, STRANGER[card.language])
    texts = {one.name: one.text for one in role.told_whole()}
    books, used = list[Book](), {"character.md"}
    for kept in kept_books(card):
        entries = []
        for place, entry in kept.entries:
            used.add(place)
            if place in ("profile", "aside"):
                entries.append(entry)
            elif place in texts:
                entries.append(_as_now(entry, texts[place], kept.form, names, card.language))
        books.append(Book(kept.form, kept.about, tuple(entries)))
    others = {name: text for name, text in texts.items() if name not in used}
    if others:
        books.append(documents_of(others, card))
    return books


def _as_now(entry: Mapping[str, Any], document: str, form: Form, names: Names, language: str) -> dict[str, Any]:
    """An entry with what its document says: as it was written where that is the same."""
    now = entry_in(document)
    if "content" not in entry:
        return {**entry, "content": now}
    read = Entry.model_validate(as_book_entry(entry) if form == "world" else entry)
    title = title_of(as_written(read.title, names, 0)) or "1"
    if entry_in(entry_text(read, title, names, language)) == now:
        return dict(entry)
    return {**entry, "content": read.decorators + now}


def with_book(role: Role, book: Book) -> tuple[dict[str, bytes | None], dict[str, bytes | None], KeptBook]:
    """What changes in a role that is given a lorebook: documents of `persona/`, and files beside them.

    Entries that are always active come to its profile where `role.yaml` is as the command writes it; in one that
    somebody has written, only `card` is changed, and they become documents.
    """
    card = role.card
    names = Names(card.called, STRANGER[card.language])
    text = read_bytes(role.root / CARD, role.root).decode("utf-8-sig")
    plain = with_card(text, {}) == card_text(card.model_copy(update={"card": {}}))
    taken = tuple(role.persona.names())
    room = max(0, LONGEST_PROFILE - len(card.profile)) if plain else 0
    kept, files, always = placed(book, names, card.language, room=room, taken=taken)
    records = card.card.get("books")
    more = {**card.card, "books": [*(records if isinstance(records, list) else []), records_of(kept)]}
    if plain:
        profile = "\n\n".join(filter(None, [card.profile, always]))
        changed = card_text(card.model_copy(update={"profile": profile, "card": more})).encode()
    else:
        changed = with_card(text, more).encode()
        parse_card(changed, role.root)  # what people wrote around it may be what we do not foresee
    documents: dict[str, bytes | None] = {name.removeprefix("persona/"): data for name, data in files.items()}
    return documents, {CARD: changed}, kept


def documents_of(texts: Mapping[str, str], card: RoleCard) -> Book:
    """A lorebook of documents: an entry a section, with its heading as its key and its place as comment."""
    entries: list[Mapping[str, Any]] = []
    own = {*map(normal_name, (card.name, card.called, *card.aliases))}
    for name, text in texts.items():
        for heading, body in _sections(text, name.rpartition(".")[0]):
            keys = [] if normal_name(heading) in own else [heading]
            for part in _parts(body):
                entries.append(_entry(len(entries), heading, keys, part, f"{name}: {heading}"))
    return Book("book", {"name": card.name, "extensions": {}}, tuple(entries))


def book_of_graph(card: RoleCard, graph: "KnowledgeGraph") -> Book:
    """A lorebook of a knowledge graph: an entry an entity, with all its names as keys and its sources as comment."""
    entries: list[Mapping[str, Any]] = []
    for entity in graph.entities():
        near = [data["relation"] for _, _, data in graph.graph.edges(entity.name, data=True)]
        said = [entity.description, *(one.description for one in near)]
        sources = {one.source for found in (entity, *near) for one in found.statements}
        if text := "\n".join(dict.fromkeys(filter(None, map(str.strip, said)))):
            comment = f"{entity.name} ({', '.join(sorted(sources))})" if sources else entity.name
            entries.append(_entry(len(entries), entity.name, entity.names, text[:LONGEST_ENTRY], comment))
    return Book("book", {"name": card.name, "extensions": {}}, tuple(entries))


def _entry(number: int, name: str, keys: Sequence[str], content: str, comment: str) -> dict[str, Any]:
    """An entry of a card's book; a name that is written without spaces around it is found within words, too."""
    within = any(map(_WITHOUT_SPACES.search, keys))
    return {
        "id": number,
        "name": name,
        "keys": list(keys),
        "secondary_keys": [],
        "content": content,
        "comment": comment,
        "constant": False,
        "selective": False,
        "insertion_order": 100,
        "enabled": bool(keys),
        "position": "before_char",
        "use_regex": False,
        "extensions": {"match_whole_words": False} if within else {},
    }


def _sections(text: str, title: str) -> Iterator[tuple[str, str]]:
    """The sections of a document that say something, with their headings."""
    lines, fenced = list[str](), False
    for line in [*text.split("\n"), "# "]:
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading or line == "# ":
            if body := "\n".join(lines).strip():
                yield title, body
            lines, title = [], title_of(heading[2]) if heading else title
        else:
            lines.append(line)


def _parts(text: str) -> Iterator[str]:
    """A text in parts of whole paragraphs, none much longer than an entry should be."""
    part = ""
    for paragraph in text.split("\n\n"):
        if part and len(part) + len(paragraph) > LONGEST_ENTRY:
            yield part
            part = ""
        part = f"{part}\n\n{paragraph}".strip()
    yield part
