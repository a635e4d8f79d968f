"""Turns that were begun and have no end: gone on with, answered, or ended with the reply that they have."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from langgraph.types import Command

from dramaturg.conversations.thread import Show, Thread
from dramaturg.conversations.turns import Turn

NONE_APPROVED: Mapping[str, list[int]] = {"approved": []}
"""How a node that asks {"changes": […]} is told that none of them is approved; another's questions are not known."""


async def resumed(thread: Thread, unfinished: Turn, show: Show, context: Any) -> dict[str, Any]:
    """Go on where a turn stopped, and return the output.

    One that stopped in a node that this workflow lacks is asked again; with a reply, it is over.
    """
    if await thread.due():
        return await thread.run(None, show, context=context)
    if unfinished.reply is not None:
        await thread.end()
        return await thread.values()
    asked = await thread.question(unfinished)
    await thread.take_back(unfinished)
    return await thread.run(asked, show, context=context)


async def answered(thread: Thread, value: Any, show: Show, context: Any) -> dict[str, Any]:
    """Go on with a turn that waits, by an answer to what it has asked; return the output.

    A node that refuses its answer asks again: LangGraph would give it the same one forever.
    """
    try:
        return await thread.run(Command(resume=value), show, context=context)
    except BaseException:
        if await thread.waiting():
            await thread.step_back()
            with suppress(Exception):
                await thread.run(None, lambda _: None, context=context)
        raise


async def ended(thread: Thread, unfinished: Turn, context: Any) -> None:
    """End a turn that stopped after its reply, which somebody has read: what is left of it is tried once more.

    If that fails again, the turn ends without it: a node that always fails is no reason to lose what was said. Where
    it waits for approval, nothing is approved.
    """
    with suppress(Exception):
        if asks_for_approval(await thread.waiting()):
            await thread.run(Command(resume=NONE_APPROVED), lambda _: None, context=context)
        else:
            await resumed(thread, unfinished, lambda _: None, context)
    if await thread.unfinished():
        await thread.end()


def asks_for_approval(waiting: Sequence[Any]) -> bool:
    """Whether a turn waits for the approval of changes, and for nothing else."""
    return len(waiting) == 1 and isinstance(waiting[0], Mapping) and "changes" in waiting[0]
