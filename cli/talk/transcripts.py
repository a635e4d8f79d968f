"""`dramaturg conversations`: what was said, listed; and conversations as JSON lines."""

import asyncio
from typing import Any

from rich.table import Table

from dramaturg.cli.options import (
    AMADEUS,
    JsonOption,
    LibraryOption,
    RoleArgument,
    command_line,
    context_for,
)
from dramaturg.cli.output import print_json, screen


def conversations(role: RoleArgument, library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """List the conversations with a role."""
    from dramaturg.conversations.opening import threads_of

    context = context_for(AMADEUS, role, library, None)
    found = asyncio.run(threads_of(context))
    if as_json:
        print_json(found)
        return
    if not found:
        begin = command_line("chat", role, library=library)
        screen.print(f"There are none with {role} yet: begin one with {begin}.", soft_wrap=True)
        return
    table = Table("conversation", title=f"Conversations with {role}")
    for thread in found:
        table.add_row(thread)
    screen.print(table)


def named(thread: str) -> str:
    """The name of a conversation that is kept."""
    if thread:
        return thread
    raise ValueError("A conversation without a name is not kept: name one with --thread.")


async def taken_out(method: str, context: Any, thread: str) -> str:
    """The lines of a conversation."""
    from dramaturg.conversations.json_lines import exported
    from dramaturg.conversations.opening import open_conversation

    async with open_conversation(method, context, named(thread)) as talk:
        if not await talk.history():
            raise ValueError(f"There is no conversation {thread!r} with {context.role}: see `dramaturg conversations`.")
        return "".join([f"{line}\n" async for line in exported(talk)])


async def taken_in(method: str, context: Any, thread: str, lines: list[str]) -> int:
    """Put the lines on a thread."""
    from dramaturg.conversations.json_lines import imported
    from dramaturg.conversations.opening import open_conversation

    async with open_conversation(method, context, named(thread)) as talk:
        return await imported(talk, lines)
