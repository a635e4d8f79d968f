"""What every index that is asked of a model has in common: who is overtaken, and what it cost."""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias, cast

from typing_extensions import TypedDict

from dramaturg.models.account import Usage
from dramaturg.stores.errors import MissingIndex, StaleDraft

PATIENCE = 50  # times that an index is made again because its sources were changed meanwhile
P = ParamSpec("P")
Node: TypeAlias = Callable[P, Coroutine[Any, Any, dict[str, Any]]]


class PublishingState(TypedDict):
    """What publishing leaves: the version that is read now; empty where it must be made again."""

    version: str


def unless_overtaken(node: Node[P]) -> Node[P]:
    """Leave a node where its draft is gone: somebody else was faster with the same one, and publishing finds out."""

    @wraps(node)
    async def overtaken(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        try:
            return await node(*args, **kwargs)
        except MissingIndex:
            return {}

    return overtaken


def made_again_if_stale(publish: Node[P]) -> Node[P]:
    """Have a draft made again whose sources were changed meanwhile, or that was taken away.

    After `PATIENCE` times the error is let through.
    """

    @wraps(publish)
    async def attempt(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        try:
            return await publish(*args, **kwargs)
        except (StaleDraft, MissingIndex):
            overtaken = cast("Mapping[str, int]", args[0]).get("overtaken", 0) + 1
            if overtaken == PATIENCE:
                raise
            return {"version": "", "overtaken": overtaken}

    return attempt


def publishing_outcome(state: PublishingState) -> Literal["done", "stale"]:
    """Whether the draft is what is read now, or must be made again from what its sources became meanwhile."""
    return "done" if state["version"] else "stale"


def cost(usage: Mapping[str, Usage]) -> dict[str, int]:
    """What all nodes together have asked."""
    return {
        "calls": sum(used["calls"] for used in usage.values()),
        "tokens": sum(used["prompt_tokens"] + used["completion_tokens"] for used in usage.values()),
    }
