"""A version that is being built: its records, and the vectors had so far."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Generic, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, JsonValue

from dramaturg.stores.documents.sources import StoryFolder, no_story
from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError
from dramaturg.stores.files import inside, move_folder, remove, remove_file, sha256, write_bytes
from dramaturg.stores.index.folder import IndexFolder, Manifest, Published, version_id
from dramaturg.stores.index.parts import Digest
from dramaturg.stores.index.records import R, decode_records, encode_records
from dramaturg.stores.index.vectors import Vectors

RECIPE = "draft.json"
COMPARED = "compared.vectors"  # of a version: vectors of texts that are not its own, for the one after it
RECORDS = "passages.jsonl"  # of every kind
FRESH = "fresh"
HAD = ("vectors", "answers")  # what models have given for a draft so far
MOST = 8  # drafts of others that are kept, however new
IN_WORK = 3600.0  # seconds since a draft was touched in which somebody may go on with it
Vector = NDArray[np.float32]


class Recipe(BaseModel):
    """`draft.json`: what a version is made from, beside its records."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    embedding: str
    settings: dict[str, JsonValue]
    sources: dict[str, Digest]


@dataclass(frozen=True)
class IndexDraft(Generic[R]):
    """`drafts/<id>/`; the id is the hash of its content, so a changed file cannot be taken for it."""

    folder: Path
    recipe: Recipe
    records: tuple[R, ...]

    @classmethod
    def of(cls, index: IndexFolder, recipe: Recipe, records: Sequence[R]) -> Self:
        """Return a draft that need not be on the disk yet."""
        version = _version(recipe, encode_records(records))
        return cls(index.drafts / version, recipe, tuple(records))

    @classmethod
    def read(cls, index: IndexFolder, version: str) -> Self | None:
        """Return a draft, or None if it is not there, not whole or of another kind."""
        found = _whole(index, version)
        return cls(index.drafts / version, *found) if found else None

    @property
    def version(self) -> str:
        """The id: the hash of recipe and records."""
        return self.folder.name

    @property
    def fresh(self) -> bool:
        """Whether all of it is made anew, whatever vectors and answers there are."""
        return (self.folder / FRESH).exists()

    def write(self, index: IndexFolder) -> None:
        """Put the draft in place, unless it is there already; vectors that it has are kept."""
        if _whole(index, self.version) is None:
            write_bytes(self.folder / RECORDS, encode_records(self.records), within=index.role)
            write_bytes(self.folder / RECIPE, self.recipe.model_dump_json().encode(), within=index.role)

    def mark(self, index: IndexFolder, *, fresh: bool, after: str = "") -> None:
        """Begin to make all of it anew, or stop that; goes on with what a draft `after` which this comes has had."""
        if not fresh:
            remove_file(self.folder / FRESH, within=index.role) if self.fresh else None
        elif not self.fresh:
            remove(self.folder)
            former = index.drafts / after
            for had in HAD if after and (former / FRESH).exists() else ():
                if (former / had).is_dir():
                    move_folder(former / had, self.folder / had, within=index.role)
            write_bytes(self.folder / FRESH, b"", within=index.role)

    def save(self, index: IndexFolder, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep the vectors of some texts; the file's name is its checksum."""
        buffer = BytesIO()
        keys = np.array([key(text) for text in texts])
        np.savez(buffer, embedding=np.array(self.recipe.embedding), keys=keys, vectors=vectors)
        data = buffer.getvalue()
        write_bytes(self.folder / "vectors" / f"{sha256(data)}.npz", data, within=index.role)


class KnownVectors:
    """Vectors that need not be made again: of the newest whole version and of the drafts, by the hash of the text.

    They are of one embedding model at a time; each file is read once. With `draft`, only the vectors of this draft
    count; otherwise those of the role's story do, too.
    """

    def __init__(self, index: IndexFolder, draft: str | None = None, story: StoryFolder = no_story) -> None:
        self._index = index
        self._draft = draft
        self._story = story
        self._embedding = ""
        self._vectors: dict[str, Vector] = {}
        self._read: set[Path | Published] = set()

    def of(self, embedding: str) -> Mapping[str, Vector]:
        """Return what there is now; damaged files count as missing."""
        story = self._story() if self._draft is None else None
        folders = (*((replace(self._index, role=story),) if story else ()), self._index)
        batches = {path: one for one in folders for path in one.drafts.glob(f"{self._draft or '*'}/vectors/*.npz")}
        gone = {one for one in self._read if isinstance(one, Path)} - batches.keys()
        if gone or embedding != self._embedding:
            self.forget()
            self._embedding = embedding
        for one in folders if self._draft is None else ():
            self._add_published(one, embedding)
        for path in sorted(batches.keys() - self._read):
            self._vectors.update(_read_batch(batches[path], path, embedding))
            self._read.add(path)
        return self._vectors

    def forget(self) -> None:
        """Give the memory back."""
        self._vectors, self._read, self._embedding = {}, set(), ""

    def _add_published(self, index: IndexFolder, embedding: str) -> None:
        for published in index.published():
            if published in self._read:
                return
            try:
                manifest, texts, rows = index.kind.store.embedded(index, published)
            except (DamagedIndex, MissingIndex):
                continue
            if manifest.embedding.name == embedding and manifest.embedding.normalized:
                self._vectors.update(zip(map(key, texts), rows, strict=True))
                with suppress(DamagedIndex, MissingIndex, ValueError):
                    if COMPARED in manifest.files:
                        data = index.content(published, manifest, COMPARED)
                        self._vectors.update(decode_vectors(data, manifest.embedding.dimension))
            self._read.add(published)
            return


def key(text: str) -> str:
    """Return what a vector is found by again: the hash of the text that was embedded."""
    return sha256(text.encode())


def encode_vectors(texts: Sequence[str], vectors: Sequence[Vector]) -> bytes:
    """Return the vectors of texts as bytes: for each the hash of its text, then its numbers."""
    rows = zip(texts, vectors, strict=True)
    return b"".join(bytes.fromhex(key(text)) + row.astype("<f4").tobytes() for text, row in rows)


def decode_vectors(data: bytes, dimension: int) -> dict[str, Vector]:
    """Return vectors by the hash of their text; ValueError: the bytes are not what `encode_vectors` made."""
    rows = np.frombuffer(data, [("key", "V32"), ("vector", "<f4", (dimension,))])
    return {bytes(one).hex(): vector for one, vector in zip(rows["key"], rows["vector"], strict=True)}


def in_work(index: IndexFolder, manifest: Manifest) -> bool:
    """Whether a draft of what a version was made from lies there still, or one that is not whole."""
    for folder in index.drafts.glob("*"):
        try:
            recipe = Recipe.model_validate_json(inside(folder / RECIPE, index.role).read_bytes())
        except (OSError, ValueError):
            return True
        if (recipe.embedding, recipe.sources) == (manifest.embedding.name, manifest.sources):
            return True
    return False


def remove_drafts(index: IndexFolder, done: str, *, keep: int) -> None:
    """Remove the draft that is done, and others but the ones touched last or within the hour: they may be in work."""
    others = [folder for folder in index.drafts.glob("*") if folder.name != done]
    others.sort(key=_touched, reverse=True)
    now = time.time()
    kept = [one for one in others if (one / RECIPE).exists()][:keep]  # the others cannot be gone on with
    idle = [one for at, one in enumerate(others) if one not in kept and (at >= MOST or now - _touched(one) > IN_WORK)]
    for folder in [index.drafts / done, *idle]:
        remove(folder)


def _read_batch(index: IndexFolder, path: Path, embedding: str) -> dict[str, Vector]:
    """Return the vectors of a saved file by their keys; none if it is damaged or of another embedding model."""
    try:
        data = inside(path, index.role).read_bytes()
        if sha256(data) != path.stem:
            return {}
        with np.load(BytesIO(data), allow_pickle=False) as batch:
            same = str(batch["embedding"]) == embedding
            return dict(zip(batch["keys"].tolist(), batch["vectors"], strict=True)) if same else {}
    except (BadZipFile, KeyError, OSError, RoleError, ValueError):
        return {}


def _whole(index: IndexFolder, version: str) -> tuple[Recipe, tuple[Any, ...]] | None:
    """Return what a draft was written from, if it is all there and of this kind."""
    folder = index.drafts / version
    try:
        lines = inside(folder / RECORDS, index.role).read_bytes()
        recipe = Recipe.model_validate_json(inside(folder / RECIPE, index.role).read_bytes())
        same = (recipe.kind, _version(recipe, lines)) == (index.kind.name, version)
        return (recipe, decode_records(lines, index.kind.records)) if same else None
    except (OSError, ValueError):
        return None


def _version(recipe: Recipe, lines: bytes) -> str:
    content: Mapping[str, JsonValue] = recipe.model_dump(mode="json")
    return version_id({"format": 1, **content, "passages": sha256(lines)})


def _touched(folder: Path) -> float:
    try:
        return max(path.stat().st_mtime for path in (folder, *(folder / had for had in HAD)) if path.exists())
    except (OSError, ValueError):
        return 0.0
