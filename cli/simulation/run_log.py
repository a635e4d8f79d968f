"""The log of a simulation, read: each line is an event, checked for what its kind must hold."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dramaturg.nodes.identity.chronicle import Condition
from dramaturg.stores.documents.reading import explain
from dramaturg.stores.errors import RoleFileError, did_you_mean

REPETITION = "repetition"
"""How much of its talks a step repeats, among what is counted."""


class LoggedEvent(BaseModel):
    """A line of the log; what else it holds is kept, and so are events of kinds that are not known here."""

    model_config = ConfigDict(frozen=True, extra="allow")

    step: int = Field(strict=True, ge=1)
    time: str
    kind: str


class LoggedRun(LoggedEvent):
    """What a run is; `after`: the step after which it left another run, 0 if it did not."""

    scenario: str
    condition: Condition
    steps: int
    seed: int
    agents: tuple[str, ...] = Field(min_length=1)
    after: int = 0


class Branch(LoggedRun):
    """Where a run left another one, and what it is from there on."""

    of: str


class Told(LoggedEvent):
    """What everybody notices."""

    text: str


class Acting(LoggedEvent):
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


class LoggedChange(Acting):
    """How a deed has changed who did it: what holds now, and what no longer does, if anything."""

    text: str
    instead_of: str
    evidence: str


class LoggedOutcome(Acting):
    """What came of a deed; `error` says why there is no account of it."""

    text: str
    noticed_by: tuple[str, ...] = ()
    talks_with: str = ""
    error: str = ""


class LoggedLine(Acting):
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


class LoggedMemory(Acting):
    """What an agent will remember, and how important it is, from 1 to 10."""

    text: str
    importance: float


class Result(LoggedEvent):
    """How many votes each candidate has, and who is elected, if anybody."""

    votes: Mapping[str, int]
    winner: str | None


class Cost(LoggedEvent):
    """What the run had cost by the end of a step."""

    calls: int
    tokens: int
    lines: int
    seconds: float


KINDS: Mapping[str, type[LoggedEvent]] = {
    "run": LoggedRun,
    "branch": Branch,
    "event": Told,
    "context": Context,
    "action": Action,
    "change": LoggedChange,
    "outcome": LoggedOutcome,
    "line": LoggedLine,
    "silence": Silence,
    "vote": Vote,
    "memory": LoggedMemory,
    "result": Result,
    "cost": Cost,
}
E = TypeVar("E", bound=LoggedEvent)


class RunLog(NamedTuple):
    """A run as its log tells it."""

    events: tuple[LoggedEvent, ...]
    warning: str = ""
    """What is missing at its end; empty: nothing."""

    @property
    def run(self) -> LoggedRun:
        """What the run is: said at its beginning, or where it left another one."""
        return self.of(LoggedRun)[-1]

    @property
    def steps(self) -> list[int]:
        """The steps that were played, also the one under way."""
        return sorted({one.step for one in self.events})

    def of(self, kind: type[E]) -> list[E]:
        """The events of a kind, in their order."""
        return [one for one in self.events if isinstance(one, kind)]

    def only(self, agent: str, step: int) -> "RunLog":
        """What concerns an agent (empty: all) and a step (0: all)."""
        agents = self.run.agents
        if agent and agent not in agents:
            known = did_you_mean(agent, agents, f": there are {', '.join(agents)}.")
            raise ValueError(f"There is no agent {agent!r} in this run{known}")
        if step and step not in self.steps:
            raise ValueError(f"There is no step {step} in this run: it has come to step {self.steps[-1]}.")
        found = [one for one in self.events if step in (0, one.step) and concerns(one, agent)]
        return RunLog(tuple(found), self.warning)


class MeasuredRun(NamedTuple):
    """What measures read of a run; of a branch, only the steps after it left the other run."""

    path: Path
    about: LoggedRun
    contexts: list[Context]
    actions: list[Action]
    costs: list[Cost]
    """With that of the step before, where it is a branch."""
    lines: list[LoggedLine]


def concerns(event: LoggedEvent, agent: str) -> bool:
    """Whether an event is an agent's, said to it, or everybody's."""
    return not agent or not isinstance(event, Acting) or agent in (event.agent, getattr(event, "to", ""))


def read_run(path: Path) -> RunLog:
    """Read a log; a last line that was not written to its end is left out, and `warning` says so.

    What models say may hold halves of surrogate pairs, and logs are written with them.
    """
    try:
        *lines, last = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RoleFileError(f"{path} cannot be read ({error.strerror}): name the log of a run.") from error
    torn = bool(last.strip()) and not is_whole(last)
    if not torn:
        lines.append(last)
    events: list[LoggedEvent] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                value = json.loads(line.decode("utf-8-sig", "surrogatepass"))
                kind = value.get("kind") if isinstance(value, dict) else None
                if not events and kind not in ("run", "branch"):
                    break
                events.append(KINDS.get(str(kind), LoggedEvent).model_validate(value))
            except ValidationError as error:
                problem = f"this is no event of a run, {explain(error, LoggedEvent)}"
                raise RoleFileError(f"{path.name}, line {number}: {problem}.") from error
            except (ValueError, RecursionError) as error:
                raise RoleFileError(f"{path.name}, line {number}: this is no JSON.") from error
    if not events:
        raise RoleFileError(f"{path} is no log of a run: name a file that `dramaturg simulate` wrote.")
    return RunLog(tuple(events), f"{path.name} ends within line {len(lines) + 1}, which is left out." if torn else "")


def is_whole(line: bytes) -> bool:
    """Whether a line is JSON: the beginning of an object is none."""
    try:
        json.loads(line.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return True


def talks_of(lines: Iterable[LoggedLine]) -> dict[int, list[list[str]]]:
    """What was said in each talk, by its step: two talk once in a step."""
    found: dict[int, dict[frozenset[str], list[str]]] = {}
    for one in lines:
        found.setdefault(one.step, {}).setdefault(frozenset((one.agent, one.to)), []).append(one.text)
    return {step: [*talks.values()] for step, talks in found.items()}


def measured_run(path: Path) -> MeasuredRun:
    """Read what measures need of a log; one that was not written to its end is refused."""
    path = path.expanduser().absolute()
    log = read_run(path)
    if log.warning:
        raise RoleFileError(f"{log.warning.removesuffix(', which is left out.')}: give the whole log.")
    about = log.run
    return MeasuredRun(
        path,
        about,
        contexts=[one for one in log.of(Context) if one.step > about.after],
        actions=[one for one in log.of(Action) if one.step > about.after],
        costs=[one for one in log.of(Cost) if one.step >= about.after],
        lines=[one for one in log.of(LoggedLine) if one.step > about.after],
    )


class StepCost(NamedTuple):
    """What a step has cost, or a run."""

    step: int
    calls: int
    tokens: int
    lines: int
    seconds: float


def each_step(spent: Sequence[Cost]) -> list[StepCost]:
    """What each step has cost: the log says what was spent until then, from the beginning."""
    so_far = [StepCost(one.step, one.calls, one.tokens, one.lines, one.seconds) for one in spent]
    return [
        StepCost(
            after.step,
            after.calls - before.calls,
            after.tokens - before.tokens,
            after.lines - before.lines,
            round(after.seconds - before.seconds, 3),
        )
        for before, after in pairwise([StepCost(0, 0, 0, 0, 0.0), *so_far])
    ]
