"""How an index that a chat model is asked for is built: a draft of records, answers and vectors as they come."""

from collections.abc import Mapping, Sequence
from typing import Generic

import numpy as np
from numpy.typing import ArrayLike
from pydantic import JsonValue

from dramaturg.stores.drafts import Drafts
from dramaturg.stores.errors import MissingIndex
from dramaturg.stores.files import sha256
from dramaturg.stores.index.answers import ANSWERS, KnownAnswers, encode_answers, save_answers
from dramaturg.stores.index.draft import Draft, key
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.kinds import open_store
from dramaturg.stores.index.manifest import Manifest, version_id
from dramaturg.stores.index.records import R
from dramaturg.stores.index.vectors import Vectors, pack, unit_rows
from dramaturg.stores.publication import serve, store_version
from dramaturg.stores.sources import Sources
from dramaturg.stores.whole_versions import whole_version


class AskingBuilder(Generic[R]):
    """The steps of `GraphBuilder` and `MemoryBuilder` before they publish.

    What a model has answered or embedded is kept at once, by what was asked: a build that was killed goes on where it
    was, and a new version asks only what no version and no draft has asked. All of it blocks.

    Args:
        folder: the index.
        records: what it is made of.
        alike: the kinds of index that ask the same of the same texts.
    """

    def __init__(self, folder: IndexFolder, records: type[R], alike: Sequence[str]) -> None:
        self._folder = folder
        self._drafts = Drafts(folder, records)
        self._own: dict[str, KnownAnswers] = {}
        self._known = KnownAnswers(IndexFolder(folder.role, kind) for kind in alike)

    def draft(
        self,
        records: Sequence[R],
        *,
        embedding: str,
        settings: Mapping[str, JsonValue],
        sources: Mapping[str, str],
        fresh: bool = False,
        after: str = "",
    ) -> str:
        """Begin a version, or find it again; see `PassageBuilder.draft`.

        Raises:
            RoleError: there are no records, or two have one id.
            StorageError: the file system refuses.
        """
        draft = self._drafts.begin(
            records, embedding=embedding, settings=settings, sources=sources, fresh=fresh, after=after
        )
        return draft.version

    def records(self, draft: str) -> tuple[R, ...]:
        """Return the records of a draft.

        Raises:
            MissingIndex: there is no such draft.
        """
        return self._open(draft).records

    def settings(self, draft: str) -> Mapping[str, JsonValue]:
        """Return the settings that a draft was begun with.

        Raises:
            MissingIndex: there is no such draft.
        """
        return self._open(draft).recipe.settings

    def answers(self, draft: str) -> Mapping[str, JsonValue]:
        """Return the answers that count for a draft.

        Raises:
            MissingIndex: there is no such draft.
        """
        with self._folder.lock():
            return dict(self._answers(self._open(draft)).all())

    def known(self) -> Mapping[str, JsonValue]:
        """Return all answers that there are."""
        with self._folder.lock():
            return dict(self._known.all())

    def add_answers(self, draft: str, answers: Mapping[str, JsonValue]) -> None:
        """Keep answers, at once and for good.

        Raises:
            MissingIndex: there is no such draft.
            StorageError: the file system refuses.
        """
        if answers:
            with self._folder.lock():
                save_answers(self._folder, self._open(draft).folder, answers)

    def keep(self, answers: Mapping[str, JsonValue]) -> None:
        """Keep answers that were asked for beside any draft, such as in a conversation; the next version takes them in.

        Raises:
            StorageError: the file system refuses.
        """
        if answers:
            with self._folder.lock():
                save_answers(self._folder, self._folder.path, answers)

    def unembedded(self, draft: str, texts: Sequence[str]) -> list[str]:
        """Return which texts have no vector yet, each once.

        Raises:
            MissingIndex: there is no such draft.
        """
        with self._folder.lock():
            known = self._drafts.vectors(self._open(draft))
        return [text for text in dict.fromkeys(texts) if key(text) not in known]

    def add_vectors(self, draft: str, texts: Sequence[str], vectors: ArrayLike) -> None:
        """Keep vectors of shape (len(texts), d), at once and for good.

        Raises:
            ValueError: the shape or a number is wrong.
            EmbeddingMismatch: the model gave another dimension before.
            MissingIndex: there is no such draft.
        """
        if not texts:
            return
        rows = unit_rows(vectors)
        if len(rows) != len(texts):
            raise ValueError(f"There are {len(texts)} texts but {len(rows)} vectors.")
        with self._folder.lock():
            opened = self._open(draft)
            self._drafts.require_dimension(opened, rows.shape[1])
            opened.save(self._folder, texts, rows)

    def vectors(self, draft: str, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of texts, of shape (len(texts), d).

        Raises:
            MissingIndex: there is no such draft, or a text has no vector yet.
        """
        with self._folder.lock():
            return self._rows(self._open(draft), texts)

    def forget(self) -> None:
        """Let go of what is in memory."""
        with self._folder.lock():
            self._forget("")

    def _publish(
        self,
        draft: str,
        files: Mapping[str, bytes],
        embedded: tuple[str, Sequence[str]],
        used: Mapping[str, JsonValue],
        counts: Mapping[str, int],
        sources: Sources | None,
    ) -> Manifest:
        """Make files the version that is served, with the vectors (the file's name, the texts) and the answers used."""
        with self._folder.lock():
            opened = self._open(draft)
            if sources is not None:
                sources.keep(opened.recipe.sources)
            vectors = self._rows(opened, embedded[1])
            whole = {**files, ANSWERS: encode_answers(used), embedded[0]: pack(vectors)}
            version = version_id({"draft": draft, "files": {name: sha256(data) for name, data in whole.items()}})
            published = whole_version(self._folder, version) or store_version(
                self._folder, opened, version, whole, counts, dimension=vectors.shape[1]
            )
            manifest = open_store(self._folder, published).manifest
            serve(self._folder, published, done=draft)
            self._forget(draft)
        return manifest

    def _open(self, draft: str) -> Draft[R]:
        return self._drafts.open(draft)

    def _answers(self, draft: Draft[R]) -> KnownAnswers:
        if draft.fresh:
            return self._own.setdefault(draft.version, KnownAnswers([self._folder], draft.version))
        return self._known

    def _rows(self, draft: Draft[R], texts: Sequence[str]) -> Vectors:
        known = self._drafts.vectors(draft)
        missing = [text for text in texts if key(text) not in known]
        if missing:
            raise MissingIndex(f"{len(missing)} texts have no vector yet: run `{self._folder.command}` again.")
        return np.stack([known[key(text)] for text in texts])

    def _forget(self, draft: str) -> None:
        self._drafts.forget(draft)
        self._own.pop(draft, None)
        self._known.forget()
