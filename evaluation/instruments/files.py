"""Instruments by name or from a user's own file: our YAML, or the JSON of InCharacter's questionnaires."""

import json
import re
from collections.abc import Mapping
from functools import cache as once
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dramaturg.evaluation.instruments import ipip
from dramaturg.evaluation.instruments.instrument import (
    Dimension,
    Instrument,
    InstrumentError,
    Item,
    Key,
    Language,
    Letter,
    Scale,
    Text,
    WrittenItem,
)
from dramaturg.models.environment import environment
from dramaturg.models.reading import cleaned
from dramaturg.stores.documents.reading import explain, parse_yaml, read_text
from dramaturg.stores.errors import RoleFileError, did_you_mean
from dramaturg.stores.files import read_bytes, sha256

FOUR_LETTERS = "four-letters"
NAMES = (ipip.NAME, FOUR_LETTERS)
SLOAN = {
    "Extraversion": ("S", "R"),
    "Neuroticism": ("L", "C"),
    "Conscientiousness": ("O", "U"),
    "Agreeableness": ("A", "E"),
    "Openness": ("I", "N"),
}
"""The letters of the Big Five, high and low, in the order of a SLOAN type."""
LETTERED = re.compile(r"([A-Z])/([A-Z])")
FILLER = "None"
Texts = Mapping[Language, Text]


class InventoryDimension(WrittenItem):
    """A dimension of our YAML: its description in each language."""

    name: Text
    high: Letter
    low: Letter
    description: Texts


class InventoryItem(WrittenItem):
    """An item of our YAML: its texts in each language."""

    id: Text
    dimension: Text
    key: Key
    statement: Texts
    question: Texts


class InventoryFile(WrittenItem):
    """An instrument as our YAML writes it, in one or more languages."""

    name: Text
    licence: Text
    source: Text
    scale: Scale
    scores: Literal["scale", "percent"]
    dimensions: tuple[InventoryDimension, ...] = Field(strict=False)
    items: tuple[InventoryItem, ...] = Field(strict=False)


