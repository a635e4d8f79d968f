"""What an index is made of, one JSON line each."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel, ABC):
    """Something that is embedded and found again by its meaning."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)

    @property
    @abstractmethod
    def embedding_text(self) -> str:
        """The text to embed."""


R = TypeVar("R", bound=Record)
M = TypeVar("M", bound=BaseModel)


def encode_records(records: Sequence[BaseModel]) -> bytes:
    """Return the JSON lines of records."""
    return b"".join(record.model_dump_json().encode() + b"\n" for record in records)


def decode_records(data: bytes, kind: type[M]) -> tuple[M, ...]:
    """Return the records of JSON lines (split at line feeds only: a text may hold other line separators).

    Raises:
        ValueError: the bytes are not what `encode_records` made.
    """
    return tuple(kind.model_validate_json(line) for line in data.split(b"\n") if line)
