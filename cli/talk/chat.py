"""`dramaturg ask` and `dramaturg chat`: turns of a conversation, streamed, with evidence on demand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dramaturg.cli.evidence.reply import evidence_view, usage_table
from dramaturg.cli.options import (
    AMADEUS,
    JsonOption,
    LibraryOption,
    MethodOption,
    ModelOption,
    PromptsOption,
    RoleArgument,
    ServerOption,
    SettingsOption,
    StrategyOption,
    UserRoleOption,
    carry_to,
    command_line,
    context_for,
    shelf_of,
)
from dramaturg.cli.output import note, one_line, print_json, read, screen, sentence
from dramaturg.cli.stopping import stopping
from dramaturg.cli.talk.chat_commands import (
    LATER,
    Change,
    agreed,
    ask_for_approval,
    changes_in,
    forget,
    how_to_approve,
    not_answered,
    obey,
    show_changes,
    shown,
    speaker,
)
from dramaturg.conversations.why import why
from dramaturg.stores.documents.originals import unread, unread_sentence

if TYPE_CHECKING:
    from dramaturg.conversations.conversation import Conversation

T = TypeVar("T")
UNANSWERED = "/retry answers it; another message takes it back"
END = "Ctrl-C at the prompt, or /quit, ends the chat."
HELP = "/help shows what else can be done here, /quit ends the chat"
ThreadOption = Annotated[str, typer.Option("--thread", help="Name of the conversation; it continues where it stopped.")]
EvidenceOption = Annotated[bool, typer.Option("--evidence", help="Print the evidence and the cost of each reply.")]


def ask(
    role: RoleArgument,
    questions: Annotated[list[str], typer.Argument(help="One question, or several as turns of one conversation.")],
    method: MethodOption = AMADEUS,
    model: ModelOption = "auto",
    strategy: StrategyOption = "",
    user_role: UserRoleOption = "",
    evidence: EvidenceOption = False,
    thread: ThreadOption = "",
    prompts: PromptsOption = None,
    library: LibraryOption = None,
    server: ServerOption = "",
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a role one question or several. Without --thread the conversation is not kept."""
    named = {"chat_model": model, "strategy": strategy, "prompts": prompts, **who(user_role, method, server)}
    context = context_for(method, role, library, settings, **named)
    carry_to(server, library, role)
    say_unread(context)
    among = ["--thread", thread] if thread else []
    again = command_line("chat", role, *among, method=method, library=library, server=server)
    kept = f"What was asked is kept, and /retry answers it in: {again}"
    stopping.promise(kept if thread else "A conversation without --thread is not saved.")
    asyncio.run(answered(method, context, questions, thread, server, evidence=evidence, as_json=as_json))


def who(user_role: str, method: str, server: str) -> dict[str, str]:
    """Who the user is; where the conversation is the library's, what the role has heard in scenes comes back in it."""
    from dramaturg.conversations.scene_files import EVERYBODY
    from dramaturg.workflows.methods import context_type

    scenes = {} if server or "scenes" not in context_type(method).model_fields else {"scenes": EVERYBODY}
    return {"user_role": user_role, "known_as": user_role, **scenes}


def say_unread(context: Any) -> None:
    """Name files in persona/ that wait to be read; before a role is indexed, all that are not."""
    root = shelf_of(context.library).open(context.role).root
    found = unread(root)
    if any(one.readable for one in found) or (found and not (root / "index").exists()):
        note(unread_sentence(root), style="dim")


async def answered(
    method: str, context: Any, questions: list[str], thread: str, server: str, *, evidence: bool, as_json: bool
) -> None:
    """Take one turn a question, and print each as it comes."""
    from dramaturg.conversations.opening import open_conversation

    usage = []
    async with open_conversation(method, context, thread, server=server) as talk:
        for question in questions:
            began = time.perf_counter()
            output = await (talk.take_turn(question) if as_json else asked(talk, question, evidence=evidence))
            usage.append(output["usage"])
            waiting = await talk.waiting()
            if as_json:
                said = list(takewhile(lambda one: one.type == "ai", reversed(output["messages"])))[::-1]
                turn = {"question": question, "reply": said[-1].text}
                if len(said) > 1:
                    turn["lines"] = [{"name": one.name, "text": one.text} for one in said]
                more = {"waiting": waiting, "seconds": round(time.perf_counter() - began, 3)}
                print_json({**turn, "evidence": output["evidence"], "usage": output["usage"], **more})
            elif changes := changes_in(waiting):
                among = ["--thread", thread]
                command = command_line(
                    "chat", context.role, *among, method=method, library=context.library, server=server
                )
                screen.print(how_to_approve(changes, thread, command), style="yellow", soft_wrap=True)
    if evidence and not as_json:
        screen.print(usage_table(usage))


async def asked(talk: Conversation, question: str, *, evidence: bool) -> dict[str, Any]:
    """Take one turn, and show what happens and the reply as it is spoken."""
    screen.print()
    screen.print(f"You: {question}", style="bold")
    output = await shown(talk, partial(talk.take_turn, question), "" if evidence else "--evidence")
    if evidence:
        screen.print(evidence_view(output["evidence"]))
    elif len(talk.context.playing) == 1 and (reason := why(output["evidence"])):
        screen.print(f"Why: {one_line(reason)}", style="dim", soft_wrap=True)
    return output


