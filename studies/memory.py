"""What the memory of talks finds of long talks: the lines and sessions in which the answers to questions stand.

LoCoMo (Maharana et al. 2024) and LongMemEval (Wu et al. 2025), read from files of the user's.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from dramaturg.evaluation.metrics.intervals import cluster_interval, paired_interval
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide, write
from dramaturg.nodes.talk.index import TalkIndex, passages_in
from dramaturg.prompts import load
from dramaturg.stores.conversations.talk import Line, TalkRecord
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import canonical, sha256, write_bytes
from dramaturg.stores.index.vectors import unit_rows
from studies.datasets.locomo import is_locomo, read_locomo
from studies.datasets.long_talks import (
    LOOKS,
    Benchmark,
    LongTalk,
    LongTalks,
    Session,
    TalkLine,
    TalkQuestion,
    source_of,
)
from studies.datasets.longmemeval import is_longmemeval, read_longmemeval
from studies.short_answers import says_unknown, several_f1, token_f1
from studies.study import Bench, Cell, Study, StudyCost, StudyFindings, StudyTable

LANGUAGE = "en"
"""Of both datasets."""
AT = (5, 10)
SHOWN = 10
"""Exchanges that an answer is written from."""
LONGEST = 300
"""Tokens of an answer."""
Way = Literal["words", "meaning", "both"]
WAYS: tuple[Way, ...] = ("words", "meaning", "both")
"""The last is that of a turn."""
UNIT = "conversation"


class MemorySettings(BaseModel):
    """What is measured beside what is found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: bool = Field(
        default=False, description="Have the chat model answer each question from what was found, and score the answer."
    )
    questions: int = Field(default=0, ge=0, description="The first so many questions of each talk; 0: all.")


class Asked(NamedTuple):
    """A question, and where in each way's ranking the evidence stands, from 1; None: it was not found."""

    file: str
    benchmark: Benchmark
    talk: str
    question: str
    category: str
    embedding: str
    """The name of the model that gave the meanings."""
    lines: Mapping[Way, tuple[int | None, ...]]
    """For each line in which the answer stands, the place of its exchange."""
    sessions: Mapping[Way, tuple[int | None, ...]]
    """For each session in which it stands, the place among the sessions in the order in which they are found."""
    score: float | None = None
    """Of an answer from what was found in both ways; None: there is none."""


def talks_in(path: Path) -> LongTalks:
    """Read a file of one of the two datasets.

    Raises:
        RoleFileError: it is not there, or is something else, or an entry cannot be used.
    """
    source = source_of(path)
    if is_locomo(source):
        return read_locomo(source)
    if is_longmemeval(source):
        return read_longmemeval(source)
    raise RoleFileError(f"{source.name} holds no talks with questions: give {LOOKS}.")


def check(bench: Bench) -> list[LongTalks]:
    """Read the files.

    Raises:
        ValueError: there are none.
    """
    if not bench.files:
        raise ValueError(f"The study memory needs a file or more: python -m studies memory FILE, with {LOOKS}.")
    return [talks_in(path) for path in bench.files]


async def records(bench: Bench) -> list[Asked]:
    """Look each question up in its talk, in three ways, and have it answered, if that is wished for."""
    embedder = await asyncio.to_thread(bench.embedder, LANGUAGE)
    return [one for file in check(bench) for one in await of_file(file, embedder, bench)]


async def of_file(file: LongTalks, embedder: Embedder, bench: Bench) -> list[Asked]:
    """All questions of a file."""
    own, found = MemorySettings.model_validate(dict(bench.settings)), list[Asked]()
    chat = bench.chat(LANGUAGE) if own.answer else None
    chosen = [(talk, talk.questions[: own.questions or None]) for talk in file.talks]
    told = bench.told(f"memory, {file.name}", sum(len(questions) for _, questions in chosen))

    async def scored(asked: Asked, question: TalkQuestion, ranking: Sequence[TalkRecord]) -> Asked:
        score = await answered(file.benchmark, question, ranking[:SHOWN], chat) if chat else None
        told.step()
        return asked._replace(score=score)

    for talk, questions in chosen:
        index = await indexed(list(records_of(talk)), embedder, bench)
        looked = [(*await look_up(file, talk, one, index, embedder), one) for one in questions]
        found += await asyncio.gather(*(scored(asked, one, ranking) for asked, ranking, one in looked))
    return found


