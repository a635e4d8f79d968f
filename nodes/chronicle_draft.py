"""A chronicle drafted from persona documents, for a person to accept triple by triple (ID-RAG 3.2 and 7)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, create_model

from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import extract
from dramaturg.nodes.asked_answers import Announce, Answers, answer_all
from dramaturg.nodes.document_splitting import stored
from dramaturg.nodes.fact_extraction import numbered, sentences_of
from dramaturg.nodes.identity_sentences import sentence
from dramaturg.nodes.markdown_sections import plain, sections
from dramaturg.nodes.splitter import Passage, split_document
from dramaturg.prompts import load
from dramaturg.stores.names import normal_name
from dramaturg.stores.passages import StoredPassage
from dramaturg.stores.role_files import Document, Triple

LENGTH = 600  # tokens of a chunk, as where facts are extracted (RoleRAG 4.4)
MOST = 12  # triples of a chunk

Kind: TypeAlias = Literal["belief", "trait", "value", "preference", "goal", "experience", "rule"]
Relation = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]{1,40}$")]
Thing = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class DraftedTriple(BaseModel):
    """A triple as a model gives it: whom it is about is known, and where it is from is a sentence's number."""

    model_config = ConfigDict(extra="forbid")

    sentence: int
    relation: Relation
    object: Thing
    kind: Kind
    core: bool


class DraftedTriples(BaseModel):
    """What a chunk tells of the role's identity."""

    model_config = ConfigDict(extra="forbid")

    triples: list[DraftedTriple]


class Unread(NamedTuple):
    """A chunk without an answer that can be used."""

    document: str
    heading: str
    error: str


class Draft(NamedTuple):
    """What the documents tell, in their order, and the chunks that nothing could be had of."""

    triples: list[Triple]
    failed: list[Unread]


async def draft_chronicle(
    chat: ChatModel,
    chunks: Sequence[StoredPassage],
    *,
    role: str,
    language: str,
    relations: Mapping[str, str],
    known: Iterable[Triple] = (),
    announce: Announce = lambda _: None,
) -> Draft:
    """Draft triples from all chunks, several at a time; what repeats, or is known already, is left out.

    Args:
        chat: the chat model; `concurrency` bounds how many chunks are with it at once.
        chunks: of the documents, as `chunks_of` gives them.
        role: the name of whom they are about.
        language: "en", "zh" or "ko": that of the documents, and of what is drafted.
        relations: templates by relation; these are offered, and others are welcome.
        known: what the chronicle holds already.
        announce: is told how many chunks are done.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    answers: dict[str, JsonValue] = {}

    async def ask(chunk: StoredPassage) -> Answers:
        try:
            found = await drafted_triples(chat, chunk, role=role, language=language, relations=relations)
        except UNANSWERED as error:
            return {chunk.id: str(error)}
        return {chunk.id: [one.model_dump(mode="json") for one in found]}

    async def keep(had: Answers) -> None:
        answers.update(had)

    await answer_all({one.id: one for one in chunks}, ask, keep=keep, announce=announce)
    return read_draft(chunks, answers, known)


async def drafted_triples(
    chat: ChatModel, chunk: StoredPassage, *, role: str, language: str, relations: Mapping[str, str]
) -> list[Triple]:
    """Ask what one chunk tells of the role's identity; see `draft_chronicle`.

    Returns:
        Triples, each relation with an object once. Each `source` is the sentence that the model named, as the document
        has it, after the document's name.

    Raises:
        ModelError: there is no answer that can be used.
    """
    spans = sentences_of(chunk)
    messages = load("draft_chronicle", language).messages(
        role=role, most=MOST, relations=offered(relations, role, language), data={"text": numbered(chunk, spans)}
    )
    found = await extract(chat, messages, triples_about(len(spans)))
    return distinct(triple_of(one, chunk, spans, role) for one in found.triples)


def chunks_of(documents: Iterable[Document]) -> list[StoredPassage]:
    """Return the chunks that are asked about: they do not overlap, and have the headings that they begin under."""
    return [
        stored(document.name, part)
        for document in documents
        for part in under_their_headings(
            document.text,
            split_document(document.text, method="fixed", unit="tokens", fixed_length=LENGTH, fixed_overlap=0),
        )
    ]


def under_their_headings(text: str, parts: Iterable[Passage]) -> list[Passage]:
    """Passages with the headings above the place where they begin."""
    cut = sections(plain(text))
    above = [[section.headings for section in cut if section.title <= part.start][-1] for part in parts]
    return [Passage(one.text, headings, one.start, one.end) for one, headings in zip(parts, above, strict=True)]


def offered(relations: Mapping[str, str], role: str, language: str) -> str:
    """The relations, one a line, each with how a triple of it will read."""
    shown = (Triple(subject=role, relation=relation, object="…", kind="trait") for relation in relations)
    return "\n".join(f"{one.relation}: {sentence(one, language, relations)}" for one in shown)


def triples_about(count: int) -> type[DraftedTriples]:
    """The form of an answer on so many sentences."""
    about: Any = (int, Field(ge=1, le=count))
    triple = create_model("DraftedTriple", __base__=DraftedTriple, sentence=about)
    triples: Any = (list[triple], Field(max_length=MOST))  # type: ignore[valid-type]
    return create_model("DraftedTriples", __base__=DraftedTriples, triples=triples)


def triple_of(one: DraftedTriple, chunk: StoredPassage, spans: Sequence[tuple[int, int]], role: str) -> Triple:
    """A triple as a chronicle has it."""
    begin, end = spans[one.sentence - 1]
    source = f"{chunk.source}: {' '.join(chunk.text[begin:end].split())}"
    return Triple(subject=role, relation=one.relation, object=one.object, kind=one.kind, core=one.core, source=source)


def read_draft(chunks: Iterable[StoredPassage], answers: Answers, known: Iterable[Triple]) -> Draft:
    """Put the answers together: a list holds triples, a text says why there are none."""
    triples: list[Triple] = []
    failed: list[Unread] = []
    for chunk in chunks:
        found = answers[chunk.id]
        if isinstance(found, list):
            triples += (Triple.model_validate(one) for one in found)
        else:
            failed.append(Unread(chunk.source, " > ".join(chunk.headings), str(found)))
    told = {said(one) for one in known}
    return Draft([one for one in distinct(triples) if said(one) not in told], failed)


def distinct(triples: Iterable[Triple]) -> list[Triple]:
    """The triples, each statement once; the first one stays."""
    found: dict[tuple[str, str, str], Triple] = {}
    for one in triples:
        found.setdefault(said(one), one)
    return list(found.values())


def said(triple: Triple) -> tuple[str, str, str]:
    """What two triples have in common if they say the same."""
    return normal_name(triple.subject), triple.relation, normal_name(triple.object)
