"""`dramaturg setup`: an address, a key and a model are asked for, tried, and kept in one file."""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

import typer
from pydantic import SecretStr

from dramaturg.cli.output import note, screen
from dramaturg.cli.progress import waiting
from dramaturg.models.environment import KEPT, environment, keep_endpoint, kept_endpoint, settings_file
from dramaturg.models.local.weights import status

OPENAI = "https://api.openai.com/v1"
USUAL = ("gpt-4.1-mini", "gpt-4o-mini")
LISTED = 20  # models of a server that are shown
LOCAL = ("localhost", "127.", "0.0.0.0", "[::1]", "192.168.", "10.")  # noqa: S104 (what people type)


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
    forget: Annotated[bool, typer.Option("--forget", help="Remove what is kept.")] = False,
) -> None:
    """Connect to a model: its address, a key and its name are tried, and kept in a file that only you can read.

    Environment variables that name an endpoint go before what is kept. `dramaturg doctor --model NAME` tries more.
    """
    file = settings_file()
    if forget:
        file.unlink(missing_ok=True)
        note(f"{file} is removed.")
        return
    if unset := [name for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_API_KEY_FILE") if os.environ.get(name)]:
        note(f"{', '.join(unset)} is set here and goes before what is kept.", style="yellow")
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


def whole_address(typed: str) -> str:
    """An address as people type it, with its protocol and the /v1 that most servers want."""
    typed = typed.strip().rstrip("/")
    if "://" not in typed:
        typed = f"{'http' if typed.startswith(LOCAL) else 'https'}://{typed}"
    place = urlsplit(typed)
    if place.hostname in (None, "http", "https"):
        raise typer.BadParameter(f"{typed!r} is no address: write it as https://api.example.com/v1.")
    return typed if place.path else f"{typed}/v1"


def models_at(address: str, key: str) -> list[str]:
    """The models that a server lists; none where it does not."""
    import openai

    from dramaturg.models.servers.connections import blocking_connections

    client = openai.OpenAI(
        base_url=address, api_key=key or "none", timeout=10, max_retries=0, http_client=blocking_connections(0)
    )
    try:
        return sorted(str(one.id) for one in client.models.list())
    except (openai.OpenAIError, ValueError, TypeError, AttributeError):
        return []


async def failure(values: Mapping[str, str]) -> str:
    """Why a model does not answer; empty: it does."""
    from langchain_core.messages import HumanMessage

    from dramaturg.models.chat import chat_model
    from dramaturg.models.clients import openai_compatible
    from dramaturg.models.embeddings import Embedder, endpoint_embeddings
    from dramaturg.models.environment import Environment
    from dramaturg.models.questions import write
    from dramaturg.models.trial import learn_listed

    address, key, model, embedding = (values[name] for name in KEPT)
    client = openai_compatible(model, address, key or "none", retries=0)
    try:
        chat = chat_model(client, deadline=60, attempts=1)
        await write(chat, [HumanMessage("Say hello in one word.")], max_tokens=64)
        await learn_listed(chat)
        if embedding.startswith("openai:"):
            there = Environment(base_url=address, api_key=SecretStr(key or "none"))
            await Embedder(embedding, endpoint_embeddings(embedding.removeprefix("openai:"), there)).query("hello")
    except (RuntimeError, ValueError) as error:
        return str(error)
    return ""
