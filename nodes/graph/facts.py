"""Entities and relations of each chunk, with the sentence that tells of them (RoleRAG 3.1)."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

from langgraph.runtime import Runtime
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    create_model,
)

from dramaturg.models.chat import ChatModel
from dramaturg.models.clients import is_embedded
from dramaturg.models.errors import UNANSWERED, UnusableAnswer
from dramaturg.models.extracted import Extracted, key_name
from dramaturg.models.loose import NumberOf, Scale
from dramaturg.models.questions import extract
from dramaturg.models.reading import normalize_word
from dramaturg.nodes.asking import Answers
from dramaturg.nodes.graph.build import ChunkSettings, GraphDraftState, ask_all, open_build
from dramaturg.nodes.graph.normalization import Named, in_former_order
from dramaturg.nodes.index_steps import unless_overtaken
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.passages.retrieval import in_context
from dramaturg.nodes.run import needs
from dramaturg.nodes.text.boundaries import sentences
from dramaturg.stores.documents.merges import Split
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.graph import TYPES, EntityType, Statement
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.stores.names import normal_name

TYPE_WORDS = {
    "character": "person people human man woman being creature animal figure role 人物 角色 人 인물 사람 등장인물",
    "location": "place city town village country region building geo geography 地点 地方 场所 城市 장소 지역",
    "organization": "organisation group house family institution company society team 组织 团体 家族 门派 단체 조직",
    "event": "incident battle war happening 事件 사건",
    "time": "date year day period era century 时间 日期 时期 시간 날짜 시기",
    "object": "thing item artifact work book instrument product 物品 事物 作品 物件 사물 물건 작품",
    "concept": "idea interest belief conviction value emotion skill hobby 概念 兴趣 信念 개념 관심사 신념",
}
"""Other words that models have for a type."""
TYPE_OF = {one: one for one in TYPES} | {word: kind for kind, words in TYPE_WORDS.items() for word in words.split()}


def type_in(given: object) -> str:
    """The type that a word means, also in the plural, or with another word after it; "other" where it means none."""
    first = re.match(r"\w+", normalize_word(str(given)))
    word = first[0] if first else ""
    return TYPE_OF.get(word) or TYPE_OF.get(word.removesuffix("s"), "other")


def with_sentences(answer: Any, told: Sequence[str]) -> Any:
    """Read facts in the form of the paper, which has no sentences: each goes to the sentence that names most of it.

    So does a fact whose sentence is not there. One that no sentence names is left as it is, and has no place.

    Args:
        answer: the object; its lists may hold records (Figure 7; {source, target, description, strength} of 3.1).
        told: the sentences, in the order of their numbers.
    """
    if not isinstance(answer, dict):
        return answer
    facts: dict[str, Any] = {key_name(key): [] if isinstance(one, list) else one for key, one in answer.items()}
    items = [(key_name(key), item) for key, found in answer.items() if isinstance(found, list) for item in found]
    for kind, item in items:
        fact = fact_of(item)
        facts.setdefault("relations" if isinstance(item, list) and "source" in fact else kind, []).append(fact)
        if isinstance(fact, dict) and not is_sentence(fact.get("sentence"), len(told)):
            names = [str(fact[key]) for key in ("name", "source", "target") if key in fact]
            if number := sentence_of(names, told):
                fact["sentence"] = number
    return facts


def fact_of(item: Any) -> Any:
    """An item of an answer by the names of its fields; a record of an entity may begin with its type or its name."""
    if isinstance(item, dict):
        return {key_name(key): value for key, value in item.items()}
    if not isinstance(item, list):
        return item
    said = bool(item) and item[0] in ("entity", "relationship")
    fields = item[said:]
    if len(fields) > 3:
        return dict(zip(("source", "target", "description", "strength"), [*fields[:3], fields[-1]], strict=True))
    type_first = not said and bool(fields) and type_in(fields[0]) != "other"
    names = ("type", "name", "description") if type_first else ("name", "type", "description")
    return dict(zip(names, fields, strict=False))


def is_sentence(number: object, count: int) -> bool:
    """Whether this is the number of one of so many sentences."""
    try:
        return bool(NumberOf(count).read(number))
    except ValueError:
        return False


def sentence_of(names: Iterable[str], told: Sequence[str]) -> int:
    """The number of the sentence that has most of the names, or else of their words; 0 where none has any."""
    keys = [normal_name(name) for name in names]
    words = [word for key in keys for word in key.split() if len(word) > 2]
    lower = [text.casefold() for text in told]
    fits = [(sum(key in text for key in keys), sum(word in text for word in words)) for text in lower]
    return fits.index(max(fits)) + 1 if fits and any(max(fits)) else 0


def sentences_of(chunk: StoredPassage) -> list[tuple[int, int]]:
    """Start and end of each sentence of a chunk; a heading is none, unless there is nothing else."""
    spans = list(sentences(chunk.text))
    return [span for span in spans if not chunk.text.startswith("#", span[0])] or spans


def on_a_line(text: str) -> str:
    """A text with one space between its words."""
    return " ".join(text.split())


def numbered(chunk: StoredPassage, spans: Sequence[tuple[int, int]]) -> str:
    """The sentences of a chunk, numbered, under its headings; those in its text stand between them."""
    numbers = {span: f"[{number}] " for number, span in enumerate(spans, start=1)}
    lines = [
        f"{numbers.get((begin, end), '')}{on_a_line(chunk.text[begin:end])}" for begin, end in sentences(chunk.text)
    ]
    return "\n".join([" > ".join(chunk.headings), *lines]).strip()


def source_sentences(chunks: Iterable[StoredPassage]) -> list[Statement]:
    """The sentences of all chunks in their order, each once; of one that a chunk cuts, the longer part."""
    found = []
    for chunk in chunks:
        for begin, end in sentences_of(chunk):
            text, start, stop = on_a_line(chunk.text[begin:end]), chunk.start + begin, chunk.start + end
            found.append(Statement(text=text, passage=chunk.id, source=chunk.source, start=start, end=stop))
    kept: list[Statement] = []
    for one in sorted(found, key=lambda one: (one.source, one.start, -one.end)):
        if not kept or kept[-1].source != one.source or one.end > kept[-1].end:
            kept.append(one)
    return kept


class ExtractionSettings(ChunkSettings):
    """What is asked of a chunk."""

    descriptions: Closed[Literal["auto", "written", "quoted"]] = Field(
        default="auto",
        description="written: the model describes each fact (the paper); quoted: it names the sentence, which then is "
        "the description; auto: quoted with the embedded model, which else describes what it remembers.",
    )
    facts: Closed[int | None] = Field(
        default=None,
        ge=1,
        le=100,
        description="The largest number of entities, "
        "and of relations, taken from a chunk. Default: 30, and 8 where they are quoted.",
    )
    extraction_deadline: Closed[float] = Field(
        default=600, gt=0, le=3600, description="Seconds for the facts of one chunk, re-asks included."
    )

    def quotes(self, chat: ChatModel) -> bool:
        """Whether sentences stand for descriptions."""
        return self.descriptions == "quoted" or (self.descriptions == "auto" and is_embedded(chat.model))

    def most(self, chat: ChatModel) -> int:
        """The most entities, and relations, of a chunk."""
        return self.facts or (8 if self.quotes(chat) else 30)


EntityName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]


ShortText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]


AnyType = Annotated[EntityType, BeforeValidator(type_in)]
"""The type of an entity; one that is not known is "other"."""


class EntityFact(BaseModel):
    """n_i = {name, type, description}, with the number of the sentence that says it."""

    model_config = ConfigDict(extra="forbid")

    name: EntityName
    type: AnyType = "other"
    sentence: int


class RelationFact(BaseModel):
    """r_i = {source, target, description, strength}, with the number of the sentence that says it."""

    model_config = ConfigDict(extra="forbid")

    source: EntityName
    target: EntityName
    sentence: int
    strength: Annotated[int, Scale(1, 10)]


@needs(draft="chunk_persona")
@unless_overtaken
async def extract_facts(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have the facts of every chunk that has none yet, several chunks at a time.

    A chunk whose answer cannot be used after the re-asks is recorded as failed, and asked again with `retry`. Where
    nothing is known from any chunk, all are asked again.

    Raises:
        UnusableAnswer: no chunk has any facts.
    """
    build = await open_build(state, runtime, ExtractionSettings)
    run, answers, chunks = build.run, await build.answers(), await build.records()
    left = {facts_key(one): one for one in without_answer(chunks, answers, retry=bool(state.get("retry")))}
    chat = replace(run.chat, deadline=run.settings.extraction_deadline)
    most, quoted = run.settings.most(chat), run.settings.quotes(chat)
    prompt, role = run.prompt("quote_facts" if quoted else "extract_facts"), run.role.card.name

    async def ask(chunk: StoredPassage) -> Answers:
        spans = sentences_of(chunk)
        messages = prompt.messages(role=role, most=most, data={"text": numbered(chunk, spans)})
        try:
            kind = facts_about(len(spans), most, quoted=quoted)
            found = await extract(
                chat,
                messages,
                kind,
                form=partial(with_sentences, told=[on_a_line(chunk.text[begin:end]) for begin, end in spans]),
            )
        except UNANSWERED as error:
            return {failure_key(chunk): str(error)}
        return {facts_key(chunk): found.model_dump(mode="json")}

    before = len({facts_key(one) for one in chunks}) - len(left)
    await ask_all(build, "facts", left, ask, before=before)
    answers = await build.answers()
    if nothing_told(chunks, answers):
        raise without_facts(chunks, answers, run.chat.name, run.role.id)
    return {"normalized": run.settings.normalization, "usage": {"extract_facts": run.usage}}


