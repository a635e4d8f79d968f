"""The log of a simulation, read: each line is an event, checked for what its kind must hold."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dramaturg.nodes.identity.chronicle import Condition
from dramaturg.stores.errors import RoleFileError, did_you_mean
from dramaturg.stores.reading import numbered_lines
from dramaturg.stores.slips import clause, worst


class Event(BaseModel):
    """A line of the log; what else it holds is kept, and so are events of kinds that are not known here."""

    model_config = ConfigDict(frozen=True, extra="allow")

    step: int = Field(strict=True, ge=1)
    time: str
    kind: str


class Run(Event):
    """What a run is; `after`: the step after which it left another run, 0 if it did not."""

    scenario: str
    condition: Condition
    steps: int
    seed: int
    agents: tuple[str, ...] = Field(min_length=1)
    after: int = 0


class Branch(Run):
    """Where a run left another one, and what it is from there on."""

    of: str


class Told(Event):
    """What everybody notices."""

    text: str


class Acting(Event):
    """What is of one agent."""

    agent: str


class IdentitySource(BaseModel):
    """Where an identity came from: looked up by "strategy" or "similarity", "all" of it, or "inferred"."""

    model_config = ConfigDict(frozen=True, extra="allow")

    how: str


class Context(Acting):
    """What a decision rested on: working memory and self image, as prompts show them, and what they were made of."""

    situation: str
    self_image: str
    identity: IdentitySource
    feeling: str


class Action(Acting):
    """A deed, and what the gate found if there was one."""

    text: str
    gate: Mapping[str, Any] | None = None


class Change(Acting):
    """How a deed has changed who did it: what holds now, and what no longer does, if anything."""

    text: str
    instead_of: str
    evidence: str


class Outcome(Acting):
    """What came of a deed; `error` says why there is no account of it."""

    text: str
    noticed_by: tuple[str, ...] = ()
    talks_with: str = ""
    error: str = ""


class Line(Acting):
    """A line of a talk."""

    to: str
    text: str


class Silence(Acting):
    """Where a talk ended because the model gave no line."""

    to: str
    error: str


class Vote(Acting):
    """A vote; without a choice the agent waits."""

    choice: str


class Memory(Acting):
    """What an agent will remember, and how important it is, from 1 to 10."""

    text: str
    importance: float


class Result(Event):
    """How many votes each candidate has, and who is elected, if anybody."""

    votes: Mapping[str, int]
    winner: str | None


class Cost(Event):
    """What the run had cost by the end of a step."""

    calls: int
    tokens: int
    lines: int
    seconds: float


KINDS: Mapping[str, type[Event]] = {
    "run": Run,
    "branch": Branch,
    "event": Told,
    "context": Context,
    "action": Action,
    "change": Change,
    "outcome": Outcome,
    "line": Line,
    "silence": Silence,
    "vote": Vote,
    "memory": Memory,
    "result": Result,
    "cost": Cost,
}


E = TypeVar("E", bound=Event)


class RunLog(NamedTuple):
    """A run as its log tells it."""

    events: tuple[Event, ...]
    warning: str = ""
    """What is missing at its end; empty: nothing."""

    @property
    def run(self) -> Run:
        """What the run is: said at its beginning, or where it left another one."""
        return self.of(Run)[-1]

    @property
    def steps(self) -> list[int]:
        """The steps that were played, also the one under way."""
        return sorted({one.step for one in self.events})

    def of(self, kind: type[E]) -> list[E]:
        """The events of a kind, in their order."""
        return [one for one in self.events if isinstance(one, kind)]

    def only(self, agent: str, step: int) -> "RunLog":
        """What concerns an agent (empty: all) and a step (0: all).

        Raises:
            ValueError: the run has no such agent or step.
        """
        agents = self.run.agents
        if agent and agent not in agents:
            known = did_you_mean(agent, agents) or f": there are {', '.join(agents)}."
            raise ValueError(f"There is no agent {agent!r} in this run{known}")
        if step and step not in self.steps:
            raise ValueError(f"There is no step {step} in this run: it has come to step {self.steps[-1]}.")
        found = [one for one in self.events if step in (0, one.step) and concerns(one, agent)]
        return RunLog(tuple(found), self.warning)


class LogLine(BaseModel):
    """A line of the log; what else it says depends on its kind, and one without a kind is of no run."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    kind: str = ""