def records_of(talk: LongTalk) -> Iterator[TalkRecord]:
    """The records that the memory would keep of a talk: an exchange each, which ends with its session."""
    before, place = "", 0
    for session in talk.sessions:
        for said in exchanges(session):
            lines = tuple(Line(id=one.id, who=one.who, name=one.name, text=one.text) for one in said)
            record = TalkRecord(id=f"{talk.id}/{place}", parent=before, place=place, said=lines, at=session.at)
            yield record
            before, place = record.id, place + 1


def exchanges(session: Session) -> Iterator[list[TalkLine]]:
    """What was said at once: a question with its replies; a last one without any is an exchange, too."""
    said = list[TalkLine]()
    for line in session.lines:
        if said and line.who == "human" and said[-1].who == "ai":
            yield said
            said = []
        said.append(line)
    if said:
        yield said


async def indexed(records: Sequence[TalkRecord], embedder: Embedder, bench: Bench) -> TalkIndex:
    """The index of a talk, as a turn of a method would have it; meanings are kept in the bench's folder."""
    path, index = kept_at(records, embedder.name, bench), TalkIndex()
    kept = json.loads(await asyncio.to_thread(path.read_bytes)) if path.exists() else {}
    index.extend([one.model_copy(update=kept.get(one.id, {})) for one in records])
    new = list[TalkRecord]()
    while places := index.lacking(embedder.name, len(index)):
        embedded = await index.embed(embedder, places)
        if not embedded:  # what has no meaning is found by its words alone
            break
        new += embedded
    if new:
        kept |= {one.id: one.model_dump(include={"embedding", "vectors", "dimension"}) for one in new}
        await asyncio.to_thread(write_bytes, path, json.dumps(kept).encode(), within=bench.folder)
    return index


def kept_at(records: Sequence[TalkRecord], embedding: str, bench: Bench) -> Path:
    """Where the meanings of a talk are kept: another text, or another model, is another file."""
    told: list[Any] = [embedding, [[one.id, *passages_in(one)] for one in records]]
    return bench.folder / "memory" / f"{sha256(canonical(told))[:32]}.json"


async def look_up(
    file: LongTalks,
    talk: LongTalk,
    question: TalkQuestion,
    index: TalkIndex,
    embedder: Embedder,
) -> tuple[Asked, list[TalkRecord]]:
    """Rank the exchanges of a talk for a question in each way; with the ranking by both."""
    vector = unit_rows([await embedder.query(question.text)])[0]
    session_of = {line.id: session.id for session in talk.sessions for line in session.lines}
    lines, sessions = dict[Way, tuple[int | None, ...]](), dict[Way, tuple[int | None, ...]]()
    ranking = list[TalkRecord]()
    for way in WAYS:
        words, meaning = (question.text if way != "meaning" else ""), (vector if way != "words" else None)
        found = await asyncio.to_thread(index.nearest, words, meaning, len(index), len(index))
        ranking = [index.records[one.at] for one in found]
        place = {line.id: at for at, one in enumerate(ranking, 1) for line in one.said}
        order = {one: at for at, one in enumerate(dict.fromkeys(session_of[one.said[0].id] for one in ranking), 1)}
        lines[way] = tuple(place.get(one) for one in question.lines)
        sessions[way] = tuple(order.get(one) for one in question.sessions)
    about = (file.name, file.benchmark, talk.id, question.id, question.category, embedder.name)
    return Asked(*about, lines, sessions), ranking


