"""The graphs of this package: their runs always know how they are to be done, and they can be changed node by node."""

import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache, wraps
from typing import Any, Self, TypeVar, get_type_hints

from langchain_core.runnables import Runnable
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.typing import ContextT, InputT, OutputT, StateT

from dramaturg.nodes.run import CompiledWorkflow
from dramaturg.stores.errors import did_you_mean

Node = Any
"""A coroutine function of state and runtime, or a compiled graph."""


class Workflow(StateGraph[StateT, ContextT, InputT, OutputT]):
    """A `StateGraph` of nodes that have their settings from a run's context.

    Called without a context, a LangGraph graph gives its nodes none, and each would take the defaults of its own
    settings. A workflow's runs have the defaults of its context schema then, in its subgraphs too.
    """

    prepares: bool = False
    """Whether it prepares a role: that is no part of a turn's time."""
    former_nodes: Mapping[str, str] = {}
    """By the name of a node that there was once: the one that goes on where a thread has stopped before it."""
    prepared_parts: Callable[[Any], Sequence[str]] | None = None
    """Of a graph whose parts depend on the role: which of them are prepared, by a context; None: all."""
    former_channels: Mapping[str, str] = {}
    """By the name that a channel once had: the one that it has now; empty where there is none any more."""

    @property
    def renamed_channels(self) -> dict[str, str]:
        """The former channels, without names that the state has now: somebody who changed the graph may have one."""
        own = self.schemas[self.state_schema]
        return {old: new for old, new in self.former_channels.items() if old not in own}

    def copy(self) -> Self:
        """A builder of the same nodes and edges, which can be changed by itself."""
        other = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | set):
                setattr(other, name, copy(value))
        other.branches = defaultdict(dict, {start: dict(branches) for start, branches in self.branches.items()})
        return other

    def change(
        self,
        *,
        replace: Mapping[str, Node] | None = None,
        after: Mapping[str, Node] | None = None,
        state: type[Any] | None = None,
        context: type[Any] | None = None,
    ) -> None:
        """Change a graph before it is compiled.

        Args:
            replace: by the name of a node, what stands in its place.
            after: by the name of a node, one that comes between it and what follows it; it is called by its own name,
                a part by that of its graph.
            state: a state that inherits the graph's.
            context: settings that inherit the graph's.

        Raises:
            TypeError: state or context lack what the graph's have.
            ValueError: there is no node of a name, or already one.
        """
        if state:
            if lacks := sorted(self.channels.keys() - get_type_hints(state).keys() - {"__root__"}):
                msg = f"{state.__name__} lacks {', '.join(lacks)}: inherit {self.state_schema.__name__}."
                raise TypeError(msg)
            self._add_schema(state)
            self.state_schema = state
        if context:
            kind: Any = self.context_schema
            if not issubclass(context, kind):
                raise TypeError(f"{context.__name__} lacks settings of the graph: inherit {kind.__name__}.")
            self.context_schema = context
        for name, node in {**(replace or {}), **(after or {})}.items():
            if not (inspect.iscoroutinefunction(node) or isinstance(node, Runnable) or hasattr(node, "graph")):
                msg = f"What stands at {name!r} is no node: give a coroutine function, a compiled graph or a part."
                raise TypeError(msg)
        for name, node in (replace or {}).items():
            self._require(name)
            del self.nodes[name]
            self.add_node(name, node)
        for name, node in (after or {}).items():
            self._require(name)
            self._insert(name, node)

    def _insert(self, name: str, node: Node) -> None:
        """Put a node between another one and all that follows it."""
        graph = getattr(node, "graph", node)  # a part goes by its graph
        new = str(graph.name if isinstance(graph, Runnable) else node.__name__)
        if new in self.nodes:
            raise ValueError(f"There is a node {new!r} already: give yours another name.")
        self.add_node(new, node)
        self.edges = {(new if start == name else start, end) for start, end in self.edges}
        self.waiting_edges = {
            (tuple(new if one == name else one for one in starts), end) for starts, end in self.waiting_edges
        }
        if name in self.branches:
            self.branches[new] = self.branches.pop(name)
        self.add_edge(name, new)

    def _require(self, name: str) -> None:
        if name not in self.nodes:
            raise ValueError(f"The graph has no node {name!r}{did_you_mean(name, self.nodes) or '.'}")

    def compile(self, *args: Any, **kwargs: Any) -> CompiledStateGraph[StateT, ContextT, InputT, OutputT]:
        """Compile as `StateGraph.compile` does."""
        compiled = super().compile(*args, **kwargs)
        compiled.__class__ = CompiledWorkflow  # `StateGraph.compile` names the class that it makes
        return compiled


W = TypeVar("W", bound=Workflow[Any, Any, Any, Any])


def changeable(build: Callable[..., W]) -> Callable[..., W]:
    """Let what builds a graph take `replace`, `after`, `state` and `context`; see `Workflow.change`.

    What it builds without arguments is put together once: to look at the types of all nodes takes up to 0.2 s.
    """
    as_it_is = cache(build)

    @wraps(build)
    def built(
        *args: Any,
        replace: Mapping[str, Node] | None = None,
        after: Mapping[str, Node] | None = None,
        state: type[Any] | None = None,
        context: type[Any] | None = None,
        **kwargs: Any,
    ) -> W:
        builder = build(*args, **kwargs) if args or kwargs else as_it_is().copy()
        builder.change(replace=replace, after=after, state=state, context=context)
        return builder

    mine = inspect.signature(built, follow_wrapped=False).parameters.values()
    known = [one for one in mine if one.kind is one.KEYWORD_ONLY]
    theirs = inspect.signature(build)
    built.__signature__ = theirs.replace(parameters=[*theirs.parameters.values(), *known])  # type: ignore[attr-defined]
    return built
