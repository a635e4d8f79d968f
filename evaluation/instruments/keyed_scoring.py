"""Scores by keys: from choices on items to scores of dimensions, and from those to the letters of a type.

InCharacter's rules, each by its name: an item that is keyed low counts as low + high − choice, a dimension's score is
the mean of its items, and a score that is exactly at the midpoint is of the low type (`tie="low"`). One rule of its
code is not the default here: it takes a refusal for the midpoint (`missing="midpoint"`), while we leave it out and
count it. A judgement that failed is never given a value.
"""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Literal, NamedTuple, TypeAlias

from dramaturg.evaluation.instruments.instrument import Instrument, Item, Scale

Choice: TypeAlias = float | Literal["x"] | None
"""A choice of the scale; "x" where the role refused to answer; None where the judge gave nothing that can be used."""
Missing = Literal["leave_out", "midpoint"]
Tie = Literal["low", "high"]
Meaning = Literal["agreement", "dimension"]


class DimensionScore(NamedTuple):
    """The score of a dimension, and on how many of its items it rests."""

    score: float | None
    """In the instrument's `range`; None where nothing counts."""
    counted: int
    """Items that went into it, with the refusals that were taken for the midpoint."""
    refused: int
    absent: int
    """Items without a choice, or without one that could be used."""


def dimension_scores(
    instrument: Instrument,
    choices: Mapping[str, Choice],
    *,
    missing: Missing = "leave_out",
    meaning: Meaning = "agreement",
) -> dict[str, DimensionScore]:
    """Score the choices on an instrument's items, each dimension by itself.

    Args:
        instrument: keys and scale.
        choices: by the id of an item; an item may be absent.
        missing: what becomes of a refusal "x": it is left out, or taken for the midpoint as InCharacter does.
        meaning: a choice is agreement with the item's statement, so that low keys are reversed, or it is placed
            on the dimension already (InCharacter's d-OC), so that none are.

    Raises:
        ValueError: a choice is off the scale, or there is no such item.
    """
    _refuse_wrong(instrument, choices)
    return {
        one.name: _score(instrument, instrument.items_of(one.name), choices, missing, meaning)
        for one in instrument.dimensions
    }


def percent(scale: Scale, score: float) -> float:
    """The part of the way from the low end of a scale to the high one, from 0 to 100."""
    return (score - scale.low) / (scale.high - scale.low) * 100


def type_letters(
    instrument: Instrument, scores: Mapping[str, float | None], *, tie: Tie = "low"
) -> dict[str, str | None]:
    """The letter of each dimension: the high one above the midpoint, else the low one; None without a score.

    Args:
        instrument: its dimensions' letters and its midpoint.
        scores: by the names of dimensions, in the instrument's `range`; also of a judge, or a label.
        tie: the pole of a score exactly at the midpoint. InCharacter's code takes the low one, no paper says.

    Raises:
        ValueError: a score is out of range, or there is no such dimension.
    """
    low, high = instrument.range
    known = [one.name for one in instrument.dimensions]
    for name, score in scores.items():
        if name not in known:
            raise ValueError(f"There is no dimension {name!r} in {instrument.name}; there are: {', '.join(known)}.")
        if score is not None and not low <= score <= high:
            raise ValueError(f"The score {score} of {name} is not from {low:g} to {high:g}: use the instrument's own.")
    return {
        one.name: _letter(scores.get(one.name), instrument.midpoint, one.high, one.low, tie)
        for one in instrument.dimensions
    }


def type_string(instrument: Instrument, scores: Mapping[str, float | None], *, tie: Tie = "low") -> str | None:
    """The letters of a type in the instrument's order, such as "ESTP"; None where one of them is not known.

    Raises:
        ValueError: as for `type_letters`.
    """
    letters = list(type_letters(instrument, scores, tie=tie).values())
    return None if None in letters else "".join(filter(None, letters))


def _refuse_wrong(instrument: Instrument, choices: Mapping[str, Choice]) -> None:
    known = {item.id for item in instrument.items}
    low, high = instrument.scale.low, instrument.scale.high
    for name, choice in choices.items():
        if name not in known:
            raise ValueError(f"There is no item {name!r} in {instrument.name}: use the ids of its items.")
        if choice in ("x", None):
            continue
        if isinstance(choice, bool | str) or choice is None or not low <= choice <= high:
            raise ValueError(f'The choice {choice!r} of item {name} is not from {low} to {high}, "x" or None.')


def _score(
    instrument: Instrument, items: Sequence[Item], choices: Mapping[str, Choice], missing: Missing, meaning: Meaning
) -> DimensionScore:
    scale, given = instrument.scale, [choices.get(item.id) for item in items]
    found = [_value(item, choice, scale, missing, meaning) for item, choice in zip(items, given, strict=True)]
    values = [value for value in found if value is not None]
    mean = fsum(values) / len(values) if values else None
    score = percent(scale, mean) if mean is not None and instrument.scores == "percent" else mean
    return DimensionScore(score, len(values), given.count("x"), given.count(None))


def _value(item: Item, choice: Choice, scale: Scale, missing: Missing, meaning: Meaning) -> float | None:
    """What an item adds to the mean; None: nothing."""
    if choice is None or choice == "x":
        return scale.midpoint if choice == "x" and missing == "midpoint" else None
    return scale.reversed(choice) if item.key == "low" and meaning == "agreement" else choice


def _letter(score: float | None, midpoint: float, high: str, low: str, tie: Tie) -> str | None:
    if score is None:
        return None
    return high if score > midpoint or (score == midpoint and tie == "high") else low
