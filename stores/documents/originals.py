"""Files in persona/ that are no Markdown: which of them can be read, and what has been."""

import base64
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from dramaturg.stores.changes import TAKEN
from dramaturg.stores.documents.sources import finish_begun_change
from dramaturg.stores.errors import RoleError, RoleFileError
from dramaturg.stores.files import read_bytes, read_if_there, sha256

PACKED = (".pdf", ".docx", ".epub", ".html", ".htm", ".xhtml")
"""What the extra `documents` reads."""
TEXTS = (".markdown", ".txt", ".text")
"""What is Markdown already, under another name."""
WAIT = 600
"""Seconds after which a reader that neither ends nor works is ended."""


class Original(NamedTuple):
    """What lies in persona/ and is no document; a folder's name ends with a slash."""

    name: str
    readable: bool


class Taken(BaseModel):
    """What a document was made of: the hash of the original, and that of the text as it was read."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    original: str
    document: str
    text: str


def originals(role: Path) -> list[Original]:
    """Return what lies in persona/ and is no document, sorted; hidden files are left out."""
    folder = role / "persona"
    entries = sorted(folder.iterdir(), key=lambda one: one.name) if folder.is_dir() else []
    return [
        Original(f"{one.name}/" if one.is_dir() else one.name, one.is_file() and kind in (*PACKED, *TEXTS))
        for one in entries
        if ((kind := one.suffix.lower()) != ".md" or one.is_dir()) and not one.name.startswith(".")
    ]


def unread(role: Path) -> list[Original]:
    """Return the originals that were not read as they are now."""
    finish_begun_change(role)
    read = {name for name, one in taken(role).items() if one.original == _hash(role, name)}
    return [one for one in originals(role) if one.name not in read]


def unread_sentence(role: Path) -> str:
    """Say what in persona/ is not read, and what to do; empty if there is nothing."""
    found = unread(role)
    read, others = (", ".join(one.name for one in found if one.readable is kind) for kind in (True, False))
    sentences = [f"Not read yet in persona/: {read}. `dramaturg index {role.name}` reads it."] if read else []
    if any(Path(one.name).suffix.lower() in PACKED for one in found) and not has_readers():
        sentences.append("What reads PDF, Word, EPUB and HTML comes by `pip install 'dramaturg[documents]'`.")
    sentences += [f"Not read in persona/: {others}. Save the text as .md in persona/ itself."] if others else []
    return " ".join(sentences)


def uncast(role: Path) -> list[str]:
    """Return the names of files in dialogues/ that no method reads, sorted; hidden ones are left out."""
    folder = role / "dialogues"
    names = (one.name for one in folder.iterdir()) if folder.is_dir() else ()
    return sorted(name for name in names if not name.lower().endswith(".jsonl") and not name.startswith("."))


def uncast_sentence(role: Path) -> str:
    """Say what in dialogues/ is not read, and what to do; empty if there is nothing."""
    if not (names := uncast(role)):
        return ""
    how = f"`dramaturg cast {shlex.quote(names[0])} --who NAME --role {role.name}`"
    return f"Not read in dialogues/: {', '.join(names)}. Chats and scripts are read by {how}."


def has_readers() -> bool:
    """Whether the extra `documents` is installed."""
    return all(find_spec(name) for name in ("pypdf", "mammoth", "markdownify", "bs4"))


def _hash(role: Path, name: str) -> str | None:
    try:
        return sha256(read_bytes(role / "persona" / name, role))
    except RoleError:
        return None


def taken(role: Path) -> dict[str, Taken]:
    """Return what documents were made of, by the names of the originals; nothing where that is not known."""
    return taken_in(read_if_there(role / TAKEN, within=role))


def taken_in(data: bytes | None) -> dict[str, Taken]:
    """Return what the file says that holds what documents were made of; nothing where it cannot be read."""
    try:
        return {name: Taken.model_validate(one) for name, one in json.loads(data or b"{}").items()}
    except (ValueError, AttributeError, ValidationError):
        return {}


def taken_bytes(known: Mapping[str, Taken]) -> bytes:
    """Return the file that holds what documents were made of."""
    return json.dumps({name: one.model_dump() for name, one in known.items()}, indent=1).encode()


def as_markdown(data: bytes, name: str) -> tuple[bytes, list[str]]:
    """Return a file of a kind in PACKED as Markdown, and sentences about what in it was not read.

    Raises:
        RoleFileError: it cannot be read, or its reader is not installed.
    """
    text, missing, _ = read_packed(data, name)
    return text, missing


def read_packed(data: bytes, name: str) -> tuple[bytes, list[str], bytes]:
    """Return a file of a kind in PACKED as `as_markdown` does, and the cover of a book as PNG; empty: there is none.

    Raises:
        RoleFileError: it cannot be read, or its reader is not installed.
    """
    command = [sys.executable, "-P", "-m", "dramaturg.stores.documents.readers", Path(name).suffix.lower()]
    try:
        ended = subprocess.run(command, input=data, capture_output=True, timeout=WAIT, check=False)  # noqa: S603
        said = json.loads(ended.stdout) if ended.returncode == 0 else {}
    except (subprocess.TimeoutExpired, ValueError):
        said = {}
    if "text" not in said:
        raise RoleFileError(f"{name} {said.get('error', 'takes more time or memory than it may: split it')}.")
    missing = [f"{name}: {one}." for one in said["missing"]]
    return said["text"].encode(errors="replace"), missing, base64.b64decode(said["picture"])
