"""Files of datasets brought from where their authors have them: none is kept that is not the one that is known."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote

from dramaturg.evaluation.datasets.released import RELEASES, DatasetFile, Release
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import inside, write_bytes

RAW = "https://raw.githubusercontent.com"
PATIENCE = 30.0
"""Seconds in which something must come."""


class Found(NamedTuple):
    """A file of a dataset in a folder."""

    file: DatasetFile
    state: Literal["absent", "known", "other"]
    """`known`: it is the released one; `other`: it has its name, and not its digest."""


def release_of(name: str) -> Release:
    """Return what is known of a dataset's files; a ValueError says which there are."""
    if name in RELEASES:
        return RELEASES[name]
    raise ValueError(f"No file of {name} is known by its digest: there are those of {', '.join(RELEASES)}.")


def found_in(folder: Path, name: str) -> list[Found]:
    """Say which of a dataset's released files a folder has; nothing where none are known of it."""
    return [Found(one, state_of(folder / one.path, one)) for one in RELEASES[name].files] if name in RELEASES else []


def released_in(folder: Path, name: str) -> int:
    """Count the released files of a dataset that lie in a folder itself, under whatever name."""
    known = {(one.size, one.sha256) for one in RELEASES[name].files} if name in RELEASES else set()
    sizes = {size for size, _ in known}
    there = [one for one in folder.iterdir() if one.is_file() and one.stat().st_size in sizes]
    return sum((one.stat().st_size, digest_of(one)) in known for one in there)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def state_of(path: Path, file: DatasetFile) -> Literal["absent", "known", "other"]:
    """Say whether a file is the released one."""
    if not path.is_file():
        return "absent"
    if path.stat().st_size != file.size:
        return "other"
    return "known" if digest_of(path) == file.sha256 else "other"


def address_of(release: Release, file: DatasetFile, base: str = "") -> str:
    """Where a file is fetched from: its repository at its commit, or a copy with the same paths under an address."""
    start = base.rstrip("/") or f"{RAW}/{release.repository}/{release.commit}/{release.folder}".rstrip("/")
    return f"{start}/{quote(file.path)}"


def fetch(
    release: Release,
    files: Sequence[DatasetFile],
    folder: Path,
    base: str = "",
    announce: Callable[[int], None] = lambda done: None,
) -> None:
    """Bring files into a folder, each whole or not at all; those that are there are left.

    Args:
        release: to which they belong.
        files: which are wanted.
        folder: made if it is not there.
        base: an address in place of the repository's.
        announce: is told how many files are there.

    Raises:
        RoleFileError: a file is there that is another, cannot be had, or is not the known one.
    """
    import httpx

    with httpx.Client(timeout=PATIENCE, follow_redirects=True) as client:
        for number, file in enumerate(files, start=1):
            path, address = folder / file.path, address_of(release, file, base)
            if (state := state_of(path, file)) == "other":
                raise RoleFileError(f"{path} is there, and is not the released file: move it away.")
            if state == "absent":
                folder.mkdir(parents=True, exist_ok=True)
                inside(path, folder)
                try:
                    with client.stream("GET", address) as answer:
                        answer.raise_for_status()
                        data = bytearray()
                        for part in answer.iter_bytes():
                            data += part
                            if len(data) > file.size:
                                break
                except httpx.HTTPError as error:
                    raise RoleFileError(f"{address} cannot be had ({error}): try again, or take --from.") from error
                if hashlib.sha256(data).hexdigest() != file.sha256:
                    raise RoleFileError(f"{address} is not the file that is known by its SHA-256: nothing was kept.")
                write_bytes(path, bytes(data), within=folder)
            announce(number)
