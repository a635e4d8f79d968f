"""Which entities a question is about, and what of them a role can know (HyDE, Gao et al. 2023; RoleRAG 3.4)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Self

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from typing_extensions import TypedDict

from dramaturg.models.chat import ChatModel, threshold
from dramaturg.models.clients import is_embedded
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted, cut_text
from dramaturg.models.loose import Truth
from dramaturg.models.questions import Decision, decide, extract, write
from dramaturg.nodes.asking import together
from dramaturg.nodes.graph.build import ChunkSettings, GraphVersion, graph_kind
from dramaturg.nodes.graph.facts import AnyType, EntityName
from dramaturg.nodes.graph.naming import named_in
from dramaturg.nodes.judgement import sentence
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import RoleContext, Run, by_rules, needs, open_run
from dramaturg.nodes.turn import StandaloneState
from dramaturg.stores.index.graph import Entity, EntityType, KnowledgeGraph, Relation
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role

MOST = 8  # entities of one question
NEAREST = 20  # neighbours that a profile names
LONGEST = 1200  # characters of a description
NOTED = 4000  # characters of the notes that a judge of all entities is shown

Strategy = Literal["out of scope", "specific", "general", "profile", "told"]
"""What an entity is answered from; "profile": the role itself; "told": declined once, and told of since."""


class HypotheticalSettings(RoleContext):
    """How long the hypothetical context is."""

    hypothetical_tokens: Open[int] = Field(
        default=120,
        ge=16,
        le=1000,
        description="The largest number of tokens of the hypothetical context of a question.",
    )


Hypothetical = Annotated[str, Field(description="What a passage that answers the question might say (HyDE).")]


class HypotheticalState(StandaloneState):
    """What is read and written."""

    hypothetical: Hypothetical


@needs(standalone="make_self_contained")
async def hypothesize(state: HypotheticalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Infer what the text may be about that would answer the question; nobody is told that it is true.

    Where the model gives no usable answer, entities are looked for in the question alone, and the evidence says so.
    """
    run = await open_run(runtime, HypotheticalSettings)
    data = {"profile": run.role.card.profile, "question": state["standalone"]}
    messages = run.prompt("hypothetical_context").messages(role=run.role.card.name, data=data)
    try:
        text = await write(run.chat, messages, temperature=0, max_tokens=run.settings.hypothetical_tokens, quiet=True)
        evidence = {"hypothetical": text}
    except UNANSWERED as error:
        text, evidence = "", {"hypothetical_error": str(error)}
    runtime.stream_writer({"event": "hypothesized", "text": text})
    return {"hypothetical": text, "evidence": evidence, "usage": {"hypothesize": run.usage}}


class ScopeSettings(ChunkSettings):
    """Who says what a role can know."""

    scope_judge: Open[Literal["auto", "together", "apart"]] = Field(
        default="auto",
        description="together: one question for all entities (the paper); apart: yes or no, entity by entity, which "
        "small models answer better; auto: apart with the embedded model.",
    )
    scope_above: Open[float | None] = Field(
        default=None,
        ge=0,
        le=1,
        description="Least P(yes) for what a role can know; default: as measured for the model.",
    )
    level_above: Open[float | None] = Field(
        default=None, ge=0, le=1, description="Least P(yes) for a specific entity; default: as measured for the model."
    )
    close_strength: Open[int] = by_rules(
        paper=11,
        ours=5,
        ge=1,
        le=11,
        description="Strength of a relation with the role from which 'out of scope' is asked about once more, with "
        "that relation, and then holds for one turn. The paper: never (11), so that one wrong verdict hides whom the "
        "role knows well; ours costs a question for each such verdict.",
    )

    def scopes_apart(self, chat: ChatModel) -> bool:
        """Whether entities are judged one by one."""
        return self.scope_judge == "apart" or (self.scope_judge == "auto" and is_embedded(chat.model))


class ScopedEntity(TypedDict):
    """An entity that a question is about."""

    name: str
    type: EntityType
    reason: str
    relevant: bool
    level: Literal["specific", "general"]
    certainty: float | None
    strategy: Strategy


