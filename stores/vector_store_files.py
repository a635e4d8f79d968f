"""Documents and vectors on disk: a sealed manifest that names its files by their checksums."""

import contextlib
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Self

from langchain_core.documents import Document
from pydantic import BaseModel, ConfigDict, Field

from dramaturg.stores.errors import DamagedIndex, EmbeddingMismatch, MissingIndex, RoleBusy
from dramaturg.stores.file_lock import file_lock
from dramaturg.stores.files import canonical, make_folder, read_if_there, sha256, write_bytes
from dramaturg.stores.index.manifest import FileRecord
from dramaturg.stores.index.vectors import Vectors, pack, unpack

MANIFEST = "manifest.json"
PATIENCE = 60.0  # seconds; saving takes far less
_REPLACED = re.compile(r"(documents-[0-9a-f]{24}\.jsonl|vectors-[0-9a-f]{24}\.faiss|\..*\.tmp)")


OVERTAKEN = 100  # saves of others in a row that a reader begins again after
UNCHANGED = (
    10  # times that a file may be missing of what is still said to be saved: others may have saved the same anew
)


class Saved(BaseModel):
    """`manifest.json`: what made the vectors, and the checksums of the two other files."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal[1] = 1
    embedding: str
    dimension: int = Field(ge=0)
    """0: nothing was ever added."""
    normalized: Literal[True] = True
    count: int = Field(ge=0)
    documents: FileRecord
    vectors: FileRecord

    def seal(self) -> bytes:
        """Return the bytes that are stored: the manifest and its own checksum."""
        body = self.model_dump(mode="json")
        return canonical({"manifest": body, "sha256": sha256(canonical(body))}) + b"\n"

    @classmethod
    def unseal(cls, data: bytes) -> Self:
        """Return the manifest.

        Raises:
            ValueError: the bytes are not what `seal` made.
        """
        sealed = json.loads(data)
        saved = cls.model_validate(sealed.get("manifest") if isinstance(sealed, dict) else None)
        if saved.seal() != data:
            raise ValueError("The manifest is not as it was written.")
        return saved

    def files(self) -> tuple[str, str]:
        """Return the names of the files of the documents and of the vectors."""
        return f"documents-{self.documents.sha256[:24]}.jsonl", f"vectors-{self.vectors.sha256[:24]}.faiss"


def save_documents(folder: Path, embedding: str, documents: Sequence[Document], rows: Vectors) -> None:
    """Put documents and their unit vectors of shape (n, d) into a folder; what it had is there until the last step.

    Raises:
        ValueError: JSON cannot hold the metadata of a document as it is; nothing was written.
        RoleBusy: another program was saving there for a minute.
        StorageError: the file system refuses; what was there still is.
    """
    lines, vectors = b"".join(_line(document) for document in documents), pack(rows)
    saved = Saved(
        embedding=embedding,
        dimension=rows.shape[1],
        count=len(documents),
        documents=FileRecord(sha256=sha256(lines), bytes=len(lines)),
        vectors=FileRecord(sha256=sha256(vectors), bytes=len(vectors)),
    )
    make_folder(folder, within=folder)
    with _alone(folder):
        for name, data in zip(saved.files(), (lines, vectors), strict=True):
            write_bytes(folder / name, data, within=folder)
        write_bytes(folder / MANIFEST, saved.seal(), within=folder)
        _tidy(folder, saved.files())


def load_documents(folder: Path, embedding: str) -> tuple[list[Document], Vectors]:
    """Read what was saved; every file is compared with its checksum before it is used.

    Raises:
        EmbeddingMismatch: another embedding model made the vectors.
        MissingIndex: nothing was saved there.
        DamagedIndex: a file is not what was written.
        StorageError: the file system refuses.
    """
    saved, lines, vectors = _content_of(folder)
    if saved.embedding != embedding:
        raise EmbeddingMismatch(
            f"The vectors in {folder} are of the embedding model {saved.embedding}, not of {embedding}: "
            f"load them with that model, or add the documents to a new store."
        )
    try:
        documents, index = [_document(line) for line in lines.split(b"\n") if line], unpack(vectors)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _damaged(folder, "a file is not as it was written") from error
    if (len(documents), index.ntotal, index.d) != (saved.count, saved.count, saved.dimension):
        raise _damaged(folder, "its files do not belong together")
    return documents, index.reconstruct_n(0, index.ntotal)


def _content_of(folder: Path) -> tuple[Saved, bytes, bytes]:
    unchanged = 0
    for _ in range(OVERTAKEN):
        saved = _manifest(folder)
        lines, vectors = (read_if_there(folder / name, within=folder) for name in saved.files())
        if lines is not None and vectors is not None:
            _verify(folder, "the file of documents", lines, saved.documents)
            _verify(folder, "the file of vectors", vectors, saved.vectors)
            return saved, lines, vectors
        unchanged += _manifest(folder) == saved  # else another program has saved since the manifest was read
        if unchanged == UNCHANGED:
            break
    raise _damaged(folder, "a file of it is missing")


def _line(document: Document) -> bytes:
    """One line of JSON; halves of surrogate pairs, which a cut text may hold, are kept as they are."""
    content = {"id": document.id, "text": document.page_content, "metadata": document.metadata}
    try:
        line = json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
        same = _parsed(line) == content
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise ValueError(
            f"The metadata of {document.id!r} cannot be saved as JSON without a change: "
            f"put text, numbers, lists and dictionaries with text keys into it."
        )
    return line + b"\n"


def _parsed(line: bytes) -> Any:
    return json.loads(line.decode("utf-8", "surrogatepass"))


def _document(line: bytes) -> Document:
    content = _parsed(line)
    return Document(id=content["id"], page_content=content["text"], metadata=content["metadata"])


def _manifest(folder: Path) -> Saved:
    data = read_if_there(folder / MANIFEST, within=folder)
    if data is None:
        raise MissingIndex(f"There is no vector store in {folder}: save one there first.")
    try:
        return Saved.unseal(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(folder, f"{MANIFEST} is not as it was written") from error


def _verify(folder: Path, name: str, data: bytes, record: FileRecord) -> None:
    if len(data) != record.bytes or sha256(data) != record.sha256:
        raise _damaged(folder, f"{name} is not as it was written")


def _damaged(folder: Path, how: str) -> DamagedIndex:
    return DamagedIndex(f"The vector store in {folder} is damaged ({how}): put a copy back, or make it again.")


def _alone(folder: Path) -> AbstractContextManager[None]:
    busy = RoleBusy(f"Another program is saving into {folder}: try again when it is done.")
    return file_lock(folder / ".lock", patience=PATIENCE, busy=busy)


def _tidy(folder: Path, kept: Iterable[str]) -> None:
    for path in folder.iterdir():
        if _REPLACED.fullmatch(path.name) and path.name not in kept:
            with contextlib.suppress(OSError):
                path.unlink()