async def answered(
    benchmark: Benchmark, question: TalkQuestion, found: Sequence[TalkRecord], chat: ChatModel
) -> float | None:
    """Have a question answered from what was found, and score that by the dataset's measure; None: nothing came."""
    said = "\n\n".join(map(shown_as, sorted(found, key=lambda one: one.place)))
    when = f"{question.asked:%d %B %Y}: {question.text}" if question.asked else question.text
    try:
        messages = load("answer_recalled", LANGUAGE).messages(data={"said": said, "question": when})
        reply = await write(chat, messages, temperature=0, max_tokens=LONGEST, quiet=True)
        if benchmark == "locomo":
            return locomo_score(question, reply)
        judged = {"question": question.text, "gold": question.answer, "reply": reply}
        return float((await decide(chat, load("grade_recalled", LANGUAGE).messages(data=judged))).answer)
    except UNANSWERED:
        return None


def shown_as(record: TalkRecord) -> str:
    """An exchange with its day, a line each with its speaker."""
    speakers = {"human": "User", "ai": "Assistant"}
    lines = (f"{line.name or speakers[line.who]}: {' '.join(line.text.split())}" for line in record.said)
    return "\n".join([f"{record.at:%d %B %Y}", *lines])


def locomo_score(question: TalkQuestion, reply: str) -> float:
    """LoCoMo's measure of an answer, which depends on the category."""
    if not question.answerable:
        return float(says_unknown(reply))
    if question.category == "multi-hop":
        return several_f1(reply, question.answer)
    answer = question.answer.split(";")[0] if question.category == "open-domain" else question.answer
    return token_f1(reply, answer)


MEASURES: Mapping[str, Callable[[Sequence[int | None], int], float]] = {
    "share": lambda places, k: fmean(at is not None and at <= k for at in places),
    "any": lambda places, k: float(any(at is not None and at <= k for at in places)),
    "all": lambda places, k: float(all(at is not None and at <= k for at in places)),
}


def findings(records: Sequence[Asked]) -> StudyFindings:
    """The numbers of each file."""
    tables = list[StudyTable]()
    for name in dict.fromkeys(one.file for one in records):
        of = [one for one in records if one.file == name]
        for what in ("lines", "sessions"):
            tables += evidence_tables(name, what, [one for one in of if getattr(one, what)["both"]])
        tables += answer_tables(name, of)
    unanswered = sum(one.score is None for one in records) if any(one.score is not None for one in records) else 0
    embeddings = ", ".join(dict.fromkeys(one.embedding for one in records))
    return StudyFindings(
        tuple(tables),
        how=(
            "A talk is kept as the memory keeps one (`nodes/talk`): a record for each exchange, which is a line and "
            "the reply to it, and never goes beyond its session. In LoCoMo who speaks first in a session asks; the "
            "caption of an image stands behind its line. Each question is looked up in the whole of its talk, in three "
            f"ways: by words (BM25), by meaning (cosines of {embeddings}), and by both, as a turn does it. Nothing is "
            "asked of a chat model for that.",
            "Lines: where the exchanges stand that hold the lines in which the answer is, among the first k exchanges. "
            "Sessions: the same of sessions, in the order in which their first exchange is found. Share: the share of "
            "a question's lines or sessions that are found, which is LoCoMo's recall. Any and all: whether one, or "
            "every one, is found, which are LongMemEval's recall_any and recall_all. Questions for which the dataset "
            "names no evidence are left out, as in the authors' programs; LoCoMo's adversarial ones have some, and "
            "count.",
            f"Intervals are over {UNIT}s: the questions about one talk go together.",
            *(
                (
                    f"Answers: the chat model answers from the first {SHOWN} exchanges that both ways find. LoCoMo's "
                    "are scored by the words that they share with the right answer (F1), adversarial ones by whether "
                    "the model says that nothing is known; LongMemEval's by the same chat model, which says whether "
                    f"the answer is right. {unanswered} of {len(records)} questions have no answer and are left out.",
                )
                if any(one.score is not None for one in records)
                else ()
            ),
        ),
        limits=(
            "An exchange holds two lines: published recall at k of single lines is of half as much text.",
            "Who wrote the questions had the lines at hand, so that questions share words with them. What somebody "
            "asks from memory may share fewer, and looking up by words may find less of it.",
            "What is found says nothing about what a model makes of it.",
        ),
    )


