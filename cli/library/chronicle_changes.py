"""`dramaturg chronicle --thread`: what a conversation has made of a role, written into its chronicle by a person."""

import asyncio
from collections.abc import Sequence
from typing import Any

from rich.table import Column, Table

from dramaturg.cli.library.chronicle import KnownChronicle, chosen_numbers
from dramaturg.cli.options import command_line, context_for
from dramaturg.cli.output import print_json, screen, table_of
from dramaturg.conversations.chronicle_changes import replacements_in
from dramaturg.conversations.opening import open_conversation
from dramaturg.stores.documents.chronicle_changes import Replacement, unwritten, write_replacements
from dramaturg.stores.documents.forms import CHRONICLE


def take_over(known: KnownChronicle, thread: str, numbers: str, library: Any, *, as_json: bool) -> None:
    """Show what a conversation has made of a role that the chronicle does not say, or write it there."""
    changes = asyncio.run(changes_of(known, thread, library))
    left = unwritten(known.triples(), changes)
    chosen = [left[number - 1] for number in chosen_numbers(numbers, len(left))] if numbers and left else []
    if chosen:
        write_replacements(known.role.root, chosen)
        left = unwritten(known.triples(), changes)
    if as_json:
        print_json({"accept": replacement_rows(known, chosen), "left": replacement_rows(known, left)})
        return
    if chosen:
        screen.print(f"Wrote {len(chosen)} into {CHRONICLE}; {len(left)} left.", soft_wrap=True)
    if not left:
        screen.print(f"{CHRONICLE} says all that {known.role.id} has become in this conversation.", soft_wrap=True)
        return
    screen.print(replacements_table(known, left))
    again = command_line("chronicle", known.role.id, "--thread", thread, library=library)
    screen.print(f"Write into {CHRONICLE}: {again} --accept 1,3-5, or all", soft_wrap=True)


async def changes_of(known: KnownChronicle, thread: str, library: Any) -> list[Replacement]:
    """What a conversation has made of a role.

    Raises:
        ValueError: there is no such conversation.
    """
    context = context_for("id-rag", known.role.id, library, None)
    async with open_conversation("id-rag", context, thread) as talk:
        if not await talk.history():
            raise ValueError(
                f"There is no conversation {thread!r} with {known.role.id}: see `dramaturg conversations`."
            )
        return await replacements_in(talk, thread)


def replacement_rows(known: KnownChronicle, changes: Sequence[Replacement]) -> list[dict[str, Any]]:
    """Changes for a program."""
    rows = known.rows([one.new for one in changes])
    return [{**row, "replaces": known.said(one.old)} for row, one in zip(rows, changes, strict=True)]


def replacements_table(known: KnownChronicle, changes: Sequence[Replacement]) -> Table:
    """Changes, one a row."""
    shown = table_of(
        f"What {known.role.id} has become: {len(changes)}",
        Column("", justify="right"),
        "",
        "says",
        "in place of",
        "since",
    )
    for row, one in zip(replacement_rows(known, changes), changes, strict=True):
        cells = ("core" if one.new.core else "", row["sentence"], " ".join(row["replaces"]), one.since)
        shown.add_row(str(row["number"]), *cells)
    return shown
