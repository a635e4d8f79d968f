"""How passages are published: a draft, vectors as they come, then all at once."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from pydantic import JsonValue

from dramaturg.stores.drafts import Drafts
from dramaturg.stores.errors import MissingIndex, RoleError
from dramaturg.stores.index.draft import FRESH, Draft, key
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.manifest import Manifest, Published
from dramaturg.stores.index.passages import PASSAGES, VECTORS, PassageStore, StoredPassage
from dramaturg.stores.index.records import encode_records
from dramaturg.stores.index.vectors import pack, unit_rows
from dramaturg.stores.known_vectors import KnownVectors
from dramaturg.stores.publication import serve, store_version
from dramaturg.stores.sources import Sources
from dramaturg.stores.whole_versions import whole_version


class PassageBuilder:
    """Builds one kind of passages of a role: `draft`, then `pending` and `add_vectors`, then `publish`.

    Every step may be repeated: a version is named by its content, so a build that was killed goes on where it was,
    and two builders of the same content work on the same draft. Readers are served the old version until `publish`
    has switched. Each step holds a lock across processes for as long as it takes. All of it blocks.
    """

    def __init__(self, folder: IndexFolder) -> None:
        self._folder = folder
        self._drafts = Drafts(folder, StoredPassage)

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
        draft = self._drafts.begin(
            passages, embedding=embedding, settings=settings, sources=sources, fresh=fresh, after=after
        )
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
            draft = self._drafts.open(version)
            known = self._drafts.vectors(draft)
        return [passage for passage in draft.records if key(passage.embedding_text) not in known]

    def unknown(self, passages: Sequence[StoredPassage], embedding: str) -> list[StoredPassage]:
        """Return which of these passages would have to be embedded; nothing is written."""
        known = KnownVectors(self._folder).of(embedding)
        return [passage for passage in passages if key(passage.embedding_text) not in known]

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
            draft = self._drafts.open(version)
            by_id = {passage.id: passage for passage in draft.records}
            unknown = [passage_id for passage_id in ids if passage_id not in by_id]
            if unknown:
                raise RoleError(f"The draft {version} has no passage {unknown[0]!r}.")
            self._drafts.require_dimension(draft, rows.shape[1])
            draft.save(self._folder, [by_id[passage_id].embedding_text for passage_id in ids], rows)

    def publish(self, version: str, sources: Sources | None = None) -> Manifest:
        """Make a version the one that is served; the last four before it are kept.

        Args:
            version: the draft.
            sources: the documents that it was made from; they are compared, and kept with the version. Without it, who
                publishes last is served.

        Raises:
            MissingIndex: there is no such draft, or a passage of it has no vector yet.
            StaleDraft: the documents have changed since; the old version is still served.
            StorageError: the file system refuses; the old version is still served, or the new one already.
        """
        with self._folder.lock():
            published = self._published(version)
            if sources is not None:
                sources.keep(
                    self._folder.manifest(published).sources if published else self._drafts.open(version).recipe.sources
                )
            published = published or self._store(self._drafts.open(version))
            manifest = PassageStore.open(self._folder, published).manifest
            serve(self._folder, published, done=version)
            self._drafts.forget(version)
        return manifest

    def forget(self) -> None:
        """Let go of what is in memory."""
        with self._folder.lock():
            self._drafts.forget()

    def _published(self, version: str) -> Published | None:
        """Return a version that is published and whole, unless it is being embedded anew."""
        return None if (self._folder.drafts / version / FRESH).exists() else whole_version(self._folder, version)

    def _store(self, draft: Draft[StoredPassage]) -> Published:
        """Put the folder of a version among the others."""
        known = self._drafts.vectors(draft)
        keys = [key(passage.embedding_text) for passage in draft.records]
        missing = sum(one not in known for one in keys)
        if missing:
            raise MissingIndex(f"{missing} passages have no vector yet: run `{self._folder.command}` again.")
        vectors = np.stack([known[one] for one in keys])
        files = {PASSAGES: encode_records(draft.records), VECTORS: pack(vectors)}
        counts = {"passages": len(draft.records)}
        return store_version(self._folder, draft, draft.version, files, counts, dimension=vectors.shape[1])
