"""What a role declined to speak of stays declined, unless the conversation has told it what that is."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Any, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.chat import threshold
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide
from dramaturg.nodes.edited import entries
from dramaturg.nodes.graph.naming import may_mean, named_in
from dramaturg.nodes.graph.scoping import (
    PlainName,
    ScopedEntity,
    ScopeSettings,
    ScopeState,
    close_relation,
    graph_of_turn,
    scoped,
)
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import AskedState
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.nodes.turn import transcript
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.names import normal_name


class BoundarySettings(ScopeSettings):
    """How much is remembered of what was declined."""

    boundaries: Open[int] = Field(
        default=20,
        ge=0,
        le=200,
        description="The largest number of entities that a conversation remembers as declined or explained.",
    )


class Boundary(TypedDict):
    """An entity that a role declined in this conversation; `told`: the user has said since what it is."""

    role: str
    name: str
    reason: str
    told: bool
    not_yet: NotRequired[bool]
    """Whether it was declined since all that is written of it was later than the turn, or not told to the role."""


Boundaries = Annotated[
    list[Boundary], Field(description="What the role declined to speak of; it lives on from turn to turn.")
]


class BoundaryState(AskedState, ScopeState):
    """What is read and written."""

    boundaries: NotRequired[Boundaries]


@needs(entities="scope_entities", standalone="make_self_contained")
async def keep_boundaries(state: BoundaryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Hold the entities of this turn against what was declined before, and remember what is declined now.

    An entity that was declined is out of scope again, whatever was judged now and also where nobody judged it, until
    the user has told the role of it; then the role may say what it was told. Where the model does not say whether it
    was told, it stays declined. What is closely related to the role is declined for one turn only.
    """
    run, question = await open_run(runtime, BoundarySettings), state["standalone"]
    graph = await graph_of_turn(run, state.get("graph_version"))
    declined = entries(state, "boundaries", Boundary, reason="", told=False)
    kept = [one for one in declined if one["role"] == run.role.id and still_counts(one, graph)]
    known = {normal_name(one["name"]): one for one in kept if not close_relation(one["name"], run, graph)}
    met = [(one, held_by(one, known.values(), graph)) for one in state["entities"]]
    named = named_in(
        question, {one["name"]: all_names(one["name"], graph) for one in [*state["entities"], *known.values()]}
    )
    named |= {one["name"] for one, before in met if before and before["name"] in named}
    unmet = named - {before["name"] for _, before in met if before}  # nobody judged it, or nothing could be judged
    met += [(unjudged(one), one) for one in known.values() if one["name"] in unmet]
    judged = [(await held(one, before, state, run), before) for one, before in met]
    shown = list(to_look_up([one for one, _ in judged], named))
    for entity, before in judged:
        told = entity["strategy"] == "told"
        lasting = entity["strategy"] == "out of scope" and not close_relation(entity["name"], run, graph)
        if told or (lasting and entity["name"] in named):
            name = before["name"] if before else entity["name"]
            known.pop(normal_name(name), None)  # what was met last stands last
            boundary: Boundary = {"role": run.role.id, "name": name, "reason": entity["reason"], "told": told}
            later: Any = {"not_yet": True} if graph.is_kept_back(name) else {}
            known[normal_name(name)] = {**boundary, **later}
    most = run.settings.boundaries
    runtime.stream_writer({"event": "scoped", "entities": shown})
    return {
        "entities": shown,
        "boundaries": list(known.values())[-most:] if most else [],
        "evidence": {"entities": shown},
        "usage": {"keep_boundaries": run.usage},
    }


def still_counts(one: Boundary, graph: KnowledgeGraph) -> bool:
    """Whether what was declined stays so: what was kept back does not, once the role knows of it."""
    return one["told"] or not one.get("not_yet") or graph.is_kept_back(one["name"])


def held_by(entity: ScopedEntity, known: Iterable[Boundary], graph: KnowledgeGraph) -> Boundary | None:
    """What was declined of which an entity is another name; what the graph knows by this name it tells apart."""
    name, node = entity["name"], graph.find(entity["name"])

    def same(other: str) -> bool:
        return node == graph.find(other) if node else may_mean(name, other)

    if entity["strategy"] == "profile":
        return None
    exact = (one for one in known if normal_name(one["name"]) == normal_name(name))
    return next(exact, None) or next((one for one in known if same(one["name"])), None)


def unjudged(one: Boundary) -> ScopedEntity:
    """What was declined, as an entity of a turn in which nobody judged it."""
    return scoped(PlainName(name=one["name"], type="other"), one["reason"], relevant=False, level="specific")


async def held(entity: ScopedEntity, before: Boundary | None, state: BoundaryState, run: Run[Any]) -> ScopedEntity:
    """An entity as it counts in this turn."""
    if before is None:
        return entity
    if before["told"] or await was_told(entity["name"], state, run):
        return {**entity, "strategy": "told"}
    return {**entity, "strategy": "out of scope", "reason": before["reason"] or entity["reason"]}


def all_names(name: str, graph: KnowledgeGraph) -> tuple[str, ...]:
    """The names that an entity is known by."""
    node = graph.find(name)
    return (name, *graph.entity(node).names) if node else (name,)


async def was_told(name: str, state: BoundaryState, run: Run[BoundarySettings]) -> bool:
    """Whether the user has said in this conversation what an entity is."""
    data = {"conversation": transcript(state["messages"], run.role), "entity": name}
    messages = run.prompt("was_told").messages(role=run.role.card.name, data=data)
    try:
        return (await decide(run.chat, messages, threshold=threshold(run.chat.name, "told"))).answer
    except UNANSWERED:
        return False


def to_look_up(entities: Sequence[ScopedEntity], named: Collection[str]) -> Iterator[ScopedEntity]:
    """The entities that count: where a question itself names what is out of scope, only those that it names.

    A hypothetical context about something that the role cannot know is made up from what it cannot know.
    """
    beyond = any(entity["name"] in named and entity["strategy"] == "out of scope" for entity in entities)
    for entity in entities:
        if not beyond or entity["name"] in named or entity["strategy"] not in {"specific", "general"}:
            yield entity
