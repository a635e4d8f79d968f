"""Whether the files of a model are the pinned ones, and a record of that, since reading a gigabyte takes seconds."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from dramaturg.models.catalogue import WeightFile, Weights
from dramaturg.models.errors import WeightsError

RECORD = "verified.json"


def recorded(weights: Weights, folder: Path) -> bool:
    """Whether every file is as it was when its SHA-256 was last seen to be the one that is pinned now."""
    try:
        return bool(json.loads((folder / RECORD).read_text(encoding="utf-8")) == _facts(weights, folder))
    except (OSError, ValueError):
        return False


def verify(weights: Weights, folder: Path) -> bool:
    """Read every file, compare its SHA-256, and record what was found."""
    right = all(_is_pinned(file, folder) for file in weights.files)
    with suppress(OSError):  # the cache of an administrator may be read-only
        if right and not recorded(weights, folder):
            _record(weights, folder)
        if not right:
            (folder / RECORD).unlink(missing_ok=True)
    return right


def refuse_wrong(weights: Weights, folder: Path) -> None:
    """Remove the files that are not the pinned ones.

    Raises:
        WeightsError: there was one.
    """
    wrong = [file for file in weights.files if not _is_pinned(file, folder)]
    for file in wrong:
        (folder / file.path).unlink(missing_ok=True)
    if wrong:
        raise WeightsError(f"{wrong[0].path} was refused, since its SHA-256 is not the pinned one")


def make_durable(weights: Weights, folder: Path) -> None:
    """Have verified files written to the disk, and record them."""
    for file in weights.files:
        with (folder / file.path).open("rb+") as opened:
            os.fsync(opened.fileno())
    _record(weights, folder)


def _is_pinned(file: WeightFile, folder: Path) -> bool:
    path = folder / file.path
    return path.is_file() and path.stat().st_size == file.size and _sha256(path) == file.sha256


def _record(weights: Weights, folder: Path) -> None:
    (folder / RECORD).write_text(json.dumps(_facts(weights, folder), indent=1), encoding="utf-8")


def _facts(weights: Weights, folder: Path) -> dict[str, list[int | str]]:
    """Give size, time and pinned SHA-256 of each file. Whole seconds: image layers and archives keep no more."""
    states = {file: (folder / file.path).stat() for file in weights.files}
    return {file.path: [state.st_size, int(state.st_mtime), file.sha256] for file, state in states.items()}


def _sha256(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
