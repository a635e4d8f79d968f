"""`dramaturg log`: what happened in a simulation, what its decisions rested on, and what it cost."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.identity_evidence import identity_evidence_views
from dramaturg.cli.options import JsonOption
from dramaturg.cli.picture_text import one_line
from dramaturg.cli.relation_evidence import table_of
from dramaturg.cli.screen import errors, excerpt, print_json, printable, screen
from dramaturg.evaluation.simulation.convergence import each_step
from dramaturg.evaluation.simulation.events import (
    Acting,
    Action,
    Branch,
    Change,
    Context,
    Cost,
    Event,
    Line,
    Memory,
    Outcome,
    Result,
    RunLog,
    Silence,
    Told,
    Vote,
    read_run,
)
from dramaturg.nodes.world import OF_EVENTS

Row = dict[str, Any]
A = TypeVar("A", bound=Acting)
COSTS = ("calls", "tokens", "seconds")
READABLE = (Told, Action, Change, Outcome, Line, Silence, Vote, Result)


class View(StrEnum):
    """What is shown of a run."""

    overview = "overview"
    actions = "actions"
    context = "context"
    timeline = "timeline"
    memories = "memories"


def log(
    run: Annotated[Path, typer.Argument(help="The log that `dramaturg simulate` wrote.", show_default=False)],
    view: Annotated[
        View,
        typer.Argument(
            help="The run step by step; what was done; what decisions rested on; all in order; what is remembered."
        ),
    ] = View.overview,
    agent: Annotated[str, typer.Option(metavar="ID", help="Only what concerns this agent.")] = "",
    step: Annotated[int, typer.Option(help="Only this step; 0: all.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show what happened in a simulation, what its decisions rested on, or what it cost."""
    whole = read_run(run)
    if view is View.overview and (agent or step):
        raise ValueError("The overview is of the whole run: leave --agent and --step out, or take another view.")
    if whole.warning:
        errors.print(printable(whole.warning), style="yellow", soft_wrap=True)
    part = whole.only(agent, step)
    if as_json:
        print_json(RECORDS[view](whole, part, agent))
        return
    for shown in VIEWS[view](whole, part, agent):
        screen.print(shown, soft_wrap=isinstance(shown, Text))


# What the views show, as plain values


def overview_record(whole: RunLog, _: RunLog, __: str) -> Row:
    """What the run is, a row a step, and the result."""
    results = whole.of(Result)
    told = {name: value for name, value in whole.run.model_dump().items() if name not in ("step", "time", "kind")}
    result = {"votes": dict(results[-1].votes), "winner": results[-1].winner} if results else None
    return {"run": told, "steps": step_rows(whole), "result": result, "warning": whole.warning}


def step_rows(whole: RunLog) -> list[Row]:
    """How much happened in each step, and what it cost; no cost where a step is not over."""
    costs = {one.step: {name: getattr(one, name) for name in COSTS} for one in each_step(whole.of(Cost))}
    rows = []
    for step in whole.steps:
        events = [one for one in whole.events if one.step == step]
        numbers = {name: sum(isinstance(one, kind) for one in events) for name, kind in COUNTED.items()}
        votes = sum(isinstance(one, Vote) and bool(one.choice) for one in events)
        cost = costs.get(step, dict.fromkeys(COSTS))
        rows.append({"step": step, "time": events[0].time, **numbers, "votes": votes, **cost})
    return rows


COUNTED: Mapping[str, type[Event]] = {"deeds": Action, "lines": Line}


def action_rows(_: RunLog, part: RunLog, agent: str) -> list[Row]:
    """Each deed with what came of it; of an agent, its own."""
    outcomes = {(one.step, one.agent): one for one in part.of(Outcome)}
    return [action_row(one, outcomes.get((one.step, one.agent))) for one in own(part.of(Action), agent)]


