"""A method, or a node, as a part of another graph: under settings of its own, with a memory of its own."""

import copy
import inspect
import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, NamedTuple, TypeAlias

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, messages_from_dict, messages_to_dict
from langgraph.config import get_config
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function
from typing_extensions import TypedDict

from dramaturg.nodes.run import Opened, RoleContext, RunContext
from dramaturg.nodes.turn import Messages, shown_name
from dramaturg.nodes.wish import wish_in, wished
from dramaturg.stores.errors import did_you_mean

__all__ = ["PartState", "part"]

Settings: TypeAlias = Mapping[str, Any] | RunContext | Callable[[Any], Mapping[str, Any] | RunContext]
"""Settings of a part by name, a context of which those count that were set, or what gives either from the context
of the graph around it."""

NOT_KEPT = ("messages", "evidence", "usage", "question", "window")


class OwnSettings:
    """Marks the field of a context that holds the settings of a part.

    Role, library, language and models are those of the graph around it: here they are refused, and left out of forms.

    Args:
        without: other settings of the part that have no effect there.
    """

    def __init__(self, *without: str) -> None:
        self.without = {*RoleContext.model_fields, *without}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self._require_own, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        own = {name: one for name, one in schema["properties"].items() if name not in self.without}
        return {**schema, "properties": own}

    def _require_own(self, given: RunContext) -> RunContext:
        if shared := sorted(given.model_fields_set & self.without):
            raise ValueError(f"a part has no {' and no '.join(shared)} of its own")
        return given


class PartState(TypedDict):
    """What a part that speaks reads and writes of the graph around it."""

    messages: Messages
    parts: Annotated[
        dict[str, dict[str, Any]], Field(description="What each part remembers, by its node."), operator.or_
    ]


def part(mechanism: Any, settings: Settings | None = None) -> Any:
    """Make a method, or a node, a node that runs under a context of its own.

    Role, library, language, models and prompts are those of the graph around it, unless `settings` name others; all
    else is the mechanism's own. A graph that speaks hears what the others have said since its last line as the user's,
    keeps its window and its memory across turns in the channel `parts`, and gives back its reply, its evidence under
    the name of its node, and its usage. A graph that gives no messages, such as one that gathers grounds, reads the
    channels of its input and gives back those of its output.

    Args:
        mechanism: a compiled graph, or a node.
        settings: of the part.

    Returns:
        A node, with the attributes `graph` (of a graph) and `settings`.

    Raises:
        TypeError: it is neither a graph nor a node, or its settings are of another form.
        ValueError: a graph has no such setting.
    """
    if not (settings is None or callable(settings) or isinstance(settings, Mapping | RunContext)):
        form = "a mapping, a context, or a function of the context around it"
        raise TypeError(f"The settings of a part are {form}, not {type(settings).__name__}.")
    if isinstance(mechanism, CompiledStateGraph):
        kind = mechanism.builder.context_schema
        if not (isinstance(kind, type) and issubclass(kind, RunContext)):
            raise TypeError(f"The graph {mechanism.name!r} has no settings of its own: its context is no RunContext.")
        speaks = "messages" in _channels(mechanism, "out")
        if isinstance(settings, Mapping):
            _require_known(settings, kind, mechanism.name)
        node = _speaker(mechanism, settings) if speaks else _gatherer(mechanism, settings)
        node.graph, node.settings = mechanism, settings
        return node
    if not inspect.iscoroutinefunction(mechanism):
        hint = ": call compile() on it" if isinstance(mechanism, StateGraph) else ""
        raise TypeError(f"A part is a compiled graph or a coroutine function, not {type(mechanism).__name__}{hint}.")

    @wraps(mechanism)
    async def run(state: Any, runtime: Runtime[Any]) -> Any:
        given = settings(runtime.context) if callable(settings) else settings
        kind = type(given) if isinstance(given, RunContext) else type(runtime.context)
        everything = {} if isinstance(given, RunContext) else _fields(runtime.context, kind.model_fields)
        own = part_context(kind, {**everything, **_named(given)}, runtime.context, mechanism.__name__)
        return await mechanism(state, runtime.override(context=own))

    run.settings = settings  # type: ignore[attr-defined]
    return run


def part_context(kind: type[RunContext], settings: Settings | None, outer: Any, name: str) -> Any:
    """The context of a part.

    Args:
        kind: the class of its settings.
        settings: what is set for it alone.
        outer: the context of the graph around it.
        name: of the part, for messages.

    Raises:
        ValueError: a setting is unknown or out of its bounds, or nobody says which role plays.
    """
    own = _named(settings(outer) if callable(settings) else settings)
    _require_known(own, kind, name)
    shared = _fields(outer, RoleContext.model_fields)
    if "role" in kind.model_fields and "role" not in {**shared, **own}:
        of = type(outer).__name__
        raise ValueError(f"Nobody says which role the part {name!r} plays: set `role` for it, or in {of}.")
    try:
        context = kind(**{**shared, **own})
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ValueError(f"The part {name!r} cannot be set so: {wrong}.") from error
    if isinstance(context, RoleContext):
        around = getattr(outer, "_opened", None)
        context._opened = Opened(context, around, clock=around and around.clock)
    return context


