"""How a version of an index is built: a draft of records, vectors and answers as they come, then published at once."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic

import numpy as np
from numpy.typing import ArrayLike
from pydantic import JsonValue

from dramaturg.stores.documents.merges import keep_decisions
from dramaturg.stores.documents.sources import Sources, StoryFolder, no_story
from dramaturg.stores.errors import EmbeddingMismatch, MissingIndex, RoleError
from dramaturg.stores.files import sha256, sweep
from dramaturg.stores.index.answers import ANSWERS, KnownAnswers, drop_kept, encode_answers, save_answers
from dramaturg.stores.index.draft import (
    COMPARED,
    FRESH,
    IndexDraft,
    KnownVectors,
    Recipe,
    Vector,
    encode_vectors,
    key,
    remove_drafts,
)
from dramaturg.stores.index.folder import (
    Done,
    EmbeddingRecord,
    IndexFolder,
    IndexKind,
    Manifest,
    Published,
    decisions_in,
    drop_documents,
    version_id,
)
from dramaturg.stores.index.kinds import KINDS
from dramaturg.stores.index.records import R, encode_records
from dramaturg.stores.index.vectors import Vectors, pack, unit_rows
from dramaturg.stores.locks import role_lock

KEPT = 4  # versions beside the one that is served
DRAFTS = 2  # drafts of others


class IndexBuilder(Generic[R]):
    """Builds one kind of index of a role: `draft`, then `add_vectors` and `add_answers`, then `publish`.

    Every step may be repeated. What a model has answered or embedded is kept at once, by what was asked: a build that
    was killed goes on where it was, two builders of the same content work on the same draft, and a new version asks
    only what no version and no draft has asked. Readers are served the old version until `publish` has switched. Each
    step holds a lock across processes for as long as it takes. All of it blocks.

    What was answered or embedded for the story of the role is not asked again for the role.

    Every step but `draft`, `known`, `known_here` and `keep` raises MissingIndex if there is no such draft.

    Raises:
        RoleError: an index of this name is of another kind.
    """

    def __init__(self, role: Path, kind: IndexKind[R, Any], story: StoryFolder = no_story) -> None:
        if any(one.name == kind.name and one != kind for one in KINDS):
            raise RoleError(f"The index {kind.name!r} is of another kind: take `kind_named({kind.name!r})`.")
        self._kind = kind
        self._folder = IndexFolder(role, kind)
        self._drafts: dict[str, IndexDraft[R]] = {}
        self._story = story
        self._vectors = KnownVectors(self._folder, story=story)
        self._answers = KnownAnswers(map(self._folder.beside, kind.answers), story=story)
        self._fresh: dict[str, tuple[KnownVectors, KnownAnswers]] = {}
        """By draft, what was had for it alone: all that counts for one that is made anew."""

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
        """Begin a version, or find it again; return the id of the draft, the hash of all of this.

        Args:
            records: all of the version, in their order; their ids differ.
            embedding: the name of the embedding model.
            settings: how the records were made; part of what makes the version.
            sources: the SHA-256 of each file that they were made from, by its name.
            fresh: embed and ask all of it, whatever there is; begun once, it goes on until it is published.
            after: the fresh draft that this one takes the place of, with its vectors and answers.

        Raises:
            RoleError: there are no records, they are of another kind, or two have one id.
        """
        for wrong in {type(record) for record in records} - {self._kind.records}:
            raise RoleError(
                f"A {wrong.__name__} is no record of the index {self._kind.name!r}: "
                "begin its draft with the builder of its own kind."
            )
        if not records:
            raise RoleError(
                f"{self._folder.role.name!r} has nothing to index ({self._kind.name}): write something into the "
                f"files that it is made from, then run `{self._folder.command}`."
            )
        if len({record.id for record in records}) < len(records):
            raise RoleError("Two records have the same id: give each its own.")
        recipe = Recipe(kind=self._kind.name, embedding=embedding, settings=dict(settings), sources=dict(sources))
        draft = IndexDraft.of(self._folder, recipe, records)
        with self._lock():
            draft.mark(self._folder, fresh=fresh, after=after)
            draft.write(self._folder)
        self._drafts[draft.version] = draft
        return draft.version

    def without(self, draft: str, ids: Collection[str]) -> str:
        """Go on with a draft without some of its records; return the id of the draft that takes its place."""
        before = self._open(draft)
        recipe, left = before.recipe, [record for record in before.records if record.id not in ids]
        how: dict[str, Any] = {name: getattr(recipe, name) for name in ("embedding", "settings", "sources")}
        return self.draft(left, fresh=before.fresh, after=draft, **how)

    def records(self, draft: str) -> tuple[R, ...]:
        """Return the records of a draft."""
        return self._open(draft).records

    def settings(self, draft: str) -> Mapping[str, JsonValue]:
        """Return the settings that a draft was begun with."""
        return self._open(draft).recipe.settings

    def answers(self, draft: str) -> Mapping[str, JsonValue]:
        """Return the answers that count for a draft."""
        with self._lock():
            return self._known_for(self._open(draft))[1].all()

    def known(self) -> Mapping[str, JsonValue]:
        """Return all answers that there are."""
        with self._lock():
            return self.known_here()

    def known_here(self) -> Mapping[str, JsonValue]:
        """The same for a turn, which does not wait for who changes the role.

        Where the role is in a database, what another machine has kept since it was opened here is not among them.
        """
        return self._answers.all()

    def add_answers(self, draft: str, answers: Mapping[str, JsonValue]) -> None:
        """Keep answers, at once and for good."""
        if answers:
            with self._lock():
                save_answers(self._folder, self._open(draft).folder, answers)

    def keep(self, answers: Mapping[str, JsonValue]) -> None:
        """Keep answers that were asked for beside any draft, as in a conversation; the next version takes them in."""
        if answers:
            with self._lock():
                save_answers(self._folder, self._folder.path, answers)

    def unembedded(self, draft: str, texts: Sequence[str] | None = None) -> list[str]:
        """Return which texts have no vector yet, each once; without `texts`, those of the records.

        None of a version that is published already, and that is not made anew.
        """
        with self._lock():
            if self._published(draft):
                return []
            opened = self._open(draft)
            known = self._vectors_for(opened)
        wanted = _texts(opened) if texts is None else texts
        return [text for text in dict.fromkeys(wanted) if key(text) not in known]

    def to_embed(self, texts: Sequence[str], embedding: str) -> list[str]:
        """Return which texts a version would have to embed, each once; nothing is written."""
        known = KnownVectors(self._folder, story=self._story).of(embedding)
        return [text for text in dict.fromkeys(texts) if key(text) not in known]

    def add_vectors(self, draft: str, texts: Sequence[str], vectors: ArrayLike) -> None:
        """Keep vectors of shape (len(texts), d), at once and for good.

        Raises:
            ValueError: the shape or a number is wrong.
            EmbeddingMismatch: the model gave another dimension before.
        """
        if not texts:
            return
        rows = unit_rows(vectors)
        if len(rows) != len(texts):
            raise ValueError(f"There are {len(texts)} texts but {len(rows)} vectors.")
        with self._lock():
            opened = self._open(draft)
            before = next((len(vector) for vector in self._vectors_for(opened).values()), rows.shape[1])
            if before != rows.shape[1]:
                raise EmbeddingMismatch(
                    f"{opened.recipe.embedding} gave {before} dimensions before and {rows.shape[1]} now: give it back "
                    f"the model it was, or run `{self._folder.command} --rebuild`."
                )
            opened.save(self._folder, texts, rows)

    def vectors(self, draft: str, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of texts, of shape (len(texts), d); MissingIndex: one has none yet."""
        with self._lock():
            return np.stack(self._rows(self._open(draft), texts))

    def publish(
        self,
        draft: str,
        counts: Mapping[str, int],
        *,
        files: Mapping[str, bytes] | None = None,
        texts: Sequence[str] | None = None,
        used: Mapping[str, JsonValue] | None = None,
        compared: Sequence[str] = (),
        done: Done | None = None,
        sources: Sources | None = None,
    ) -> Manifest:
        """Make a version of a draft the one that is served; the last four before it are kept.

        Args:
            draft: what it is made from.
            counts: what it holds, for people.
            files: its files beside the records, vectors and answers.
            texts: what its vectors are of; None: the records.
            used: the answers that it rests on; others are not kept longer than the drafts that hold them.
            compared: texts whose vectors are kept with it for the next version, but are none of its own.
            done: what indexing would come to again, where nothing is left to do.
            sources: the files that it was made from; they are compared, and kept with the version. Without it, who
                publishes last is served.

        Raises:
            RoleError: the files are of another kind, or do not fit the records; nothing is written.
            MissingIndex: there is no such draft, or a text has no vector yet.
            StaleDraft: the sources have changed since; the old version is still served.
            StorageError: the file system refuses; the old version is still served, or the new one already.
        """
        beside, given = self._kind.store.FILES[1:-1], sorted(files or {})
        if given != sorted(beside):
            raise RoleError(
                f"Beside records and vectors the index {self._kind.name!r} has {' and '.join(beside) or 'no file'}, "
                f"not {' and '.join(given) or 'none'}: publish a draft with the builder and the files of its kind."
            )
        with self._lock():
            published = self._published(draft)
            if sources is not None:
                made = self._folder.manifest(published) if published else self._open(draft).recipe
                sources.keep(made.sources)
                if (decisions := decisions_in(made.settings)) is not None:
                    keep_decisions(self._folder.role, decisions)
            if published is None:
                published = self._store(self._open(draft), counts, files or {}, texts, used, compared, done)
            else:
                published = self._folder.marked(published, draft, done)
            manifest = self._folder.manifest(published)
            for name in self._kind.store.FILES:  # read back as it lies there; it was decoded before it was written
                self._folder.content(published, manifest, name)
            self._serve(published, done=draft)
            if used is not None:
                drop_kept(self._folder, used)
            self._forget(draft)
        return manifest

    def forget(self) -> None:
        """Let go of what is in memory."""
        with self._lock():
            self._drafts, self._fresh = {}, {}
            self._forget("")

    def _lock(self) -> AbstractContextManager[None]:
        return role_lock(self._folder.role)

    def _published(self, draft: str) -> Published | None:
        """The whole version that a recipe has made already, where a recipe makes one; none that is made anew."""
        if self._kind.answers or (self._folder.drafts / draft / FRESH).exists():
            return None
        return self._whole(draft)

    def _whole(self, version: str) -> Published | None:
        named = (one for one in self._folder.published() if one.version == version)
        return next((one for one in named if self._folder.whole(one) is not None), None)

    def _open(self, draft: str) -> IndexDraft[R]:
        opened = self._drafts.get(draft) or IndexDraft.read(self._folder, draft)
        if opened is None or not opened.folder.is_dir():
            raise MissingIndex(f"There is no draft {draft!r}: run `{self._folder.command}` from the start.")
        self._drafts[draft] = opened
        return opened

    def _known_for(self, draft: IndexDraft[R]) -> tuple[KnownVectors, KnownAnswers]:
        if not draft.fresh:
            return self._vectors, self._answers
        own = KnownVectors(self._folder, draft.version), KnownAnswers([self._folder], draft.version)
        return self._fresh.setdefault(draft.version, own)

    def _vectors_for(self, draft: IndexDraft[R]) -> Mapping[str, Vector]:
        return self._known_for(draft)[0].of(draft.recipe.embedding)

    def _rows(self, draft: IndexDraft[R], texts: Sequence[str]) -> list[Vector]:
        known = self._vectors_for(draft)
        missing = sum(key(text) not in known for text in texts)
        if missing:
            raise MissingIndex(f"{missing} texts have no vector yet: run `{self._folder.command}` again.")
        return [known[key(text)] for text in texts]

    def _store(
        self,
        draft: IndexDraft[R],
        counts: Mapping[str, int],
        files: Mapping[str, bytes],
        texts: Sequence[str] | None,
        used: Mapping[str, JsonValue] | None,
        compared: Sequence[str],
        done: Done | None,
    ) -> Published:
        """Put a version among the others; it is served only when the pointer is switched to it."""
        own = _texts(draft) if texts is None else texts
        first, *_, last = self._kind.store.FILES
        content = {first: encode_records(draft.records), **files}
        rows = self._rows(draft, own)
        manifest = Manifest(
            kind=draft.recipe.kind,
            version=draft.version,
            created=datetime.now(UTC),
            embedding=EmbeddingRecord(name=draft.recipe.embedding, dimension=len(rows[0])),
            settings=draft.recipe.settings,
            sources=draft.recipe.sources,
            counts=dict(counts),
            files={},
            done=done,
        )
        # Before there are vectors as bytes, so that what is decoded here is gone when they are.
        if not self._kind.store.holds(manifest, content, len(own)):
            names = ", ".join(self._kind.store.FILES)
            raise RoleError(f"{names} do not fit each other: make them from the records of the draft.")
        if used is not None:
            content[ANSWERS] = encode_answers(used)
        known = {*own}
        if beside := [text for text in dict.fromkeys(compared) if text not in known]:
            content[COMPARED] = encode_vectors(beside, self._rows(draft, beside))
        content[last] = pack(rows)
        del rows
        self._known_for(draft)[0].forget()  # the file is read back below, beside the vectors that it was made from
        version = draft.version
        if self._kind.answers:
            version = version_id({"draft": version, "files": {name: sha256(data) for name, data in content.items()}})
            if (there := self._whole(version)) is not None:
                return self._folder.marked(there, draft.version, done)
        new, records = self._folder.divided(content, manifest.embedding.dimension, share=not draft.fresh)
        del content
        manifest = manifest.model_copy(update={"version": version, "files": records})
        return self._folder.put(draft.version, manifest, new)

    def _serve(self, published: Published, *, done: str) -> None:
        """Switch to a version; those before it are kept, and what nobody needs any more is removed."""
        index = self._folder
        others = [one for one in index.published() if one.version != published.version]
        kept = [published, *[one for one in others if index.folder_of(one).is_dir()][:KEPT]]
        index.switch(kept)
        remove_drafts(index, done, keep=DRAFTS)
        index.drop_others(kept)
        for folder in index.written_in():
            sweep(folder)  # drafts, too, are written under the lock that is held here
        drop_documents(index)

    def _forget(self, draft: str) -> None:
        self._drafts.pop(draft, None)
        self._fresh.pop(draft, None)
        self._vectors.forget()
        self._answers.forget()


def _texts(draft: IndexDraft[Any]) -> list[str]:
    return [record.embedding_text for record in draft.records]
