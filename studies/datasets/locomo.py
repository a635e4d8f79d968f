"""LoCoMo's form (Maharana et al. 2024): ten talks of many sessions, and questions with the lines that answer them."""

import re
from collections import Counter
from typing import Any

from dramaturg.evaluation.datasets.files import FileEntry, Filled, Located, Source, Text
from dramaturg.stores.errors import RoleFileError
from studies.datasets.long_talks import LongTalk, LongTalks, Session, TalkLine, TalkQuestion, moment

LICENCE = "LoCoMo is under CC BY-NC 4.0: for uses that are not commercial; it is no part of this package"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""By the number in the file, as its authors' evaluation has them."""
NOWHERE = "evidence that is no line of the talk"
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_TIME = "%I:%M %p on %d %B, %Y"


class LocomoLine(FileEntry):
    """A line; of an image that is shared with it, there is a caption by a model."""

    speaker: Filled
    dia_id: Filled
    text: Text
    blip_caption: Text = ""


class LocomoQuestion(FileEntry):
    """A question; adversarial ones, about what was never said, have no answer."""

    question: Filled
    answer: str | int | None = None
    evidence: list[str]
    category: int


class LocomoTalk(FileEntry):
    """A talk; `conversation` has `session_1`, `session_1_date_time` and so on."""

    sample_id: Filled
    conversation: dict[str, Any]
    qa: list[LocomoQuestion]


def is_locomo(source: Source) -> bool:
    """Whether it is a list of talks."""
    return source.content.first.has("conversation", "qa")


def read_locomo(source: Source) -> LongTalks:
    """Return the talks; the caption of an image stands behind the line with which it was shared."""
    left_out = Counter[str]()
    talks = tuple(_talk(record, left_out) for record in source.content.records)
    return LongTalks(source.name, "locomo", LICENCE, talks, dict(left_out))


def _talk(record: Located, left_out: Counter[str]) -> LongTalk:
    talk = record.read_as(LocomoTalk)
    numbers = sorted(int(found[1]) for name in talk.conversation if (found := _SESSION.fullmatch(name)))
    sessions = tuple(_session(record, talk, number) for number in numbers)
    where = {line.id: session.id for session in sessions for line in session.lines}
    if len(where) < sum(len(session.lines) for session in sessions):
        raise RoleFileError(f"{record.where}: two lines have the same dia_id: give each its own.")
    questions = tuple(
        _question(f"{talk.sample_id}/{number}", one, where, left_out) for number, one in enumerate(talk.qa, 1)
    )
    return LongTalk(talk.sample_id, sessions, questions)


def _session(record: Located, talk: LocomoTalk, number: int) -> Session:
    name, said = f"session_{number}", talk.conversation[f"session_{number}"]
    if not isinstance(said, list) or not isinstance(when := talk.conversation.get(f"{name}_date_time"), str):
        raise RoleFileError(f"{record.where}: {name} must be a list of lines, with a {name}_date_time: mend it.")
    lines = [
        Located(f"{record.where}, {name}, line {place}", place, one).read_as(LocomoLine)
        for place, one in enumerate(said, 1)
    ]
    return Session(
        name,
        moment(record, when, _TIME),
        tuple(
            TalkLine(
                one.dia_id,
                "human" if one.speaker == lines[0].speaker else "ai",
                one.speaker,
                f"{one.text} [shares an image: {one.blip_caption}]" if one.blip_caption else one.text,
            )
            for one in lines
        ),
    )


def _question(name: str, one: LocomoQuestion, where: dict[str, str], left_out: Counter[str]) -> TalkQuestion:
    """A question; some ids in the file are written with a zero, a colon or several in one text."""
    if one.category not in CATEGORIES:
        raise RoleFileError(f"{name}: the category {one.category} is none of {', '.join(map(str, CATEGORIES))}.")
    lines = list[str]()
    for text in one.evidence:
        found = [f"D{int(session)}:{int(line)}" for session, line in _EVIDENCE.findall(text)]
        left_out[NOWHERE] += sum(line not in where for line in found) or int(not found)
        lines += [line for line in found if line in where]
    lines = list(dict.fromkeys(lines))
    return TalkQuestion(
        name,
        one.question,
        "" if one.answer is None else str(one.answer),
        CATEGORIES[one.category],
        tuple(lines),
        tuple(dict.fromkeys(where[line] for line in lines)),
        answerable=CATEGORIES[one.category] != "adversarial",
    )
