"""Where a kind of index of a role lies: its versions with their manifests, and the pointer to the one that is read."""

import contextlib
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from dramaturg.stores.changes import KeptDocuments
from dramaturg.stores.errors import DamagedIndex, EmbeddingMismatch, MissingIndex, RoleError
from dramaturg.stores.files import canonical, move_folder, read_if_there, remove, remove_file, sha256, write_bytes
from dramaturg.stores.index.parts import Digest, FileRecord, Piece, divided, record_of
from dramaturg.stores.index.records import R
from dramaturg.stores.index.vectors import Vectors, rows_of, rows_only, unpack
from dramaturg.stores.locks import copies

VersionId = Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Done(_Record):
    """What indexing would come to again, with nothing left to do."""

    settings: Digest
    """Of all that decides it, beside the sources and the embedding model."""
    report: dict[str, JsonValue]
    """What indexing reports then."""


class EmbeddingRecord(_Record):
    """What made the vectors."""

    name: str = Field(min_length=1)
    dimension: int = Field(ge=1)
    normalized: bool = True
    """Whether the vectors are of length 1, so that an inner product is a cosine; others are not searched."""

    def require(self, embedding: str, dimension: int | None = None) -> None:
        """Refuse to compare what different embedding models made.

        Raises:
            EmbeddingMismatch: the vectors were made by another model, with another dimension, or are not normalized.
        """
        if not self.normalized:
            raise EmbeddingMismatch(
                "The role is indexed with vectors that are not of length 1, which cannot be compared: index it again."
            )
        if embedding != self.name or dimension not in (None, self.dimension):
            asked = embedding if dimension is None else f"{embedding} ({dimension} dimensions)"
            raise EmbeddingMismatch(
                f"The role is indexed with the embedding model {self.name} ({self.dimension} dimensions), the "
                f"question comes with {asked}: set that model, or index the role again with this one."
            )


class Manifest(_Record):
    """`manifest.json`: what a version was made from, how, and the checksums of its files."""

    format: Literal[1, 2] = 2
    """1: each version has all of its files, and no `done`."""
    kind: str
    version: VersionId
    created: datetime = Field(strict=False)
    embedding: EmbeddingRecord
    settings: dict[str, JsonValue]
    sources: dict[str, Digest]
    """The checksum of each document, by its name."""
    counts: dict[str, int]
    files: dict[str, FileRecord]
    done: Done | None = None
    """None: something is left to ask, or nobody has said."""

    def made_from(self, embedding: str, sources: Mapping[str, str]) -> bool:
        """Whether this embedding model made it from files with these checksums."""
        return self.embedding.normalized and (self.embedding.name, self.sources) == (embedding, sources)

    def encoded(self) -> bytes:
        """Return the bytes that are stored."""
        return (self.model_dump_json(indent=2) + "\n").encode()


def decisions_in(settings: Mapping[str, JsonValue]) -> str | None:
    """Return the checksum of the `merges.yaml` that a version with these settings was made by.

    It is empty if there was none, and None if that has no part in the version.
    """
    digest = settings.get("merges")
    return None if digest is None else str(digest)


class Published(_Record):
    """A version, and the checksum of its manifest."""

    version: VersionId
    manifest: Digest


class Pointer(_Record):
    """`current.json`: the versions there are, the one that is served first."""

    format: Literal[1] = 1
    kind: str
    versions: tuple[Published, ...] = Field(min_length=1)

    def seal(self) -> bytes:
        """Return the bytes that are stored: the pointer and its own checksum."""
        body = self.model_dump(mode="json")
        return canonical({"current": body, "sha256": sha256(canonical(body))}) + b"\n"

    @classmethod
    def unseal(cls, data: bytes, kind: str) -> Self:
        """Return the pointer.

        Raises:
            ValueError: the bytes are not what `seal` made for this kind.
        """
        current = cls.model_validate(_sealed.validate_json(data).get("current"), strict=False)
        if current.seal() != data or current.kind != kind:
            raise ValueError("The pointer to the current version is not as it was written.")
        return current


_sealed: TypeAdapter[Mapping[str, JsonValue]] = TypeAdapter(Mapping[str, JsonValue])


