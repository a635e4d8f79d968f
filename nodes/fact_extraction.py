"""Entities and relations, chunk by chunk (RoleRAG 3.1)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from langgraph.runtime import Runtime
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints, create_model

from dramaturg.models.chat import ChatModel
from dramaturg.models.client import is_embedded
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import extract
from dramaturg.nodes.asked_answers import Answers, answer_all, progress
from dramaturg.nodes.chunking import ChunkSettings
from dramaturg.nodes.context import language_of, respondent_of, role_of, settings
from dramaturg.nodes.draft_work import unless_overtaken
from dramaturg.nodes.graph_draft import GraphDraftState
from dramaturg.nodes.passage_evidence import in_context
from dramaturg.nodes.text_boundaries import sentences
from dramaturg.prompts import load
from dramaturg.stores.answers import answer_key
from dramaturg.stores.graph_records import TYPES, EntityType
from dramaturg.stores.passages import StoredPassage
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


def known_type(value: object) -> object:
    """Keep an entity of a type that nobody knows, as "other"."""
    return value if value in TYPES else "other"


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
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


X = TypeVar("X", bound=ExtractionSettings)


@unless_overtaken
async def extract_facts(state: GraphDraftState, runtime: Runtime[X]) -> dict[str, Any]:
    """Have the facts of every chunk that has none yet, several chunks at a time.

    A chunk whose answer cannot be used after the re-asks is recorded as failed, and asked again with `retry`.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    context = settings(runtime, ExtractionSettings)
    role = await role_of(context)
    builder, draft = role.graph_builder(context.index_kind), state["draft"]
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
