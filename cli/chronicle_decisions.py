"""`dramaturg chronicle --accept`, `--reject` and `--review`: a person decides what of a draft is taken over."""

import re
from collections.abc import Sequence

import typer

from dramaturg.cli.known_chronicle import Known, show_draft
from dramaturg.cli.screen import errors, print_json, printable, screen
from dramaturg.stores.chronicle_files import DRAFT, accept, reject
from dramaturg.stores.errors import RoleError
from dramaturg.stores.role_files import CHRONICLE, Triple

NUMBERS = re.compile(r"(?P<first>[0-9]{1,6})(?:-(?P<last>[0-9]{1,6}))?")
ANSWERS = ("y", "n", "q")


def decide(known: Known, wish: str, numbers: str, *, as_json: bool) -> None:
    """Take triples of the draft over, or out of it.

    Raises:
        RoleError: there is no draft.
        ValueError: the numbers are none of the draft.
    """
    waiting = the_draft(known)
    chosen = [waiting[number - 1] for number in chosen_numbers(numbers, len(waiting))]
    new = carry_out(known, wish, chosen)
    left = known.drafted()
    if as_json:
        print_json({wish: known.rows(chosen), "new": len(new), "left": known.rows(left)})
        return
    screen.print(told(wish, len(chosen), len(new), len(left)), soft_wrap=True)
    show_draft(known, left)


def go_through(known: Known) -> None:
    """Ask about one triple after the other; each decision is kept at once.

    Raises:
        RoleError: there is no draft.
    """
    waiting = the_draft(known)
    for number, (one, said) in enumerate(zip(waiting, known.said(waiting), strict=True), start=1):
        screen.print(f"{number} of {len(waiting)}: {printable(said)}", style="bold", soft_wrap=True)
        marks = " · ".join(part for part in ("core" if one.core else "", one.kind, printable(one.source)) if part)
        screen.print(marks, style="dim", soft_wrap=True)
        answer = asked()
        if answer == "q":
            break
        carry_out(known, "accept" if answer == "y" else "reject", [one])
    screen.print(f"{len(known.triples())} in {CHRONICLE}, {len(known.drafted())} left in the draft.")


def asked() -> str:
    """What a person says to a triple."""
    while (
        said := str(typer.prompt("Take it over? y, n, or q to decide later", err=True)).strip().lower()
    ) not in ANSWERS:
        errors.print("Answer y to take it over, n to take it out of the draft, q to decide later.")
    return said


def carry_out(known: Known, wish: str, chosen: Sequence[Triple]) -> list[Triple]:
    """Take triples over, or out of the draft; return those that are new to the chronicle."""
    if wish == "accept":
        return accept(known.role.root, chosen)
    reject(known.role.root, chosen)
    return []


def the_draft(known: Known) -> list[Triple]:
    """Return what is drafted.

    Raises:
        RoleError: nothing is.
    """
    waiting = known.drafted()
    if not waiting:
        raise RoleError(f"There is no {DRAFT}: make one with `dramaturg chronicle {known.role.id} --draft`.")
    return waiting


def chosen_numbers(text: str, count: int) -> list[int]:
    """Read numbers such as 1,3-5, or all; each once, in order.

    Raises:
        ValueError: they are not of this form, or not of the draft.
    """
    if text.strip().lower() == "all":
        return list(range(1, count + 1))
    found = set[int]()
    for part in text.split(","):
        match = NUMBERS.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{part.strip()!r} is no number of a triple: give numbers as 1,3-5, or all.")
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if not 1 <= first <= last <= count:
            raise ValueError(f"{part.strip()} is not in the draft: its triples have the numbers 1 to {count}.")
        found.update(range(first, last + 1))
    return sorted(found)


def told(wish: str, chosen: int, new: int, left: int) -> str:
    """What was done, in a line."""
    rest = f"{left} left in the draft." if left else "nothing is left in the draft."
    if wish == "reject":
        return f"Took {chosen} out of the draft; {rest}"
    there = f" ({chosen - new} it held already)" if chosen > new else ""
    return f"Took {new} over into {CHRONICLE}{there}; {rest}"
