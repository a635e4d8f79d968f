"""`dramaturg serve`: the roles as models for chat clients."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dramaturg.cli.options import (
    AMADEUS,
    LibraryOption,
    MethodOption,
    ModelOption,
    PromptsOption,
    SettingsOption,
    own_named,
    shelf_of,
)
from dramaturg.cli.output import screen
from dramaturg.workflows.settings import settings_of

HERE = "127.0.0.1"
EVERYWHERE = ("*",)
GRACE = 30  # seconds
FlowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--flow", metavar="NAME=MODULE:GRAPH", help="A flow of your own, as the model ROLE:NAME. May be repeated."
    ),
]


def serve(
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; other than this machine, it requires --keys.")
    ] = HERE,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535)] = 8642,
    keys: Annotated[
        Path | None,
        typer.Option(
            "--keys",
            metavar="FILE",
            envvar="DRAMATURG_KEYS_FILE",
            help="A file of callers: a name, a space and a key per line. Each caller has its own threads.",
        ),
    ] = None,
    method: MethodOption = AMADEUS,
    flow: FlowOption = None,
    model: ModelOption = "auto",
    persona: Annotated[
        str,
        typer.Option(
            "--persona",
            help="own: use only what the role's files do not say of a client's card; merge: use all of it.",
        ),
    ] = "own",
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="A host name under which the server may be called.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", help="The origin of a web page that may call, such as https://example.org."),
    ] = None,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, help="The largest number of simultaneous turns per caller.")
    ] = 512,
    a_minute: Annotated[
        int, typer.Option("--a-minute", min=1, help="The largest number of requests per caller and minute.")
    ] = 120,
    most_bytes: Annotated[
        int, typer.Option("--most-bytes", min=1024, help="The largest size of one request without files.")
    ] = 4 * 2**20,
    most_upload_bytes: Annotated[
        int,
        typer.Option(
            "--most-upload-bytes",
            min=1024,
            help="The largest size of one request with files, which takes a third more than the files themselves.",
        ),
    ] = 32 * 2**20,
    keep_alive: Annotated[
        int, typer.Option("--keep-alive", min=1, help="Seconds after which an idle connection is closed.")
    ] = 75,
    change_roles: Annotated[
        bool | None,
        typer.Option(
            "--change-roles/--no-change-roles",
            help="Whether callers may teach and cast roles, merge names and write chronicles. Default: only without "
            "--keys.",
        ),
    ] = None,
    prompts: PromptsOption = None,
    library: LibraryOption = None,
    settings: SettingsOption = None,
) -> None:
    """Serve a chat page, and the roles as models for SillyTavern, Open WebUI and any other OpenAI client."""
    try:
        import uvicorn

        from dramaturg.server.access import LOOPBACK, Access, is_loopback, read_keys
        from dramaturg.server.app import RoleServer
        from dramaturg.server.rooms import Rooms
    except ModuleNotFoundError as error:
        raise RuntimeError(f"{error.name} is not installed: pip install 'dramaturg[serve]'.") from error
    if persona not in ("own", "merge"):
        raise ValueError(f"--persona is own or merge, not {persona!r}.")
    own, known = is_loopback(host), read_keys(keys) if keys else {}
    if not (own or known):
        raise ValueError(
            f"Whoever reaches {host} could talk to the roles: name a file of keys with --keys, a caller's name and a "
            "key a line."
        )
    rooms = Rooms(shelf_of(library), method, flows_of(flow), settings_of(settings) | named(model, prompts))
    rooms.check_settings()
    access = Access(
        known,
        (*LOOPBACK, *(allow_host or ())) if own else tuple(allow_host or EVERYWHERE),
        tuple(allow_origin or ()),
        most_bytes,
        most_upload_bytes,
        a_minute,
        at_once,
        not known if change_roles is None else change_roles,
        connects=own and not (known or allow_host or allow_origin),
    )
    app = RoleServer(rooms, access, merges=persona == "merge").app()
    table = Table.grid(padding=(0, 2))
    everywhere = host in ("0.0.0.0", "::")  # noqa: S104 (who asks for it must name keys)
    address = "ADDRESS" if everywhere else f"[{host}]" if ":" in host else host
    hint = ", ADDRESS being that of this machine in your network" if everywhere else ""
    table.add_row("Page", f"http://{address}:{port}/{hint}")
    table.add_row("Base URL", f"http://{address}:{port}/v1{hint}")
    table.add_row("Models", "a role, or ROLE:METHOD, e.g. beethoven:drmr; /v1/models lists them")
    table.add_row("Library", rooms.library.name)
    table.add_row("Callers", ", ".join(known) or "anybody on this machine, without a key")
    screen.print(table)
    screen.print(
        f"Ctrl-C stops it: at most {GRACE} s are left to replies under way, a second one ends it at once. "
        "Every turn that was answered is kept.",
        style="dim",
    )
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=keep_alive,
        timeout_graceful_shutdown=GRACE,
    )


def flows_of(given: list[str] | None) -> dict[str, str]:
    """Read NAME=MODULE:GRAPH, and look each flow up."""
    from dramaturg.workflows.methods import flow as flow_named
    from dramaturg.workflows.names import METHODS

    found: dict[str, str] = {}
    for one in given or []:
        name, equals, where = one.partition("=")
        if not equals or not name or ":" in name or name in METHODS or name in found:
            raise ValueError(f"--flow takes NAME=MODULE:GRAPH with a name that no other method has, not {one!r}.")
        found[name] = own_named(where)
        flow_named(found[name])
    return found


def named(model: str, prompts: Path | None) -> dict[str, object]:
    """The settings that have options of their own."""
    return {"chat_model": model} | ({"prompts": prompts} if prompts else {})