def evidence_tables(name: str, what: str, of: Sequence[Asked]) -> Iterator[StudyTable]:
    """What is found of the evidence: in each way, by category, and how far both ways together are from each alone."""
    if not of:
        return
    rows = list[tuple[Cell, ...]]()
    for way in WAYS:
        for measure in MEASURES:
            rows.append((way, measure, *(interval(of, what, way, measure, k) for k in AT)))
    yield StudyTable(f"{name}: {what} with the answer", ("by", "found", *(f"at {k}" for k in AT)), tuple(rows), UNIT)
    rows = [(f"both − {way}", *(apart(of, what, way, k) for k in AT)) for way in ("words", "meaning")]
    yield StudyTable(
        f"{name}: difference of the share of {what}, paired", ("", *(f"at {k}" for k in AT)), tuple(rows), UNIT
    )
    last, rows = AT[-1], []
    for category, number in Counter(one.category for one in of).items():
        own = [one for one in of if one.category == category]
        rows.append((category, number, *(interval(own, what, way, "share", last) for way in WAYS)))
    columns = ("category", "questions", *WAYS)
    yield StudyTable(f"{name}: share of the {what} at {last}, by category", columns, tuple(rows), UNIT)


def values(of: Sequence[Asked], what: str, way: Way, measure: str, k: int) -> dict[str, list[float]]:
    """A measure of each question, by talk."""
    found = dict[str, list[float]]()
    for one in of:
        found.setdefault(one.talk, []).append(MEASURES[measure](getattr(one, what)[way], k))
    return found


def interval(of: Sequence[Asked], what: str, way: Way, measure: str, k: int) -> Cell:
    """The mean over questions, with its interval over talks."""
    return cluster_interval(values(of, what, way, measure, k), pooled=True, unit=UNIT)


def apart(of: Sequence[Asked], what: str, way: Way, k: int) -> Cell:
    """Both ways minus one, on the same questions."""
    first, other = (values(of, what, one, "share", k) for one in ("both", way))
    return paired_interval(first, other, pooled=True, unit=UNIT)


def answer_tables(name: str, of: Sequence[Asked]) -> Iterator[StudyTable]:
    """The scores of answers, by category."""
    scored, rows = [one for one in of if one.score is not None], list[tuple[Cell, ...]]()
    for category in (*dict.fromkeys(one.category for one in scored), ""):
        by_talk = dict[str, list[float]]()
        for one in scored:
            if one.score is not None and category in {"", one.category}:
                by_talk.setdefault(one.talk, []).append(one.score)
        if by_talk:
            rows.append((category or "all", cluster_interval(by_talk, pooled=True, unit=UNIT)))
    if rows:
        yield StudyTable(f"{name}: answers", ("category", "score"), tuple(rows), UNIT)


def cost(bench: Bench) -> StudyCost:
    """What would be embedded and asked."""
    own, embedding = MemorySettings.model_validate(dict(bench.settings)), bench.embedder(LANGUAGE).name
    counts, lines = Counter[str](), list[str]()
    for file in check(bench):
        here = Counter[str](talks=len(file.talks))
        for talk in file.talks:
            records = list(records_of(talk))
            passages = sum(len(passages_in(one)) for one in records)
            asked = len(talk.questions[: own.questions or None])
            here.update(
                lines=sum(len(one.said) for one in records),
                exchanges=len(records),
                passages=passages,
                kept=passages if kept_at(records, embedding, bench).exists() else 0,
                questions=asked,
                calls=asked * (2 if file.benchmark == "longmemeval" else 1) if own.answer else 0,
            )
        counts.update(here)
        left = "".join(f" {number} times {reason}." for reason, number in file.left_out.items())
        lines.append(
            f"memory, {file.name}: {here['talks']:,} talks of {here['lines']:,} lines in {here['exchanges']:,} "
            f"exchanges; {here['passages'] - here['kept']:,} of {here['passages']:,} passages and "
            f"{here['questions']:,} questions to be embedded by {embedding}. The chat model would be asked "
            f"{here['calls']:,} times.{left} {file.licence}."
        )
    return StudyCost(dict(counts), tuple(lines))


STUDY = Study(
    "memory",
    "What the memory of talks finds: LoCoMo and LongMemEval",
    records,
    findings,
    check,
    settings=MemorySettings,
    cost=cost,
    reads_files=True,
)
