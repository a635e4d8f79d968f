"""What an evaluation has had answered and judged: JSON lines that are only added to, in the folder of a run."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from dramaturg.evaluation.judging.scales import METRICS, scale_of
from dramaturg.stores.conversations.kept_run import alone
from dramaturg.stores.documents.reading import explain
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import append_bytes, read_if_there, write_bytes

FILE = "records.jsonl"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    """A digest of all that the record depends on."""
    error: str = ""
    """Why there is no answer; empty: there is one."""
    refused: bool = False
    """Whether there is none because the server did not take the question: a filter kept it back, or it was too long."""
    model: str = ""
    """Who answered."""
    dramaturg: str = ""
    """The version that asked; records of earlier ones do not say."""


class Reply(_Record):
    """What a method made a role say, and what that rested on."""

    kind: Literal["reply"] = "reply"
    contestant: str
    role: str
    seed: int
    question: str
    """Its id."""
    asked: str
    made: str = ""
    """A digest of what made it: the method's code, prompts and settings."""
    text: str
    evidence: dict[str, Any] = {}
    in_prompts: tuple[str, ...] = ()
    """Of a role of a scene: which of the words by which its answer is known stood in a prompt."""
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    user_calls: int = 0
    """What the simulated user asked to say its line; no part of what the method has cost."""
    user_tokens: int = 0

    @property
    def about(self) -> str:
        """What was asked, by whichever method and however often."""
        return f"{self.role} {self.question}"

    @property
    def all_calls(self) -> int:
        """Those of the method and of the simulated user."""
        return self.calls + self.user_calls


class Judged(_Record):
    """What a judge said of a reply: a value, or none and why."""

    kind: Literal["judged"] = "judged"
    reply: str
    """The key of what was judged."""
    metric: str
    value: float | None = Field(allow_inf_nan=False)
    probability: float | None = Field(default=None, ge=0, le=1)
    """P(yes), where the judge says yes or no and its model gives log-probabilities."""
    applicable: bool = True
    """False: the metric is not defined for this reply, which is not the same as missing."""
    reason: str = ""
    prompt: str = ""
    """The version of the judge's prompt."""
    calls: int = 0
    tokens: int = 0

    @property
    def about(self) -> str:
        """What was judged."""
        return self.reply

    @property
    def all_calls(self) -> int:
        """Those of the judge."""
        return self.calls

    @model_validator(mode="after")
    def on_scale(self) -> Self:
        """Refuse a value that is off the metric's scale."""
        if self.value is not None and self.metric in METRICS:
            scale = scale_of(self.metric)
            if not scale.low <= self.value <= scale.high:
                span = f"from {scale.low:g} to {scale.high:g}"
                raise ValueError(f"{self.metric} goes {span}, and {self.value:g} is off that scale")
        return self


class Indexed(_Record):
    """What it has cost to prepare a role for a method, in the run that has done it; 0 calls: nothing was left to do."""

    kind: Literal["indexed"] = "indexed"
    contestant: str
    role: str
    calls: int
    tokens: int
    seconds: float
    passages: int | None = None
    """How many passages the role has then, where the method looks passages up."""


Record = Reply | Judged | Indexed
RECORD: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="kind")])


class Records(NamedTuple):
    """The newest record of each key."""

    replies: dict[str, Reply]
    judged: dict[str, Judged]
    indexed: dict[str, Indexed]

    def take(self, record: Record) -> None:
        """Take a record in, in place of an older one of its key."""
        if isinstance(record, Reply):
            self.replies[record.key] = record
        elif isinstance(record, Judged):
            self.judged[record.key] = record
        else:
            self.indexed[record.key] = record


class RecordFile:
    """The records of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE

    @contextmanager
    def opened(self) -> Iterator[Records]:
        """Hold the file to add to it, and give what is there; a torn last line is cut off."""
        with alone(self.folder, f"works in {self.folder}", "take another --out"):
            data = read_if_there(self.path, within=self.folder) or b""
            if (whole := whole_lines(data)) != data:
                write_bytes(self.path, whole, within=self.folder)
            yield self.read()

    def read(self) -> Records:
        """Read all records; none if there is no file yet."""
        found, data = Records({}, {}, {}), read_if_there(self.path, within=self.folder) or b""
        for number, line in enumerate(whole_lines(data).split(b"\n"), start=1):
            if line.strip():
                try:
                    found.take(RECORD.validate_json(line))
                except ValidationError as error:
                    problem = explain(error, _Record)
                    msg = f"{FILE}, line {number}: this is no record of an evaluation, {problem}: take another --out."
                    raise RoleFileError(msg) from error
        return found

    def add(self, records: Iterable[Record]) -> None:
        """Append records; once this returns they are on the disk."""
        lines = "".join(one.model_dump_json() + "\n" for one in records)
        append_bytes(self.path, lines.encode(errors="surrogatepass"), within=self.folder)


def whole_lines(data: bytes) -> bytes:
    """The lines that were written to their end."""
    return data[: data.rfind(b"\n") + 1]
