"""`dramaturg log`: what happened in a simulation, what its decisions rested on, and what it cost."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from dramaturg.cli.options import JsonOption
from dramaturg.cli.run_records import action_rows, context_rows, memory_rows, overview_record, timeline_rows
from dramaturg.cli.run_views import actions, context, memories, overview, timeline
from dramaturg.cli.screen import errors, print_json, printable, screen
from dramaturg.evaluation.simulation.log import RunLog, read_run


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
