"""What holds so that nodes fit together: a channel and a setting mean one thing, and what is missing is said."""

from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules, walk_packages
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin, get_type_hints

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels import BinaryOperatorAggregate
from lone_nodes import function_of, trouble
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import is_typeddict

from dramaturg import nodes, workflows
from dramaturg.nodes.run import RunContext

from roles import run_settings, small_role
from scope_roles import player


def builders() -> Iterator[tuple[str, Any]]:
    """Every graph that the package wires, by module and function."""
    for one in iter_modules(workflows.__path__):
        module = import_module(f"{workflows.__name__}.{one.name}")
        for name, build in vars(module).items():
            if name.startswith("build") and getattr(build, "__module__", "") == module.__name__:
                yield f"{one.name}.{name}", build()


BUILDERS = dict(builders())
SAID: dict[str, dict[str, Any]] = {"nothing": {}, "a question": {"messages": [HumanMessage("Storms?", id="1")]}}


def routers(builder: Any) -> dict[str, Any]:
    """What says what comes after each node."""
    return {
        f"{node}: {name}": branch.path
        for node, branches in builder.branches.items()
        for name, branch in branches.items()
    }


@pytest.mark.parametrize("name", BUILDERS)
def test_routers_read_the_state_alone(name: str) -> None:
    for router, runnable in routers(BUILDERS[name]).items():
        assert len(signature(function_of(runnable)).parameters) == 1, router


def state_of(builder: Any, said: str) -> dict[str, Any]:
    """What a state holds where no node has written: channels with a reducer begin empty, others are not there."""
    channels = builder.channels.items()
    return {name: one.get() for name, one in channels if isinstance(one, BinaryOperatorAggregate)} | SAID[said]


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("name", BUILDERS)
async def test_what_a_state_lacks_is_said_in_a_sentence(name: str, said: str, tmp_path: Path) -> None:
    builder, kind = BUILDERS[name], BUILDERS[name].context_schema
    small_role(tmp_path)
    given = run_settings(tmp_path, player())
    context = kind(**{one: value for one, value in given.items() if one in kind.model_fields})
    nodes = {node: spec.runnable for node, spec in builder.nodes.items()}
    everything = (nodes | routers(builder)).items()
    found = {one: await trouble(runnable, state_of(builder, said), context) for one, runnable in everything}
    assert {one: error for one, error in found.items() if error} == {}


def channels() -> Iterator[tuple[str, str, Any]]:
    """Every channel that a state, an input or an output declares: its name, where, and what it is."""
    for package in (nodes, workflows):
        for one in walk_packages(package.__path__, f"{package.__name__}."):
            module = import_module(one.name)
            for kind in vars(module).values():
                state = isinstance(kind, type) and is_typeddict(kind) and kind.__module__ == module.__name__
                if state and kind.__name__.endswith(("State", "Input", "Output", "Memory")):
                    for name, declared in get_type_hints(kind, include_extras=True).items():
                        yield name, f"{one.name}.{kind.__name__}", meaning(declared)


def meaning(declared: Any) -> Any:
    """The type of a channel and its reducer, without what is said about it."""
    while get_origin(declared) in (Required, NotRequired):
        (declared,) = get_args(declared)
    if get_origin(declared) is not Annotated:
        return (declared,)
    kind, *more = get_args(declared)
    return kind, *{repr(one) for one in more if not isinstance(one, FieldInfo | SkipJsonSchema)}


def test_a_channel_has_one_type_and_one_reducer_everywhere() -> None:
    found: dict[str, dict[str, list[str]]] = {}
    for name, where, what in channels():
        found.setdefault(name, {}).setdefault(repr(what), []).append(where)
    differ = {name: kinds for name, kinds in found.items() if len(kinds) > 1}
    assert {name for name in differ if name not in OF_ONE_GRAPH} == set(), differ


OF_ONE_GRAPH = {"index"}
"""What an indexing graph reports of its kind of index."""


def settings() -> Iterator[type[RunContext]]:
    """All classes of settings."""
    left = [RunContext]
    while left:
        one = left.pop()
        left += one.__subclasses__()
        if one.__module__.startswith("dramaturg.") and not one.__module__.startswith("dramaturg.examples"):
            yield one


def test_a_setting_has_one_meaning_everywhere() -> None:
    fields: dict[str, set[str]] = {}
    others: dict[str, list[type]] = {}
    for kind in settings():
        for name, field in kind.model_fields.items():
            fields.setdefault(name, set()).add(repr((field.annotation, field.metadata)))
        for name in vars(kind).keys() - kind.model_fields.keys() - vars(BaseModel).keys():
            if not name.startswith(("_", "model_")):
                others.setdefault(name, []).append(kind)
    assert {name for name, kinds in fields.items() if len(kinds) > 1} <= {"identity"}  # refused where they are joined
    assert not fields.keys() & others.keys()
    for name, kinds in others.items():
        assert any(all(issubclass(one, first) for one in kinds) for first in kinds), name
