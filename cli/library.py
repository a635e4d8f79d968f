"""`dramaturg roles`, `new`, `show` and `index`: the roles of a library."""

import asyncio
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dramaturg.cli.options import (
    AMADEUS,
    JsonOption,
    LibraryOption,
    MethodOption,
    RoleArgument,
    SettingsOption,
    context_for,
    library_path,
)
from dramaturg.cli.screen import errors, print_json, screen
from dramaturg.nodes.context import RoleContext
from dramaturg.nodes.splitter import longest_paragraph
from dramaturg.stores.errors import DamagedIndex, MissingIndex
from dramaturg.stores.library import Library, examples, open_role
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import RoleCard
from dramaturg.workflows.methods import index_graph


def roles(library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """List the roles of the library, and the examples that can be opened."""
    shelf = Library(library_path(library))
    rows = [{"role": role, "name": shelf.role(role).card.name, "where": "library"} for role in shelf.roles()]
    rows += [{"role": role, "name": "", "where": "example"} for role in examples() if role not in shelf.roles()]
    if as_json:
        print_json(rows)
        return
    table = Table("role", "name", "where", title=str(shelf.root), caption="An example is copied when first opened.")
    for row in rows:
        table.add_row(*row.values())
    screen.print(table)


def new(
    role: RoleArgument,
    name: Annotated[str, typer.Option(help="The name the role goes by.", prompt="Name of the character")],
    language: Annotated[str, typer.Option(help="en, zh or ko.")] = "en",
    profile: Annotated[str, typer.Option(help="Who the role is, in a few sentences.")] = "",
    library: LibraryOption = None,
) -> None:
    """Make a new role: a folder with role.yaml and an empty persona to be written."""
    card = RoleCard.model_validate({"name": name, "language": language, "profile": profile})
    made = Library(library_path(library)).create(role, card)
    screen.print(
        f"Made {made.root}. Write Markdown into its folder persona/, then: dramaturg chat {role}", soft_wrap=True
    )


def show(role: RoleArgument, library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """Show what a role is made of, and which of it is indexed."""
    about = described(open_role(role, library_path(library)))
    if as_json:
        print_json(about)
        return
    table = Table("", "", title=about["name"], show_header=False)
    for key, value in about.items():
        table.add_row(key, "\n".join(map(str, value)) if isinstance(value, list) else str(value))
    screen.print(table)


def described(role: Role) -> dict[str, Any]:
    """Count what a role's files hold."""
    documents = role.documents()
    return {
        "role": role.id,
        "name": role.card.name,
        "aliases": list(role.card.aliases),
        "language": role.card.language,
        "profile": role.card.profile.strip(),
        "folder": str(role.root),
        "documents": [
            f"{d.name}: {len(d.text):,} characters, longest paragraph {longest_paragraph(d.text):,}" for d in documents
        ],
        "dialogue lines": len(role.dialogues()),
        "memories": len(role.memories()),
        "identity triples": len(role.chronicle()),
        "questions": len(role.questions()),
        "indexed": [line for kind in ("acts", "ats", "fixed") if (line := index_line(role, kind))],
    }


def index_line(role: Role, kind: str) -> str:
    """One kind of index in a line; empty if there is none."""
    try:
        manifest = role.current(kind)
    except (DamagedIndex, MissingIndex):
        return f"{kind}: damaged, run `dramaturg index {role.id}`"
    return f"{kind}: {manifest.counts['passages']} passages, {manifest.embedding.name}" if manifest else ""


def index(
    role: RoleArgument,
    method: MethodOption = AMADEUS,
    rebuild: Annotated[
        bool, typer.Option(help="Split and embed all of it anew; the old is served until then.")
    ] = False,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Prepare a role for a method; only what changed is done again."""
    report = asyncio.run(indexed(context_for(method, role, library, settings), method, rebuild))
    if as_json:
        print_json(report)
        return
    table = Table(*report, title=f"Index of {role}")
    table.add_row(*map(str, report.values()))
    screen.print(table)


async def indexed(context: RoleContext, method: str, rebuild: bool) -> dict[str, Any]:
    """Run the method's indexing graph under a progress bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    report: dict[str, Any] = {}
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("Splitting", total=None)
        graph = index_graph(method).compile()
        async for part in graph.astream(
            {"rebuild": rebuild}, context=context, stream_mode=["custom", "values"], version="v2"
        ):
            if part["type"] == "values":
                report = part["data"].get("index", report)
            elif part["type"] == "custom" and part["data"]["event"] == "embedded":
                progress.update(
                    task, description="Embedding", completed=part["data"]["done"], total=part["data"]["total"]
                )
    return report
