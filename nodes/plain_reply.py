"""Replies without any index, the baselines of RoleRAG (4.1): the name alone, or the name and a profile."""

from typing import Any, TypeVar

from langgraph.runtime import Runtime

from dramaturg.nodes.context import settings
from dramaturg.nodes.respond import AskedState, ReplySettings, spoken

R = TypeVar("R", bound=ReplySettings)


async def respond_by_name(state: AskedState, runtime: Runtime[R]) -> dict[str, Any]:
    """Answer with nothing but the role's name and the task (Vanilla).

    Raises:
        ModelError: the model gave no reply.
    """
    reply, usage = await spoken(settings(runtime, ReplySettings), state, "respond_by_name", {})
    return {"messages": [reply], "usage": {"respond_by_name": usage}}


async def respond_from_profile(state: AskedState, runtime: Runtime[R]) -> dict[str, Any]:
    """Answer from the short profile of the role's card (Character profile).

    Raises:
        ModelError: the model gave no reply.
    """
    reply, usage = await spoken(settings(runtime, ReplySettings), state, "respond_from_profile", {})
    return {"messages": [reply], "usage": {"respond_from_profile": usage}}
