"""The methods by name, imported when asked for: those of the package, and flows that others have written with it."""

import hashlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from dramaturg.nodes.index_steps import IndexingCost, Wishes
from dramaturg.nodes.part import part_context
from dramaturg.nodes.run import RoleContext
from dramaturg.nodes.turn import TurnInput, TurnOutput
from dramaturg.stores.errors import did_you_mean
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.memories import MEMORY_KIND
from dramaturg.stores.index.passages import passage_kind
from dramaturg.workflows.names import METHODS

__all__ = ["Flow", "Preparation", "chat_graph", "context_type", "flow", "preparations"]

INDEXES: Mapping[str, str] = {
    "amadeus_index": "dramaturg.nodes.passages.index:cost_of_passages",
    "role_rag_index": "dramaturg.nodes.graph.index:cost_of_graph",
    "emotional_rag_index": "dramaturg.nodes.memories.index:cost_of_memories",
    "drmr_index": "dramaturg.nodes.dialogues.index:cost_of_dialogues",
}
"""The graphs that prepare a role, each with what counts its questions to a chat model and what it embeds."""

GATHERING = ("amadeus", "role-rag", "emotional-rag", "drmr", "id-rag")
"""The methods whose grounds can be gathered without a reply: their modules have `build_grounds`."""

PREVIEWS: Mapping[str, str] = {
    "amadeus_index": "dramaturg.nodes.passages.index:preview",
    "role_rag_index": "dramaturg.nodes.graph.index:preview_graph",
}
"""What says what indexing would cost after a change of documents; other indexes are made of other files."""

T = TypeVar("T")
Show = Callable[[str, int, int], None]
"""Is told how far indexing is: the `what` of an event ("facts", "pairs", "vectors", …), how many are done, and of
how many."""
AnyGraph = StateGraph[Any, Any, Any, Any]


class Flow(NamedTuple):
    """A method that was looked up.

    Where a method may be named in a context that a caller sends, a flow of one's own is such an object: no text
    becomes one, so that no caller can have a module imported.
    """

    name: str
    builder: AnyGraph

    @property
    def context(self) -> type[RoleContext]:
        """What the method may be told."""
        return self.builder.context_schema  # type: ignore[return-value]  # `flow` has checked it

    def preparations(self, context: RoleContext) -> dict[str, "Preparation"]:
        """What prepares a role for the method: the package's indexing graphs that stand in it, in their order.

        Those inside other graphs and parts count, each by the context that it has there; two that would do the same
        are one.

        Args:
            context: the method's.

        Returns:
            Each by the name of its graph; empty where there is nothing to prepare.
        """
        found: dict[str, Preparation] = {}
        for one in _preparations(self.builder, context):
            if one in found.values():
                continue
            title = one.name if one.context.role == context.role else f"{one.name} of {one.context.role}"
            title += f" ({len(found) + 1})" if title in found else ""
            found[title] = one
        return found

    def reading(self, context: RoleContext) -> dict[str, "Preparation"]:
        """What makes the indexes of a role's documents that the method reads, by their names; empty: it reads none.

        Those of its own, or the one in which a method that rests on something else finds the passages that it shows.

        Args:
            context: the method's.
        """
        found = {title: one for title, one in self.preparations(context).items() if one.kind.sources == "persona"}
        if found or not getattr(context, "document_passages", 0):
            return found
        name = "amadeus_index"
        builder = import_module(f"dramaturg.workflows.{name}").build()
        return {name: Preparation(name, builder, part_context(builder.context_schema, None, context, name))}


