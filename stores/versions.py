"""The versions of an index: listed, taken back together with their documents, and erased."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from dramaturg.stores.changes import KeptDocuments, drop_set_aside
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.documents.merges import DECISIONS, digest_of_decisions, drop_plan
from dramaturg.stores.documents.sources import is_of_story
from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError, StorageError, did_you_mean
from dramaturg.stores.files import remove
from dramaturg.stores.index.answers import FOLDER as ANSWERS_FOLDER
from dramaturg.stores.index.folder import (
    IndexFolder,
    IndexKind,
    Manifest,
    Published,
    decisions_in,
    drop_documents,
    published_names,
)
from dramaturg.stores.index.kinds import KINDS, kind_named
from dramaturg.stores.locks import copies, role_lock
from dramaturg.stores.role import Role

__all__ = ["Version", "erase_past", "take_back", "versions"]


class Version(NamedTuple):
    """A version of an index."""

    version: str
    created: datetime
    documents: tuple[str, ...]
    """The files that it was made from."""
    counts: Mapping[str, int]
    """What it holds: passages, entities, relations."""
    served: bool
    """Whether it is the one that is read from now."""
    restorable: bool
    """Whether these are all kept."""


def versions(role: Role, kind: IndexKind[Any, Any]) -> list[Version]:
    """Return the versions that can be taken back, the one that is served first; damaged ones are left out."""
    found = _manifests(role.index(kind).folder)
    return [_described(role, manifest, served=at == 0) for at, manifest in enumerate(found.values())]


def take_back(role: Role, kind: IndexKind[Any, Any], version: str | None = None) -> Version:
    """Bring the files of a version back, and serve it again if its index is whole (else index the role).

    Its files are the documents, and the decisions about names where it was made by them.

    What is served now can be taken back in the same way: the versions are a ring, and this turns it.

    Args:
        role: whose.
        kind: which index.
        version: its id, or how that begins; None: the one before the one that is served.

    Raises:
        RoleError: a file of it was not kept, or one of now is in no version and would be lost.
    """
    index = role.index(kind)
    folder, sources = index.folder, index.sources
    with role_lock(role.root):
        found = _manifests(folder)
        wanted = _chosen(folder, found, version)
        now, then = (_own(files) for files in (sources.checksums(), found[wanted].sources))
        documents = _changes(role, now, then)
        decisions = decisions_in(found[wanted].settings)
        beside = {} if decisions is None else _changes(role, _named(digest_of_decisions(role.root)), _named(decisions))
        sources.make(documents, beside)
        ring = list(found)
        at = ring.index(wanted)
        if folder.whole(wanted) is not None:
            folder.switch(ring[at:] + ring[:at])
    return _described(role, found[wanted], served=True)


def erase_past(role: Role) -> None:
    """Leave nothing in `index/` but the versions that are served, and of those only what the documents of now made.

    The same is done in the roles that have it for their story. Afterwards nothing can be taken back.

    Raises:
        StorageError: the file system refuses; run it again.
    """
    for one in (role, *readers_of(role)):
        _erase_past(one)


def readers_of(story: Role) -> list[Role]:
    """The roles of its library that have a role for their story, or an index that was made from its files."""
    library, found = story.library, list[Role]()
    for name, card in library.cards().items() if library else ():
        if library and _reads(role := library.open(name), card, story.id):
            found.append(role)
    return found


def _reads(role: Role, card: Callable[[], RoleCard], story: str) -> bool:
    with suppress(RoleError):  # where its card cannot be read, its indexes say it
        if card().story == story:
            return True
    return any(is_of_story(name) and name.startswith(f"{story}/") for name in _made_from(role))


def _erase_past(role: Role) -> None:
    with role_lock(role.root):
        for folder in _begun(role.root):
            found = _manifests_or_none(folder)
            served = next(iter(found), None)
            if served is None or found[served].sources != _sources_of_now(role, folder):
                _erase(folder)
                continue
            try:
                served = folder.undivided(served)
            except DamagedIndex:
                _erase(folder)
                continue
            folder.switch([served])
            beside = folder.drafts, folder.path / ANSWERS_FOLDER
            for one in beside:
                remove(one)
            for other in folder.versions.glob("*"):
                if other != folder.folder_of(served):
                    remove(other)
            if any(one.exists() for one in beside) or len(list(folder.versions.glob("*"))) > 1:
                raise StorageError(f"{folder.path} cannot be emptied: give permission, then run it again.")
        drop_set_aside(role.root)
        drop_documents(IndexFolder(role.root, KINDS[0]))
        drop_plan(role.root)  # a proposal made from documents, with their words in it
    if original := copies.get(role.root.parent):
        original.drop_kept(role.root)
    role.forget_opened()


def _sources_of_now(role: Role, folder: IndexFolder) -> Mapping[str, str] | None:
    """The checksums of the files that an index is made from; None: they cannot be read, as those of a lost story."""
    try:
        return role.index(folder.kind).sources.checksums()
    except RoleError:
        return None


def _begun(role: Path) -> list[IndexFolder]:
    """The kinds of index that a role has, also those of which no version is published yet."""
    found = []
    for path in sorted((role / "index").glob("*")):
        with suppress(RoleError):  # it is no kind of index
            found.append(IndexFolder(role, kind_named(path.name)))
    return [folder for folder in found if folder.path.is_dir()]


def holding(role: Role, document: str) -> bool:
    """Whether a version of an index was made from a document of this name: the role's, or one that has its files."""
    of_story = f"{role.id}/{document}"
    return document in _made_from(role) or any(of_story in _made_from(one) for one in readers_of(role))


