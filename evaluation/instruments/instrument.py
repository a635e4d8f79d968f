"""Instruments of personality: items with keys, their scale, and dimensions with letters, in one language."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Annotated, Literal, NamedTuple, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

Language = Literal["en", "zh", "ko"]
Key = Literal["high", "low"]
Letter = Annotated[str, Field(min_length=1, max_length=1)]
Text = Annotated[str, Field(min_length=1)]
PERCENT = (0.0, 100.0)


class InstrumentError(ValueError):
    """There is no such instrument, or not in this language."""


class WrittenItem(BaseModel):
    """Closed, since an unknown key is a slip, and frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Scale(WrittenItem):
    """The choices of an item: whole numbers from `low`, full disagreement, to `high`, full agreement."""

    low: int
    high: int

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.low < self.high:
            return self
        raise ValueError("must rise: `low` is less than `high`")

    @property
    def midpoint(self) -> float:
        """The choice between agreement and disagreement."""
        return (self.low + self.high) / 2

    def reversed(self, choice: float) -> float:
        """The choice that agrees as much as this one disagrees: low + high − choice."""
        return self.low + self.high - choice


class Dimension(WrittenItem):
    """What some of the items measure together; its score says how near someone is to the high pole."""

    name: Text
    """As in label files, such as "E/I" or "Openness"."""
    high: Letter
    """The letter of a type above the midpoint."""
    low: Letter
    description: Text
    """What the poles mean, for a judge."""


class Item(WrittenItem):
    """A statement that one may agree with, and the open question that an interview asks in its place."""

    id: Text
    dimension: str
    key: Key
    """The pole for which it speaks to agree; choices on an item that is keyed low are reversed."""
    statement: Text
    question: Text


class Instrument(WrittenItem):
    """An inventory in one language.

    What is meant by a score above or below the midpoint, and by one at it, is for `keyed_scoring` to say.
    """

    name: Text
    language: Language
    licence: Text
    """SPDX identifier, or in words."""
    source: Text
    """Where the items are from, and in which version; reports state it."""
    scale: Scale
    scores: Literal["scale", "percent"]
    """What the score of a dimension is: a mean on the scale, or that mean as a percentage of the high pole."""
    dimensions: tuple[Dimension, ...] = Field(min_length=1, strict=False)
    """In the order of a type's letters."""
    items: tuple[Item, ...] = Field(min_length=1, strict=False)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        problem = next(filter(None, (self._doubled(), self._without_items(), self._astray())), None)
        if problem:
            raise ValueError(problem)
        return self

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest score that a dimension can have."""
        return PERCENT if self.scores == "percent" else (self.scale.low, self.scale.high)

    @property
    def midpoint(self) -> float:
        """The score between the poles."""
        return sum(self.range) / 2

    def items_of(self, dimension: str) -> list[Item]:
        """The items of a dimension, in order; none if there is no such dimension."""
        return [item for item in self.items if item.dimension == dimension]

    def _doubled(self) -> str:
        for kind, names in (
            ("item", [item.id for item in self.items]),
            ("dimension", [one.name for one in self.dimensions]),
        ):
            double = next((name for name in names if names.count(name) > 1), None)
            if double is not None:
                return f"there are two {kind}s {double!r}: give each a name of its own"
        same = next((one.name for one in self.dimensions if one.high == one.low), None)
        return f"dimension {same!r} has one letter for both poles: give it two" if same is not None else ""

    def _without_items(self) -> str:
        empty = next((one.name for one in self.dimensions if not self.items_of(one.name)), None)
        return f"dimension {empty!r} has no items: add some, or remove it" if empty is not None else ""

    def _astray(self) -> str:
        names = [one.name for one in self.dimensions]
        for item in self.items:
            if item.dimension not in names:
                return f"item {item.id}: there is no `dimension` {item.dimension!r}; there are {', '.join(names)}"
        return ""


Choice: TypeAlias = float | Literal["x"] | None
"""A choice of the scale; "x" where the role refused to answer; None where the judge gave nothing that can be used."""
RefusalRule = Literal["leave_out", "midpoint"]
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
    missing: RefusalRule = "leave_out",
    meaning: Meaning = "agreement",
) -> dict[str, DimensionScore]:
    """Score the choices on an instrument's items, each dimension by itself.

    Args:
        instrument: keys and scale.
        choices: by the id of an item; an item may be absent.
        missing: what becomes of a refusal "x": it is left out, or taken for the midpoint as InCharacter does.
        meaning: a choice is agreement with the item's statement, so that low keys are reversed, or it is placed
            on the dimension already (InCharacter's d-OC), so that none are.
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
    """The letters of a type in the instrument's order, such as "ESTP"; None where one of them is not known."""
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
    instrument: Instrument, items: Sequence[Item], choices: Mapping[str, Choice], missing: RefusalRule, meaning: Meaning
) -> DimensionScore:
    scale, given = instrument.scale, [choices.get(item.id) for item in items]
    found = [_value(item, choice, scale, missing, meaning) for item, choice in zip(items, given, strict=True)]
    values = [value for value in found if value is not None]
    mean = fsum(values) / len(values) if values else None
    score = percent(scale, mean) if mean is not None and instrument.scores == "percent" else mean
    return DimensionScore(score, len(values), given.count("x"), given.count(None))


def _value(item: Item, choice: Choice, scale: Scale, missing: RefusalRule, meaning: Meaning) -> float | None:
    """What an item adds to the mean; None: nothing."""
    if choice is None or choice == "x":
        return scale.midpoint if choice == "x" and missing == "midpoint" else None
    return scale.reversed(choice) if item.key == "low" and meaning == "agreement" else choice


def _letter(score: float | None, midpoint: float, high: str, low: str, tie: Tie) -> str | None:
    if score is None:
        return None
    return high if score > midpoint or (score == midpoint and tie == "high") else low
