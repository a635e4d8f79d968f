"""How passages are published: a draft, vectors as they come, then all at once."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from pydantic import JsonValue

from dramaturg.stores.draft import FRESH, Draft, Recipe, key
from dramaturg.stores.errors import EmbeddingMismatch, MissingIndex, RoleError
from dramaturg.stores.index_folder import IndexFolder
from dramaturg.stores.known_vectors import KnownVectors, Vector
from dramaturg.stores.manifest import Manifest, Published
from dramaturg.stores.passages import PassageStore, StoredPassage
from dramaturg.stores.persona import Persona
from dramaturg.stores.publication import store_version, tidy
from dramaturg.stores.vectors import unit_rows
from dramaturg.stores.whole_versions import listed, whole_version

KEPT = 4  # versions beside the one that is served
DRAFTS = 2  # drafts of others


class PassageBuilder:
    """Builds one kind of passages of a role: `draft`, then `pending` and `add_vectors`, then `publish`.

    Every step may be repeated: a version is named by its content, so a build that was killed goes on where it was,
    and two builders of the same content work on the same draft. Readers are served the old version until `publish`
    has switched. Each step holds a lock across processes for as long as it takes. All of it blocks.
    """

    def __init__(self, folder: IndexFolder) -> None:
        self._folder = folder
        self._known = KnownVectors(folder)
        self._own: dict[str, KnownVectors] = {}
        self._drafts: dict[str, Draft] = {}

    def draft(
        self,
        passages: Sequence[StoredPassage],
        *,
        embedding: str,
        settings: Mapping[str, JsonValue],
        sources: Mapping[str, str],
        fresh: bool = False,
        after: str = "",
    ) -> str:
        """Begin a version, or find it again.

        Args:
            passages: all of the version, in their order; their ids differ.
            embedding: the name of the embedding model.
            settings: how the passages were made; part of what makes the version.
            sources: the SHA-256 of each document, by its name.
            fresh: embed all of it, whatever vectors there are; begun once, it goes on until it is published.
            after: the fresh draft that this one takes the place of, with its vectors.

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
        draft = Draft.of(self._folder, recipe, passages)
        with self._folder.lock():
            draft.mark(self._folder, fresh=fresh, after=after)
            draft.write(self._folder)
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
            known = self._known_to(draft)
        return [passage for passage in draft.passages if key(passage) not in known]

    def unknown(self, passages: Sequence[StoredPassage], embedding: str) -> list[StoredPassage]:
        """Return which of these passages would have to be embedded; nothing is written."""
        known = KnownVectors(self._folder).of(embedding)
        return [passage for passage in passages if key(passage) not in known]

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
            self._require_dimension(draft, rows.shape[1])
            draft.save(self._folder, [by_id[passage_id] for passage_id in ids], rows)

    def publish(self, version: str, persona: Persona | None = None) -> Manifest:
        """Make a version the one that is served; the last four before it are kept.

        Args:
            version: the draft.
            persona: the documents that it was made from; they are compared, and kept with the version. Without it, who
                publishes last is served.

        Raises:
            MissingIndex: there is no such draft, or a passage of it has no vector yet.
            StaleDraft: the documents have changed since; the old version is still served.
            StorageError: the file system refuses; the old version is still served, or the new one already.
        """
        with self._folder.lock():
            published = self._published(version)
            if persona is not None:
                persona.keep(
                    self._folder.manifest(published).sources if published else self._open(version).recipe.sources
                )
            published = published or self._store(self._open(version))
            manifest = PassageStore.open(self._folder, published).manifest
            before = [
                one for one in listed(self._folder) if one.version != version and self._folder.folder_of(one).is_dir()
            ]
            self._folder.switch([published, *before[:KEPT]])
            tidy(self._folder, [published, *before[:KEPT]], done=version, drafts=DRAFTS)
            self._forget(version)
        return manifest

    def forget(self) -> None:
        """Let go of what is in memory."""
        with self._folder.lock():
            self._drafts.clear()
            self._forget("")

    @property
    def _role(self) -> str:
        return self._folder.role.name

    def _open(self, version: str) -> Draft:
        draft = self._drafts.get(version) or Draft.read(self._folder, version)
        if draft is None or not draft.folder.is_dir():
            raise MissingIndex(f"There is no draft {version!r}: run `dramaturg index {self._role}` from the start.")
        self._drafts[version] = draft
        return draft

    def _forget(self, version: str) -> None:
        self._drafts.pop(version, None)
        self._own.pop(version, None)
        self._known.forget()

    def _known_to(self, draft: Draft) -> Mapping[str, Vector]:
        """The vectors that count for a draft."""
        known = self._known
        if draft.fresh:
            known = self._own.setdefault(draft.version, KnownVectors(self._folder, draft.version))
        return known.of(draft.recipe.embedding)

    def _published(self, version: str) -> Published | None:
        """Return a version that is published and whole, unless it is being embedded anew."""
        return None if (self._folder.drafts / version / FRESH).exists() else whole_version(self._folder, version)

    def _require_dimension(self, draft: Draft, dimension: int) -> None:
        embedding = draft.recipe.embedding
        for vector in self._known_to(draft).values():
            if len(vector) != dimension:
                raise EmbeddingMismatch(
                    f"{embedding} gave {len(vector)} dimensions before and {dimension} now: give it back the model it "
                    f"was, or run `dramaturg index {self._role} --rebuild`."
                )
            return

    def _store(self, draft: Draft) -> Published:
        """Put the folder of a version among the others."""
        known = self._known_to(draft)
        missing = sum(key(passage) not in known for passage in draft.passages)
        if missing:
            raise MissingIndex(f"{missing} passages have no vector yet: run `dramaturg index {self._role}` again.")
        return store_version(self._folder, draft, np.stack([known[key(passage)] for passage in draft.passages]))
