"""The relation graph of a conversation: its edges with their scores, and the clique that is taken (DRMR 3.2)."""

import asyncio
from collections.abc import Sequence
from typing import Any, NotRequired, TypeVar

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from dramaturg.nodes.appraisal import Appraisal, AppraisalSettings
from dramaturg.nodes.asked_answers import progress
from dramaturg.nodes.context import respondent_of, role_of, settings
from dramaturg.nodes.current_dialogues import dialogues_of_turn
from dramaturg.nodes.dialogue_recall import DialogueRecallState, DialogueRevisionSettings
from dramaturg.nodes.edge_scores import Edge, EdgeScoring, ask_scores, edge_key, edges_of, score_in
from dramaturg.nodes.relation_graph import best_clique
from dramaturg.nodes.user_role import Cast, cast_of


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
    store, card = await dialogues_of_turn(context, state["version"]), role.card
    builder = role.dialogue_builder(context.index_kind)
    known = await asyncio.to_thread(builder.known)
    found = edges_of(store.get(one["dialogue"]) for one in state.get("known_dialogues", []))
    edges = [(edge_key(edge, card), edge) for edge in found]
    errors = failed_before(state, edges)
    left = {key: edge for key, edge in edges if key not in errors and score_in(known, key) is None}
    scoring = EdgeScoring(await respondent_of(context, role), card, context)

    errors |= await ask_scores(
        scoring, left, lambda had: asyncio.to_thread(builder.keep, had), progress(runtime, "edges", len(left))
    )
    known = await asyncio.to_thread(builder.known) if left else known
    relations = [relation(edge, score_in(known, key), errors.get(key, "")) for key, edge in edges]
    # What has not changed is not written: it would be stored with every turn.
    changed = {"relations": relations} if relations != state.get("relations") else {}
    return {**changed, "usage": {"score_edges": scoring.chat.account.usage()}}


def failed_before(state: RelationState, edges: Sequence[tuple[str, Edge]]) -> dict[str, str]:
    """The edges that were asked about in this turn before its revision, without an answer, and why."""
    if not any(one["revision"] for one in state["dialogues"]):
        return {}
    errors = {(*one["roles"], one["dialogue"]): one["error"] for one in state.get("relations", []) if one["error"]}
    asked = ((key, errors.get((*edge.pair, edge.dialogue.id))) for key, edge in edges)
    return {key: error for key, error in asked if error}


def relation(edge: Edge, found: Appraisal | None, error: str = "") -> Relation:
    """An edge as the state holds it."""
    return {
        "roles": list(edge.pair),
        "dialogue": edge.dialogue.id,
        "score": found.score if found else None,
        "reason": found.reason if found else "",
        "error": error,
    }


async def find_clique(state: RelationState, runtime: Runtime[R]) -> dict[str, Any]:
    """Take the maximal clique of both roles with the largest sum of scores, G' (Equation 3).

    It is empty where the two never speak with each other: an edge is not made up for them.
    """
    cast = await cast_of(settings(runtime, RelationSettings), state["version"])
    pairs = scored_pairs(state.get("relations", []))
    clique = clique_of(pairs, cast)
    within = [pair for pair in pairs if {*pair["roles"]} <= {*clique}]
    found = {
        "role": cast.card.name,
        "user_role": cast.user.known_as,
        "profile": bool(cast.user.profile),
        "clique": clique,
        "edges": within,
        "roles": sorted({name for pair in pairs for name in pair["roles"]}),
        "unscored": sum(one["score"] is None for one in state.get("relations", [])),
    }
    runtime.stream_writer({"event": "clique", **found})
    return {"clique": clique, "evidence": {"relations": found}}


def clique_of(pairs: Sequence[ScoredPair], cast: Cast) -> list[str]:
    """The best clique of the user's role and the model's; an edge without a score weighs nothing."""
    weighed = [(pair["roles"][0], pair["roles"][1], pair["score"] or 0.0) for pair in pairs]
    return best_clique(weighed, cast.user.speaker, cast.card.name) if cast.user.speaker else []


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
