"""Replies that people have scored: a CSV file, from which a judge is held against them."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from pydantic import ValidationError

from dramaturg.evaluation.judging.anchors import Known
from dramaturg.evaluation.judging.judges import BOUNDS, JUDGES, Case
from dramaturg.stores.documents.reading import explain, read_text
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import LARGEST

NEEDED = ("question", "reply", "score", "role")
MAY: Mapping[str, str] = {
    "rater": "who scored",
    "language": "en, zh or ko; en where it is empty",
    "gold": "the right answer",
    "profile": "who the role is",
    "passages": "what the role was shown",
    "events": "what the role has lived through",
    "user_role": "who asks",
    "relation": "how the role stands to who asks",
}
LONGEST_FIELD = 10_000_000
YES_NO = {"yes": 1.0, "no": 0.0}


class Scored(NamedTuple):
    """What a file holds."""

    replies: list[Known]
    ratings: list[list[float | None]]
    """Of each reply, one for each who scored; None where that one did not. Empty where the file names nobody."""
    raters: tuple[str, ...]


def scored(path: Path, metric: str) -> Scored:
    """Read replies with the scores that people gave them by one metric.

    A line is one score; lines with the same reply to the same question of the same role are scores of one reply by
    several people, and their mean is what the judge is held against.

    Args:
        path: a CSV file in UTF-8 with a line of column names: question, reply, score and role, and what there is of
            rater, language, gold, profile, passages, events, user_role and relation; other columns are passed over.
        metric: whose scale the scores are on; yes and no may be written so.

    Raises:
        RoleFileError: the file cannot be read, a column is not there, or a line's value is not as it must be; the
            message names both.
    """
    rows = [*lines_of(path)]
    raters = tuple(dict.fromkeys(row["rater"] for _, row in rows if row.get("rater")))
    given: dict[tuple[str, str, str], tuple[Case, list[tuple[str, float]]]] = {}
    for number, row in rows:
        score, case = score_of(row["score"], metric, path, number), case_of(row, metric, path, number)
        known, scores = given.setdefault((case.role, case.question, case.reply), (case, []))
        if known != case:
            odd = next(name for name in Case.model_fields if getattr(known, name) != getattr(case, name))
            raise refusal(path, number, odd, "is another one than in an earlier line of the same reply: make them one")
        if (rater := row.get("rater", "")) and rater in (who for who, _ in scores):
            raise refusal(path, number, "rater", f"has {rater} a second time for the same reply: keep one of the lines")
        scores.append((rater, score))
    replies = [
        Known(str(at), f"{case.role}: {case.question}", case.language, "", case, {metric: fmean(one for _, one in of)})
        for at, (case, of) in enumerate(given.values())
    ]
    ratings = [[dict(of).get(rater) for rater in raters] for _, of in given.values()] if len(raters) > 1 else []
    return Scored(replies, ratings, raters)


def lines_of(path: Path, needed: Sequence[str] = NEEDED) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines of a file with their numbers; the number is that of the line where a record ends.

    Raises:
        RoleFileError: it cannot be read, lacks a column, or a line is none.
    """
    csv.field_size_limit(LONGEST_FIELD)
    try:
        if path.stat().st_size > LARGEST:
            raise RoleFileError(f"{path.name} has more than {LARGEST:,} bytes: split it.")
        text = read_text(path.read_bytes(), path, path.parent)
    except OSError as error:
        raise RoleFileError(f"{path} cannot be read ({error.strerror}): name a CSV file in UTF-8.") from error
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    reader.fieldnames = there = [one.strip().lower() for one in reader.fieldnames or ()]
    if lacking := [name for name in needed if name not in there]:
        more = f", and where there is something, {', '.join(MAY)}" if needed == NEEDED else ""
        raise RoleFileError(
            f"{path.name}, line 1: there is no column {' and no column '.join(lacking)}; the columns are "
            f"{', '.join(needed)}{more}."
        )
    try:
        for row in reader:
            if None in row or None in row.values():
                raise RoleFileError(
                    f"{path.name}, line {reader.line_num}: there are {'more' if None in row else 'fewer'} fields than "
                    f"the {len(there)} columns: put quotation marks around a text with a comma in it."
                )
            yield reader.line_num, {name: value.strip() for name, value in row.items()}
    except csv.Error as error:
        raise RoleFileError(f"{path.name}, line {reader.line_num}: this is no CSV ({error}).") from error
    if reader.line_num < 2:
        raise RoleFileError(f"{path.name} has no scores: write a line for each.")


def score_of(text: str, metric: str, path: Path, number: int) -> float:
    """A score that lies on the scale of the metric."""
    low, high = BOUNDS[JUDGES[metric].scale]
    words = YES_NO if JUDGES[metric].scale == "yes/no" else {}
    try:
        value = words[text.casefold()] if text.casefold() in words else float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise refusal(path, number, "score", f"must be from {low} to {high}, by {metric}, not {text!r}")
    return value


def case_of(row: Mapping[str, str], metric: str, path: Path, number: int) -> Case:
    """The reply and what its judge is shown."""
    names = ("question", "reply", "role", "profile", "gold", "events", "user_role", "relation")
    passages = (row["passages"],) if row.get("passages") else ()
    texts = {name: row.get(name, "") for name in names}
    try:
        case = Case.model_validate({**texts, "passages": passages, "language": row.get("language") or "en"})
    except ValidationError as error:
        where = str(error.errors()[0]["loc"][0])
        raise refusal(path, number, where, f"is not as it must be: {explain(error, Case)}") from error
    if lacking := [name for name in JUDGES[metric].needs if not case.part(name)]:
        raise refusal(path, number, lacking[0], f"is empty, and {metric} needs it")
    return case


def refusal(path: Path, number: int, column: str, what: str) -> RoleFileError:
    """What is wrong, and where."""
    return RoleFileError(f"{path.name}, line {number}, column {column}: this {what}.")
