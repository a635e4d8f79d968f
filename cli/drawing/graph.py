"""`dramaturg graph`: what a role knows, as a picture, a page, a file for other programs, or tables."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Annotated

import networkx as nx
import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dramaturg.cli.drawing.page import html
from dramaturg.cli.drawing.picture import png
from dramaturg.cli.options import (
    ROLE_RAG,
    JsonOption,
    LibraryOption,
    MethodOption,
    RoleArgument,
    SettingsOption,
    context_for,
    shelf_of,
)
from dramaturg.cli.output import note, print_json, screen, table_of, write_whole
from dramaturg.stores.index.graph import (
    GRAPH_KIND,
    TYPES,
    UNMERGED_GRAPH_KIND,
    Entity,
    Graph,
    KnowledgeGraph,
    Relation,
    encode_graph,
)
from dramaturg.workflows.methods import index_kinds

STRONGEST = 15
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")  # without one of them Linux has nothing to show a file on
OPENING = 3.0  # seconds in which xdg-open says that it could not


def graphml(graph: KnowledgeGraph, role_node: str | None) -> bytes:
    """Return GraphML for Gephi, yEd or networkx: flat attributes, and nothing that XML 1.0 cannot hold.

    It is for other programs only: names that differ in such characters alone get a number, and where a statement
    comes from is left out. What is kept is JSON.
    """
    ids = dict(zip(graph.graph, distinct(xml_text(name) for name in graph.graph), strict=True))
    flat: Graph = nx.Graph()
    for entity in graph.entities():
        flat.add_node(ids[entity.name], **flat_entity(entity), is_role=int(entity.name == role_node))
    for relation in graph.relations():
        flat.add_edge(ids[relation.source], ids[relation.target], **flat_relation(relation))
    file = BytesIO()
    nx.write_graphml_xml(flat, file)  # write_graphml writes other bytes where lxml is installed
    return file.getvalue()


def node_link_json(graph: KnowledgeGraph, _role_node: str | None) -> bytes:
    """Return the node-link JSON that a role's index holds, for people to read."""
    document = json.loads(encode_graph(graph.graph))
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


WRITERS: Mapping[str, Callable[[KnowledgeGraph, str | None], bytes]] = {
    "html": html,
    "png": png,
    "json": node_link_json,
    "graphml": graphml,
}
"""By what a graph can be written as; each is the suffix of its files too."""
Format = StrEnum("Format", {name: name for name in WRITERS})  # type: ignore[misc]
NOT_IN_XML = re.compile("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
        write_out(path, WRITERS[as_form](known, role_node), open_it=open_file is not None)
    if as_json:
        print_json(json.loads(encode_graph(known.graph)))
    elif target is None:
        screen.print(*tables(known, role_node), sep="\n")


def wanted(role: str, open_file: Path | None, file: Path | None, form: Format | None) -> tuple[Path, Format] | None:
    """The file to write and what as, or None where neither was named."""
    path = named_file(open_file, file)
    if path is not None:
        return path, form or by_suffix(path)
    return None if form is None else (Path(f"{role}-graph.{form}"), form)


def named_file(open_file: Path | None, file: Path | None) -> Path | None:
    """The file that --open-file or --file names."""
    if open_file is not None and file is not None:
        raise ValueError("Name the file once: with --open-file to open it too, or with --file.")
    return open_file or file


def by_suffix(path: Path) -> Format:
    """The format that a file's name says; a page where it says none."""
    if not path.suffix:
        return Format("html")
    try:
        return Format(path.suffix[1:].lower())
    except ValueError:
        known = ", ".join(f".{form}" for form in Format)
        raise ValueError(f"A graph is not written as {path.suffix}: use {known}, or say which by --format.") from None


def read_graph(
    role_id: str, method: str, library: str | None, settings: list[str] | None
) -> tuple[KnowledgeGraph, str | None]:
    """The graph that a method asks, and the canonical name of the role in it."""
    kinds = index_kinds(method, context_for(method, role_id, library, settings))
    kind = next((one for one in kinds if one in (GRAPH_KIND, UNMERGED_GRAPH_KIND)), None)
    if kind is None:
        raise ValueError(f"The method {method} has no knowledge graph: use --method {ROLE_RAG}.")
    role = shelf_of(library).open(role_id)
    known: KnowledgeGraph = role.index(kind).open()
    if known.warning:
        note(known.warning, "yellow")
    return known, known.find(role.card.name, *role.card.aliases)


def write_out(path: Path, data: bytes, *, open_it: bool) -> None:
    """Write a file, and perhaps open it in the system's viewer, if there is one."""
    write_whole(path, data)
    if not open_it:
        note(f"Wrote {path}.")
    elif opened(path.resolve()):
        note(f"Wrote {path} and opened it.")
    else:
        note(f"Wrote {path}; there is nothing here to open it with.")


def opened(path: Path) -> bool:
    """Open a file in the system's viewer; False where nothing has opened."""
    opener = shutil.which("xdg-open")
    if sys.platform != "linux" or not opener:
        return typer.launch(str(path)) == 0
    if not any(os.environ.get(name) for name in SCREENS):
        return False
    viewer = subprocess.Popen(  # noqa: S603 - the system's own, and a file that we have written
        [opener, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        return viewer.wait(OPENING) == 0
    except subprocess.TimeoutExpired:  # it is the viewer itself
        return True


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
    table = table_of(title, "type", "entities")
    for kind in sorted(numbers, key=TYPES.index):
        table.add_row(kind, str(numbers[kind]))
    return table


def relations_table(known: KnowledgeGraph, role_node: str) -> Table:
    """What is closest to the role."""
    title = f"The strongest relations of {role_node}"
    table = table_of(title, "strength", "entity", "type", "relation")
    for entity, relation in known.neighbours(role_node)[:STRONGEST]:
        table.add_row(str(relation.strength), entity.name, entity.type, relation.description)
    return table


def names_table(known: KnowledgeGraph) -> Table:
    """The entities that the documents call by several names."""
    table = table_of("Merged names", "entity", "also")
    for entity in known.entities():
        if others := [name for name in entity.names if name != entity.name]:
            table.add_row(entity.name, ", ".join(others))
    return table


def flat_entity(entity: Entity) -> dict[str, str | int]:
    """An entity in attributes of one value each."""
    texts = {"label": entity.name, "type": entity.type, "description": entity.description}
    texts["names"] = " | ".join(entity.names)
    return {**{name: xml_text(text) for name, text in texts.items()}, "statements": len(entity.statements)}


def flat_relation(relation: Relation) -> dict[str, str | int]:
    """A relation in attributes of one value each; `source` and `target` are names that GraphML has taken."""
    texts = {"description": relation.description, "from": relation.source, "to": relation.target}
    numbers = {"strength": relation.strength, "weight": relation.strength, "statements": len(relation.statements)}
    return {**{name: xml_text(text) for name, text in texts.items()}, **numbers}


def xml_text(text: str) -> str:
    """Take out the characters that XML 1.0 cannot hold, and the carriage returns that it does not keep."""
    return NOT_IN_XML.sub("", text)


def distinct(names: Iterable[str]) -> Iterator[str]:
    """Yield the names; one that was there before gets a number."""
    taken: set[str] = set()
    for name in names:
        free = next(one for n in count(1) if (one := name if n == 1 else f"{name} ({n})") not in taken)
        taken.add(free)
        yield free
