"""What `dramaturg log` shows of a simulation, as plain values."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from dramaturg.cli.simulation.run_log import (
    REPETITION,
    Acting,
    Action,
    Context,
    Cost,
    LoggedChange,
    LoggedEvent,
    LoggedLine,
    LoggedMemory,
    LoggedOutcome,
    Result,
    RunLog,
    Silence,
    Told,
    Vote,
    each_step,
    talks_of,
)
from dramaturg.evaluation.metrics.repetition import repetition
from dramaturg.nodes.world.world import EVENT_IMPORTANCE

Row = dict[str, Any]
A = TypeVar("A", bound=Acting)
COSTS = ("calls", "tokens", "seconds")
READABLE = (Told, Action, LoggedChange, LoggedOutcome, LoggedLine, Silence, Vote, Result)
COUNTED: Mapping[str, type[LoggedEvent]] = {"deeds": Action, "lines": LoggedLine}


def overview_record(whole: RunLog, _: RunLog, __: str) -> Row:
    """What the run is, a row a step, and the result."""
    results = whole.of(Result)
    about = {name: value for name, value in whole.run.model_dump().items() if name not in ("step", "time", "kind")}
    result = {"votes": dict(results[-1].votes), "winner": results[-1].winner} if results else None
    return {"run": about, "steps": step_rows(whole), "result": result, "warning": whole.warning}


def step_rows(whole: RunLog) -> list[Row]:
    """How much happened in each step, and what it cost; no cost where a step is not over."""
    costs = {one.step: {name: getattr(one, name) for name in COSTS} for one in each_step(whole.of(Cost))}
    rows, talks = [], talks_of(whole.of(LoggedLine))
    for step in whole.steps:
        events = [one for one in whole.events if one.step == step]
        numbers = {name: sum(isinstance(one, kind) for one in events) for name, kind in COUNTED.items()}
        votes = sum(isinstance(one, Vote) and bool(one.choice) for one in events)
        cost = costs.get(step, dict.fromkeys(COSTS))
        again = repetition(talks[step]) if step in talks else None
        rows.append({"step": step, "time": events[0].time, **numbers, REPETITION: again, "votes": votes, **cost})
    return rows


def action_rows(_: RunLog, part: RunLog, agent: str) -> list[Row]:
    """Each deed with what came of it; of an agent, its own."""
    outcomes = {
        (one.step, one.agent): one.model_dump(exclude={"step", "time", "kind", "agent"})
        for one in part.of(LoggedOutcome)
    }
    return [
        {
            **one.model_dump(include={"step", "time", "agent", "text"}),
            "outcome": outcomes.get((one.step, one.agent)),  # None where nobody has said so yet
        }
        for one in own(part.of(Action), agent)
    ]


def context_rows(_: RunLog, part: RunLog, agent: str) -> list[Row]:
    """What each decision rested on, with what the gate found."""
    gates = {(one.step, one.agent): one.gate for one in part.of(Action)}
    contexts = own(part.of(Context), agent)
    return [{**one.model_dump(exclude={"kind"}), "gate": gates.get((one.step, one.agent))} for one in contexts]


def timeline_rows(_: RunLog, part: RunLog, __: str) -> list[Row]:
    """Everything that a person would tell, in order."""
    return [one.model_dump() for one in part.events if isinstance(one, READABLE)]


def memory_rows(whole: RunLog, part: RunLog, agent: str) -> list[Row]:
    """What each agent remembers, the most important first: what it heard, and what everybody noticed."""
    remembered = [
        {"agent": one, "importance": weight, "step": event.step, "time": event.time, "text": event.text}
        for one in whole.run.agents
        for event, weight in weighed(part)
        if isinstance(event, Told) or event.agent == one
    ]
    places = {one: at for at, one in enumerate(whole.run.agents)}
    kept = [row for row in remembered if row["agent"] == (agent or row["agent"])]
    return sorted(kept, key=lambda row: (places[row["agent"]], -row["importance"]))


def weighed(part: RunLog) -> Iterator[tuple[Told | LoggedMemory, float]]:
    """What is remembered, and how important it is."""
    for one in part.events:
        if isinstance(one, Told):
            yield one, EVENT_IMPORTANCE
        elif isinstance(one, LoggedMemory):
            yield one, one.importance


def own(events: Iterable[A], agent: str) -> list[A]:
    """The events that are an agent's own; of nobody in particular: all."""
    return [one for one in events if one.agent == (agent or one.agent)]
