"""Passages by similarity to the question: what a role knows from its persona document, and the reply of naive RAG."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.open_settings import Closed, Open
from dramaturg.nodes.reply import AskedState, Grounds, ReplySettings, grounds_of, spoken
from dramaturg.nodes.run import RoleContext, Run, by_rules, needs, open_run
from dramaturg.nodes.text.splitter import Method
from dramaturg.nodes.turn import EvidenceState, Question, StandaloneState
from dramaturg.stores.index.passages import PassageStore, StoredPassage, passage_kind

__all__ = ["knowledge_grounds", "respond_from_knowledge", "retrieve"]


class PassageSettings(RoleContext):
    """Which passages a persona document is split into."""

    splitter: Closed[Method] = by_rules(
        paper="acts-document",
        ours="acts",
        description="acts: length by the longest paragraph, within sections, with headings; acts-document: over the "
        "whole document, so that sections overlap too (the paper; about twice the passages); ats: that without "
        "headings; fixed.",
    )
    unit: Closed[Literal["characters", "tokens"]] = Field(default="characters", description="The unit of lengths.")
    longest: Closed[int] = Field(
        default=2000, ge=50, le=100_000, description="The upper limit of l_max, however long a paragraph is."
    )
    fixed_length: Closed[int] = Field(
        default=1000, ge=50, le=100_000, description="Length of a passage of the splitter fixed."
    )
    fixed_overlap: Closed[int] = Field(
        default=100, ge=0, le=50_000, description="Overlap of passages of the splitter fixed."
    )


class RetrievalSettings(PassageSettings):
    """How much is retrieved."""

    knowledge: Open[int] = Field(
        default=3, ge=1, le=50, description="Passages that are given to the reply as knowledge (k)."
    )

    @property
    def depth(self) -> int:
        """How many passages are ranked."""
        return self.knowledge


class Candidate(TypedDict):
    """A passage in the ranking by similarity to the question."""

    passage: str
    score: float


PassagesVersion = Annotated[str, Field(description="The index of passages that the turn reads; none: the current one.")]
Candidates = Annotated[list[Candidate], Field(description="The passages that retrieval found, the nearest first.")]
Selected = Annotated[list[Candidate], Field(description="The passages that guided selection has kept, S.")]


class RetrievalState(StandaloneState):
    """What retrieval reads and writes."""

    question: Question
    passages_version: NotRequired[PassagesVersion]
    candidates: Candidates


class PassageEvidence(TypedDict):
    """A passage that a reply rests on, with its cosine similarity to the question."""

    passage: str
    score: float
    source: str
    headings: list[str]
    text: str


@needs(question="read_turn")
async def retrieve(state: RetrievalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Sort passages in descending order of similarity to u (AMADEUS, Algorithm 1 line 2); the first k are knowledge.

    Where the question was said in full, u is that; see `make_self_contained`.

    Raises:
        MissingIndex: the role has no index of these passages.
        EmbeddingMismatch: the index was made with another embedding model.
    """
    run = await open_run(runtime, RetrievalSettings)
    model = await run.embedder()
    store = await passages_of(run, state.get("passages_version"))
    vector = await model.query(asked(state))
    store.require(model.name, len(vector))
    found = store.search(vector, run.settings.depth)
    candidates = [Candidate(passage=name, score=score) for name, score in found]
    knowledge = passage_evidence(store, candidates[: run.settings.knowledge])
    runtime.stream_writer({"event": "retrieved", "knowledge": knowledge})
    evidence = {"knowledge": knowledge, **run.kept_back(), **({"warning": store.warning} if store.warning else {})}
    return {"passages_version": store.version, "candidates": candidates, "evidence": evidence}


def asked(state: Mapping[str, Any]) -> str:
    """What passages are looked up and judged for: the question, said in full where a node did so."""
    return str(state.get("standalone") or state["question"])


async def passages_of(run: Run[PassageSettings], version: str | None) -> PassageStore:
    """The passages of the version that a turn reads, also when a newer one is there; none: the newest."""
    return await run.store(passage_kind(run.settings.splitter), version)


def passage_evidence(store: PassageStore, candidates: Iterable[Candidate]) -> list[PassageEvidence]:
    """Candidates with their texts, and where these stand in the persona."""
    return [evidence_of(store.get(candidate["passage"]), candidate["score"]) for candidate in candidates]


def evidence_of(passage: StoredPassage, score: float) -> PassageEvidence:
    """A passage with its text, and where it stands in the persona."""
    return {
        "passage": passage.id,
        "score": score,
        "source": passage.source,
        "headings": list(passage.headings),
        "text": passage.text,
    }


def in_context(passage: StoredPassage) -> str:
    """A passage under its headings, as a model reads it."""
    return under_headings(passage.headings, passage.text)


def under_headings(headings: Sequence[str], text: str) -> str:
    """A chunk with its hierarchical context (ĉ = c + H, AMADEUS Eq. 5)."""
    return "\n".join([" > ".join(headings), text]).strip()


class GroundedReplySettings(ReplySettings, RetrievalSettings):
    """A reply that rests on passages."""


class KnowledgeState(AskedState, EvidenceState):
    """What a reply from knowledge alone reads."""

    passages_version: NotRequired[PassagesVersion]
    candidates: Candidates


@needs(question="read_turn", candidates="retrieve")
async def respond_from_knowledge(state: KnowledgeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the retrieved passages alone (naive RAG, the baseline of AMADEUS Table 6)."""
    run = await open_run(runtime, GroundedReplySettings)
    grounds = await knowledge_grounds(run, state)
    reply, slips = await spoken(run, state, "respond_from_knowledge", grounds, data={"knowledge": ""})
    return {"messages": [reply], "evidence": slips, "usage": {"respond_from_knowledge": run.usage}}


async def knowledge_grounds(run: Run[RetrievalSettings], state: KnowledgeState) -> Grounds:
    """What a reply can rest on without attributes: "knowledge", the passages nearest to the question."""
    store = await passages_of(run, state.get("passages_version"))
    texts = [in_context(store.get(one["passage"])) for one in state["candidates"][: run.settings.knowledge]]
    return grounds_of(state, {"knowledge": texts}, shown=("knowledge",))