def action_row(action: Action, outcome: Outcome | None) -> Row:
    """A deed with what came of it, None where nobody has said so yet."""
    told = None if outcome is None else outcome.model_dump(exclude={"step", "time", "kind", "agent"})
    return {**action.model_dump(include={"step", "time", "agent", "text"}), "outcome": told}


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


def weighed(part: RunLog) -> Iterator[tuple[Told | Memory, float]]:
    """What is remembered, and how important it is."""
    for one in part.events:
        if isinstance(one, Told):
            yield one, OF_EVENTS
        elif isinstance(one, Memory):
            yield one, one.importance


def own(events: Iterable[A], agent: str) -> list[A]:
    """The events that are an agent's own; of nobody in particular: all."""
    return [one for one in events if one.agent == (agent or one.agent)]


# The same for a person


def overview(whole: RunLog, part: RunLog, agent: str) -> Iterator[RenderableType]:
    """What the run is, a table of its steps, and the result."""
    record = overview_record(whole, part, agent)
    yield Text(headline(whole))
    yield steps_table(record["steps"])
    yield Text(elected(whole.of(Result)), style="bold")


def steps_table(rows: Sequence[Row]) -> Table:
    """Steps, one a row."""
    numbers = (Column(name, justify="right") for name in NUMBERS.values())
    table = Table(Column("step", justify="right"), Column("time", no_wrap=True), *numbers)
    for row in rows:
        table.add_row(str(row["step"]), Text(clock(row["time"])), *(number(row[name]) for name in NUMBERS))
    return table


NUMBERS = {name: name for name in ("deeds", "lines", "votes", *COSTS)} | {"lines": "talk lines"}


def headline(whole: RunLog) -> str:
    """What a run is, in a line."""
    run = whole.run
    of = f"; a branch of {run.of} after step {run.after}" if isinstance(run, Branch) else ""
    so_far = f"{whole.steps[-1]} of {run.steps} steps"
    told = f"{run.scenario}: condition {run.condition}, seed {run.seed}, {so_far}{of}; {', '.join(run.agents)}"
    return one_line(told)


def elected(results: Sequence[Result]) -> str:
    """Who was elected, by which votes."""
    if not results:
        return "No votes were counted."
    votes = ", ".join(f"{one} {number}" for one, number in results[-1].votes.items())
    return one_line(f"The votes: {votes}. {results[-1].winner or 'Nobody'} is elected.")


def number(value: float | None) -> str:
    """A number with its thousands apart; a dash where it is not known yet."""
    if value is None:
        return "–"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def actions(whole: RunLog, part: RunLog, agent: str) -> Iterator[RenderableType]:
    """A table of deeds an hour."""
    rows = action_rows(whole, part, agent)
    for (step, time), of_hour in groupby(rows, key=lambda row: (row["step"], row["time"])):
        columns = Column("deed", overflow="fold"), Column("what came of it", overflow="fold"), "noticed by"
        table = table_of(one_line(f"Step {step}, {clock(time)}"), "agent", *columns)
        for row in of_hour:
            cells = (one_line(row["text"]), came_of(row["outcome"]), seen_by(row["outcome"]))
            table.add_row(Text(one_line(row["agent"])), *map(Text, cells))
        yield table
    if not rows:
        yield Text("Nobody has done anything yet.", style="dim")


def came_of(outcome: Row | None) -> str:
    """What came of a deed, or why nobody knows."""
    if outcome is None:
        return "not decided yet"
    return one_line(outcome["text"] or f"no account of it: {outcome['error']}")


def seen_by(outcome: Row | None) -> str:
    """Who noticed a deed, and who was drawn into a talk by it."""
    told = outcome or {"noticed_by": (), "talks_with": ""}
    talk = [f"talks with {told['talks_with']}"] if told["talks_with"] else []
    return one_line(", ".join([*told["noticed_by"], *talk])) or "–"


