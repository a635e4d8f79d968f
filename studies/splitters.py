"""Splitters compared (AMADEUS Table 1): similarity of what is retrieved, and whether the answer is in it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import comb
from statistics import fmean
from typing import NamedTuple

import numpy as np

from dramaturg.evaluation.metrics.intervals import COSINE, SHARE, Ends, wilson
from dramaturg.nodes.text.boundaries import sentences
from dramaturg.nodes.text.splitter import Method
from dramaturg.stores.documents.forms import Question
from dramaturg.stores.index.passages import PassageStore, StoredPassage, passage_kind
from dramaturg.stores.index.vectors import Vectors, unit_rows
from dramaturg.stores.role import Role
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph
from studies.similarities import similarity_table
from studies.study import (
    Bench,
    Cell,
    Study,
    StudyFindings,
    StudyTable,
    difference,
    few,
    over_roles,
)

SPLITTERS: tuple[Method, ...] = ("fixed", "ats", "acts", "acts-document")
K = 3
"""Passages whose similarity is taken; the paper does not state its k."""
RECALL_AT = (1, 3, 5)
ROOM = 1000
"""Characters in which splitters with passages of different lengths are compared."""
WORD = re.compile(r"[㐀-鿿]|[^\W㐀-鿿]{3,}")
"""A word of three letters or more, or one Chinese character."""


class Sentence(NamedTuple):
    """A sentence of a persona document."""

    source: str
    start: int
    end: int


class Retrieved(NamedTuple):
    """What one splitter made a question find."""

    splitter: Method
    role: str
    question: str
    similarities: tuple[float, ...]
    """Of the first `K`."""
    rank: int | None
    """Of the first passage that holds the whole answer's sentence, from 1; None where no passage does."""
    read: int | None
    """Characters of all passages up to and with that one."""
    holding: int
    """How many passages hold it."""
    passages: int
    overlapping: int
    """How many of them begin before the one before them ends."""
    characters: int
    """Of the first `K` together."""
    words: float
    """Share of the words of the written answer that stand in the first `K`."""


async def records(bench: Bench) -> list[Retrieved]:
    """Index each role by each splitter and look its questions up."""
    found: list[Retrieved] = []
    told = bench.told("splitters", len(bench.roles) * len(SPLITTERS))
    for name in bench.roles:
        role = bench.role(name)
        questions = answerable(role)
        answers = answer_sentences(role, questions, bench)
        for splitter in SPLITTERS:
            await graph.ainvoke({}, context=bench.context(AmadeusIndexContext, name, splitter=splitter))
            found += look_up(role, splitter, questions, answers, bench)
            told.step()
    return found


def answerable(role: Role) -> list[Question]:
    """The questions in scope that have an answer."""
    if found := [one for one in role.questions() if one.scope == "in" and one.answer]:
        return found
    raise ValueError(f"{role.id!r} has no answered questions in scope: write some in questions.jsonl, or leave it out.")


def answer_sentences(role: Role, questions: Sequence[Question], bench: Bench) -> list[Sentence]:
    """For each question the sentence of all documents that is nearest to the written answer, headings left out."""
    texts = {document.name: document.text for document in role.documents()}
    where = [Sentence(name, *span) for name, text in texts.items() for span in sentences(text)]
    where = [one for one in where if not texts[one.source][one.start : one.end].startswith("#")]
    embed = bench.embedder(role.card.language).embeddings.embed_documents
    told = unit_rows(embed([texts[one.source][one.start : one.end] for one in where]))
    answers = unit_rows(embed([str(question.answer) for question in questions]))
    return [where[at] for at in np.argmax(answers @ told.T, axis=1)]


def look_up(
    role: Role, splitter: Method, questions: Sequence[Question], answers: Sequence[Sentence], bench: Bench
) -> list[Retrieved]:
    """Rank all passages for each question."""
    store = role.index(passage_kind(splitter)).open()
    if len(store.passages) < K:
        msg = f"{role.id!r} has {len(store.passages)} passages by {splitter}: leave roles with fewer than {K} out."
        raise ValueError(msg)
    asked = unit_rows([bench.embedder(role.card.language).embeddings.embed_query(one.question) for one in questions])
    return [
        retrieved(splitter, role.id, question, store, vector, answer)
        for question, vector, answer in zip(questions, asked, answers, strict=True)
    ]


