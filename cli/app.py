"""The command: its parts, and how an error becomes a sentence and an exit code."""

import logging
import sqlite3
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import typer

from dramaturg.cli import setup
from dramaturg.cli.drawing import emotions, graph, relations
from dramaturg.cli.evaluation import evaluate, interview, studies
from dramaturg.cli.flows import new_flow
from dramaturg.cli.library import chronicle, indexing, memories, persona, roles
from dramaturg.cli.output import Notes, note, screen, sentence
from dramaturg.cli.simulation import log, measure, simulate
from dramaturg.cli.stopping import STOPPED, stopping
from dramaturg.cli.talk import chat, transcripts
from dramaturg.models.errors import ModelError, WeightsError
from dramaturg.stores.errors import DamagedConversations, DamagedIndex

app = typer.Typer(
    name="dramaturg",
    help="Role-playing agents as LangGraph workflows. Begin: dramaturg models pull, then dramaturg chat beethoven.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
EXIT_CODES: Mapping[type[Exception], int] = {
    ModelError: 3,
    WeightsError: 4,
    DamagedIndex: 5,
    DamagedConversations: 5,
    sqlite3.Error: 5,
}
USAGE_ERROR: Any = typer.BadParameter.__base__  # older versions have it from click
COMMANDS: Mapping[str, Mapping[str, Callable[..., None]]] = {
    "Talk": {
        "chat": chat.chat,
        "ask": chat.ask,
        "conversations": transcripts.conversations,
        "export": transcripts.export,
        "import": transcripts.import_,
    },
    "Roles": {"roles": roles.roles, "new": roles.new, "show": roles.show, "chronicle": chronicle.chronicle},
    "What a role knows": {
        "index": indexing.index,
        "learn": persona.learn,
        "forget": persona.forget,
        "edit": persona.edit,
        "memories": memories.memories,
        "emotions": emotions.emotions,
        "graph": graph.graph,
        "unmerge": indexing.unmerge,
        "relations": relations.relations,
        "versions": roles.versions,
        "undo": roles.undo,
    },
    "Simulations": {"simulate": simulate.simulate, "log": log.log, "measure": measure.measure},
    "Evaluation": {
        "evaluate": evaluate.evaluate_command,
        "report": evaluate.report,
        "interview": interview.interview,
        "studies": studies.studies,
        "published": studies.published,
    },
    "Flows": {"new-flow": new_flow.new_flow},
    "Setup": {"doctor": setup.doctor},
}
for panel, commands in COMMANDS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)
app.add_typer(setup.app, name="models", rich_help_panel="Setup")


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
    warnings, log = Notes(logging.WARNING), logging.getLogger("dramaturg")
    log.addHandler(warnings)
    with stopping:
        try:
            code = app(prog_name="dramaturg", standalone_mode=False)
        except USAGE_ERROR as error:
            code = 2
            message = error.format_message().removesuffix(".").replace("Value error, ", "")
            where = f": see {error.ctx.command_path} --help" if error.ctx else ""
            if message:  # else help is printed already
                note(f"Error: {message}{where}.", style="red")
        except typer.Abort as no:
            code = STOPPED if isinstance(no.__context__, KeyboardInterrupt) else 1
            if code == 1:
                note("Nothing was done.")
        except KeyboardInterrupt:
            code = STOPPED
        except (ValueError, RuntimeError, OSError, sqlite3.Error) as error:
            note(f"Error: {sentence(error)}", style="red")
            code = next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 2)
        finally:
            log.removeHandler(warnings)
        if code == STOPPED:
            stopping.end()
    sys.exit(code)
