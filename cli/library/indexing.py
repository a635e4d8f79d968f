"""`dramaturg index` and `unmerge`: a role prepared for a method, with progress and a table at the end."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
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
from dramaturg.cli.output import print_json, printable, screen, table_of
from dramaturg.cli.progress import WORK, bars
from dramaturg.nodes.index_steps import IndexingCost
from dramaturg.nodes.run import RoleContext
from dramaturg.stores.documents.merges import Merge, MergePlan, read_plan, write_plan
from dramaturg.stores.index.graph import GRAPH_KIND, KnowledgeGraph
from dramaturg.stores.library import open_role
from dramaturg.workflows.methods import METHODS, index_graph, index_kind, indexing_cost

WITHOUT = {
    "memory": ("Memories without a mood; --retry asks them again", "memory"),
    "edge": ("Relations without a score; --scores asks for them again", "edge", "dialogue"),
    "passage": ("Chunks without facts; --retry asks them again", "passage"),
    "heading": (
        "Chunks without an answer that could be used; --draft --again asks about all of them anew",
        "document",
        "heading",
    ),
}
"""What failures are called, by what the answer was to be about, and the columns of their table."""
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
        raise ValueError(f"The index of {method} has no --{wish}: add --method {have}, or leave it out.")
    if plan and apply:
        raise ValueError("Write the plan first (--plan), read and edit it, then carry it out (--apply).")
    given = {"rebuild": rebuild, **{wish: True for wish, wanted in wishes.items() if wanted}}
    context = context_for(method, role, library, settings)
    if dry_run:
        cost = asyncio.run(indexing_cost(method, context, given))
        print_json(cost._asdict()) if as_json else screen.print(cost_line(cost), soft_wrap=True)
        return
    report = asyncio.run(indexed(context, method, given))
    print_json(report) if as_json else screen.print(report_view(role, report))


def cost_line(cost: IndexingCost) -> str:
    """What a dry run found."""
    asked = f"{cost.questions:,} questions to the model about {cost.characters:,} characters of them"
    if not cost.questions:
        asked = "no question to the model" if cost.there else "there is nothing to index"
    later = f"; {cost.later}" if cost.later and cost.there else ""
    return f"{cost.there:,} {cost.unit}: {asked}{later}."


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
    before = read_plan(opened.root) or plan_of(opened.index(index_kind(method, context) or GRAPH_KIND).open())
    write_plan(opened.root, before.without(name))
    report = asyncio.run(indexed(context, method))
    print_json(report) if as_json else screen.print(report_view(role, report))


def plan_of(graph: KnowledgeGraph) -> MergePlan:
    """The merges that a graph was made with."""
    merged = [one for one in graph.entities() if len(one.names) > 1]
    alone = tuple(one.name for one in graph.entities() if len(one.names) == 1)
    return MergePlan(merges=tuple(Merge(name=one.name, names=one.names) for one in merged), alone=alone)


def takes(method: str, wish: str) -> bool:
    """Whether the indexing of a method takes a wish."""
    return wish in index_graph(method).compile().get_input_jsonschema()["properties"]


async def indexed(context: RoleContext, method: str, given: Mapping[str, bool] | None = None) -> dict[str, Any]:
    """Run the method's indexing graph under a progress bar; a method without an index has nothing to report."""
    report: dict[str, Any] = {}
    if METHODS[method].prepare is None:
        return report
    graph, given = index_graph(method).compile(), given or {"rebuild": False}
    with bars("Reading") as show:
        async for part in graph.astream(given, context=context, stream_mode=["custom", "values"], version="v2"):
            event: Any = part["data"]
            if part["type"] == "values":
                report = event.get("index", report)
            elif event.get("total"):
                show(WORK.get(event.get("what", ""), WORK["vectors"]), event["done"], event["total"])
    return report


def report_view(role: str, report: Mapping[str, Any]) -> RenderableType:
    """What an index holds and what it cost, as tables."""
    failed = report.get("failed")
    first: RenderableType
    if report.get("plan"):
        first = f"Wrote {report['merges']} merges into {report['plan']}: read and edit them, then run it with --apply."
    else:
        first = table = Table("", "", title=f"Index of {role}", show_header=False)
        for name, value in ({**report, "failed": len(failed)} if failed is not None else report).items():
            if name != "plan":
                table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    return Group(first, *([failures_table(failed)] if failed else []))


def failures_table(failed: Sequence[Mapping[str, str]]) -> Table:
    """What there is no answer for, each with why: the first few."""
    title, *columns = next(words for what, words in WITHOUT.items() if what in failed[0])
    table = table_of(title, *columns, "why")
    for one in failed[:FAILED]:
        table.add_row(*(printable(one[column]) for column in (*columns, "error")))
    if len(failed) > FAILED:
        table.add_row("…", *[""] * (len(columns) - 1), f"and {len(failed) - FAILED} more")
    return table


def report_line(report: Mapping[str, Any]) -> str:
    """What an index holds, or would, in a line."""
    counts = {name.replace("_", " "): value for name, value in report.items() if isinstance(value, int)}
    if failed := report.get("failed"):
        counts["failed"] = len(failed)
    line = "; ".join(f"{name}: {value:,}" for name, value in counts.items())
    return f"{line[:1].upper()}{line[1:]}."
