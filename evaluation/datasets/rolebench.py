"""RoleBench's form: JSON lines of a role, a question and answers that models wrote in the role's voice."""

from dramaturg.evaluation.datasets.dataset import Dataset, Question
from dramaturg.evaluation.datasets.files import Entry, Filled, Source, Tally, Text

LOOKS = "JSON lines with `role`, `question` and `generated`, one file of them at a time"
LICENCE = "RoleBench names no licence in its repository; its answers were written by GPT models"
NO_QUESTION = "an entry without a question"


class Asked(Entry):
    """A line; `type` is a text or a list of them, one an answer, by file."""

    role: Filled
    question: Text
    generated: list[Text]
    type: str | list[str] = ""


def is_rolebench(source: Source) -> bool:
    """Whether it has RoleBench's keys."""
    return source.content.first.has("role", "question", "generated")


def read_rolebench(source: Source) -> Dataset:
    """Return a question a line, with its answers, of which the first is `answer`.

    Neither split nor subset is in the lines: `general` questions ask for what a role would hardly know, and are not
    marked as out of scope.

    Raises:
        RoleFileError: a line cannot be used.
    """
    tally = Tally()
    for record in source.content.records:
        entry = record.read_as(Asked)
        if entry.question.strip():
            tally.add(_question(entry, str(record.number)), record.where)
        else:
            tally.leave_out(NO_QUESTION)
    return tally.dataset(source.name, "rolebench", LICENCE, {})


def _question(entry: Asked, name: str) -> Question:
    answers = [one.strip() for one in entry.generated if one.strip()] or [""]
    kinds = [entry.type] if isinstance(entry.type, str) else entry.type
    kind = ", ".join(dict.fromkeys(filter(None, kinds)))
    return Question(
        id=name,
        role=entry.role,
        text=entry.question.strip(),
        answer=answers[0],
        more_answers=tuple(answers[1:]),
        labels={"type": kind} if kind else {},
    )
