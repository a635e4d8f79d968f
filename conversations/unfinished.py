"""Turns that were begun and have no end: gone on with, or ended with the reply that they have."""

from contextlib import suppress
from typing import Any

from dramaturg.conversations.thread import Show, Thread
from dramaturg.conversations.turns import Turn


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


async def ended(thread: Thread, unfinished: Turn, context: Any) -> None:
    """End a turn that stopped after its reply, which somebody has read: what is left of it is tried once more.

    If that fails again, the turn ends without it: a node that always fails is no reason to lose what was said.
    """
    with suppress(Exception):
        await resumed(thread, unfinished, lambda _: None, context)
    if await thread.unfinished():
        await thread.end()
