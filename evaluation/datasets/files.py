"""Reading the files of datasets: JSON and JSON lines told apart, and each value with where it stands."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from dramaturg.evaluation.datasets.dataset import Character, Dataset, DatasetQuestion, Form
from dramaturg.models.reading import parse_json
from dramaturg.stores.documents.reading import explain, read_text
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import LARGEST

LONGEST = 100_000  # characters of a question, an answer or a line of a dialogue
SHOWN = 5  # files of a folder that an error names
JSON = (".json", ".jsonl")
TEXTS = (".md", ".txt")
NO_QUESTION = "an entry without a question"
NO_PERSONA = {"readme", "license", "licence", "notice", "source", "copying"}
"""Texts that lie beside data and are about them."""
M = TypeVar("M", bound=BaseModel)


def _filled(text: str) -> str:
    if text.strip():
        return text
    raise ValueError("must not be blank")


Text = Annotated[str, Field(max_length=LONGEST)]
Filled = Annotated[Text, AfterValidator(_filled)]


class FileEntry(BaseModel):
    """An entry of a file; keys that no reader needs are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Located(NamedTuple):
    """A value of a file, and where it stands: `where` for people, `number` from 1."""

    where: str
    number: int
    value: Any

    def has(self, *keys: str) -> bool:
        """Whether it is an object with these keys."""
        return isinstance(self.value, dict) and set(keys) <= set(self.value)

    def read_as(self, model: type[M]) -> M:
        """Return it as a model."""
        try:
            return model.model_validate(self.value)
        except ValidationError as error:
            raise RoleFileError(f"{self.where}: {explain(error, model)}.") from error


class Content(NamedTuple):
    """The entries of a file; `whole` is its value, or None if it holds JSON lines."""

    path: Path
    whole: Any
    records: tuple[Located, ...]

    @property
    def first(self) -> Located:
        """The entry by which a form is recognised."""
        return self.records[0]


class Source:
    """The file or folder that a user names as a dataset; no file of it has more bytes than `largest`, or `LARGEST`."""

    def __init__(self, path: Path, *, largest: int | None = None) -> None:
        if not path.exists():
            raise RoleFileError(f"There is no {path}: give the file or the folder of a dataset.")
        self.path = path
        self.largest = largest
        self.folder = path.is_dir()
        self.name = path.resolve().name if self.folder else path.stem

    @property
    def single(self) -> bool:
        """Whether it is a file, or a folder with only one that has JSON."""
        return not self.folder or len(listed(self.path, JSON)) == 1

    @cached_property
    def content(self) -> Content:
        """The file, or the only one with JSON of the folder."""
        return read_content(self._only() if self.folder else self.path, self.largest)

    def _only(self) -> Path:
        files = listed(self.path, JSON)
        if len(files) == 1:
            return files[0]
        if files:
            names = ", ".join(one.name for one in files[:SHOWN]) + (", …" if len(files) > SHOWN else "")
            raise RoleFileError(f"{self.name} holds {len(files)} files with JSON: give one of them ({names}).")
        raise RoleFileError(f"{self.name} holds no .json or .jsonl file: give the file or the folder of a dataset.")


class Tally:
    """Questions as they are found, and what was left out by its reason."""

    def __init__(self) -> None:
        self.questions: list[DatasetQuestion] = []
        self.left_out: Counter[str] = Counter()
        self._ids: set[str] = set()

    def add(self, question: DatasetQuestion, where: str) -> None:
        """Keep a question, or leave it out where nothing is asked."""
        if not question.text:
            self.leave_out(NO_QUESTION)
            return
        if question.id in self._ids:
            raise RoleFileError(f"{where}: the id {question.id!r} is there twice: give each entry its own.")
        self._ids.add(question.id)
        self.questions.append(question)

    def leave_out(self, reason: str) -> None:
        """Count an entry that holds nothing to ask."""
        self.left_out[reason] += 1

    def dataset(self, name: str, form: Form, licence: str, characters: Mapping[str, Character]) -> Dataset:
        """Return what was found."""
        if not self.questions:
            why = "; ".join(f"{reason}, {number} times" for reason, number in self.left_out.items())
            raise RoleFileError(f"{name} holds nothing to ask ({why or 'no entries'}): give another file.")
        found, left_out = tuple(self.questions), dict(self.left_out)
        return Dataset(name=name, form=form, questions=found, characters=characters, licence=licence, left_out=left_out)


