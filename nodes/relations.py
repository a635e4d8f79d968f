"""The relation graph of a conversation: its edges with their scores, and the clique that is taken (DRMR 3.2)."""

import asyncio
from collections.abc import Sequence
from typing import Any, NotRequired, TypeVar

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.appraisal import AppraisalSettings
from dramaturg.nodes.asked_answers import Answers, answer_all, progress
from dramaturg.nodes.context import respondent_of, role_of, settings
from dramaturg.nodes.current_dialogues import dialogues_of_turn
from dramaturg.nodes.dialogue_recall import DialogueRecallState, DialogueRevisionSettings
from dramaturg.nodes.edge_scores import Edge, EdgeScoring, edge_key, edges_of, score_in
from dramaturg.nodes.relation_graph import best_clique
from dramaturg.nodes.user_role import UserRole, user_role_of
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import RoleCard


class RelationSettings(DialogueRevisionSettings, AppraisalSettings):
    """How relations are weighed."""


class Relation(TypedDict):
    """An edge: two roles who speak with each other in a dialogue. Without a score, `error` says why."""

    roles: list[str]
    dialogue: str
    score: float | None
    reason: str
    error: str


class ScoredPair(TypedDict):
    """Two roles of the clique, with the score s_ij of their edge: the highest that a dialogue of theirs has."""

    roles: list[str]
    score: float | None
    reason: str
    dialogues: list[str]


class RelationState(DialogueRecallState):
    """What relating reads and writes; `relations`, the graph G, lives on."""

    relations: NotRequired[list[Relation]]
    clique: list[str]


R = TypeVar("R", bound=RelationSettings)


async def score_edges(state: RelationState, runtime: Runtime[R]) -> dict[str, Any]:
    """Put the dialogues into G, and score the edges that have no score yet (Equation 2), all at once.

    A score is kept with the role, under the text of its dialogue: no conversation asks for it again. An edge whose
    score cannot be had is there all the same, weighs nothing, and is asked about again in the next turn.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    context = settings(runtime, RelationSettings)
    role = await role_of(context)
    store = await dialogues_of_turn(context, state["version"])
    builder = role.dialogue_builder(context.index_kind)
    edges = edges_of(store.get(one["dialogue"]) for one in state.get("known_dialogues", []))
    known, errors = dict(await asyncio.to_thread(builder.known)), failed_before(state, edges, role.card)
    unscored = {key: edge for edge in edges if score_in(known, (key := edge_key(edge, role.card))) is None}
    left = {key: edge for key, edge in unscored.items() if key not in errors}
    scoring = EdgeScoring(await respondent_of(context, role), role.card, context)

    async def asked(edge: Edge) -> Answers:
        try:
            found = await scoring.answers(edge)
        except UNANSWERED as error:
            errors[edge_key(edge, role.card)] = str(error)
            return {}
        known.update(found)
        return found

    await answer_all(
        left,
        asked,
        keep=lambda had: asyncio.to_thread(builder.keep, had),
        announce=progress(runtime, "edges", len(left)),
    )
    relations = [relation(edge, known, errors, edge_key(edge, role.card)) for edge in edges]
    # What has not changed is not written: it would be stored with every turn.
    changed = {"relations": relations} if relations != state.get("relations") else {}
    return {**changed, "usage": {"score_edges": scoring.respondent.account.usage()}}


def failed_before(state: RelationState, edges: Sequence[Edge], card: RoleCard) -> dict[str, str]:
    """The edges that were asked about in this turn before its revision, without an answer, and why."""
    if not any(one["revision"] for one in state["dialogues"]):
        return {}
    errors = {(*one["roles"], one["dialogue"]): one["error"] for one in state.get("relations", []) if one["error"]}
    asked = ((edge_key(edge, card), errors.get((*edge.pair, edge.dialogue.id))) for edge in edges)
    return {key: error for key, error in asked if error}


def relation(edge: Edge, known: Answers, errors: dict[str, str], key: str) -> Relation:
    """An edge as the state holds it."""
    found = score_in(known, key)
    return {
        "roles": list(edge.pair),
        "dialogue": edge.dialogue.id,
        "score": found.score if found else None,
        "reason": found.reason if found else "",
        "error": errors.get(key, ""),
    }


async def find_clique(state: RelationState, runtime: Runtime[R]) -> dict[str, Any]:
    """Take the maximal clique of both roles with the largest sum of scores, G' (Equation 3).

    It is empty where the two never speak with each other: an edge is not made up for them.
    """
    context = settings(runtime, RelationSettings)
    role = await role_of(context)
    user = await user_role_of(context, role, await dialogues_of_turn(context, state["version"]))
    pairs = scored_pairs(state.get("relations", []))
    clique = clique_of(pairs, user, role)
    within = [pair for pair in pairs if {*pair["roles"]} <= {*clique}]
    found = {
        "role": role.card.name,
        "user_role": user.key,
        "profile": bool(user.profile),
        "clique": clique,
        "edges": within,
        "roles": sorted({name for pair in pairs for name in pair["roles"]}),
        "unscored": sum(one["score"] is None for one in state.get("relations", [])),
    }
    runtime.stream_writer({"event": "clique", **found})
    return {"clique": clique, "evidence": {"relations": found}}


def clique_of(pairs: Sequence[ScoredPair], user: UserRole, role: Role) -> list[str]:
    """The best clique of the user's role and the model's; an edge without a score weighs nothing."""
    weighed = [(pair["roles"][0], pair["roles"][1], pair["score"] or 0.0) for pair in pairs]
    return best_clique(weighed, user.speaker, role.card.name) if user.speaker else []


def scored_pairs(relations: Sequence[Relation]) -> list[ScoredPair]:
    """The edges of G, one for two roles: with the score of the dialogue in which they matter most, and why."""
    pairs: dict[tuple[str, str], ScoredPair] = {}
    for one in relations:
        first, second = one["roles"]
        pair = pairs.setdefault((first, second), {"roles": one["roles"], "score": None, "reason": "", "dialogues": []})
        pair["dialogues"].append(one["dialogue"])
        if one["score"] is not None and (pair["score"] is None or one["score"] > pair["score"]):
            pair["score"], pair["reason"] = one["score"], one["reason"]
    return list(pairs.values())
