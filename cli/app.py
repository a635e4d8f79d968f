"""The command: its parts, and how an error becomes a sentence and an exit code."""

import sqlite3
import sys
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
app.command("roles")(library.roles)
app.command("new")(library.new)
app.command("show")(library.show)
app.command("index")(indexing.index)
app.command("unmerge")(indexing.unmerge)
app.command("graph")(graphs.graph)
app.command("relations")(relations.relations)
app.command("emotions")(emotions.emotions)
app.command("memories")(memories.memories)
app.command("chronicle")(chronicle.chronicle)
app.command("learn")(persona.learn)
app.command("forget")(persona.forget)
app.command("edit")(persona.edit)
app.command("versions")(versions.versions)
app.command("undo")(versions.undo)
app.command("ask")(talk.ask)
app.command("chat")(talk.chat)
app.command("simulate")(simulate.simulate)
app.command("measure")(measure.measure)
app.command("log")(run_log.log)
app.command("interview")(interview.interview)
app.command("evaluate")(evaluate.evaluate_command)
app.command("report")(evaluate.report)
app.command("studies")(studies.studies)
app.command("published")(published.published)
app.command("conversations")(transcripts.conversations)
app.command("export")(transcripts.export)
app.command("import")(transcripts.import_)
app.command("doctor")(doctor.doctor)
app.add_typer(weights.app, name="models")


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
    conversation is damaged;
    130 interrupted.
    """
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, RuntimeError, OSError, sqlite3.Error) as error:
        errors.print(f"Error: {sentence(error)}", style="red", soft_wrap=True)
        sys.exit(exit_code(error))
