"""The files of a version: written beside the others, then moved among them whole."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from dramaturg.stores.draft import Draft, remove_drafts
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.files import move_folder, remove, sha256, sweep, write_bytes
from dramaturg.stores.index_folder import MANIFEST, POINTERS, IndexFolder
from dramaturg.stores.kept_documents import KeptDocuments
from dramaturg.stores.manifest import EmbeddingRecord, FileRecord, Manifest, Published
from dramaturg.stores.passages import PASSAGES, VECTORS, encode_passages
from dramaturg.stores.vectors import Vectors, pack


def store_version(index: IndexFolder, draft: Draft, vectors: Vectors) -> Published:
    """Put a version among the others; it is served only when the pointer is switched to it.

    Args:
        index: where.
        draft: what.
        vectors: unit vectors, of shape (n, d), in the order of the draft's passages.

    Raises:
        StorageError: the file system refuses.
    """
    files = {PASSAGES: encode_passages(draft.passages), VECTORS: pack(vectors)}
    manifest = _manifest(draft, vectors.shape[1], files).encoded()
    published = Published(version=draft.version, manifest=sha256(manifest))
    folder, target = draft.folder / "version", index.folder_of(published)
    remove(folder)
    for name, data in {**files, MANIFEST: manifest}.items():
        write_bytes(folder / name, data, within=index.role)
    move_folder(folder, target, within=index.role)  # its name is new: the manifest says when it was made
    return published


def tidy(index: IndexFolder, versions: Sequence[Published], *, done: str, drafts: int) -> None:
    """Remove what is not of these versions, the draft that is done, and other drafts that nobody is at work on."""
    remove_drafts(index, done, keep=drafts)
    folders = {index.folder_of(one) for one in versions}
    for folder in index.versions.glob("*"):
        if folder not in folders:
            remove(folder)
    for folder in (index.path, index.role / "index", index.role / "persona"):
        sweep(folder)
    drop_documents(index.role)


def drop_documents(role: Path) -> None:
    """Remove the kept documents that no version of any kind is made from; none while a manifest cannot be read."""
    used: set[str] = set()
    for kind in kinds(role):
        index = IndexFolder(role, kind)
        try:
            current = index.current()
        except DamagedIndex:
            return
        for one in current.versions if current else ():
            try:
                used.update(index.manifest(one).sources.values())
            except MissingIndex:
                continue
            except DamagedIndex:
                return
    KeptDocuments(role).drop_others(used)


def kinds(role: Path) -> list[str]:
    """Return the kinds of index that a role has."""
    return sorted({path.parent.name for name in POINTERS for path in (role / "index").glob(f"*/{name}")})


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
