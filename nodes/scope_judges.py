"""Who says which entities a question is about and what a role can know: one answer for all, or one by one."""

import asyncio
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

from dramaturg.models.chat import ChatModel
from dramaturg.models.client import is_embedded
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide, extract, write
from dramaturg.models.thresholds import threshold
from dramaturg.nodes.chunking import ChunkSettings
from dramaturg.nodes.context import language_of
from dramaturg.nodes.fact_extraction import known_type
from dramaturg.prompts import load
from dramaturg.stores.graph_records import EntityType
from dramaturg.stores.knowledge_graph import KnowledgeGraph
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role

MOST = 8  # entities of one question
REASON_TOKENS = 60


class ScopeSettings(ChunkSettings):
    """Who says what a role can know."""

    scope_judge: Literal["auto", "together", "apart"] = Field(
        default="auto",
        description="together: one question for all entities (the paper); apart: yes or no, entity by entity, which "
        "small models answer better; auto: apart with the embedded model.",
    )
    scope_above: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Least P(yes) for what a role can know; default: as measured for the model.",
    )
    level_above: float | None = Field(
        default=None, ge=0, le=1, description="Least P(yes) for a specific entity; default: as measured for the model."
    )

    def apart(self, chat: ChatModel) -> bool:
        """Whether entities are judged one by one."""
        return self.scope_judge == "apart" or (self.scope_judge == "auto" and is_embedded(chat.model))


class ScopedEntity(TypedDict):
    """An entity that a question is about.

    `strategy` is how it is answered from: "out of scope", "specific", "general", "profile" (the role itself) or "told"
    (declined once, and told of in this conversation).
    """

    name: str
    type: EntityType
    reason: str
    relevant: bool
    level: Literal["specific", "general"]
    certainty: float | None
    strategy: Literal["out of scope", "specific", "general", "profile", "told"]


def of_strategy(entities: Iterable[ScopedEntity], strategy: str) -> list[ScopedEntity]:
    """The entities that are answered from in one way."""
    return [entity for entity in entities if entity["strategy"] == strategy]


class ScopedName(BaseModel):
    """{name, type, relevant to the role, why, specific or general}, as one answer gives it."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
    type: Annotated[EntityType, BeforeValidator(known_type)]
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    relevant: bool
    level: Literal["specific", "general"]


class ScopedNames(BaseModel):
    """All entities of a question and its hypothetical context."""

    model_config = ConfigDict(extra="forbid")

    entities: list[ScopedName] = Field(max_length=MOST)


class PlainName(BaseModel):
    """An entity before it is judged."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
    type: Annotated[EntityType, BeforeValidator(known_type)]


class PlainNames(BaseModel):
    """All entities of a question and its hypothetical context, before they are judged."""

    model_config = ConfigDict(extra="forbid")

    entities: list[PlainName] = Field(max_length=MOST)


async def judged_together(
    data: dict[str, str], context: ScopeSettings, role: Role, graph: KnowledgeGraph, chat: ChatModel
) -> list[ScopedEntity]:
    """Ask one question for all entities, as the paper does."""
    messages = load("scope_entities", language_of(context, role)).messages(role=role.card.name, most=MOST, data=data)
    found = await extract(chat, messages, ScopedNames)
    return [scoped(one, one.reason, one.relevant, one.level) for one in found.entities]


async def judged_apart(
    data: dict[str, str], context: ScopeSettings, role: Role, graph: KnowledgeGraph, chat: ChatModel
) -> list[ScopedEntity]:
    """Ask for the names, then of each whether the role can know it and whether it is specific."""
    messages = load("name_entities", language_of(context, role)).messages(role=role.card.name, most=MOST, data=data)
    names: dict[str, PlainName] = {}
    for one in (await extract(chat, messages, PlainNames)).entities:
        names.setdefault(normal_name(one.name), one)
    tasks = [
        asyncio.create_task(judged_alone(one, data["profile"], context, role, graph, chat)) for one in names.values()
    ]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()  # where one of them has failed, nobody waits for the others


async def judged_alone(
    one: PlainName, profile: str, context: ScopeSettings, role: Role, graph: KnowledgeGraph, chat: ChatModel
) -> ScopedEntity:
    """Ask of one entity whether the role can know it, whether it is specific, and why it cannot be known."""
    language, name = language_of(context, role), role.card.name
    values = {"profile": profile, "entity": f"{one.name} ({one.type})", "notes": notes_on(one.name, graph)}
    asked = load("judge_scope", language).messages(role=name, data=values)
    known = await decide(chat, asked, threshold=threshold(chat.name, "scope", context.scope_above))
    asked = load("judge_level", language).messages(data=values)
    specific = await decide(chat, asked, threshold=threshold(chat.name, "level", context.level_above))
    reason = "" if known.answer else await reason_for(values, language, role, chat)
    return scoped(one, reason, known.answer, "specific" if specific.answer else "general", known.probability)


async def reason_for(values: dict[str, str], language: str, role: Role, chat: ChatModel) -> str:
    """Why a role cannot know something, in a sentence; without a usable one it still cannot."""
    messages = load("why_unknown", language).messages(role=role.card.name, data=values)
    try:
        said = await write(chat, messages, temperature=0, max_tokens=REASON_TOKENS, quiet=True)
    except UNANSWERED:
        return ""
    return " ".join(said.split())


def notes_on(name: str, graph: KnowledgeGraph) -> str:
    """What the graph says of an entity of exactly this name."""
    found = graph.find(name)
    return graph.entity(found).description if found else ""


def scoped(
    one: ScopedName | PlainName,
    reason: str,
    relevant: bool,
    level: Literal["specific", "general"],
    certainty: float | None = None,
) -> ScopedEntity:
    """Write down a judgement. What is out of scope is so whatever its level: the boundary comes first."""
    return {
        "name": one.name,
        "type": one.type,
        "reason": reason,
        "relevant": relevant,
        "level": level,
        "certainty": certainty,
        "strategy": level if relevant else "out of scope",
    }
