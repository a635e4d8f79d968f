"""A role in one file, `ROLE.role.zip`: what people wrote of it, and, if asked, its indexes and conversations.

Vectors are raw float32 and everything else is text, each file with its checksum: nothing in a bundle revives an object.
An index of FAISS is made of the vectors anew, and read once before anything is written.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dramaturg.stores.changes import TAKEN
from dramaturg.stores.documents.forms import (
    CARD,
    DialogueLine,
    Question,
    RoleCard,
    document,
    parse_card,
    parse_chronicle,
    parse_memories,
)
from dramaturg.stores.documents.reading import parse_lines
from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleFileError
from dramaturg.stores.files import sha256
from dramaturg.stores.formats.archives import zipped
from dramaturg.stores.formats.bounds import Refused, dumped, parse_json
from dramaturg.stores.library_folder import Library
from dramaturg.stores.role import Role

HEAD = "bundle.json"
ROLE, INDEX, TALKS = "role/", "index/", "conversations/"
RAW = ".f32"
"""Behind the name of a file of vectors: rows of little-endian float32, and nothing else."""
_FAISS = ".faiss"


class Head(BaseModel):
    """`bundle.json`: what the file is, and the checksum of every other file in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["dramaturg-role"] = "dramaturg-role"
    version: Literal[1] = 1
    role: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    files: dict[str, str]
    """SHA-256 by path."""


class Bundle(NamedTuple):
    """A role in one file, looked through."""

    role: str
    """Its id where it was made."""
    card: RoleCard
    files: Mapping[str, bytes]
    """What people wrote, by paths in the role."""
    ready: Mapping[str, bytes]
    """The files of its indexes, ready to be put there, by paths in the role."""
    indexed: tuple[str, ...]
    """The kinds of index that it brings."""
    talks: Mapping[str, str]
    """Conversations as JSON lines, by their names."""


def bundled(library: Library, role: Role, *, index: bool, talks: Mapping[str, str]) -> bytes:
    """Return a role as one file.

    Args:
        library: where it is.
        role: the role.
        index: whether its indexes come with it, the version of each that is served.
        talks: conversations, as `dramaturg.conversations.json_lines` writes them.
    """
    contents = library.contents(role.id)
    files = {f"{ROLE}{path}": data for path, data in contents.items() if not path.startswith("index/")}
    if index:
        files |= _indexes(role)
        if TAKEN in contents:
            files[f"{INDEX}{Path(TAKEN).name}"] = contents[TAKEN]
    names = [f"{TALKS}{number}.jsonl" for number in range(len(talks))]
    files |= {path: text.encode() for path, text in zip(names, talks.values(), strict=True)}
    if talks:
        files[f"{TALKS}names.json"] = dumped(list(talks))
    head = Head(role=role.id, files={path: sha256(data) for path, data in files.items()})
    return zipped({HEAD: head.model_dump_json(indent=1).encode(), **files})


def bundle_in(files: Mapping[str, bytes]) -> Bundle:
    """Read a bundle from the files of its zip, and look through all of it.

    Raises:
        Refused: it is none, or a part of it is not as it was written.
    """
    if HEAD not in files:
        raise Refused(f"is a zip file without a role: there is neither {HEAD} nor card.json in it")
    try:
        head = Head.model_validate(parse_json(files[HEAD]))
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise Refused(f"has a {HEAD} that cannot be used ({where}): make the bundle again") from error
    there = {path: data for path, data in files.items() if path != HEAD}
    if there.keys() != head.files.keys():
        odd = sorted(there.keys() ^ head.files.keys())[0]
        raise Refused(f"lacks, or has beside what it says, {odd}: make the bundle again")
    if wrong := next((path for path, data in there.items() if sha256(data) != head.files[path]), None):
        raise Refused(f"has a wrong checksum in {wrong}: get it again")
    own = {path.removeprefix(ROLE): data for path, data in there.items() if path.startswith(ROLE)}
    card = _looked_through(own)
    index, kinds = _indexes_in(
        {path.removeprefix(INDEX): data for path, data in there.items() if path.startswith(INDEX)}, own
    )
    return Bundle(head.role, card, own, index, kinds, _talks_in(there))


def _looked_through(files: Mapping[str, bytes]) -> RoleCard:
    """The card of a role, once all that is parsed of it could be."""
    where = Path("bundle")
    if CARD not in files or any(path.startswith(("index/", ".")) or "/." in path for path in files):
        raise Refused(f"holds no {CARD}, or files that are none of a role: make the bundle again")
    try:
        card = parse_card(files[CARD], where)
        parse_chronicle(files.get("chronicle.yaml", b""), where)
        parse_memories(files.get("memories.jsonl", b""), where)
        parse_lines(files.get("questions.jsonl", b""), where / "questions.jsonl", Question, where)
        for path, data in files.items():
            folder, _, name = path.partition("/")
            if folder == "persona" and name.lower().endswith(".md"):
                document(data, where / path, where)
            if folder == "dialogues" and name.lower().endswith(".jsonl"):
                parse_lines(data, where / path, DialogueLine, where)
    except RoleFileError as error:
        raise Refused(
            f"holds a role that cannot be used ({str(error).rstrip('.')}): mend that, and bundle it again"
        ) from error
    return card