class _Given(BaseModel):
    """Open: what else stands in a file of InCharacter's is for its own program."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


class _Question(_Given):
    dimension: Text
    category: Text


class _Prompts(_Given):
    dim_desc: dict[str, Text]


class _Questionnaire(_Given):
    name: Text
    licence: Text = "not stated in the file"
    range: tuple[int, int] = Field(strict=False)
    questions: dict[str, _Question] = Field(min_length=1)
    prompts: _Prompts


def instrument(name_or_path: str | Path, language: Language, *, cache: Path | None = None) -> Instrument:
    """An instrument in a language: one of `NAMES`, or a user's own file, `.json` as InCharacter's or our `.yaml`.

    Args:
        name_or_path: what is no name is the path of a file.
        language: of its statements, questions and descriptions.
        cache: where the package of "big-five" is kept; None: the one of the environment.

    Raises:
        InstrumentError: there is no such instrument, or not in this language.
        RoleFileError: the file cannot be used; the message names the item and the field.
        WeightsError: the package of "big-five" is not in the cache.
    """
    if language not in get_args(Language):
        raise InstrumentError(f"There are no instruments in {language!r}: use {', '.join(get_args(Language))}.")
    if name_or_path == ipip.NAME:
        return ipip.big_five(language, cache or environment().cache)
    if name_or_path == FOUR_LETTERS:
        return _translated(_four_letters(), language, "four_letters.yaml")
    path = Path(name_or_path).expanduser().resolve()
    match path.suffix.lower():
        case ".json":
            return read_questionnaire(path, language)
        case ".yaml" | ".yml":
            return read_inventory(path, language)
    near = did_you_mean(str(name_or_path), NAMES)
    raise InstrumentError(
        f"There is no instrument {str(name_or_path)!r}; there are {' and '.join(NAMES)}, or give a .json or .yaml{near}"
    )


def read_inventory(path: Path, language: Language) -> Instrument:
    """Read an instrument that is written in our YAML."""
    path = path.resolve()
    inventory = parse_yaml(read_bytes(path, path.parent), path, InventoryFile, path.parent)
    return _translated(inventory, language, path.name)


def read_questionnaire(path: Path, language: Language) -> Instrument:
    """Read a file of InCharacter's format, such as a user's own copy of BFI-44 or 16Personalities.

    The statement is `origin_<language>`, the question `rewritten_<language>`, the key `category`: "positive" or
    "negative", or the letter of a pole. As in InCharacter's program `category` decides, and not the list `reverse`,
    which says otherwise for an item of 16Personalities. The Big Five have the letters and the order of SLOAN; a
    dimension named like "E/I" has its two letters and its score in percent; any other has "H" and "L", as in label
    files. Items of the dimension "None" fill in and are not scored, so they are not asked. What a dimension means is
    told in the file's own words, `prompts.dim_desc`: one text, English in InCharacter's files, for all languages.
    """
    path = path.resolve()
    data = read_bytes(path, path.parent)
    given = _parsed(data, path)
    asked = {name: one for name, one in given.questions.items() if one.dimension != FILLER}
    names = list(dict.fromkeys(one.dimension for one in asked.values()))
    names = list(SLOAN) if set(names) == set(SLOAN) else names
    return _checked(
        path.name,
        name=given.name,
        language=language,
        licence=given.licence,
        source=f"{path.name}, SHA-256 {sha256(data)}",
        scale={"low": given.range[0], "high": given.range[1]},
        scores="percent" if names and all(map(LETTERED.fullmatch, names)) else "scale",
        dimensions=[_dimension(name, names, given.prompts, path.name) for name in names],
        items=[_item(name, one, language, path.name) for name, one in asked.items()],
    )


@once
def _four_letters() -> InventoryFile:
    data = (files("dramaturg.evaluation.instruments") / "inventories" / "four_letters.yaml").read_bytes()
    folder = Path("inventories")
    return parse_yaml(data, folder / "four_letters.yaml", InventoryFile, folder)


def _translated(inventory: InventoryFile, language: Language, file: str) -> Instrument:
    def told(texts: Texts, what: str) -> str:
        if language not in texts:
            raise RoleFileError(f"{file}: {what} is not there in {language!r}: add it, or use another language.")
        return texts[language]

    dimensions = [
        {**dict(one), "description": told(one.description, f"the `description` of dimension {one.name!r}")}
        for one in inventory.dimensions
    ]
    items = [
        {**dict(one), **{field: told(getattr(one, field), f"the `{field}` of item {one.id}") for field in FIELDS}}
        for one in inventory.items
    ]
    return _checked(file, **{**dict(inventory), "language": language, "dimensions": dimensions, "items": items})


FIELDS = ("statement", "question")


def _parsed(data: bytes, path: Path) -> _Questionnaire:
    text = read_text(data, path, path.parent)
    try:
        value = cleaned(json.loads(text, object_pairs_hook=_without_doubles))
        return _Questionnaire.model_validate(value)
    except json.JSONDecodeError as error:
        raise RoleFileError(f"{path.name}, line {error.lineno}: no JSON, {error.msg}.") from error
    except ValidationError as error:
        raise RoleFileError(f"{path.name}: {explain(error, _Questionnaire)}.") from error
    except ValueError as error:
        raise RoleFileError(f"{path.name}: {error}.") from error
    except RecursionError as error:
        raise RoleFileError(f"{path.name}: the brackets are too deep: give a questionnaire.") from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with two equal keys: JSON keeps the last without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is there twice: remove one")
    return found


def _dimension(name: str, names: list[str], prompts: _Prompts, file: str) -> Dimension:
    if name not in prompts.dim_desc:
        raise RoleFileError(f"{file}: `prompts.dim_desc` has no text for the dimension {name!r}: add it.")
    lettered = LETTERED.fullmatch(name)
    if lettered:
        high, low = lettered.groups()
    else:
        high, low = SLOAN[name] if set(names) == set(SLOAN) else ("H", "L")
    return Dimension(name=name, high=high, low=low, description=prompts.dim_desc[name])


def _item(name: str, given: _Question, language: Language, file: str) -> Item:
    poles: dict[str, Key] = {"positive": "high", "negative": "low"}
    lettered = LETTERED.fullmatch(given.dimension)
    if lettered:
        poles |= {lettered[1]: "high", lettered[2]: "low"}
    if given.category not in poles:
        raise RoleFileError(f"{file}: item {name}: `category` {given.category!r} is none of {', '.join(poles)}.")
    texts = {field: _text(name, given, f"{field}_{language}", file) for field in ("origin", "rewritten")}
    return Item(
        id=name,
        dimension=given.dimension,
        key=poles[given.category],
        statement=texts["origin"],
        question=texts["rewritten"],
    )


def _text(name: str, given: _Question, field: str, file: str) -> str:
    text = (given.model_extra or {}).get(field)
    if not isinstance(text, str) or not text.strip():
        raise RoleFileError(f"{file}: item {name}: `{field}` has no text: add it, or use another language.")
    return text.strip()


def _checked(file: str, **fields: object) -> Instrument:
    try:
        return Instrument.model_validate(fields)
    except ValidationError as error:
        raise RoleFileError(f"{file}: {explain(error, Instrument)}.") from error
