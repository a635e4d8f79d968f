"""Character-LLM's forms: interview questions by role with profiles, and interviews that its agents gave."""

from pathlib import Path

from dramaturg.evaluation.datasets.dataset import Character, Dataset, DatasetQuestion, DatasetTurn
from dramaturg.evaluation.datasets.files import (
    JSON,
    FileEntry,
    Filled,
    Located,
    Source,
    Tally,
    Text,
    listed,
    read_content,
    text_of,
)

LOOKS = (
    "lists of objects with `topic_id`, `topic` and `question` in a folder `questions` (with `profiles` beside it), "
    "or a file of interviews"
)
LICENCE = "Character-LLM's data are CC BY-NC 4.0; its profiles are texts of Wikipedia, CC BY-SA"
BEYOND = "difficult to answer without breaking character"
"""The topic whose questions RoleRAG counts as out of scope: 5 of each of the 9 roles."""
NO_REPLY = "an interview without a reply, which alone names its role"


class Speech(FileEntry):
    """What somebody said in an interview."""

    role: Filled
    content: Text


class TopicQuestion(FileEntry):
    """An entry of `questions`."""

    topic_id: str
    topic: Text
    question: Text


class AnsweredQuestion(FileEntry):
    """An entry of `interview_single`: a question, and what an agent replied."""

    topic_id: str
    question: Text
    reply: list[Speech]


class SpokenUtterance(FileEntry):
    """A turn of a long interview, by the interviewer or the character."""

    turn_id: int
    turn_role: str
    turn_content: list[Speech]


class LongInterview(FileEntry):
    """A line of `interview_turns`: several rounds on one topic."""

    character: Filled
    topic: Text
    qid: int | str
    content: list[SpokenUtterance]


def is_character_llm(source: Source) -> bool:
    """Whether it is questions or interviews, or a folder of questions."""
    if _question_files(source):
        return True
    return source.single and (_is_single(source.content.first) or _is_long(source.content.first))


def read_character_llm(source: Source) -> Dataset:
    """Return the questions; of interviews, each question with what was said before it and what the agent replied.

    A file of questions does not name its role: the end of the file's name does. Later questions of a long interview
    answer to what the authors' agent had said, which is in their turns.
    """
    tally, characters = Tally(), {}
    for path in (files := _question_files(source)):
        _add_questions(tally, path, alone=len(files) == 1)
    if files and source.folder:
        characters = _profiles(files[0].parent)
    for record in source.content.records if not files else ():
        if _is_long(record):
            _add_rounds(tally, record.read_as(LongInterview), record)
        else:
            _add_single(tally, record.read_as(AnsweredQuestion), record)
    return tally.dataset(source.name, "character_llm", LICENCE, characters)


def _question_files(source: Source) -> list[Path]:
    if not source.folder:
        return [source.path] if _is_question(source.content.first) else []
    inner = source.path / "questions"
    files = listed(inner if inner.is_dir() else source.path, JSON)
    return files if files and all(_is_question(read_content(one).first) for one in files) else []


def _is_question(record: Located) -> bool:
    return record.has("topic_id", "topic", "question")


def _is_single(record: Located) -> bool:
    return record.has("topic_id", "question", "reply")


def _is_long(record: Located) -> bool:
    return record.has("character", "topic", "qid", "content")


def _add_questions(tally: Tally, path: Path, *, alone: bool) -> None:
    role = path.stem.rpartition("_")[2]
    for record in read_content(path).records:
        entry = record.read_as(TopicQuestion)
        question = DatasetQuestion(
            id=str(record.number) if alone else f"{path.stem}-{record.number}",
            role=role,
            text=entry.question.strip(),
            scope="out" if entry.topic == BEYOND else "in",
            labels={"topic": entry.topic},
        )
        tally.add(question, record.where)


def _profiles(questions: Path) -> dict[str, Character]:
    folders = [questions / "profiles", questions.parent / "profiles"]
    found = next((one for one in folders if one.is_dir()), None)
    files = listed(found, (".txt",)) if found else []
    return {one.stem.rpartition("_")[2]: Character(persona=text_of(one)) for one in files}


def _add_single(tally: Tally, entry: AnsweredQuestion, record: Located) -> None:
    if not entry.reply:
        tally.leave_out(NO_REPLY)
        return
    text = entry.question.strip()
    question = DatasetQuestion(id=str(record.number), role=entry.reply[0].role, text=text, said=_joined(entry.reply))
    tally.add(question, record.where)


def _add_rounds(tally: Tally, entry: LongInterview, record: Located) -> None:
    """Each turn of the interviewer is a question."""
    before: list[DatasetTurn] = []
    for place, one in enumerate(entry.content):
        text, speaker = _joined(one.turn_content), one.turn_content[0].role if one.turn_content else ""
        if one.turn_role == "interviewer" and text:
            after = entry.content[place + 1] if place + 1 < len(entry.content) else None
            replied = after is not None and after.turn_role == "character"
            question = DatasetQuestion(
                id=f"{record.number}.{one.turn_id}",
                role=entry.character,
                text=text,
                user_role=speaker,
                turns=tuple(before),
                said=_joined(after.turn_content) if after and replied else "",
                labels={"topic": entry.topic},
            )
            tally.add(question, record.where)
        before.append(DatasetTurn(speaker=speaker, text=text))


def _joined(said: list[Speech]) -> str:
    return "\n".join(one.content.strip() for one in said).strip()
