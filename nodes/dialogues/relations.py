"""The relation graph of a conversation: its edges with their scores, and the clique that is taken (DRMR 3.2)."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import fsum, isfinite
from threading import Lock
from typing import Annotated, Any, NotRequired, TypeAlias
from weakref import WeakKeyDictionary

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.asking import progress
from dramaturg.nodes.dialogues.cast import Cast, cast_of
from dramaturg.nodes.dialogues.index import DialogueEdge, EdgeScoring, ask_scores, edge_key, edges_of, score_of
from dramaturg.nodes.dialogues.recall import DialogueRecallState, DialogueRevisionSettings, known_in
from dramaturg.nodes.edited import entries
from dramaturg.nodes.judgement import Appraisal, AppraisalSettings
from dramaturg.nodes.run import needs, open_run
from dramaturg.stores.index.dialogues import DIALOGUE_KIND, DialogueStore, Graph, Pair


class RelationSettings(DialogueRevisionSettings, AppraisalSettings):
    """How relations are weighed."""


class RoleRelation(TypedDict):
    """An edge: two roles who speak with each other, with the dialogues of the conversation in which they do.

    Without a score, `error` says why it could not be had; it is empty where nobody needed it. An earlier version had an
    edge for each dialogue, which is none of `dialogues`: the next turn makes the relations again.
    """

    roles: list[str]
    score: float | None
    reason: str
    dialogues: NotRequired[list[str]]
    error: str


TURN = "turn "
"""What a turn's name begins with where it stands among those of dialogues: something is from the talk itself."""


def is_talked(one: Mapping[str, Any]) -> bool:
    """Whether an edge, or a record, is from what the two have said in the talk itself."""
    return any(str(name).startswith(TURN) for name in one["dialogues"])


class EarlierRecord(TypedDict):
    """A record of how the two have come to stand in an earlier talk, its name, and the turns that it is made from."""

    text: str
    talk: str
    dialogues: list[str]


EarlierRecords = Annotated[
    list[EarlierRecord],
    Field(description="How the two have come to stand in earlier talks of the same person; read again in each turn."),
]


def earlier_in(state: Mapping[str, Any]) -> list[EarlierRecord]:
    """The records of earlier talks in a state."""
    return entries(state, "earlier_records", EarlierRecord)


RelationGraph = Annotated[
    list[RoleRelation], Field(description="The relation graph G, with scores; it lives on from turn to turn.")
]


class RelationState(DialogueRecallState):
    """What relating reads and writes."""

    relations: NotRequired[RelationGraph]
    earlier_records: NotRequired[EarlierRecords]
    clique: Annotated[list[str], Field(description="The roles who all speak with each other: the maximal clique.")]