def facts_key(chunk: StoredPassage) -> str:
    """What the facts of a chunk are kept by: its text under its headings."""
    return answer_key("facts", in_context(chunk))


def failure_key(chunk: StoredPassage) -> str:
    """What the error is kept by where there are no facts."""
    return answer_key("failed", in_context(chunk))


def nothing_told(chunks: Sequence[StoredPassage], answers: Mapping[str, JsonValue]) -> bool:
    """Whether no chunk has an entity or a relation."""
    facts = (cast("dict[str, Any]", answers.get(facts_key(one)) or {}) for one in chunks)
    return not any(one.get("entities") or one.get("relations") for one in facts)


def without_facts(
    chunks: Sequence[StoredPassage], answers: Mapping[str, JsonValue], model: str, role: str
) -> UnusableAnswer:
    """Why there is nothing to make a graph from."""
    failed = failures(chunks, answers)
    if not failed:
        return UnusableAnswer(f"The model {model!r} found nobody and nothing in the documents of {role!r}.")
    return UnusableAnswer(
        f"None of the chunks of {role!r} has facts ({len(failed)} failed): {failed[0]['error']} Run "
        f"`dramaturg index {role} --method role-rag`, with another model if that is the reason."
    )


def without_answer(
    chunks: Sequence[StoredPassage], answers: Mapping[str, JsonValue], *, retry: bool
) -> list[StoredPassage]:
    """The chunks that are to be asked about."""
    known = {} if nothing_told(chunks, answers) else answers
    return [one for one in chunks if facts_key(one) not in known and (retry or failure_key(one) not in known)]


