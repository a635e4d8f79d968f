"""`dramaturg index` and `unmerge`: a role prepared for a method, with progress and a table at the end."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.progress import Progress, TaskID
from rich.table import Table

from dramaturg.cli.options import (
    AMADEUS,
    ROLE_RAG,
    JsonOption,
    LibraryOption,
    MethodOption,
    RoleArgument,
    SettingsOption,
    context_for,
    library_path,
)
from dramaturg.cli.progress_bars import bars
from dramaturg.cli.screen import print_json, printable, screen
from dramaturg.nodes.index_steps import IndexingCost
from dramaturg.nodes.run import RoleContext
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.kinds import GRAPH_KIND
from dramaturg.stores.library import open_role
from dramaturg.stores.merge_files import Merge, MergePlan, read_plan, write_plan
from dramaturg.workflows.methods import METHODS, index_graph, indexing_cost

WORK = {
    "facts": "Extracting facts",
    "pairs": "Comparing names",
    "reasons": "Saying why",
    "names": "Choosing names",
    "summaries": "Summing up",
    "moods": "Reading moods",
    "edges": "Weighing relations",
    "vectors": "Embedding",
}
WITHOUT = {
    "memory": ("Memories without a mood; --retry asks them again", "memory"),
    "edge": ("Relations without a score; --scores asks for them again", "edge", "dialogue"),
    "passage": ("Chunks without facts; --retry asks them again", "passage"),
}
FAILED = 10  # failures that are listed


def index(
    role: RoleArgument,
    method: MethodOption = AMADEUS,
    rebuild: Annotated[bool, typer.Option(help="Make all of it anew; the old is served until then.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only write down which names would become one.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Merge names by that plan, as you have edited it.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Ask again about what has failed.")] = False,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Score every relation now, not when a conversation first needs it."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the model would be asked, and end.")] = False,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Prepare a role for a method; only what changed is done again."""
    index_graph(method)  # raises where there is nothing to prepare
    wishes = {"plan": plan, "apply": apply, "retry": retry, "scores": scores}
    for wish in (wish for wish, wanted in wishes.items() if wanted and not takes(method, wish)):
        have = " or ".join(other for other in METHODS if METHODS[other].prepare and takes(other, wish))
        msg = f"The index of {method} has no --{wish}: add --method {have}, or leave it out."
        raise ValueError(msg)
    if plan and apply:
        msg = "Write the plan first (--plan), read and edit it, then carry it out (--apply)."
        raise ValueError(msg)
    given = {"rebuild": rebuild, **{wish: True for wish, wanted in wishes.items() if wanted}}
    context = context_for(method, role, library, settings)
    if dry_run:
        tell_cost(asyncio.run(indexing_cost(method, context, given)), as_json=as_json)
        return
    report = asyncio.run(indexed(context, method, given))
    print_json(report) if as_json else screen.print(report_view(role, report))


def tell_cost(cost: IndexingCost, *, as_json: bool) -> None:
    """Print what a dry run found."""
    if as_json:
        print_json(cost._asdict())
        return
    asked = f"{cost.questions:,} questions to the model about {cost.characters:,} characters of them"
    told = asked if cost.questions else "no question to the model" if cost.there else "there is nothing to index"
    later = f"; {cost.later}" if cost.later and cost.there else ""
    screen.print(f"{cost.there:,} {cost.unit}: {told}{later}.", soft_wrap=True)


def unmerge(
    role: RoleArgument,
    name: Annotated[str, typer.Argument(help="The name that is to stand for itself again.")],
    method: MethodOption = ROLE_RAG,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a merge of names back: the name becomes an entity of its own again, and stays one."""
    context, opened = context_for(method, role, library, settings), open_role(role, library_path(library))
    before = read_plan(opened.root) or plan_of(opened.index(getattr(context, "index_kind", GRAPH_KIND)).open())
    write_plan(opened.root, before.without(name))
    report = asyncio.run(indexed(context, method))
    print_json(report) if as_json else screen.print(report_view(role, report))


def plan_of(graph: KnowledgeGraph) -> MergePlan:
    """The merges that a graph was made with."""
    merged = [one for one in graph.entities() if len(one.names) > 1]
    alone = tuple(one.name for one in graph.entities() if len(one.names) == 1)
    return MergePlan(merges=tuple(Merge(name=one.name, names=one.names) for one in merged), alone=alone)


def takes(method: str, wish: str) -> bool:
    """Whether the indexing of a method can be told this."""
    return wish in index_graph(method).compile().get_input_jsonschema()["properties"]


async def indexed(context: RoleContext, method: str, given: Mapping[str, bool] | None = None) -> dict[str, Any]:
    """Run the method's indexing graph under a progress bar; a method without an index has nothing to report."""
    report: dict[str, Any] = {}
    if METHODS[method].prepare is None:
        return report
    with bars() as progress:
        bar = Bar(progress)
        graph = index_graph(method).compile()
        async for part in graph.astream(
            given or {"rebuild": False}, context=context, stream_mode=["custom", "values"], version="v2"
        ):
            if part["type"] == "values":
                report = part["data"].get("index", report)
            elif part["type"] == "custom":
                bar.show(part["data"])
    return report


class Bar:
    """A bar for each kind of work that is being done: two kinds may go on at once."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.first: TaskID | None = progress.add_task("Reading", total=None)
        self.tasks: dict[str, TaskID] = {}

    def show(self, event: Mapping[str, Any]) -> None:
        """Show an event."""
        if not event.get("total"):
            return
        if self.first is not None:
            self.progress.remove_task(self.first)
            self.first = None
        work = WORK.get(event.get("what", ""), "Embedding")
        if work not in self.tasks:
            self.tasks[work] = self.progress.add_task(work, total=event["total"])
        self.progress.update(self.tasks[work], completed=event["done"], total=event["total"])


def report_view(role: str, report: Mapping[str, Any]) -> RenderableType:
    """What an index holds and what it cost, as tables."""
    numbers = {name: value for name, value in report.items() if name not in {"failed", "plan"}}
    if "failed" in report:
        numbers["failed"] = len(report["failed"])
    table = Table("", "", title=f"Index of {role}", show_header=False)
    for name, value in numbers.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    parts: list[RenderableType] = [table]
    if report.get("plan"):
        parts = [
            f"Wrote {report['merges']} merges into {report['plan']}: read and edit them, then run it with --apply."
        ]
    if report.get("failed"):
        parts.append(failures_table(report["failed"]))
    return Group(*parts)


def failures_table(failed: list[Mapping[str, str]]) -> Table:
    """The chunks without facts, memories without a mood, or relations without a score, and why."""
    title, *columns = next(words for what, words in WITHOUT.items() if what in failed[0])
    table = Table(*columns, "why", title=title, title_justify="left")
    for one in failed[:FAILED]:
        table.add_row(*(printable(one[column]) for column in (*columns, "error")))
    if len(failed) > FAILED:
        table.add_row("…", f"and {len(failed) - FAILED} more")
    return table


def report_line(report: Mapping[str, Any]) -> str:
    """What an index holds, or would, in a line."""
    counts = {name.replace("_", " "): value for name, value in report.items() if isinstance(value, int)}
    if failed := report.get("failed"):
        counts["failed"] = len(failed)
    line = "; ".join(f"{name}: {value:,}" for name, value in counts.items())
    return f"{line[:1].upper()}{line[1:]}."
