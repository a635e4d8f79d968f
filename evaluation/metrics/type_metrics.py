"""How predicted types such as ENFP or SLOAI agree with the right ones, letter by letter (AMADEUS Tables 4 and 5)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from statistics import fmean
from typing import NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict

Types = Sequence[str] | Mapping[str, str]
"""A type such as ENFP or SLOAI a role: in the same order everywhere, or by the roles' names."""
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


def type_accuracy(truth: Types, predicted: Types) -> float:
    """Letters that match by all letters of all roles, as in AMADEUS Tables 4 and 5."""
    pairs = _types(truth, predicted)
    return sum(map(_matches, pairs)) / sum(len(right) for right, _ in pairs)


def type_hits(truth: Types, predicted: Types) -> list[int]:
    """How many letters match, role by role, in the order of `truth`."""
    return [_matches(one) for one in _types(truth, predicted)]


def type_f1(truth: Types, predicted: Types) -> float:
    """The macro-averaged F1 of each position of the type, and of these the mean, as in AMADEUS Tables 4 and 5.

    A letter that is never predicted, or never right, has an F1 of 0.
    """
    from sklearn.metrics import f1_score

    right, said = (list(zip(*side, strict=True)) for side in zip(*_types(truth, predicted), strict=True))
    positions = zip(right, said, strict=True)
    return fmean(float(f1_score(one, other, average="macro", zero_division=0.0)) for one, other in positions)


def majority_type(truth: Types) -> str:
    """The type of the most frequent letters: predicted for every role, it is the floor of the two metrics above.

    Of letters that are as frequent, the first of the alphabet.
    """
    letters = zip(*(one for one, _ in _types(truth, truth)), strict=True)
    return "".join(most_frequent(sorted(one)) for one in letters)


def _types(truth: Types, predicted: Types) -> list[tuple[str, str]]:
    """Pair up the types of each role."""
    if isinstance(truth, Mapping) and isinstance(predicted, Mapping):
        if truth.keys() != predicted.keys():
            raise ValueError(f"Give both types for each role: {sorted(truth.keys() ^ predicted.keys())} have one only.")
        predicted = [predicted[role] for role in truth]
        truth = list(truth.values())
    if any(isinstance(one, str | Mapping) for one in (truth, predicted)):
        raise ValueError("Give the types of all roles as two lists, or as two mappings by role.")
    if len(truth) != len(predicted) or len(truth) == 0:
        raise ValueError(f"Give as many types as are right, and one at least: {len(truth)} and {len(predicted)}.")
    pairs = [(right, said) for right, said in zip(truth, predicted, strict=True)]
    if len({len(one) for pair in pairs for one in pair}) > 1 or not all(map(all, pairs)):
        raise ValueError("Give types of one length, such as ENFP: each has a letter for each position.")
    return pairs


def _matches(pair: tuple[str, str]) -> int:
    return sum(right == said for right, said in zip(*pair, strict=True))


def most_frequent(values: Sequence[str]) -> str:
    """The most frequent value; of several, the one that comes first."""
    return Counter(values).most_common(1)[0][0]


def published_tables() -> list[TypeTable]:
    """The types that AMADEUS prints in its Tables 4 and 5."""
    text = files(__package__).joinpath("published_types.yaml").read_text(encoding="utf-8")
    return [TypeTable.model_validate(one) for one in yaml.safe_load(text)]


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
