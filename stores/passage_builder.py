"""How passages are published: a draft, vectors as they come, then all at once."""

import contextlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from pydantic import JsonValue

from dramaturg.stores.draft import Draft, Recipe, key, remove_drafts
from dramaturg.stores.errors import DamagedIndex, EmbeddingMismatch, MissingIndex, RoleError
from dramaturg.stores.files import remove
from dramaturg.stores.index_folder import IndexFolder
from dramaturg.stores.known_vectors import KnownVectors
from dramaturg.stores.manifest import Current, Manifest, Published
from dramaturg.stores.passages import PassageStore, StoredPassage
from dramaturg.stores.publication import store_version
from dramaturg.stores.vectors import unit_rows

KEPT = 2  # versions beside the current one, and drafts of others


class PassageBuilder:
    """Builds one kind of passages of a role: `draft`, then `pending` and `add_vectors`, then `publish`.

    Every step may be repeated: a version is named by its content, so a build that was killed goes on where it was,
    and two builders of the same content work on the same draft. Readers are served the old version until `publish`
    has switched. Each step holds a lock across processes for as long as it takes. All of it blocks.
    """

    def __init__(self, folder: IndexFolder) -> None:
        self._folder = folder
        self._known = KnownVectors(folder)
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
            known = self._known.of(draft.recipe.embedding)
        return [passage for passage in draft.passages if key(passage) not in known]

    def add_vectors(self, version: str, ids: Sequence[str], vectors: ArrayLike) -> None:
        """Save vectors of shape (len(ids), d) of some passages of a draft, at once and for good.

        Raises:
            ValueError: an id is unknown, or the shape or a number is wrong.
            EmbeddingMismatch: the model gave another dimension before.
            MissingIndex: there is no such draft.
        """
        if not len(ids):
            return
        rows = unit_rows(vectors)
        if len(rows) != len(ids):
            raise ValueError(f"There are {len(ids)} passages but {len(rows)} vectors.")
        with self._folder.lock():
            draft = self._open(version)
            by_id = {passage.id: passage for passage in draft.passages}
            unknown = [passage_id for passage_id in ids if passage_id not in by_id]
            if unknown:
                raise RoleError(f"The draft {version} has no passage {unknown[0]!r}.")
            self._require_dimension(draft.recipe.embedding, rows.shape[1])
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
            self._known.forget()
        return manifest

    def clear(self) -> None:
        """Remove drafts and versions, so that everything is embedded again; nothing is served until then."""
        with self._folder.lock():
            remove(self._folder.path)
            self._drafts.clear()
            self._known.forget()

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

    def _require_dimension(self, embedding: str, dimension: int) -> None:
        for vector in self._known.of(embedding).values():
            if len(vector) != dimension:
                raise EmbeddingMismatch(
                    f"{embedding} gave {len(vector)} dimensions before and {dimension} now: give it back the model it "
                    f"was, or run `dramaturg index {self._role} --rebuild`."
                )
            return

    def _store(self, draft: Draft) -> Published:
        """Put the folder of a version among the others."""
        known = self._known.of(draft.recipe.embedding)
        missing = sum(key(passage) not in known for passage in draft.passages)
        if missing:
            raise MissingIndex(f"{missing} passages have no vector yet: run `dramaturg index {self._role}` again.")
        return store_version(self._folder, draft, np.stack([known[key(passage)] for passage in draft.passages]))

    def _tidy(self, versions: set[str], done: str) -> None:
        remove_drafts(self._folder, done, keep=KEPT)
        for folder in self._folder.versions.glob("*"):
            if folder.name not in versions:
                remove(folder)
        for aside in self._folder.path.glob(".*.tmp"):
            with contextlib.suppress(OSError):
                aside.unlink()
