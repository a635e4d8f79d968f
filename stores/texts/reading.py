"""Files as people have them, read: what a file is shows in its content, and its name where that does not tell."""

import zipfile
from collections.abc import Container
from io import BytesIO
from pathlib import Path
from string import capwords

from dramaturg.stores.documents.originals import PACKED, read_packed
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.formats.bounds import LARGEST_FILE, Refused, read_foreign
from dramaturg.stores.texts.decoding import decoded
from dramaturg.stores.texts.diary import looks_like_diary, read_diary
from dramaturg.stores.texts.form import SourceText, Unreadable, chat_text
from dramaturg.stores.texts.messengers.table import MESSENGERS, messenger_of
from dramaturg.stores.texts.scripts import looks_like_script, read_script

PAGES = (".html", ".htm")
"""Names of pages, of which some are chats."""
PACKED_CHAT = 10_000
"""Files in an archive of a chat; all but the chat are pictures and the like."""


def read_source(path: Path) -> SourceText:
    """Read a file: a chat export, a script, a diary, or prose in Markdown, plain text, PDF, Word, EPUB or HTML.

    Raises:
        RoleFileError: it cannot be read; the message names it, and says what to do.
    """
    try:
        data = read_foreign(path)
    except Refused as error:
        raise RoleFileError(f"{path.name} {error}.") from error
    return read_sent(path.name, data)


def read_sent(name: str, data: bytes) -> SourceText:
    """Read a file by its name and its bytes; see `read_source`."""
    missing, picture = list[str](), b""
    try:
        if data.startswith(b"PK\x03\x04") and (chat := _chat_in(data)) is not None:
            return read_sent(*chat)._replace(name=name)
        suffix = Path(name).suffix.lower()
        if suffix in PACKED and not (suffix in PAGES and messenger_of(decoded(data)[0])):
            markdown, missing, picture = read_packed(data, name)
            text = markdown.decode()
        else:
            text, encoding = decoded(data)
            missing += [f"letters that are damaged: read as {encoding}"] if "damaged" in encoding else []
        if not text.strip():
            raise Unreadable("holds no text: choose a file with some")
        found = _by_form(name, text)
    except Unreadable as error:
        raise RoleFileError(f"{name} {error}.") from error
    return found._replace(missing=(*missing, *found.missing), picture=picture)


def _by_form(name: str, text: str) -> SourceText:
    if messenger := messenger_of(text):
        return chat_text(name, MESSENGERS[messenger].read(text))
    if looks_like_script(name, text):
        return _in_small_letters(read_script(name, text))
    if looks_like_diary(name, text):
        return read_diary(name, text)
    return SourceText(name, "prose", text if text.endswith("\n") else f"{text}\n")


def _chat_in(data: bytes) -> tuple[str, bytes] | None:
    """The one chat in an archive, as phones export it together with its pictures; None: it is another archive."""
    try:
        archive = zipfile.ZipFile(BytesIO(data))
        entries = archive.infolist()
    except zipfile.BadZipFile as error:
        raise Unreadable("is a damaged archive: export or pack it again") from error
    texts = [one for one in entries if one.filename.lower().endswith((".txt", ".json")) and "/" not in one.filename]
    if any(one.filename in ("mimetype", "[Content_Types].xml") for one in entries) or not texts:
        return None
    if len(texts) > 1 or len(entries) > PACKED_CHAT:
        raise Unreadable("is an archive of several texts: unpack it, and name those that are meant")
    (chat,) = texts
    if chat.file_size > LARGEST_FILE:
        raise Unreadable(f"holds a text of more than {LARGEST_FILE:,} bytes: split it")
    if chat.flag_bits & 1:
        raise Unreadable("is protected by a password: unpack it")
    return chat.filename, archive.read(chat)


def _in_small_letters(script: SourceText) -> SourceText:
    """A script whose speakers all stand in capitals, as its form wants it, with names as they are written elsewhere."""
    names = {line.speaker for scene in script.scenes for line in scene.lines}
    if not all(name.isupper() for name in names):
        return script
    scenes = [
        scene._replace(
            lines=tuple(
                line._replace(speaker=capwords(line.speaker), to=_written(line.to, names)) for line in scene.lines
            )
        )
        for scene in script.scenes
    ]
    return script._replace(scenes=tuple(scenes))


def _written(name: str, names: Container[str]) -> str:
    return capwords(name) if name.upper() in names else name
