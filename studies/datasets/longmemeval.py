"""LongMemEval's form (Wu et al. 2025): questions, each with a history of sessions of its own in which the answer is."""

import re
from datetime import datetime
from typing import Literal

from dramaturg.evaluation.datasets.files import FileEntry, Filled, Located, Source, Text
from dramaturg.stores.errors import RoleFileError
from studies.datasets.long_talks import LongTalk, LongTalks, Session, TalkLine, TalkQuestion, moment

LICENCE = "LongMemEval is under the MIT licence; it is no part of this package"
ABSTAINS = "_abs"
"""With it the id of a question ends to which there is no answer."""
_DAY = re.compile(r"\s*\(\w+\)\s*")
_TIME = "%Y/%m/%d %H:%M"


class HistoryLine(FileEntry):
    """A line; those in which the answer stands say so."""

    role: Literal["user", "assistant"]
    content: Text
    has_answer: bool = False


class HistoryQuestion(FileEntry):
    """A question with its history."""

    question_id: Filled
    question_type: Filled
    question: Filled
    answer: str | int
    question_date: Filled
    haystack_session_ids: list[str]
    haystack_dates: list[str]
    haystack_sessions: list[list[HistoryLine]]
    answer_session_ids: list[str]


def is_longmemeval(source: Source) -> bool:
    """Whether it is a list of questions with histories."""
    return source.content.first.has("haystack_sessions", "question")


def read_longmemeval(source: Source) -> LongTalks:
    """Return a talk for each question, its sessions by their dates."""
    return LongTalks(source.name, "longmemeval", LICENCE, tuple(map(_talk, source.content.records)))


def _talk(record: Located) -> LongTalk:
    one = record.read_as(HistoryQuestion)
    ids, dates, histories = one.haystack_session_ids, one.haystack_dates, one.haystack_sessions
    if not len(ids) == len(dates) == len(histories):
        raise RoleFileError(
            f"{record.where}: {len(histories)} sessions have {len(ids)} ids and {len(dates)} dates: give each one."
        )
    sessions, evidence = list[Session](), list[str]()
    for place, (name, date, lines) in enumerate(zip(ids, dates, histories, strict=True)):
        said = tuple(
            TalkLine(f"{place}:{number}", "human" if line.role == "user" else "ai", None, line.content)
            for number, line in enumerate(lines)
        )
        evidence += [own.id for own, line in zip(said, lines, strict=True) if line.has_answer]
        sessions.append(Session(name, _when(record, date), said))
    answerable = not one.question_id.endswith(ABSTAINS)
    question = TalkQuestion(
        one.question_id,
        one.question,
        str(one.answer),
        one.question_type,
        tuple(evidence) if answerable else (),
        tuple(dict.fromkeys(one.answer_session_ids)) if answerable else (),
        answerable,
        _when(record, one.question_date),
    )
    return LongTalk(one.question_id, tuple(sorted(sessions, key=lambda session: session.at)), (question,))


def _when(record: Located, text: str) -> datetime:
    return moment(record, _DAY.sub(" ", text).strip(), _TIME)
