"""`python -m studies.published`: the papers' tables of types (AMADEUS, Tables 4 and 5), computed again."""

from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict
from rich.table import Table

from dramaturg.cli.app import command_of, run_command
from dramaturg.cli.options import JsonOption
from dramaturg.cli.output import NUMBERS, print_json, require_extra, screen, table_of
from dramaturg.evaluation.metrics.type_metrics import majority_type, type_accuracy, type_f1, type_hits

TYPES = Path(__file__).parent / "gold" / "published_types.yaml"
ACCURACY_DIGITS, F1_DIGITS = 2, 4
"""To how many digits the paper prints: percent, and a number up to 1."""


class Printed(BaseModel):
    """What the paper prints for a method: percent, and a number up to 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    accuracy: float
    f1: float


class TypeTable(BaseModel):
    """A printed table of types, one a character and method."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: int
    types: str
    """Of which kind they are."""
    printed: dict[str, Printed]
    """By method."""
    characters: dict[str, dict[str, str | tuple[str, int]]]
    """By name the `truth`, and by method a type and how many letters of it the paper counts as wrong."""

    @property
    def truth(self) -> dict[str, str]:
        """The right type of each character."""
        return {name: str(row["truth"]) for name, row in self.characters.items()}

    def predicted(self, method: str) -> dict[str, str]:
        """The type that a method gives each character."""
        return {name: row[method][0] for name, row in self.characters.items()}

    def misses(self, method: str) -> dict[str, int]:
        """How many letters of each character's type the paper counts as wrong."""
        return {name: int(row[method][1]) for name, row in self.characters.items()}


class Recomputed(NamedTuple):
    """A method's row of a table: what is printed, and what the types give."""

    table: int
    types: str
    method: str
    printed_accuracy: float
    """In percent."""
    accuracy: float
    hits: int
    n_letters: int
    n_roles: int
    printed_f1: float
    f1: float
    floor_type: str
    """The type of the most frequent letters: what predicting it for all would give is the floor."""
    floor_accuracy: float
    floor_f1: float
    miscounted: dict[str, tuple[int, int]]
    """Characters whose wrong letters the paper counts otherwise: as printed, and as they are."""

    def errata(self) -> list[str]:
        """Say in sentences where the paper's own arithmetic is off; none where it is right."""
        where, found = f"Table {self.table}, {self.method}", []
        if off(self.accuracy, self.printed_accuracy, ACCURACY_DIGITS):
            found.append(
                f"{where}: the accuracy is {self.hits}/{self.n_letters} = {self.accuracy:.{ACCURACY_DIGITS}f} %, "
                f"not {self.printed_accuracy:.{ACCURACY_DIGITS}f} %."
            )
        if off(self.f1, self.printed_f1, F1_DIGITS):
            found.append(f"{where}: the mean F1 is {self.f1:.{F1_DIGITS}f}, not {self.printed_f1:.{F1_DIGITS}f}.")
        counts = self.miscounted.items()
        return found + [f"{where}, {name}: {real} letters are wrong, not {said}." for name, (said, real) in counts]


def published_tables() -> list[TypeTable]:
    """The types that AMADEUS prints in its Tables 4 and 5."""
    return [TypeTable.model_validate(one) for one in yaml.safe_load(TYPES.read_text(encoding="utf-8"))]


def recomputed() -> list[Recomputed]:
    """Compute accuracy and F1 of each method of AMADEUS's Tables 4 and 5 again, from the types that they print."""
    return [_again(table, method) for table in published_tables() for method in table.printed]


def off(value: float, printed: float, digits: int) -> bool:
    """Whether a number cannot have been printed like this, neither rounded up nor down at a half."""
    return abs(value - printed) > 0.5 * 10.0**-digits + 1e-9


def _again(table: TypeTable, method: str) -> Recomputed:
    truth, predicted, printed = table.truth, table.predicted(method), table.printed[method]
    hits = dict(zip(truth, type_hits(truth, predicted), strict=True))
    wrong = {name: len(truth[name]) - right for name, right in hits.items()}
    floor = majority_type(truth)
    everywhere = dict.fromkeys(truth, floor)
    return Recomputed(
        table=table.table,
        types=table.types,
        method=method,
        printed_accuracy=printed.accuracy,
        accuracy=100 * type_accuracy(truth, predicted),
        hits=sum(hits.values()),
        n_letters=sum(map(len, truth.values())),
        n_roles=len(truth),
        printed_f1=printed.f1,
        f1=type_f1(truth, predicted),
        floor_type=floor,
        floor_accuracy=100 * type_accuracy(truth, everywhere),
        floor_f1=type_f1(truth, everywhere),
        miscounted={name: (said, wrong[name]) for name, said in table.misses(method).items() if said != wrong[name]},
    )


def published(as_json: JsonOption = False) -> None:
    """Recompute the papers' tables of types (AMADEUS, Tables 4 and 5), and show where they differ."""
    require_extra("evaluate", *NUMBERS)
    found = recomputed()
    if as_json:
        print_json([{**one._asdict(), "errata": one.errata()} for one in found])
        return
    for number in dict.fromkeys(one.table for one in found):
        screen.print(recomputed_table([one for one in found if one.table == number]))
    for line in dict.fromkeys(line for one in found for line in one.errata()):
        screen.print(line, soft_wrap=True)


def recomputed_table(rows: list[Recomputed]) -> Table:
    """A table of the paper: as printed, and as it is."""
    first = rows[0]
    floor = f"floor: {first.floor_type} for all, {first.floor_accuracy:.2f} %, F1 {first.floor_f1:.4f}"
    title = f"AMADEUS, Table {first.table}: {first.types}, {first.n_roles} characters; {floor}"
    table = table_of(title, "method", "letters right", "accuracy", "printed", "mean F1", "printed")
    for one in rows:
        numbers = (f"{one.accuracy:.2f} %", f"{one.printed_accuracy:.2f} %", f"{one.f1:.4f}", f"{one.printed_f1:.4f}")
        table.add_row(one.method, f"{one.hits} of {one.n_letters}", *numbers)
    return table


def main() -> None:
    """Run the command."""
    run_command(command_of("published", published), "python -m studies.published")


if __name__ == "__main__":
    main()