@lru_cache(maxsize=128)
def facts_about(count: int, most: int, *, quoted: bool) -> type[BaseModel]:
    """The form of an answer on so many sentences: a fact names one of them, which stands for a description too."""
    fields: dict[str, Any] = {"sentence": (Annotated[int, NumberOf(count)], ...)}
    if not quoted:
        fields["description"] = (ShortText, "")
    entity = create_model("EntityFact", __base__=EntityFact, **fields)
    relation = create_model("RelationFact", __base__=RelationFact, **fields)
    entities: Any = (list[entity], Field(max_length=most))  # type: ignore[valid-type]
    relations: Any = (list[relation], Field(max_length=most))  # type: ignore[valid-type]
    return create_model("Facts", __base__=Extracted, entities=entities, relations=relations)


def left_out(chunks: Iterable[StoredPassage], answers: Mapping[str, JsonValue]) -> list[dict[str, str]]:
    """What of the facts of each chunk was left out or cut, in words."""
    facts = ((one, cast("dict[str, Any]", answers.get(facts_key(one)) or {})) for one in chunks)
    return [{"passage": one.id, "dropped": "; ".join(found["dropped"])} for one, found in facts if found.get("dropped")]


def failures(chunks: Iterable[StoredPassage], answers: Mapping[str, JsonValue]) -> list[dict[str, str]]:
    """The chunks whose facts could not be had, and why."""
    return [
        {"passage": one.id, "error": str(answers[failure_key(one)])}
        for one in chunks
        if facts_key(one) not in answers and failure_key(one) in answers
    ]


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
    """The databases 𝒩 and ℛ, before names are merged."""

    entities: tuple[EntityMention, ...]
    relations: tuple[RelationMention, ...]


