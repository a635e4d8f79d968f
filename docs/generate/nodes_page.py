"""Writes docs/reference/nodes.md: what each node and router reads, writes, is told, asks and streams.

`tests/house/test_nodes_page.py` holds the page against this, and this against what nodes do when they run.
"""

import inspect
import pkgutil
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from operator import or_
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from langgraph.types import Send
from typing_extensions import is_typeddict

from dramaturg import nodes, workflows

from node_facts import RUNTIME, STATE, Facts, Keys, Value, bindings, followed, found_in, hints, names_in

PAGE = Path(__file__).parents[1] / "reference" / "nodes.md"
HEADER = """# Nodes

What every node reads and writes, which settings it takes, what it asks a model, and which events it streams.
`make docs` writes this page from the code, and a test keeps it true.

- *Reads* are channels of the state; those in brackets may be missing.
- *Writes* are the channels that it may return; which of them it does return may depend on what it finds.
- *Settings* is the class that the context of a graph must inherit. [Below](#settings) are its fields and its bases.
- *Asks* are the [kinds of question](../concepts/questions.md) for the chat model, and `embed` where the embedding model
  is opened; which of them are asked may depend on the settings.
- *Runs* are graphs that it runs within.
- *Streams* are the `event`s of LangGraph's stream mode `custom`.

A [router](#routers) tells what is so; which node follows is the graph's affair.
"""


@dataclass(frozen=True)
class Entry:
    """A node or router, what was found of it, and the graphs that it is in."""

    function: Callable[..., Any]
    facts: Facts
    graphs: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.function.__name__

    @property
    def module(self) -> str:
        """Its module, without the package."""
        return self.function.__module__.removeprefix("dramaturg.")

    @property
    def folder(self) -> str:
        """The module or folder under which it stands on the page."""
        return self.module if self.module.count(".") == 1 else self.module.rpartition(".")[0]


def modules(package: types.ModuleType) -> Iterator[types.ModuleType]:
    """All modules of a package."""
    for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield import_module(one.name)


def graphs() -> Iterator[Any]:
    """The graphs of all workflows."""
    yield from (module.graph for module in modules(workflows) if hasattr(module, "graph"))


def branches(graph: Any) -> Iterator[Any]:
    """Each router of a graph with its outcomes."""
    for routers in graph.builder.branches.values():
        yield from routers.values()


def function_of(runnable: Any) -> Any:
    """The function of a node or router; one that a function made is no entry of its own."""
    function = getattr(runnable, "func", None) or getattr(runnable, "afunc", None)
    return None if function is None or "<locals>" in function.__qualname__ else function


@cache
def wired() -> dict[Callable[..., Any], frozenset[str]]:
    """The functions that graphs are made of, by the names of those graphs."""
    places: dict[Callable[..., Any], frozenset[str]] = {}
    for graph in graphs():
        runnables = [one.runnable for one in graph.builder.nodes.values()] + [one.path for one in branches(graph)]
        for function in filter(None, map(function_of, runnables)):
            places[function] = places.get(function, frozenset()) | {graph.name}
    return places


def takes_state(function: Any) -> bool:
    """Whether a function takes a state, and a runtime or nothing else."""
    parameters = [*inspect.signature(function).parameters]
    return parameters in (["state"], ["state", "runtime"]) and is_typeddict(
        hints(inspect.unwrap(function)).get("state")
    )


def is_node(function: Any) -> bool:
    """Whether a function that takes a state is a node."""
    return inspect.iscoroutinefunction(inspect.unwrap(function)) and not outcomes(function)


def entry(function: Any) -> Entry:
    """Read a node or router, decorators included."""
    given: list[Value] = [STATE, RUNTIME]
    facts, returned = found_in(function, bindings(function, given[: len(inspect.signature(function).parameters)]))
    all_facts = Facts(writes=set(names_in(returned, Keys)))
    all_facts.add(facts)
    all_facts.runs |= {*getattr(function, "runs", ())}  # which a node has looked up by their names
    return Entry(function, all_facts, tuple(sorted(wired().get(function, ()))))


