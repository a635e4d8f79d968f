"""Lorebooks: of a card, alone (V3), and as SillyTavern's World Info; one is written as the other.

An entry is kept as the JSON that it was; `Entry` is how it is read, leniently. Keys that are regular expressions are
not run: they name nothing.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict

from dramaturg.stores.formats.bounds import Refused

ENTRIES = 5_000
Form = Literal["book", "world"]
_DECORATOR = re.compile(r"\A(?:@@@?[^\n]*(?:\n|\Z))+")
_REGEX_KEY = re.compile(r"/.+/[a-z]*", re.DOTALL)
_REGEX_SIGN = re.compile(r"[\\^$*+?()\[\]{}|]")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _texts(value: Any) -> list[str]:
    """A list of texts; one text is a list with commas, as clients show it."""
    values = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [text.strip() for one in values if not isinstance(one, list | dict) and (text := _text(one)).strip()]


def _flag(value: Any) -> bool:
    return value.strip().lower() in ("true", "1", "yes") if isinstance(value, str) else bool(value)


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[tuple[str, ...], BeforeValidator(lambda value: tuple(_texts(value)))]
Flag = Annotated[bool, BeforeValidator(_flag)]


def _mapped(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


Mapped = Annotated[dict[str, Any], BeforeValidator(_mapped)]


class Entry(BaseModel):
    """An entry as it is read, whichever form it was written in."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    keys: Texts = ()
    secondary_keys: Texts = ()
    content: Text = ""
    comment: Text = ""
    name: Text = ""
    enabled: Flag = True
    constant: Flag = False
    use_regex: Flag = False

    @property
    def said(self) -> str:
        """What it says, without decorators."""
        return _DECORATOR.sub("", self.content.replace("\r\n", "\n").replace("\r", "\n")).strip()

    @property
    def decorators(self) -> str:
        """The lines above what it says."""
        found = _DECORATOR.match(self.content.replace("\r\n", "\n").replace("\r", "\n"))
        return found[0] if found else ""

    @property
    def names(self) -> list[str]:
        """The keys that are names, each once: what is written as a regular expression is none."""
        plain = [one for one in self.keys if not _REGEX_KEY.fullmatch(one)]
        if self.use_regex:
            plain = [one for one in plain if not _REGEX_SIGN.search(one)]
        return list(dict.fromkeys(" ".join(one.split())[:200] for one in plain))

    @property
    def title(self) -> str:
        """What people call it; empty: it has no name."""
        title = next((one for one in (self.name, self.comment, *self.names) if one.strip()), "")
        return " ".join(title.split())[:120].lstrip("#").strip()


class Book(NamedTuple):
    """A lorebook: its entries as they were written, in what form, and what is said of it as a whole."""

    form: Form
    about: Mapping[str, Any]
    entries: tuple[Mapping[str, Any], ...]

    def read(self) -> list[Entry]:
        """Return the entries as they are read."""
        return [Entry.model_validate(as_book_entry(one) if self.form == "world" else one) for one in self.entries]

    def in_form(self, form: Form) -> "Book":
        """The same book in another form."""
        if form == self.form:
            return self
        if form == "book":
            about = {name: self.about[name] for name in ("name", "extensions") if name in self.about}
            return Book("book", about, tuple(map(as_book_entry, self.entries)))
        entries = (as_world_entry(one, at) for at, one in enumerate(self.entries))
        return Book("world", {name: self.about[name] for name in ("name",) if name in self.about}, tuple(entries))


