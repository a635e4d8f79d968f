"""What chunks say of entities and relations, each saying with the sentence that it comes from."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import JsonValue

from dramaturg.nodes.entity_normalization import Named, in_former_order
from dramaturg.nodes.fact_extraction import facts_key, sentences_of
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.graph import EntityType, Statement
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.stores.names import normal_name

ORDER = answer_key("order")  # under which the order of 𝒩 is kept, from one version to the next


class EntityMention(NamedTuple):
    """A name in a chunk, and what is said of it there; nothing where only a relation names it."""

    key: str
    name: str
    type: EntityType
    quoted: bool
    """Whether the statement is the sentence itself, and not what the model says of it."""
    statement: Statement | None


class RelationMention(NamedTuple):
    """Two names that a sentence connects."""

    source: str
    target: str
    strength: int
    statement: Statement


class Mentions(NamedTuple):
    """The databases 𝒩 and ℛ, before names are made one."""

    entities: tuple[EntityMention, ...]
    relations: tuple[RelationMention, ...]


M = TypeVar("M", EntityMention, RelationMention)


def mentions_in(chunks: Iterable[StoredPassage], answers: Mapping[str, JsonValue]) -> Mentions:
    """Read the facts of all chunks; a relation of a name with itself tells nothing and is left out."""
    entities: list[EntityMention] = []
    relations: list[RelationMention] = []
    for chunk in chunks:
        facts = cast("dict[str, Any]", answers.get(facts_key(chunk)) or {"entities": [], "relations": []})
        spans = sentences_of(chunk)
        entities += (_entity(fact, _statement(fact, chunk, spans)) for fact in facts["entities"])
        for fact in facts["relations"]:
            ends = normal_name(fact["source"]), normal_name(fact["target"])
            if ends[0] != ends[1]:
                entities += (
                    EntityMention(normal_name(fact[end]), fact[end], "other", False, None)
                    for end in ("source", "target")
                )
                relations.append(RelationMention(*ends, fact["strength"], _statement(fact, chunk, spans)))
    return Mentions(_once(entities), _once(relations))


def names_in(answers: Iterable[JsonValue]) -> list[str]:
    """All names that any facts among these answers hold, of chunks that are there or were."""
    facts = [cast("dict[str, Any]", one) for one in answers if isinstance(one, dict) and "entities" in one]
    named = [str(one["name"]) for fact in facts for one in fact["entities"]]
    return named + [str(one[end]) for fact in facts for one in fact["relations"] for end in ("source", "target")]


def entities_in(mentions: Mentions, before: Sequence[str] = ()) -> list[Named]:
    """The entity database 𝒩: each name once, as it is written most often, with what is said of it first."""
    written: dict[str, Counter[str]] = {}
    said: dict[str, EntityMention] = {}
    types: dict[str, list[EntityType]] = {}
    for one in mentions.entities:
        written.setdefault(one.key, Counter())[one.name] += 1
        types.setdefault(one.key, []).append(one.type)
        if one.statement:
            said.setdefault(one.key, one)
    found = [
        _named(key, names.most_common(1)[0][0], said.get(key), type_of(types[key])) for key, names in written.items()
    ]
    return in_former_order(found, before)


def _named(key: str, name: str, said: EntityMention | None, kind: EntityType) -> Named:
    if said is None or said.statement is None:
        return Named(key, name, "", type=kind)
    place = said.statement.source, said.statement.start, said.statement.end
    return Named(key, name, said.statement.text, place if said.quoted else None, kind)


def order_in(answers: Mapping[str, JsonValue]) -> list[str]:
    """The order of 𝒩 in the version before."""
    return cast("list[str]", answers.get(ORDER, []))


def type_of(types: Iterable[EntityType]) -> EntityType:
    """The type that is given most often, the first of them; "other" only where there is no better."""
    counted = Counter(one for one in types if one != "other")
    return counted.most_common(1)[0][0] if counted else "other"


def _once(mentions: Iterable[M]) -> tuple[M, ...]:
    """Each mention once: what stands where two chunks overlap is extracted from both."""
    found: dict[tuple[object, ...], M] = {}
    for mention in mentions:
        *named, statement = mention
        found.setdefault((*named, statement and statement.told), mention)
    return tuple(found.values())


def _entity(fact: Mapping[str, Any], statement: Statement) -> EntityMention:
    return EntityMention(normal_name(fact["name"]), fact["name"], fact["type"], "description" not in fact, statement)


def _statement(fact: Mapping[str, Any], chunk: StoredPassage, spans: Sequence[tuple[int, int]]) -> Statement:
    """The description, or the sentence itself where the model was only asked for its number."""
    begin, end = spans[fact["sentence"] - 1]
    text = fact.get("description") or " ".join(chunk.text[begin:end].split())
    start = chunk.start + begin
    return Statement(text=text, passage=chunk.id, source=chunk.source, start=start, end=chunk.start + end)