@cache
def entries() -> tuple[list[Entry], list[Entry]]:
    """All nodes, and all routers."""
    public = [
        one
        for module in (*modules(nodes), *modules(workflows))
        for name, one in vars(module).items()
        if inspect.isfunction(one) and one.__module__ == module.__name__ and not name.startswith("_")
    ]
    mine = [one for one in dict.fromkeys([*public, *wired()]) if takes_state(one)]
    mine.sort(key=lambda one: (one.__module__, inspect.unwrap(one).__code__.co_firstlineno))
    routers = [one for one in mine if outcomes(one)]
    return [entry(one) for one in mine if is_node(one)], [entry(one) for one in routers]


@cache
def outcomes(router: Any) -> list[str]:
    """What a router may say, by its annotation, else by the graphs that it is in; "Send" where it sends work out."""
    told = list(named(hints(inspect.unwrap(router)).get("return")))
    ends = (one.ends for graph in graphs() for one in branches(graph) if function_of(one.path) is router)
    return told or sorted({str(outcome) for one in ends for outcome in one or ()})


def named(annotation: Any) -> Iterator[str]:
    """The strings that an annotation allows."""
    if get_origin(annotation) is Literal:
        yield from map(str, get_args(annotation))
    elif annotation is Send:
        yield "Send"
    else:
        for part in get_args(annotation):
            yield from named(part)


# The page.


def listed(names: Iterable[str]) -> str:
    """Names in order, as code."""
    return ", ".join(f"`{name}`" for name in sorted(names))


def first_line(thing: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def place(module: str) -> str:
    """A link to a module's file."""
    path = f"{module.replace('.', '/')}.py"
    return f"[`{path}`](../../{path})"


def paragraph(one: Entry) -> str:
    """A node, in a few lines."""
    facts = one.facts
    may_read = [f"[`{name}`]" for name in sorted(facts.may_read - facts.needs)]
    reads = ", ".join([*(f"`{name}`" for name in sorted(facts.needs)), *may_read])
    parts = {
        "reads": reads,
        "writes": listed(facts.writes),
        "settings": listed(kind.__name__ for kind in facts.settings),
        "asks": ", ".join(sorted(facts.asks)),
        "runs": listed(facts.runs),
        "streams": listed(facts.events),
    }
    lines = [f"- {name}: {told}" for name, told in parts.items() if told]
    where = f"in {listed(one.graphs)}" if one.graphs else "in no graph of the package"
    return "\n".join(
        [f"#### {one.name}", "", f"{first_line(one.function)} {place(one.module)}, {where}.", "", *lines, ""]
    )


def sections(found: list[Entry]) -> Iterator[str]:
    """All nodes by kind of knowledge."""
    for folder in dict.fromkeys(one.folder for one in found):
        yield f"### {folder.replace('.', '/')}\n\n{first_line(import_module(f'dramaturg.{folder}'))}\n"
        yield from (paragraph(one) for one in found if one.folder == folder)


def routers_table(found: list[Entry]) -> str:
    """All routers."""
    rows = [
        f"| `{one.name}` | {first_line(one.function)} | {listed(outcomes(one.function))} "
        f"| {listed(one.facts.needs | one.facts.may_read)} | {listed(kind.__name__ for kind in one.facts.settings)} "
        f"| {place(one.module)} |"
        for one in found
    ]
    return "\n".join(
        ["| router | what it tells | outcomes | reads | settings | where |", "| --- " * 6 + "|", *rows, ""]
    )


def settings_table(kinds: Iterable[type]) -> str:
    """The settings classes that nodes name, and those that they inherit."""
    everything = {base for kind in kinds for base in kind.__mro__ if followed(base)}
    rows = [
        f"| `{kind.__name__}` | {listed(base.__name__ for base in kind.__bases__ if followed(base))} "
        f"| {listed(name for name in kind.__annotations__ if not name.startswith('_'))} "
        f"| {place(kind.__module__.removeprefix('dramaturg.'))} |"
        for kind in sorted(everything, key=lambda kind: kind.__name__)
    ]
    return "\n".join(["| settings | inherits | adds | where |", "| --- " * 4 + "|", *rows, ""])


def page() -> str:
    """The whole page."""
    found, routers = entries()
    kinds = reduce(or_, (one.facts.settings for one in (*found, *routers)))
    parts = [HEADER, "## Nodes, by kind of knowledge\n", *sections(found), "## Routers\n", routers_table(routers)]
    return "\n".join([*parts, "## Settings\n", settings_table(kinds)])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
