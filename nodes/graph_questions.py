"""Who is asked while a knowledge graph is built, where the answers are kept, and what follows from them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from langgraph.runtime import Runtime
from pydantic import Field, JsonValue

from dramaturg.models.chat import ChatModel
from dramaturg.models.thresholds import threshold
from dramaturg.nodes.asked_answers import Answers, LookedAt, progress
from dramaturg.nodes.chunking import ChunkSettings
from dramaturg.nodes.context import embedder_of, language_of, respondent_of, role_of, settings
from dramaturg.nodes.entity_normalization import Named
from dramaturg.nodes.graph_facts import ORDER, entities_in, mentions_in, order_in
from dramaturg.stores.graph_builder import GraphBuilder
from dramaturg.stores.role import Role
from dramaturg.stores.vectors import Vectors

BATCH = 64  # texts that are embedded in one call


class NormalizationSettings(ChunkSettings):
    """How names are compared."""

    neighbours: int = Field(default=3, ge=1, le=50, description="Nearest entities that each one is compared with (k).")
    same_above: float | None = Field(
        default=None, ge=0, le=1, description="Least P(yes) for the same entity; default: as measured for the model."
    )
    least_similarity: float = Field(
        default=-1, ge=-1, le=1, description="Pairs below this cosine are not asked about; -1: all are (the paper)."
    )
    skip_joined: bool = Field(
        default=False, description="Do not ask about pairs that are in one group already: fewer edges, same groups."
    )
    pairs_at_once: int = Field(
        default=1, ge=1, le=20, description="Pairs in one question, for models that can take it."
    )
    reasons: bool = Field(default=True, description="Have the model say why two names mean the same.")


N = TypeVar("N", bound=NormalizationSettings)


class Asked(NamedTuple):
    """Who is asked, and where the answers are kept."""

    context: NormalizationSettings
    role: Role
    chat: ChatModel
    builder: GraphBuilder
    draft: str
    seen: dict[str, JsonValue] | None = None
    """Where answers go that are looked at, if somebody wants to know which those are."""

    @property
    def language(self) -> str:
        """The language of prompts."""
        return language_of(self.context, self.role)

    @property
    def above(self) -> float:
        """From which P(yes) two entities are the same: the setting, or what was measured for the model."""
        return threshold(self.chat.name, "same", self.context.same_above)

    async def keep(self, had: Answers) -> None:
        """Write answers down."""
        await asyncio.to_thread(self.builder.add_answers, self.draft, had)

    async def answers(self) -> Mapping[str, JsonValue]:
        """All answers so far."""
        answers = await asyncio.to_thread(self.builder.answers, self.draft)
        return answers if self.seen is None else LookedAt(answers, self.seen)


async def asked_of(runtime: Runtime[N], draft: str) -> Asked:
    """Put together who is asked in a run."""
    context = settings(runtime, NormalizationSettings)
    role = await role_of(context)
    return Asked(context, role, await respondent_of(context, role), role.graph_builder(context.index_kind), draft)


async def entities_of(asked: Asked) -> list[Named]:
    """The entity database 𝒩, in its order."""
    answers = await asked.answers()
    chunks = await asyncio.to_thread(asked.builder.records, asked.draft)
    found = entities_in(mentions_in(chunks, answers), order_in(answers))
    if asked.seen is not None and ORDER in asked.seen:
        asked.seen[ORDER] = [entity.key for entity in found]  # that of then may hold names of a forgotten document
    return found


async def embedded(texts: Sequence[str], asked: Asked, runtime: Runtime[N]) -> Vectors:
    """The vectors of texts, embedded now where that was not done before."""
    model = await embedder_of(asked.context, asked.role)
    left = await asyncio.to_thread(asked.builder.unembedded, asked.draft, texts)
    announce = progress(runtime, "vectors", len(left), each=BATCH)
    for number, start in enumerate(range(0, len(left), BATCH), start=1):
        batch = left[start : start + BATCH]
        vectors = np.array(await model.embeddings.aembed_documents(batch), np.float32)
        await asyncio.to_thread(asked.builder.add_vectors, asked.draft, batch, vectors)
        announce(number)
    return await asyncio.to_thread(asked.builder.vectors, asked.draft, texts)
