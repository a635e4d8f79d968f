"""The command: its parts, and how an error becomes a sentence and an exit code."""

import sqlite3
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version

import typer

from dramaturg.cli import (
    chronicle,
    doctor,
    emotions,
    evaluate,
    indexing,
    interview,
    library,
    measure,
    memories,
    persona,
    published,
    relations,
    run_log,
    simulate,
    studies,
    talk,
    transcripts,
    versions,
    weights,
)
from dramaturg.cli import graph as graphs
from dramaturg.cli.failures import exit_code, sentence
from dramaturg.cli.screen import errors, screen

app = typer.Typer(
    name="dramaturg",
    help="Role-playing agents as LangGraph workflows. Begin: dramaturg models pull, then dramaturg chat beethoven.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
COMMANDS: Mapping[str, Mapping[str, Callable[..., None]]] = {
    "Talk": {
        "chat": talk.chat,
        "ask": talk.ask,
        "conversations": transcripts.conversations,
        "export": transcripts.export,
        "import": transcripts.import_,
    },
    "Roles": {"roles": library.roles, "new": library.new, "show": library.show, "chronicle": chronicle.chronicle},
    "What a role knows": {
        "index": indexing.index,
        "learn": persona.learn,
        "forget": persona.forget,
        "edit": persona.edit,
        "memories": memories.memories,
        "emotions": emotions.emotions,
        "graph": graphs.graph,
        "unmerge": indexing.unmerge,
        "relations": relations.relations,
        "versions": versions.versions,
        "undo": versions.undo,
    },
    "Simulations": {"simulate": simulate.simulate, "log": run_log.log, "measure": measure.measure},
    "Evaluation": {
        "evaluate": evaluate.evaluate_command,
        "report": evaluate.report,
        "interview": interview.interview,
        "studies": studies.studies,
        "published": published.published,
    },
    "Setup": {"doctor": doctor.doctor},
}
for panel, commands in COMMANDS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)
app.add_typer(weights.app, name="models", rich_help_panel="Setup")


def print_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        screen.print(version("dramaturg"))
        raise typer.Exit


@app.callback()
def about(
    show_version: bool = typer.Option(
        False, "--version", help="Print the version.", is_eager=True, callback=print_version
    ),
) -> None:
    """What stands before every command."""


def main() -> None:
    """Run the command.

    Exit codes: 0 done; 1 something is not in order (doctor, models check); 2 the command, a setting or a role's files
    are not as they must be; 3 the chat model gave no answer; 4 weights are missing or damaged; 5 an index or a
    conversation is damaged; 130 interrupted.
    """
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, RuntimeError, OSError, sqlite3.Error) as error:
        errors.print(f"Error: {sentence(error)}", style="red", soft_wrap=True)
        sys.exit(exit_code(error))
