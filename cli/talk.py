"""`dramaturg ask` and `dramaturg chat`: turns of a conversation, streamed, with evidence on demand."""

import asyncio
import time
from typing import Annotated, Any

import typer
from rich.markup import escape

from dramaturg.cli.conversation import Conversation, conversation
from dramaturg.cli.evidence import evidence_view, usage_table
from dramaturg.cli.options import (
    JsonOption,
    LibraryOption,
    MethodName,
    MethodOption,
    ModelOption,
    RoleArgument,
    SettingsOption,
    context_for,
)
from dramaturg.cli.screen import print_json, screen
from dramaturg.cli.stage import Stage

HELP = "/evidence why the last reply is as it is · /usage · /model NAME another chat model · /quit"
ThreadOption = Annotated[str, typer.Option("--thread", help="Name of the conversation; it goes on where it stopped.")]
EvidenceOption = Annotated[bool, typer.Option("--evidence", help="Print why each reply is as it is, and its cost.")]


def ask(
    role: RoleArgument,
    questions: Annotated[list[str], typer.Argument(help="One question, or several: turns of one conversation.")],
    method: MethodOption = MethodName.amadeus,  # type: ignore[attr-defined]
    model: ModelOption = "auto",
    evidence: EvidenceOption = False,
    thread: ThreadOption = "",
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a role one question or several; without --thread the conversation is forgotten afterwards."""
    context = context_for(method, role, library, settings, chat_model=model)
    asyncio.run(answered(method, context, questions, thread, evidence=evidence, as_json=as_json))


async def answered(
    method: str, context: Any, questions: list[str], thread: str, *, evidence: bool, as_json: bool
) -> None:
    """Take one turn a question, and print each as it comes."""
    usage = []
    async with conversation(method, context, thread) as talk:
        for question in questions:
            began = time.perf_counter()
            output = await turn(talk, question, quiet=as_json, evidence=evidence)
            usage.append(output["usage"])
            if as_json:
                print_json(as_record(question, output, time.perf_counter() - began))
    if evidence and not as_json:
        screen.print(usage_table(usage))


def as_record(question: str, output: dict[str, Any], seconds: float) -> dict[str, Any]:
    """A turn for a program."""
    return {
        "question": question,
        "reply": output["messages"][-1].text,
        "evidence": output["evidence"],
        "usage": output["usage"],
        "seconds": round(seconds, 3),
    }


async def turn(talk: Conversation, question: str, *, quiet: bool = False, evidence: bool = False) -> dict[str, Any]:
    """Take one turn; unless `quiet`, show what happens and the reply as it is spoken."""
    if quiet:
        return await talk.take_turn(question)
    screen.print(f"\n[bold]You:[/] {escape(question)}")
    name = await talk.speaker()
    with Stage(name) as stage:
        output = await talk.take_turn(question, stage.show)
    if evidence:
        screen.print(evidence_view(output["evidence"]))
    return output


def chat(
    role: RoleArgument,
    method: MethodOption = MethodName.amadeus,  # type: ignore[attr-defined]
    model: ModelOption = "auto",
    thread: ThreadOption = "default",
    library: LibraryOption = None,
    settings: SettingsOption = None,
) -> None:
    """Talk to a role; the conversation goes on where it stopped, also after a restart."""
    context = context_for(method, role, library, settings, chat_model=model)
    asyncio.run(chatted(method, context, thread))


async def chatted(method: str, context: Any, thread: str) -> None:
    """Read lines and take turns until the user leaves."""
    async with conversation(method, context, thread) as talk:
        screen.print(f"[dim]{HELP}[/]")
        await recall(talk)
        while (line := await asyncio.to_thread(read_line)) not in {None, "/quit", "/exit"}:
            if not line:
                continue
            if line.startswith("/"):
                await command(talk, *line.split(maxsplit=1))
            else:
                await spoken_or_explained(talk, line)


def read_line() -> str | None:
    """A line from the user; None at the end of the input."""
    try:
        return screen.input("\n[bold]You:[/] ").strip()
    except EOFError:
        return None


async def spoken_or_explained(talk: Conversation, line: str) -> None:
    """Take a turn; an error of the model ends the turn, not the conversation."""
    try:
        with Stage(await talk.speaker()) as stage:
            await talk.take_turn(line, stage.show)
    except RuntimeError as error:
        screen.print(f"[red]{escape(str(error))}[/]")


async def recall(talk: Conversation) -> None:
    """Show where a conversation stopped."""
    values = await talk.values()
    for message in values.get("messages", [])[-2:]:
        who = "You" if message.type == "human" else await talk.speaker()
        screen.print(f"[dim]{escape(who)}: {escape(message.text)}[/]")


async def command(talk: Conversation, name: str, argument: str = "") -> None:
    """Do what a line that begins with a slash says."""
    values = await talk.values()
    if name == "/evidence":
        screen.print(evidence_view(values.get("evidence", {})))
    elif name == "/usage":
        screen.print(usage_table([values.get("usage", {})]))
    elif name == "/model" and argument:
        talk.change(chat_model=argument)
        screen.print(f"[dim]From now on: {escape(argument)}[/]")
    else:
        screen.print(f"[dim]{HELP}[/]")
