"""What a turn waits for: changes of who the role is, shown, and approved or not by a person at the terminal."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from dramaturg.cli.identity_evidence import change_text
from dramaturg.cli.screen import printable, read, screen

Change = Mapping[str, Any]
LATER = "It waits: /approve N … approves these numbers and no others, /approve none none; so does the next message."


def changes_in(waiting: Sequence[Any]) -> list[Change]:
    """The changes that a turn waits to be approved."""
    asked = [one for one in waiting if isinstance(one, Mapping)]
    return [change for one in asked for change in one.get("changes") or []]


def show_changes(changes: Sequence[Change]) -> None:
    """Print what waits to be approved."""
    screen.print()
    screen.print("The role would become another. Shall it?", style="bold")
    for number, change in enumerate(changes, start=1):
        screen.print(Text.assemble(f"{number}. ", change_text(change)), soft_wrap=True)


def ask_for_approval(changes: Sequence[Change]) -> list[int] | None:
    """Show changes and ask for each; return the numbers of those that are approved, None where the input ends."""
    show_changes(changes)
    answers = []
    for number in range(1, len(changes) + 1):
        if (answer := yes_or_no(f"Approve {number}? y or n: ")) is None:
            screen.print(LATER, style="dim", soft_wrap=True)
            return None
        answers.append(answer)
    return [number for number, answer in enumerate(answers, start=1) if answer]


def yes_or_no(question: str) -> bool | None:
    """Ask until the answer is one of the two; None at the end of the input."""
    known = {"y": True, "yes": True, "n": False, "no": False}
    while (said := read(question)) is not None:
        if said.lower() in known:
            return known[said.lower()]
    return None


def how_to_approve(changes: Sequence[Change], role: str, method: str, thread: str) -> str:
    """That something waits after a question of `dramaturg ask`, and how it is answered."""
    number = f"{len(changes)} change{'s' * (len(changes) != 1)} of who the role is"
    if not thread:
        return f"This would be asked about, but nobody can answer: {number}. Name the conversation with --thread."
    command = shlex.join(["dramaturg", "chat", role, "--method", method, "--thread", thread])
    return printable(f"Waits to be approved, before the next question: {number}. Answer with /approve in: {command}")
