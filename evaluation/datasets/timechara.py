"""TimeChara's form (Ahn et al. 2024): what a character is asked at a point of its story, and what it can know then."""

from typing import Literal

from dramaturg.evaluation.datasets.dataset import Dataset, DatasetQuestion
from dramaturg.evaluation.datasets.files import FileEntry, Filled, Located, Source, Tally, Text

LOOKS = "validation or test as .json or .jsonl, entries with `character`, `character_period` and `temporal_label`"
LICENCE = (
    "TimeChara is under the MIT licence, for research that is not commercial; its labels quote novels under copyright"
)
NOTHING = "-"
"""A label that an entry does not have."""


class PointQuestion(FileEntry):
    """An entry; `character_period` is a year or volume and, after a slash, a day: without one, the end of it."""

    series: Filled
    character: Filled
    character_period: Filled
    question: Text
    data_type: Literal["future", "past-absence", "past-presence", "past-only"]
    temporal_label: Filled
    spatial_label: Text = NOTHING
    gold_response: Text = ""


def is_timechara(source: Source) -> bool:
    """Whether it is a list of questions with a point of the story."""
    return source.content.first.has("character", "character_period", "temporal_label")


def read_timechara(source: Source) -> Dataset:
    """Return the questions with where the story stands; what comes later is out of scope.

    What a judge is shown is a label of the question: `fact`, which says what the character can know then, and where it
    was. Each of the four kinds of question is an attribute.
    """
    tally = Tally()
    for record in source.content.records:
        tally.add(_question(record), record.where)
    return tally.dataset(source.name, "timechara", LICENCE, {})


def _question(record: Located) -> DatasetQuestion:
    one = record.read_as(PointQuestion)
    return DatasetQuestion(
        id=str(record.number),
        text=one.question.strip(),
        role=one.character,
        answer=one.gold_response.strip(),
        attribute=one.data_type,
        scope="out" if one.data_type == "future" else "in",
        context=_point(one),
        labels={
            "fact": "\n".join(label for label in (one.temporal_label, one.spatial_label) if label != NOTHING),
            "series": one.series,
        },
    )


def _point(one: PointQuestion) -> str:
    """Where the story stands, as the one who asks says it; the authors say the same in a system message."""
    part, _, day = (text.strip() for text in one.character_period.partition("/"))
    volume = f"volume {part}" if part.isdecimal() else f"the {part.replace('-', ' ')}"
    series = one.series.replace("_", " ")
    return f"It is {day or 'the end'}, in {volume} of {series}. Nothing of what comes later has happened yet."