class Preparation(NamedTuple):
    """An indexing graph of the package, and the context that it runs by."""

    name: str
    """That of the graph, such as "amadeus_index"."""
    builder: AnyGraph
    context: RoleContext

    @property
    def graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """The graph; it takes wishes, and gives a report in `index`."""
        return self.builder.compile(name=self.name)

    @property
    def kind(self) -> IndexKind[Any, Any]:
        """The kind of index that it makes."""
        from dramaturg.nodes.graph.build import graph_kind

        context: Any = self.context
        match self.name:
            case "amadeus_index":
                return passage_kind(context.splitter)
            case "role_rag_index":
                return graph_kind(context)
        return MEMORY_KIND if self.name == "emotional_rag_index" else DIALOGUE_KIND

    @property
    def asks(self) -> bool:
        """Whether a chat model is asked."""
        return self.name != "amadeus_index"

    def takes(self, wish: str) -> bool:
        """Whether it can be told this: `rebuild`, `plan`, `apply`, `retry` or `scores`."""
        return wish in self.builder.schemas[self.builder.input_schema]

    async def cost(self, wishes: Wishes) -> IndexingCost:
        """What a chat model would be asked, and what is embedded; none is asked, and no index is changed."""
        return await resolve_name(INDEXES[self.name])(self.context, wishes)  # type: ignore[no-any-return]

    async def preview(self, changes: Mapping[str, bytes | None]) -> dict[str, int] | None:
        """What indexing would cost if documents were written (bytes) or removed (None); None: it reads no documents.

        Returns:
            `documents` and either `passages` and `to_embed`, or `chunks` and `to_extract`: questions to the model.
        """
        if self.name not in PREVIEWS:
            return None
        return dict(await resolve_name(PREVIEWS[self.name])(self.context, changes))

    async def made(self, given: Mapping[str, bool], show: Show) -> dict[str, Any]:
        """Run the graph with the wishes that it takes, show how far it is, and return its report."""
        report: dict[str, Any] = {}
        wishes = {wish: wanted for wish, wanted in given.items() if self.takes(wish)}
        stream = self.graph.astream(wishes, context=self.context, stream_mode=["custom", "values"], version="v2")
        async for part in stream:
            event: Any = part["data"]
            if part["type"] == "values":
                report = event.get("index", report)
            elif event["event"] == "split" and event["embedded"]:
                show("vectors", event["passages"] - event["embedded"], event["passages"])
            elif event.get("total"):
                show(event.get("what", "vectors"), event["done"], event["total"])
        return report


def flow(name: str) -> Flow:
    """Look a method up; one that is not the package's is imported.

    Args:
        name: of METHODS, or `package.module:attribute`, or `path/to/file.py:attribute`. The attribute is a compiled
            graph, a StateGraph, or a function that gives either of them. A compiled graph counts by its builder: a
            conversation has a saver of its own.

    Raises:
        ValueError: there is none of that name, it cannot be imported, or it is no graph that takes a turn.
    """
    if name in METHODS:
        return _method(name)
    if ":" not in name:
        msg = f"There is no method {name!r}; there are: {', '.join(METHODS)}, and your own, as package.module:graph."
        raise ValueError(msg)
    builder = _imported(name)
    _require_turns(name, builder)
    return Flow(name, builder)


def chat_graph(name: str) -> AnyGraph:
    """The builder of a method's conversation."""
    return flow(name).builder


def grounds_graph(name: str) -> AnyGraph:
    """The builder of what a method finds for a reply, without the reply; it takes and gives what is in `nodes.reply`.

    Raises:
        ValueError: the method has no such part.
    """
    module = import_module(f"dramaturg.workflows.{METHODS[name]}") if name in METHODS else None
    build = getattr(module, "build_grounds", None)
    if build is None:
        raise ValueError(f"The method {name} looks nothing up without answering: take {', '.join(GATHERING)}.")
    return build()  # type: ignore[no-any-return]


def context_type(name: str) -> type[RoleContext]:
    """What a method may be told."""
    return flow(name).context


def preparations(name: str, context: RoleContext) -> dict[str, Preparation]:
    """What prepares a role for a method; see `Flow.preparations`."""
    return flow(name).preparations(context)


def index_kinds(name: str, context: RoleContext) -> list[IndexKind[Any, Any]]:
    """The kinds of index that a method reads with these settings."""
    return [one.kind for one in preparations(name, context).values()]


