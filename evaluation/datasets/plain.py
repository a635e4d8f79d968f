"""Questions line by line: plain ones, CharacterRAG's pairs with personas (AMADEUS, Dataset), and RoleBench's."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import RootModel, field_validator

from dramaturg.evaluation.datasets.dataset import ATTRIBUTES, Character, Dataset, DatasetQuestion
from dramaturg.evaluation.datasets.files import (
    JSON,
    FileEntry,
    Filled,
    Located,
    Source,
    Tally,
    Text,
    documents,
    listed,
    named,
    read_content,
    text_of,
)
from dramaturg.stores.errors import RoleFileError

PLAIN_LOOKS = "JSON lines, or a list, of objects with `question`"
PAIRS_LOOK = "a folder with a persona (.md, .txt) and a .json or .jsonl file of pairs, or a folder of such folders"
OTHERS = ("generated", "reply")  # keys that RoleBench and Character-LLM have beside `question`
PAIRS_LICENCE = "CharacterRAG was written from Namuwiki, whose licence holds for it; a set of your own is yours"


class PlainLine(FileEntry, extra="allow"):
    """A line, with the keys of a role's own `questions.jsonl` and some more; no value is as good as no key."""

    question: Filled
    id: str | int | None = None
    role: Text | None = None
    answer: Text | None = None
    attribute: Text | None = None
    scope: Literal["in", "out", "", None] = None
    user_role: Text | None = None
    context: Text | None = None


class TextPair(FileEntry, extra="allow"):
    """A pair of CharacterRAG: what is asked, what is right, and of which of the six attributes."""

    question: Filled
    answer: Filled
    attribute: str
    id: str | int | None = None

    @field_validator("attribute")
    @classmethod
    def _one_of_six(cls, attribute: str) -> str:
        name = re.sub(r"[^a-z]+", "_", attribute.casefold().replace("&", "and")).strip("_")
        if name in ATTRIBUTES:
            return name
        raise ValueError(f"must be one of {', '.join(ATTRIBUTES)}")


ROLEBENCH_LOOKS = "JSON lines with `role`, `question` and `generated`, one file of them at a time"
ROLEBENCH_LICENCE = (
    "RoleBench is under Apache-2.0 in its authors' release on the hub, and names no licence in its repository; "
    "its answers were written by GPT models"
)
DESCRIPTIONS = "desc.json"
"""In `profiles-eng` and `profiles-zh` of the release on the hub: by role, who it is."""


class RoleBenchLine(FileEntry):
    """A line; `type` is a text or a list of them, one an answer, by file."""

    role: Filled
    question: Text
    generated: list[Text]
    type: str | list[str] = ""


class Descriptions(RootModel[dict[str, Text]]):
    """`desc.json` of RoleBench."""


def is_plain(source: Source) -> bool:
    """Whether it has questions under that name."""
    return source.content.first.has("question")


def read_plain(source: Source) -> Dataset:
    """Return plain questions; of a line's other keys, each is a label."""
    tally = Tally()
    for record in source.content.records:
        line = record.read_as(PlainLine)
        about = line.model_dump(exclude={"question", "id", *(line.model_extra or {})}, exclude_none=True)
        question = DatasetQuestion(id=_id(line.id, record), text=line.question, labels=_labels(line), **about)
        tally.add(question, record.where)
    return tally.dataset(source.name, "jsonl", "", {})


def is_pairs(source: Source) -> bool:
    """Whether it is a persona with pairs, or a folder of such folders."""
    if not source.folder:
        return False
    return _is_character(source.path) or any(_is_character(folder) for folder in _folders(source.path))


def read_pairs(source: Source) -> Dataset:
    """Return the pairs and personas; a folder's name is the role, that of a single one is left open.

    The paper does not say in what files the dataset comes: this layout is ours. Where a text beside plain questions is
    no persona, give the file of questions in place of the folder.
    """
    if not source.folder:
        raise RoleFileError(f"{source.name} is a file: give {PAIRS_LOOK}.")
    found = {"": source.path} if _is_character(source.path) else {one.name: one for one in _folders(source.path)}
    tally, characters = Tally(), {}
    for role, folder in found.items():
        if not (personas := documents(folder)):
            raise RoleFileError(f"{named(folder)} has no persona: put it there as a .md or .txt file.")
        characters[role] = Character(persona="\n\n".join(map(text_of, personas)))
        if len(files := listed(folder, JSON)) != 1:
            raise RoleFileError(f"{named(folder)} has {len(files)} files with JSON: it needs one, with the pairs.")
        for record in read_content(files[0]).records:
            pair = record.read_as(TextPair)
            name = _id(pair.id, record)
            about = pair.model_dump(include={"answer", "attribute"})
            question = DatasetQuestion(
                id=f"{role}-{name}" if role else name,
                role=role,
                text=pair.question,
                scope="in",
                labels=_labels(pair),
                **about,
            )
            tally.add(question, record.where)
    return tally.dataset(source.name, "characterrag", PAIRS_LICENCE, characters)


def _is_character(folder: Path) -> bool:
    files = listed(folder, JSON)
    if len(files) != 1 or not documents(folder):
        return False
    first = read_content(files[0]).first
    return first.has("question") and not any(map(first.has, OTHERS))


def _folders(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if one.is_dir() and not one.name.startswith("."))


def _id(given: str | int | None, record: Located) -> str:
    return str(record.number if given is None else given)


def _labels(entry: FileEntry) -> Mapping[str, str]:
    extra = {name: value for name, value in (entry.model_extra or {}).items() if value is not None}
    return {name: one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for name, one in extra.items()}


def is_rolebench(source: Source) -> bool:
    """Whether it has RoleBench's keys."""
    return source.content.first.has("role", "question", "generated")


def read_rolebench(source: Source) -> Dataset:
    """Return a question a line, with its answers, of which the first is `answer`.

    Neither split nor subset is in the lines: `general` questions ask for what a role would hardly know, and are not
    marked as out of scope.
    """
    tally = Tally()
    for record in source.content.records:
        entry = record.read_as(RoleBenchLine)
        answers = [one.strip() for one in entry.generated if one.strip()] or [""]
        kinds = [entry.type] if isinstance(entry.type, str) else entry.type
        kind = ", ".join(dict.fromkeys(filter(None, kinds)))
        question = DatasetQuestion(
            id=str(record.number),
            role=entry.role,
            text=entry.question.strip(),
            answer=answers[0],
            more_answers=tuple(answers[1:]),
            labels={"type": kind} if kind else {},
        )
        tally.add(question, record.where)
    return tally.dataset(source.name, "rolebench", ROLEBENCH_LICENCE, {})
