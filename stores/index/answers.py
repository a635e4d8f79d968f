"""Answers of a chat model that an index rests on: kept by what was asked, so that nothing is asked twice."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from pydantic import JsonValue

from dramaturg.stores.documents.sources import StoryFolder, no_story
from dramaturg.stores.errors import DamagedIndex
from dramaturg.stores.files import canonical, inside, remove_file, sha256, sweep, write_bytes
from dramaturg.stores.index.folder import IndexFolder, Published

ANSWERS = "answers.jsonl"
FOLDER = "answers"


class _Source(NamedTuple):
    """A file of answers: that of a version, one of a draft, or one that belongs to neither."""

    folder: IndexFolder
    place: Published | Path

    def read(self) -> Mapping[str, JsonValue]:
        """Return its answers; none if it is damaged or gone."""
        with suppress(OSError, ValueError, DamagedIndex):
            if isinstance(self.place, Published):
                manifest = self.folder.manifest(self.place)
                return decode_answers(self.folder.content(self.place, manifest, ANSWERS))
            data = inside(self.place, self.folder.role).read_bytes()
            return decode_answers(data) if sha256(data) == self.place.stem else {}
        return {}


class KnownAnswers:
    """Answers that need not be had again: of the kept versions, of the drafts and of the index; each file is read once.

    With `draft`, only the answers of this draft count. Of two answers to one question the later one counts. A file that
    is removed meanwhile was taken into a version, which is looked for after it. What was answered for the story of a
    role counts for the role, too, before its own.
    """

    def __init__(self, folders: Iterable[IndexFolder], draft: str | None = None, story: StoryFolder = no_story) -> None:
        self._folders = tuple(folders)
        self._draft = draft
        self._story = story
        self._lock = Lock()
        self._answers: dict[str, JsonValue] = {}
        self._read: set[_Source] = set()

    def all(self) -> dict[str, JsonValue]:
        """Return what there is now."""
        with self._lock:
            for source in self._sources():
                if source not in self._read:
                    self._answers.update(source.read())
                    self._read.add(source)
            return dict(self._answers)

    def forget(self) -> None:
        """Give the memory back."""
        with self._lock:
            self._answers, self._read = {}, set()

    def _sources(self) -> Iterator[_Source]:
        """The files, the oldest answers first."""
        story = self._story() if self._draft is None else None
        of_story = tuple(replace(folder, role=story) for folder in self._folders) if story else ()
        folders = (*of_story, *self._folders)
        for folder in folders if self._draft is None else ():
            # What belongs to no draft was asked where no version had it: a version that has it was made later.
            yield from (_Source(folder, path) for path in sorted(kept_files(folder), key=_written))
            yield from (_Source(folder, published) for published in reversed(folder.published()))
        files = [
            (one, folder) for folder in folders for one in folder.drafts.glob(f"{self._draft or '*'}/{FOLDER}/*.jsonl")
        ]
        yield from (_Source(folder, path) for path, folder in sorted(files, key=lambda one: _written(one[0])))


def answer_key(kind: str, *content: JsonValue) -> str:
    """Return what an answer is found by again: the kind of the question, and all that the answer depends on."""
    return sha256(canonical([kind, *content]))


def encode_answers(answers: Mapping[str, JsonValue]) -> bytes:
    """Return answers as JSON lines, in the order of their keys."""
    return b"".join(canonical([key, answers[key]]) + b"\n" for key in sorted(answers))


def decode_answers(data: bytes) -> dict[str, JsonValue]:
    """Return the answers of JSON lines.

    Raises:
        ValueError: the bytes are not what `encode_answers` made.
    """
    found = [json.loads(line) for line in data.split(b"\n") if line]
    if not all(isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) for one in found):
        raise ValueError("These are no answers.")
    return dict(found)


def save_answers(index: IndexFolder, folder: Path, answers: Mapping[str, JsonValue]) -> None:
    """Keep some answers, in the folder of a draft or of the index; the file's name is its checksum."""
    data = encode_answers(answers)
    write_bytes(folder / FOLDER / f"{sha256(data)}.jsonl", data, within=index.role)


def drop_kept(index: IndexFolder, used: Mapping[str, JsonValue]) -> None:
    """Remove the files of answers that belong to no draft once a version holds all that is in them.

    Call it under the role's lock.
    """
    sweep(index.path / FOLDER)
    for path in kept_files(index):
        if _Source(index, path).read().keys() <= used.keys():
            remove_file(path, within=index.role)


def kept_files(index: IndexFolder) -> Iterator[Path]:
    """The files of answers that belong to no draft."""
    return (index.path / FOLDER).glob("*.jsonl")


def _written(path: Path) -> float:
    """When a file was written; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
