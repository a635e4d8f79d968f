"""What is known of how the roles of a role's dialogues stand to each other: pairs, scores, and the user's clique."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dramaturg.nodes.dialogues.cast import UserRole, cast_of
from dramaturg.nodes.dialogues.edge_scores import edge_key, edges_of, score_in
from dramaturg.nodes.dialogues.relations import (
    Relation,
    RelationSettings,
    ScoredPair,
    clique_of,
    relation,
    scored_pairs,
)
from dramaturg.nodes.run import run_of
from dramaturg.stores.index.dialogues import DialogueStore
from dramaturg.stores.role import Role


class KnownRelations(NamedTuple):
    """All dialogues of a role, who speaks with whom in them, and the clique of the user's role."""

    role: Role
    store: DialogueStore
    user: UserRole
    relations: Sequence[Relation]
    """An edge a dialogue."""
    pairs: Sequence[ScoredPair]
    """Two roles once, the highest score first; those without one last."""
    clique: Sequence[str]

    @property
    def name(self) -> str:
        """The name of the role that answers."""
        return self.role.card.name

    @property
    def unscored(self) -> int:
        """How many edges have no score."""
        return sum(one["score"] is None for one in self.relations)

    def within(self) -> list[ScoredPair]:
        """The pairs of the clique."""
        return [pair for pair in self.pairs if {*pair["roles"]} <= {*self.clique}]

    def counts(self) -> list[tuple[str, int, int]]:
        """Each role with the number of its dialogues and of those it speaks with; who speaks most comes first."""
        told = [one.speakers for one in self.store.dialogues]
        graph = self.store.graph
        rows = [(name, sum(name in speakers for speakers in told), graph.degree(name)) for name in graph]
        return sorted(rows, key=lambda row: (-row[1], -row[2], row[0]))


def known_relations(context: RelationSettings) -> KnownRelations:
    """Read the dialogues that are indexed, and the scores that are kept.

    Raises:
        MissingIndex: the dialogues are not indexed.
        ValueError: the user would play the role that answers.
    """
    cast = asyncio.run(cast_of(asyncio.run(run_of(context)), ""))
    scores, edges = cast.role.index(context.index_kind).builder.known(), edges_of(cast.store.dialogues)
    relations = [relation(edge, score_in(scores, edge_key(edge, cast.card))) for edge in edges]
    pairs = sorted(scored_pairs(relations), key=strongest_first)
    return KnownRelations(cast.role, cast.store, cast.user, relations, pairs, clique_of(pairs, cast))


def strongest_first(pair: ScoredPair) -> tuple[bool, float, int, list[str]]:
    """How pairs are sorted: by score, then by the number of their dialogues."""
    return pair["score"] is None, -(pair["score"] or 0.0), -len(pair["dialogues"]), pair["roles"]


def as_record(known: KnownRelations) -> dict[str, Any]:
    """Relations for a program."""
    counts = known.counts()
    return {
        "role": known.role.id,
        "version": known.store.version,
        "user_role": known.user.known_as,
        "speaker": known.user.speaker,
        "clique": list(known.clique),
        "unscored": known.unscored,
        "roles": [{"role": name, "dialogues": told, "partners": met} for name, told, met in counts],
        "relations": [{**pair, "dialogues": scored_dialogues(known, pair)} for pair in known.pairs],
    }


def scored_dialogues(known: KnownRelations, pair: ScoredPair) -> list[dict[str, Any]]:
    """The dialogues in which two roles speak with each other, with the score of each; the highest first."""
    own = [one for one in known.relations if one["roles"] == pair["roles"]]
    return [scored(known, one) for one in sorted(own, key=lambda one: -(one["score"] or 0.0))]


def scored(known: KnownRelations, one: Relation) -> dict[str, Any]:
    """An edge, with where its dialogue is written."""
    dialogue = known.store.get(one["dialogue"])
    place: Mapping[str, str] = {"scene": dialogue.scene, "source": dialogue.source}
    return {"dialogue": one["dialogue"], **place, "score": one["score"], "reason": one["reason"]}
