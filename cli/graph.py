"""`dramaturg graph`: what a role knows, as a picture, a page, a file for other programs, or tables."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dramaturg.cli.graph_exports import graphml, node_link_json
from dramaturg.cli.graph_page import html
from dramaturg.cli.graph_pictures import png
from dramaturg.cli.options import (
    ROLE_RAG,
    JsonOption,
    LibraryOption,
    MethodOption,
    RoleArgument,
    SettingsOption,
    context_for,
    library_path,
)
from dramaturg.cli.screen import errors, print_json, printable, screen
from dramaturg.cli.written_files import write_whole
from dramaturg.stores.index.graph import TYPES, KnowledgeGraph, encode_graph
from dramaturg.stores.index.kinds import GRAPH_KIND, UNMERGED_GRAPH_KIND
from dramaturg.stores.library import open_role

STRONGEST = 15


class Format(StrEnum):
    """What a graph can be written as; each is the suffix of its files too."""

    HTML = "html"
    PNG = "png"
    JSON = "json"
    GRAPHML = "graphml"


WRITERS: Mapping[Format, Callable[[KnowledgeGraph, str | None], bytes]] = {
    Format.HTML: html,
    Format.PNG: png,
    Format.JSON: node_link_json,
    Format.GRAPHML: graphml,
}


def graph(
    role: RoleArgument,
    open_file: Annotated[Path | None, typer.Option(help="Write this file, and open it.")] = None,
    file: Annotated[Path | None, typer.Option(help="Write this file.")] = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="What to write; without it, the file's suffix says it.")
    ] = None,
    method: MethodOption = ROLE_RAG,
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a role's knowledge graph: as tables, or as a page with search, a picture or a file for other programs."""
    target = wanted(role, open_file, file, form)
    known, role_node = read_graph(role, method, library, settings)
    if target is not None:
        path, as_form = target
        write_whole(path, WRITERS[as_form](known, role_node))
        said = opened(path) if open_file is not None else f"Wrote {path}."
        errors.print(printable(said), soft_wrap=True)
    if as_json:
        print_json(json.loads(encode_graph(known.graph)))
    elif target is None:
        screen.print(*tables(known, role_node), sep="\n")


def wanted(role: str, open_file: Path | None, file: Path | None, form: Format | None) -> tuple[Path, Format] | None:
    """The file to write and what as, or None where neither was named.

    Raises:
        ValueError: two files were named, or the suffix says nothing.
    """
    if open_file is not None and file is not None:
        raise ValueError("Name the file once: with --open-file to open it too, or with --file.")
    path = open_file or file
    if path is not None:
        return path, form or by_suffix(path)
    return None if form is None else (Path(f"{role}-graph.{form}"), form)


def by_suffix(path: Path) -> Format:
    """The format that a file's name says; a page where it says none.

    Raises:
        ValueError: the suffix is that of something else.
    """
    if not path.suffix:
        return Format.HTML
    try:
        return Format(path.suffix[1:].lower())
    except ValueError:
        known = ", ".join(f".{form}" for form in Format)
        raise ValueError(f"A graph is not written as {path.suffix}: use {known}, or say which by --format.") from None


def read_graph(
    role_id: str, method: str, library: Path | None, settings: list[str] | None
) -> tuple[KnowledgeGraph, str | None]:
    """The graph that a method asks, and the canonical name of the role in it.

    Raises:
        MissingIndex: the role is not indexed for this method.
        ValueError: the method has no graph.
    """
    kind = getattr(context_for(method, role_id, library, settings), "index_kind", None)
    if kind not in (GRAPH_KIND, UNMERGED_GRAPH_KIND):
        raise ValueError(f"The method {method} has no knowledge graph: use --method {ROLE_RAG}.")
    role = open_role(role_id, library_path(library))
    known = role.index(kind).open()
    if known.warning:
        errors.print(printable(known.warning), style="yellow", soft_wrap=True)
    return known, known.find(role.card.name, *role.card.aliases)


def opened(path: Path) -> str:
    """Open a file in the system's viewer, and say whether there was one."""
    failed = typer.launch(str(path.resolve()))
    return f"Wrote {path}; there is nothing here to open it with." if failed else f"Wrote {path} and opened it."


def tables(known: KnowledgeGraph, role_node: str | None) -> Iterable[RenderableType]:
    """The graph in a few tables: types, what is closest to the role, and the names that were joined."""
    yield types_table(known)
    if role_node is None:
        yield Text("The role itself is not in the graph: no entity has its name or one of its aliases.", style="yellow")
    else:
        yield relations_table(known, role_node)
    if any(len(entity.names) > 1 for entity in known.entities()):
        yield names_table(known)


def types_table(known: KnowledgeGraph) -> Table:
    """How many entities there are of each type."""
    numbers = Counter(entity.type for entity in known.entities())
    title = f"{len(known.graph)} entities, {known.graph.number_of_edges()} relations"
    table = Table("type", "entities", title=title, title_justify="left")
    for kind in sorted(numbers, key=TYPES.index):
        table.add_row(kind, str(numbers[kind]))
    return table


def relations_table(known: KnowledgeGraph, role_node: str) -> Table:
    """What is closest to the role."""
    title = f"The strongest relations of {printable(role_node)}"
    table = Table("strength", "entity", "type", "relation", title=title, title_justify="left")
    for entity, relation in known.neighbours(role_node)[:STRONGEST]:
        table.add_row(str(relation.strength), printable(entity.name), entity.type, printable(relation.description))
    return table


def names_table(known: KnowledgeGraph) -> Table:
    """The entities that the documents call by several names."""
    table = Table("entity", "also", title="Merged names", title_justify="left")
    for entity in known.entities():
        if others := [printable(name) for name in entity.names if name != entity.name]:
            table.add_row(printable(entity.name), ", ".join(others))
    return table
