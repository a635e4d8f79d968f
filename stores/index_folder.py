"""Where one kind of index of a role lies: drafts, published versions, and the pointer to the current one."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleBusy, RoleError, StorageError
from dramaturg.stores.files import inside, make_folder, sha256, write_bytes
from dramaturg.stores.manifest import Current, Manifest, Published

MANIFEST = "manifest.json"
_KIND = re.compile(r"[a-z][a-z0-9_-]{0,31}")
PATIENCE = 60.0  # seconds; each step under the lock takes far less


@dataclass(frozen=True)
class IndexFolder:
    """`<role>/index/<kind>/`: everything in it is derived and may be deleted at any time."""

    role: Path
    kind: str

    def __post_init__(self) -> None:
        if not _KIND.fullmatch(self.kind):
            raise RoleError(f"{self.kind!r} is no kind of index: take small letters, digits, - and _.")

    @property
    def path(self) -> Path:
        """The folder."""
        return self.role / "index" / self.kind

    @property
    def drafts(self) -> Path:
        """The folder of the versions that are being built."""
        return self.path / "drafts"

    @property
    def versions(self) -> Path:
        """The folder of the versions that are or were published."""
        return self.path / "versions"

    def current(self) -> Current | None:
        """Return what is published, or None.

        Raises:
            DamagedIndex: the pointer is not what was written.
        """
        data = self._read(self.path / "current.json")
        if data is None:
            return None
        try:
            return Current.unseal(data, self.kind)
        except ValueError as error:
            raise self.damaged("current.json") from error

    def switch(self, versions: Sequence[Published]) -> None:
        """Publish: the first of these versions is served from now on, the others are kept."""
        current = Current(kind=self.kind, versions=tuple(versions))
        write_bytes(self.path / "current.json", current.seal(), within=self.role)

    def manifest(self, published: Published) -> Manifest:
        """Return the verified manifest of a version.

        Raises:
            MissingIndex: the version is no longer there.
            DamagedIndex: the manifest is not what was published.
        """
        data = self.read(published.version, MANIFEST)
        if sha256(data) != published.manifest:
            raise self.damaged(MANIFEST)
        try:
            manifest = Manifest.model_validate_json(data)
        except ValidationError as error:
            raise self.damaged(MANIFEST) from error
        if (manifest.kind, manifest.version) != (self.kind, published.version):
            raise self.damaged(MANIFEST)
        return manifest

    def content(self, manifest: Manifest, name: str) -> bytes:
        """Return the bytes of a file of a version, after its size and checksum were compared.

        Raises:
            MissingIndex: the version is no longer there.
            DamagedIndex: the file is not what was published.
        """
        record = manifest.files.get(name)
        data = self.read(manifest.version, name)
        if record is None or len(data) != record.bytes or sha256(data) != record.sha256:
            raise self.damaged(name)
        return data

    def read(self, version: str, name: str) -> bytes:
        """Return the bytes of a file of a version, unverified.

        Raises:
            MissingIndex: the version is no longer there.
            DamagedIndex: the version is there without this file.
        """
        data = self._read(self.versions / version / name)
        if data is not None:
            return data
        if (self.versions / version).is_dir():
            raise self.damaged(name)
        raise self.missing(version)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the index for one step, across threads and processes.

        Raises:
            RoleBusy: someone else held it for a minute.
        """
        inside(self.path, self.role)
        make_folder(self.role / "index", within=self.role)
        lock = FileLock(self.role / "index" / f".{self.kind}.lock", timeout=PATIENCE)
        try:
            lock.acquire()
        except Timeout as error:
            raise RoleBusy(f"Another program is indexing {self.role.name!r}: try again when it is done.") from error
        except OSError as error:
            raise StorageError(f"{lock.lock_file} cannot be locked ({error.strerror}): give permission.") from error
        try:
            yield
        finally:
            lock.release()

    def damaged(self, name: str) -> DamagedIndex:
        """Return the error for a file that is not what was written."""
        return DamagedIndex(
            f"The index {self.kind!r} of {self.role.name!r} is damaged ({name} is not as it was written): "
            f"run `dramaturg index {self.role.name} --rebuild` with the method that was asked."
        )

    def missing(self, version: str | None = None) -> MissingIndex:
        """Return the error for an index, or a version of it, that is not there."""
        what = "is not indexed" if version is None else f"has no version {version!r}"
        return MissingIndex(f"{self.role.name!r} {what} ({self.kind}): run `dramaturg index {self.role.name}`.")

    def _read(self, path: Path) -> bytes | None:
        try:
            return inside(path, self.role).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageError(
                f"{path} cannot be read ({error.strerror}): give permission, or check the disk."
            ) from error
