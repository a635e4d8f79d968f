"""One description for what is told several times of an entity or a relation (RoleRAG 3.3)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import write
from dramaturg.nodes.graph.draft import GraphDraftState
from dramaturg.nodes.graph.facts import (
    EntityMention,
    ExtractionSettings,
    Mentions,
    RelationMention,
    mentions_in,
    type_of,
)
from dramaturg.nodes.graph.merging import Asked, NormalizationSettings, asked_of
from dramaturg.nodes.graph.planning import merge_plan
from dramaturg.nodes.index_steps import Answers, answer_all, progress, unless_overtaken
from dramaturg.prompts import load
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.graph import Entity, Graph, Relation, Statement, graph_of
from dramaturg.stores.merge_files import Merge
from dramaturg.stores.names import normal_name

SHOWN = 6000  # characters in one question; more is summarized in parts, then the parts


CLIPPED = 1500  # the most that is shown of one text


QUOTED = 500  # characters of sentences that a small model need not sum up


class DescriptionSettings(ExtractionSettings, NormalizationSettings):
    """How descriptions are made one."""

    summarize_above: int | None = Field(
        default=None,
        ge=0,
        le=10_000,
        description="Characters; what is told of one entity in fewer is put together as it is. "
        "Default: 0, all is summarized (the paper), and 500 where sentences are quoted.",
    )
    description_tokens: int = Field(default=120, ge=16, le=1000, description="The most tokens of a summary.")


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


@unless_overtaken
async def summarize_facts(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have what is told more than once of an entity or a relation made one description.

    Where there is none, what is told stands in its place as it is, and the report counts it.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    asked = await asked_of(runtime, state["draft"])
    told = [one for one in told_in(await skeleton(asked, runtime)) if long_enough(one, asked)]
    tried: set[Told] = set()
    while left := [one for one in await unsummarized(told, asked) if one not in tried]:
        await ask_summaries(left, asked, runtime)
        tried |= set(left)
    return {"usage": {"summarize_facts": asked.chat.account.usage()}}


async def skeleton(asked: Asked, runtime: Runtime[Any]) -> Skeleton:
    """The graph before its descriptions are made one."""
    chunks = await asyncio.to_thread(asked.builder.records, asked.draft)
    plan = await merge_plan(asked, runtime)
    return skeleton_of(mentions_in(chunks, await asked.answers()), plan.groups())


def long_enough(told: Told, asked: Asked) -> bool:
    """Whether what is told is worth a question."""
    context = cast("DescriptionSettings", asked.context)
    above = context.summarize_above
    if above is None:
        above = QUOTED if context.quotes(asked.chat) else 0
    return sum(map(len, told.texts)) > above


async def unsummarized(told: Sequence[Told], asked: Asked) -> list[Told]:
    """What is to be asked now: parts first, and the whole when all its parts are there."""
    answers = await asked.answers()
    return list(dict.fromkeys(chain.from_iterable(open_questions(one, answers) for one in told)))


async def ask_summaries(left: Sequence[Told], asked: Asked, runtime: Runtime[Any]) -> None:
    """Ask for summaries."""
    role, tokens = asked.role.card.name, cast("DescriptionSettings", asked.context).description_tokens

    async def ask(told: Told) -> Answers:
        said = "\n".join(f"- {one[:CLIPPED]}" for one in told.texts)
        messages = load("summarize_facts", asked.language).messages(role=role, data={"name": told.title, "facts": said})
        try:
            text = await write(asked.chat, messages, temperature=0, max_tokens=tokens, quiet=True)
        except UNANSWERED:
            return {}
        return {summary_key(told): " ".join(text.split())}

    await answer_all(
        {summary_key(one): one for one in left},
        ask,
        keep=asked.keep,
        announce=progress(runtime, "summaries", len(left)),
    )


def description_of(told: Told, answers: Mapping[str, JsonValue]) -> str | None:
    """The one description; None where an answer is missing for it."""
    if len(told.texts) == 1:
        return told.texts[0]
    parts = parts_of(told)
    if len(parts) == 1:
        answer = answers.get(summary_key(told))
        return None if answer is None else str(answer)
    found = [description_of(part, answers) for part in parts]
    whole = tuple(one for one in found if one is not None)
    return description_of(Told(told.title, whole), answers) if len(whole) == len(parts) else None


def open_questions(told: Told, answers: Mapping[str, JsonValue]) -> list[Told]:
    """The questions that can be asked now, so that there is a description in the end."""
    if len(told.texts) == 1:
        return []
    parts = parts_of(told)
    if len(parts) == 1:
        return [] if summary_key(told) in answers else [told]
    left = [one for part in parts for one in open_questions(part, answers)]
    if left:
        return left
    return open_questions(Told(told.title, tuple(description_of(part, answers) or "" for part in parts)), answers)


def parts_of(told: Told) -> list[Told]:
    """What is told, in parts that fit into a question."""
    parts: list[list[str]] = [[]]
    for text in told.texts:
        if sum(min(len(one), CLIPPED) for one in parts[-1]) + min(len(text), CLIPPED) > SHOWN:
            parts.append([])
        parts[-1].append(text)
    return [Told(told.title, tuple(part)) for part in parts]


def summary_key(told: Told) -> str:
    """What a summary is kept by."""
    return answer_key("summary", told.title, *told.texts)


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
