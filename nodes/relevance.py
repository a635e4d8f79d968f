"""How relevant texts are to a question: CRAG's retrieval evaluator (Yan et al. 2024, 4.2), asked of each text alone."""

import asyncio
from collections.abc import Sequence
from math import exp
from typing import Literal, NamedTuple

from pydantic import Field

from dramaturg.models.chat import ChatModel
from dramaturg.models.cross_encoder import cross_encoder
from dramaturg.models.errors import ModelError, ModelRefused, ModelUnavailable, PromptRefused, RequestRejected
from dramaturg.models.questions import decide
from dramaturg.models.thresholds import threshold
from dramaturg.nodes.context import RoleContext
from dramaturg.prompts import load

CORRECT, INCORRECT, STRIP = 0.795, 0.005, 0.25  # the paper's scores 0.59, -0.99 and -0.5, as (score + 1) / 2
STEEPEST = 60.0  # beyond it e^x is no different for a probability


class RelevanceSettings(RoleContext):
    """Who says how relevant a text is, and from where on it counts."""

    evaluator: Literal["model", "cross-encoder"] = Field(
        default="model", description="The chat model's P(yes), or a small cross-encoder as in the paper (English)."
    )
    correct_above: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Confidence from which a passage is correct; null: as measured for the evaluator, else 0.795, the "
        "paper's for PopQA (0.75 for PubHealth and ARC, 0.975 for biographies).",
    )
    incorrect_below: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Confidence below which a passage is incorrect; null: as measured for the evaluator, else 0.005, "
        "the paper's for PopQA (0.045 for its other tasks).",
    )
    strip_above: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Confidence from which a strip of a text is kept; null: as measured for the evaluator, else 0.25, "
        "the paper's.",
    )

    def limits(self, chat: ChatModel) -> "Limits":
        """The thresholds of a run.

        Raises:
            ValueError: a passage could be correct and incorrect at once.
        """
        judge = "cross-encoder" if self.evaluator == "cross-encoder" else chat.name
        limits = Limits(
            threshold(judge, "correct", self.correct_above, unmeasured=CORRECT),
            threshold(judge, "incorrect", self.incorrect_below, unmeasured=INCORRECT),
            threshold(judge, "strip", self.strip_above, unmeasured=STRIP),
        )
        if limits.incorrect > limits.correct:
            msg = f"Set incorrect_below ({limits.incorrect}) no higher than correct_above ({limits.correct})."
            raise ValueError(msg)
        return limits


class Limits(NamedTuple):
    """From where a passage is correct, below which it is incorrect, and from where a strip is kept."""

    correct: float
    incorrect: float
    strip: float


class Relevance(NamedTuple):
    """How sure the evaluator is that a text helps to answer, from 0 to 1.

    None if that cannot be had, with the kind of error. A chat model without log-probabilities gives 1 for its yes and
    0 for its no.
    """

    confidence: float | None
    error: str = ""


async def relevances(
    texts: Sequence[str], question: str, chat: ChatModel, context: RelevanceSettings, *, role: str, language: str
) -> list[Relevance]:
    """Judge each text, in order.

    Raises:
        ModelRefused: the key or the model's name is wrong, so that no question will be answered.
        ModelUnavailable: the model cannot be reached for any of the texts.
    """
    if context.evaluator == "cross-encoder":
        model = await asyncio.to_thread(cross_encoder)
        return [Relevance(likely(logit)) for logit in await asyncio.to_thread(model.scores, question, texts)]
    found = await asyncio.gather(*(relevance(text, question, chat, role, language) for text in texts))
    if found and all(one.error == ModelUnavailable.__name__ for one in found):
        msg = f"The chat model cannot be reached, so none of {len(found)} texts could be judged; try again later."
        raise ModelUnavailable(msg)
    return found


async def relevance(text: str, question: str, chat: ChatModel, role: str, language: str) -> Relevance:
    """Ask the chat model whether a text helps to answer."""
    messages = load("judge_relevance", language).messages(role=role, data={"question": question, "passage": text})
    try:
        decision = await decide(chat, messages)
    except ModelError as error:
        if isinstance(error, ModelRefused) and not isinstance(error, PromptRefused | RequestRejected):
            raise
        return Relevance(None, type(error).__name__)
    return Relevance(float(decision.answer) if decision.probability is None else decision.probability)


def likely(logit: float) -> float:
    """A logit as a probability."""
    return 1 / (1 + exp(-max(-STEEPEST, min(STEEPEST, logit))))
