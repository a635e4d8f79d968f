"""`dramaturg models`: the weights of the embedded models."""

from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from dramaturg.cli.screen import errors, print_json, screen
from dramaturg.models.catalogue import CATALOGUE
from dramaturg.models.environment import environment
from dramaturg.models.weights import check, pull, status

DEFAULT = ("qwen2.5-coder-1.5b", "minilm")

app = typer.Typer(help="The weights of the embedded models.", no_args_is_help=True)
Names = Annotated[list[str] | None, typer.Argument(help=f"Of: {', '.join(CATALOGUE)}.", show_default=False)]


@app.command("pull")
def pull_weights(
    names: Names = None, every: Annotated[bool, typer.Option("--all", help="Every model of the catalogue.")] = False
) -> None:
    """Bring weights into the cache, checked against their pinned SHA-256; without names, what English roles need."""
    cache = environment().cache
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as progress:
        for name in names or (CATALOGUE if every else DEFAULT):
            task = progress.add_task(name, total=None)

            def report(done: int, total: int, task: int = task) -> None:
                progress.update(task, completed=done, total=total)  # type: ignore[arg-type]

            path = pull(name, cache, progress=report)
            progress.console.print(f"{name}: {path}", highlight=False, soft_wrap=True)


@app.command("list")
def list_weights(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program.")] = False) -> None:
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
