"""What a role learns and forgets: documents that come into its persona, and go.

What is learned from a PDF, Word, EPUB or HTML file becomes Markdown beside it: the text is there to be read and mended,
offsets of passages are those of a file that can be opened, and neither a served graph nor an index depends on a reader.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from dramaturg.stores.changes import TAKEN as TAKEN_FILE
from dramaturg.stores.documents.originals import PACKED, Taken, as_markdown, taken, taken_bytes, unread
from dramaturg.stores.documents.reading import read_text
from dramaturg.stores.documents.sources import refuse_story
from dramaturg.stores.errors import RoleError, RoleFileError, did_you_mean
from dramaturg.stores.files import LARGEST, read_bytes, sha256
from dramaturg.stores.role import Role

__all__ = ["Change", "document_from", "forget", "learn"]

TEXTS = (".md", ".markdown", ".txt", ".text", "")
_NAME = re.compile(r'[^\x00-\x1f\x7f<>:"/\\|?*]+')
_RESERVED = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE
)  # device names on Windows


class Change(NamedTuple):
    """What becomes of a document; lengths in characters, and how many lines come and go."""

    document: str
    change: Literal["new", "replaced", "unchanged", "removed"]
    before: int
    after: int
    added: int
    removed: int


class Incoming(NamedTuple):
    """A document to be learned."""

    name: str
    data: bytes
    missing: tuple[str, ...]
    """Sentences about what in its file could not be read."""
    original: str
    """The SHA-256 of its file."""


def document_from(path: Path, name: str | None = None) -> tuple[str, bytes]:
    """Read a file from anywhere; return the name it will have in `persona/`, and its bytes as Markdown.

    Raises:
        RoleFileError: it is not there, a folder, larger than 100 MB, of a kind that is not read, or without text.
        RoleError: the name may not be used.
    """
    found = incoming(path, name)
    return found.name, found.data


def incoming(path: Path, name: str | None = None) -> Incoming:
    """Read a file as `document_from` does, and say what in it could not be read."""
    try:
        folder, size = path.is_dir(), path.stat().st_size
        data = b"" if folder or size > LARGEST else path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: no system has a file of such a name
        why = error.strerror if isinstance(error, OSError) else "this is no name of a file"
        raise RoleFileError(f"{str(path)[:200]!r} cannot be read ({why}): give the path of a file.") from error
    if folder:
        raise RoleFileError(f"{path} is a folder: name the files in it.")
    if name is None:
        _require_kind(path)
    if size > LARGEST:
        raise RoleFileError(f"{path.name} has more than {LARGEST:,} bytes: split it into several files.")
    return _incoming(path, data, name)


def incoming_sent(name: str, data: bytes) -> Incoming:
    """The same of a file that was sent: its name, which is that of no folder, and its bytes.

    Raises:
        RoleError: the name may not be used.
        RoleFileError: it is of a kind that is not read, or without text.
    """
    path = Path(name)
    if path.name != name or "\\" in name:
        raise RoleError(f"{name[:80]!r} can't be the name of a document: send a file's name without its folders.")
    document_name(path.stem)
    _require_kind(path)
    return _incoming(path, data)


def _require_kind(path: Path) -> None:
    if path.suffix.lower() not in (*TEXTS, *PACKED):
        raise RoleFileError(
            f"{path.name} is no Markdown or plain text by its name: save it as .md or .txt (or {', '.join(PACKED)})."
        )


def _incoming(path: Path, data: bytes, name: str | None = None) -> Incoming:
    full, missing, text = document_name(name if name is not None else path.stem), list[str](), data
    if path.suffix.lower() in PACKED:
        text, missing = as_markdown(data, path.name)
    return Incoming(full, checked(text, path), tuple(missing), sha256(data))


def document_name(name: str) -> str:
    """Return the name of a document, with `.md` at its end.

    Raises:
        RoleError: it may not be the name of a file on every system.
    """
    full = name if name.lower().endswith(".md") else f"{name}.md"
    stem = full[:-3]
    if not _NAME.fullmatch(stem) or _RESERVED.fullmatch(full) or stem[0] in ". " or stem[-1] in ". ":
        raise RoleError(f"{name!r} can't be the name of a document: take letters, digits, spaces, - and _.")
    if len(full.encode(errors="surrogatepass")) > 200 or not full.isprintable():
        raise RoleError(f"{name[:40]!r} can't be the name of a document: take a shorter one of letters and digits.")
    return full


def checked(data: bytes, path: Path) -> bytes:
    """Return the bytes of a document if they are text.

    Raises:
        RoleFileError: they are not UTF-8, hold a zero character, or nothing but spaces.
    """
    if not read_text(data, path, path.parent).strip():
        raise RoleFileError(f"{path.name} holds no text: write some.")
    return data


def changes(role: Role, documents: Sequence[tuple[str, bytes]]) -> list[Change]:
    """Return what learning these documents would change.

    Raises:
        RoleError: a name may not be used, two have the same, or one differs from that of a document there is only in
            case, or in how its letters are composed; or what is to be learned is no text.
    """
    names = role.persona.names()
    known = {_one_file(name): name for name in names}
    count = Counter(_one_file(name) for name, _ in documents)
    for name, data in documents:
        if count[_one_file(name)] > 1:
            raise RoleError(f"Two of the files would both be {name}: learn one with --as another name.")
        if known.get(_one_file(name), name) != name:
            raise RoleError(f"There is {known[_one_file(name)]} already: learn it under this name, or another.")
        if name not in names and document_name(name) != name:
            raise RoleError(f"{name!r} can't be the name of a document: call it {document_name(name)!r}.")
        checked(data, Path(name))
    return [_change(name, role.persona.read(name) if name in names else None, data) for name, data in documents]


def learn(
    role: Role, documents: Sequence[tuple[str, bytes]], *, was: Mapping[str, str | None] | None = None
) -> list[Change]:
    """Put documents into the persona, all or none; one of the same name is replaced.

    Args:
        role: who learns.
        documents: names and bytes, as `document_from` gives them.
        was: the SHA-256 that documents must still have; None: not there.

    Raises:
        StaleDraft: a document is not what `was` says.
    """
    found = changes(role, documents)
    role.persona.change(dict(documents), was=was)
    return found


def take_in(role: Role) -> tuple[list[Change], list[str]]:
    """Make documents of the files in persona/ that were not read as they are now.

    A document that people wrote, or have changed since it was made, is not touched.

    Returns:
        What changed, and sentences about what was not read, or not all of it.
    """
    made, said, found = list[Change](), list[str](), unread(role.root)
    for one in found:
        if one.readable:
            try:
                change, missing = _take_in(role, one.name)
            except RoleError as error:
                said.append(str(error))
            else:
                made.append(change)
                said += missing
    if others := [one.name for one in found if not one.readable]:
        said.append(f"Not read in persona/: {', '.join(others)}. Save the text as .md in persona/ itself.")
    return made, said


def _take_in(role: Role, name: str) -> tuple[Change, tuple[str, ...]]:
    path, known = role.root / "persona" / name, taken(role.root)
    document = document_name(path.stem)
    there = next((one for one in role.persona.names() if one.lower() == document.lower()), None)
    before = sha256(role.persona.read(there)) if there else None
    found = _incoming(path, read_bytes(path, role.root))
    if there and before not in (sha256(found.data), known[name].text if name in known else None):
        raise RoleError(
            f"{name} is not read: there is {there} already, which was not made of it or has been edited. "
            f"`dramaturg learn {role.id} '{path}' --as NAME` takes it under another name, or in its place."
        )
    record = {**known, name: Taken(original=found.original, document=found.name, text=sha256(found.data))}
    (change,) = changes(role, [(found.name, found.data)])
    beside = {TAKEN_FILE: taken_bytes(record)}
    role.persona.change({found.name: found.data}, was={found.name: before}, beside=beside)
    return change, found.missing


def originals_of(role: Role, document: str) -> list[str]:
    """Return the files in persona/ that a document was made of."""
    made = [name for name, one in taken(role.root).items() if one.document == document]
    return [name for name in made if (role.root / "persona" / name).is_file()]


def erase_originals(role: Role, document: str) -> None:
    """Remove the files in persona/ that a document was made of."""
    rest = {name: one for name, one in taken(role.root).items() if one.document != document}
    gone = dict.fromkeys(originals_of(role, document))
    if gone:
        role.persona.change(gone, beside={TAKEN_FILE: taken_bytes(rest)})


def forget(role: Role, name: str) -> Change:
    """Take a document out of the persona; versions of an index that were made from it keep it until they are erased."""
    data = role.persona.read(the_document(role, name))
    role.persona.change({name: None})
    return _change(name, data, None)


def the_document(role: Role, name: str | None) -> str:
    """Return the name of a document that is there; without a name, that of the only one.

    Raises:
        RoleError: there is none of that name, more than one to choose from, or it is its story's.
    """
    names = role.persona.names()
    refuse_story([name] if name in names else [])
    if name is None and len(names) == 1:
        return names[0]
    if name in names:
        return name
    there = f"There are: {', '.join(names) or 'none'}."
    if name is None:
        raise RoleError(f"Name one of the documents of {role.id!r}. {there}")
    raise RoleError(f"{role.id!r} has no document {name!r}{did_you_mean(name, names)} {there}")


def _one_file(name: str) -> str:
    """What names have in common that some system takes for one: case, and composed letters, do not count."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _change(name: str, before: bytes | None, after: bytes | None) -> Change:
    old, new = _text(before), _text(after)
    if before == after:
        kind: Literal["new", "replaced", "unchanged", "removed"] = "unchanged"
    else:
        kind = "new" if before is None else "removed" if after is None else "replaced"
    lines = Counter(_lines(new)), Counter(_lines(old))
    return Change(name, kind, len(old), len(new), (lines[0] - lines[1]).total(), (lines[1] - lines[0]).total())


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _lines(text: str) -> Iterable[str]:
    return (line for line in text.split("\n") if line.strip())
