"""`dramaturg mcp`: the roles as tools for programs that speak the Model Context Protocol."""

import asyncio

from dramaturg.cli.options import (
    AMADEUS,
    LibraryOption,
    MethodOption,
    ModelOption,
    PromptsOption,
    SettingsOption,
    shelf_of,
)
from dramaturg.cli.serve import FlowOption, flows_of, named
from dramaturg.workflows.settings import settings_of


def mcp(
    method: MethodOption = AMADEUS,
    flow: FlowOption = None,
    model: ModelOption = "auto",
    prompts: PromptsOption = None,
    library: LibraryOption = None,
    settings: SettingsOption = None,
) -> None:
    """Offer the roles as tools to a program that starts this command, over the Model Context Protocol (stdio)."""
    try:
        from dramaturg.server.mcp import serve_here
        from dramaturg.server.rooms import Rooms
    except ModuleNotFoundError as error:
        raise RuntimeError(f"{error.name} is not installed: pip install 'dramaturg[mcp]'.") from error
    given = settings_of(settings) | named(model, prompts)
    rooms = Rooms(shelf_of(library), method, flows_of(flow), given)
    rooms.check_settings()
    asyncio.run(serve_here(rooms))
