"""Entity normalization (RoleRAG 3.2, Algorithm 1): which names mean the same, as pure steps without a model."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from networkx.utils import UnionFind

from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.graph import embedding_text
from dramaturg.stores.index.vectors import Vectors, nearest_before
from dramaturg.stores.names import normal_name

T = TypeVar("T")


class Named(NamedTuple):
    """n_i of the entity database 𝒩: names in one normal spelling are one entity, with what was said of it first."""

    key: str
    name: str
    description: str
    place: tuple[str, int, int] | None = None
    """Document, start and end of the sentence, where the description is a quotation of it."""
    type: str = "other"

    @property
    def text(self) -> str:
        """What is embedded: name and description."""
        return embedding_text(self.name, self.description)

    @property
    def entry(self) -> str:
        """What a model compares: name and description; without a description of its own, name and type.

        A sentence that names several things describes none of them: shown it, a small model compares sentences.
        """
        return f"{self.name} ({self.type})" if self.place else self.text


@dataclass(frozen=True)
class Pair:
    """Two entities to be compared, and the cosine similarity of the two."""

    one: Named
    other: Named
    similarity: float

    @cached_property
    def compared(self) -> tuple[str, str]:
        """What a model compares, in one order whichever came first."""
        one, other = sorted((self.one.entry, self.other.entry))
        return one, other

    @cached_property
    def same_key(self) -> str:
        """What the answer on it is kept by."""
        return answer_key("same", *self.compared)

    @property
    def why_key(self) -> str:
        """What the reason for an answer is kept by."""
        return answer_key("why", *self.compared)


class EntityMatch(NamedTuple):
    """What was found of two entities, by their keys: the same, an edge of the entity graph 𝒢, or not."""

    one: str
    other: str
    similarity: float | None = None
    certainty: float | None = None
    reason: str = ""
    same: bool = True


def merge_groups(names: Sequence[str], same: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Put names that mean the same into groups: the connected components of 𝒢 (Algorithm 1, lines 3 to 23).

    Args:
        names: all names; one that is there twice counts once.
        same: pairs of names that mean the same, in any order.

    Returns:
        Every name in exactly one group; groups, and the names in them, in order of first appearance.

    Raises:
        ValueError: a pair holds a name that is not among `names`.
    """
    import networkx as nx

    graph: nx.Graph = nx.Graph()  # type: ignore[type-arg]
    graph.add_nodes_from(names)
    for one, other in same:
        unknown = [name for name in (one, other) if name not in graph]
        if unknown:
            msg = f"A pair holds {unknown[0]!r}, which is not among the names."
            raise ValueError(msg)
        graph.add_edge(one, other)
    place = {name: at for at, name in enumerate(graph)}
    groups = [sorted(component, key=place.__getitem__) for component in nx.connected_components(graph)]
    return sorted(groups, key=lambda group: place[group[0]])


def in_former_order(items: Iterable[T], before: Sequence[str], key: Callable[[T], str]) -> list[T]:
    """Put what was there before first, in the order of then, so that its pairs stay the same."""
    place = {one: at for at, one in enumerate(before)}
    return sorted(items, key=lambda item: place.get(key(item), len(place)))


def candidate_pairs(entities: Sequence[Named], vectors: Vectors, k: int) -> list[Pair]:
    """Pair each entity with the k nearest of those before it, f_k(𝒱, n_i) (Algorithm 1, lines 5 to 12).

    Which pairs these are depends on no answer, so that all of them can be asked about at once.

    Args:
        entities: 𝒩, without doubles.
        vectors: unit vectors of shape (n, d), one an entity.
        k: how many neighbours.

    Returns:
        Pairs in the order of the algorithm, the most similar neighbour first; equal ones in the order of 𝒩.
    """
    found = zip(entities, nearest_before(vectors, k), strict=True)
    return [Pair(entities[other], entity, score) for entity, neighbours in found for other, score in neighbours]


def groups_with_decisions(
    keys: Sequence[str],
    matches: Iterable[EntityMatch],
    decided: Iterable[Sequence[str]],
    refused: Iterable[tuple[str, str]] = (),
) -> list[list[str]]:
    """Put entities into groups by matches, and by what a person has decided, which no match overrules.

    Args:
        keys: all entities.
        matches: who was held for the same.
        decided: groups of names that a person has settled. Two of them are never joined, also not by way of other
            names: the less certain match is left out.
        refused: who was held for two. A chain of matches between them is cut at its least certain match; a match for
            which nothing was compared, since the role's card has it, is not overruled.

    Returns:
        Groups as those of `merge_groups`, and the same where nothing was decided or refused.
    """
    known = set(keys)
    settled = [[key for key in map(normal_name, names) if key in known] for names in decided]
    joined: UnionFind[str] = UnionFind(keys)
    for group in settled:
        joined.union(*group)
    owners = {joined[group[0]]: at for at, group in enumerate(settled) if group}
    kept = [(group[0], key) for group in settled for key in group[1:]]
    foes: dict[str, set[str]] = {}
    for one, other in refused:
        foes.setdefault(joined[one], set()).add(other)
        foes.setdefault(joined[other], set()).add(one)

    def certainty(match: EntityMatch) -> tuple[float, ...]:
        return tuple(1.0 if sure is None else sure for sure in (match.certainty, match.similarity))

    for match in sorted(matches, key=certainty, reverse=True):
        one, other = joined[match.one], joined[match.other]
        held = {owners[root] for root in (one, other) if root in owners}
        opposed = match.similarity is not None and other in {joined[foe] for foe in foes.get(one, ())}
        if one != other and (len(held) > 1 or opposed):
            continue
        joined.union(one, other)
        kept.append((match.one, match.other))
        root, against = joined[one], foes.get(one, set()) | foes.get(other, set())
        foes[root] = against
        for at in held:
            owners[root] = at
    return merge_groups(keys, kept)