def version_id(content: JsonValue) -> str:
    """Return the id of a version: the same content has the same id, on every machine."""
    return sha256(canonical(content))[:24]


MANIFEST = "manifest.json"
POINTERS = ("current.json", "current.copy.json")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
S = TypeVar("S", bound="IndexStore")


@dataclass(frozen=True)
class IndexKind(Generic[R, S]):
    """A kind of knowledge that is indexed; `dramaturg.stores.index.kinds` has the table of them."""

    name: str
    """Its folder in `index/`."""
    records: type[R]
    """What is embedded."""
    store: type[S]
    """What a version is read with."""
    sources: Literal["persona", "memories", "dialogues"]
    """The files of the role that it is made from."""
    method: str = ""
    """The method whose `dramaturg index` makes it; empty: the one that is meant when none is named."""
    answers: tuple[str, ...] = ()
    """The kinds whose answers of a chat model it can use, itself among them; empty: no model is asked.

    Then a version follows from its recipe alone, which its id is the hash of. Otherwise the id is that of its content.
    """

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name == "documents":  # where the sources are kept
            raise RoleError(f"{self.name!r} is no kind of index: take small letters, digits, - and _.")

    def command(self, role: str) -> str:
        """Return the command that makes this index of a role."""
        return f"dramaturg index {role}" + (f" --method {self.method}" if self.method else "")


class LeftOut(NamedTuple):
    """How much of a kind is not known at a time: it is later, or nobody can say before what it was."""

    later: int = 0
    not_comparable: int = 0


def left_out_of(known: Iterable[bool | None]) -> LeftOut:
    """Return how many of some verdicts say that a thing is later, and how many that nobody can say."""
    counts = Counter(known)
    return LeftOut(counts[False], counts[None])


class IndexStore(ABC):
    """One version of an index, in memory and immutable: a reader keeps the version that it opened."""

    FILES: ClassVar[tuple[str, ...]]
    """The files that it is read from: the records first, their vectors last."""

    def __init__(self, manifest: Manifest, index: Any) -> None:
        self.manifest = manifest
        self.version = manifest.version
        self.warning = ""
        self.left_out: Mapping[str, LeftOut] = {}
        """Of a version that was cut to a time: by kind, what it lacks."""
        self.not_told: Mapping[str, int] = {}
        """Of a version that was cut to what a role has been told: by kind, how much it lacks."""
        self.cuts: dict[Any, Self] = {}
        """This version as it was cut to times, or for a role; see `dramaturg.nodes.known` and `told` beside it."""
        self._index = index

    @classmethod
    @abstractmethod
    def decode(cls, manifest: Manifest, files: Sequence[bytes], index: Any) -> Self:
        """Return the version that these files and an index of their vectors hold, or raise a ValueError."""

    @abstractmethod
    def embedded_texts(self) -> list[str]:
        """Return the texts that were embedded, in the order of their vectors."""

    @classmethod
    def read(cls, manifest: Manifest, files: Mapping[str, bytes]) -> Self:
        """Return the version that these files hold, by their names; ValueError: they are not what was written."""
        *others, vectors = cls.FILES
        store = cls.decode(manifest, [files[name] for name in others], unpack(files[vectors]))
        if (store._index.ntotal, store._index.d) != (len(store.embedded_texts()), manifest.embedding.dimension):
            raise ValueError("There is not one vector for each text.")
        return store

    @classmethod
    def holds(cls, manifest: Manifest, files: Mapping[str, bytes], texts: int) -> bool:
        """Whether files make a version with so many texts, as `read` would find once they have vectors."""
        try:
            return len(cls.decode(manifest, [files[name] for name in cls.FILES[:-1]], None).embedded_texts()) == texts
        except ValueError:
            return False

    @classmethod
    def open(cls, folder: "IndexFolder", published: Published) -> Self:
        """Read and verify a version."""
        manifest = folder.manifest(published)
        files = {name: folder.content(published, manifest, name) for name in cls.FILES}
        try:
            return cls.read(manifest, files)
        except ValueError as error:
            raise folder.damaged(" or ".join(cls.FILES)) from error

    @classmethod
    def embedded(cls, folder: "IndexFolder", published: Published) -> tuple[Manifest, list[str], Vectors]:
        """Read and verify what was embedded, and its vectors as they lie in the file; nothing else is kept of it."""
        manifest = folder.manifest(published)
        *others, vectors = cls.FILES
        try:
            files = [folder.content(published, manifest, name) for name in others]
            texts = cls.decode(manifest, files, None).embedded_texts()
            data = folder.content(published, manifest, vectors)
            return manifest, texts, rows_of(data, len(texts), manifest.embedding.dimension)
        except ValueError as error:
            raise folder.damaged(" or ".join(cls.FILES)) from error

    def in_place_of(self, error: Exception) -> Self:
        """Return the same version, with a warning that a newer one could not be read."""
        standing_in = copy(self)
        standing_in.cuts = {}
        standing_in.warning = f"{error} Until then the version of {self.manifest.created:%Y-%m-%d %H:%M} UTC is read."
        return standing_in

    def vectors(self) -> Vectors:
        """Return the unit vectors, of shape (n, d)."""
        if not self._index.ntotal:  # of a version that was cut to a time
            return np.empty((0, self._index.d), np.float32)
        rows: Vectors = self._index.reconstruct_n(0, self._index.ntotal)
        return rows

    def cut(self, rows: Sequence[int], left_out: Mapping[str, LeftOut]) -> Self:
        """Return the same version with some of its vectors alone, and whatever they are of."""
        some = copy(self)
        some.cuts, some.left_out, some._index = {}, left_out, rows_only(self._index, rows)
        return some

    def made_from(self, embedding: str, sources: Mapping[str, str]) -> bool:
        """Whether this embedding model made it from files with these checksums."""
        return self.manifest.made_from(embedding, sources)

    def require(self, embedding: str, dimension: int | None = None) -> None:
        """Refuse to compare what different embedding models made: see `EmbeddingRecord.require`."""
        self.manifest.embedding.require(embedding, dimension)


