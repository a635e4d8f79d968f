"""`dramaturg published`: what the papers' own tables come to when they are computed again."""

from rich.table import Table

from dramaturg.cli.options import JsonOption
from dramaturg.cli.screen import print_json, screen
from dramaturg.evaluation.metrics.type_metrics import Recomputed, recomputed


def published(as_json: JsonOption = False) -> None:
    """Compute the papers' tables of types again (AMADEUS, Tables 4 and 5), and say where they are off."""
    found = recomputed()
    if as_json:
        print_json([{**one._asdict(), "errata": one.errata()} for one in found])
        return
    for number in dict.fromkeys(one.table for one in found):
        screen.print(table_of([one for one in found if one.table == number]))
    for line in dict.fromkeys(line for one in found for line in one.errata()):
        screen.print(line, soft_wrap=True)


def table_of(rows: list[Recomputed]) -> Table:
    """A table of the paper: as printed, and as it is."""
    first = rows[0]
    floor = f"floor: {first.floor_type} for all, {first.floor_accuracy:.2f} %, F1 {first.floor_f1:.4f}"
    title = f"AMADEUS, Table {first.table}: {first.types}, {first.n_roles} characters; {floor}"
    table = Table(
        "method", "letters right", "accuracy", "printed", "mean F1", "printed", title=title, title_justify="left"
    )
    for one in rows:
        numbers = (f"{one.accuracy:.2f} %", f"{one.printed_accuracy:.2f} %", f"{one.f1:.4f}", f"{one.printed_f1:.4f}")
        table.add_row(one.method, f"{one.hits} of {one.n_letters}", *numbers)
    return table