def retrieved(
    splitter: Method, role: str, question: Question, store: PassageStore, vector: Vectors, answer: Sentence
) -> Retrieved:
    """What one question finds."""
    ranking = store.search(vector, len(store.passages))
    texts = [store.get(passage).text for passage, _ in ranking[:K]]
    ranks = [at for at, (passage, _) in enumerate(ranking, start=1) if holds(store.get(passage), answer)]
    scores = tuple(score for _, score in ranking[:K])
    shared = word_share(str(question.answer), texts)
    found = ranks[0] if ranks else None
    return Retrieved(
        splitter,
        role,
        question.question,
        similarities=scores,
        rank=found,
        read=sum(len(store.get(passage).text) for passage, _ in ranking[:found]) if found else None,
        holding=len(ranks),
        passages=len(store.passages),
        overlapping=sum(a.source == b.source and b.start < a.end for a, b in pairwise(store.passages)),
        characters=sum(map(len, texts)),
        words=shared,
    )


def holds(passage: StoredPassage, answer: Sentence) -> bool:
    """Whether a passage has the whole of a sentence."""
    return passage.source == answer.source and passage.start <= answer.start and answer.end <= passage.end


def word_share(answer: str, texts: Iterable[str]) -> float:
    """The share of the different words of an answer that stand in texts."""
    wanted, there = set(WORD.findall(answer.lower())), set(WORD.findall("\n".join(texts).lower()))
    return len(wanted & there) / len(wanted) if wanted else 0.0


def by_chance(record: Retrieved, k: int) -> float:
    """How probable it is that k passages drawn at random hold the answer's sentence."""
    k = min(k, record.passages)
    return 1 - comb(record.passages - record.holding, k) / comb(record.passages, k)


def findings(records: Sequence[Retrieved]) -> StudyFindings:
    """The numbers of all splitters."""
    return StudyFindings(
        (similarity_rows(records), recall_rows(records), role_rows(records), difference_rows(records)),
        how=(
            "Questions: those in scope in each role's questions.jsonl. Similarity: the cosine of the question with the "
            f"first k = {K} passages, as in Table 1 of AMADEUS, which does not state its k.",
            "Answer recall at k: whether one of the first k passages contains the whole sentence of the persona that "
            "is nearest to the written answer by cosine. That sentence does not depend on the splitter. By chance: "
            "what as many random passages would contain.",
            f"Recall in {ROOM} characters: the same in the nearest passages that together have at most {ROOM} "
            "characters, because a longer passage contains more. Overlapping: passages that begin before the previous "
            "one ends.",
            "Words: the share of the different words of the written answer (from three letters, or one Chinese "
            f"character) that are in the first {K} passages.",
        ),
        limits=(
            few(len({one.role for one in records})),
            "A sentence near the answer need not answer the question. No reply was made and nobody judged one, and an "
            "answer that needs several sentences counts by one of them. One embedding model per language finds both "
            "the sentence and the passages, so both miss what it cannot represent.",
            "Splitters differ in how much text k passages have: a longer passage contains more, and its similarity is "
            "lower. Similarities by different embedding models (English and Chinese roles) are on different scales.",
        ),
    )


VALUES: Mapping[str, Callable[[Retrieved], float]] = {
    "similarity": lambda one: float(np.mean(one.similarities)),
    f"recall at {K}": lambda one: float(one.rank is not None and one.rank <= K),
    f"recall in {ROOM} characters": lambda one: float(one.read is not None and one.read <= ROOM),
    "words": lambda one: one.words,
}


def scale_of(what: str) -> Ends:
    """Between which values one of `VALUES` lies."""
    return COSINE if what == "similarity" else SHARE


