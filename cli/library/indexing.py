"""`dramaturg index` and `unmerge`: a role prepared for a method, with progress and a table at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dramaturg.cli.options import (
    AMADEUS,
    ROLE_RAG,
    JsonOption,
    LibraryOption,
    MethodOption,
    ModelOption,
    PromptsOption,
    RoleArgument,
    RolesArgument,
    ServerOption,
    SettingsOption,
    carry_to,
    command_line,
    context_for,
    role_for,
    shelf_of,
)
from dramaturg.cli.output import note, print_json, screen, table_of
from dramaturg.cli.progress import WORK, Show, bars, counting, waiting
from dramaturg.cli.stopping import stopping
from dramaturg.stores.documents.originals import unread, unread_sentence
from dramaturg.stores.learning import take_in
from dramaturg.workflows.names import METHODS

if TYPE_CHECKING:
    from dramaturg.nodes.asking import Answers
    from dramaturg.nodes.index_steps import IndexingCost
    from dramaturg.nodes.run import RoleContext
    from dramaturg.stores.documents.merges import MergePlan
    from dramaturg.stores.index.graph import KnowledgeGraph
    from dramaturg.stores.role import Role
    from dramaturg.workflows.methods import Preparation

WITHOUT = {
    "memory": ("Memories without a mood or a vector; --retry asks them again", "memory"),
    "edge": ("Relations without a score; --scores asks for them again", "edge", "dialogue"),
    "passage": ("Chunks without facts; --retry asks them again", "passage"),
    "heading": (
        "Chunks without an answer that could be used; --draft --again asks about all of them again",
        "document",
        "heading",
    ),
}
"""What failures are called, by what the answer was to be about, and the columns of their table."""
FAILED = 10  # rows that are listed


def index(
    roles: RolesArgument,
    method: MethodOption = AMADEUS,
    model: ModelOption = "auto",
    rebuild: Annotated[
        bool, typer.Option(help="Rebuild everything; the old index is used until the new one is ready.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only write the merge plan: which names would be merged.")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Merge names by the plan, with your edits.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Ask again where the model failed.")] = False,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Score every relation now instead of when a conversation first needs it."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what the model would be asked, and exit.")] = False,
    prompts: PromptsOption = None,
    library: LibraryOption = None,
    server: ServerOption = "",
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Prepare roles for a method. Only changes are processed. On a server, several roles are prepared at once."""
    from dramaturg.workflows.methods import context_type, preparations

    roles = [*dict.fromkeys(roles)]
    contexts = [context_for(method, role, library, settings, prompts=prompts, chat_model=model) for role in roles]
    parts = {
        title if len(roles) == 1 or role in title else f"{title} of {role}": one
        for role, context in zip(roles, contexts, strict=True)
        for title, one in preparations(method, context).items()
    }
    if not parts:
        raise ValueError(f"The method {method!r} has no index: ask it as it is, there is nothing to prepare.")
    wishes = {"plan": plan, "apply": apply, "retry": retry, "scores": scores}
    for wish in (wish for wish, wanted in wishes.items() if wanted and not takes(parts, wish)):
        have = " or ".join(other for other in METHODS if takes(preparations(other, context_type(other)()), wish))
        raise ValueError(f"The index of {method} has no --{wish}: add --method {have}, or leave it out.")
    if plan and apply:
        raise ValueError("Write the plan first (--plan), read and edit it, then carry it out (--apply).")
    carry_to("" if dry_run else server, library, *roles)
    if any(one.kind.sources == "persona" for one in parts.values()):
        for role in roles:
            read_originals(shelf_of(library).open(role), dry_run=dry_run)
    given = {"rebuild": rebuild, **{wish: True for wish, wanted in wishes.items() if wanted}}
    if plan:  # which is no indexing
        parts = {title: one for title, one in parts.items() if one.takes("plan")}
    if dry_run:
        costs = asyncio.run(costs_of(parts, given))
        if as_json:
            print_json(for_program({title: cost._asdict() for title, cost in costs.items()}))
            return
        for title, cost in costs.items():
            screen.print(f"{title}: {cost_line(cost)}" if len(costs) > 1 else cost_line(cost), soft_wrap=True)
        return
    stopping.promise("Answers and vectors so far are kept, and the same command goes on with them.")
    reports = asyncio.run(made(parts, given, server))
    print_json(for_program(reports)) if as_json else screen.print(reports_view(roles[0], reports))