def context(whole: RunLog, part: RunLog, agent: str) -> Iterator[RenderableType]:
    """What decisions rested on, one after the other."""
    rows = context_rows(whole, part, agent)
    for row in rows:
        yield Rule(Text(one_line(f"{row['agent']}, step {row['step']}, {clock(row['time'])}")), align="left")
        yield Text(printable(row["situation"]))
        evidence = {name: row[name] for name in ("identity", "feeling", "gate")}
        yield from identity_evidence_views(evidence)
    if not rows:
        yield Text("Nobody has decided anything yet.", style="dim")


def timeline(_: RunLog, part: RunLog, __: str) -> Iterator[RenderableType]:
    """What happened, hour by hour, with talks as dialogues."""
    for (step, time), of_hour in groupby(part.events, key=lambda one: (one.step, one.time)):
        yield Text(f"\nStep {step}, {one_line(clock(time))}", style="bold")
        for pair, events in groupby(of_hour, key=talking):
            if pair:
                yield Text(f"  {one_line(' and '.join(sorted(pair)))} talk:", style="cyan")
            yield from (told(one) for one in events if isinstance(one, READABLE))


def talking(event: Event) -> frozenset[str]:
    """Who talk, if this is a part of their talk."""
    return frozenset((event.agent, event.to)) if isinstance(event, Line | Silence) else frozenset()


def told(event: Event) -> Text:
    """An event in a line."""
    match event:
        case Line():
            return said(f"    {event.agent}: ", f"“{event.text}”", "cyan")
        case Silence():
            return said(f"    {event.agent}: ", f"says nothing ({event.error})", "yellow")
        case Action():
            return said(f"  {event.agent}: ", f"{event.text}{held_back(event.gate)}", "green")
        case Change():
            return said(f"    {event.agent} has changed: ", changed_to(event), "yellow")
        case Outcome():
            return said(f"    {event.agent}: ", came_of(event.model_dump()), "dim")
        case Vote():
            return said(f"  {event.agent} ", f"votes for {event.choice or 'nobody yet'}", "magenta")
        case Result():
            return Text(elected([event]), style="bold")
    return Text(one_line(str(getattr(event, "text", ""))), style="italic")


def changed_to(change: Change) -> str:
    """What an agent has become, and instead of what."""
    return f"{change.text} (instead of: {change.instead_of})" if change.instead_of else change.text


def said(who: str, what: str, style: str) -> Text:
    """Words with whose they are."""
    return Text.assemble((printable(who), style), one_line(what))


def held_back(gate: Mapping[str, Any] | None) -> str:
    """What the gate did with a deed, where it did not let the first one through."""
    attempts = (gate or {}).get("attempts") or []
    verdicts = [str(one.get("verdict")) for one in attempts]
    return f" (the gate: {', '.join(verdicts)})" if {*verdicts} - {"allow"} else ""


def memories(whole: RunLog, part: RunLog, agent: str) -> Iterator[RenderableType]:
    """A table an agent."""
    rows = memory_rows(whole, part, agent)
    for one, of_agent in groupby(rows, key=lambda row: str(row["agent"])):
        kept = list(of_agent)
        columns = Column("importance", justify="right"), Column("when", no_wrap=True), Column("memory", overflow="fold")
        table = table_of(one_line(f"What {one} remembers of the run: {len(kept)}"), *columns)
        for row in kept:
            table.add_row(f"{row['importance']:g}", Text(clock(row["time"])), Text(excerpt(row["text"])))
        yield table
    if not rows:
        yield Text("Nobody remembers anything yet.", style="dim")


def clock(time: str) -> str:
    """A date and time as people write it."""
    return one_line(time.replace("T", " "))


Shown = Callable[[RunLog, RunLog, str], Any]
RECORDS: Mapping[View, Shown] = {
    View.overview: overview_record,
    View.actions: action_rows,
    View.context: context_rows,
    View.timeline: timeline_rows,
    View.memories: memory_rows,
}
VIEWS: Mapping[View, Shown] = {
    View.overview: overview,
    View.actions: actions,
    View.context: context,
    View.timeline: timeline,
    View.memories: memories,
}
