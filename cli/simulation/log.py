"""`dramaturg log`: what happened in a simulation, what its decisions rested on, and what it cost."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from dramaturg.cli.evidence.identity import identity_views
from dramaturg.cli.options import JsonOption
from dramaturg.cli.output import excerpt, note, one_line, print_json, screen, table_of
from dramaturg.cli.simulation.records import (
    COSTS,
    READABLE,
    Row,
    action_rows,
    context_rows,
    memory_rows,
    overview_record,
    timeline_rows,
)
from dramaturg.cli.simulation.run_log import (
    REPETITION,
    Action,
    Branch,
    LoggedChange,
    LoggedEvent,
    LoggedLine,
    LoggedOutcome,
    Result,
    RunLog,
    Silence,
    Vote,
    read_run,
)


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


def context(whole: RunLog, part: RunLog, agent: str) -> Iterator[RenderableType]:
    """What decisions rested on, one after the other."""
    rows = context_rows(whole, part, agent)
    for row in rows:
        yield Rule(Text(one_line(f"{row['agent']}, step {row['step']}, {clock(row['time'])}")), align="left")
        yield Text(row["situation"])
        evidence = {name: row[name] for name in ("identity", "feeling", "gate")}
        yield from identity_views(evidence)
    if not rows:
        yield Text("Nobody has decided anything yet.", style="dim")


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


def overview(whole: RunLog, part: RunLog, agent: str) -> Iterator[RenderableType]:
    """What the run is, a table of its steps, and the result."""
    record = overview_record(whole, part, agent)
    run = whole.run
    of = f"; a branch of {run.of} after step {run.after}" if isinstance(run, Branch) else ""
    so_far = f"{whole.steps[-1]} of {run.steps} steps{of}"
    yield Text(
        one_line(f"{run.scenario}: condition {run.condition}, seed {run.seed}, {so_far}; {', '.join(run.agents)}")
    )
    numbers = (Column(name, justify="right") for name in NUMBERS.values())
    table = Table(Column("step", justify="right"), Column("time", no_wrap=True), *numbers)
    for row in record["steps"]:
        table.add_row(str(row["step"]), Text(clock(row["time"])), *(number(row[name]) for name in NUMBERS))
    yield table
    if again := {row["step"]: row[REPETITION] for row in record["steps"] if row[REPETITION] is not None}:
        steps = ", ".join(f"step {step}: {share:.0%}" for step, share in again.items())
        yield Text(f"Said before in the same talk, of what is said in talks: {steps}.")
    yield Text(elected(whole.of(Result)), style="bold")


def timeline(_: RunLog, part: RunLog, __: str) -> Iterator[RenderableType]:
    """What happened, hour by hour, with talks as dialogues."""
    for (step, time), of_hour in groupby(part.events, key=lambda one: (one.step, one.time)):
        yield Text(f"\nStep {step}, {one_line(clock(time))}", style="bold")
        for pair, events in groupby(
            of_hour, key=lambda one: {one.agent, one.to} if isinstance(one, LoggedLine | Silence) else None
        ):
            if pair:
                yield Text(f"  {one_line(' and '.join(sorted(pair)))} talk:", style="cyan")
            yield from (event_text(one) for one in events if isinstance(one, READABLE))


Shown = Callable[[RunLog, RunLog, str], Any]
VIEWS: Mapping[str, tuple[Shown, Shown]] = {
    "overview": (overview_record, overview),
    "actions": (action_rows, actions),
    "context": (context_rows, context),
    "timeline": (timeline_rows, timeline),
    "memories": (memory_rows, memories),
}
"""What is shown of a run: for a program, and for a person."""
View = StrEnum("View", {name: name for name in VIEWS})  # type: ignore[misc]
OVERVIEW = View("overview")
NUMBERS = {name: name for name in ("deeds", "lines", "votes", *COSTS)} | {"lines": "talk lines"}


def log(
    run: Annotated[Path, typer.Argument(help="The log written by `dramaturg simulate`.", show_default=False)],
    view: Annotated[
        View,
        typer.Argument(help="overview, actions, context (what decisions were based on), timeline, or memories."),
    ] = OVERVIEW,
    agent: Annotated[str, typer.Option(metavar="ID", help="Only events of this agent.")] = "",
    step: Annotated[int, typer.Option(help="Only this step; 0 means all.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show what happened in a simulation, what its decisions were based on, or what it cost."""
    whole = read_run(run)
    if view == OVERVIEW and (agent or step):
        raise ValueError("The overview is of the whole run: leave --agent and --step out, or take another view.")
    if whole.warning:
        note(whole.warning, "yellow")
    part = whole.only(agent, step)
    as_record, as_views = VIEWS[view]
    if as_json:
        print_json(as_record(whole, part, agent))
        return
    for shown in as_views(whole, part, agent):
        screen.print(shown, soft_wrap=isinstance(shown, Text))


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


def came_of(outcome: Row | None) -> str:
    """What came of a deed, or why nobody knows."""
    if outcome is None:
        return "not decided yet"
    return one_line(outcome["text"] or f"no account of it: {outcome['error']}")


def seen_by(outcome: Row | None) -> str:
    """Who noticed a deed, and who was drawn into a talk by it."""
    if outcome is None:
        return "–"
    talk = [f"talks with {outcome['talks_with']}"] if outcome["talks_with"] else []
    return one_line(", ".join([*outcome["noticed_by"], *talk])) or "–"


def event_text(event: LoggedEvent) -> Text:
    """An event in a line."""
    match event:
        case LoggedLine():
            return said(f"    {event.agent}: ", f"“{event.text}”", "cyan")
        case Silence():
            return said(f"    {event.agent}: ", f"says nothing ({event.error})", "yellow")
        case Action():
            return said(f"  {event.agent}: ", f"{event.text}{held_back(event.gate)}", "green")
        case LoggedChange():
            instead = f" (instead of: {event.instead_of})" if event.instead_of else ""
            return said(f"    {event.agent} has changed: ", event.text + instead, "yellow")
        case LoggedOutcome():
            return said(f"    {event.agent}: ", came_of(event.model_dump()), "dim")
        case Vote():
            return said(f"  {event.agent} ", f"votes for {event.choice or 'nobody yet'}", "magenta")
        case Result():
            return Text(elected([event]), style="bold")
    return Text(one_line(getattr(event, "text", "")), style="italic")


def said(who: str, what: str, style: str) -> Text:
    """Words with whose they are."""
    return Text.assemble((who, style), one_line(what))


def held_back(gate: Mapping[str, Any] | None) -> str:
    """What the gate did with a deed, where it did not let the first one through."""
    attempts = (gate or {}).get("attempts") or []
    verdicts = [str(one.get("verdict")) for one in attempts]
    return f" (the gate: {', '.join(verdicts)})" if {*verdicts} - {"allow"} else ""


def clock(time: str) -> str:
    """A date and time as people write it."""
    return one_line(time.replace("T", " "))
