"""The command: its parts, each imported when it is called, and how an error becomes a sentence and an exit code."""

import logging
import os
import sqlite3
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pkgutil import resolve_name
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from dramaturg.cli.output import Notes, note, screen, sentence
from dramaturg.cli.stopping import STOPPED, stopping
from dramaturg.models.environment import kept_endpoint
from dramaturg.models.errors import ModelError, WeightsError
from dramaturg.stores.errors import DamagedConversations, DamagedIndex

EXIT_CODES: Mapping[type[Exception], int] = {
    ModelError: 3,
    WeightsError: 4,
    DamagedIndex: 5,
    DamagedConversations: 5,
    sqlite3.Error: 5,
}
USAGE_ERROR: Any = typer.BadParameter.__base__  # older versions have it from click
COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Talk": {
        "chat": (
            "talk.chat:chat",
            "Talk to a role. The conversation continues where it stopped, also after a restart.",
        ),
        "ask": (
            "talk.chat:ask",
            "Ask a role one question or several. Without --thread the conversation is not kept.",
        ),
        "scene": (
            "talk.scene:scene",
            "Play a scene of several roles, each of whom knows what it has heard, and nothing else.",
        ),
        "serve": (
            "serve:serve",
            "Serve a chat page, and the roles as models for SillyTavern, Open WebUI and any other OpenAI client.",
        ),
        "mcp": (
            "mcp:mcp",
            "Offer the roles as tools to a program that starts this command, over the Model Context Protocol (stdio).",
        ),
        "conversations": ("talk.transcripts:conversations", "List the conversations with a role."),
    },
    "Files": {
        "import": (
            "exchange.taking_in:import_",
            "Import character cards, lorebooks, chats, conversations and bundles; a file is recognized by its content.",
        ),
        "export": (
            "exchange.giving_out:export",
            "Export a role as a character card, a lorebook or a bundle, or a conversation with it.",
        ),
    },
    "Roles": {
        "roles": ("library.roles:roles", "List the roles of the library, and the examples that can be opened."),
        "cast": (
            "library.cast:cast_",
            "Cast a role from novels, scripts, chats or diaries: drafts of its files, for you to accept.",
        ),
        "new": ("library.roles:new", "Create a role: a folder with role.yaml and an empty persona for you to write."),
        "library": (
            "library.moving:app",
            "Copy roles into a database that several machines share, and back.",
        ),
        "show": ("library.roles:show", "Show the files of a role, and which of them are indexed."),
        "chronicle": (
            "library.chronicle:chronicle",
            "Show a role's identity as triples, or draft triples and decide which of them to accept.",
        ),
    },
    "What a role knows": {
        "index": (
            "library.indexing:index",
            "Prepare roles for a method. Only changes are processed. On a server, several roles are prepared at once.",
        ),
        "learn": (
            "library.persona:learn",
            "Teach a role documents: copy them into its persona, and index what is new.",
        ),
        "forget": (
            "library.persona:forget",
            "Let a role forget a document: remove it from its persona and its index.",
        ),
        "edit": (
            "library.persona:edit",
            "Open a document of a role in your editor ($EDITOR), and index what you changed.",
        ),
        "memories": (
            "library.memories:memories",
            "List the memories of a role, change one in its file and index it again, or draft some to accept.",
        ),
        "emotions": (
            "drawing.emotions:emotions",
            "Show the mood of a text and the memories that it recalls. The role neither answers nor remembers the "
            "text.",
        ),
        "graph": (
            "drawing.graph:graph",
            "Show a role's knowledge graph: as tables, or as a page with search, a picture or a file for other "
            "programs.",
        ),
        "unmerge": (
            "library.indexing:unmerge",
            "Undo a merge of names: the name becomes a separate entity again, and stays one.",
        ),
        "relations": (
            "drawing.relations:relations",
            "Show who speaks with whom in a role's dialogues, as tables or a page; --user-role shows that person's "
            "clique.",
        ),
        "versions": (
            "library.roles:versions",
            "List the versions of a role's index: the current one first, then those that undo can restore.",
        ),
        "undo": (
            "library.roles:undo",
            "Restore an earlier version: the files that it was made from, and its index.",
        ),
    },
    "Simulations": {
        "simulate": (
            "simulation.simulate:simulate",
            "Play a scenario hour by hour. If it stops, run it again to continue; the log stays complete.",
        ),
        "log": (
            "simulation.log:log",
            "Show what happened in a simulation, what its decisions were based on, or what it cost.",
        ),
    },
    "Evaluation": {
        "evaluate": (
            "evaluation.evaluate:evaluate_command",
            "Compare methods: each one answers the same questions, and judges score the answers.",
        ),
        "report": (
            "evaluation.evaluate:report",
            "Write the report of a run again from its records, without a model. Several runs of one plan get one "
            "report.",
        ),
        "dataset": (
            "evaluation.datasets:app",
            "List and download known datasets, and make roles from them.",
        ),
        "interview": (
            "evaluation.interview:interview",
            "Interview a role with an inventory, each item in its own conversation. Run it again to continue after a "
            "stop.",
        ),
        "judges": (
            "evaluation.judges:judges",
            "Check judges with anchors, replies that people scored, and who is speaking. Default: all but people's "
            "scores.",
        ),
        "chunks": (
            "evaluation.agreement:chunks",
            "Show which share of a role's passages a run used, and how often selection found none. Asks no model.",
        ),
        "consistency": (
            "evaluation.agreement:consistency",
            "Show how far the scores of interviews differ, by item and by dimension (InCharacter). Asks no model.",
        ),
        "ratings": (
            "evaluation.agreement:ratings",
            "Show how far human raters agree, and whether methods differ by their ratings. Asks no model.",
        ),
    },
    "Flows": {
        "new-flow": (
            "flows.new_flow:new_flow",
            "Create a package with your own flow: AMADEUS with one more node and setting, a test, a README.",
        ),
    },
    "Setup": {
        "setup": (
            "connecting:setup",
            "Connect to a model: its address, a key and its name are tried, and kept in a file that only you can read.",
        ),
        "doctor": (
            "setup:doctor",
            "Check what is installed and whether the models answer. The exit code is 1 if something needed is missing.",
        ),
        "models": ("setup:app", "Download, list and check the weights of the embedded models."),
    },
}
"""Where each command is, in `dramaturg.cli`, and what it does: its own help begins with the same line."""


