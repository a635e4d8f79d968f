"""`dramaturg memories ROLE --draft`: what formed a role, drafted from who it is, and taken over by a person."""

import asyncio
from collections.abc import Sequence

from rich.table import Column, Table

from dramaturg.cli.library.cast_drafts import rows
from dramaturg.cli.library.chronicle import KnownChronicle, chosen_numbers
from dramaturg.cli.output import excerpt, note, one_line, print_json, screen, table_of
from dramaturg.cli.progress import waiting
from dramaturg.models.chat import Usage
from dramaturg.nodes.memories.drafting import STATEMENTS, Ground, MemoryDraft, draft_memories
from dramaturg.nodes.run import RoleContext, run_of
from dramaturg.nodes.text.boundaries import sentences
from dramaturg.stores.documents.forms import CARD, CHRONICLE, Memory
from dramaturg.stores.documents.memories import MEMORY_FILE
from dramaturg.stores.documents.memory_drafts import (
    MEMORY_DRAFT,
    accept_memories,
    read_memory_draft,
    refuse_second_memory_draft,
    reject_memories,
    write_memory_draft,
)
from dramaturg.stores.documents.secrets import told_among
from dramaturg.stores.errors import RoleError
from dramaturg.stores.role import Role


def make_draft(role: Role, model: str, *, again: bool, as_json: bool) -> None:
    """Draft memories from a role's profile and chronicle, in one question."""
    grounds = grounds_of(role)
    if not grounds:
        raise RoleError(f"Nothing told to {role.id!r} says who it is: write a `profile` into {CARD}, or a {CHRONICLE}.")
    if not again:
        refuse_second_memory_draft(role.root)
    with waiting("Drafting memories …"):
        found, usage = asyncio.run(drafted(role, grounds, model))
    if found.memories:
        write_memory_draft(role.root, found.memories, again=again)
    if as_json:
        print_json({"draft": rows(found.memories), "dropped": found.dropped, "usage": usage})
        return
    if len(grounds) > STATEMENTS:
        note(f"The model was shown the first {STATEMENTS} of {len(grounds)} statements.", "yellow")
    if not found.memories:
        screen.print("Nothing was drafted that the role does not remember already.")
    show_draft(role, found.memories)
    for what in found.dropped:
        note(f"Left out: {one_line(what)}", "yellow")


def grounds_of(role: Role) -> list[Ground]:
    """What says who a role is: the sentences of its profile, then those of its chronicle."""
    profile, known = role.card.profile, KnownChronicle(role)
    own = [Ground(CARD, text) for begin, end in sentences(profile) if (text := profile[begin:end].strip())]
    return [*own, *(Ground(CHRONICLE, one) for one in known.said(told_among(known.triples(), role.own_names)))]


async def drafted(role: Role, grounds: Sequence[Ground], model: str) -> tuple[MemoryDraft, Usage]:
    """Ask for memories; what that cost is returned too."""
    chat = (await run_of(RoleContext(role=role.id, chat_model=model))).chat
    known = [one.text for one in role.memories() if one.text]
    found = await draft_memories(chat, grounds, role=role.card.name, language=role.card.language, known=known)
    return found, chat.account.usage()


def decide(role: Role, wish: str, numbers: str, *, as_json: bool) -> None:
    """Take memories of the draft over, or out of it."""
    there = read_memory_draft(role.root)
    if not there:
        raise RoleError(f"There is no {MEMORY_DRAFT}: make one with `dramaturg memories {role.id} --draft`.")
    chosen = [there[number - 1] for number in chosen_numbers(numbers, len(there), "memory")]
    new = accept_memories(role.root, chosen) if wish == "accept" else []
    if wish == "reject":
        reject_memories(role.root, chosen)
    left = read_memory_draft(role.root)
    if as_json:
        print_json({wish: rows(chosen), "new": len(new), "left": rows(left)})
        return
    rest = f"{len(left)} left in the draft." if left else "nothing is left in the draft."
    took = f"{len(new)} over into {MEMORY_FILE}" if wish == "accept" else f"{len(chosen)} out of the draft"
    screen.print(f"Took {took}; {rest}", soft_wrap=True)
    show_draft(role, left)


def show_draft(role: Role, memories: Sequence[Memory]) -> None:
    """Print drafted memories, if there are any, and how to decide on them."""
    if not memories:
        return
    screen.print(table(f"Draft for {role.id}: {len(memories)}", memories))
    how = f"dramaturg memories {role.id} --accept 1,3-5, or --reject 2, or all"
    screen.print(f"Decide: {how}", soft_wrap=True)


def table(title: str, memories: Sequence[Memory]) -> Table:
    """Memories, one a row."""
    columns = Column("", justify="right"), "when", "importance", "memory", Column("from", overflow="fold")
    shown = table_of(title, *columns)
    for row in rows(memories):
        cells = (one_line(row.get(name, "")) for name in ("when", "importance"))
        shown.add_row(str(row["number"]), *cells, excerpt(row["text"]), one_line(row.get("source", "")))
    return shown
