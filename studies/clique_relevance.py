"""What the clique chooses (DRMR 3.2): do the dialogues on its edges bear on the relation more than the nearest do?"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import HumanMessage

from dramaturg.evaluation.metrics.intervals import POSITIVE, SHARE, Ends, wilson
from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import rate
from dramaturg.nodes.dialogues.cast import Cast, cast_of
from dramaturg.nodes.dialogues.index import DialogueEdge, edges_of
from dramaturg.nodes.dialogues.recall import DialogueRecallSettings, conversation_text, nearest_of_both, ranked
from dramaturg.nodes.dialogues.relations import best_clique
from dramaturg.nodes.dialogues.role_memory import RoleMemorySettings
from dramaturg.nodes.judgement import HIGH, LOW
from dramaturg.nodes.run import run_of
from dramaturg.prompts import load
from dramaturg.stores.index.dialogues import StoredDialogue
from dramaturg.workflows.drmr_index import DrmrIndexContext, graph
from studies.study import (
    Bench,
    Cell,
    MarkedRelation,
    Study,
    StudyFindings,
    StudyTable,
    difference,
    few,
    gold,
    marked,
    over_roles,
)

K: int = RoleMemorySettings.model_fields["memory_dialogues"].default
"""Dialogues that a record is made from."""
RECALLED: int = DialogueRecallSettings.model_fields["recalled_dialogues"].default
"""Dialogues that the conversation brings back (the paper's N)."""


class Chosen(NamedTuple):
    """Which dialogues a record of the role memory would be made from."""

    role: str
    user: str
    question: str
    recalled: int
    clique: int
    """Roles in it."""
    unscored: int
    """Edges without an answer; they weigh nothing."""
    with_clique: tuple[bool, ...]
    """For each of the K dialogues on the clique's edges whether it bears on the relation, as people say."""
    without: tuple[bool, ...]
    """The same of the K nearest."""
    all: tuple[bool, ...]
    """The same of all that were recalled."""
    weight_with: tuple[float, ...]
    """The edge score of the two in each; 1, the lowest, where they do not speak with each other."""
    weight_without: tuple[float, ...]
    same: bool
    """Whether both ways choose the same dialogues."""


async def records(bench: Bench) -> list[Chosen]:
    """Recall for each question of each user, and choose with the clique and without."""
    found: list[Chosen] = []
    for name, relations in marked(gold().relations, bench.roles).items():
        await graph.ainvoke({}, context=bench.context(DrmrIndexContext, name))
        told = bench.told(f"clique-relevance, {name}", sum(len(one.questions) for one in relations))
        for relation in relations:
            for question in relation.questions:
                found.append(await chosen(bench, name, relation, question))
                told.step()
    return found


async def chosen(bench: Bench, name: str, relation: MarkedRelation, question: str) -> Chosen:
    """One question of one user."""
    role, context = bench.role(name), bench.context(DialogueRecallSettings, name, user_role=relation.user)
    cast = await cast_of(await run_of(context), "")
    model = await asyncio.to_thread(bench.embedder, role.card.language)
    near = await ranked(cast, model, conversation_text([HumanMessage(question)], cast))
    brought = [dialogue for dialogue, _ in nearest_of_both(near, cast, RECALLED)]
    # Each dialogue by itself: how much the two matter in those that were chosen is what is measured.
    chat, edges = bench.chat(role.card.language), [edge for dialogue in brought for edge in edges_of([dialogue])]
    scores = dict(
        zip(edges, await asyncio.gather(*(score(one, chat, role.card.language) for one in edges)), strict=True)
    )
    return choice(relation, question, cast, brought, scores)


async def score(edge: DialogueEdge, chat: ChatModel, language: str) -> float | None:
    """How much two roles matter in a dialogue (Equation 2), without the reason; None where there is no answer."""
    data = {"dialogue": edge.text, "pair": "\n".join(edge.pair)}
    try:
        return (await rate(chat, load("rate_edge", language).messages(data=data), low=LOW, high=HIGH)).value
    except UNANSWERED:
        return None


def choice(
    relation: MarkedRelation,
    question: str,
    cast: Cast,
    brought: Sequence[StoredDialogue],
    scores: Mapping[DialogueEdge, float | None],
) -> Chosen:
    """What is taken of the dialogues that were recalled."""
    clique = clique_of(scores, cast)
    within, nearest = on_clique(brought, clique, cast.card.name)[:K], brought[:K]
    user = cast.user.speaker or ""
    weights = [tuple(weight(one, user, cast.card.name, scores) for one in of) for of in (within, nearest)]
    bears = [tuple(one.scene in relation.bears for one in of) for of in (within, nearest, brought)]
    unscored = sum(one is None for one in scores.values())
    return Chosen(
        cast.role.id,
        relation.user,
        question,
        len(brought),
        len(clique),
        unscored,
        bears[0],
        bears[1],
        bears[2],
        weights[0],
        weights[1],
        within == nearest,
    )


def clique_of(scores: Mapping[DialogueEdge, float | None], cast: Cast) -> list[str]:
    """The best clique; an edge weighs what its best dialogue gives it."""
    best: dict[tuple[str, str], float] = {}
    for edge, value in scores.items():
        best[edge.pair] = max(best.get(edge.pair, 0.0), value or 0.0)
    weighed = [(one, other, value) for (one, other), value in best.items()]
    return best_clique(weighed, cast.user.speaker, cast.card.name) if cast.user.speaker else []


def on_clique(brought: Sequence[StoredDialogue], clique: Sequence[str], model: str) -> list[StoredDialogue]:
    """The dialogues on the edges of a clique, as `nodes/dialogues/role_memory.py` takes them, the nearest first."""
    if not clique:
        return [one for one in brought if model in one.speakers]
    return [one for one in brought if any({*pair} <= {*clique} for pair in one.pairs)]


def weight(dialogue: StoredDialogue, user: str, model: str, scores: Mapping[DialogueEdge, float | None]) -> float:
    """The edge score of the two in a dialogue; the lowest where they have none there."""
    found = [value for edge, value in scores.items() if edge.dialogues == (dialogue,) and {*edge.pair} == {user, model}]
    return found[0] if found and found[0] is not None else float(LOW)


def findings(records: Sequence[Chosen]) -> StudyFindings:
    """The numbers."""
    unscored = sum(one.unscored for one in records)
    same = sum(one.same for one in records)
    return StudyFindings(
        (bearing_rows(records), weight_rows(records), role_rows(records)),
        how=(
            f"The {RECALLED} nearest dialogues are recalled for two questions by each of four users for each role "
            f"(`gold/relations.yaml`). Of these, the K = {K} nearest on the edges of the clique (from which DRMR "
            "writes its record) are compared with the K nearest. A dialogue is relevant to the relation if a person "
            "marked its scene.",
            "Edge scores from 1 to 5 are taken from the probabilities of the chat model, as DRMR does with a small "
            f"model, of each dialogue by itself. The score is 1 if the two do not speak with each other. {unscored} "
            "scores were not available and count nothing.",
            f"For {same} of {len(records)} questions both ways chose the same dialogues.",
        ),
        limits=(
            "One reader made the marks. Most marked scenes are those in which the two speak with each other, which the "
            "clique prefers by construction; there are few scenes in which others speak about the two.",
            "The clique is chosen by edge scores, so the scores of its dialogues are not independent of it; the marks "
            "are. One turn of a conversation is measured. In a longer conversation the graph grows.",
            "The questions of one user resemble each other.",
            few(len({one.role for one in records})),
        ),
    )


def by_role(records: Iterable[Chosen], way: str) -> dict[str, list[float]]:
    """The mean of each question, by role; a way that chose nothing for it has none."""
    found: dict[str, list[float]] = {}
    for one in records:
        found.setdefault(one.role, [])
        if values := getattr(one, way):
            found[one.role].append(sum(values) / len(values))
    return found


def paired(records: Sequence[Chosen], first: str, second: str, scale: Ends = SHARE) -> Cell:
    """The difference on the questions for which both ways chose something."""
    both = [one for one in records if getattr(one, first) and getattr(one, second)]
    return difference(by_role(both, first), by_role(both, second), scale) if both else None


def bearing_rows(records: Sequence[Chosen]) -> StudyTable:
    """The share of dialogues that bear on the relation, over roles."""
    ways = {"on the clique's edges": "with_clique", "the nearest": "without", "all that were recalled": "all"}
    rows: list[tuple[Cell, ...]] = [(name, over_roles(by_role(records, way))) for name, way in ways.items()]
    rows.append(("clique − nearest", paired(records, "with_clique", "without")))
    return StudyTable("Dialogues that bear on the relation, over roles", ("dialogues", "share"), tuple(rows))


def weight_rows(records: Sequence[Chosen]) -> StudyTable:
    """The edge scores of the two in what was chosen, over roles."""
    rows: list[tuple[Cell, ...]] = [
        ("on the clique's edges", over_roles(by_role(records, "weight_with"), POSITIVE)),
        ("the nearest", over_roles(by_role(records, "weight_without"), POSITIVE)),
        ("clique − nearest", paired(records, "weight_with", "weight_without", POSITIVE)),
    ]
    return StudyTable("Edge score of the two, over roles", ("dialogues", "score"), tuple(rows))


def role_rows(records: Sequence[Chosen]) -> StudyTable:
    """Each role by itself."""
    rows: list[tuple[Cell, ...]] = []
    for role in dict.fromkeys(one.role for one in records):
        of = [one for one in records if one.role == role]
        chosen = [[bears for one in of for bears in getattr(one, way)] for way in ("with_clique", "without", "all")]
        size = sum(one.clique for one in of) / len(of)
        rows.append((role, len(of), size, *(wilson(sum(one), len(one)) if one else None for one in chosen)))
    columns = ("role", "questions", "roles in the clique", "clique", "nearest", "all recalled")
    return StudyTable("Each role: dialogues that bear on the relation", columns, tuple(rows))


STUDY = Study(
    "clique-relevance", "Clique relevance", records, findings, lambda bench: marked(gold().relations, bench.roles)
)
