"""Scenarios: who lives through which hours where, for a simulation (ID-RAG 5.1 and 5.2)."""

from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from dramaturg.stores.documents.reading import parse_yaml
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import read_bytes


def _hour(text: str) -> str:
    """Hours are compared as texts, so there is one way to write them: 2024-10-01 09:00 sorts elsewhere."""
    try:
        same = datetime.fromisoformat(text).isoformat(timespec="minutes") == text
    except ValueError:
        same = False
    if not same:
        raise ValueError("must be a date and time such as 2024-10-01T09:00")
    return text


Hour = Annotated[str, AfterValidator(_hour)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]


class _Written(BaseModel):
    """Closed: an unknown key is a slip."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Agent(_Written):
    """Who takes part: a role of the library, what it wants, and whether it can be voted for."""

    role: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    goal: Text
    candidate: bool = False


class Clock(_Written):
    """When it begins, how many hours a step has, and how many steps there are."""

    start: Hour
    hours: int = Field(default=1, ge=1, le=24)
    steps: int = Field(ge=1, le=100)

    def at(self, step: int) -> str:
        """The hour of a step, from 1."""
        begun = datetime.fromisoformat(self.start) + timedelta(hours=self.hours * (step - 1))
        return begun.isoformat(timespec="minutes")

    def strikes(self, hour: str) -> bool:
        """Whether a step begins at an hour, one of those that are played or a later one."""
        passed = datetime.fromisoformat(hour) - datetime.fromisoformat(self.start)
        return passed >= timedelta(0) and passed % timedelta(hours=self.hours) == timedelta(0)


class Polls(_Written):
    """When votes are cast: from the hour `open` on, and no more at the hour `close`."""

    open: Hour
    close: Hour


class Event(_Written):
    """What everybody notices at an hour."""

    at: Hour
    text: Text


class Scenario(_Written):
    """A file such as `riverbend.yaml`."""

    name: str = Field(min_length=1, max_length=80)
    language: Literal["en", "zh", "ko"] = "en"
    about: Text
    shared: tuple[Text, ...] = Field(default=(), strict=False)
    """What everybody knows."""
    agents: tuple[Agent, ...] = Field(min_length=2, max_length=50, strict=False)
    clock: Clock
    polls: Polls | None = None
    events: tuple[Event, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        roles = [one.role for one in self.agents]
        if len({*roles}) < len(roles):
            raise ValueError("`agents` must name each role once")
        if self.polls and len(self.candidates) < 2:
            raise ValueError("`polls` need two agents or more with `candidate: true`")
        if self.polls and self.polls.close <= self.polls.open:
            raise ValueError("`polls` must close after they open")
        return self

    @model_validator(mode="after")
    def _on_time(self) -> Self:
        for one in self.events:
            if not self.clock.strikes(one.at):
                raise ValueError(f"`events` at {one.at} meet no step: take an hour at which one begins")
        hours = [self.clock.at(step) for step in range(1, self.clock.steps + 1)]
        if self.polls and not any(self.polls_at(hour) == "open" for hour in hours):
            raise ValueError("`polls` are open at no step of the clock: nobody could vote")
        return self

    @property
    def candidates(self) -> tuple[str, ...]:
        """The roles that can be voted for."""
        return tuple(one.role for one in self.agents if one.candidate)

    def goal(self, role: str) -> str:
        """What an agent wants."""
        return next(one.goal for one in self.agents if one.role == role)

    def polls_at(self, hour: str) -> Literal["none", "open", "closed"]:
        """Whether votes can be cast at an hour."""
        if self.polls is None or hour < self.polls.open:
            return "none"
        return "open" if hour < self.polls.close else "closed"


def read_scenario(name: str) -> Scenario:
    """Return a scenario that comes with the package, by its name, or that of a file."""
    if name in scenarios():
        path = Path(f"{name}.yaml")
        data = (files("dramaturg.examples") / "scenarios" / path.name).read_bytes()
        return parse_yaml(data, path, Scenario, path.parent)
    path = Path(name).expanduser().absolute()
    if path.suffix not in (".yaml", ".yml"):
        known = ", ".join(scenarios())
        raise RoleFileError(f"There is no scenario {name!r}: take one of {known}, or the path of a .yaml file.")
    return parse_yaml(read_bytes(path, path.parent), path, Scenario, path.parent)


def scenarios() -> list[str]:
    """Return the names of the scenarios that come with the package."""
    folder = files("dramaturg.examples") / "scenarios"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