def file_name(name: str) -> str:
    """A method's name as a part of a file's name."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[-80:]


@cache
def _method(name: str) -> Flow:
    """A method of the package: its builder is made once, and whoever changes one takes `build` of its module."""
    return Flow(name, import_module(f"dramaturg.workflows.{METHODS[name]}").build())


def _preparations(builder: AnyGraph, context: RoleContext) -> Iterator[Preparation]:
    """The indexing graphs among the nodes, and those inside them."""
    prepared = getattr(builder, "prepared_parts", None)
    among = prepared(context) if prepared else builder.nodes
    for node in (builder.nodes[name] for name in builder.nodes if name in among):
        inner: Any = node.runnable
        own = context
        if not isinstance(inner, CompiledStateGraph):
            # A part is a function around a graph, which is run by a context of its own.
            around = getattr(inner, "func", None) or getattr(inner, "afunc", None)
            inner = getattr(around, "graph", None)
            if not isinstance(inner, CompiledStateGraph):
                continue
            kind: Any = inner.builder.context_schema
            own = part_context(
                kind,
                getattr(around, "settings", None),
                context,
                inner.name,
            )
        if inner.name in INDEXES:
            yield Preparation(inner.name, inner.builder, own)
        else:
            yield from _preparations(inner.builder, own)


def _imported(name: str) -> AnyGraph:
    """Import the builder of a flow."""
    where, _, attribute = name.rpartition(":")
    module = _file(where) if where.endswith(".py") else _module(where)
    if not hasattr(module, attribute):
        raise ValueError(f"{where} has no {attribute!r}{did_you_mean(attribute, vars(module))}")
    found = getattr(module, attribute)
    if callable(found) and not inspect.iscoroutinefunction(found):
        found = _run(name, found)
    if isinstance(found, CompiledStateGraph):
        found = found.builder
    if not isinstance(found, StateGraph):
        msg = f"{name} is no graph but {type(found).__name__}: name a StateGraph, a compiled one, or what gives one."
        raise ValueError(msg)
    return found


def _module(where: str) -> ModuleType:
    """Import a module by its name."""
    if not all(part.isidentifier() for part in where.split(".")):
        msg = f"{where!r} is no module: a flow is named package.module:graph, or path/to/file.py:graph."
        raise ValueError(msg)
    return _run(where, partial(import_module, where))


def _file(where: str) -> ModuleType:
    """Import a file by its path, as langgraph.json names graphs; once in a process."""
    file = Path(where).expanduser().resolve()
    name = f"dramaturg_flow_{hashlib.sha256(str(file).encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ValueError(f"There is no file {where}.")
    module = sys.modules[name] = module_from_spec(spec)  # where the hints of its classes are looked up
    try:
        _run(where, partial(spec.loader.exec_module, module))
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _run(name: str, code: Callable[[], T]) -> T:
    """Run somebody else's code; what is wrong with it is said in a sentence."""
    try:
        return code()
    except Exception as error:  # it may raise anything
        raise ValueError(_failure(name, error)) from error


def _failure(name: str, error: Exception) -> str:
    """What is wrong with somebody else's code, and where."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        if not name.endswith(".py") and f"{name}.".startswith(f"{error.name}."):
            return f"There is no module {error.name!r} in this folder, and none is installed."
        return f"{name} cannot be imported: it needs {error.name!r}, which is not installed."
    place = ""
    if not isinstance(error, SyntaxError):  # it says itself where it is
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f" ({Path(last.filename).name}, line {last.lineno})"
    return f"{name} cannot be used: {type(error).__name__}: {error}{place}."


def _require_turns(name: str, builder: AnyGraph) -> None:
    """Refuse a graph that does not take a turn of a role, or give one."""
    kind: Any = builder.context_schema
    if not (isinstance(kind, type) and issubclass(kind, RoleContext)):
        has = f"is {getattr(kind, '__name__', kind)}" if kind else "is missing"
        msg = f"The context of {name} {has}: give it the settings of its nodes, or dramaturg.nodes.run.RoleContext."
        raise ValueError(msg)
    for verb, schema, turn in (("take", builder.input_schema, TurnInput), ("give", builder.output_schema, TurnOutput)):
        if missing := [one for one in turn.__annotations__ if one not in builder.schemas[schema]]:
            schemas = "input_schema=TurnInput, output_schema=TurnOutput"
            msg = f"{name} does not {verb} {' and '.join(missing)}: give it {schemas} (dramaturg.nodes.turn)."
            raise ValueError(msg)