class ScopeState(StandaloneState):
    """What scoping reads and writes."""

    hypothetical: Hypothetical
    graph_version: NotRequired[GraphVersion]
    entities: Annotated[list[ScopedEntity], Field(description="What the question is about, in scope or out of it.")]


class PlainName(BaseModel):
    """An entity before it is judged."""

    model_config = ConfigDict(extra="forbid")

    name: EntityName
    type: AnyType = "other"


class PlainNames(Extracted):
    """All entities of a question and its hypothetical context, before they are judged."""

    entities: list[PlainName] = Field(max_length=MOST)


class ScopedName(PlainName):
    """{name, type, relevant to the role, why, specific or general}, as one answer gives it."""

    reason: Annotated[str, StringConstraints(strip_whitespace=True, max_length=400)] = ""
    relevant: Truth
    level: Literal["specific", "general"] | None = None

    @model_validator(mode="after")
    def _has_a_level(self) -> Self:
        """What is known is answered from by its level; of what is out of scope nobody asks."""
        if self.relevant and self.level is None:
            raise ValueError("level must be specific or general")
        return self


class ScopedNames(Extracted):
    """All entities of a question and its hypothetical context."""

    entities: list[ScopedName] = Field(max_length=MOST)


@needs(standalone="make_self_contained", hypothetical="hypothesize")
async def scope_entities(state: ScopeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Name the entities in question and hypothetical context, and say of each what the role can know (3.4).

    Where the model gives no usable answer there are none: what is nearest to the question is recalled instead, and the
    evidence says so.
    """
    run = await open_run(runtime, ScopeSettings)
    graph = await graph_of_turn(run, state.get("graph_version"))
    data = {
        "profile": profile_of(run.role, graph),
        "question": state["standalone"],
        "context": state["hypothetical"],
    }
    judge = judged_apart if run.settings.scopes_apart(run.chat) else judged_together
    evidence: dict[str, Any] = {}
    try:
        found, dropped = await judge(data, run, graph)
        in_time = [kept_back(one, run, graph) if is_kept_back(one["name"], run, graph) else one for one in found]
        entities, again = await asked_again(each_once(in_time, run.role, graph), data["profile"], run, graph)
        evidence |= {"entities_dropped": list(dropped)} if dropped else {}
        evidence |= {"asked_again": again} if again else {}
    except UNANSWERED as error:
        entities, evidence = [], {"entities_error": str(error)}
    warned = {"warning": graph.warning} if graph.warning else {}
    return {
        "graph_version": graph.version,
        "entities": entities,
        "specific": [],
        "general": [],
        "missing": [],
        "evidence": {"entities": entities, **evidence, **run.kept_back(), **warned},
        "usage": {"scope_entities": run.usage},
    }


def is_kept_back(name: str, run: Run[Any], graph: KnowledgeGraph) -> bool:
    """Whether all that is written of an entity is later than the turn, or not told; of the role itself it never is."""
    own = {normal_name(one) for one in (run.role.card.name, *run.role.card.aliases)}
    return graph.is_kept_back(name) and normal_name(name) not in own


def kept_back(one: ScopedEntity, run: Run[ScopeSettings], graph: KnowledgeGraph) -> ScopedEntity:
    """An entity of which the role knows nothing, whatever was judged of it: it is out of scope, for that reason."""
    name = run.role.card.name
    if graph.is_untold(one["name"]):
        (why,) = run.prompt("not_told").messages(role=name)
    else:
        (why,) = run.prompt("comes_later").messages(role=name, as_of=run.settings.as_of)
    return {**one, "relevant": False, "reason": why.text, "strategy": "out of scope"}


async def graph_of_turn(run: Run[ChunkSettings], version: str | None) -> KnowledgeGraph:
    """The graph that this turn reads, also when a newer version was published meanwhile."""
    return await run.store(graph_kind(run.settings), version)


def own_node(role: Role, graph: KnowledgeGraph) -> str | None:
    """The entity that the role is; None if no document names it."""
    return graph.find(role.card.name, *role.card.aliases)


def profile_of(role: Role, graph: KnowledgeGraph) -> str:
    """The profile, summarized from the graph: the card, the role's description, and who is closest to it (3.4)."""
    own = own_node(role, graph)
    if own is None:
        return role.card.profile
    names = ", ".join(entity.name for entity, _ in graph.neighbours(own)[:NEAREST])
    return "\n".join(filter(None, [role.card.profile.strip(), cut_text(graph.entity(own).description, LONGEST), names]))


async def judged_together(
    data: Mapping[str, str], run: Run[ScopeSettings], graph: KnowledgeGraph
) -> tuple[list[ScopedEntity], Sequence[str]]:
    """Ask one question for all entities, as the paper does, with the notes on those that are named."""
    notes = notes_on(f"{data['question']}\n{data['context']}", run.role, graph)
    messages = run.prompt("scope_entities").messages(role=run.role.card.name, most=MOST, data={**data, "notes": notes})
    found = await extract(run.chat, messages, ScopedNames, form=from_tuples)
    return [scoped(one, one.reason, one.relevant, one.level or "specific") for one in found.entities], found.dropped


def from_tuples(value: Any) -> Any:
    """Read entities in the form of the paper's Figure 7: (type<|>name<|>reason<|>Yes<|>specific)."""
    for at, one in enumerate(value["entities"] if isinstance(value, dict) and "entities" in value else ()):
        parts = one.strip(" ()").split("<|>") if isinstance(one, str) else one
        if isinstance(parts, list) and len(parts) == 5:
            value["entities"][at] = dict(zip(("type", "name", "reason", "relevant", "level"), parts, strict=True))
    return value


def notes_on(text: str, role: Role, graph: KnowledgeGraph) -> str:
    """What the graph says of the entities that a text names, as much as there is room for."""
    own = own_node(role, graph)
    named = named_in(text, {one.name: one.names for one in graph.entities() if one.name != own})
    notes = ""
    for one in graph.entities():
        if one.name in named and len(notes) + len(note := entity_text(one)) < NOTED:
            notes += f"{note}\n"
    return notes.strip()


async def judged_apart(
    data: Mapping[str, str], run: Run[ScopeSettings], graph: KnowledgeGraph
) -> tuple[list[ScopedEntity], Sequence[str]]:
    """Ask for the names, then of each whether the role can know it, whether it is specific, and else why not."""
    chat, role = run.chat, run.role.card.name
    messages = run.prompt("name_entities").messages(role=role, most=MOST, data=data)
    answer = await extract(chat, messages, PlainNames)
    names: dict[str, PlainName] = {}
    for one in answer.entities:
        names.setdefault(normal_name(one.name), one)

    async def judged(one: PlainName) -> ScopedEntity:
        if is_kept_back(one.name, run, graph):
            return scoped(one, "", relevant=False, level="specific")
        node = graph.find(one.name)
        values = {"profile": data["profile"], "entity": f"{one.name} ({one.type})"}
        known = await can_know(values, graph.entity(node).description if node else "", run)
        question = run.prompt("judge_level").messages(data=values)
        specific = await decide(chat, question, threshold=threshold(chat.name, "level", run.settings.level_above))
        why = run.prompt("why_unknown")
        reason = "" if known.answer else await sentence(chat, why.messages(role=role, data=values))
        return scoped(one, reason, known.answer, "specific" if specific.answer else "general", known.probability)

    return await together(*map(judged, names.values())), answer.dropped


async def can_know(values: Mapping[str, str], notes: str, run: Run[ScopeSettings]) -> Decision:
    """Ask of one entity whether the role can know it."""
    question = run.prompt("judge_scope").messages(role=run.role.card.name, data={**values, "notes": notes})
    return await decide(run.chat, question, threshold=threshold(run.chat.name, "scope", run.settings.scope_above))


async def asked_again(
    entities: Iterable[ScopedEntity], profile: str, run: Run[ScopeSettings], graph: KnowledgeGraph
) -> tuple[list[ScopedEntity], list[dict[str, Any]]]:
    """Ask once more of what is judged out of scope and is closely related to the role, with that relation.

    Returns:
        The entities, and which were asked about: {name, strength, stands}. Without an answer the verdict stands,
        and an `error` says so.
    """
    kept, again = [], []
    for one in entities:
        relation = close_relation(one["name"], run, graph) if one["strategy"] == "out of scope" else None
        node = graph.find(one["name"])
        if relation is None or node is None:
            kept.append(one)
            continue
        values = {"profile": profile, "entity": f"{one['name']} ({one['type']})"}
        unanswered: dict[str, str] = {}
        try:
            notes = f"{entity_text(graph.entity(node))}\n{relation_text(relation)}"
            known = await can_know(values, notes, run)
        except UNANSWERED as error:
            known, unanswered = Decision(answer=False, probability=one["certainty"]), {"error": str(error)}
        again.append({"name": one["name"], "strength": relation.strength, "stands": not known.answer, **unanswered})
        reason = cut_text(relation.description, LONGEST) if known.answer else one["reason"]
        plain = PlainName(name=one["name"], type=one["type"])
        kept.append(scoped(plain, reason, known.answer, one["level"], known.probability))
    return kept, again


def close_relation(name: str, run: Run[ScopeSettings], graph: KnowledgeGraph) -> Relation | None:
    """The relation of an entity with the role, where it is so strong that no single verdict overrules it."""
    own, node = own_node(run.role, graph), graph.find(name)
    relation = graph.relation(own, node) if own and node and own != node else None
    return relation if relation and relation.strength >= run.settings.close_strength else None


def entity_text(entity: Entity) -> str:
    """An entity, as a model reads it."""
    return f"{entity.name} ({entity.type}): {cut_text(entity.description, LONGEST)}"


def relation_text(relation: Relation) -> str:
    """A relation, as a model reads it."""
    return f"{relation.source} – {relation.target}: {cut_text(relation.description, LONGEST)}"


def scoped(
    one: PlainName,
    reason: str,
    relevant: bool,
    level: Literal["specific", "general"],
    certainty: float | None = None,
) -> ScopedEntity:
    """A judgement with its strategy. What is out of scope is so whatever its level: the boundary comes first."""
    return {
        "name": one.name,
        "type": one.type,
        "reason": reason,
        "relevant": relevant,
        "level": level,
        "certainty": certainty,
        "strategy": level if relevant else "out of scope",
    }


def each_once(entities: Iterable[ScopedEntity], role: Role, graph: KnowledgeGraph) -> list[ScopedEntity]:
    """Keep one judgement an entity, out of scope if one of them is; the role itself is known by its profile."""
    own = {normal_name(name) for name in (role.card.name, *role.card.aliases)}
    node = own_node(role, graph)
    found: dict[str, ScopedEntity] = {}
    for one in entities:
        name = graph.find(one["name"])
        key = normal_name(name or one["name"])
        if normal_name(one["name"]) in own or (node is not None and name == node):
            found[key] = {**one, "relevant": True, "strategy": "profile"}
        elif key not in found or not one["relevant"]:
            found[key] = one
    return list(found.values())


@needs(entities="scope_entities")
def scope_outcomes(state: ScopeState) -> list[Literal["out of scope", "specific", "general", "none"]]:
    """The strategies that the entities ask for; none if there is nothing to look up."""
    wanted = {entity["strategy"] for entity in state["entities"]}
    outcomes: Sequence[Literal["out of scope", "specific", "general"]] = ("out of scope", "specific", "general")
    return [one for one in outcomes if one in wanted] or ["none"]


def of_strategy(entities: Iterable[ScopedEntity], strategy: Strategy) -> list[ScopedEntity]:
    """The entities that are answered from in one way."""
    return [entity for entity in entities if entity["strategy"] == strategy]
