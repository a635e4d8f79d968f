"""`dramaturg setup`: an address, a key and a model are asked for, tried, and kept in one file."""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from dramaturg.cli.output import note, screen
from dramaturg.cli.progress import waiting
from dramaturg.models.environment import KEPT, environment, keep_endpoint, kept_endpoint, settings_file
from dramaturg.models.local.weights import status

OPENAI = "https://api.openai.com/v1"
USUAL = ("gpt-4.1-mini", "gpt-4o-mini")
LISTED = 20  # models of a server that are shown


def setup(
    address: Annotated[
        str | None, typer.Option(help="Of the server, up to its /v1. Without it you are asked.", show_default=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model's name at that server. Without it you are asked.", show_default=False)
    ] = None,
    embedding: Annotated[
        str | None,
        typer.Option(help="An embedding model, as openai:NAME for one at that server.", show_default=False),
    ] = None,
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the key from standard input.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Remove the saved connection.")] = False,
) -> None:
    """Connect to a model: its address, a key and its name are tried, and kept in a file that only you can read.

    Environment variables that name an endpoint go before what is kept. `dramaturg doctor --model NAME` tries more.
    """
    from dramaturg.models.connecting import failure

    file = settings_file()
    if forget:
        file.unlink(missing_ok=True)
        note(f"{file} is removed.")
        return
    if unset := [name for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_API_KEY_FILE") if os.environ.get(name)]:
        note(f"{', '.join(unset)} is set here and overrides what is saved.", style="yellow")
    before = kept_endpoint({name: value for name, value in os.environ.items() if name not in unset})
    while True:
        values = wanted(before, address, model, embedding, key_stdin=key_stdin)
        with waiting("Asking the model …"):
            error = asyncio.run(failure(values))
        if not error:
            break
        note(error, style="red")
        if address and model:
            raise typer.Exit(3)
        before, model = values, None
        if not typer.confirm("Try again?", default=True, err=True):
            raise typer.Exit(3)
    keep_endpoint(values, file)
    screen.print(f"{values['DRAMATURG_CHAT_MODEL']} answers. It is kept in {file}.\nTo talk: dramaturg chat beethoven")


def wanted(
    before: Mapping[str, str], address: str | None, model: str | None, embedding: str | None, *, key_stdin: bool
) -> dict[str, str]:
    """What is asked for, or given with the command."""
    from dramaturg.models.connecting import models_at, whole_address

    chosen = whole_address(
        address or typer.prompt("Address of the server", default=before.get("OPENAI_BASE_URL", OPENAI), err=True)
    )
    held = before.get("OPENAI_API_KEY", "") if before.get("OPENAI_BASE_URL") == chosen else ""
    if key_stdin:
        key = sys.stdin.readline().strip()
    elif address and model and not sys.stdin.isatty():
        key = held
    else:
        hint = "Key (what you type is not shown; Enter for " + ("the one that is kept)" if held else "none)")
        key = typer.prompt(hint, default=held, hide_input=True, show_default=False, err=True)
    asked, names = not (address and model), models_at(chosen, key)
    if not model:
        if names:
            note("Models there: " + ", ".join(names[:LISTED]) + (" …" if len(names) > LISTED else ""))
        usual = names[0] if len(names) == 1 else next((one for one in USUAL if one in names), None)
        model = typer.prompt("Model", default=before.get("DRAMATURG_CHAT_MODEL") or usual, err=True)
    embedding = embedding or before.get("DRAMATURG_EMBEDDING_MODEL", "")
    if asked and not embedding and not is_present("minilm"):
        there = next((one for one in names if "embed" in one.casefold()), "")
        hint = "Embedding model there, or Enter" + (
            "" if there else " for the embedded one (dramaturg models pull minilm)"
        )
        if named := typer.prompt(hint, default=there, err=True):
            embedding = named if named.startswith("openai:") else f"openai:{named}"
    return dict(zip(KEPT, (chosen, key, model, embedding), strict=True))


def is_present(name: str) -> bool:
    """Whether the weights of an embedded model are here."""
    return any(row.name == name and row.state == "present" for row in status(*environment().weights_in))