def read_originals(role: Role, *, dry_run: bool) -> None:
    """Make documents of what lies in persona/ in other forms, and say what is not read; a dry run only says it."""
    names = [one.name for one in unread(role.root) if one.readable]
    if dry_run or not names:
        if sentence := unread_sentence(role.root):
            note(f"{sentence} It is not counted here." if dry_run and names else sentence)
        return
    with waiting(f"Reading {', '.join(names)} …"):
        made, said = take_in(role)
    for one in made:
        note(f"Read into {one.document}: {one.after:,} characters. It is yours to edit; the file it was made of stays.")
    for line in said:
        note(line)


def cost_line(cost: IndexingCost) -> str:
    """What a dry run found."""
    asked = f"{cost.questions:,} questions to the model about {cost.characters:,} characters of them"
    if not cost.questions:
        asked = "no question to the model" if cost.there else "there is nothing to index"
    embedded = f"; {cost.to_embed:,} texts to embed{how_long(cost.embedding_seconds)}" if cost.to_embed else ""
    later = f"; {cost.later}" if cost.later and cost.there else ""
    return f"{cost.there:,} {cost.unit}: {asked}{embedded}{later}."


def how_long(seconds: float | None) -> str:
    """A time that was estimated; none at an endpoint."""
    if seconds is None:
        return " at the endpoint"
    return f", about {max(1, round(seconds))} s" if seconds < 90 else f", about {round(seconds / 60)} min"


async def costs_of(parts: Mapping[str, Preparation], given: Mapping[str, bool]) -> dict[str, IndexingCost]:
    """What each preparation would ask."""
    return {title: await one.cost(given) for title, one in parts.items()}


