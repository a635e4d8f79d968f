"""Passages by similarity to the question: what a role knows from its persona document."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.run import RoleContext, embedder_of, role_of, settings
from dramaturg.nodes.turn import Report
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.kinds import passage_kind
from dramaturg.stores.index.passages import PassageStore, StoredPassage


class PassageSettings(RoleContext):
    """Which passages a persona document is split into."""

    splitter: Literal["acts", "ats", "fixed"] = Field(
        default="acts",
        description="acts: length by the longest paragraph, with headings; ats: the same without headings; fixed.",
    )
    unit: Literal["characters", "tokens"] = Field(default="characters", description="What lengths are counted in.")
    longest: int = Field(
        default=2000, ge=50, le=100_000, description="The most that l_max may be, however long a paragraph is."
    )
    fixed_length: int = Field(default=1000, ge=50, le=100_000, description="Length of a passage of the splitter fixed.")
    fixed_overlap: int = Field(default=100, ge=0, le=50_000, description="Overlap of passages of the splitter fixed.")

    @property
    def index_kind(self) -> IndexKind[StoredPassage, Any]:
        """The kind of index that is read."""
        return passage_kind(self.splitter)


class RetrievalSettings(PassageSettings):
    """How much is retrieved."""

    knowledge: int = Field(default=3, ge=1, le=50, description="Passages that are given to the reply as knowledge (k).")

    @property
    def depth(self) -> int:
        """How many passages are ranked."""
        return self.knowledge


class Candidate(TypedDict):
    """A passage in the ranking by similarity to the question."""

    passage: str
    score: float


class RetrievalState(Report):
    """What retrieval reads and writes; `version` is the index that the turn reads, the current one if empty."""

    question: str
    version: str
    candidates: list[Candidate]


class PassageEvidence(TypedDict):
    """A passage that a reply rests on, with its cosine similarity to the question."""

    passage: str
    score: float
    source: str
    headings: list[str]
    text: str


async def retrieve(state: RetrievalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Sort passages in descending order of similarity to u (AMADEUS, Algorithm 1 line 2); the first k are knowledge.

    Raises:
        MissingIndex: the role has no index of these passages.
        EmbeddingMismatch: the index was made with another embedding model.
    """
    context = settings(runtime, RetrievalSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    store = await asyncio.to_thread(role.index(passage_kind(context.splitter)).open, state.get("version") or None)
    vector = await model.embeddings.aembed_query(state["question"])
    store.require(model.name, len(vector))
    candidates = ranked(store, vector, context.depth)
    knowledge = as_evidence(store, candidates[: context.knowledge])
    runtime.stream_writer({"event": "retrieved", "knowledge": knowledge})
    evidence = {"knowledge": knowledge, **({"warning": store.warning} if store.warning else {})}
    return {"version": store.version, "candidates": candidates, "evidence": evidence}


def ranked(store: PassageStore, vector: list[float], depth: int) -> list[Candidate]:
    """The `depth` passages nearest to a vector, best first."""
    return [{"passage": name, "score": score} for name, score in store.search(vector, depth)]


async def passages_of(context: PassageSettings, version: str) -> PassageStore:
    """The passages that this turn reads, also when a newer version was published meanwhile."""
    role = await role_of(context)
    return await asyncio.to_thread(role.index(passage_kind(context.splitter)).open, version)


def as_evidence(store: PassageStore, candidates: Iterable[Candidate]) -> list[PassageEvidence]:
    """Look up the texts of candidates."""
    return [evidence(store.get(candidate["passage"]), candidate["score"]) for candidate in candidates]


def evidence(passage: StoredPassage, score: float) -> PassageEvidence:
    """One passage with where it stands in the persona."""
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
