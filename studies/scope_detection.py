"""Detection of questions that a role cannot answer (RoleRAG 3.4): P(known) against what people say of the scope."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dramaturg.evaluation.metrics.calibration import brier
from dramaturg.evaluation.metrics.intervals import Share, wilson
from dramaturg.models.chat import ChatModel, threshold
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide, extract
from dramaturg.nodes.graph.scoping import MOST, PlainName, PlainNames
from dramaturg.prompts import load
from dramaturg.stores.documents.forms import Question, RoleCard
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph
from studies.separation import separation
from studies.study import (
    Bench,
    Cell,
    Study,
    StudyFindings,
    StudyTable,
    certainty_of,
    few,
    over_roles,
    spaced,
)

ASKED = 5
"""Questions of each scope that a role's entities are judged for: more take too long with the embedded model."""
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Bins of P(known)."""


class Scoped(NamedTuple):
    """A question, whether it is in scope, and what speaks for that."""

    role: str
    question: str
    known: bool
    similarity: float
    """The cosine of the passage of the persona that is nearest."""
    judged: bool
    """Whether the model was asked."""
    certainty: float | None
    """P(known) of the least known entity that the question names; None where there is no answer."""
    entities: int
    above: float
    """P(known) from which an entity counts as known by default."""


async def records(bench: Bench) -> list[Scoped]:
    """Look all questions up, and have the entities of some judged."""
    return [one for name in bench.roles for one in await of_role(bench, bench.role(name))]


async def of_role(bench: Bench, role: Role) -> list[Scoped]:
    """All questions of a role."""
    await graph.ainvoke({}, context=bench.context(AmadeusIndexContext, role.id))
    questions, chat = role.questions(), bench.chat(role.card.language)
    by_scope = ([one for one in questions if one.scope == scope] for scope in ("in", "out"))
    chosen = {one.question for of in by_scope for one in spaced(of, ASKED)}
    told = bench.told(f"scope-detection, {role.id}", len(questions))

    async def looked_up(one: Question) -> Scoped:
        near, judged = await asyncio.to_thread(similarity, bench, role, one.question), one.question in chosen
        sure, entities = await certainty(one.question, role.card, chat) if judged else (None, 0)
        told.step()
        above = threshold(chat.name, "scope")
        return Scoped(role.id, one.question, one.scope == "in", near, judged, sure, entities, above)

    return list(await asyncio.gather(*map(looked_up, questions)))


def similarity(bench: Bench, role: Role, question: str) -> float:
    """How near the nearest passage is."""
    store = role.index(passage_kind("acts")).open()
    return store.search(bench.embedder(role.card.language).embeddings.embed_query(question), 1)[0][1]


async def certainty(question: str, card: RoleCard, chat: ChatModel) -> tuple[float | None, int]:
    """P(known) of a question: that of the entity that is least known, as one that is out of scope decides the turn.

    The role itself is known, and so is a question that names nothing.
    """
    own = {normal_name(name) for name in (card.name, *card.aliases)}
    messages = load("name_entities", card.language).messages(
        role=card.name, most=MOST, data={"question": question, "context": ""}
    )
    try:
        named = {normal_name(one.name): one for one in (await extract(chat, messages, PlainNames)).entities}
        others = [one for name, one in named.items() if name not in own]
        sure = await asyncio.gather(*(known(one, card, chat) for one in others))
    except UNANSWERED:
        return None, 0
    return min(sure, default=1.0), len(others)


async def known(one: PlainName, card: RoleCard, chat: ChatModel) -> float:
    """P(known) of one entity, of which no notes are there."""
    data = {"profile": card.profile, "entity": f"{one.name} ({one.type})", "notes": ""}
    decision = await decide(chat, load("judge_scope", card.language).messages(role=card.name, data=data))
    return certainty_of(decision)


def findings(records: Sequence[Scoped]) -> StudyFindings:
    """The numbers."""
    asked = [one for one in records if one.judged]
    answered = [one for one in asked if one.certainty is not None]
    bins = calibration(answered)
    above = ", ".join(sorted({f"{one.above:g}" for one in records}))
    return StudyFindings(
        (separation_rows(records), rate_rows(answered), calibration_rows(bins, answered)),
        how=(
            "P(known): the model names the entities of a question (`name_entities`) and judges for each whether the "
            "role can know it (`judge_scope`), as `nodes/graph/scoping.py` does for small models. A question is as "
            f"known as its least known entity, and out of scope below {above}, the default for the model. Two parts "
            "are left out because they take the embedded model minutes: the hypothetical context and the notes of a "
            "knowledge graph.",
            f"The model was asked about {ASKED} questions of each scope for each role, evenly spaced in "
            f"questions.jsonl ({len(asked)} in all; {len(asked) - len(answered)} without an answer are left out). The "
            "similarity of the nearest passage, which needs no model, uses all questions.",
        ),
        limits=(
            few(len({one.role for one in records})),
            "The questions were written to be in scope or out of scope. Rates for users' questions will differ. The "
            "threshold was measured on entities from Beethoven's documents.",
            "A knowledge graph has notes on the names in the documents; how much they help is not measured.",
            "Half of the questions are out of scope, so P(known) is calibrated for such a half at best.",
        ),
        calibration=tuple((mean, share) for _, mean, share in bins),
    )


def separation_rows(records: Sequence[Scoped]) -> StudyTable:
    """AUC of both detectors."""
    rows: list[tuple[Cell, ...]] = []
    areas: dict[str, dict[str, list[float]]] = {"P(known)": {}, "similarity": {}}
    for role in dict.fromkeys(one.role for one in records):
        of = [one for one in records if one.role == role]
        sure = [one for one in of if one.certainty is not None]
        scores = {
            "P(known)": separation(*halves(sure, [one.certainty or 0.0 for one in sure])),
            "similarity": separation(*halves(of, [one.similarity for one in of])),
        }
        for name, found in scores.items():
            if found is not None:
                areas[name][role] = [found.auc]
                rows.append((name, role, found, found.n_yes, found.n_no))
    rows += [(name, "over roles", over_roles(of), None, None) for name, of in areas.items() if of]
    return StudyTable("In scope or out: AUC", ("detector", "role", "AUC", "in scope", "out of scope"), tuple(rows))


def halves(records: Iterable[Scoped], scores: Iterable[float]) -> tuple[list[float], list[float]]:
    """Scores of what is in scope, and of what is not."""
    pairs = list(zip(records, scores, strict=True))
    return [score for one, score in pairs if one.known], [score for one, score in pairs if not one.known]


def rate_rows(records: Sequence[Scoped]) -> StudyTable:
    """What is refused at the default threshold."""
    rows: list[tuple[Cell, ...]] = []
    refused: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
    for role in dict.fromkeys(one.role for one in records):
        shares: list[Cell] = []
        for scope in (False, True):
            of = [one for one in records if one.role == role and one.known is scope]
            refused[scope][role] = [float(one.certainty is not None and one.certainty < one.above) for one in of]
            shares.append(wilson(int(sum(refused[scope][role])), len(of)) if of else None)
        rows.append((role, *shares))
    if rows:
        both = (refused[scope] for scope in (False, True))
        rows.append(("over roles", *(over_roles(of) if any(of.values()) else None for of in both)))
    columns = ("role", "out of scope, and seen to be", "in scope, and refused all the same")
    return StudyTable("Rates at the default threshold", columns, tuple(rows))


def calibration(records: Sequence[Scoped]) -> list[tuple[str, float, Share]]:
    """For each bin of P(known) that is not empty: its name, its mean P, and the share that is in scope."""
    found = []
    for low, high in pairwise(EDGES):
        of = [one for one in records if low <= (one.certainty or 0.0) < high or one.certainty == high == EDGES[-1]]
        if of:
            mean = float(np.mean([one.certainty for one in of]))
            found.append((f"{low:g} to {high:g}", mean, wilson(sum(one.known for one in of), len(of))))
    return found


def calibration_rows(bins: Sequence[tuple[str, float, Share]], records: Sequence[Scoped]) -> StudyTable:
    """The bins, and the Brier score beside that of always saying the share in scope."""
    rows: list[tuple[Cell, ...]] = [*bins]
    if records:
        found = brier([one.certainty or 0.0 for one in records], [one.known for one in records])
        rows.append((f"Brier score of {found.n}; always the share in scope: {found.reference:.3f}", found.score, None))
    return StudyTable("Calibration of P(known), all roles", ("P(known)", "mean P", "in scope"), tuple(rows))


STUDY = Study("scope-detection", "Out-of-scope detection", records, findings)
