"""The files of a version: written beside the others, then moved among them whole."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.files import move_folder, remove, sha256, sweep, write_bytes
from dramaturg.stores.index.draft import Draft, remove_drafts
from dramaturg.stores.index.folder import MANIFEST, POINTERS, IndexFolder
from dramaturg.stores.index.manifest import EmbeddingRecord, FileRecord, Manifest, Published
from dramaturg.stores.index.records import R
from dramaturg.stores.kept_documents import KeptDocuments
from dramaturg.stores.whole_versions import listed

KEPT = 4  # versions beside the one that is served
DRAFTS = 2  # drafts of others


def store_version(
    index: IndexFolder,
    draft: Draft[R],
    version: str,
    files: Mapping[str, bytes],
    counts: Mapping[str, int],
    *,
    dimension: int,
) -> Published:
    """Put a version among the others; it is served only when the pointer is switched to it.

    Args:
        index: where.
        draft: what it is made from.
        version: its id.
        files: its content, by name.
        counts: what it holds, for people.
        dimension: of its vectors.

    Raises:
        StorageError: the file system refuses.
    """
    manifest = Manifest(
        kind=draft.recipe.kind,
        version=version,
        created=datetime.now(UTC),
        embedding=EmbeddingRecord(name=draft.recipe.embedding, dimension=dimension),
        settings=draft.recipe.settings,
        sources=draft.recipe.sources,
        counts=dict(counts),
        files={name: FileRecord(sha256=sha256(data), bytes=len(data)) for name, data in files.items()},
    ).encoded()
    published = Published(version=version, manifest=sha256(manifest))
    folder, target = draft.folder / "version", index.folder_of(published)
    remove(folder)
    for name, data in {**files, MANIFEST: manifest}.items():
        write_bytes(folder / name, data, within=index.role)
    move_folder(folder, target, within=index.role)  # its name is new: the manifest says when it was made
    return published


def serve(index: IndexFolder, published: Published, *, done: str) -> None:
    """Switch to a version; those before it are kept, and what nobody needs any more is removed.

    Args:
        index: where.
        published: the version.
        done: the draft that it was made from.

    Raises:
        StorageError: the file system refuses; the old version is still served, or the new one already.
    """
    others = [one for one in listed(index) if one.version != published.version and index.folder_of(one).is_dir()]
    kept = [published, *others[:KEPT]]
    index.switch(kept)
    remove_drafts(index, done, keep=DRAFTS)
    folders = {index.folder_of(one) for one in kept}
    for folder in index.versions.glob("*"):
        if folder not in folders:
            remove(folder)
    around = (index.role / name for name in ("", "index", "persona", "dialogues"))
    for folder in (index.path, *around, *index.drafts.glob("*"), *index.drafts.glob("*/*")):
        sweep(folder)  # drafts, too, are written under the lock that is held here
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
