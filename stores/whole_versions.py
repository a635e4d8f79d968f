"""Which versions there are, for those who build: what is damaged counts as not there."""

from collections.abc import Sequence

from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.kinds import Store, open_store
from dramaturg.stores.index.manifest import Published


def listed(folder: IndexFolder) -> Sequence[Published]:
    """Return the versions, the one that is served first; none if the pointer is damaged."""
    try:
        current = folder.current()
    except DamagedIndex:
        return ()
    return current.versions if current else ()


def opened(folder: IndexFolder, published: Published) -> Store | None:
    """Return a version that is whole."""
    try:
        return open_store(folder, published)
    except (DamagedIndex, MissingIndex):
        return None


def whole_version(folder: IndexFolder, version: str) -> Published | None:
    """Return the record of a version if it is published and whole."""
    named = (one for one in listed(folder) if one.version == version)
    return next((one for one in named if opened(folder, one) is not None), None)
