"""What a line in a chat does: a message to the role, a command behind a slash, or the approval of what waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rich.table import Table
from rich.text import Text

from dramaturg.cli.evidence.fallbacks import fallback_line
from dramaturg.cli.evidence.identity import change_text
from dramaturg.cli.evidence.reply import evidence_view, usage_table
from dramaturg.cli.options import command_line
from dramaturg.cli.output import excerpt, read, screen
from dramaturg.cli.progress import Stage

if TYPE_CHECKING:
    from dramaturg.conversations.conversation import Conversation
    from dramaturg.conversations.thread import Show
    from dramaturg.conversations.turns import Turn

T = TypeVar("T")
Change = Mapping[str, Any]
IN_A_CHAT = "/evidence"
LATER = "It waits: /approve N … approves these numbers and no others, /approve none none; so does the next message."


class Command(NamedTuple):
    """A command: what follows its name, what it is for, and what it does."""

    takes: str
    help: str
    obey: Callable[[Conversation, str], Awaitable[None]]


async def obey(talk: Conversation, line: str) -> None:
    """Do what a line says: a command, or a message to the role."""
    if not line.startswith("/"):
        await shown(talk, partial(talk.take_turn, line))
        return
    name, _, rest = line.partition(" ")
    command = COMMANDS.get(name)
    if command is None and name in {form.partition(" ")[0] for form in SCENE_HELP} and len(talk.context.playing) > 1:
        await shown(talk, partial(talk.take_turn, line))
        return
    await (command.obey(talk, rest.strip()) if command else show_help(talk, rest))


async def speaker(talk: Conversation) -> str:
    """The name of the role."""
    from dramaturg.nodes.run import run_of

    if len(talk.context.playing) > 1:
        return "Scene"
    return (await run_of(talk.context)).role.card.name


async def shown(
    talk: Conversation, turn: Callable[[Show], Awaitable[dict[str, Any]]], more: str = IN_A_CHAT
) -> dict[str, Any]:
    """Take a turn, and show what happens, the reply as it is spoken, and what it had to do without.

    Args:
        talk: the conversation.
        turn: takes it; it is told what to show.
        more: what shows all of the evidence; empty: that is shown anyway.
    """
    with Stage(await speaker(talk)) as stage:
        try:
            output = await turn(stage.show)
        except (ValueError, RuntimeError):
            if more != IN_A_CHAT and stage.speaking and await not_answered(talk):  # a chat says what can be done
                stage.end()
                screen.print("This is not the whole reply: it is not kept.", style="dim")
            raise
    if more and (line := fallback_line(output["evidence"], more)):
        screen.print(line, style="dim", soft_wrap=True)
    return output


async def not_answered(talk: Conversation) -> Turn | None:
    """The last turn, if it has no reply; one that has is ended by the next message."""
    turn = await talk.unfinished()
    return turn if turn and turn.reply is None else None


async def evidence(talk: Conversation, _: str) -> None:
    """Show the evidence of the last reply."""
    screen.print(evidence_view((await talk.values()).get("evidence", {})))


async def usage(talk: Conversation, _: str) -> None:
    """Show what the last reply cost."""
    screen.print(usage_table([(await talk.values()).get("usage", {})]))


async def model(talk: Conversation, name: str) -> None:
    """Take another chat model."""
    talk.change(chat_model=needed(name, "/model NAME"))
    screen.print(f"From now on: {name}", style="dim")


async def history(talk: Conversation, _: str) -> None:
    """List the turns of this branch."""
    table = Table("", "you", await speaker(talk))
    for number, turn in enumerate(await talk.history(), start=1):
        table.add_row(str(number), turn.question, turn.reply or "")
    screen.print(table)


async def fork(talk: Conversation, number: str) -> None:
    """Go on after an earlier turn."""
    await go_on_after(talk, chosen(await talk.history(), number, "/fork N"))


async def branches(talk: Conversation, number: str) -> None:
    """List the branches, or continue one of them."""
    found = await talk.branches()
    if number:
        await go_on_after(talk, chosen(found, number, "/branches [N]")[-1])
        return
    table = Table("", "turns", "last question", "reply")
    for at, branch in enumerate(found, start=1):
        table.add_row(str(at), str(len(branch)), branch[-1].question, branch[-1].reply or "")
    screen.print(table)


async def go_on_after(talk: Conversation, turn: Turn) -> None:
    """Have the next message follow a turn."""
    await talk.fork(turn.id)
    screen.print(f"The conversation goes on after: {turn.question}", style="dim")


async def regenerate(talk: Conversation, rest: str) -> None:
    """Have a turn, or the last one, answered again, as it is wished."""
    number, _, wish = rest.partition(" ")
    if not number.isdecimal():
        number, wish = "", rest
    turn = chosen(await talk.history(), number, "/again N") if number else None
    await shown(talk, partial(talk.regenerate, turn.id if turn else None, wish=wish))


async def edit(talk: Conversation, rest: str) -> None:
    """Ask something else in the place of a turn."""
    number, _, text = rest.partition(" ")
    turn = chosen(await talk.history(), number, "/edit N TEXT")
    await shown(talk, partial(talk.edit, turn.id, needed(text.strip(), "/edit N TEXT")))


async def delete(talk: Conversation, number: str) -> None:
    """Erase a turn and all that followed it."""
    turn = chosen(await talk.history(), number, "/delete N")
    await talk.delete(turn.id)
    screen.print(f"Erased from here on: {turn.question}", style="dim")


async def remember(talk: Conversation, text: str) -> None:
    """Have the role keep something in mind, whatever is said."""
    note = await talk.note(needed(text, "/remember TEXT"))
    screen.print(f"Noted: {note.text}", style="dim", soft_wrap=True)


async def memories(talk: Conversation, _: str) -> None:
    """List what was said and is remembered, and the notes."""
    from dramaturg.cli.library.memories import memories_table
    from dramaturg.cli.library.thread_memories import listed_in

    found = await listed_in(talk)
    screen.print(memories_table(f"Memories of this conversation: {len(found)}", found))


async def show_forgettable(talk: Conversation, words: str) -> None:
    """Show what would be forgotten for good; whether it is to be is asked where lines are read."""
    from dramaturg.cli.library.thread_memories import texts_of

    texts = list(texts_of(await talk.to_forget(phrase=needed(words, "/forget WORDS")), await speaker(talk)))
    if not texts:
        raise ValueError("Nothing in this conversation contains these words: /memories lists everything.")
    screen.print("With everything that came from it, on every branch:", style="bold")
    for number, text in enumerate(texts, start=1):
        screen.print(f"{number}. {excerpt(text)}", soft_wrap=True)


async def forget(talk: Conversation, words: str) -> None:
    """Forget for good what holds some words."""
    gone = await talk.forget(phrase=words)
    screen.print(f"Forgotten for good: {len(gone.said) + len(gone.notes)}.", style="dim")
    if gone.summaries:
        screen.print("The summary of what was said before may have told of it, and is empty now.", style="dim")


def agreed(question: str) -> bool:
    """Whether the user says yes."""
    answers = {"y": True, "yes": True, "n": False, "no": False}
    while (said := read(f"{question} y or n: ")) is not None:
        if said.lower() in answers:
            return answers[said.lower()]
    return False


async def retry(talk: Conversation, _: str) -> None:
    """Finish a turn that failed."""
    if changes := changes_in(await talk.waiting()):
        show_changes(changes)
        raise ValueError("The last turn waits and has not failed: /approve answers it.")
    if await talk.unfinished() is None:
        raise ValueError("No turn has failed: /again answers the last one again.")
    await shown(talk, talk.finish)


async def greeting(talk: Conversation, number: str) -> None:
    """List what the role may say first, or begin a branch with one of it."""
    from dramaturg.conversations.alignment import Exchange
    from dramaturg.conversations.opening import greetings_of

    texts = await greetings_of(talk.context)
    if not texts:
        raise ValueError("This role has no greeting: add `greetings` to its role.yaml.")
    if not number:
        for at, text in enumerate(texts, start=1):
            screen.print(f"{at}. {excerpt(text)}", style="dim", soft_wrap=True)
        return
    text = chosen(texts, number, "/greeting N")
    await talk.take_over([Exchange("", text)])
    screen.print(f"{await speaker(talk)}: {text}", soft_wrap=True)


async def approve(talk: Conversation, numbers: str) -> None:
    """Approve some of the changes that the last turn waits for, and decline the others."""
    changes = changes_in(await talk.waiting())
    if not changes:
        raise ValueError("Nothing waits to be approved here.")
    if not numbers:
        show_changes(changes)
        raise ValueError("Say which: /approve N …, or /approve none.")
    given = [] if numbers == "none" else numbers.replace(",", " ").split()
    agreed = [chosen(range(1, len(changes) + 1), number, "/approve N …") for number in given]
    await talk.answer({"approved": agreed})
    screen.print(f"Approved: {len(set(agreed))} of {len(changes)}.", style="dim")
    if agreed:
        screen.print(how_to_write(talk), style="dim", soft_wrap=True)


def how_to_write(talk: Conversation) -> str:
    """That what was approved holds in this conversation, and how it comes into the chronicle."""
    role, library = talk.context.role, talk.context.library
    among = ("--thread", talk.thread.name.removeprefix(f"{role}/"))
    command = command_line("chronicle", role, *among, library=library if isinstance(library, str) else None)
    return f"It holds in this conversation; to write it into the chronicle: {command}"


async def script(talk: Conversation, _: str) -> None:
    """Show a scene so far."""
    from dramaturg.conversations.scenes import script_of

    if len(talk.context.playing) < 2:
        raise ValueError("This is no scene: /history has what was said.")
    screen.print("\n".join(await script_of(talk)), soft_wrap=True, markup=False)


async def show_help(talk: Conversation, _: str) -> None:
    """List the commands."""
    table = Table.grid(padding=(0, 2))
    for name, command in COMMANDS.items():
        table.add_row(f"{name} {command.takes}", command.help)
    if len(talk.context.playing) > 1:
        for form, meaning in SCENE_HELP.items():
            table.add_row(form, meaning)
    table.add_row("/quit", "end the chat")
    screen.print(table, style="dim")


SCENE_HELP = {
    "/whisper NAME: TEXT": "say TEXT so that NAME alone hears it",
    "/narrate TEXT": "tell what happens; all who are there see it",
    "/enter NAME": "NAME comes, or shows itself; without a name: you do",
    "/leave NAME": "NAME goes; without a name: you do",
    "/hide NAME": "NAME hears what is said, and nobody knows",
    "/next NAME": "have NAME speak next",
    "/go": "have the scene go on",
}


COMMANDS: Mapping[str, Command] = {
    "/evidence": Command("", "the evidence of the last reply", evidence),
    "/usage": Command("", "what it cost", usage),
    "/model": Command("NAME", "another chat model", model),
    "/greeting": Command(
        "[N]", "list the greetings, or start again with one; the chat so far stays as a branch", greeting
    ),
    "/history": Command("", "the turns so far, with their numbers", history),
    "/again": Command(
        "[N] [WISH]", "answer the last turn, or turn N, again, by a wish for this reply such as shorter", regenerate
    ),
    "/edit": Command("N TEXT", "replace your message of turn N with TEXT", edit),
    "/fork": Command("N", "continue after turn N; what followed stays as a branch", fork),
    "/branches": Command("[N]", "list the branches, or continue branch N", branches),
    "/delete": Command("N", "erase turn N and what followed it", delete),
    "/remember": Command("TEXT", "add TEXT as a note that the role always sees", remember),
    "/memories": Command("", "what was said here and is remembered, with the notes", memories),
    "/forget": Command(
        "WORDS", "forget everything that contains WORDS, for good, with what came from it", show_forgettable
    ),
    "/retry": Command("", "finish a turn that failed", retry),
    "/approve": Command("N …", "approve changes of the role by their numbers; none rejects all", approve),
    "/script": Command("", "of a scene: the script so far, and who heard what", script),
    "/help": Command("", "these commands", show_help),
}


def chosen(things: Sequence[T], number: str, form: str) -> T:
    """One of a list, by the number from 1 on that it is shown under."""
    if number.isdecimal() and len(number) < 10 and 1 <= int(number) <= len(things):  # int() refuses 4,301 digits
        return things[int(number) - 1]
    raise ValueError(f"{form}: N is a number from 1 to {len(things)}." if things else "Nothing has been said here yet.")


def needed(text: str, form: str) -> str:
    """What must follow a command."""
    if text:
        return text
    raise ValueError(f"Something is missing: {form}")


def changes_in(waiting: Sequence[Any]) -> list[Change]:
    """The changes of who the role is that a turn waits to be approved."""
    return [change for one in waiting if isinstance(one, Mapping) for change in one.get("changes") or []]


def show_changes(changes: Sequence[Change]) -> None:
    """Print what waits to be approved."""
    screen.print()
    screen.print("The role would change. Approve?", style="bold")
    for number, change in enumerate(changes, start=1):
        screen.print(Text.assemble(f"{number}. ", change_text(change)), soft_wrap=True)


def ask_for_approval(changes: Sequence[Change]) -> list[int] | None:
    """Show changes and ask for each; return the numbers of those that are approved, None where the input ends."""
    show_changes(changes)
    answers = {"y": True, "yes": True, "n": False, "no": False}
    approved = []
    for number in range(1, len(changes) + 1):
        said: str | None = ""
        while said not in answers:
            if (said := read(f"Approve {number}? y or n: ")) is None:
                screen.print(LATER, style="dim", soft_wrap=True)
                return None
            said = said.lower()
        approved += [number] * answers[said]
    return approved


def how_to_approve(changes: Sequence[Change], thread: str, command: str) -> str:
    """That something waits after a question of `dramaturg ask`, and how it is answered."""
    number = f"{len(changes)} change{'s' * (len(changes) != 1)} of who the role is"
    if not thread:
        return f"This would be asked about, but nobody can answer: {number}. Name the conversation with --thread."
    return f"Waits to be approved, before the next question: {number}. Answer with /approve in: {command}"
