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
from dramaturg.cli.output import note, one_line, print_json, screen

SHOWN = 200  # conversations


def conversations(role: RoleArgument, library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """List the conversations with a role.

    The pinned ones come first, then the one that was last spoken on.
    """
    from dramaturg.conversations.titles import talks_of

    found = asyncio.run(talks_of(context_for(AMADEUS, role, library, None), None if as_json else SHOWN + 1))
    if as_json:
        print_json([{**one._asdict(), "last": one.last and one.last.isoformat()} for one in found])
        return
    if not found:
        begin = command_line("chat", role, library=library)
        screen.print(f"There are none with {role} yet: begin one with {begin}.", soft_wrap=True)
        return
    table = Table("conversation", "title", "last spoken on", "turns", title=f"Conversations with {role}")
    for one in found[:SHOWN]:
        last = f"{one.last.astimezone():%Y-%m-%d %H:%M}" if one.last else ""
        table.add_row(one_line(one.thread), one_line(one.title) + " (pinned)" * one.pinned, last, f"{one.turns:,}")
    screen.print(table)
    if len(found) > SHOWN:
        note("There are more: --json lists all of them.")


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
