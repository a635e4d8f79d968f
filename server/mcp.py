"""Roles as tools of the Model Context Protocol: what a client is told of them, and how a call is answered."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import Awaitable
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import anyio
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from pydantic import ValidationError

from dramaturg.server.openai_forms import described
from dramaturg.server.rooms import Rooms
from dramaturg.server.tools import TOOLS, Tool

log = logging.getLogger(__name__)
ABOUT = (
    "Characters who answer from their own documents, memories and relations. Begin with list_roles. Name a thread when "
    "the role is to remember what was said; two calls on one thread are answered one after the other."
)
ALIVE_AFTER = 5.0  # seconds after which a client that asked for progress is told that the role still thinks


def tool_server(rooms: Rooms) -> Server[Any]:
    """A server of the tools over some rooms; which transport carries it, is not known here."""

    async def listed(_: ServerRequestContext[Any], __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[shown(name, tool) for name, tool in TOOLS.items()])

    async def called(context: ServerRequestContext[Any], call: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            if call.name not in TOOLS:
                raise ValueError(f"There is no tool {call.name!r}; there are: {', '.join(TOOLS)}.")
            tool = TOOLS[call.name].model_validate(call.arguments or {})
            return answer(await carried_out(tool.run(rooms), context.session))
        except ValidationError as error:
            return answer({"error": unfit(error)}, failed=True)
        except (ValueError, RuntimeError, OSError, sqlite3.Error) as error:
            status, message, _ = described(error)
            if status == 500:
                log.warning("A tool failed: %s: %s", type(error).__name__, error)
            return answer({"error": message}, failed=True)

    return Server(
        "dramaturg",
        title="Dramaturg",
        version=version("dramaturg"),
        instructions=ABOUT,
        on_list_tools=listed,
        on_call_tool=called,
    )


async def serve_here(rooms: Rooms) -> None:
    """Serve a client on standard input and output until it goes; what else is printed goes to standard error."""
    server = tool_server(rooms)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await rooms.close()


def shown(name: str, tool: type[Tool]) -> types.Tool:
    """A tool as a client lists it."""
    schema = tool.model_json_schema()
    about = " ".join(str(schema.pop("description")).split())
    hints = types.ToolAnnotations(read_only_hint=tool.only_reads, destructive_hint=False, open_world_hint=False)
    return types.Tool(name=name, description=about, input_schema=schema, annotations=hints)


def answer(result: dict[str, Any], *, failed: bool = False) -> types.CallToolResult:
    """What a call gives, as an object and, for clients that read texts, as JSON; a failure is a sentence."""
    text = result["error"] if failed else json.dumps(result, ensure_ascii=False, default=str)
    content: list[Any] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(
        content=content, structured_content=None if failed else json.loads(text), is_error=failed
    )


def unfit(error: ValidationError) -> str:
    """What is wrong with the arguments of a call, in a sentence."""
    problems = [
        f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}"
        for one in error.errors(include_url=False, include_input=False)
    ]
    return f"The tool cannot be called like this: {'; '.join(problems)}."


async def carried_out(work: Awaitable[dict[str, Any]], session: ServerSession) -> dict[str, Any]:
    """Wait for a tool; a client that cancels the call ends it, and what it has begun is taken back before that.

    The work is a task of its own: a cancelled scope would cancel each step of taking it back, too.
    """
    task: asyncio.Future[dict[str, Any]] = asyncio.ensure_future(work)
    try:
        beats = 0
        while not (await asyncio.wait({task}, timeout=ALIVE_AFTER))[0]:
            beats += 1
            await session.report_progress(beats, message="The role thinks.")
        return task.result()
    except asyncio.CancelledError:
        task.cancel()
        with anyio.CancelScope(shield=True), suppress(asyncio.CancelledError, ValueError, RuntimeError):
            await task
        raise
