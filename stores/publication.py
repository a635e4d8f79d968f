"""The files of a version: written beside the others, then moved among them whole."""

from collections.abc import Mapping
from datetime import UTC, datetime

from dramaturg.stores.draft import Draft
from dramaturg.stores.files import move_folder, remove, sha256, write_bytes
from dramaturg.stores.index_folder import MANIFEST, IndexFolder
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
    folder, target = draft.folder / "version", index.versions / draft.version
    remove(folder)
    for name, data in {**files, MANIFEST: manifest}.items():
        write_bytes(folder / name, data, within=index.role)
    if target.exists():  # damaged, or of a build that was killed before the switch
        remove(draft.folder / "replaced")
        move_folder(target, draft.folder / "replaced", within=index.role)
    move_folder(folder, target, within=index.role)
    return Published(version=draft.version, manifest=sha256(manifest))


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