def _indexes(role: Role) -> dict[str, bytes]:
    """The files of the versions that are served, by paths in the bundle; a kind that cannot be read is left out."""
    from dramaturg.stores.index.folder import MANIFEST
    from dramaturg.stores.index.kinds import KINDS
    from dramaturg.stores.index.parts import record_of
    from dramaturg.stores.index.vectors import rows_in

    found: dict[str, bytes] = {}
    for kind in KINDS:
        folder = role.index(kind).folder
        for published in folder.published()[:1]:
            try:
                manifest = folder.manifest(published)
                files = {name: folder.content(published, manifest, name) for name in manifest.files}
            except (DamagedIndex, MissingIndex):
                continue
            whole = {name: record_of(data) for name, data in files.items()}
            found[f"{INDEX}{kind.name}/{MANIFEST}"] = manifest.model_copy(update={"files": whole}).encoded()
            for name, data in files.items():
                place = f"{INDEX}{kind.name}/{name}"
                found |= {f"{place}{RAW}": rows_in(data)} if name.endswith(_FAISS) else {place: data}
    return found


def _indexes_in(files: Mapping[str, bytes], sources: Mapping[str, bytes]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The files of indexes where they will lie in the role, and their kinds; each is read once."""
    from dramaturg.stores.index.folder import MANIFEST, POINTERS, Manifest, Pointer, Published
    from dramaturg.stores.index.kinds import kind_named
    from dramaturg.stores.index.parts import record_of
    from dramaturg.stores.index.vectors import packed_again

    found: dict[str, bytes] = {}
    kinds = sorted({path.split("/")[0] for path in files if "/" in path})
    for name in kinds:
        own = {path.removeprefix(f"{name}/"): data for path, data in files.items() if path.startswith(f"{name}/")}
        try:
            kind = kind_named(name)
            parse_json(encoded := own.pop(MANIFEST, b"{}"))  # bounded
            manifest = Manifest.model_validate_json(encoded)
            width = manifest.embedding.dimension
            built = {
                path.removesuffix(RAW): packed_again(data, width) if path.endswith(RAW) else data
                for path, data in own.items()
            }
            if any(path.endswith(_FAISS) for path in own):
                raise ValueError(f"vectors in it are no {RAW}")  # FAISS notices almost no damage
            if manifest.kind != name or built.keys() != manifest.files.keys() or any("/" in path for path in built):
                raise ValueError("its parts are not those that it names")
            manifest = manifest.model_copy(update={"files": {path: record_of(data) for path, data in built.items()}})
            kind.store.read(manifest, built)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            said = "a part is not of its kind" if isinstance(error, ValidationError) else str(error).rstrip(".")
            raise Refused(
                f"brings an index, {name}, that cannot be read ({said}): bundle the role without it"
            ) from error
        encoded = manifest.encoded()
        published = Published(version=manifest.version, manifest=sha256(encoded))
        place = f"index/{name}/versions/{published.version}-{published.manifest[:12]}/"
        found |= {f"{place}{path}": data for path, data in {**built, MANIFEST: encoded}.items()}
        found |= dict.fromkeys(
            [f"index/{name}/{one}" for one in POINTERS], Pointer(kind=name, versions=(published,)).seal()
        )
        digests = {*manifest.sources.values()}
        found |= {f"index/documents/{digest}": data for data in sources.values() if (digest := sha256(data)) in digests}
    if Path(TAKEN).name in files:
        found[TAKEN] = files[Path(TAKEN).name]
    return found, tuple(kinds)


def _talks_in(files: Mapping[str, bytes]) -> dict[str, str]:
    names: Any = parse_json(files.get(f"{TALKS}names.json", b"[]"))
    paths = [f"{TALKS}{number}.jsonl" for number in range(len(names))] if isinstance(names, list) else []
    if (
        not isinstance(names, list)
        or not all(isinstance(one, str) and one for one in names)
        or any(path not in files for path in paths)
    ):
        raise Refused("names conversations that are not in it: make the bundle again")
    try:
        return {name: files[path].decode() for name, path in zip(names, paths, strict=True)}
    except UnicodeDecodeError as error:
        raise Refused("holds a conversation that is not text in UTF-8: make the bundle again") from error
