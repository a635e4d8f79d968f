"""The query, encoded: its meaning and its mood, at the same time (Emotional RAG, II.B.1)."""

from typing import Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.context import embedder_of, respondent_of, role_of, settings
from dramaturg.nodes.current_memories import memories_of
from dramaturg.nodes.emotion_encoder import emotion_encoder
from dramaturg.nodes.emotional_recall import Strategy
from dramaturg.nodes.memory_settings import MemorySettings
from dramaturg.nodes.turn import Report
from dramaturg.stores.memories import Mood
from dramaturg.stores.vectors import unit_rows


class StrategySettings(MemorySettings):
    """How meaning and mood are put together."""

    strategy: Strategy = Field(
        default="C-A",
        description="C-A: sum of both distances; C-M: their product; S-S: by meaning, then re-ranked by mood; "
        "S-E: by mood, then re-ranked by meaning; semantic: meaning alone.",
    )


class QueryState(Report):
    """What encoding reads and writes; `version` is the index that the turn reads."""

    question: str
    version: str
    query_vector: list[float]
    mood: dict[str, Any] | None


S = TypeVar("S", bound=StrategySettings)


async def encode_meaning(state: QueryState, runtime: Runtime[S]) -> dict[str, Any]:
    """Embed the query: semantic_q = F(q) (Eq. 2), of length 1 as the memories are.

    The vector leaves the state when memories are recalled.
    """
    context = settings(runtime, StrategySettings)
    model = await embedder_of(context, await role_of(context))
    vector = await model.embeddings.aembed_query(state["question"])
    return {"query_vector": unit_rows([vector])[0].tolist()}


async def encode_mood(state: QueryState, runtime: Runtime[S]) -> dict[str, Any]:
    """Encode the mood of the query: emotion_q = G(q) (Eq. 3), by what encoded the memories of this version.

    A mood that cannot be had leaves recall by meaning alone, and the evidence says so.

    Raises:
        ModelError: the model cannot be reached or refuses the question.
    """
    context = settings(runtime, StrategySettings)
    if context.strategy == "semantic":
        return {"mood": None}
    role = await role_of(context)
    store = await memories_of(context, state["version"])
    chat = await respondent_of(context, role)
    model = await embedder_of(context, role)
    encoder = emotion_encoder(store.encoder, chat=chat, embedder=model, card=role.card)
    try:
        mood = await encoder.of_question(state["question"])
    except UNANSWERED as error:
        mood = Mood(emotions=None, error=str(error))
    found = {"encoder": encoder.name, **mood.model_dump(mode="json", exclude_defaults=True)}
    runtime.stream_writer({"event": "mood", **found})
    return {"mood": found, "evidence": {"mood": found}, "usage": {"encode_mood": chat.account.usage()}}
