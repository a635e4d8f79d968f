"""The emotion of memories and questions, eight scores with reasons (Emotional RAG, II.B.1 and 2, Equations 3 and 5)."""

import asyncio
import re
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
from langchain_core.messages import BaseMessage
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, create_model

from dramaturg.models.chat import ChatModel
from dramaturg.models.clients import is_embedded
from dramaturg.models.embeddings import Embedder
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import Scale
from dramaturg.models.questions import extract
from dramaturg.models.reading import normalize_word
from dramaturg.nodes.asking import together
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.run import RoleContext, Run
from dramaturg.prompts import Prompt, fence, load
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.index.memories import Felt, Mood
from dramaturg.stores.index.vectors import Vectors, unit_rows, with_direction

EMOTIONS = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")
"""The dimensions of an emotional vector, in the paper's order."""
BATCH = 64  # texts that are embedded together
REASON = 120  # characters of a reason
CLEAR = 5  # the score of an emotion that is clearly there
FEW_WORDS = 4  # of a question that may only go on from what was said before
HAN = re.compile("[\u3400-\u9fff]")
INTENSITY = Scale(1, 10)
FULL = 0.5  # of the distance of one description from all: a text that stands out so much is given a 10

NO_DIRECTION = "The embedding model gave numbers for it that are not finite, or all zeros."


class EmotionSettings(RoleContext):
    """Who says what is felt."""

    emotion_encoder: Closed[Literal["auto", "model", "embedding"]] = Field(
        default="auto",
        description="Who scores emotions. model: the chat model (the paper); embedding: similarity to eight described "
        "emotions; auto: who scored the memories that are indexed, else the chat model, unless it is the embedded one, "
        "which is slow and no better at it.",
    )


class MemoryText(Protocol):
    """A memory as encoders read it."""

    @property
    def text(self) -> str:
        """All of it: the role's own words, perhaps after what someone else said."""

    @property
    def own(self) -> str:
        """The role's own words alone."""


class SaidBefore(NamedTuple):
    """What was said before a question: "And then?" has the mood of the exchange that it goes on from."""

    transcript: str
    """The last exchanges, a line each."""
    questions: Sequence[str]
    """What the same user said, the latest last."""


FIRST = SaidBefore("", ())


def word_count(text: str) -> float:
    """How many words there are; two Chinese characters are about one."""
    words, characters = re.findall(r"\w+", HAN.sub(" ", text)), HAN.findall(text)
    return len(words) + len(characters) / 2


def clipped_reason(reason: object) -> object:
    """The beginning of a reason: too many words are no reason to lose the scores."""
    return reason.strip()[:REASON].strip() if isinstance(reason, str) else reason


def least(score: object) -> object:
    """The least score where a model writes 0: an emotion that is not there has a 1 (Fig. 2)."""
    with suppress(ValueError):
        return INTENSITY.low if Scale(0, INTENSITY.high).read(score) == 0 else score
    return score


class Feeling(BaseModel):
    """One emotion as the model judges it: first why, then how strong."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=REASON), BeforeValidator(clipped_reason)
    ] = ""
    score: Annotated[int, INTENSITY, BeforeValidator(least)]


EACH: dict[str, Any] = dict.fromkeys(EMOTIONS, (Feeling, ...))
Feelings = create_model("Feelings", __base__=Extracted, **EACH)


def papers_list(answer: Any) -> Any:
    """Read the list that the paper asks for (Fig. 2), {"analysis", "dim", "score"} for each emotion, or eight numbers.

    An emotion that is null is not there.
    """
    if isinstance(answer, list) and len(answer) == len(EMOTIONS) and not any(isinstance(one, dict) for one in answer):
        answer = dict(zip(EMOTIONS, answer, strict=True))
    if isinstance(answer, list):
        answer = dict(named_emotion(one) for one in answer if isinstance(one, dict) and one)
    if not isinstance(answer, dict):
        return answer
    return {name: 0 if one is None and normalize_word(name) in EMOTIONS else one for name, one in answer.items()}


def named_emotion(item: dict[str, Any]) -> tuple[str, Any]:
    """An emotion of a list by its name, which stands under some key, or is one itself."""
    if len(item) == 1:
        return next(iter(item.items()))
    named = (key for key, value in item.items() if isinstance(value, str) and normalize_word(value) in EMOTIONS)
    key = next(named, "dim")
    rest = {"reason" if name == "analysis" else name: value for name, value in item.items() if name != key}
    return normalize_word(str(item.get(key))), rest


@dataclass(frozen=True)
class ModelEncoder:
    """The chat model judges each text by itself, as in the paper (Fig. 2)."""

    chat: ChatModel
    role: str
    """The name of the role."""
    language: str
    prompt: Callable[[str, str], Prompt] = load
    """Finds a prompt by its name and language."""
    name: str = "model"
    at_once: int = 1
    """How many memories are worth one call."""

    async def of_memories(self, memories: Sequence[MemoryText]) -> list[Mood]:
        """Ask what the role feels in each memory; where no answer can be used, the mood says why.

        Raises:
            ModelError: the model cannot be reached or refuses every question.
        """
        return await together(*(self._of_memory(memory.text) for memory in memories))

    async def _of_memory(self, text: str) -> Mood:
        try:
            return await self._felt(
                self.prompt("feel_memory", self.language).messages(role=self.role, data={"memory": text})
            )
        except UNANSWERED as error:
            return Mood(emotions=None, error=str(error))

    async def of_question(self, text: str, before: SaidBefore = FIRST) -> Mood:
        """Ask what speaks from a question, whoever is asked; the model says whether it only goes on from before."""
        told = f"{fence('before', before.transcript)}\n\n" if before.transcript else ""
        prompt = self.prompt("feel_question", self.language)
        return await self._felt(prompt.messages(before=told, data={"said": text}))

    async def _felt(self, messages: Sequence[BaseMessage]) -> Mood:
        """Have all eight emotions; an answer that lacks one, or scores beyond the scale, is asked for again."""
        found = (await extract(self.chat, messages, Feelings, form=papers_list)).model_dump()
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

    async def of_memories(self, memories: Sequence[MemoryText]) -> list[Mood]:
        """Compare memories. After what someone else said, only the role's own words count."""
        async with self.turn:
            return await self.compared([memory.own for memory in memories])

    async def of_question(self, text: str, before: SaidBefore = FIRST) -> Mood:
        """Compare a question; one of a few words, without an emotion of its own, together with what it goes on from."""
        if not before.questions or word_count(text) > FEW_WORDS:
            return (await self.compared([text]))[0]
        from_one = word_count(before.questions[-1]) > FEW_WORDS  # else that may go on from another
        exchange = "\n".join([*before.questions[-1 if from_one else -2 :], text])
        alone, both = await self.compared([text, exchange])
        return both if max((alone.scores or {"": 1}).values()) < CLEAR else alone

    async def compared(self, texts: Sequence[str]) -> list[Mood]:
        """The moods of texts, a batch at a time; one that the model gives no direction has none.

        Raises:
            ModelError: the embedding model cannot be reached, or does not give vectors, all of one length.
            ValueError: it gives no direction for the descriptions of the emotions.
        """
        described = await described_emotions(self.embedder, self.language, EMOTIONS)
        found = [Mood(emotions=None, error=NO_DIRECTION)] * len(texts)
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            rows = await self.embedder.documents(batch, dimension=described.shape[1], faulty=True)
            usable = np.flatnonzero(with_direction(rows))
            cosines = np.asarray(unit_rows(rows[usable]), np.float64) @ np.asarray(described, np.float64).T  # (n, 8)
            scored = zip(intensities(cosines, described).tolist(), cosines.tolist(), strict=True)
            for at, (row, near) in zip(usable.tolist(), scored, strict=True):
                felt = (Felt(score=score, reason=f"similarity {one:.2f}") for score, one in zip(row, near, strict=True))
                found[start + at] = Mood(emotions=dict(zip(EMOTIONS, felt, strict=True)))
        return found


