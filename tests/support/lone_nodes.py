"""A node, or what decides on the way after one, called alone with a state in which something may be missing."""

from inspect import isawaitable, signature
from typing import Any

from langgraph._internal._runnable import RunnableCallable
from langgraph.runtime import Runtime


def function_of(runnable: Any) -> Any:
    """The function of a node or a router; None where the node is a graph."""
    return runnable.func or runnable.afunc if isinstance(runnable, RunnableCallable) else None


async def trouble(runnable: Any, state: Any, context: Any = None) -> Exception | None:
    """What it raises that no person can read; None where it works, or says in a sentence what is wrong."""
    function = function_of(runnable)
    if function is None:
        return None
    try:
        found = function(*(state, Runtime(context=context))[: len(signature(function).parameters)])
        _ = await found if isawaitable(found) else found
    except Exception as error:  # noqa: BLE001 (whatever it is, it is looked at)
        return None if is_sentence(error) else error
    return None


def is_sentence(error: Exception) -> bool:
    """Whether a person who has edited a state can read an error."""
    if "outside of a runnable context" in str(error):  # it got as far as asking a person
        return True
    return isinstance(error, ValueError | RuntimeError) and " " in str(error) and str(error).endswith(".")