class Commands(TyperGroup):
    """Lists commands by what COMMANDS says of them, and imports one when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, in place of what stands for it in lists."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and imported(str(listed.name)), rest


def imported(name: str) -> Any:
    """The command of a name, from its module."""
    where = next(commands[name][0] for commands in COMMANDS.values() if name in commands)
    found = resolve_name(f"dramaturg.cli.{where}")
    return typer.main.get_command(found) if isinstance(found, typer.Typer) else command_of(name, found)


def command_of(name: str, function: Callable[..., None]) -> Any:
    """The command that a function is."""
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    alone.command(name)(function)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="dramaturg",
    cls=Commands,
    help="Role-playing agents as LangGraph workflows. To start: dramaturg setup, or dramaturg models pull for the "
    "embedded model, then dramaturg chat beethoven.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for panel, commands in COMMANDS.items():
    for name, (_, about) in commands.items():
        app.command(name, help=about, rich_help_panel=panel)(lambda: None)


def print_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        screen.print(version("dramaturg"))
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    show_version: bool = typer.Option(
        False, "--version", help="Print the version.", is_eager=True, callback=print_version
    ),
) -> None:
    """What stands before every command: the endpoint that is kept, where the surroundings name none."""
    if context.invoked_subcommand != "setup":
        for variable, value in kept_endpoint().items():
            os.environ[variable] = os.environ.get(variable) or value


def main() -> None:
    """Run `dramaturg`; see `run_command`."""
    run_command(app, "dramaturg")


def run_command(command: Callable[..., Any], program: str) -> NoReturn:
    """Run a command, and end the process with its exit code; what fails is told in a sentence.

    Exit codes: 0 done; 1 something is not in order (doctor, models check); 2 the command, a setting or a role's files
    are not as they must be; 3 the chat model gave no answer; 4 weights are missing or damaged; 5 an index or a
    conversation is damaged; 130 interrupted.
    """
    warnings, log = Notes(logging.WARNING), logging.getLogger("dramaturg")
    log.addHandler(warnings)
    with stopping:
        try:
            code = command(prog_name=program, standalone_mode=False)
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
