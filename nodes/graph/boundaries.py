"""What a role declined to speak of stays declined, unless the conversation has told it what that is."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.chat import threshold
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide
from dramaturg.nodes.graph.scoping import ScopedEntity, ScopeSettings, ScopeState, named_in
from dramaturg.nodes.reply import AskedState
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.nodes.turn import transcript
from dramaturg.stores.names import normal_name


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


Boundaries = Annotated[
    list[Boundary], Field(description="What the role declined to speak of; it lives on from turn to turn.")
]


class BoundaryState(AskedState, ScopeState):
    """What is read and written."""

    boundaries: NotRequired[Boundaries]


@needs(entities="scope_entities", standalone="make_self_contained")
async def keep_boundaries(state: BoundaryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Hold the entities of this turn against what was declined before, and remember what is declined now.

    An entity that was declined is out of scope again, whatever was judged now, until the user has told the role of it;
    then the role may say what it was told. Where the model does not say whether it was told, it stays declined.
    """
    run, question = await open_run(runtime, BoundarySettings), state["standalone"]
    known = {one["name"]: one for one in state.get("boundaries", []) if one["role"] == run.role.id}
    judged: list[ScopedEntity] = []
    for entity in state["entities"]:
        before = known.get(normal_name(entity["name"]))
        if before is None or entity["strategy"] == "profile":
            judged.append(entity)
        elif before["told"] or await was_told(entity["name"], state, run):
            judged.append({**entity, "strategy": "told"})
        else:
            judged.append({**entity, "strategy": "out of scope", "reason": before["reason"] or entity["reason"]})
    entities = list(to_look_up(judged, question))
    for entity in entities:
        key, told = normal_name(entity["name"]), entity["strategy"] == "told"
        if told or (entity["strategy"] == "out of scope" and named_in(question, entity["name"])):
            known.pop(key, None)  # what was met last stands last
            known[key] = {"role": run.role.id, "name": key, "reason": entity["reason"], "told": told}
    most = run.settings.boundaries
    runtime.stream_writer({"event": "scoped", "entities": entities})
    return {
        "entities": entities,
        "boundaries": list(known.values())[-most:] if most else [],
        "evidence": {"entities": entities},
        "usage": {"keep_boundaries": run.usage},
    }


async def was_told(name: str, state: BoundaryState, run: Run[BoundarySettings]) -> bool:
    """Whether the user has said in this conversation what an entity is."""
    data = {"conversation": transcript(state["messages"], run.role), "entity": name}
    messages = run.prompt("was_told").messages(role=run.role.card.name, data=data)
    try:
        return (await decide(run.chat, messages, threshold=threshold(run.chat.name, "told"))).answer
    except UNANSWERED:
        return False


def to_look_up(entities: Sequence[ScopedEntity], question: str) -> Iterator[ScopedEntity]:
    """The entities that count: where a question itself names what is out of scope, only those that it names.

    A hypothetical context about something that the role cannot know is made up from what it cannot know.
    """
    named = {entity["name"] for entity in entities if named_in(question, entity["name"])}
    beyond = any(entity["name"] in named and entity["strategy"] == "out of scope" for entity in entities)
    for entity in entities:
        if not beyond or entity["name"] in named or entity["strategy"] not in {"specific", "general"}:
            yield entity
