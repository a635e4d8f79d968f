"""The log of a run as measures read it: what it is, what each agent had before its eyes, what it did, what it cost."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from dramaturg.evaluation.simulation.events import Action, Context, Cost, Event
from dramaturg.evaluation.simulation.events import Run as About
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.reading import numbered_lines
from dramaturg.stores.slips import clause, worst


class Line(BaseModel):
    """A line of the log; what else it says depends on its kind, and one without a kind is of no run."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    kind: str = ""


class Run(NamedTuple):
    """A run; of a branch, only the steps after it left the other run."""

    path: Path
    about: About
    contexts: list[Context]
    actions: list[Action]
    costs: list[Cost]
    """With that of the step before, where it is a branch."""


T = TypeVar("T", bound=Event)


def read_run(path: Path) -> Run:
    """Read the log of a run.

    Raises:
        RoleFileError: the file cannot be read, a line of it cannot be used, or it is the log of no run.
    """
    path = path.expanduser().absolute()
    lines = numbered_lines(path, Line, path.parent)
    told = {number: line for number, line in lines.items() if line.kind in ("run", "branch")}
    if not lines or min(told, default=0) != min(lines):
        raise RoleFileError(f"{path.name} is the log of no run: give a file that `dramaturg simulate` wrote.")
    about = typed(told, About, path)[-1]
    return Run(
        path,
        about,
        contexts=[one for one in typed(of(lines, "context"), Context, path) if one.step > about.after],
        actions=[one for one in typed(of(lines, "action"), Action, path) if one.step > about.after],
        costs=[one for one in typed(of(lines, "cost"), Cost, path) if one.step >= about.after],
    )


def of(lines: Mapping[int, Line], kind: str) -> dict[int, Line]:
    """The lines of a kind, by their numbers."""
    return {number: line for number, line in lines.items() if line.kind == kind}


def typed(lines: Mapping[int, Line], model: type[T], path: Path) -> list[T]:
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