def _require_known(settings: Mapping[str, Any], kind: type[RunContext], name: str) -> None:
    for one in settings:
        if one not in kind.model_fields:
            raise ValueError(f"The part {name!r} has no setting {one!r}{did_you_mean(one, kind.model_fields)}")


def _named(settings: Any) -> dict[str, Any]:
    """Settings by name: of a context, those that were set."""
    return _fields(settings, settings.model_fields_set) if isinstance(settings, RunContext) else dict(settings or {})


def _fields(context: Any, names: Any) -> dict[str, Any]:
    return {name: getattr(context, name) for name in names if hasattr(context, name)}


def _channels(graph: Any, side: str) -> set[str]:
    builder = graph.builder
    return set(builder.schemas[builder.input_schema if side == "in" else builder.output_schema])


def _gatherer(graph: Any, settings: Settings | None) -> Any:
    """A part that reads and writes channels of the graph around it."""
    taken, given = _channels(graph, "in"), _channels(graph, "out")

    async def gather(state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        own = part_context(graph.builder.context_schema, settings, runtime.context, graph.name)
        found = await graph.ainvoke({name: state[name] for name in taken if name in state}, context=own)
        return {name: value for name, value in found.items() if name in given}

    gather.__annotations__["state"] = graph.builder.input_schema  # LangGraph shows a node the channels of its hint
    return gather


class Turn(NamedTuple):
    """What a part has said, what it remembers now, and why it has said that, and at what cost."""

    reply: AIMessage
    memory: dict[str, Any]
    evidence: dict[str, Any]
    usage: dict[str, Any]


def turn_of(graph: Any) -> Callable[[Mapping[str, Any], Sequence[AnyMessage], Any], Awaitable[Turn]]:
    """What has a graph take its turn: with what it remembers, what it is told, and its context.

    What it remembers is plain JSON, its window under "messages", without a wish for a reply; what it is told stands
    after that.
    """
    builder = copy.copy(graph.builder)
    builder.input_schema = builder.state_schema  # it is given what it remembers, too
    inner, kept = builder.compile(name=graph.name), [*builder.schemas[builder.state_schema]]

    async def take(memory: Mapping[str, Any], told: Sequence[AnyMessage], own: Any) -> Turn:
        window = messages_from_dict(memory.get("messages", []))
        found = await inner.ainvoke({**memory, "messages": [*window, *told]}, context=own, output_keys=kept)
        remembered = {one: value for one, value in found.items() if one not in NOT_KEPT}
        remembered["messages"] = messages_to_dict([wished(one, "") for one in found["messages"]])
        return Turn(found["messages"][-1], remembered, found.get("evidence") or {}, found.get("usage") or {})

    return take


def _speaker(graph: Any, settings: Settings | None) -> Any:
    """A part that takes its turn in a conversation of several."""
    take = turn_of(graph)

    async def speak(state: PartState, runtime: Runtime[Any]) -> dict[str, Any]:
        name = str(get_config()["metadata"]["langgraph_node"])
        own = part_context(graph.builder.context_schema, settings, runtime.context, name)
        memory = (state.get("parts") or {}).get(name) or {}
        turn = await take(memory, [heard(state["messages"], own.role)], own)
        return {
            "messages": [AIMessage(turn.reply.text, id=turn.reply.id, name=own.role)],
            "parts": {name: turn.memory},
            "evidence": {name: turn.evidence},
            "usage": {f"{name}.{node}": used for node, used in turn.usage.items()},
        }

    return speak


def heard(messages: list[AnyMessage], role: str) -> HumanMessage:
    """What was said since a role last spoke, as the user's message to it; several lines each with their speaker.

    The wish of the turn comes with it, whoever has spoken since.

    Raises:
        ValueError: nobody has spoken since.
    """
    own = [at for at, one in enumerate(messages) if one.type == "ai" and one.name == role]
    new = [one for one in messages[own[-1] + 1 if own else 0 :] if one.type in {"human", "ai"} and one.text.strip()]
    if not new:
        raise ValueError(f"There is nothing for {role!r} to answer: somebody else speaks before it speaks again.")
    lines = [": ".join(filter(None, [shown_name(one.name or ""), " ".join(one.text.split())])) for one in new]
    text = "\n".join(lines) if len(new) > 1 else new[0].text
    asked = next((one for one in reversed(messages) if one.type == "human"), None)
    return wished(HumanMessage(text, id=new[-1].id, name=new[-1].name), wish_in(asked) if asked else "")