def intensities(cosines: NDArray[np.float64], described: Vectors) -> NDArray[np.int64]:
    """Scores from 1 to 10, of shape (n, 8): by how much each emotion stands out from the mean of the text's eight.

    How far cosines spread differs from model to model, and is measured by how far the descriptions are from each other.
    Where nothing stands out, as in texts without a feeling, all scores are low.
    """
    apart = 1 - float(np.mean(described @ described.T))
    outstanding = cosines - cosines.mean(axis=1, keepdims=True)
    shares = np.clip(outstanding / max(FULL * apart, np.finfo(np.float32).eps), 0, 1)
    return np.asarray(np.rint(1 + 9 * shares), np.int64)


_described: dict[tuple[int, str, tuple[str, ...]], Vectors] = {}


async def described_emotions(embedder: Embedder, language: str, emotions: Sequence[str]) -> Vectors:
    """Directions of emotions, of shape (8, d): the mean over the sentences of each. Embedded once a process and model.

    Raises:
        KeyError: an emotion is not described.
    """
    model = embedder.embeddings
    key = (id(model), language, tuple(emotions))
    if key not in _described:
        sentences = descriptions(language)
        told = [sentence for emotion in emotions for sentence in sentences[emotion]]
        ends = np.cumsum([len(sentences[emotion]) for emotion in emotions])[:-1]
        rows = np.split(unit_rows(await embedder.documents(told)), ends)
        if key not in _described:  # somebody else may have been faster
            _described[key] = unit_rows([one.mean(axis=0, dtype=np.float64) for one in rows])
            weakref.finalize(model, _described.pop, key, None)
    return _described[key]


def descriptions(language: str) -> dict[str, list[str]]:
    """The sentences that describe each emotion: lines "joy: …" of the prompt `feelings`."""
    found: dict[str, list[str]] = {}
    for message in load("feelings", language).messages():
        for line in message.text.splitlines():
            emotion, _, sentence = line.partition(": ")
            found.setdefault(emotion, []).append(sentence)
    return found


EmotionEncoder = ModelEncoder | SimilarityEncoder
"""G, what gives texts their moods."""


def emotion_encoder(
    name: str,
    *,
    chat: ChatModel,
    embedder: Embedder,
    card: RoleCard,
    prompt: Callable[[str, str], Prompt] = load,
) -> EmotionEncoder:
    """The encoder of a name; prompts and descriptions are in the role's own language."""
    if name == "model":
        return ModelEncoder(chat, card.name, card.language, prompt)
    return SimilarityEncoder(embedder, card.language)


async def encoder_of(run: Run[Any], name: str, card: RoleCard) -> EmotionEncoder:
    """The encoder of a name, with the models and the prompts of a run."""
    return emotion_encoder(name, chat=run.chat, embedder=await run.embedder(), card=card, prompt=run.prompt)


def encoder_name(kind: Literal["model", "embedding"], embedder: Embedder) -> str:
    """The name that moods are kept under: moods by two encoders are not compared."""
    return kind if kind == "model" else f"{kind}:{embedder.name}"


def encoder_kind(context: EmotionSettings, chat: ChatModel) -> Literal["model", "embedding"]:
    """Who scores emotions where nothing is indexed yet."""
    if context.emotion_encoder == "auto":
        return "embedding" if is_embedded(chat.model) else "model"
    return context.emotion_encoder