def chat(
    role: RoleArgument,
    method: MethodOption = AMADEUS,
    model: ModelOption = "auto",
    strategy: StrategyOption = "",
    user_role: UserRoleOption = "",
    thread: ThreadOption = "default",
    prompts: PromptsOption = None,
    library: LibraryOption = None,
    server: ServerOption = "",
    settings: SettingsOption = None,
) -> None:
    """Talk to a role. The conversation continues where it stopped, also after a restart."""
    from dramaturg.conversations.opening import begin_by_greeting, open_conversation

    named = {"chat_model": model, "strategy": strategy, "prompts": prompts, **who(user_role, method, server)}
    context = context_for(method, role, library, settings, **named)
    among = [] if thread == "default" else ["--thread", thread]
    again = command_line("chat", role, *among, method=method, library=library, server=server)
    carry_to(server, library, role)
    say_unread(context)
    converse(open_conversation(method, context, thread, server=server), begin_by_greeting, again)


def converse(
    opened: AbstractAsyncContextManager[Conversation],
    begin: Callable[[Conversation], Coroutine[Any, Any, object]],
    again: str,
) -> None:
    """Read lines and do what they say, until the input ends.

    Args:
        opened: the conversation.
        begin: is called before the first line.
        again: the command that goes on with it.
    """
    # Lines are read outside of the event loop, which would keep Ctrl-C from the prompt.
    with asyncio.Runner() as runner:
        talk = runner.run(opened.__aenter__())
        stopping.promise(f"What was said is kept, and `{again}` goes on.", goes_on=True)
        try:
            screen.print(HELP, style="dim")
            runner.run(begin(talk))
            runner.run(recall(talk))
            while (line := next_line()) not in {None, "/quit", "/exit"}:
                changes = interruptible(runner, talk, obeyed(talk, line or ""))
                words = words_to_forget(line or "")
                there = bool(words) and interruptible(runner, talk, is_there(talk, words))
                if there and agreed("Forget it?"):
                    interruptible(runner, talk, forgotten(talk, words))
                if changes and (numbers := ask_for_approval(changes)) is not None:
                    interruptible(runner, talk, obeyed(talk, f"/approve {' '.join(map(str, numbers)) or 'none'}"))
            if stopping.is_asked:
                stopping.leave(0)  # what was stopped may still run in a thread
        except KeyboardInterrupt:
            stopping.leave()
            raise
        finally:
            runner.run(opened.__aexit__(None, None, None))


def interruptible(runner: asyncio.Runner, talk: Conversation, turn: Coroutine[Any, Any, T]) -> T | None:
    """Run what a line asks for; Ctrl-C ends that, and not the conversation."""
    try:
        return runner.run(turn)
    except KeyboardInterrupt:
        asked = runner.run(not_answered(talk))
        kept = f"Your question is kept: {UNANSWERED}" if asked else "The conversation is as it was"
        screen.print(f"Stopped. {kept}. {END}", style="dim", soft_wrap=True)
        return None


def next_line() -> str | None:
    """A line from the user; None at the end of the input."""
    screen.print()
    return read("You: ")


async def obeyed(talk: Conversation, line: str) -> list[Change]:
    """Do what a line says, and return the changes that now wait; an error ends the turn, not the conversation."""
    if not line:
        return []
    try:
        before = await waiting_turn(talk)
        await obey(talk, line)
        return changes_in(await talk.waiting()) if await waiting_turn(talk) != before else []
    except (ValueError, RuntimeError) as error:
        screen.print(sentence(error), style="red", soft_wrap=True)
        if await not_answered(talk):
            screen.print(f"The last question has no whole reply: {UNANSWERED}.", style="dim", soft_wrap=True)
        return []


def words_to_forget(line: str) -> str:
    """What a line asks to forget; empty: it asks for something else."""
    name, _, rest = line.partition(" ")
    return rest.strip() if name == "/forget" else ""


async def is_there(talk: Conversation, words: str) -> bool:
    """Whether anything holds words that are to be forgotten; where that cannot be read, it was said why."""
    with suppress(ValueError, RuntimeError):
        found = await talk.to_forget(phrase=words)
        return bool(found.said or found.notes)
    return False


async def forgotten(talk: Conversation, words: str) -> None:
    """Forget for good what holds some words, or say why that cannot be done."""
    try:
        await forget(talk, words)
    except (ValueError, RuntimeError) as error:
        screen.print(sentence(error), style="red", soft_wrap=True)


async def waiting_turn(talk: Conversation) -> str | None:
    """The turn that waits, if one does."""
    turn = await talk.unfinished() if await talk.waiting() else None
    return turn.id if turn else None


async def recall(talk: Conversation) -> None:
    """Show where a conversation stopped."""
    for turn in (await talk.history())[-1:]:
        if turn.question:
            screen.print(f"You: {turn.question}", style="dim", soft_wrap=True)
        screen.print(f"{await speaker(talk)}: {turn.reply or ''}", style="dim", soft_wrap=True)
    if unfinished := await not_answered(talk):
        screen.print(f"Not answered yet: {unfinished.question}", soft_wrap=True)
        screen.print(f"{UNANSWERED}.", style="dim")
    if changes := changes_in(await talk.waiting()):
        show_changes(changes)
        screen.print(LATER, style="dim", soft_wrap=True)
