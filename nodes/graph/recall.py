"""What is recalled from the knowledge graph: RoleRAG's strategies, a node each (3.4), and GraphRAG's local search."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.graph.build import ChunkSettings, GraphVersion
from dramaturg.nodes.graph.naming import named_in
from dramaturg.nodes.graph.scoping import (
    ScopeSettings,
    ScopeState,
    entity_text,
    graph_of_turn,
    of_strategy,
    own_node,
    relation_text,
)
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import AskedState, Grounds, ReplySettings, grounds_of, spoken
from dramaturg.nodes.run import Run, by_rules, needs, open_run
from dramaturg.nodes.turn import Question, StandaloneState
from dramaturg.stores.index.graph import Entity, KnowledgeGraph, Relation, embedding_text
from dramaturg.stores.role import Role

__all__ = ["ground_scope", "respond_from_graph", "respond_in_scope", "scope_grounds"]


class RecallSettings(ScopeSettings):
    """How much is recalled."""

    nearest: Open[int] = Field(
        default=3, ge=1, le=50, description="Entities recalled for a specific entity that the graph does not name."
    )
    least_score: Open[float] = Field(
        default=-1,
        ge=-1,
        le=1,
        description="Nearest entities below this cosine are not recalled; -1: all are (the paper).",
    )
    general: Open[int] = Field(
        default=10, ge=1, le=100, description="Neighbours of the role recalled for general entities, strongest first."
    )
    general_nearest: Open[bool] = by_rules(
        paper=False,
        ours=True,
        description="Whether the entities nearest to a general entity are recalled if no neighbour of the role has its "
        "type. The paper: nothing is recalled; ours costs an embedding, and may recall what is only a little like it.",
    )
    note_unwritten: Open[bool] = by_rules(
        paper=False,
        ours=True,
        description="Whether the reply is told that no document names an entity, beside its nearest. The paper: the "
        "nearest stand for it without a word, and are taken for it; ours looks through the documents for its name.",
    )


class SentenceSettings(ChunkSettings):
    """How much of the documents is shown next to the graph."""

    source_sentences: Open[int] = by_rules(
        paper=0,
        ours=6,
        ge=0,
        le=50,
        description="The most sentences of the documents, those nearest to the question, that are shown next to the "
        "results from the "
        "graph. The paper: 0, and what is no entity is lost; ours: 6, for at most a quarter of what is "
        "shown, and an embedding of the question.",
    )


class RecalledEntity(TypedDict):
    """An entity of the graph that was recalled.

    `asked` is the entity of the question, `how` it was found: by its name, as the nearest (with the cosine `score`), or
    as a neighbour of the role.
    """

    entity: str
    asked: str
    how: Literal["name", "nearest", "neighbour"]
    score: float | None


class RecallState(ScopeState):
    """What recall reads and writes: a channel a strategy, since several may run at once."""

    specific: Annotated[list[RecalledEntity], Field(description="What was recalled of entities that are named.")]
    general: Annotated[list[RecalledEntity], Field(description="What was recalled of entities of a kind.")]
    missing: Annotated[list[str], Field(description="What the role cannot know of.")]


@needs(entities="scope_entities")
async def note_out_of_scope(state: RecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Put together what the role cannot know and why; the reply is told so."""
    unknown = [
        {"name": entity["name"], "reason": entity["reason"]}
        for entity in of_strategy(state["entities"], "out of scope")
    ]
    runtime.stream_writer({"event": "out of scope", "entities": unknown})
    return {"evidence": {"out_of_scope": unknown}}


