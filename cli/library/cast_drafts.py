"""What was drafted of a character and waits: shown, taken over or refused by kind and number, or gone through."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click
import typer
from pydantic import ValidationError
from rich.table import Column

from dramaturg.cli.library.chronicle import chosen_numbers
from dramaturg.cli.options import command_line
from dramaturg.cli.output import errors, excerpt, note, one_line, print_json, screen, table_of
from dramaturg.stores.documents.reading import explain
from dramaturg.stores.errors import RoleError
from dramaturg.stores.library import library_at
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
        f"The drafts can be edited, too: {draft.folder}",
        soft_wrap=True,
    )


def decide(role: Role, wish: str, said: str, library: str | None, *, as_json: bool) -> None:
    """Take drafts over or refuse them, by kinds and numbers."""
    draft = CastDraft(role.root)
    chosen = chosen_drafts(draft, said, keep_profile=wish == "accept")
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


def choices(said: str) -> list[tuple[Kind, str]]:
    """The kinds that somebody names, each with the numbers, or none for all of it.

    Raises:
        ValueError: one is no kind.
    """
    if said.strip().lower() == "all":
        return [(kind, "") for kind in KINDS]
    found = list[tuple[Kind, str]]()
    # "memories:1,3-5,card": a number goes on with the kind before it.
    for part in re.split(r",(?=\s*[a-z])", said.lower()):
        match = CHOICE.fullmatch(part.strip())
        kind = next((one for one in KINDS if match and one == match["kind"]), None)
        if match is None or kind is None:
            raise ValueError(
                f"{part.strip()!r} is no draft: name kinds ({', '.join(KINDS)}), as memories:1,3-5, or all."
            )
        found.append((kind, match["numbers"] or ""))
    return found


def chosen_drafts(draft: CastDraft, said: str, *, keep_profile: bool = False) -> dict[Kind, list[Any]]:
    """The drafts that somebody names: all, kinds, or a kind with numbers; each once.

    Args:
        draft: of the role.
        said: what is named.
        keep_profile: whether a profile is left out that would take another one's place, unless its number is named.

    Raises:
        ValueError: a kind or a number is none.
        RoleError: nothing waits of a kind.
    """
    chosen, everything = dict[Kind, set[int]](), said.strip().lower() == "all"
    items = {kind: draft.items(kind) for kind in KINDS}
    for kind, numbers in choices(said):
        if not items[kind] and not everything:
            raise RoleError(f"No drafts of {kind} wait for {draft.role.name!r}.")
        named = chosen_numbers(numbers or "all", len(items[kind]), "draft") if items[kind] else []
        if kind == "card" and not numbers and keep_profile:
            profiles = [number for number in named if items[kind][number - 1].field == "profile"]
            left = (
                profiles if library_at(draft.role.parent).role(draft.role.name).card.profile.strip() else profiles[1:]
            )
            if left:
                note(f"The profile stays as it is: --accept card:{left[0]} takes the drafted one over.")
            named = [number for number in named if number not in left]
        chosen.setdefault(kind, set()).update(named)
    if not any(items.values()):
        raise RoleError(f"No drafts of {draft.role.name!r} wait.")
    return {kind: [items[kind][number - 1] for number in sorted(of)] for kind, of in chosen.items() if of}


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
                if edited is None:
                    screen.print("It waits as it was.", style="dim")
                    continue
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


def changed(one: Item, kind: Kind) -> Item | None:
    """A draft as a person wants it, written in their editor; None: they have saved nothing that is a draft."""
    text: str | None = one.model_dump_json(indent=2, exclude_none=True)
    while text is not None:
        text = click.edit(text, extension=".json")
        try:
            return None if text is None else FORMS[kind].model_validate_json(text)
        except ValidationError as error:
            errors.print(f"That is no draft: {explain(error, FORMS[kind])}.", markup=False)
            if not typer.confirm("Edit it again?", default=True, err=True):
                break
    return None


def rows(items: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Drafts for a program."""
    return [
        {"number": number, **one.model_dump(mode="json", exclude_none=True, exclude_defaults=True)}
        for number, one in enumerate(items, start=1)
    ]
