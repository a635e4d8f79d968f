"""`dramaturg simulate`: a scenario is played, with live progress and a log that can be read."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from dramaturg.cli.options import (
    DryRunOption,
    JsonOption,
    LibraryOption,
    ModelOption,
    ServerOption,
    SettingsOption,
    carry_to,
    library_path,
)
from dramaturg.cli.output import note, print_json, screen
from dramaturg.cli.stopping import stopping
from dramaturg.conversations.simulation import open_simulation, server_of
from dramaturg.nodes.world.world import Event, names_of, scenario_of
from dramaturg.workflows.settings import require_known, settings_of

if TYPE_CHECKING:
    from dramaturg.workflows.riverbend_agents import RiverbendContext


ConditionOption = Annotated[
    str, typer.Option("--condition", help="How agents get their identity: id-rag, full or baseline.")
]
LogOption = Annotated[
    Path | None,
    typer.Option("--log", help="The file for events; run the same command again to continue a stopped run."),
]
TOLD = ("event", "action", "change", "outcome", "line", "vote", "result")


def simulate(
    scenario: Annotated[str, typer.Argument(help="riverbend, or the path of a scenario's .yaml file.")],
    condition: ConditionOption = "id-rag",
    steps: Annotated[int, typer.Option("--steps", help="Number of steps; 0 means the whole scenario.")] = 0,
    seed: Annotated[
        int, typer.Option("--seed", help="The random seed, which decides in which order actions happen.")
    ] = 0,
    log: LogOption = None,
    source: Annotated[Path | None, typer.Option("--from", metavar="LOG", help="Branch another run …")] = None,
    after: Annotated[int, typer.Option("--after", metavar="STEP", help="… after this step.")] = 0,
    model: ModelOption = "auto",
    library: LibraryOption = None,
    server: ServerOption = "",
    settings: SettingsOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Play a scenario hour by hour. If it stops, run it again to continue; the log stays complete."""
    named = {"scenario": scenario, "condition": condition, "steps": steps, "seed": seed, "chat_model": model}
    context = context_of(library, settings, **named)
    if dry_run:
        screen.print(estimate(context), soft_wrap=True)
        return
    file = log or Path(f"{Path(scenario).stem}-{condition}-{seed}.jsonl")
    if bool(source) != bool(after):
        raise ValueError("A branch needs both: --from LOG --after STEP.")
    stopping.promise(f"What was played is kept, and the same command goes on with it: --log {file}")
    carry_to(server, library, *(one.role for one in scenario_of(context).agents))
    asyncio.run(played(context, file, source, after, server, as_json=as_json))


def context_of(library: str | None, given: list[str] | None, **named: Any) -> "RiverbendContext":
    """Put the context of a run together."""
    from dramaturg.workflows.riverbend_agents import RiverbendContext

    settings = settings_of(given)
    require_known(RiverbendContext, settings, "The simulation")
    return RiverbendContext.model_validate({"library": str(library_path(library)), **named, **settings})


async def played(
    context: "RiverbendContext", file: Path, source: Path | None, after: int, server: str, *, as_json: bool
) -> None:
    """Play a run to its end, or a branch of another one."""
    from dramaturg.workflows import riverbend  # graphs are built when they are asked for

    names_of(context, scenario_of(context))  # what cannot be played leaves no files
    start = await begun_from(context, source, after) if source else None
    async with open_simulation(riverbend.build(), context, file, server=server, name="riverbend") as run:
        branch = run.branch_of(source.name, start) if source and start else None
        begun = await run.events()
        if begun and not as_json:
            where = "is over" if await run.over() else f"goes on in step {begun[-1]['step']}"
            note(f"{file} {where}.", "dim")
        events = await run.play(print_json if as_json else show, branch)
    if not as_json:
        screen.print(f"\n{ending(events)} dramaturg log {file} overview shows the run.", soft_wrap=True)


async def begun_from(context: "RiverbendContext", source: Path, after: int) -> dict[str, Any]:
    """The state of another run after one of its steps."""
    from dramaturg.workflows import riverbend

    if not await asyncio.to_thread(source.is_file):
        raise ValueError(f"There is no run {source} to branch from.")
    server = await asyncio.to_thread(server_of, source)
    async with open_simulation(riverbend.build(), context, source, server=server, name="riverbend") as other:
        return await other.after(after)


def show(event: Event) -> None:
    """Print what has happened, a line each; who writes at the same time comes in the order of being done."""
    if event["kind"] == "step":
        screen.print(Text(f"\n{event['time'].replace('T', ' ')}", style="bold"))
    elif event["kind"] in TOLD and (line := as_line(event)):
        screen.print(line, soft_wrap=True)


def as_line(event: Event) -> Text | None:
    """An event in a line."""
    agent = event.get("agent", "")
    match event["kind"]:
        case "event":
            return Text(event["text"], style="italic")
        case "action":
            return Text.assemble((f"{agent}: ", "bold green"), event["text"])
        case "change":
            return Text(f"  {agent} has changed: {event['text']}", style="yellow")
        case "outcome":
            return Text(f"  {agent}: {event['text'] or event.get('error', '')}", style="dim")
        case "line":
            return Text.assemble((f"  {agent} to {event['to']}: ", "cyan"), f"“{event['text']}”")
        case "vote":
            return Text(f"  {agent} votes for {event['choice'] or 'nobody yet'}", style="magenta")
        case "result":
            return Text(result(event), style="bold")
    return None


def result(event: Event) -> str:
    """Who was elected."""
    votes = ", ".join(f"{one} {number}" for one, number in event["votes"].items())
    return f"The votes: {votes}. {event['winner'] or 'Nobody'} is elected."


def ending(events: list[Event]) -> str:
    """What a run has cost."""
    cost: dict[str, Any] = next((one for one in reversed(events) if one["kind"] == "cost"), {})
    return f"{cost.get('calls', 0):,} calls, {cost.get('tokens', 0):,} tokens, {cost.get('lines', 0)} lines of talk."


def estimate(context: "RiverbendContext") -> str:
    """How many questions a run asks at most, re-asks left out."""
    from dramaturg.workflows.riverbend_agents import most_questions

    found = most_questions(context)
    deeds, talks, votes = (f"{found[name]:,}" for name in ("deeds", "talks", "votes"))
    return f"At most {sum(found.values()):,} questions: {deeds} for deeds, {talks} in talks, {votes} for votes."
