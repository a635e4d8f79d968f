"""What a user says of a dataset, and where in a folder it lies."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dramaturg.evaluation.datasets.cast import Cast, Member
from dramaturg.evaluation.datasets.catalogue import known
from dramaturg.evaluation.datasets.dataset import Dataset
from dramaturg.evaluation.datasets.files import JSON, Source, listed, named
from dramaturg.evaluation.datasets.reading import READERS
from dramaturg.stores.errors import RoleFileError

DEEPEST = 4
"""Levels of folders that are looked into for a dataset."""
MOST_FOLDERS = 500


class Wish(NamedTuple):
    """What a user says of a dataset."""

    name: str
    """One of the catalogue."""
    folder: Path
    only: tuple[str, ...] = ()
    """Ids, names or aliases of roles; of novels, who is to be a role."""
    profiles: str = ""
    """Where profiles are that the dataset lacks: NAME=FOLDER, or a folder of texts."""

    @property
    def called(self) -> str:
        """What reports call it: the name of its folder."""
        return self.folder.resolve().name


def wish_of(text: str, only: Iterable[str] = (), profiles: str = "") -> Wish | None:
    """Read NAME=FOLDER; None where it is a path.

    Raises:
        ValueError: there is no dataset of this name.
    """
    name, equals, folder = text.partition("=")
    if not equals or os.sep in name or Path(text).exists():
        return None
    return Wish(known(name).name, Path(folder).expanduser(), tuple(only), profiles)


def gathered(
    wish: Wish, members: Mapping[str, Member], found: Dataset, ask: set[str] | None, notes: Sequence[str] = ()
) -> Cast:
    """Put a cast together.

    Args:
        wish: what the user says of it.
        members: by their ids.
        found: with all questions.
        ask: the ids of those that are asked; None: all.
        notes: about what was held back or not found.
    """
    left = found.questions if ask is None else tuple(one for one in found.questions if one.id in ask)
    passed = [f"{number} of: {reason}" for reason, number in found.left_out.items()]
    about = known(wish.name)
    return Cast(
        form=wish.name,
        title=about.title,
        licence=about.licence,
        members=members,
        dataset=found.model_copy(update={"questions": left}),
        notes=[*notes, *(["left out: " + "; ".join(passed)] if passed else [])],
    )


def folder_with(wish: Wish) -> Source:
    """Find the dataset in a folder or below it.

    Raises:
        RoleFileError: it is not there; where a file is damaged, that one is named.
    """
    damaged: RoleFileError | None = None
    for folder in folders_below(wish.folder):
        try:
            if recognised(wish.name, folder):
                return Source(folder)
        except RoleFileError as error:
            if ", line " in str(error):
                damaged = damaged or error
    raise damaged or missing(wish)


def sources_in(wish: Wish, suffixes: Sequence[str] = JSON) -> list[Source]:
    """The files of a dataset in a folder and below it.

    Raises:
        RoleFileError: there is none, or a file with one of the suffixes is damaged.
    """
    reader = next(reader for form, reader in READERS.items() if form == wish.name)
    if found := [one for one in map(Source, files_below(wish.folder, suffixes)) if reader.recognised(one)]:
        return found
    raise missing(wish)


def recognised(name: str, folder: Path) -> bool:
    """Whether a folder itself has a dataset's form; a novel's has none. RoleFileError: what it holds is damaged."""
    return any(reader.recognised(Source(folder)) for form, reader in READERS.items() if form == name)


def has_form(name: str, folder: Path) -> bool:
    """Whether a folder, or a file in it, has a dataset's form; what is damaged has none."""
    for place in (folder, *listed(folder, JSON)):
        with suppress(RoleFileError):
            if any(reader.recognised(Source(place)) for form, reader in READERS.items() if form == name):
                return True
    return False


def missing(wish: Wish) -> RoleFileError:
    """The error of a folder that does not hold what its name says."""
    about = known(wish.name)
    looks = READERS[wish.name].looks  # type: ignore[index]  # a name that is a form
    return RoleFileError(
        f"{named(wish.folder.resolve())} does not hold {about.title}: it takes {looks} ({about.where})."
    )


def folders_below(folder: Path) -> list[Path]:
    """The folder and those in it, the nearest first; hidden ones and links are left out."""
    found, level = [folder], [folder]
    for _ in range(DEEPEST):
        inner = (one for of in level for one in sorted(of.iterdir()))
        level = [one for one in inner if one.is_dir() and not one.is_symlink() and not one.name.startswith(".")]
        found += level
        if len(found) > MOST_FOLDERS:
            raise RoleFileError(f"{folder} has more than {MOST_FOLDERS} folders: name the one that holds the dataset.")
    return found


def files_below(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """The files with these suffixes in a folder and below it."""
    return [one for inner in folders_below(folder) for one in listed(inner, suffixes)]