@dataclass(frozen=True)
class IndexFolder:
    """`<role>/index/<kind>/`: drafts, published versions, and the pointer to the current one.

    Everything in it is derived and may be deleted at any time.
    """

    role: Path
    kind: IndexKind[Any, Any]

    @property
    def path(self) -> Path:
        """The folder."""
        return self.role / "index" / self.kind.name

    @property
    def drafts(self) -> Path:
        """The folder of the versions that are being built."""
        return self.path / "drafts"

    @property
    def versions(self) -> Path:
        """The folder of the versions that are or were published."""
        return self.path / "versions"

    def written_in(self) -> list[Path]:
        """Return the folders in which something is written aside before it is in place."""
        around = (self.role / name for name in ("", "index", "persona", "dialogues"))
        return [self.path, *around, *self.drafts.glob("*"), *self.drafts.glob("*/*")]

    @property
    def command(self) -> str:
        """The command that makes it."""
        return self.kind.command(self.role.name)

    def beside(self, name: str) -> "IndexFolder":
        """Return the folder of another kind of index of the same role, to read sources and answers in it."""
        return replace(self, kind=replace(self.kind, name=name))

    def pointer(self) -> Pointer | None:
        """Return what is published, or None; if the pointer is damaged or gone, its copy says it.

        Raises:
            DamagedIndex: neither of the two is what was written.
        """
        found = [data for name in POINTERS if (data := read_if_there(self.path / name, within=self.role)) is not None]
        for data in found:
            with contextlib.suppress(ValueError):
                return Pointer.unseal(data, self.kind.name)
        if found:
            raise self.damaged(POINTERS[0])
        return None

    def pointers_are_alike(self) -> bool:
        """Whether the pointer and its copy say the same."""
        return len({read_if_there(self.path / name, within=self.role) for name in POINTERS}) == 1

    def published(self) -> Sequence[Published]:
        """Return the versions, the current one first; none if the pointer is damaged."""
        try:
            current = self.pointer()
        except DamagedIndex:
            return ()
        return current.versions if current else ()

    def switch(self, versions: Sequence[Published]) -> None:
        """Publish: the first of these versions is read from now on, the others are kept."""
        sealed = Pointer(kind=self.kind.name, versions=tuple(versions)).seal()
        for name in POINTERS:
            write_bytes(self.path / name, sealed, within=self.role)

    def folder_of(self, published: Published) -> Path:
        """Return the folder of a version; the same content that was built again lies in another one."""
        return self.versions / f"{published.version}-{published.manifest[:12]}"

    def manifest(self, published: Published) -> Manifest:
        """Return the verified manifest of a version; DamagedIndex: it holds files of another kind."""
        manifest = self._manifest(published)
        if not {*self.kind.store.FILES} <= {*manifest.files}:
            raise self.damaged(" or ".join(self.kind.store.FILES))
        return manifest

    def made_from(self, published: Published) -> set[str]:
        """Return the checksums of the files that a version was made from, whatever the version holds."""
        manifest = self._manifest(published)
        return {*manifest.sources.values(), decisions_in(manifest.settings) or ""}

    def content(self, published: Published, manifest: Manifest, name: str) -> bytes:
        """Return the bytes of a file of a version, after its size and checksum were compared."""
        record = manifest.files.get(name)
        if record is None:
            raise self.damaged(name)
        own, pieces = self.folder_of(published).name, record.made_of()
        held = {folder: self._file(published, name, folder) for folder in {one.folder or own for one in pieces}}
        if record.pieces:
            views = {folder: memoryview(data) for folder, data in held.items()}
            data = b"".join(views[one.folder or own][one.start : one.start + one.length] for one in pieces)
        else:
            data = held[own]
        if len(data) != record.bytes or sha256(data) != record.sha256:
            raise self.damaged(name)
        return data

    def put(self, draft: str, manifest: Manifest, files: Mapping[str, bytes]) -> Published:
        """Put a version in place, whole: its manifest, and what of its files lies in its own folder."""
        encoded = manifest.encoded()
        published = Published(version=manifest.version, manifest=sha256(encoded))
        aside = self.drafts / draft / "version"
        remove(aside)
        for name, data in {**files, MANIFEST: encoded}.items():
            write_bytes(aside / name, data, within=self.role)
        move_folder(aside, self.folder_of(published), within=self.role)  # a new name: the manifest has the time
        return published

    def marked(self, published: Published, draft: str, done: Done | None) -> Published:
        """Have a version say that nothing is left to do, or no longer; one of an earlier format stays as it is."""
        manifest = self._manifest(published)
        if manifest.format == 1 or manifest.done == done:
            return published
        own = {name: self._file(published, name) for name, record in manifest.files.items() if record.has_own}
        return self.put(draft, manifest.model_copy(update={"done": done, "created": datetime.now(UTC)}), own)

    def undivided(self, published: Published) -> Published:
        """Put a version in place once more, with all of its files in its own folder, if they are not.

        Raises:
            DamagedIndex: a file is not what was written.
        """
        manifest = self._manifest(published)
        if not any(record.folders for record in manifest.files.values()):
            return published
        files = {name: self.content(published, manifest, name) for name in manifest.files}
        whole = {name: record_of(data) for name, data in files.items()}
        alone = manifest.model_copy(update={"files": whole, "created": datetime.now(UTC)})
        return self.put(published.version, alone, files)

    def divided(
        self, content: Mapping[str, bytes], dimension: int, *, share: bool = True
    ) -> tuple[dict[str, bytes], dict[str, FileRecord]]:
        """Return what a new version has in its own folder, and the records of its files; see `parts.divided`.

        Args:
            content: its files.
            dimension: of its vectors.
            share: whether what the version that is served has already is referred to.
        """
        new, records = dict[str, bytes](), dict[str, FileRecord]()
        for name, data in content.items():
            own, pieces = data, list[Piece]()
            if share and (former := self._former(name)):
                row = {".faiss": 4 * dimension, ".vectors": 4 * dimension + 32}.get(Path(name).suffix, 0)
                sizes = {folder: (self.versions / folder / name).stat().st_size for folder, _, _ in former[1]}
                own, pieces = divided(data, *former, row, sizes)
            records[name] = record_of(data, pieces)
            if records[name].has_own:
                new[name] = own
        return new, records

    def drop_others(self, kept: Iterable[Published]) -> None:
        """Remove what none of these versions is read from, once the pointer names no others.

        Who is reading another one meanwhile finds it damaged or gone, looks again which there are, and reads that.
        """
        whole, pieces = set[Path](), set[Path]()
        for published in kept:
            whole.add(self.folder_of(published))
            with contextlib.suppress(DamagedIndex, MissingIndex):
                records = self._manifest(published).files
                pieces.update(self.versions / folder / name for name, one in records.items() for folder in one.folders)
        shared = {path.parent for path in pieces}
        for folder in {*self.versions.glob("*")} - whole:
            if folder not in shared:
                remove(folder)
            for path in {*folder.glob("*")} - pieces:
                remove_file(path, within=self.role)

    def _former(self, name: str) -> tuple[bytes, list[Piece]] | None:
        """A file of the version that is served, and where its pieces lie."""
        for published in self.published()[:1]:
            with contextlib.suppress(DamagedIndex, MissingIndex):
                manifest, own = self._manifest(published), self.folder_of(published).name
                data = self.content(published, manifest, name)
                return data, [one._replace(folder=one.folder or own) for one in manifest.files[name].made_of()]
        return None

    def restored(self, version: str) -> Published | None:
        """Bring a version back that this machine's copy of a database no longer has; None where that has it neither."""
        original = copies.get(self.role.parent)
        under = f"{self.versions.relative_to(self.role).as_posix()}/"
        if original is None or not original.restore(self.role, under):
            return None
        manifests = (read_if_there(one / MANIFEST, within=self.role) for one in self.versions.glob(f"{version}-*"))
        return next((Published(version=version, manifest=sha256(data)) for data in manifests if data), None)

    def whole(self, published: Published) -> IndexStore | None:
        """Return a version, or None if it is missing or damaged."""
        try:
            store: IndexStore = self.kind.store.open(self, published)
        except (DamagedIndex, MissingIndex):
            return None
        return store

    def damaged(self, name: str) -> DamagedIndex:
        """Return the error for a file that is not what was written."""
        return DamagedIndex(
            f"The index {self.kind.name!r} of {self.role.name!r} is damaged ({name} is not as it was written): "
            f"run `{self.command}`, which makes it again."
        )

    def missing(self, version: str | None = None) -> MissingIndex:
        """Return the error for an index, or a version of it, that is not there."""
        what = "is not indexed" if version is None else f"has no version {version!r}"
        return MissingIndex(f"{self.role.name!r} {what} ({self.kind.name}): run `{self.command}`.")

    def gone(self, version: str) -> MissingIndex:
        """Return the error for a version that the role had once, and a conversation goes by."""
        return MissingIndex(
            f"{self.role.name!r} has no version {version!r} any more ({self.kind.name}), and indexing does not "
            "bring it back: begin the turn that goes by it anew, and it goes by what the role knows now."
        )

    def _manifest(self, published: Published) -> Manifest:
        data = self._file(published, MANIFEST)
        if sha256(data) != published.manifest:
            raise self.damaged(MANIFEST)
        try:
            manifest = Manifest.model_validate_json(data)
        except ValidationError as error:
            raise self.damaged(MANIFEST) from error
        if (manifest.kind, manifest.version) != (self.kind.name, published.version):
            raise self.damaged(MANIFEST)
        return manifest

    def _file(self, published: Published, name: str, folder: str = "") -> bytes:
        own = self.folder_of(published)
        data = read_if_there(self.versions / (folder or own.name) / name, within=self.role)
        if data is not None:
            return data
        if own.is_dir():
            raise self.damaged(name)
        raise self.missing(published.version)


def drop_documents(index: IndexFolder) -> None:
    """Remove the kept documents that no version of any kind is made from; none while a manifest cannot be read."""
    used: set[str] = set()
    for folder in map(index.beside, published_names(index.role)):
        try:
            current = folder.pointer()
        except DamagedIndex:
            return
        for one in current.versions if current else ():
            try:
                used |= folder.made_from(one)
            except MissingIndex:
                continue
            except DamagedIndex:
                return
    KeptDocuments(index.role).drop_others(used)


def published_names(role: Path) -> list[str]:
    """Return the names of the kinds of index that a role has."""
    return sorted({path.parent.name for name in POINTERS for path in (role / "index").glob(f"*/{name}")})
