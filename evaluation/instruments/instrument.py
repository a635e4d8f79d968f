"""Instruments of personality: items with keys, their scale, and dimensions with letters, in one language."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Language = Literal["en", "zh", "ko"]
Key = Literal["high", "low"]
Letter = Annotated[str, Field(min_length=1, max_length=1)]
Text = Annotated[str, Field(min_length=1)]
PERCENT = (0.0, 100.0)


class InstrumentError(ValueError):
    """There is no such instrument, or not in this language."""


class Written(BaseModel):
    """Closed, since an unknown key is a slip, and frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Scale(Written):
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


class Dimension(Written):
    """What some of the items measure together; its score says how near someone is to the high pole."""

    name: Text
    """As in label files, such as "E/I" or "Openness"."""
    high: Letter
    """The letter of a type above the midpoint."""
    low: Letter
    description: Text
    """What the poles mean, for a judge."""


class Item(Written):
    """A statement that one may agree with, and the open question that an interview asks in its place."""

    id: Text
    dimension: str
    key: Key
    """The pole for which it speaks to agree; choices on an item that is keyed low are reversed."""
    statement: Text
    question: Text


class Instrument(Written):
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
