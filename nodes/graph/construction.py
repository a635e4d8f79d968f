"""The knowledge graph from its facts, with one description for what is told several times (RoleRAG 3.3)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue

from dramaturg.models.extracted import cut_text
from dramaturg.models.questions import write_sentences
from dramaturg.nodes.asking import Answers
from dramaturg.nodes.graph.build import GraphBuild, GraphDraftState, ask_all, open_build
from dramaturg.nodes.graph.facts import (
    EntityMention,
    ExtractionSettings,
    Mentions,
    RelationMention,
    once,
    type_of,
)
from dramaturg.nodes.graph.merging import NormalizationSettings, mentions_at_hand, merge_plan
from dramaturg.nodes.index_steps import unless_overtaken
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.run import needs
from dramaturg.stores.documents.merges import Merge, MergePlan, Why
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.graph import Entity, Graph, Relation, Statement, graph_of
from dramaturg.stores.names import normal_name

SHOWN = 6000  # characters in one question; more is summarized in parts, then the parts
CLIPPED = 1500  # the most that is shown of one text
QUOTED = 500  # characters of sentences that a small model need not sum up


class DescriptionSettings(ExtractionSettings, NormalizationSettings):
    """How descriptions are made one."""

    summarize_above: Closed[int | None] = Field(
        default=None,
        ge=0,
        le=10_000,
        description="Characters; what is told of one entity in fewer is put together as it is. "
        "Default: 0, all is summarized (the paper), and 500 where sentences are quoted.",
    )
    description_tokens: Closed[int] = Field(
        default=300,
        ge=16,
        le=1000,
        description="The most tokens of a summary; one that meets them goes back to its last whole sentence. The "
        "paper's Figure 7 has one of 98 words.",
    )


class Statements(NamedTuple):
    """What is said of an entity or a relation, each text once; several are summarized into one description."""

    title: str
    texts: tuple[str, ...]


@needs(draft="chunk_persona")
@unless_overtaken
async def summarize_facts(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have what is told more than once of an entity or a relation made one description.

    Where there is none, what is told stands in its place as it is, and the report counts it.
    """
    build = await open_build(state, runtime, DescriptionSettings)
    run, prompt = build.run, build.run.prompt("summarize_facts")
    role = run.role.card.name

    async def ask(said: Statements) -> Answers:
        data = {"name": said.title, "facts": "\n".join(f"- {cut_text(text, CLIPPED)}" for text in said.texts)}
        messages = prompt.messages(role=role, data=data)
        text = await write_sentences(run.chat, messages, max_tokens=run.settings.description_tokens)
        return {summary_key(said): " ".join(text.split())}

    async def questions() -> dict[str, Statements]:
        answers = await build.answers()
        return {summary_key(one): one for said in long for one in open_questions(said, answers)}

    made = await skeleton(build, await merge_plan(build))
    long = list(filter(needs_summary(build), repeated_in(made)))
    tried: set[str] = set()
    while left := {key: one for key, one in (await questions()).items() if key not in tried}:
        await ask_all(build, "summaries", left, ask)
        tried |= set(left)
    return {"usage": {"summarize_facts": run.usage}}


def needs_summary(build: GraphBuild[DescriptionSettings]) -> Callable[[Statements], bool]:
    """What tells whether that which is said is long enough for a question."""
    quoted = QUOTED if build.run.settings.quotes(build.run.chat) else 0
    above = build.run.settings.summarize_above
    least = quoted if above is None else above
    return lambda said: sum(map(len, said.texts)) > least


def open_questions(said: Statements, answers: Mapping[str, JsonValue]) -> list[Statements]:
    """What is to be summarized now, so that there is a description in the end: parts first, then their summaries."""
    if len(said.texts) == 1:
        return []
    parts = parts_of(said)
    if len(parts) == 1:
        return [] if summary_key(said) in answers else [said]
    left = [one for part in parts for one in open_questions(part, answers)]
    if left:
        return left
    return open_questions(Statements(said.title, tuple(description_of(part, answers) or "" for part in parts)), answers)


def description_of(said: Statements, answers: Mapping[str, JsonValue]) -> str | None:
    """The one description; None where an answer is missing for it."""
    if len(said.texts) == 1:
        return said.texts[0]
    parts = parts_of(said)
    if len(parts) == 1:
        answer = answers.get(summary_key(said))
        return None if answer is None else str(answer)
    found = [description_of(part, answers) for part in parts]
    whole = tuple(one for one in found if one is not None)
    return description_of(Statements(said.title, whole), answers) if len(whole) == len(parts) else None


