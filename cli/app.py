"""The command: its parts, each imported when it is called, and how an error becomes a sentence and an exit code."""

import logging
import sqlite3
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pkgutil import resolve_name
from typing import Any

import typer
from typer.core import TyperGroup

from dramaturg.cli.output import Notes, note, screen, sentence
from dramaturg.cli.stopping import STOPPED, stopping
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
        "chat": ("talk.chat:chat", "Talk to a role; the conversation goes on where it stopped, also after a restart."),
        "ask": (
            "talk.chat:ask",
            "Ask a role one question or several; without --thread the conversation is forgotten afterwards.",
        ),
        "serve": (
            "serve:serve",
            "Serve a page to talk on, and the roles as models for SillyTavern, Open WebUI and any other OpenAI client.",
        ),
        "mcp": (
            "mcp:mcp",
            "Serve the roles as tools to a program that starts this command, by the Model Context Protocol (stdio).",
        ),
        "conversations": ("talk.transcripts:conversations", "List the conversations with a role."),
    },
    "Files": {
        "import": (
            "exchange.taking_in:import_",
            "Take in character cards, lorebooks, chats, conversations and bundles; what a file is, its content says.",
        ),
        "export": (
            "exchange.giving_out:export",
            "Write a role as a character card, a lorebook or a bundle, or a conversation with it.",
        ),
    },
    "Roles": {
        "roles": ("library.roles:roles", "List the roles of the library, and the examples that can be opened."),
        "new": ("library.roles:new", "Make a new role: a folder with role.yaml and an empty persona to be written."),
        "library": (
            "library.moving:app",
            "Carry roles into a database that several machines share, and back.",
        ),
        "show": ("library.roles:show", "Show what a role is made of, and which of it is indexed."),
        "chronicle": (
            "library.chronicle:chronicle",
            "Show who a role is, triple by triple; or draft triples, and decide which of them are taken over.",
        ),
    },
    "What a role knows": {
        "index": (
            "library.indexing:index",
            "Prepare roles for a method; only what changed is done again. On a server several are prepared at once.",
        ),
        "learn": (
            "library.persona:learn",
            "Teach a role documents: they are copied into its persona, and what is new in them is indexed.",
        ),
        "forget": (
            "library.persona:forget",
            "Let a role forget a document: it is taken out of its persona and its index.",
        ),
        "edit": (
            "library.persona:edit",
            "Open a document of a role in your editor ($EDITOR), and index what you changed.",
        ),
        "memories": (
            "library.memories:memories",
            "List what a role remembers, or change one memory; it is changed where it is written, and indexed again.",
        ),
        "emotions": (
            "drawing.emotions:emotions",
            "Show the mood of a text and the memories that it brings back to a role; nothing is answered or "
            "remembered.",
        ),
        "graph": (
            "drawing.graph:graph",
            "Show a role's knowledge graph: as tables, or as a page with search, a picture or a file for other "
            "programs.",
        ),
        "unmerge": (
            "library.indexing:unmerge",
            "Take a merge of names back: the name becomes an entity of its own again, and stays one.",
        ),
        "relations": (
            "drawing.relations:relations",
            "Show who speaks with whom in a role's dialogues: as tables, or as a page; --user-role shows that one's "
            "clique.",
        ),
        "versions": (
            "library.roles:versions",
            "List the versions of a role's index, the one that is served first, then those that undo goes back to.",
        ),
        "undo": (
            "library.roles:undo",
            "Bring a former version back: the files that it was made from, and its index.",
        ),
    },
    "Simulations": {
        "simulate": (
            "simulation.simulate:simulate",
            "Play a scenario hour by hour. Stopped at any moment, the same command goes on; the log lacks nothing.",
        ),
        "log": (
            "simulation.log:log",
            "Show what happened in a simulation, what its decisions rested on, or what it cost.",
        ),
        "measure": (
            "simulation.measure:measure",
            "Measure runs by their logs: what was measured before is kept, the cost needs no question.",
        ),
    },
    "Evaluation": {
        "evaluate": (
            "evaluation.evaluate:evaluate_command",
            "Compare methods: every one answers the same questions, judges say what the answers are worth.",
        ),
        "report": (
            "evaluation.evaluate:report",
            "Write the report of a run anew from its records, without any model; of several runs of one plan, one "
            "report.",
        ),
        "dataset": (
            "evaluation.datasets:app",
            "Datasets that are known by name, and roles that are made of them.",
        ),
        "interview": (
            "evaluation.interview:interview",
            "Interview a role by an inventory. Each item is a conversation of its own; stopped, the same command goes "
            "on.",
        ),
        "judges": (
            "evaluation.judges:judges",
            "Hold judges against what is known: anchors, replies that people scored, and who is speaking; else all but "
            "people.",
        ),
        "studies": (
            "evaluation.studies:studies",
            "Measure what methods look up, on copies of the roles; what was made for an earlier run is used again.",
        ),
        "chunks": (
            "evaluation.agreement:chunks",
            "Say which share of a role's passages a run has used, and how often selection found none; no model is "
            "asked.",
        ),
        "consistency": (
            "evaluation.agreement:consistency",
            "Say how far the scores of interviews differ, by item and by dimension (InCharacter); no model is asked.",
        ),
        "ratings": (
            "evaluation.agreement:ratings",
            "Say how far people agree who rated replies, and whether methods differ by their ratings; no model is "
            "asked.",
        ),
        "published": (
            "evaluation.studies:published",
            "Compute the papers' tables of types again (AMADEUS, Tables 4 and 5), and say where they are off.",
        ),
    },
    "Flows": {
        "new-flow": (
            "flows.new_flow:new_flow",
            "Write a package with a flow of your own: AMADEUS with one more node and setting, a test, a README.",
        ),
    },
    "Setup": {
        "doctor": (
            "setup:doctor",
            "Look at what is installed and whether the models answer; the exit code is 1 if something needed is not "
            "there.",
        ),
        "models": ("setup:app", "The weights of the embedded models."),
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
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name)(found)
        found = alone
    return typer.main.get_command(found)


app = typer.Typer(
    name="dramaturg",
    cls=Commands,
    help="Role-playing agents as LangGraph workflows. Begin: dramaturg models pull, then dramaturg chat beethoven.",
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