@needs(entities="scope_entities")
async def recall_specific(state: RecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall the entities that are meant, by name or alias, else the nearest; with their relations to the role.

    An entity that the graph does not name is noted as missing where no document names it either, or nothing is near
    enough: the reply is told that nothing is written of it.
    """
    run = await open_run(runtime, RecallSettings)
    graph = await graph_of_turn(run, state.get("graph_version"))
    found: list[RecalledEntity] = []
    missing: list[str] = []
    for entity in of_strategy(state["entities"], "specific"):
        asked, name = entity["name"], graph.find(entity["name"])
        if name is not None:
            found.append({"entity": name, "asked": asked, "how": "name", "score": None})
            continue
        near = await nearest(embedding_text(asked, entity["reason"]), run.settings.nearest, asked, run, graph)
        found += near
        unwritten = run.settings.note_unwritten and not any(
            named_in(one.text, {asked: [asked]}) for one in graph.passages
        )
        if unwritten or not near:
            missing.append(asked)
    found = each_first(found)
    evidence = recall_evidence("specific", found, run.role, graph) | ({"missing": missing} if missing else {})
    return {"specific": found, "missing": missing, "evidence": evidence}


@needs(entities="scope_entities", standalone="make_self_contained")
async def recall_general(state: RecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall the role's 1-hop neighbourhood of the types that are meant, by strength.

    Where the graph does not name the role it has no neighbourhood: the nearest entities of those types are recalled. An
    entity of whose type there are none falls back to what is nearest to it.
    """
    run = await open_run(runtime, RecallSettings)
    graph = await graph_of_turn(run, state.get("graph_version"))
    own, wanted = own_node(run.role, graph), of_strategy(state["entities"], "general")
    asked = ", ".join(entity["name"] for entity in wanted)
    found: list[RecalledEntity]
    if own is None:
        found = await nearest(state["standalone"], len(graph.graph), asked, run, graph)
    else:
        names = [entity.name for entity, _ in graph.neighbours(own)]
        found = [{"entity": name, "asked": asked, "how": "neighbour", "score": None} for name in names]
    there = {graph.entity(one["entity"]).type for one in found}
    types = {entity["type"] for entity in wanted}
    found = [one for one in found if graph.entity(one["entity"]).type in types][: run.settings.general]
    for entity in wanted if run.settings.general_nearest else ():
        if entity["type"] not in there:
            text = embedding_text(entity["name"], entity["reason"])
            found += await nearest(text, run.settings.nearest, entity["name"], run, graph)
    found = each_first(found)
    return {"general": found, "evidence": recall_evidence("general", found, run.role, graph)}


@needs(standalone="make_self_contained")
async def recall_nearest(state: RecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall what is nearest to the question itself: it names no entity that could be looked up."""
    run = await open_run(runtime, RecallSettings)
    graph = await graph_of_turn(run, state.get("graph_version"))
    found = await nearest(state["standalone"], run.settings.nearest, "", run, graph)
    return {"specific": found, "evidence": recall_evidence("specific", found, run.role, graph)}


async def nearest(
    text: str, k: int, asked: str, run: Run[RecallSettings], graph: KnowledgeGraph
) -> list[RecalledEntity]:
    """The k entities nearest to a text, f_k(𝒱, n), that are near enough; the role itself stands in every prompt."""
    own = own_node(run.role, graph)
    near = [one for one in await entities_near(text, k + 1, run, graph) if one[0] != own][:k]
    return [
        {"entity": name, "asked": asked, "how": "nearest", "score": score}
        for name, score in near
        if score >= run.settings.least_score
    ]


def each_first(found: Sequence[RecalledEntity]) -> list[RecalledEntity]:
    """Each entity once, as it was found first."""
    return list({one["entity"]: one for one in reversed(found)}.values())[::-1]


async def entities_near(text: str, k: int, run: Run[Any], graph: KnowledgeGraph) -> list[tuple[str, float]]:
    """The k entities nearest to a text, with the cosine.

    Raises:
        EmbeddingMismatch: the graph was made with another embedding model.
    """
    model = await run.embedder()
    vector = await model.query(text)
    graph.require(model.name, len(vector))
    return graph.search(vector, k)


def recall_evidence(
    strategy: str, found: Iterable[RecalledEntity], role: Role, graph: KnowledgeGraph
) -> dict[str, Any]:
    """What was recalled, with its text and the sentences that it comes from; a warning if the graph lacks the role."""
    own = own_node(role, graph)
    evidence: list[dict[str, Any]] = []
    for one in found:
        relation = graph.relation(own, one["entity"]) if own else None
        related = relation.model_dump(mode="json") if relation else None
        evidence.append({**one, **entity_evidence(graph.entity(one["entity"])), "relation": related})
    if own or any(map(graph.is_kept_back, (role.card.name, *role.card.aliases))):
        return {strategy: evidence}
    warning = f"No document names {role.card.name}: see `name` and `aliases` in role.yaml."
    return {strategy: evidence, "graph_warning": warning}


def entity_evidence(entity: Entity) -> dict[str, Any]:
    """An entity without its name, as plain values."""
    return {
        "type": entity.type,
        "names": list(entity.names),
        "description": entity.description,
        "statements": [asdict(one) for one in entity.statements],
    }


class SourceSentence(TypedDict):
    """A sentence of a document, `document[start:end]`, with its cosine to the question."""

    text: str
    source: str
    start: int
    end: int
    score: float


class SentencesState(TypedDict):
    """What is shown next to the graph; a turn of an earlier version has none."""

    sentences: NotRequired[
        Annotated[list[SourceSentence], Field(description="The sentences of the documents nearest to the question.")]
    ]


class RecallSentencesState(RecallState, SentencesState):
    """What recalling sentences reads and writes."""


@needs(entities="scope_entities", standalone="make_self_contained")
async def recall_sentences(state: RecallSentencesState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Recall the sentences nearest to the question: a fact that is no entity is in no description.

    There are none for a question of which nothing is in scope, and in a graph of an earlier version.
    """
    run = await open_run(runtime, SentenceSettings)
    graph = await graph_of_turn(run, state.get("graph_version"))
    beyond = state["entities"] and all(one["strategy"] == "out of scope" for one in state["entities"])
    if beyond or not run.settings.source_sentences or not graph.sentences:
        return {"sentences": []}
    model = await run.embedder()
    vector = await model.query(state["standalone"])
    graph.require(model.name, len(vector))
    near: dict[str, SourceSentence] = {}
    for one, score in graph.search_sentences(vector, 2 * run.settings.source_sentences):  # some are there twice
        place: SourceSentence = {
            "text": one.text,
            "source": one.source,
            "start": one.start,
            "end": one.end,
            "score": score,
        }
        near.setdefault(one.text, place)
    found = [*near.values()][: run.settings.source_sentences]
    return {"sentences": found, "evidence": {"sentences": found}}


class LocalSearchSettings(ChunkSettings):
    """How far local search reaches."""

    starts: Open[int] = Field(
        default=5, ge=1, le=100, description="Entities nearest to the question: local search begins there."
    )
    expanded: Open[int] = Field(default=15, ge=0, le=200, description="Relations followed from there, strongest first.")


class LocalEntity(TypedDict):
    """An entity that local search reached; the cosine similarity to the question where it began there."""

    entity: str
    score: float | None


class LocalState(StandaloneState):
    """What local search reads and writes; the self-contained question is searched for where there is one."""

    question: Question
    graph_version: NotRequired[GraphVersion]
    reached: Annotated[
        list[LocalEntity], Field(description="The entities that the question reaches, the nearest first.")
    ]
    followed: Annotated[list[list[str]], Field(description="The relations that were followed from there.")]


@needs(question="read_turn")
async def search_locally(state: LocalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Begin at the entities nearest to the question and follow their strongest relations (Edge et al. 2024)."""
    run = await open_run(runtime, LocalSearchSettings)
    graph = await graph_of_turn(run, state.get("graph_version"))
    starts = await entities_near(state.get("standalone") or state["question"], run.settings.starts, run, graph)
    relations = relations_around([name for name, _ in starts], graph)[: run.settings.expanded]
    scores: dict[str, float | None] = dict(starts)
    for relation in relations:
        scores.setdefault(relation.source, None)
        scores.setdefault(relation.target, None)
    reached: list[LocalEntity] = [{"entity": name, "score": score} for name, score in scores.items()]
    evidence = {
        "reached": [{**one, **entity_evidence(graph.entity(one["entity"]))} for one in reached],
        "followed": [relation.model_dump(mode="json") for relation in relations],
        **run.kept_back(),
        **({"warning": graph.warning} if graph.warning else {}),
    }
    followed = [[relation.source, relation.target] for relation in relations]
    return {"graph_version": graph.version, "reached": reached, "followed": followed, "evidence": evidence}


def relations_around(names: Sequence[str], graph: KnowledgeGraph) -> list[Relation]:
    """The relations of some entities, each once, the strongest first."""
    found = {id(relation): relation for name in names for _, relation in graph.neighbours(name)}
    return sorted(found.values(), key=lambda one: (-one.strength, -len(one.statements), one.source, one.target))


ALL = 8000  # characters of all that is recalled; the rest is left out, the last recalled first
SCOPED = dict.fromkeys(("entities", "specific", "general", "missing"), "scope_entities")  # who writes them


class GraphReplySettings(ReplySettings, ChunkSettings):
    """A reply that rests on a knowledge graph."""


class ScopedReplyState(AskedState, RecallState, SentencesState):
    """What a reply within the role's boundaries reads."""


@needs(question="read_turn", **SCOPED)
async def respond_in_scope(state: ScopedReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from what was recalled, and decline what the role cannot know, in its own manner (RoleRAG 3.4)."""
    run = await open_run(runtime, GraphReplySettings)
    grounds = await scope_grounds(run, state)
    reply, slips = await spoken(run, state, "respond_in_scope", grounds, data={"knowledge": ""})
    return {"messages": [reply], "evidence": slips, "usage": {"respond_in_scope": run.usage}}


@needs(**SCOPED)
async def ground_scope(state: ScopedReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Gather what a reply can rest on, for who makes it; see `scope_grounds`."""
    run = await open_run(runtime, ChunkSettings)
    return {"gathered": {"scope": await scope_grounds(run, state)}}


async def scope_grounds(run: Run[ChunkSettings], state: ScopedReplyState) -> Grounds:
    """What a reply can rest on within the role's boundaries: "knowledge" from the graph, and what limits it.

    The limits are "unknown", what the role cannot know and why; "silent", what nobody wrote of; and "told", what it
    knows only because the user has said so.
    """
    graph = await graph_of_turn(run, state.get("graph_version"))
    own = own_node(run.role, graph)
    texts = [entity_text(graph.entity(own))] if own else []
    for name in dict.fromkeys(one["entity"] for one in [*state["specific"], *state["general"]]):
        if name != own:
            entity, relation = graph.entity(name), graph.relation(own, name) if own else None
            texts.append(entity_text(entity))
            if relation and relation.description != entity.description:  # nothing is said twice
                texts[-1] += f"\n{relation_text(relation)}"
    unknown = of_strategy(state["entities"], "out of scope")
    limits = {
        "silent": ", ".join(state["missing"]),
        "told": ", ".join(one["name"] for one in of_strategy(state["entities"], "told")),
        "unknown": "\n".join(f"- {one['name']}: {one['reason']}" for one in unknown),
    }
    shown = ("question", "hypothetical", "entities", "out_of_scope", "specific", "general", "missing", "sentences")
    told = [one["text"] for one in state.get("sentences") or () if not any(one["text"] in text for text in texts)]
    beside = "\n".join(within(told, ALL // 4))
    knowledge = [*within(texts, ALL - len(beside)), beside]
    return grounds_of(state, {"knowledge": knowledge}, limits=limits, shown=shown)


class LocalReplyState(AskedState, LocalState):
    """What a reply from local search reads."""


class LocalReplySettings(GraphReplySettings, LocalSearchSettings):
    """A reply from local search."""


@needs(question="read_turn", reached="search_locally", followed="search_locally")
async def respond_from_graph(state: LocalReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the entities and relations that local search reached; nobody says what the role cannot know."""
    run = await open_run(runtime, LocalReplySettings)
    grounds = await local_grounds(run, state)
    reply, slips = await spoken(run, state, "respond_from_knowledge", grounds, data={"knowledge": ""})
    return {"messages": [reply], "evidence": slips, "usage": {"respond_from_graph": run.usage}}


async def local_grounds(run: Run[ChunkSettings], state: LocalReplyState) -> Grounds:
    """What a reply can rest on after a local search: "knowledge", the entities and relations that it reached."""
    graph = await graph_of_turn(run, state.get("graph_version"))
    relations = [graph.relation(*ends) for ends in state["followed"]]
    texts = [entity_text(graph.entity(one["entity"])) for one in state["reached"]]
    texts += [relation_text(relation) for relation in relations if relation]
    return grounds_of(state, {"knowledge": within(texts)}, shown=("reached", "followed"))


def within(texts: Sequence[str], most: int = ALL) -> list[str]:
    """As many texts as a prompt has room for, in characters; the first in any case."""
    shown: list[str] = []
    for text in texts:
        if sum(map(len, shown)) + len(text) > most and shown:
            break
        shown.append(text)
    return shown
