"""The scores of a run, in a file beside its log: JSON lines, one a score, that a later measuring goes on from."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, ConfigDict, JsonValue

from dramaturg.stores.file_lock import file_lock
from dramaturg.stores.files import canonical, write_bytes
from dramaturg.stores.reading import read_lines

Measure = Literal["recall", "recall_with_retrieval", "alignment"]


class MeasuresBusy(RuntimeError):
    """Another program takes measures of the same run."""


class Score(BaseModel):
    """A score, and what it rests on; no score where there was no answer, and `error` says why."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    key: str
    """A digest of all that the score depends on."""
    measure: Measure
    step: int
    time: str
    agent: str
    asked: str
    """The question of the quiz, or the deed."""
    right: str
    """The right answer; empty where there is none."""
    answer: str
    """What the agent answered, or the judge's reason."""
    score: float | None
    error: str
    model: str
    """Who answered, or judged."""


class ScoreFile:
    """The scores of one run: what is there, and what is added, each time as a whole file or not at all."""

    def __init__(self, log: Path) -> None:
        self.path = log.with_suffix(".measures.jsonl")

    @contextmanager
    def opened(self) -> Iterator[dict[str, Score]]:
        """Hold the file, and give its scores by their keys.

        Raises:
            MeasuresBusy: another program holds it.
            RoleFileError: a line of it cannot be used.
        """
        busy = MeasuresBusy(f"Another program measures {self.path.name}: wait for it.")
        with file_lock(self.path.with_name(f".{self.path.name}.lock"), patience=0, busy=busy):
            yield self.read()

    def read(self) -> dict[str, Score]:
        """The scores by their keys; none if nothing was measured yet.

        Raises:
            RoleFileError: a line cannot be used.
        """
        found = read_lines(self.path, Score, self.path.parent) if self.path.exists() else []
        return {one.key: one for one in found}

    def write(self, scores: Mapping[str, Score]) -> None:
        """Put all scores in place.

        Raises:
            StorageError: the file system refuses.
        """
        lines = "".join(one.model_dump_json() + "\n" for one in scores.values())
        write_bytes(self.path, lines.encode(), within=self.path.parent)


def key_of(messages: list[BaseMessage], *more: JsonValue) -> str:
    """Digest what a score depends on: a question as it is put, and all else."""
    said: list[JsonValue] = [[message.type, message.text] for message in messages]
    return hashlib.sha256(canonical([said, *more])).hexdigest()[:32]
