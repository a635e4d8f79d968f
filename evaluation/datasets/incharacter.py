"""InCharacter's form: who is interviewed, by whom, and where votes and annotators place them; items are instruments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, FiniteFloat, RootModel, model_validator

from dramaturg.evaluation.datasets.dataset import Character, Dataset, Label
from dramaturg.evaluation.datasets.files import FileEntry, Source, read_whole

LOOKS = "characters.json or characters_labels.json, or the folder that holds them"
LICENCE = "InCharacter is under the MIT licence; its labels are shares of votes of the Personality Database"
PEOPLE, LABELS = "characters.json", "characters_labels.json"


def _number_or_x(score: Any) -> Any:
    if score == "X":
        return None
    if isinstance(score, int | float) and not isinstance(score, bool):
        return score
    raise ValueError("must be a number, or X where nobody could tell")


class PlacedReply(FileEntry):
    """A label as it is written: the score is X where nobody could tell."""

    score: Annotated[FiniteFloat | None, BeforeValidator(_number_or_x)]
    type: Literal["H", "L", "X"]

    @model_validator(mode="after")
    def _contested(self) -> Self:
        if self.score is None and self.type != "X":
            raise ValueError("has a score of X: its type must be X too")
        return self


class Person(FileEntry):
    """An entry of `characters.json`; its type is under one of two names, by file."""

    alias: list[str]
    experimenter: str
    labels: Mapping[str, str] = {}
    groundtruth: Mapping[str, str] = {}


class People(RootModel[dict[str, Person]]):
    """`characters.json`, by a name with the language at its end, such as `hutao-zh`."""


class Labels(RootModel[dict[str, dict[str, dict[str, dict[str, PlacedReply]]]]]):
    """`characters_labels.json`: by who judged, character, questionnaire and dimension."""


def is_incharacter(source: Source) -> bool:
    """Whether it is one of the files, or a folder with one of them by its name."""
    if any((source.path / name).is_file() for name in (PEOPLE, LABELS)):
        return True
    whole = source.content.whole if source.single else None
    return isinstance(whole, dict) and (_is_people(whole) or _is_labels(whole))


def read_incharacter(source: Source) -> Dataset:
    """Return the characters with what is known of each; there are no questions."""
    people, labels = _files(source)
    persons = read_whole(people, People).root if people else {}
    by_judge = read_whole(labels, Labels).root if labels else {}
    codes = dict.fromkeys([*persons, *(code for judged in by_judge.values() for code in judged)])
    characters = {code: _character(code, persons.get(code), by_judge) for code in codes}
    return Dataset(name=source.name, form="incharacter", questions=(), characters=characters, licence=LICENCE)


def _files(source: Source) -> tuple[Path | None, Path | None]:
    people, labels = source.path / PEOPLE, source.path / LABELS
    if people.is_file() or labels.is_file():
        return people if people.is_file() else None, labels if labels.is_file() else None
    content = source.content
    return (None, content.path) if _is_labels(content.whole) else (content.path, None)


def _is_people(whole: Mapping[str, Any]) -> bool:
    one = next(iter(whole.values()), None)
    return isinstance(one, dict) and {"alias", "experimenter"} <= set(one)


def _is_labels(whole: Mapping[str, Any]) -> bool:
    one: Any = whole
    for _ in range(4):
        one = next(iter(one.values()), None) if isinstance(one, dict) else None
    return isinstance(one, dict) and {"score", "type"} <= set(one)


def _character(code: str, person: Person | None, by_judge: Mapping[str, Mapping[str, Any]]) -> Character:
    labels = {judge: _labels(judged[code]) for judge, judged in by_judge.items() if code in judged}
    language = code.rpartition("-")[2] if "-" in code else ""
    if person is None:
        return Character(language=language, labels=labels)
    return Character(
        aliases=tuple(person.alias),
        language=language,
        experimenter=person.experimenter,
        types={**person.groundtruth, **person.labels},
        labels=labels,
    )


def _labels(found: Mapping[str, Mapping[str, PlacedReply]]) -> dict[str, dict[str, Label]]:
    return {
        questionnaire: {name: Label(score=one.score, type=one.type) for name, one in placed.items()}
        for questionnaire, placed in found.items()
    }