def mentions_in(
    chunks: Iterable[StoredPassage], answers: Mapping[str, JsonValue], splits: Sequence[Split] = ()
) -> Mentions:
    """Read the facts of all chunks; what stands where two of them overlap counts once.

    A name goes by what a person has called it in this place. A relation of a name with itself is left out.
    """
    entities: list[EntityMention] = []
    relations: list[RelationMention] = []
    for chunk in chunks:
        facts = cast("dict[str, Any]", answers.get(facts_key(chunk)) or {"entities": [], "relations": []})
        spans = sentences_of(chunk)
        for fact in facts["entities"]:
            said, quoted = statement_of(fact, chunk, spans), not fact.get("description")
            name = meant(fact["name"], said, splits)
            entities.append(EntityMention(normal_name(name), name, fact["type"], quoted, said))
        for fact in facts["relations"]:
            said = statement_of(fact, chunk, spans)
            names = [meant(fact[end], said, splits) for end in ("source", "target")]
            source, target = map(normal_name, names)
            if source != target:
                entities += (EntityMention(normal_name(name), name, "other", False, None) for name in names)
                relations.append(RelationMention(source, target, fact["strength"], said))
    return Mentions(
        once(entities, lambda one: (*one[:-1], one.statement and one.statement.told)),
        once(relations, lambda one: (*one[:-1], one.statement.told)),
    )


def meant(name: str, said: Statement, splits: Iterable[Split]) -> str:
    """What a name that a document gives is called in this place."""
    return next((one.called for one in splits if one.holds(name, said.source, said.start)), name)


def statement_of(fact: Mapping[str, Any], chunk: StoredPassage, spans: Sequence[tuple[int, int]]) -> Statement:
    """The description, or the sentence itself where the model was only asked for its number."""
    begin, end = spans[fact["sentence"] - 1]
    text = fact.get("description") or on_a_line(chunk.text[begin:end])
    return Statement(text=text, passage=chunk.id, source=chunk.source, start=chunk.start + begin, end=chunk.start + end)


T = TypeVar("T")


def once(items: Iterable[T], key: Callable[[T], Hashable]) -> tuple[T, ...]:
    """The first of the items that have one key in common."""
    found: dict[Hashable, T] = {}
    for item in items:
        found.setdefault(key(item), item)
    return tuple(found.values())


def entities_in(mentions: Mentions, before: Sequence[str] = ()) -> list[Named]:
    """The entity database 𝒩: each name once, as it is written most often, with what is said of it first.

    Args:
        mentions: of all chunks.
        before: the keys of entities in their order, in which an earlier version has written it down.
    """
    mentioned: dict[str, list[EntityMention]] = {}
    for one in mentions.entities:
        mentioned.setdefault(one.key, []).append(one)
    found = []
    for key, those in mentioned.items():
        ((name, _),) = Counter(one.name for one in those).most_common(1)
        first = next((one for one in those if one.statement), None)
        said = first.statement if first else None
        place = (said.source, said.start, said.end) if said and first and first.quoted else None
        found.append(Named(key, name, said.text if said else "", place, type_of(one.type for one in those)))
    return in_former_order(found, before, lambda entity: entity.key)


def type_of(types: Iterable[EntityType]) -> EntityType:
    """The type that is given most often, the first of them; "other" only where there is no better."""
    counted = Counter(one for one in types if one != "other")
    return counted.most_common(1)[0][0] if counted else "other"


def names_in(answers: Iterable[JsonValue]) -> list[str]:
    """All names in the facts among these answers, also of chunks that are gone."""
    facts = [cast("dict[str, Any]", one) for one in answers if isinstance(one, dict) and "entities" in one]
    named = [str(one["name"]) for fact in facts for one in fact["entities"]]
    return named + [str(one[end]) for fact in facts for one in fact["relations"] for end in ("source", "target")]
