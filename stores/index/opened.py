"""One kind of index of a role, opened: its versions read and verified, and its builder."""

from pathlib import Path
from threading import RLock
from typing import Generic

from dramaturg.stores.changes import KeptDocuments
from dramaturg.stores.documents.sources import Sources
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.files import left_aside
from dramaturg.stores.index.answers import kept_files
from dramaturg.stores.index.builder import IndexBuilder
from dramaturg.stores.index.draft import in_work
from dramaturg.stores.index.folder import IndexFolder, IndexKind, Manifest, Pointer, Published, S
from dramaturg.stores.index.records import R


class Index(Generic[R, S]):
    """One kind of index of a role: its versions are read once and shared by threads, and made by its builder."""

    def __init__(self, role: Path, kind: IndexKind[R, S], sources: Sources) -> None:
        self.kind = kind
        self.sources = sources
        self.folder = IndexFolder(role, kind)
        self._lock = RLock()
        self._stores: dict[Published, S] = {}
        self._builder: IndexBuilder[R] | None = None

    @property
    def builder(self) -> IndexBuilder[R]:
        """What makes new versions; one for all threads."""
        with self._lock:
            self._builder = self._builder or IndexBuilder(self.folder.role, self.kind, self.sources.story)
            return self._builder

    def manifest(self) -> Manifest | None:
        """Return the manifest of what is published, or None; the vectors are not read."""
        current = self.folder.pointer()
        return self.folder.manifest(current.versions[0]) if current else None

    def held(self, version: str | None) -> S | None:
        """Return a named version that this process has open; it waits for nothing."""
        return next((one for one in tuple(self._stores.values()) if one.version == version), None)

    def open(self, version: str | None = None, *, hold: bool = True) -> S:
        """Return the current or the named version, verified; `hold`: and keep it open for the next who reads it.

        A current version that is damaged is stood in for by the last one that is whole; its `warning` says so. A named
        version that this process has open is given also when it was removed meanwhile.

        Raises:
            MissingIndex: the role is not indexed, or has no such version.
            DamagedIndex: the named version, or every version, is not what was published.
        """
        with self._lock:
            if (opened := self.held(version)) is not None:
                return opened
        for _ in range(3):
            current = self.folder.pointer()
            store, error = self._first_whole(current, version, hold=hold)
            if error is not None and self.folder.pointer() != current:
                continue  # a builder has removed the version since the pointer was read
            if store is None and version and (restored := self.folder.restored(version)):
                return self.kind.store.open(self.folder, restored)
            if store is None:
                raise error or (self.folder.gone(version) if version and current else self.folder.missing())
            return store if error is None else store.in_place_of(error)
        raise self.folder.missing(version)

    def unchanged(self, embedding: str, settings: str) -> Manifest | None:
        """Return the manifest of the version that is read, if indexing would come to just that again.

        Nothing was left to do, nothing has changed since, nobody was killed on the way, and all that lies there is as
        it was written: it is compared, and not read any further.

        Args:
            embedding: the name of the embedding model.
            settings: what `Done.settings` is compared with.
        """
        folder, kept = self.folder, KeptDocuments(self.folder.role)
        try:
            current = folder.pointer()
            if current is None or any(kept_files(folder)) or any(map(left_aside, folder.written_in())):
                return None
            published = current.versions[0]
            manifest = folder.manifest(published)
            if manifest.done is None or manifest.done.settings != settings:
                return None
            if in_work(folder, manifest) or not manifest.made_from(embedding, self.sources.checksums()):
                return None
            for name in manifest.files:
                folder.content(published, manifest, name)
        except (DamagedIndex, MissingIndex):
            return None
        whole = all(kept.read(digest) is not None for digest in folder.made_from(published) if digest)
        return manifest if whole and folder.pointers_are_alike() else None

    def forget(self) -> None:
        """Let go of the versions that are open, and of what the builder remembers."""
        with self._lock:
            self._stores = {}
        self.builder.forget()

    def _first_whole(
        self, current: Pointer | None, version: str | None, *, hold: bool
    ) -> tuple[S | None, DamagedIndex | MissingIndex | None]:
        """The first version that can be read, and why the one before it could not."""
        trouble: DamagedIndex | MissingIndex | None = None
        kept = current.versions if current else ()
        for published in kept:
            if version not in (None, published.version):
                continue
            try:
                with self._lock:
                    store = self._stores.get(published) or self.kind.store.open(self.folder, published)
                    self._stores = {one: open_ for one, open_ in self._stores.items() if one in kept}
                    if hold:
                        self._stores[published] = store
                    return store, trouble
            except (DamagedIndex, MissingIndex) as error:
                trouble = trouble or error
        return None, trouble