def parts_of(said: Statements) -> list[Statements]:
    """Statements in parts that fit into a question each."""
    parts: list[list[str]] = [[]]
    for text in said.texts:
        if sum(min(len(one), CLIPPED) for one in parts[-1]) + min(len(text), CLIPPED) > SHOWN:
            parts.append([])
        parts[-1].append(text)
    return [Statements(said.title, tuple(part)) for part in parts]


def summary_key(said: Statements) -> str:
    """What a summary is kept by."""
    return answer_key("summary", said.title, *said.texts)


M = TypeVar("M")


class Material(NamedTuple, Generic[M]):
    """What an entity or a relation is made of; no statement where only a relation names an entity."""

    mentions: Sequence[M]
    statements: tuple[Statement, ...]
    said: Statements


class Skeleton(NamedTuple):
    """The graph before each node and edge has one description: what they are made of, by name and by ends."""

    entities: Mapping[str, Material[EntityMention]]
    relations: Mapping[tuple[str, str], Material[RelationMention]]
    why: Mapping[str, tuple[Why, ...]]
    """What was found of the names of each entity."""


async def skeleton(build: GraphBuild[NormalizationSettings], plan: MergePlan) -> Skeleton:
    """The skeleton that follows from all answers so far."""
    mentions = mentions_at_hand(build, await build.records(), await build.answers(), plan.splits)
    return skeleton_of(mentions, plan.groups())


def skeleton_of(mentions: Mentions, groups: Iterable[Merge]) -> Skeleton:
    """Rename all mentions by the mapping table, and put those of one node, and of one pair of nodes, together.

    What connects two names that became one is told of that entity.
    """
    groups = list(groups)
    canonical = {normal_name(name): group.name for group in groups for name in group.names}
    entities: dict[str, list[EntityMention]] = {}
    relations: dict[tuple[str, str], list[RelationMention]] = {}
    statements: dict[str, list[Statement]] = {}
    for one in mentions.entities:
        name = canonical[one.key]
        entities.setdefault(name, []).append(one)
        statements.setdefault(name, []).extend([one.statement] if one.statement else [])
    for two in mentions.relations:
        source, target = canonical[two.source], canonical[two.target]
        if source == target:
            statements[source].append(two.statement)
        else:
            ends = (target, source) if (target, source) in relations else (source, target)
            relations.setdefault(ends, []).append(two)
    return Skeleton(
        {name: material(name, found, statements[name]) for name, found in entities.items()},
        {
            ends: material(" – ".join(ends), found, [one.statement for one in found])
            for ends, found in relations.items()
        },
        {group.name: group.why for group in groups if group.why},
    )


def material(title: str, mentions: Sequence[M], statements: Iterable[Statement]) -> Material[M]:
    """Mentions with each statement once, from the first chunk that tells it."""
    distinct = once(statements, lambda one: one.told)
    return Material(mentions, distinct, Statements(title, tuple(dict.fromkeys(one.text for one in distinct))))


def repeated_in(skeleton: Skeleton) -> list[Statements]:
    """All that is told more than once of one entity or relation."""
    entities, relations, _ = skeleton
    said = [*(one.said for one in entities.values()), *(one.said for one in relations.values())]
    return [one for one in said if len(one.texts) > 1]


def put_together(
    skeleton: Skeleton, describe: Callable[[Statements], str], sentences: Iterable[Statement] = ()
) -> Graph:
    """Put the graph Ĝ together (Equation 1).

    Args:
        skeleton: what it is made of.
        describe: gives the one description for what is told, at least one text.
        sentences: of the documents, which are shown next to it.
    """
    entities = []
    for name, (mentions, statements, said) in skeleton.entities.items():
        written = [one for one, _ in Counter(mention.name for mention in mentions).most_common()]
        # The canonical name, then the others, those that are written most often first; each spelling once.
        names = tuple({normal_name(one): one for one in reversed([name, *written])}.values())[::-1]
        kind, description = type_of(one.type for one in mentions), describe(said) if said.texts else ""
        why = skeleton.why.get(name, ())
        entities.append(
            Entity(name=name, type=kind, description=description, names=names, statements=statements, why=why)
        )
    relations = (
        Relation(
            source=source,
            target=target,
            description=describe(said),
            strength=max(one.strength for one in mentions),
            statements=statements,
        )
        for (source, target), (mentions, statements, said) in skeleton.relations.items()
    )
    return graph_of(entities, relations, sentences)