def _made_from(role: Role) -> set[str]:
    """The names of all files that the versions of the role's indexes were made from."""
    folders = (IndexFolder(role.root, kind_named(name)) for name in published_names(role.root))
    return {name for folder in folders for one in _manifests_or_none(folder).values() for name in one.sources}


def _erase(folder: IndexFolder) -> None:
    remove(folder.path)
    if folder.path.exists():
        raise StorageError(f"{folder.path} cannot be removed: give permission, then run it again.")


def _manifests_or_none(folder: IndexFolder) -> Mapping[Published, Manifest]:
    try:
        return _manifests(folder)
    except DamagedIndex:
        return {}


def _manifests(folder: IndexFolder) -> dict[Published, Manifest]:
    found, current = {}, folder.pointer()
    for published in current.versions if current else ():
        try:
            found[published] = folder.manifest(published)
        except (DamagedIndex, MissingIndex):
            continue
    return found


def _own(files: Mapping[str, str]) -> dict[str, str]:
    """The files that are not its story's: those are taken back there."""
    return {name: digest for name, digest in files.items() if not is_of_story(name)}


def _named(decisions: str) -> dict[str, str]:
    """The file of decisions with its checksum; nothing where there is none."""
    return {DECISIONS: decisions} if decisions else {}


def _described(role: Role, manifest: Manifest, *, served: bool) -> Version:
    kept = KeptDocuments(role.root)
    made_from = {**manifest.sources, **_named(decisions_in(manifest.settings) or "")}
    here = digest_of_decisions(role.root)
    whole = all(kept.read(digest) is not None or digest == here for digest in made_from.values())
    return Version(manifest.version, manifest.created, tuple(sorted(made_from)), manifest.counts, served, whole)


def _chosen(folder: IndexFolder, found: Mapping[Published, Manifest], version: str | None) -> Published:
    ring = list(found)
    if version is None:
        if len(ring) < 2:
            raise MissingIndex(
                f"{folder.role.name!r} has no version before this one ({folder.kind.name}). "
                f"To take a document back: `dramaturg forget {folder.role.name} NAME`."
            )
        return ring[1]
    matches = [one for one in ring if version and one.version.startswith(version)]
    if len(matches) == 1:
        return matches[0]
    near = did_you_mean(version, [one.version for one in ring])
    known = ", ".join(one.version for one in ring) or "none"
    raise MissingIndex(
        f"{folder.role.name!r} has no version {version!r} ({folder.kind.name}){near} There are: {known}."
    )


def _changes(role: Role, before: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, bytes | None]:
    kept = KeptDocuments(role.root)
    lost = [name for name, digest in before.items() if wanted.get(name) != digest and kept.read(digest) is None]
    if lost:
        raise RoleError(
            f"{lost[0]} has changes that are in no version yet and would be lost: "
            f"run `dramaturg index {role.id}`, with the same --method, first."
        )
    changes: dict[str, bytes | None] = {name: None for name in before if name not in wanted}
    for name, digest in wanted.items():
        if before.get(name) != digest:
            changes[name] = kept.read(digest)
            if changes[name] is None:
                raise RoleError(f"{name} of that version was not kept: the version cannot be taken back.")
    return changes
