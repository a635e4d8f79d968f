"""What holds so that nodes fit together: a channel and a setting mean one thing, and what is missing is said."""

from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels import BinaryOperatorAggregate
from lone_nodes import function_of, trouble

from dramaturg import workflows

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