def read_book(value: Any) -> Book:
    """Read a lorebook: of a card, a stand-alone one, or World Info.

    Raises:
        Refused: it is none, or has too many entries.
    """
    value = value.get("data") if isinstance(value, dict) and value.get("spec") == "lorebook_v3" else value
    entries = value.get("entries") if isinstance(value, dict) else None
    if not isinstance(entries, list | dict):
        raise Refused("is no lorebook: it has no entries")
    if len(entries) > ENTRIES:
        raise Refused(f"has {len(entries):,} entries, and {ENTRIES:,} are the most: split the book")
    form: Form = "world" if isinstance(entries, dict) else "book"
    listed = list(entries.values()) if isinstance(entries, dict) else entries
    if not all(isinstance(one, dict) for one in listed):
        raise Refused("has an entry that is no object: open and save it in its client again")
    if isinstance(entries, dict):
        listed = [one if str(one.get("uid", "")) == uid else {"uid": uid, **one} for uid, one in entries.items()]
    return Book(form, {name: one for name, one in value.items() if name != "entries"}, tuple(listed))


def written_alone(book: Book) -> dict[str, Any]:
    """A V3 lorebook as a file of its own."""
    book = book.in_form("book")
    return {"spec": "lorebook_v3", "data": whole_book(book)}


KINDS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("keys", "secondary_keys"), list),
    **dict.fromkeys(("content", "comment", "name"), str),
    **dict.fromkeys(("enabled", "constant", "use_regex", "selective", "case_sensitive"), bool),
    **dict.fromkeys(("insertion_order", "priority"), (int, float)),
    "extensions": dict,
    "id": (int, float, str),
    "position": str,
}
"""Of what kind a field of an entry is in a card's book."""
NEEDED: Mapping[str, Any] = {"insertion_order": 100, "extensions": {}}
"""What every reader asks for, beside `READ`."""
READ = ("keys", "content", "enabled", "use_regex")


def whole_book(book: Book) -> dict[str, Any]:
    """A lorebook of a card, with what every reader asks for, each of its kind."""
    entries = []
    for raw, read in zip(book.entries, book.read(), strict=True):
        said = {name: list(one) if isinstance(one, tuple) else one for name, one in read}
        fitting = {name: one for name, one in raw.items() if isinstance(one, KINDS.get(name, object))}
        others = {name: said[name] for name in raw if name in said and name not in fitting}
        entries.append({**NEEDED, **{name: said[name] for name in READ}, **fitting, **others})
    return {"extensions": {}, **book.about, "entries": entries}


def written_as_world(books: Iterable[Book]) -> dict[str, Any]:
    """World Info of one or more books, as SillyTavern writes it: an entry by its number."""
    written: dict[str, Any] = {"entries": {}}
    for book in books:
        world = book.in_form("world")
        written |= {name: one for name, one in world.about.items() if name != "entries"}
        entries = written["entries"]
        for entry in world.entries:
            uid = str(entry.get("uid", len(entries)))
            if uid in entries:
                free = next(at for at in range(len(entries), -1, -1) if str(at) not in entries)
                entries[str(free)] = {**entry, "uid": free}
            else:
                entries[uid] = entry
    return written


WORLD: Mapping[str, tuple[str, Any]] = {
    "vectorized": ("vectorized", False),
    "selectiveLogic": ("selectiveLogic", 0),
    "ignoreBudget": ("ignore_budget", False),
    "excludeRecursion": ("exclude_recursion", False),
    "preventRecursion": ("prevent_recursion", False),
    "matchPersonaDescription": ("match_persona_description", False),
    "matchCharacterDescription": ("match_character_description", False),
    "matchCharacterPersonality": ("match_character_personality", False),
    "matchCharacterDepthPrompt": ("match_character_depth_prompt", False),
    "matchScenario": ("match_scenario", False),
    "matchCreatorNotes": ("match_creator_notes", False),
    "delayUntilRecursion": ("delay_until_recursion", False),
    "probability": ("probability", 100),
    "useProbability": ("useProbability", True),
    "depth": ("depth", 4),
    "outletName": ("outlet_name", ""),
    "group": ("group", ""),
    "groupOverride": ("group_override", False),
    "groupWeight": ("group_weight", 100),
    "scanDepth": ("scan_depth", None),
    "caseSensitive": ("case_sensitive", None),
    "matchWholeWords": ("match_whole_words", None),
    "useGroupScoring": ("use_group_scoring", None),
    "automationId": ("automation_id", ""),
    "role": ("role", 0),
    "sticky": ("sticky", None),
    "cooldown": ("cooldown", None),
    "delay": ("delay", None),
    "triggers": ("triggers", []),
    "displayIndex": ("display_index", None),
}
"""Where SillyTavern keeps a field of World Info in a card's entry, and what it is where nobody says."""


