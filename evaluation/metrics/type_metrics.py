"""How predicted types such as ENFP or SLOAI agree with the right ones, letter by letter (AMADEUS Tables 4 and 5)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

Types = Sequence[str] | Mapping[str, str]
"""A type such as ENFP or SLOAI a role: in the same order everywhere, or by the roles' names."""


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
