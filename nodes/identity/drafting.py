"""A chronicle drafted from persona documents, for a person to accept triple by triple (ID-RAG 3.2 and 7)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import NumberOf, Truth
from dramaturg.models.questions import extract
from dramaturg.nodes.asking import Announce, Answers, answer_all
from dramaturg.nodes.graph.facts import numbered, on_a_line, sentences_of
from dramaturg.nodes.identity.chronicle import (
    UNKNOWN_KIND,
    GivenObject,
    GivenRelation,
    triple_sentence,
    written_relation,
)
from dramaturg.nodes.passages.index import stored
from dramaturg.nodes.text.splitter import plain, sections, split_document
from dramaturg.prompts import load, one_line
from dramaturg.stores.documents.chronicle import triple_key
from dramaturg.stores.documents.forms import Document, Triple
from dramaturg.stores.index.passages import StoredPassage

CHUNK_TOKENS = 600  # as where facts are extracted (RoleRAG 4.4)
MOST_TRIPLES = 12  # of a chunk


class DraftedTriple(BaseModel):
    """A triple as a model gives it: whom it is about is known, and where it is from is a sentence's number.

    A person reads each one before it counts, so it may lack all but relation and object.
    """

    model_config = ConfigDict(extra="forbid")

    sentence: int | None = None
    relation: GivenRelation
    object: GivenObject
    kind: Literal["belief", "trait", "value", "preference", "goal", "experience", "rule"] | None = None
    core: Truth = False


class DraftedTriples(Extracted):
    """What a chunk tells of the role's identity."""

    triples: list[DraftedTriple]


class FailedChunk(NamedTuple):
    """A chunk without a usable answer."""

    document: str
    heading: str
    error: str


class ChronicleDraft(NamedTuple):
    """What the documents tell, in their order, the chunks without a usable answer, what was left out of the others."""

    triples: list[Triple]
    failed: list[FailedChunk]
    dropped: list[str]
    held: int = 0
    """How many triples the documents tell beside these that are known already."""


async def draft_chronicle(
    chat: ChatModel,
    chunks: Sequence[StoredPassage],
    *,
    role: str,
    language: str,
    relations: Mapping[str, str],
    known: Iterable[Triple] = (),
    announce: Announce = lambda _: None,
) -> ChronicleDraft:
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
    drafted: dict[str, list[Triple]] = {}
    dropped: dict[str, tuple[str, ...]] = {}
    errors: dict[str, str] = {}

    async def ask(chunk: StoredPassage) -> Answers:
        try:
            drafted[chunk.id], dropped[chunk.id] = await drafted_triples(
                chat, chunk, role=role, language=language, relations=relations
            )
        except UNANSWERED as error:
            errors[chunk.id] = str(error)
        return {}

    async def keep(_: Answers) -> None:
        """Nothing is kept on disk before all is drafted."""

    await answer_all({one.id: one for one in chunks}, ask, keep=keep, announce=announce)
    found = distinct(triple for one in chunks for triple in drafted.get(one.id, ()))
    held = {triple_key(one) for one in known}
    failed = [FailedChunk(one.source, " > ".join(one.headings), errors[one.id]) for one in chunks if one.id in errors]
    left_out = [
        f"{one.source}, {' > '.join(one.headings)}: {what}" for one in chunks for what in dropped.get(one.id, ())
    ]
    new = [one for one in found if triple_key(one) not in held]
    return ChronicleDraft(new, failed, left_out, held=len(found) - len(new))


async def drafted_triples(
    chat: ChatModel, chunk: StoredPassage, *, role: str, language: str, relations: Mapping[str, str]
) -> tuple[list[Triple], tuple[str, ...]]:
    """Ask what one chunk tells of the role's identity; see `draft_chronicle`.

    Returns:
        Triples, each relation with an object once, and what was left out of the answer. Each `source` is the document's
        name, and after it the sentence that the model named, as the document has it. A relation is written as in
        `relations`, where it stands there in another writing.

    Raises:
        ModelError: there is no usable answer.
    """
    spans = sentences_of(chunk)
    messages = load("draft_chronicle", language).messages(
        role=role,
        most=MOST_TRIPLES,
        relations=offered(relations, role, language),
        data={"text": numbered(chunk, spans)},
    )
    triples = []
    answer = await extract(chat, messages, drafted_among(len(spans)))
    for one in answer.triples:
        begin, end = spans[one.sentence - 1] if one.sentence else (0, 0)
        source = f"{chunk.source}: {on_a_line(chunk.text[begin:end])}" if end else chunk.source
        triples.append(as_triple(one, role, relations, source))
    return distinct(triples), answer.dropped


def offered(relations: Mapping[str, str], role: str, language: str) -> str:
    """The relations that a prompt offers, a line each with how a statement of it reads."""
    examples = (Triple(subject=role, relation=relation, object="…", kind="trait") for relation in relations)
    return "\n".join(one_line(f"{one.relation}: {triple_sentence(one, language, relations)}") for one in examples)


def as_triple(given: DraftedTriple, role: str, relations: Iterable[str], source: str) -> Triple:
    """A triple about a role, of what a model gave; its relation is written as among those that are known."""
    return Triple(
        subject=role,
        relation=written_relation(given.relation, relations),
        object=given.object,
        kind=given.kind or UNKNOWN_KIND,
        core=given.core,
        source=source,
    )


@lru_cache(maxsize=128)
def drafted_among(sentences: int) -> type[DraftedTriples]:
    """The form of an answer on so many sentences."""
    number: Any = (Annotated[int, NumberOf(sentences)] | None, None)
    triple = create_model("DraftedTriple", __base__=DraftedTriple, sentence=number)
    triples: Any = (list[triple], Field(max_length=MOST_TRIPLES))  # type: ignore[valid-type]
    return create_model("DraftedTriples", __base__=DraftedTriples, triples=triples)


def distinct(triples: Iterable[Triple]) -> list[Triple]:
    """The triples, each statement once; the first one stays."""
    found: dict[tuple[str, str, str], Triple] = {}
    for one in triples:
        found.setdefault(triple_key(one), one)
    return list(found.values())


def chunks_of(documents: Iterable[Document]) -> list[StoredPassage]:
    """Return the chunks that are asked about: they do not overlap, and have the headings that they begin under."""
    chunks = []
    for document in documents:
        cut = sections(plain(document.text))
        for part in split_document(
            document.text, method="fixed", unit="tokens", fixed_length=CHUNK_TOKENS, fixed_overlap=0
        ):
            above = [one.headings for one in cut if one.title <= part.start][-1]
            chunks.append(stored(document.name, replace(part, headings=above)))
    return chunks
