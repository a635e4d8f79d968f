"""The emotion of memories and questions, eight scores with reasons (Emotional RAG, II.B.1 and 2, Equations 3 and 5)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, create_model

from dramaturg.models.chat import ChatModel
from dramaturg.models.client import is_embedded
from dramaturg.models.embeddings import Embedder
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import extract
from dramaturg.nodes.context import RoleContext
from dramaturg.nodes.emotion_similarity import described_emotions, intensities, similarities
from dramaturg.prompts import load
from dramaturg.stores.memories import Felt, Mood
from dramaturg.stores.role_files import RoleCard

EMOTIONS = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")
"""The dimensions of an emotional vector, in the paper's order."""

BATCH = 64  # texts that are embedded together
REASON = 120  # characters of a reason


class EmotionSettings(RoleContext):
    """Who says what is felt."""

    emotion_encoder: Literal["auto", "model", "embedding"] = Field(
        default="auto",
        description="Who scores emotions. model: the chat model (the paper); embedding: similarity to eight described "
        "emotions; auto: who scored the memories that are indexed, else the chat model, unless it is the embedded one, "
        "which is slow and no better at it.",
    )


class Told(Protocol):
    """A memory as encoders read it."""

    @property
    def text(self) -> str:
        """All of it: the role's own words, perhaps after what someone else said."""

    @property
    def own(self) -> str:
        """The role's own words alone."""


class EmotionEncoder(Protocol):
    """G, what gives texts their moods."""

    @property
    def name(self) -> str:
        """Who scores: vectors of two encoders are not compared."""

    @property
    def at_once(self) -> int:
        """How many memories are worth one call."""

    async def of_memories(self, memories: Sequence[Told]) -> list[Mood]:
        """What the role feels in each memory, or why that cannot be had.

        Raises:
            ModelError: no memory will have an answer now.
        """

    async def of_question(self, text: str) -> Mood:
        """What speaks from a question.

        Raises:
            ModelError: there is no answer.
        """


def clipped(reason: object) -> object:
    """The beginning of a reason: too many words are no reason to lose the scores."""
    return reason.strip()[:REASON].strip() if isinstance(reason, str) else reason


class Feeling(BaseModel):
    """One emotion as the model judges it: first why, then how strong. A number in quotes is none."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=REASON), BeforeValidator(clipped)
    ]
    score: int = Field(strict=True, ge=1, le=10)


EACH: dict[str, Any] = dict.fromkeys(EMOTIONS, (Feeling, ...))
Feelings = create_model("Feelings", __config__=ConfigDict(extra="forbid"), **EACH)


@dataclass(frozen=True)
class ModelEncoder:
    """The chat model judges each text by itself, as in the paper (Fig. 2)."""

    chat: ChatModel
    role: str
    """The name of the role."""
    language: str
    name: str = "model"
    at_once: int = 1

    async def of_memories(self, memories: Sequence[Told]) -> list[Mood]:
        """Ask what the role feels in each memory; where no answer can be used, the mood says why.

        Raises:
            ModelError: the model cannot be reached or refuses every question.
        """
        tasks = [asyncio.create_task(self.of_memory(memory.text)) for memory in memories]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # where one has failed, nobody waits for the others' answers
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def of_memory(self, text: str) -> Mood:
        """Ask what the role feels in a memory."""
        messages = load("feel_memory", self.language).messages(role=self.role, data={"memory": text})
        try:
            return await self.judged(messages)
        except UNANSWERED as error:
            return Mood(emotions=None, error=str(error))

    async def of_question(self, text: str) -> Mood:
        """Ask what speaks from a question, whoever is asked.

        Raises:
            ModelError: there is no answer.
        """
        return await self.judged(load("feel_question", self.language).messages(data={"said": text}))

    async def judged(self, messages: Sequence[BaseMessage]) -> Mood:
        """Have all eight emotions; an answer that lacks one, or scores beyond the scale, is asked for again."""
        found = (await extract(self.chat, messages, Feelings)).model_dump()
        return Mood(emotions={emotion: Felt(**found[emotion]) for emotion in EMOTIONS})


@dataclass(frozen=True)
class SimilarityEncoder:
    """The embedding model compares texts with descriptions of the emotions: no chat model, and much faster."""

    embedder: Embedder
    language: str
    """Of the texts."""
    at_once: int = BATCH
    turn: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    """One batch at a time: more would fill the threads that answers are written by, and the rest of the program."""

    @property
    def name(self) -> str:
        """The encoder with its model."""
        return encoder_name("embedding", self.embedder)

    async def of_memories(self, memories: Sequence[Told]) -> list[Mood]:
        """Compare memories. After what someone else said, only the role's own words count.

        Raises:
            ModelError: the embedding model cannot be reached.
        """
        async with self.turn:
            return await asyncio.to_thread(self.compared, [memory.own for memory in memories])

    async def of_question(self, text: str) -> Mood:
        """Compare a question.

        Raises:
            ModelError: the embedding model cannot be reached.
        """
        return (await asyncio.to_thread(self.compared, [text]))[0]

    def compared(self, texts: Sequence[str]) -> list[Mood]:
        """The moods of texts, a batch at a time."""
        described = described_emotions(self.embedder, self.language, EMOTIONS)
        found = list[Mood]()
        for start in range(0, len(texts), BATCH):
            cosines = similarities(texts[start : start + BATCH], described, self.embedder)
            for row, near in zip(intensities(cosines, described).tolist(), cosines.tolist(), strict=True):
                felt = (Felt(score=score, reason=f"similarity {one:.2f}") for score, one in zip(row, near, strict=True))
                found.append(Mood(emotions=dict(zip(EMOTIONS, felt, strict=True))))
        return found


def encoder_kind(context: EmotionSettings, chat: ChatModel) -> Literal["model", "embedding"]:
    """Who scores emotions where nothing is indexed yet."""
    if context.emotion_encoder == "auto":
        return "embedding" if is_embedded(chat.model) else "model"
    return context.emotion_encoder


def encoder_name(kind: Literal["model", "embedding"], embedder: Embedder) -> str:
    """The name that moods are kept under."""
    return kind if kind == "model" else f"{kind}:{embedder.name}"


def emotion_encoder(name: str, *, chat: ChatModel, embedder: Embedder, card: RoleCard) -> EmotionEncoder:
    """The encoder of a name; prompts and descriptions are in the role's own language."""
    if name == "model":
        return ModelEncoder(chat, card.name, card.language)
    return SimilarityEncoder(embedder, card.language)
