"""`dramaturg conversations`, `export` and `import`: what was said, listed and carried elsewhere."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from dramaturg.cli.options import (
    AMADEUS,
    JsonOption,
    LibraryOption,
    MethodOption,
    RoleArgument,
    command_line,
    context_for,
)
from dramaturg.cli.output import note, print_json, screen, write_whole
from dramaturg.stores.files import LARGEST

ThreadOption = Annotated[str, typer.Option("--thread", help="Name of the conversation.")]


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


def export(
    role: RoleArgument,
    file: Annotated[Path | None, typer.Argument(help="The file to write; without it, lines are printed.")] = None,
    thread: ThreadOption = "default",
    method: MethodOption = AMADEUS,
    library: LibraryOption = None,
) -> None:
    """Write a conversation down as JSON lines, one turn a line, with the state after it."""
    lines = asyncio.run(taken_out(method, context_for(method, role, library, None), thread))
    if file is None:
        sys.stdout.write(lines)
        return
    write_whole(file, lines.encode(), private=True)
    note(f"Wrote {lines.count(chr(10)) - 1} turns to {file}.")


def import_(
    role: RoleArgument,
    file: Annotated[Path, typer.Argument(help="A file that `dramaturg export` wrote.")],
    thread: ThreadOption = "default",
    method: MethodOption = AMADEUS,
    library: LibraryOption = None,
) -> None:
    """Take up a conversation from JSON lines, under a name that has none yet."""
    lines = read_text(file).split("\n")
    turns = asyncio.run(taken_in(method, context_for(method, role, library, None), thread, lines))
    command = command_line("chat", role, "--thread", thread, method=method, library=library)
    screen.print(f"{turns} turns. Go on with: {command}", soft_wrap=True)


def read_text(file: Path) -> str:
    """Read a file that was exported."""
    try:
        if file.stat().st_size > LARGEST:
            raise ValueError(f"{file} has more than {LARGEST:,} bytes: import what `dramaturg export` wrote.")
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not text in UTF-8: import what `dramaturg export` wrote.") from error
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror}): name a file of `dramaturg export`.") from error


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
