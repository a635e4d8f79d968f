"""Where one kind of index of a role lies: drafts, published versions, and the pointer to the current one."""

import contextlib
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError
from dramaturg.stores.files import read_if_there, sha256, write_bytes
from dramaturg.stores.index.manifest import Current, Manifest, Published
from dramaturg.stores.index.vectors import Vectors
from dramaturg.stores.role_lock import role_lock

MANIFEST = "manifest.json"


_KIND = re.compile(r"[a-z][a-z0-9_-]{0,31}")


POINTERS = ("current.json", "current.copy.json")


METHODS = {
    "fixed": "naive-rag",
    "graph": "role-rag",
    "graph-unmerged": "graph-rag-local",
    "memories": "emotional-rag",
    "dialogues": "drmr",
}
"""Which method makes a kind of index, where it is not the one that is meant if none is named."""


@dataclass(frozen=True)
class IndexFolder:
    """`<role>/index/<kind>/`: everything in it is derived and may be deleted at any time."""

    role: Path
    kind: str

    def __post_init__(self) -> None:
        if not _KIND.fullmatch(self.kind) or self.kind == "documents":  # where the sources are kept
            raise RoleError(f"{self.kind!r} is no kind of index: take small letters, digits, - and _.")

    @property
    def path(self) -> Path:
        """The folder."""
        return self.role / "index" / self.kind

    @property
    def command(self) -> str:
        """The command that makes it."""
        method = f" --method {METHODS[self.kind]}" if self.kind in METHODS else ""
        return f"dramaturg index {self.role.name}{method}"

    @property
    def drafts(self) -> Path:
        """The folder of the versions that are being built."""
        return self.path / "drafts"

    @property
    def versions(self) -> Path:
        """The folder of the versions that are or were published."""
        return self.path / "versions"

    def current(self) -> Current | None:
        """Return what is published, or None; if the pointer is damaged or gone, its copy says it.

        Raises:
            DamagedIndex: neither of the two is what was written.
        """
        found = [data for name in POINTERS if (data := read_if_there(self.path / name, within=self.role)) is not None]
        for data in found:
            with contextlib.suppress(ValueError):
                return Current.unseal(data, self.kind)
        if found:
            raise self.damaged(POINTERS[0])
        return None

    def switch(self, versions: Sequence[Published]) -> None:
        """Publish: the first of these versions is served from now on, the others are kept."""
        sealed = Current(kind=self.kind, versions=tuple(versions)).seal()
        for name in POINTERS:
            write_bytes(self.path / name, sealed, within=self.role)

    def folder_of(self, published: Published) -> Path:
        """Return the folder of a version; the same content that was built again lies in another one."""
        return self.versions / f"{published.version}-{published.manifest[:12]}"

    def manifest(self, published: Published) -> Manifest:
        """Return the verified manifest of a version.

        Raises:
            MissingIndex: the version is no longer there.
            DamagedIndex: the manifest is not what was published.
        """
        data = self._file(published, MANIFEST)
        if sha256(data) != published.manifest:
            raise self.damaged(MANIFEST)
        try:
            manifest = Manifest.model_validate_json(data)
        except ValidationError as error:
            raise self.damaged(MANIFEST) from error
        if (manifest.kind, manifest.version) != (self.kind, published.version):
            raise self.damaged(MANIFEST)
        return manifest

    def content(self, published: Published, manifest: Manifest, name: str) -> bytes:
        """Return the bytes of a file of a version, after its size and checksum were compared.

        Raises:
            MissingIndex: the version is no longer there.
            DamagedIndex: the file is not what was published.
        """
        record = manifest.files.get(name)
        data = self._file(published, name)
        if record is None or len(data) != record.bytes or sha256(data) != record.sha256:
            raise self.damaged(name)
        return data

    def lock(self) -> AbstractContextManager[None]:
        """Hold the role for one step, across threads and processes."""
        return role_lock(self.role)

    def damaged(self, name: str) -> DamagedIndex:
        """Return the error for a file that is not what was written."""
        return DamagedIndex(
            f"The index {self.kind!r} of {self.role.name!r} is damaged ({name} is not as it was written): "
            f"run `{self.command} --rebuild`."
        )

    def missing(self, version: str | None = None) -> MissingIndex:
        """Return the error for an index, or a version of it, that is not there."""
        what = "is not indexed" if version is None else f"has no version {version!r}"
        return MissingIndex(f"{self.role.name!r} {what} ({self.kind}): run `{self.command}`.")

    def _file(self, published: Published, name: str) -> bytes:
        folder = self.folder_of(published)
        data = read_if_there(folder / name, within=self.role)
        if data is not None:
            return data
        if folder.is_dir():
            raise self.damaged(name)
        raise self.missing(published.version)


class OpenedVersion:
    """One version of an index, in memory and immutable: a reader keeps the version that it opened."""

    def __init__(self, manifest: Manifest, index: Any) -> None:
        self.manifest = manifest
        self.version = manifest.version
        self.warning = ""
        self._index = index

    def in_place_of(self, error: Exception) -> Self:
        """Return the same version, with a warning that a newer one could not be read."""
        standing_in = copy(self)
        standing_in.warning = f"{error} Until then the version of {self.manifest.created:%Y-%m-%d %H:%M} UTC is read."
        return standing_in

    def vectors(self) -> Vectors:
        """Return the unit vectors, of shape (n, d), in the order of what they are of."""
        rows: Vectors = self._index.reconstruct_n(0, self._index.ntotal)
        return rows

    def has_vectors(self, number: int) -> bool:
        """Whether there are so many vectors, each of the dimension that was recorded."""
        return (self._index.ntotal, self._index.d) == (number, self.manifest.embedding.dimension)

    def made_from(self, embedding: str, sources: Mapping[str, str]) -> bool:
        """Whether this embedding model made it from files with these checksums."""
        made = self.manifest.embedding
        return made.normalized and (made.name, self.manifest.sources) == (embedding, sources)

    def require(self, embedding: str, dimension: int | None = None) -> None:
        """Refuse to compare what different embedding models made.

        Raises:
            EmbeddingMismatch: the index was made by another model, with another dimension, or not normalized.
        """
        self.manifest.embedding.require(embedding, dimension)
