"""Entities and relations, chunk by chunk (RoleRAG 3.1)."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

from langgraph.runtime import Runtime
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints, create_model

from dramaturg.models.chat import ChatModel
from dramaturg.models.client import is_embedded
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import extract
from dramaturg.nodes.graph.draft import ChunkSettings, GraphDraftState
from dramaturg.nodes.graph.normalization import Named, in_former_order
from dramaturg.nodes.index_steps import Answers, answer_all, progress, unless_overtaken
from dramaturg.nodes.passages.retrieval import in_context
from dramaturg.nodes.run import language_of, respondent_of, role_of, settings
from dramaturg.nodes.text.boundaries import sentences
from dramaturg.prompts import load
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.graph import TYPES, EntityType, Statement
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role


class ExtractionSettings(ChunkSettings):
    """What is asked of a chunk."""

    descriptions: Literal["auto", "written", "quoted"] = Field(
        default="auto",
        description="written: the model describes each fact (the paper); quoted: it names the sentence, which then is "
        "the description; auto: quoted with the embedded model, which else describes what it remembers.",
    )
    facts: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="The most entities, and relations, taken from a chunk. Default: 30, and 8 where they are quoted.",
    )
    extraction_deadline: float = Field(
        default=600, gt=0, le=3600, description="Seconds for the facts of one chunk, re-asks included."
    )

    def quotes(self, chat: ChatModel) -> bool:
        """Whether sentences stand for descriptions."""
        return self.descriptions == "quoted" or (self.descriptions == "auto" and is_embedded(chat.model))

    def most(self, chat: ChatModel) -> int:
        """The most entities, and relations, of a chunk."""
        return self.facts or (8 if self.quotes(chat) else 30)


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


def known_type(value: object) -> object:
    """Keep an entity of a type that nobody knows, as "other"."""
    return value if value in TYPES else "other"


Type = Annotated[EntityType, BeforeValidator(known_type)]


class EntityFact(BaseModel):
    """n_i = {name, type, description}, with the number of the sentence that says it."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    type: Type
    sentence: int


class RelationFact(BaseModel):
    """r_i = {source, target, description, strength}, with the number of the sentence that says it."""

    model_config = ConfigDict(extra="forbid")

    source: Name
    target: Name
    sentence: int
    strength: int = Field(ge=1, le=10)


class Facts(BaseModel):
    """What a chunk tells."""

    model_config = ConfigDict(extra="forbid")

    entities: list[EntityFact]
    relations: list[RelationFact]


class Failure(NamedTuple):
    """A chunk whose facts could not be had."""

    passage: str
    error: str


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


@unless_overtaken
async def extract_facts(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have the facts of every chunk that has none yet, several chunks at a time.

    A chunk whose answer cannot be used after the re-asks is recorded as failed, and asked again with `retry`.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    context = settings(runtime, ExtractionSettings)
    role = await role_of(context)
    builder, draft = role.index(context.index_kind).builder, state["draft"]
    chunks = await asyncio.to_thread(builder.records, draft)
    answers = await asyncio.to_thread(builder.answers, draft)
    asked = {facts_key(one): one for one in chunks if wanted(one, answers, retry=bool(state.get("retry")))}
    chat = replace(await respondent_of(context, role), deadline=context.extraction_deadline)

    async def ask(chunk: StoredPassage) -> Answers:
        return await facts_of(chunk, chat, role, context)

    await answer_all(
        asked,
        ask,
        keep=lambda had: asyncio.to_thread(builder.add_answers, draft, had),
        announce=progress(runtime, "facts", len(asked)),
    )
    return {"usage": {"extract_facts": chat.account.usage()}}


async def facts_of(chunk: StoredPassage, chat: ChatModel, role: Role, context: ExtractionSettings) -> Answers:
    """Ask for the facts of one chunk; the answer, or why there is none, under the key that it is kept by."""
    spans = sentences_of(chunk)
    most, quoted = context.most(chat), context.quotes(chat)
    name = "quote_facts" if quoted else "extract_facts"
    data = {"text": numbered(chunk, spans)}
    messages = load(name, language_of(context, role)).messages(role=role.card.name, most=most, data=data)
    try:
        found = await extract(chat, messages, facts_about(len(spans), most, quoted=quoted))
    except UNANSWERED as error:
        return {failure_key(chunk): str(error)}
    return {facts_key(chunk): found.model_dump(mode="json")}


def sentences_of(chunk: StoredPassage) -> list[tuple[int, int]]:
    """Where the sentences of a chunk stand in it; a heading is none, unless there is nothing else."""
    spans = list(sentences(chunk.text))
    return [span for span in spans if not chunk.text.startswith("#", span[0])] or spans


def numbered(chunk: StoredPassage, spans: Sequence[tuple[int, int]]) -> str:
    """The sentences of a chunk, numbered, under its headings; those in its text stand between them."""
    numbers = {span: f"[{number}] " for number, span in enumerate(spans, start=1)}
    lines = [
        f"{numbers.get((begin, end), '')}{' '.join(chunk.text[begin:end].split())}"
        for begin, end in sentences(chunk.text)
    ]
    return "\n".join([" > ".join(chunk.headings), *lines]).strip()


def facts_about(count: int, most: int, *, quoted: bool) -> type[Facts]:
    """The form of an answer on so many sentences: a fact names one of them, and is described unless that is quoted."""
    fields: dict[str, Any] = {"sentence": (int, Field(ge=1, le=count))}
    if not quoted:
        fields["description"] = (Text, ...)
    entity = create_model("EntityFact", __base__=EntityFact, **fields)
    relation = create_model("RelationFact", __base__=RelationFact, **fields)
    entities = (list[entity], Field(max_length=most))  # type: ignore[valid-type]
    relations = (list[relation], Field(max_length=most))  # type: ignore[valid-type]
    return create_model("Facts", __base__=Facts, entities=entities, relations=relations)


def facts_key(chunk: StoredPassage) -> str:
    """What the facts of a chunk are kept by: its text under its headings."""
    return answer_key("facts", in_context(chunk))


def failure_key(chunk: StoredPassage) -> str:
    """What is kept in the place of facts that could not be had."""
    return answer_key("failed", in_context(chunk))


def wanted(chunk: StoredPassage, answers: Mapping[str, JsonValue], *, retry: bool) -> bool:
    """Whether a chunk is to be asked."""
    return facts_key(chunk) not in answers and (retry or failure_key(chunk) not in answers)


def failures(chunks: Sequence[StoredPassage], answers: Mapping[str, JsonValue]) -> list[Failure]:
    """The chunks whose facts could not be had, and why."""
    return [
        Failure(one.id, str(answers[failure_key(one)]))
        for one in chunks
        if facts_key(one) not in answers and failure_key(one) in answers
    ]


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