def unmerge(
    role: RoleArgument,
    name: Annotated[str, typer.Argument(help="The name to separate again.")],
    method: MethodOption = ROLE_RAG,
    model: ModelOption = "auto",
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Undo a merge of names: the name becomes a separate entity again, and stays one."""
    from dramaturg.stores.documents.merges import read_plan, write_plan
    from dramaturg.stores.index.graph import GRAPH_KIND, UNMERGED_GRAPH_KIND
    from dramaturg.workflows.methods import index_kinds

    context, opened = role_for(method, role, library, settings, chat_model=model)
    graphs = [one for one in index_kinds(method, context) if one in (GRAPH_KIND, UNMERGED_GRAPH_KIND)] or [GRAPH_KIND]
    plan = read_plan(opened.root)
    if plan is None or plan.merge_of(name) is None:  # the model has made it
        made = plan_of(opened.index(graphs[0]).open())
        merge = made.merge_of(name)
        plan = plan.taking_in(merge) if plan and merge else plan or made
    write_plan(opened.root, plan.without(name))
    reports = asyncio.run(indexed(context, method))
    print_json(for_program(reports)) if as_json else screen.print(reports_view(role, reports))


def plan_of(graph: KnowledgeGraph) -> MergePlan:
    """The merges that a graph was made with."""
    from dramaturg.stores.documents.merges import Merge, MergePlan

    merged = [one for one in graph.entities() if len(one.names) > 1]
    alone = tuple(one.name for one in graph.entities() if len(one.names) == 1)
    return MergePlan(merges=tuple(Merge(name=one.name, names=one.names, why=one.why) for one in merged), alone=alone)


def takes(parts: Mapping[str, Preparation], wish: str) -> bool:
    """Whether one of these preparations takes a wish."""
    return any(one.takes(wish) for one in parts.values())


async def indexed(context: RoleContext, method: str) -> dict[str, dict[str, Any]]:
    """Prepare a role whose files have changed for a method; a method without an index has nothing to report."""
    from dramaturg.workflows.methods import preparations

    again = command_line("index", context.role, method=method, library=str(context.library))
    stopping.promise(f"The role's files are changed, what was indexed of them is kept, and `{again}` goes on.")
    return await made(preparations(method, context), {"rebuild": False})


async def made(
    parts: Mapping[str, Preparation], given: Mapping[str, bool], server: str = ""
) -> dict[str, dict[str, Any]]:
    """Run indexing graphs one after the other under progress bars, each with the wishes that it takes.

    On a server the roles are prepared at once, and each of them by one graph after the other.
    """
    if not server:
        reports = {}
        for title, one in parts.items():
            with bars("Reading") as show:
                reports[title] = await prepared(one, given, show)
        return reports
    from dramaturg.nodes.asking import answer_all
    from dramaturg.workflows.server import open_server

    async with open_server(server) as there:
        by_role: dict[str, dict[str, Preparation]] = {}
        for title, one in parts.items():
            by_role.setdefault(one.context.role, {})[title] = one
        for role, own in by_role.items():
            await there.require(role, {one.name: (one.builder, one.context) for one in own.values()})
        found: dict[str, dict[str, Any]] = {}
        with bars("Reading") as show:

            async def of_role(own: Mapping[str, Preparation]) -> Answers:
                for title, one in own.items():
                    away = one._replace(builder=there.stand_in(one.builder, one.name, "index"))
                    found[title] = await prepared(away, given, show if len(by_role) == 1 else lambda *_: None)
                return {}

            async def kept(_: Answers) -> None:
                """The server keeps them."""

            count = counting(show, "Roles", len(by_role)) if len(by_role) > 1 else lambda _: None
            await answer_all(by_role, of_role, keep=kept, announce=count)
    return {title: found[title] for title in parts}


async def prepared(one: Preparation, given: Mapping[str, bool], show: Show) -> dict[str, Any]:
    """Run an indexing graph with the wishes that it takes, show how far it is, and return its report."""
    return await one.made(given, lambda what, done, total: show(WORK.get(what, WORK["vectors"]), done, total))


def for_program(found: Mapping[str, dict[str, Any]]) -> Mapping[str, Any]:
    """What a program is told of preparations: of one what there is, of several each by its name."""
    return next(iter(found.values())) if len(found) == 1 else found


def reports_view(role: str, reports: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """What was made of a role, index by index."""
    if len(reports) == 1:
        return report_view(f"Index of {role}", *reports.values())
    return Group(*(report_view(title, report) for title, report in reports.items()))


def report_view(title: str, report: Mapping[str, Any]) -> RenderableType:
    """What an index holds and what it cost, as tables."""
    failed, dropped = report.get("failed") or [], report.get("dropped") or []
    first: RenderableType
    if report.get("plan"):
        first = f"Wrote {report['merges']} merges into {report['plan']}: read and edit them, then run it with --apply."
    else:
        first = table = Table("", "", title=title, show_header=False)
        for name, value in report.items():
            counted = len(value) if isinstance(value, list) else value
            if name not in ("plan", "warning"):
                table.add_row(name, f"{counted:,}" if isinstance(counted, int) else str(counted))
    left_out = first_of(dropped, table_of("Left out of answers", "passage", "what"), "passage", "dropped")
    warned = [Text(report["warning"], style="yellow")] if report.get("warning") else []
    return Group(first, *warned, *([failures_table(failed)] if failed else []), *([left_out] if dropped else []))


def failures_table(failed: Sequence[Mapping[str, str]]) -> Table:
    """What there is no answer for, each with why."""
    title, *columns = next(words for what, words in WITHOUT.items() if what in failed[0])
    return first_of(failed, table_of(title, *columns, "why"), *columns, "error")


def first_of(rows: Sequence[Mapping[str, str]], table: Table, *columns: str) -> Table:
    """A table with the first few rows, and how many more there are."""
    for one in rows[:FAILED]:
        table.add_row(*(one[column] for column in columns))
    if len(rows) > FAILED:
        table.add_row("…", *[""] * (len(columns) - 2), f"and {len(rows) - FAILED} more")
    return table


def report_lines(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """What indexes hold, or would, a line each."""
    return "\n".join(map(report_line, reports.values()))


def report_line(report: Mapping[str, Any]) -> str:
    """What an index holds, or would, in a line."""
    counts = {name.replace("_", " "): value for name, value in report.items() if isinstance(value, int)}
    counts |= {name: len(found) for name in ("failed", "dropped") if (found := report.get(name))}
    line = "; ".join(f"{name}: {value:,}" for name, value in counts.items())
    return f"{line[:1].upper()}{line[1:]}."
