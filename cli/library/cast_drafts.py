"""What was drafted of a character and waits: shown, taken over or refused by kind and number, or gone through."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.table import Column

from dramaturg.cli.library.chronicle import chosen_numbers
from dramaturg.cli.options import command_line
from dramaturg.cli.output import errors, excerpt, one_line, print_json, screen, table_of
from dramaturg.stores.errors import RoleError
from dramaturg.stores.library_folder import written
from dramaturg.stores.role import Role
from dramaturg.stores.texts.draft import FORMS, KINDS, CastDraft, Item, Kind
from dramaturg.stores.texts.shown import source_of, text_of, whole_text

SHOWN = 8
"""Drafts of a kind that are listed."""
CHOICE = re.compile(r"(?P<kind>[a-z]+)(?::(?P<numbers>[0-9, -]+))?")
METHODS = {"persona": "amadeus", "memories": "emotional-rag", "dialogues": "drmr", "chronicle": "id-rag"}
"""The method that a first talk is proposed with, by what the role has."""


def show_drafts(role: Role, library: str | None, *, as_json: bool) -> None:
    """Print what waits, and how to decide on it."""
    draft = CastDraft(role.root)
    items = {kind: draft.items(kind) for kind in KINDS}
    if as_json:
        print_json({"role": role.id, "drafts": {kind: rows(found) for kind, found in items.items() if found}})
        return
    if not any(items.values()):
        screen.print(f"No drafts of {role.id} wait.")
        propose(role, library)
        return
    for kind, found in items.items():
        if found:
            columns = (Column("", justify="right"), kind, Column("from", overflow="fold"))
            table = table_of(f"{kind}: {len(found):,}", *columns)
            for number, one in enumerate(found[:SHOWN], start=1):
                table.add_row(str(number), excerpt(text_of(one)), one_line(source_of(one)))
            if len(found) > SHOWN:
                table.add_row("…", f"and {len(found) - SHOWN:,} more", "")
            screen.print(table)
    base = command_line("cast", "--role", role.id, library=library)
    screen.print(
        f"Decide: {base} --accept all, or --accept persona,memories:1,3-5, or --refuse …, or --review. "
        f"The drafts can be edited, too: {role.root / 'cast.draft'}",
        soft_wrap=True,
    )


def decide(role: Role, wish: str, said: str, library: str | None, *, as_json: bool) -> None:
    """Take drafts over or refuse them, by kinds and numbers."""
    draft = CastDraft(role.root)
    chosen = chosen_drafts(draft, said)
    if wish == "accept":
        counts = draft.accept(chosen)
    else:
        counts = {kind: len(items) for kind, items in chosen.items()}
        for kind, items in chosen.items():
            draft.refuse(kind, items)
    left = draft.counts()
    if as_json:
        print_json({"role": role.id, wish: counts, "waiting": left})
        return
    told = ", ".join(f"{count:,} {'in' if wish == 'accept' else 'of'} {name}" for name, count in counts.items())
    rest = ", ".join(f"{count:,} of {kind}" for kind, count in left.items())
    screen.print(
        f"{'Accepted' if wish == 'accept' else 'Refused'}: {told or 'nothing'}. {rest or 'Nothing'} waits.",
        soft_wrap=True,
    )
    if wish == "accept":
        propose(role, library)


def propose(role: Role, library: str | None) -> None:
    """Say how to talk to the role by the methods that it has files for."""
    there = written(role.root)
    methods = [METHODS[kind] for kind in METHODS if kind in there]
    if methods:
        first = command_line("chat", role.id, method=methods[0], library=library)
        others = f" (also --method {', '.join(methods[1:])})" if methods[1:] else ""
        screen.print(f"Talk: {first}{others}", soft_wrap=True)


def chosen_drafts(draft: CastDraft, said: str) -> dict[Kind, list[Any]]:
    """The drafts that somebody names: all, kinds, or a kind with numbers.

    Raises:
        ValueError: a kind or a number is none.
        RoleError: nothing waits of a kind.
    """
    if said.strip().lower() == "all":
        found = {kind: draft.items(kind) for kind in KINDS}
        if not any(found.values()):
            raise RoleError(f"No drafts of {draft.role.name!r} wait.")
        return {kind: items for kind, items in found.items() if items}
    chosen = dict[Kind, list[Any]]()
    # "memories:1,3-5,card": a number goes on with the kind before it.
    for part in re.split(r",(?=\s*[a-z])", said.lower()):
        match = CHOICE.fullmatch(part.strip())
        kind = next((one for one in KINDS if match and one == match["kind"]), None)
        if match is None or kind is None:
            raise ValueError(
                f"{part.strip()!r} is no draft: name kinds ({', '.join(KINDS)}), as memories:1,3-5, or all."
            )
        items = draft.items(kind)
        if not items:
            raise RoleError(f"No drafts of {kind} wait for {draft.role.name!r}.")
        numbers = chosen_numbers(match["numbers"] or "all", len(items), "draft")
        chosen.setdefault(kind, []).extend(items[number - 1] for number in numbers)
    return chosen


def go_through(role: Role, library: str | None) -> None:
    """Ask about one draft after the other; each decision is kept at once."""
    draft = CastDraft(role.root)
    for kind in KINDS:
        waiting = draft.items(kind)
        for number, one in enumerate(waiting, start=1):
            screen.print(f"{kind} {number} of {len(waiting)}", style="bold")
            screen.print(whole_text(one), soft_wrap=True, markup=False)
            screen.print(one_line(source_of(one)), style="dim", soft_wrap=True, markup=False)
            answer = asked()
            if answer == "q":
                propose(role, library)
                return
            if answer == "a":
                draft.accept({kind: draft.items(kind)})
                break
            if answer == "e":
                edited = changed(one, kind)
                draft.replace(kind, one, edited)
                draft.accept({kind: [edited]})
            elif answer == "y":
                draft.accept({kind: [one]})
            else:
                draft.refuse(kind, [one])
    propose(role, library)


def asked() -> str:
    """What a person says to a draft."""
    question = "Accept? y, n, e to edit, a for all of this kind, q to decide later"
    while (said := str(typer.prompt(question, err=True)).strip().lower()) not in {*"yneaq"}:
        errors.print("Answer y, n, e, a or q.")
    return said


def changed(one: Item, kind: Kind) -> Item:
    """A draft as a person wants it, written in their editor."""
    import click

    text = one.model_dump_json(indent=2, exclude_none=True)
    after = click.edit(text, extension=".json")
    return FORMS[kind].model_validate_json(after) if after else one


def rows(items: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Drafts for a program."""
    return [
        {"number": number, **one.model_dump(mode="json", exclude_none=True, exclude_defaults=True)}
        for number, one in enumerate(items, start=1)
    ]