class MeasuredRun(NamedTuple):
    """A run; of a branch, only the steps after it left the other run."""

    path: Path
    about: Run
    contexts: list[Context]
    actions: list[Action]
    costs: list[Cost]
    """With that of the step before, where it is a branch."""


T = TypeVar("T", bound=Event)


def concerns(event: Event, agent: str) -> bool:
    """Whether an event is an agent's, said to it, or everybody's."""
    return not agent or not isinstance(event, Acting) or agent in (event.agent, getattr(event, "to", ""))


def read_run(path: Path) -> RunLog:
    """Read a log; a last line that was not written to its end is left out, and `warning` says so.

    Raises:
        ValueError: there is no such file, a line is no event, or the file is no log of a run.
    """
    whole, torn = lines_of(path)
    events = tuple(events_in(path, whole))
    if not events or not isinstance(events[0], Run):
        raise ValueError(f"{path} is no log of a run: name a file that `dramaturg simulate` wrote.")
    number = len(whole) + 1
    return RunLog(events, f"{path.name} ends within line {number}, which is left out." if torn else "")


def lines_of(path: Path) -> tuple[Sequence[bytes], bool]:
    """The lines of a file, and whether there is another one that was not written to its end.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        *lines, last = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): name the log of a run.") from error
    if not last.strip():
        return lines, False
    return ([*lines, last], False) if is_whole(last) else (lines, True)


def is_whole(line: bytes) -> bool:
    """Whether a line is JSON: the beginning of an object is none."""
    try:
        json.loads(decoded(line))
    except (ValueError, RecursionError):
        return False
    return True


def decoded(line: bytes) -> str:
    """The text of a line. What models say may hold halves of surrogate pairs, and logs are written with them."""
    return line.decode("utf-8-sig", "surrogatepass")


def events_in(path: Path, lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of lines; blank ones are skipped.

    Raises:
        ValueError: a line is no event.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield event_in(decoded(line))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path.name}, line {number}: {problem(error)}.") from error


def event_in(line: str) -> Event:
    """The event that a line holds.

    Raises:
        ValueError: it is no JSON, or no event.
    """
    value = json.loads(line)
    kind = value.get("kind") if isinstance(value, dict) else None
    return KINDS.get(str(kind), Event).model_validate(value)


def problem(error: Exception) -> str:
    """What is wrong with a line, in a clause."""
    if isinstance(error, ValidationError):
        return f"this is no event of a run, {clause(worst(error), Event)}"
    return "this is no JSON"


def measured_run(path: Path) -> MeasuredRun:
    """Read the log of a run.

    Raises:
        RoleFileError: the file cannot be read, a line of it cannot be used, or it is the log of no run.
    """
    path = path.expanduser().absolute()
    lines = numbered_lines(path, LogLine, path.parent)
    told = {number: line for number, line in lines.items() if line.kind in ("run", "branch")}
    if not lines or min(told, default=0) != min(lines):
        raise RoleFileError(f"{path.name} is the log of no run: give a file that `dramaturg simulate` wrote.")
    about = typed(told, Run, path)[-1]
    return MeasuredRun(
        path,
        about,
        contexts=[one for one in typed(of(lines, "context"), Context, path) if one.step > about.after],
        actions=[one for one in typed(of(lines, "action"), Action, path) if one.step > about.after],
        costs=[one for one in typed(of(lines, "cost"), Cost, path) if one.step >= about.after],
    )


def of(lines: Mapping[int, LogLine], kind: str) -> dict[int, LogLine]:
    """The lines of a kind, by their numbers."""
    return {number: line for number, line in lines.items() if line.kind == kind}


def typed(lines: Mapping[int, LogLine], model: type[T], path: Path) -> list[T]:
    """Lines as what their kind makes them.

    Raises:
        RoleFileError: a line lacks something, or says it in another form.
    """
    found = []
    for number, line in lines.items():
        try:
            found.append(model.model_validate(line.model_dump()))
        except ValidationError as error:
            raise RoleFileError(f"{path.name}, line {number}: {clause(worst(error), model)}.") from error
    return found