def listed(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """Return the files of a folder with these suffixes, by name; hidden ones are left out."""
    found = (one for one in folder.iterdir() if one.suffix.lower() in suffixes and not one.name.startswith("."))
    return sorted((one for one in found if one.is_file()), key=lambda one: one.name)


def documents(folder: Path) -> list[Path]:
    """Return the texts of a folder that may be a persona, by name."""
    return [one for one in listed(folder, TEXTS) if one.stem.casefold() not in NO_PERSONA]


def text_of(path: Path, largest: int | None = None) -> str:
    """Return the text of a file; links may lead anywhere, as in the caches that data are downloaded to."""
    most = LARGEST if largest is None else largest
    try:
        if path.stat().st_size > most:
            raise RoleFileError(f"{named(path)} has more than {most:,} bytes: split it into several files.")
        text = read_text(path.read_bytes(), path, path.parent)
    except OSError as error:
        raise RoleFileError(f"{named(path)} cannot be read ({error.strerror}): check path and permission.") from error
    if not text.strip():
        raise RoleFileError(f"{named(path)} is empty: give a file that holds something.")
    return text


def read_content(path: Path, largest: int | None = None) -> Content:
    """Return the entries of a file: those of a list, of JSON lines, or the one object that it is.

    Some datasets call a list of JSON `.jsonl`; what the file holds decides.
    """
    text = text_of(path, largest)
    if _has_lines(text, path):
        return Content(path, None, tuple(_line_records(text, path)))
    whole = _value(text, path)
    items = whole if isinstance(whole, list) else [whole]
    if not items:
        raise RoleFileError(f"{named(path)} is an empty list: give a file that holds something.")
    where = f"{named(path)}, entry" if isinstance(whole, list) else named(path)
    return Content(path, whole, tuple(_numbered(items, where, isinstance(whole, list))))


def read_whole(path: Path, model: type[M]) -> M:
    """Return a file that is one JSON value, as a model."""
    return Located(named(path), 1, _value(text_of(path), path, 1)).read_as(model)


def named(path: Path) -> str:
    """Return how errors name a file: with its folder."""
    return path.relative_to(path.parent.parent).as_posix()


def _has_lines(text: str, path: Path) -> bool:
    """Whether it is JSON lines; one line of a file that has others is an object, or its name says so."""
    lines = text.strip().split("\n")
    if not lines[0].lstrip().startswith("{"):
        return False
    return path.suffix.lower() == ".jsonl" or (len(lines) > 1 and _is_object(lines[0]))


def _is_object(line: str) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except ValueError:
        return False


def _line_records(text: str, path: Path) -> Iterable[Located]:
    for number, line in enumerate(text.split("\n"), start=1):  # no splitlines: texts may hold other separators
        if line.strip():
            yield Located(f"{named(path)}, line {number}", number, _value(line, path, number))


def _numbered(items: list[Any], where: str, many: bool) -> Iterable[Located]:
    for number, item in enumerate(items, start=1):
        yield Located(f"{where} {number}" if many else where, number, item)


def _value(text: str, path: Path, line: int | None = None) -> Any:
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        before = text[: len(text) - len(text.lstrip())].count("\n")
        at = f"line {(line or 1) + before + error.lineno - 1}"
        raise RoleFileError(f"{named(path)}, {at}: no JSON, {error.msg} at column {error.colno}: mend it.") from error
    except ValueError as error:
        at = f", line {line}" if line else ""
        raise RoleFileError(f"{named(path)}{at}: no JSON that can be used: {str(error).rstrip('.')}.") from error
