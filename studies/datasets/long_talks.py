"""Long talks with questions about what was said in them, and where: LoCoMo and LongMemEval. Neither is shipped."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from dramaturg.evaluation.datasets.files import Located, Source
from dramaturg.stores.errors import RoleFileError

LARGEST_TALKS = 1_000_000_000
"""Bytes of a file: LongMemEval (S) has about 280,000,000."""
LOOKS = "locomo10.json of LoCoMo, or longmemeval_s.json or longmemeval_oracle.json of LongMemEval"
Benchmark = Literal["locomo", "longmemeval"]


class TalkLine(NamedTuple):
    """What somebody said; no other line of the talk has its id."""

    id: str
    who: Literal["human", "ai"]
    """human: who speaks first in the session, or the user."""
    name: str | None
    text: str


class Session(NamedTuple):
    """What was said in one go."""

    id: str
    at: datetime
    lines: tuple[TalkLine, ...]


class TalkQuestion(NamedTuple):
    """A question about a talk that is over."""

    id: str
    text: str
    answer: str
    category: str
    lines: tuple[str, ...]
    """The ids of the lines in which the answer stands; empty: they are not known, or it stands in none."""
    sessions: tuple[str, ...]
    """The ids of the sessions in which it stands."""
    answerable: bool = True
    asked: datetime | None = None
    """When, where that is known."""


class LongTalk(NamedTuple):
    """The sessions of a talk in their order, and what is asked about it."""

    id: str
    sessions: tuple[Session, ...]
    questions: tuple[TalkQuestion, ...]


class LongTalks(NamedTuple):
    """A file of talks."""

    name: str
    benchmark: Benchmark
    licence: str
    talks: tuple[LongTalk, ...]
    left_out: Mapping[str, int] = {}
    """What of it is not used, counted by the reason."""


def source_of(path: Path) -> Source:
    """Open a file of talks.

    Raises:
        RoleFileError: it is not there.
    """
    return Source(path, largest=LARGEST_TALKS)


def moment(record: Located, text: str, form: str) -> datetime:
    """Read when something was said, in the form of `datetime.strptime`; the datasets name no time zone."""
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError as error:
        raise RoleFileError(f"{record.where}: {text!r} is no time of the form {form}: mend it.") from error
