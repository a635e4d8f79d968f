"""The graphs of this package: their runs always know how they are to be done, and they can be changed node by node."""

import inspect
import math
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from copy import copy
from dataclasses import replace as replaced
from functools import cache, wraps
from typing import Any, Self, TypeVar, cast, get_type_hints

from langchain_core.runnables import Runnable, ensure_config
from langgraph.checkpoint.base import Checkpoint
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.typing import ContextT, InputT, OutputT, StateT
from pydantic import BaseModel

from dramaturg.models.clock import TurnClock
from dramaturg.nodes.blocking import BlockingSaver, iterated
from dramaturg.nodes.open_settings import require_open
from dramaturg.nodes.run import Opened, RoleContext
from dramaturg.stores.errors import did_you_mean

__all__ = ["CompiledWorkflow", "Workflow"]

Node = Any
"""A coroutine function of state and runtime, or a compiled graph."""


class UndeclaredChannel(ValueError):
    """A node writes something that the state of its graph does not keep."""


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

    def add_conditional_edges(self, source: str, path: Any, path_map: Any = None) -> Self:
        """Add edges as `StateGraph` does, which has a function run in a thread; routers of this package need none."""
        before = {*self.branches[source]}
        super().add_conditional_edges(source, path, path_map)
        if (
            inspect.isfunction(path)
            and path.__module__.startswith("dramaturg.")
            and not inspect.iscoroutinefunction(path)
        ):

            @wraps(path)
            async def without_thread(*given: Any, **named: Any) -> Any:
                return path(*given, **named)

            (name,) = self.branches[source].keys() - before
            router: Any = self.branches[source][name].path
            router.afunc = without_thread
        return self

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

    def _declared(self, name: str, node: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(node)
        async def declared(*given: Any, **named: Any) -> Any:
            written = await node(*given, **named)
            if isinstance(written, Mapping) and (lost := [key for key in written if key not in self.channels]):
                near = did_you_mean(str(lost[0]), self.channels)
                raise UndeclaredChannel(
                    f"The node {name!r} writes {', '.join(map(repr, lost))}, and the state has no such channel{near} "
                    f"Declare it in a class that inherits {self.state_schema.__name__}, and build with state=…."
                )
            return written

        return declared

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
        if name in self.nodes:
            return
        of = {getattr(getattr(one.runnable, "afunc", None), "__name__", ""): node for node, one in self.nodes.items()}
        if name in of:
            raise ValueError(f"The graph has no node {name!r}: the function of this name is its node {of[name]!r}.")
        raise ValueError(f"The graph has no node {name!r}{did_you_mean(name, {*self.nodes, *of})}")

    def compile(self, *args: Any, **kwargs: Any) -> CompiledStateGraph[StateT, ContextT, InputT, OutputT]:
        """Compile as `StateGraph.compile` does; a node of somebody else's may write only what the state has.

        LangGraph leaves out what has no channel, without a word. Nodes of this package may write what a flow does not
        keep, such as role memory.
        """
        checked = self.copy()
        for name, spec in self.nodes.items():
            runnable: Any = copy(spec.runnable)
            node: Any = getattr(runnable, "afunc", None)
            if inspect.iscoroutinefunction(node) and not node.__module__.startswith("dramaturg."):
                runnable.afunc = checked._declared(name, node)
                checked.nodes[name] = replaced(spec, runnable=runnable)
        compiled = super(Workflow, checked).compile(*args, **kwargs)
        compiled.__class__ = CompiledWorkflow  # `StateGraph.compile` names the class that it makes
        return compiled


class CompiledWorkflow(CompiledStateGraph[StateT, ContextT, InputT, OutputT]):
    """A compiled `Workflow`: each run goes by a context of its own, which remembers what the run has opened."""

    def stream(self, input: Any, config: Any = None, *, context: Any = None, **kwargs: Any) -> Iterator[Any]:  # noqa: A002
        """Run as `Pregel.stream` does, for code that blocks; nodes are coroutines here as elsewhere."""
        config = ensure_config(config)
        saver = self._resolve_checkpointer(config)
        if saver and not isinstance(saver, BlockingSaver):
            own = {**config.get("configurable", {}), "__pregel_checkpointer": BlockingSaver(saver)}
            config = {**config, "configurable": own}
        return iterated(lambda: self.astream(input, config, context=context, **kwargs))

    def astream(self, input: Any, config: Any = None, *, context: Any = None, **kwargs: Any) -> AsyncIterator[Any]:  # noqa: A002
        """Run as `Pregel.astream` does."""
        stream = super().astream(input, config, context=self._context(context, config), **kwargs)
        return self._outside_of_the_turn(stream, _outer_context(config)) if self._prepares else stream

    async def _outside_of_the_turn(self, stream: AsyncIterator[Any], around: Any) -> AsyncIterator[Any]:
        """A stream of an indexing graph, while which the time of the turn that it is part of stands still."""
        clock = around._opened.clock if isinstance(around, RoleContext) and around._opened else None
        with clock.stopped() if clock else nullcontext():
            async with aclosing(cast("AsyncGenerator[Any]", stream)) as parts:
                async for part in parts:
                    yield part

    @property
    def _prepares(self) -> bool:
        builder: Any = self.builder
        return bool(builder.prepares)

    def _migrate_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Read what an earlier version of the graph wrote, as LangGraph does with its own earlier formats."""
        builder: Any = self.builder
        parts: Any = checkpoint
        for old, new in builder.former_nodes.items():
            was, now = f"branch:to:{old}", f"branch:to:{new}"
            values, versions, seen = parts["channel_values"], parts["channel_versions"], parts["versions_seen"]
            parts["updated_channels"] = [
                now if one == was else one for one in parts.get("updated_channels") or ()
            ] or None
            if was in values:
                values[now] = values.pop(was)
            if was in versions:
                versions[now] = max(filter(None, (versions.pop(was), versions.get(now))))
            if old in seen:
                both = {now if name == was else name: version for name, version in seen.pop(old).items()}
                mine = seen.get(new, {})
                seen[new] = mine | {name: max(filter(None, (v, mine.get(name)))) for name, v in both.items()}
        for old, new in builder.renamed_channels.items():
            for known in (parts["channel_values"], parts["channel_versions"], *parts["versions_seen"].values()):
                if old in known and (value := known.pop(old)) is not None and new:
                    known.setdefault(new, value)
            renamed = [new if one == old else one for one in parts.get("updated_channels") or ()]
            parts["updated_channels"] = list(filter(None, renamed)) or None
        super()._migrate_checkpoint(checkpoint)

    def _context(self, given: Any, config: Any = None) -> Any:
        """The context of a run: what is given, else that of the graph whose node this is, else the defaults.

        Of a caller of a LangGraph server, which names its graph in the config, it takes only what is open. A turn that
        begins here begins its clock; one that goes on, and whatever is a part of it, has that.
        """
        around = _outer_context(config) if given is None else None
        if around is not None and not self._prepares:
            return None  # LangGraph hands it down
        given = around if given is None else given
        kind: Any = self.context_schema
        if given and not isinstance(given, BaseModel) and "graph_id" in ((config or {}).get("configurable") or {}):
            require_open(kind, given)
        context = kind(**(given or {})) if given is None or isinstance(given, dict) else given
        if isinstance(context, RoleContext):
            outer, context = context._opened, context.model_copy()
            clock = TurnClock(math.inf) if self._prepares else outer and outer.clock
            context._opened = Opened(context, outer, clock=clock or TurnClock(context.turn_deadline))
        return context


def _outer_context(config: Any) -> Any:
    """The context of the graph whose node a graph is; LangGraph's events begin it where no run is around."""
    runtime = ((config or {}).get("configurable") or {}).get("__pregel_runtime")
    if isinstance(runtime, Runtime):
        return runtime.context
    try:
        return get_runtime().context
    except (KeyError, RuntimeError):  # outside a run
        return None


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
