"""How passages are published: a draft, vectors as they come, then all at once."""

import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import JsonValue

from dramaturg.stores.draft import Draft, Recipe, key, remove_drafts, saved_vectors
from dramaturg.stores.errors import DamagedIndex, EmbeddingMismatch, MissingIndex, RoleError
from dramaturg.stores.files import move_folder, sha256, write_bytes
from dramaturg.stores.index_folder import MANIFEST, IndexFolder
from dramaturg.stores.manifest import Current, EmbeddingRecord, FileRecord, Manifest, Published
from dramaturg.stores.passages import PASSAGES, VECTORS, PassageStore, StoredPassage, encode_passages
from dramaturg.stores.vectors import pack, unit_rows

KEPT = 2  # versions beside the current one, and drafts of others


class PassageBuilder:
    """Builds one kind of passages of a role: `draft`, then `pending` and `add_vectors`, then `publish`.

    Every step may be repeated: a version is named by its content, so a build that was killed goes on where it was,
    and two builders of the same content work on the same draft. Readers are served the old version until `publish`
    has switched. Each step holds a lock across processes for as long as it takes. All of it blocks.
    """

    def __init__(self, folder: IndexFolder) -> None:
        self._folder = folder
        self._drafts: dict[str, Draft] = {}

    def draft(
        self,
        passages: Sequence[StoredPassage],
        *,
        embedding: str,
        settings: Mapping[str, JsonValue],
        sources: Mapping[str, str],
    ) -> str:
        """Begin a version, or find it again.

        Args:
            passages: all of the version, in their order; their ids differ.
            embedding: the name of the embedding model.
            settings: how the passages were made; part of what makes the version.
            sources: the SHA-256 of each document, by its name.

        Returns:
            The id of the version: the hash of all of this.

        Raises:
            RoleError: there are no passages, or two have one id.
            StorageError: the file system refuses.
        """
        if not passages:
            raise RoleError(f"{self._role!r} has no passages to index: write a document into its persona folder.")
        if len({passage.id for passage in passages}) < len(passages):
            raise RoleError("Two passages have the same id: give each its own.")
        recipe = Recipe(kind=self._folder.kind, embedding=embedding, settings=dict(settings), sources=dict(sources))
        with self._folder.lock():
            draft = Draft.write(self._folder, recipe, passages)
        self._drafts[draft.version] = draft
        return draft.version

    def pending(self, version: str) -> list[StoredPassage]:
        """Return the passages that have to be embedded.

        Left out are those whose text this embedding model embedded before, in a draft or in the current version.

        Raises:
            MissingIndex: there is no such draft.
        """
        with self._folder.lock():
            if self._published(version):
                return []
            draft = self._open(version)
            known = self._known(draft.recipe.embedding)
        return [passage for passage in draft.passages if key(passage) not in known]

    def add_vectors(self, version: str, ids: Sequence[str], vectors: ArrayLike) -> None:
        """Save vectors of shape (len(ids), d) of some passages of a draft, at once and for good.

        Raises:
            ValueError: an id is unknown, or the shape or a number is wrong.
            EmbeddingMismatch: the model gave another dimension before.
            MissingIndex: there is no such draft.
        """
        rows = unit_rows(vectors) if len(ids) else np.empty((0, 1), np.float32)
        if len(rows) != len(ids):
            raise ValueError(f"There are {len(ids)} passages but {len(rows)} vectors.")
        with self._folder.lock():
            draft = self._open(version)
            by_id = {passage.id: passage for passage in draft.passages}
            unknown = [passage_id for passage_id in ids if passage_id not in by_id]
            if unknown:
                raise RoleError(f"The draft {version} has no passage {unknown[0]!r}.")
            self._require_dimension(draft.recipe.embedding, rows.shape[1])
            if len(ids):
                draft.save(self._folder, [by_id[passage_id] for passage_id in ids], rows)

    def publish(self, version: str) -> Manifest:
        """Make a version the one that is served; the last two before it are kept.

        Raises:
            MissingIndex: there is no such draft, or a passage of it has no vector yet.
            StorageError: the file system refuses; the old version is still served.
        """
        with self._folder.lock():
            published = self._published(version) or self._store(self._open(version))
            manifest = PassageStore.open(self._folder, published).manifest
            before = [one for one in self._versions() if one.version != version]
            self._folder.switch([published, *before[:KEPT]])
            self._tidy({version, *(one.version for one in before[:KEPT])}, version)
        self._drafts.pop(version, None)
        return manifest

    def clear(self) -> None:
        """Remove drafts and versions, so that everything is embedded again; nothing is served until then."""
        with self._folder.lock():
            shutil.rmtree(self._folder.path, ignore_errors=True)
        self._drafts.clear()

    @property
    def _role(self) -> str:
        return self._folder.role.name

    def _open(self, version: str) -> Draft:
        draft = self._drafts.get(version) or Draft.read(self._folder, version)
        if draft is None or not draft.folder.is_dir():
            raise MissingIndex(f"There is no draft {version!r}: run `dramaturg index {self._role}` from the start.")
        self._drafts[version] = draft
        return draft

    def _current(self) -> Current | None:
        try:
            return self._folder.current()
        except DamagedIndex:
            return None  # what is built now takes its place

    def _versions(self) -> Sequence[Published]:
        current = self._current()
        return current.versions if current else ()

    def _published(self, version: str) -> Published | None:
        """Return a version that is published and whole."""
        for published in self._versions():
            if published.version == version and self._store_of(published):
                return published
        return None

    def _store_of(self, published: Published) -> PassageStore | None:
        try:
            return PassageStore.open(self._folder, published)
        except (DamagedIndex, MissingIndex):
            return None

    def _known(self, embedding: str) -> dict[str, NDArray[np.float32]]:
        known: dict[str, NDArray[np.float32]] = {}
        store = self._store_of(self._versions()[0]) if self._versions() else None
        if store and store.manifest.embedding.name == embedding:
            known.update(zip(map(key, store.passages), store.vectors(), strict=True))
        known.update(saved_vectors(self._folder, embedding))
        return known

    def _require_dimension(self, embedding: str, dimension: int) -> None:
        store = self._store_of(self._versions()[0]) if self._versions() else None
        if store and store.manifest.embedding.name == embedding:
            store.require(embedding, dimension)

    def _store(self, draft: Draft) -> Published:
        """Write the folder of a version beside the others and move it among them."""
        known = self._known(draft.recipe.embedding)
        missing = sum(key(passage) not in known for passage in draft.passages)
        if missing:
            raise MissingIndex(f"{missing} passages have no vector yet: run `dramaturg index {self._role}` again.")
        rows = [known[key(passage)] for passage in draft.passages]
        if len({len(row) for row in rows}) > 1:
            raise EmbeddingMismatch(f"Vectors differ in length: run `dramaturg index {self._role} --rebuild`.")
        files = {PASSAGES: encode_passages(draft.passages), VECTORS: pack(np.stack(rows))}
        manifest = _manifest(draft, len(rows[0]), files).encoded()
        return self._move_in(draft, {**files, MANIFEST: manifest})

    def _move_in(self, draft: Draft, files: Mapping[str, bytes]) -> Published:
        folder, target = draft.folder / "version", self._folder.versions / draft.version
        shutil.rmtree(folder, ignore_errors=True)
        for name, data in files.items():
            write_bytes(folder / name, data, within=self._folder.role)
        if target.exists():  # of a build that was killed before the switch, or damaged
            move_folder(target, draft.folder / f"replaced-{sha256(files[MANIFEST])[:8]}", within=self._folder.role)
        move_folder(folder, target, within=self._folder.role)
        return Published(version=draft.version, manifest=sha256(files[MANIFEST]))

    def _tidy(self, versions: set[str], done: str) -> None:
        remove_drafts(self._folder, done, keep=KEPT)
        for folder in self._folder.versions.glob("*"):
            if folder.name not in versions:
                shutil.rmtree(folder, ignore_errors=True)
        for aside in self._folder.path.glob(".*.tmp"):
            aside.unlink(missing_ok=True)


def _manifest(draft: Draft, dimension: int, files: Mapping[str, bytes]) -> Manifest:
    return Manifest(
        kind=draft.recipe.kind,
        version=draft.version,
        created=datetime.now(UTC),
        embedding=EmbeddingRecord(name=draft.recipe.embedding, dimension=dimension),
        settings=draft.recipe.settings,
        sources=draft.recipe.sources,
        counts={"passages": len(draft.passages)},
        files={name: FileRecord(sha256=sha256(data), bytes=len(data)) for name, data in files.items()},
    )