@needs(dialogues="recall_dialogues")
async def score_edges(state: RelationState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Put the dialogues into G, and score the edges on the user's way that have no score yet (Equation 2), all at once.

    Only edges among the two and who speaks with both of them decide on the clique (Equation 3); the others are in G
    without being asked about. Two roles are asked about once, with all of their dialogues together. A score is kept
    with the role, under the text of these: no conversation asks for it again. An edge whose score cannot be had is
    there all the same, weighs nothing, and is not asked about again in this conversation. Nor is one that the talk
    itself has made, between the two: it is in every clique of both, where a score of it would decide nothing.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    run = await open_run(runtime, RelationSettings)
    cast = await cast_of(run, state.get("dialogues_version"))
    index, card = run.role.index(DIALOGUE_KIND), cast.card
    known = await asyncio.to_thread(index.builder.known_here)
    found = edges_of(cast.store.get(one["dialogue"]) for one in known_in(state))
    of_all = await asyncio.to_thread(whole_edges, cast.store)
    whole = {edge.pair: of_all[edge.pair] for edge in found}
    before = entries(state, "relations", RoleRelation, score=None, reason="", dialogues=[], error="")
    errors = {tuple(one["roles"]): one["error"] for one in before if one["error"] and one["dialogues"]}
    talked = [one for one in before if is_talked(one) and tuple(one["roles"]) not in whole]
    near = roles_near([*whole, *pairs_of([*talked, *earlier_edge(state, cast)])], cast.user.speaker, card.name)
    left = {
        edge_key(edge, card): edge
        for pair, edge in whole.items()
        if near.issuperset(pair) and pair not in errors and score_of(known, edge, card) is None
    }
    failed = await ask_scores(
        EdgeScoring(run, card),
        left,
        lambda had: asyncio.to_thread(index.builder.keep, had),
        progress(runtime, "edges", len(left)),
    )
    errors |= {left[key].pair: error for key, error in failed.items()}
    known = await asyncio.to_thread(index.builder.known_here) if left else known
    relations = [relation(edge, score_of(known, whole[edge.pair], card), errors.get(edge.pair, "")) for edge in found]
    relations += talked
    # What has not changed is not written: it would be stored with every turn.
    changed = {"relations": relations} if relations != state.get("relations") else {}
    cut = [note for edge in left.values() if (one := score_of(known, edge, card)) for note in one.dropped]
    evidence = {"evidence": {"edges_dropped": cut}} if cut else {}
    return {**changed, **evidence, "usage": {"score_edges": run.usage}}


def earlier_edge(state: RelationState, cast: Cast) -> list[RoleRelation]:
    """The edge of two who have talked in an earlier talk, where G has none of them.

    It is none of G that lives on: what is forgotten there joins nobody here.
    """
    told = [one for record in earlier_in(state) for one in record["dialogues"]]
    roles = sorted((cast.user.speaker or cast.user.name, cast.card.name))
    if not (told and cast.user.known_as) or any(one["roles"] == roles for one in state.get("relations") or []):
        return []
    return [{"roles": roles, "score": None, "reason": "", "dialogues": told, "error": ""}]


def pairs_of(relations: Iterable[RoleRelation]) -> list[Pair]:
    """Whom edges join."""
    return [(one["roles"][0], one["roles"][1]) for one in relations]


_whole: WeakKeyDictionary[DialogueStore, dict[Pair, DialogueEdge]] = WeakKeyDictionary()
_lock = Lock()


def whole_edges(store: DialogueStore) -> dict[Pair, DialogueEdge]:
    """All edges of a version, with all of their dialogues; put together once and forgotten with it."""
    with _lock:
        if store not in _whole:
            _whole[store] = {edge.pair: edge for edge in edges_of(store.dialogues)}
        return _whole[store]


def relation(edge: DialogueEdge, found: Appraisal | None, error: str = "") -> RoleRelation:
    """An edge as the state holds it."""
    return {
        "roles": list(edge.pair),
        "score": found.score if found else None,
        "reason": found.reason if found else "",
        "dialogues": [one.id for one in edge.dialogues],
        "error": "" if found else error,
    }


async def find_clique(state: RelationState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Take the maximal clique of both roles with the largest sum of scores, G' (Equation 3).

    It is empty where the two never speak with each other: an edge is not made up for them.
    """
    cast = await cast_of(await open_run(runtime, RelationSettings), state.get("dialogues_version"))
    relations = [*state.get("relations", []), *earlier_edge(state, cast)]
    clique = clique_of(relations, cast)
    found = {
        "role": cast.card.name,
        "user_role": cast.user.known_as,
        "profile": bool(cast.user.profile),
        "clique": clique,
        "edges": [shown(one) for one in relations if {*one["roles"]} <= {*clique}],
        "roles": sorted({name for one in relations for name in one["roles"]}),
        "unscored": sum(bool(one["error"]) for one in relations),
    }
    runtime.stream_writer({"event": "clique", **found})
    return {"clique": clique, "evidence": {"relations": found}}


def shown(relation: RoleRelation) -> dict[str, Any]:
    """An edge as the evidence shows it."""
    return {name: value for name, value in relation.items() if name != "error"}


def clique_of(relations: Sequence[RoleRelation], cast: Cast) -> list[str]:
    """The best clique of the user's role and the model's; an edge without a score weighs nothing."""
    weighed = [(one["roles"][0], one["roles"][1], one["score"] or 0.0) for one in relations]
    return best_clique(weighed, cast.user.speaker, cast.card.name) if cast.user.speaker else []


ScoredEdge: TypeAlias = tuple[str, str, float]


def best_clique(edges: Iterable[ScoredEdge], user: str, model: str) -> list[str]:
    """Return G', the maximal clique that holds both roles and has the largest sum of edge scores (Equation 3).

    The maximal cliques that hold u and m are {u, m} with each maximal clique of their common neighbours, so
    Bron-Kerbosch looks at nobody else. Of several with the largest sum, the one with more roles is taken; of several of
    those, the one whose sorted names come first.

    Args:
        edges: (role, role, score s_ij), in any order; an edge that is there again replaces the one before.
        user: the role E_u.
        model: the role E_m.

    Returns:
        Sorted names: the two alone where no third role speaks with both, none where they do not speak with each other.

    Raises:
        ValueError: a role is joined with itself, a score is no finite number, or the two are the same.
    """
    import networkx as nx

    if user == model:
        raise ValueError(f"The user and the model play two roles, not {user!r} twice.")
    scored = list(edges)
    for one, other, score in scored:
        if one == other or not isfinite(score):
            raise ValueError(f"An edge joins two roles and has a finite score, not {(one, other, score)!r}.")
    near: Graph = nx.Graph()
    looked_at = roles_near([(one, other) for one, other, _ in scored], user, model)
    near.add_weighted_edges_from(edge for edge in scored if edge[0] in looked_at and edge[1] in looked_at)
    if not looked_at:
        return []
    around = near.subgraph(looked_at - {user, model}).copy()  # of a view, find_cliques would look through all each time
    cliques = [sorted((user, model, *roles)) for roles in nx.find_cliques(around)] or [sorted((user, model))]
    return min(cliques, key=lambda roles: (-weight(near, roles), -len(roles), roles))


def roles_near(pairs: Collection[Pair], user: str | None, model: str) -> set[str]:
    """The user's role, the model's, and who speaks with both: nobody else is in a clique of the two.

    There is nobody where the two do not speak with each other.
    """
    of_user, of_model = (
        {other if one == role else one for one, other in pairs if role in (one, other)} for role in (user, model)
    )
    return {user, model, *(of_user & of_model)} if user and user in of_model else set()


def weight(graph: Graph, roles: Collection[str]) -> float:
    """The sum of the scores of a clique's edges, the same in any order."""
    return fsum(graph.edges[pair]["weight"] for pair in combinations(roles, 2))
