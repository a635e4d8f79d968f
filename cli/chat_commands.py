"""What a line that begins with a slash does in a chat."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from rich.table import Table

from dramaturg.cli.approvals import changes_in, show_changes
from dramaturg.cli.evidence import evidence_view, usage_table
from dramaturg.cli.screen import printable, screen
from dramaturg.cli.stage import Stage
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.turns import Turn
from dramaturg.nodes.run import role_of

T = TypeVar("T")


class Command(NamedTuple):
    """A command: what follows its name, what it is for, and what it does."""

    takes: str
    help: str
    obey: Callable[[Conversation, str], Awaitable[None]]


async def obey(talk: Conversation, line: str) -> None:
    """Do what a line says: a command, or a message to the role.

    Raises:
        ValueError: a command needs something else than what follows it.
    """
    if not line.startswith("/"):
        await speak(talk, line)
        return
    name, _, rest = line.partition(" ")
    command = COMMANDS.get(name)
    await (command.obey(talk, rest.strip()) if command else show_help(talk, rest))


async def speak(talk: Conversation, text: str) -> None:
    """Take one turn on a stage."""
    with Stage(await speaker(talk)) as stage:
        await talk.take_turn(text, stage.show)


async def speaker(talk: Conversation) -> str:
    """The name of the role."""
    return (await role_of(talk.context)).card.name


async def evidence(talk: Conversation, _: str) -> None:
    """Show why the last reply is as it is."""
    screen.print(evidence_view((await talk.values()).get("evidence", {})))


async def usage(talk: Conversation, _: str) -> None:
    """Show what the last reply cost."""
    screen.print(usage_table([(await talk.values()).get("usage", {})]))


async def model(talk: Conversation, name: str) -> None:
    """Take another chat model."""
    talk.change(chat_model=needed(name, "/model NAME"))
    screen.print(f"From now on: {printable(name)}", style="dim")


async def history(talk: Conversation, _: str) -> None:
    """List the turns of this branch."""
    table = Table("", "you", await speaker(talk))
    for number, turn in enumerate(await talk.history(), start=1):
        table.add_row(str(number), printable(turn.question), printable(turn.reply or ""))
    screen.print(table)


async def fork(talk: Conversation, number: str) -> None:
    """Go on after an earlier turn."""
    turn = await numbered(talk, number, "/fork N")
    await talk.fork(turn.id)
    screen.print(f"The conversation goes on after: {printable(turn.question)}", style="dim")


async def regenerate(talk: Conversation, number: str) -> None:
    """Have a turn, or the last one, answered anew."""
    turn = await numbered(talk, number, "/again [N]") if number else None
    with Stage(await speaker(talk)) as stage:
        await talk.regenerate(turn.id if turn else None, stage.show)


async def edit(talk: Conversation, rest: str) -> None:
    """Ask something else in the place of a turn."""
    number, _, text = rest.partition(" ")
    turn = await numbered(talk, number, "/edit N TEXT")
    with Stage(await speaker(talk)) as stage:
        await talk.edit(turn.id, needed(text.strip(), "/edit N TEXT"), stage.show)


async def delete(talk: Conversation, number: str) -> None:
    """Erase a turn and all that followed it."""
    turn = await numbered(talk, number, "/delete N")
    await talk.delete(turn.id)
    screen.print(f"Erased from here on: {printable(turn.question)}", style="dim")


async def branches(talk: Conversation, number: str) -> None:
    """List the branches, or go on with one of them."""
    found = await talk.branches()
    if number:
        branch = chosen(found, number, "/branches [N]")
        await talk.fork(branch[-1].id)
        screen.print(f"The conversation goes on after: {printable(branch[-1].question)}", style="dim")
        return
    table = Table("", "turns", "last question", "reply")
    for at, branch in enumerate(found, start=1):
        table.add_row(str(at), str(len(branch)), printable(branch[-1].question), printable(branch[-1].reply or ""))
    screen.print(table)


async def retry(talk: Conversation, _: str) -> None:
    """Finish a turn that failed."""
    if changes := changes_in(await talk.waiting()):
        show_changes(changes)
        raise ValueError("The last turn waits and has not failed: /approve answers it.")
    with Stage(await speaker(talk)) as stage:
        await talk.finish(stage.show)


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


async def show_help(_: Conversation, __: str) -> None:
    """List the commands."""
    table = Table.grid(padding=(0, 2))
    for name, command in COMMANDS.items():
        table.add_row(f"{name} {command.takes}", command.help)
    table.add_row("/quit", "end the chat")
    screen.print(table, style="dim")


async def numbered(talk: Conversation, number: str, form: str) -> Turn:
    """The turn of this branch that `/history` shows under a number."""
    return chosen(await talk.history(), number, form)


def chosen(things: Sequence[T], number: str, form: str) -> T:
    """One of a list, by its number from 1 on."""
    if number.isdecimal() and len(number) < 10 and 1 <= int(number) <= len(things):  # int() refuses 4,301 digits
        return things[int(number) - 1]
    msg = f"{form}: N is a number from 1 to {len(things)}." if things else "Nothing has been said here yet."
    raise ValueError(msg)


def needed(text: str, form: str) -> str:
    """What must follow a command."""
    if text:
        return text
    msg = f"Something is missing: {form}"
    raise ValueError(msg)


COMMANDS: Mapping[str, Command] = {
    "/evidence": Command("", "why the last reply is as it is", evidence),
    "/usage": Command("", "what it cost", usage),
    "/model": Command("NAME", "another chat model", model),
    "/history": Command("", "the turns so far, with their numbers", history),
    "/again": Command("[N]", "answer the last turn, or turn N, anew", regenerate),
    "/edit": Command("N TEXT", "say TEXT in the place of turn N", edit),
    "/fork": Command("N", "go on after turn N; what followed stays a branch", fork),
    "/branches": Command("[N]", "list the branches, or go on with branch N", branches),
    "/delete": Command("N", "erase turn N and what followed it", delete),
    "/retry": Command("", "finish a turn that failed", retry),
    "/approve": Command("N …", "let the role become what is shown under these numbers; none: nothing of it", approve),
    "/help": Command("", "these commands", show_help),
}
