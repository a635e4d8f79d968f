"""Graph construction (RoleRAG 3.3): facts under their canonical names, and one description for what is told twice."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from dramaturg.nodes.graph_facts import EntityMention, Mentions, RelationMention, type_of
from dramaturg.stores.index.graph import Entity, Graph, Relation, Statement, graph_of
from dramaturg.stores.merge_files import Merge
from dramaturg.stores.names import normal_name


class Told(NamedTuple):
    """What is told of an entity or a relation, to be made one description where it is told more than once."""

    title: str
    texts: tuple[str, ...]


Describe = Callable[[Told], str]


class Skeleton(NamedTuple):
    """The graph before its descriptions are made one: what each node and edge is made of."""

    entities: Mapping[str, tuple[EntityMention, ...]]
    relations: Mapping[tuple[str, str], tuple[RelationMention, ...]]
    loops: Mapping[str, tuple[Statement, ...]]
    """What connects two names that became one: told of the entity now."""


def skeleton_of(mentions: Mentions, groups: Iterable[Merge]) -> Skeleton:
    """Rename all mentions by the mapping table, and put those of one node, and of one pair of nodes, together."""
    canonical = {normal_name(name): group.name for group in groups for name in group.names}
    entities: dict[str, list[EntityMention]] = {}
    for one in mentions.entities:
        entities.setdefault(canonical[one.key], []).append(one)
    relations: dict[tuple[str, str], list[RelationMention]] = {}
    loops: dict[str, list[Statement]] = {}
    for two in mentions.relations:
        source, target = canonical[two.source], canonical[two.target]
        if source == target:
            loops.setdefault(source, []).append(two.statement)
            continue
        ends = (target, source) if (target, source) in relations else (source, target)
        relations.setdefault(ends, []).append(two)
    return Skeleton(
        {name: tuple(found) for name, found in entities.items()},
        {ends: tuple(found) for ends, found in relations.items()},
        {name: tuple(found) for name, found in loops.items()},
    )


def told_in(skeleton: Skeleton) -> list[Told]:
    """All that is told more than once of one entity or relation."""
    entities = (Told(name, texts(_statements(skeleton, name))) for name in skeleton.entities)
    relations = (Told(title(*ends), texts(_said(found))) for ends, found in skeleton.relations.items())
    return [one for one in (*entities, *relations) if len(one.texts) > 1]


def built(skeleton: Skeleton, describe: Describe) -> Graph:
    """Put the graph Ĝ together (Equation 1).

    Args:
        skeleton: what it is made of.
        describe: gives the one description for what is told, at least one text.
    """
    return graph_of(
        (_entity(skeleton, name, describe) for name in skeleton.entities),
        (_relation(ends, found, describe) for ends, found in skeleton.relations.items()),
    )


def texts(statements: Iterable[Statement]) -> tuple[str, ...]:
    """What statements say, each text once."""
    return tuple(dict.fromkeys(one.text for one in statements))


def title(source: str, target: str) -> str:
    """What a relation is called."""
    return f"{source} – {target}"


def _entity(skeleton: Skeleton, name: str, describe: Describe) -> Entity:
    mentions, statements = skeleton.entities[name], _statements(skeleton, name)
    said = texts(statements)
    return Entity(
        name=name,
        type=type_of(one.type for one in mentions),
        description=describe(Told(name, said)) if said else "",
        names=_names(name, mentions),
        statements=statements,
    )


def _relation(ends: tuple[str, str], mentions: Sequence[RelationMention], describe: Describe) -> Relation:
    statements = _said(mentions)
    return Relation(
        source=ends[0],
        target=ends[1],
        description=describe(Told(title(*ends), texts(statements))),
        strength=max(one.strength for one in mentions),
        statements=statements,
    )


def _names(name: str, mentions: Sequence[EntityMention]) -> tuple[str, ...]:
    """The canonical name, then the others, those that are written most often first; each spelling once."""
    written = [one for one, _ in Counter(mention.name for mention in mentions).most_common()]
    return tuple({normal_name(one): one for one in reversed([name, *written])}.values())[::-1]


def _statements(skeleton: Skeleton, name: str) -> tuple[Statement, ...]:
    own = (one.statement for one in skeleton.entities[name] if one.statement)
    return _once([*own, *skeleton.loops.get(name, ())])


def _said(mentions: Iterable[RelationMention]) -> tuple[Statement, ...]:
    return _once(one.statement for one in mentions)


def _once(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Each statement once, from the first chunk that tells it."""
    found: dict[tuple[str, str, int, int], Statement] = {}
    for one in statements:
        found.setdefault(one.told, one)
    return tuple(found.values())