def of_splitter(records: Iterable[Retrieved], splitter: Method) -> dict[str, list[Retrieved]]:
    """The records of a splitter by role."""
    found: dict[str, list[Retrieved]] = {}
    for one in records:
        if one.splitter == splitter:
            found.setdefault(one.role, []).append(one)
    return found


def similarity_rows(records: Sequence[Retrieved]) -> StudyTable:
    """Table 1, by role instead of sums."""
    values = {str(name): of_splitter(records, name) for name in SPLITTERS}
    table = similarity_table(
        {name: {role: [one.similarities for one in of] for role, of in by.items()} for name, by in values.items()}
    )
    rows: list[tuple[Cell, ...]] = []
    for name, found in table.items():
        near = {role: [float(np.mean(one.similarities)) for one in of] for role, of in values[name].items()}
        mean = over_roles(near, COSINE)
        length = fmean(fmean(one.characters for one in of) for of in values[name].values())
        rows.append((name, mean, found.variance, found.sum_of_means, found.sum_of_variances, round(length)))
    columns = ("splitter", "mean", "mean of the variances", "Σμ", "Σσ²", f"characters of {K} passages")
    return StudyTable(f"Similarity of the retrieved passages, k = {K}, over roles", columns, tuple(rows))


def recall_rows(records: Sequence[Retrieved]) -> StudyTable:
    """Answer recall over roles."""
    rows: list[tuple[Cell, ...]] = []
    for name in SPLITTERS:
        by = of_splitter(records, name)
        for k in RECALL_AT:
            chance = over_roles({role: [by_chance(one, k) for one in of] for role, of in by.items()})
            rows.append((name, k, over_roles(hits(by, k)), chance.mean))
    return StudyTable("Answer recall at k, over roles", ("splitter", "k", "recall", "by chance"), tuple(rows))


def hits(by: Mapping[str, Sequence[Retrieved]], k: int) -> dict[str, list[float]]:
    """For each question whether the answer's sentence is in the first k."""
    return {role: [float(one.rank is not None and one.rank <= k) for one in of] for role, of in by.items()}


def role_rows(records: Sequence[Retrieved]) -> StudyTable:
    """Each role by itself."""
    rows: list[tuple[Cell, ...]] = []
    for role in dict.fromkeys(one.role for one in records):
        for name in SPLITTERS:
            of = of_splitter(records, name)[role]
            values = [value for one in of for value in one.similarities]
            numbers = float(np.mean(values)), float(np.var(values, ddof=1))
            recall = wilson(int(sum(hits({role: of}, K)[role])), len(of))
            words = float(np.mean([one.words for one in of]))
            cut = sum(not one.holding for one in of)
            room = wilson(int(sum(map(VALUES[f"recall in {ROOM} characters"], of))), len(of))
            rows.append((role, name, of[0].passages, of[0].overlapping, *numbers, recall, room, words, cut))
    first = ("role", "splitter", "passages", "overlapping", "mean", "variance")
    columns = (*first, f"recall at {K}", f"recall in {ROOM} characters", "words", "in no passage whole")
    return StudyTable("Each role", columns, tuple(rows))


def difference_rows(records: Sequence[Retrieved]) -> StudyTable:
    """ACTS, both of it, against the others on the same questions."""
    by = {name: of_splitter(records, name) for name in SPLITTERS}
    rows: list[tuple[Cell, ...]] = []
    pairs: tuple[tuple[Method, Method], ...] = (
        ("acts", "fixed"),
        ("acts", "ats"),
        ("acts", "acts-document"),
        ("acts-document", "ats"),
    )
    for first, other in pairs:
        for what, value in VALUES.items():
            one_side, other_side = (
                {role: [value(one) for one in of] for role, of in by[splitter].items()} for splitter in (first, other)
            )
            rows.append((f"{first} − {other}", what, difference(one_side, other_side, scale_of(what))))
    return StudyTable("Differences, paired by question", ("", "of", "difference"), tuple(rows))


STUDY = Study(
    "splitters",
    "Splitters: fixed, ATS, ACTS",
    records,
    findings,
    lambda bench: [*map(answerable, map(bench.role, bench.roles))],
)
