"""CharacterEval's form: dialogues of Chinese scripts that a role goes on with, profiles, and metrics by entry."""

import json
from pathlib import Path
from typing import Any

from pydantic import RootModel

from dramaturg.evaluation.datasets.dataset import Character, Dataset, DatasetQuestion, DatasetTurn
from dramaturg.evaluation.datasets.files import (
    JSON,
    FileEntry,
    Filled,
    Source,
    Tally,
    Text,
    listed,
    read_content,
    read_whole,
)
from dramaturg.stores.errors import RoleFileError

LOOKS = "test_data.json, a list of objects with `id`, `role`, `novel_name` and `context`, or the folder that holds it"
LICENCE = "CharacterEval has no licence: its dialogues are from scripts and novels under copyright, for private tests"
TEST_DATA, PROFILES, METRICS = "test_data", "character_profiles", "id2metric"
NO_SPEAKER = "a dialogue whose first line names no speaker"
OWN_TURN = "a dialogue in which the role spoke last"
LONGEST_SHORT = 40
"""Letters of what is said of a role in short, such as its profession."""
NOTHING_SAID = "a dialogue whose last line is empty"


class Dialogue(FileEntry):
    """An entry of `test_data`; a line of `context` is a speaker, a wide colon and what is said."""

    id: int | str
    role: Filled
    novel_name: Text = ""
    context: Text


class Profiles(RootModel[dict[str, Any]]):
    """`character_profiles`: by role, what is said of it under headings that differ by role."""


class Metrics(RootModel[dict[str, list[tuple[str, str]]]]):
    """`id2metric`: by entry, metrics with their English and Chinese names."""


def is_charactereval(source: Source) -> bool:
    """Whether it is the dialogues, or a folder with a file of that name."""
    if _beside(source, TEST_DATA):
        return True
    first = source.content.first if source.single else None
    return first is not None and first.has("id", "role", "context") and not first.has("question")


def read_charactereval(source: Source) -> Dataset:
    """Return a question an entry: the last line, with the ones before it as turns.

    A folder's profiles and metrics are read too; a single file is read alone. Entries that `id2metric` does not name
    have no metrics; what it says of others is passed over. There are no right answers: the authors' judge is a model
    that was trained for it.
    """
    metrics = _metrics(_beside(source, METRICS))
    tally, path = Tally(), _beside(source, TEST_DATA)
    for record in (read_content(path) if path else source.content).records:
        entry = record.read_as(Dialogue)
        turns = spoken(entry.context)
        if reason := unfit(entry.role, turns):
            tally.leave_out(reason)
        else:
            tally.add(_question(entry, turns, metrics.get(str(entry.id), ())), record.where)
    return tally.dataset(source.name, "charactereval", LICENCE, _characters(_beside(source, PROFILES)))


def unfit(role: str, turns: list[DatasetTurn]) -> str:
    """Say why there is nothing to answer; empty if there is."""
    if not turns:
        return NO_SPEAKER
    if turns[-1].speaker == role:
        return OWN_TURN
    return "" if turns[-1].text else NOTHING_SAID


def spoken(context: str) -> list[DatasetTurn]:
    """Return the lines of a dialogue, none if it does not begin with a speaker; a line without one goes on."""
    turns: list[DatasetTurn] = []
    for line in filter(None, map(str.strip, context.split("\n"))):
        speaker, colon, text = line.partition("：")
        if colon:
            turns.append(DatasetTurn(speaker=speaker.strip(), text=text.strip()))
        elif turns:
            turns[-1] = DatasetTurn(speaker=turns[-1].speaker, text=f"{turns[-1].text}\n{line}")
        else:
            return []
    return turns


def profiles_of(source: Source) -> dict[str, Any]:
    """Return what is said of each role, as it is written; nothing where there is no such file."""
    path = _beside(source, PROFILES)
    return read_whole(path, Profiles).root if path else {}


def as_document(name: str, profile: Any) -> str:
    """Return a profile as Markdown with a heading for each of its own."""
    if not isinstance(profile, dict):
        return f"# {name}\n\n{_as_text(profile)}"
    parts = (f"## {heading}\n\n{_as_paragraphs(said)}" for heading, said in profile.items() if said)
    return "\n\n".join((f"# {name}", *parts))


def in_short(profile: Any, most: int = 400) -> str:
    """Return what a profile says in few words, heading by heading, and then its character; empty where it says none."""
    if not isinstance(profile, dict):
        return ""
    short = {name: said for name, said in profile.items() if isinstance(said, str) and len(said) <= LONGEST_SHORT}
    telling = {name: said for name, said in profile.items() if isinstance(said, str) and "性格" in name}
    found = ""
    for name, said in {**short, **telling}.items():
        if said and len(found) + len(name) + len(said) < most:
            found += f"{name}：{said.rstrip('。；')}。"
    return found


def _as_paragraphs(said: Any) -> str:
    if isinstance(said, dict):
        return "\n".join(f"- {name}：{_as_text(one)}" for name, one in said.items())
    return "\n".join(f"- {_as_text(one)}" for one in said) if isinstance(said, list) else _as_text(said)


def _question(entry: Dialogue, turns: list[DatasetTurn], metrics: tuple[str, ...]) -> DatasetQuestion:
    *before, last = turns
    return DatasetQuestion(
        id=str(entry.id),
        role=entry.role,
        text=last.text,
        user_role=last.speaker,
        turns=tuple(before),
        metrics=metrics,
        labels={"novel": entry.novel_name} if entry.novel_name else {},
    )


def _beside(source: Source, stem: str) -> Path | None:
    """The file of a folder by its name without suffix: released as `.jsonl`, though it is none."""
    if not source.folder:
        return None
    found = [one for one in listed(source.path, JSON) if one.stem == stem]
    if len(found) > 1:
        raise RoleFileError(f"{source.name} holds both {' and '.join(one.name for one in found)}: keep one of them.")
    return found[0] if found else None


def _metrics(path: Path | None) -> dict[str, tuple[str, ...]]:
    if path is None:
        return {}
    return {name: tuple(one for one, _ in found) for name, found in read_whole(path, Metrics).root.items()}


def _characters(path: Path | None) -> dict[str, Character]:
    if path is None:
        return {}
    return {role: Character(persona=_persona(said)) for role, said in read_whole(path, Profiles).root.items()}


def _persona(profile: Any) -> str:
    if not isinstance(profile, dict):
        return _as_text(profile)
    return "\n".join(f"{heading}：{_as_text(said)}" for heading, said in profile.items())


def _as_text(said: Any) -> str:
    if isinstance(said, list):
        return "；".join(map(_as_text, said))
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
