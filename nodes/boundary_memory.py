"""What a role declined to speak of stays declined, unless the conversation has told it what that is."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide
from dramaturg.models.thresholds import threshold
from dramaturg.nodes.context import language_of, respondent_of, role_of, settings
from dramaturg.nodes.entity_scoping import ScopeState, named_in
from dramaturg.nodes.respond import AskedState
from dramaturg.nodes.scope_judges import ScopedEntity, ScopeSettings
from dramaturg.nodes.summary import transcript
from dramaturg.prompts import load
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role


class BoundarySettings(ScopeSettings):
    """How much is remembered of what was declined."""

    boundaries: int = Field(
        default=20, ge=0, le=200, description="The most entities that a conversation remembers as declined or told of."
    )


class Boundary(TypedDict):
    """An entity that a role declined in this conversation; `told`: the user has said since what it is."""

    role: str
    name: str
    reason: str
    told: bool


class BoundaryState(ScopeState, AskedState):
    """What is read and written; the boundaries live on from turn to turn."""

    boundaries: list[Boundary]


B = TypeVar("B", bound=BoundarySettings)


async def keep_boundaries(state: BoundaryState, runtime: Runtime[B]) -> dict[str, Any]:
    """Hold the entities of this turn against what was declined before, and remember what is declined now.

    An entity that was declined is out of scope again, whatever was judged now, until the user has told the role of it;
    then the role may say what it was told. Where the model does not say whether it was told, it stays declined.
    """
    context = settings(runtime, BoundarySettings)
    role = await role_of(context)
    chat = await respondent_of(context, role)
    known = {one["name"]: one for one in state.get("boundaries", []) if one["role"] == role.id}
    entities = [
        await held(entity, known.get(normal_name(entity["name"])), state, context, role, chat)
        for entity in state["entities"]
    ]
    entities = list(to_look_up(entities, state["standalone"]))
    for entity in entities:
        remember(entity, known, state["standalone"], role)
    kept = list(known.values())[-context.boundaries :] if context.boundaries else []
    runtime.stream_writer({"event": "scoped", "entities": entities})
    return {
        "entities": entities,
        "boundaries": kept,
        "evidence": {"entities": entities},
        "usage": {"keep_boundaries": chat.account.usage()},
    }


def to_look_up(entities: Sequence[ScopedEntity], question: str) -> Iterator[ScopedEntity]:
    """The entities that count: where a question itself names what is out of scope, only those that it names.

    A hypothetical context about something that the role cannot know is made up from what it cannot know.
    """
    named = {entity["name"] for entity in entities if named_in(question, entity["name"])}
    beyond = any(entity["name"] in named and entity["strategy"] == "out of scope" for entity in entities)
    for entity in entities:
        if not beyond or entity["name"] in named or entity["strategy"] not in {"specific", "general"}:
            yield entity


async def held(
    entity: ScopedEntity,
    before: Boundary | None,
    state: BoundaryState,
    context: BoundarySettings,
    role: Role,
    chat: ChatModel,
) -> ScopedEntity:
    """One entity, as it counts in this turn."""
    if before is None or entity["strategy"] == "profile":
        return entity
    if before["told"] or await was_told(entity["name"], state, context, role, chat):
        return {**entity, "strategy": "told"}
    return {**entity, "strategy": "out of scope", "reason": before["reason"] or entity["reason"]}


async def was_told(name: str, state: BoundaryState, context: BoundarySettings, role: Role, chat: ChatModel) -> bool:
    """Whether the user has said in this conversation what an entity is."""
    data = {"conversation": transcript(state["messages"], role), "entity": name}
    messages = load("was_told", language_of(context, role)).messages(role=role.card.name, data=data)
    try:
        return (await decide(chat, messages, threshold=threshold(chat.name, "told"))).answer
    except UNANSWERED:
        return False


def remember(entity: ScopedEntity, known: dict[str, Boundary], question: str, role: Role) -> None:
    """Note an entity that the question names and that is declined, or of which the role was told."""
    key = normal_name(entity["name"])
    if entity["strategy"] == "told" or (entity["strategy"] == "out of scope" and named_in(question, entity["name"])):
        known.pop(key, None)
        told = entity["strategy"] == "told"
        known[key] = {"role": role.id, "name": key, "reason": entity["reason"], "told": told}