BOOK = (
    "id",
    "keys",
    "secondary_keys",
    "comment",
    "content",
    "constant",
    "selective",
    "insertion_order",
    "enabled",
    "position",
    "extensions",
)
"""The fields of a card's entry that World Info has, too."""
OWN = "dramaturg"
"""Our name in the extensions of an entry."""


def as_world_entry(entry: Mapping[str, Any], uid: int) -> dict[str, Any]:
    """An entry of a card's book as World Info."""
    read = Entry.model_validate(entry)
    extensions = _mapped(entry.get("extensions"))
    position = extensions.get("position", 0 if entry.get("position") != "after_char" else 1)
    fields = {name: extensions.get(kept, default) for name, (kept, default) in WORLD.items()}
    if fields["displayIndex"] is None:
        fields["displayIndex"] = uid
    if fields["caseSensitive"] is None and isinstance(entry.get("case_sensitive"), bool):
        fields["caseSensitive"] = entry["case_sensitive"]
    own = {kept for kept, _ in WORLD.values()} | {"position", OWN}
    return {
        "uid": uid,
        "key": list(read.keys),
        "keysecondary": list(read.secondary_keys),
        "comment": read.comment or read.name,
        "content": read.content,
        "constant": read.constant,
        "selective": _flag(entry.get("selective", False)),
        "addMemo": bool(read.comment or read.name),
        "order": entry.get("insertion_order", 100),
        "position": position,
        "disable": not read.enabled,
        **fields,
        "extensions": {
            **{name: one for name, one in extensions.items() if name not in own},
            **_left(entry, BOOK, "book"),
        },
        **_mapped(_ours(extensions).get("world")),
    }


def as_book_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of World Info as one of a card's book; what has no place there is kept in its extensions."""
    named = {
        "uid",
        "key",
        "keysecondary",
        "comment",
        "content",
        "constant",
        "selective",
        "addMemo",
        "order",
        "position",
    }
    named |= {"disable", "extensions", *WORLD}
    kept = {short: entry[name] for name, (short, _) in WORLD.items() if name in entry}
    position = entry.get("position", 0)
    extensions = _mapped(entry.get("extensions"))
    others = {name: one for name, one in extensions.items() if name != OWN}
    return {
        "id": entry.get("uid", 0),
        "keys": _texts(entry.get("key")),
        "secondary_keys": _texts(entry.get("keysecondary")),
        "comment": _text(entry.get("comment")),
        "content": _text(entry.get("content")),
        "constant": _flag(entry.get("constant", False)),
        "selective": _flag(entry.get("selective", False)),
        "insertion_order": entry.get("order", 100),
        "enabled": not _flag(entry.get("disable", False)),
        "position": "after_char" if position == 1 else "before_char",
        "use_regex": any(map(_REGEX_KEY.fullmatch, _texts(entry.get("key")))),
        "extensions": {**others, **kept, "position": position, **_left(entry, named, "world")},
        **_mapped(_ours(extensions).get("book")),
    }


def _left(entry: Mapping[str, Any], known: Collection[str], form: Form) -> dict[str, Any]:
    """What of an entry the other form has no field for, to stand in its extensions."""
    left = {name: one for name, one in entry.items() if name not in known}
    return {OWN: {form: left}} if left else {}


def _ours(extensions: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands there of the form that an entry had before."""
    return _mapped(extensions.get(OWN))
