"""What a file of another program is, told by what is in it and not by its name."""

import re
from pathlib import Path
from typing import NamedTuple

from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.formats.archives import is_zip, unzipped
from dramaturg.stores.formats.bounds import Refused, parse_json, read_foreign, text_of
from dramaturg.stores.formats.bundles import Bundle, bundle_in
from dramaturg.stores.formats.cards import Card, card_in, card_of_charx, card_of_png
from dramaturg.stores.formats.chats import Chat, is_header, read_chat
from dramaturg.stores.formats.lorebooks import Book, read_book
from dramaturg.stores.formats.personas import (
    People,
    Persona,
    companion_in,
    is_packed,
    packed_in,
    people_in,
    persona_in,
)
from dramaturg.stores.formats.png import SIGNATURE


class Conversation(NamedTuple):
    """A conversation as `dramaturg export` writes it."""

    text: str


Told = Card | Persona | People | Book | Chat | Bundle | Conversation
KINDS = "a card (PNG, JSON, CHARX), a list of characters, a lorebook, a chat of SillyTavern, a conversation or a bundle"
CAST = (
    "From a chat export, a book or a script a role is cast by `dramaturg cast FILE`, and text is taught by `dramaturg "
    "learn ROLE FILE`"
)


def read_file(path: Path) -> Told:
    """Read a file, or a folder of Chat-Haruhi, whatever it is.

    Raises:
        RoleFileError: it is none that is known, or cannot be used; the message says which file and what to do.
    """
    try:
        return persona_in(path) if path.is_dir() else told(read_foreign(path))
    except Refused as error:
        raise RoleFileError(f"{path.name} {error}.") from error


def read_sent(name: str, data: bytes) -> Told:
    """Read the bytes of a file that was sent, whatever it is.

    Raises:
        RoleFileError: see `read_file`.
    """
    try:
        return told(data)
    except Refused as error:
        raise RoleFileError(f"{name} {error}.") from error


def told(data: bytes) -> Told:
    """Read what the bytes of a file are.

    Raises:
        Refused: see `read_file`.
    """
    if data.startswith(SIGNATURE):
        return card_of_png(data)
    if is_zip(data):
        files = unzipped(data)
        return card_of_charx(files) if "card.json" in files else bundle_in(files)
    return _told_text(data)


def _told_text(data: bytes) -> Told:
    """The same of what is no picture and no zip file."""
    if b"\0" in data[:4096]:
        raise Refused(f"is none of what can be imported: {KINDS}")
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith((b"{", b"[")):
        if (card := companion_in(data)) is not None:
            return card
        raise Refused(f"is none of what can be imported: {KINDS}. {CAST}")
    if re.match(rb"\[[^\]\n\"{]{6,40}\] ", start):  # the time of a message, as phones export it
        raise Refused(f"is none of what can be imported: {KINDS}. {CAST}")
    return _told_lines(data, _first_line(start)) or _told_json(parse_json(data))


def _told_lines(data: bytes, first: object) -> Told | None:
    """The same of lines of JSON; None: it is one value."""
    if isinstance(first, dict) and first.get("format") == "dramaturg-conversation":
        return Conversation(text_of(data))
    if is_header(first):
        return read_chat(data)
    if is_packed(first):
        return packed_in(data)
    if first is not None and b"\n" in data.strip():
        raise Refused(f"is lines of JSON, and none of what can be imported: {KINDS}")
    return None


def _told_json(value: object) -> Told:
    """The same of a JSON value."""
    if (one := card_in(value) or people_in(value)) is not None:
        return one
    if isinstance(value, dict) and "members" in value and "chats" in value:
        raise Refused("is the definition of a group: import the cards of its members, and its chat for each")
    if isinstance(value, dict) and ("entries" in value or value.get("spec") == "lorebook_v3"):
        return read_book(value)
    raise Refused(f"is JSON, and none of what can be imported: {KINDS}. {CAST}")


def _first_line(data: bytes) -> object:
    """The value of the first line; None: a value goes on after it."""
    try:
        return parse_json(data.partition(b"\n")[0])
    except Refused:
        return None
