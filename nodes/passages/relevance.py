"""How relevant texts are to a question: CRAG's retrieval evaluator (Yan et al. 2024, 4.2), asked of each text alone."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, exp
from typing import Any, Literal, NamedTuple

from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.chat import ChatModel, threshold
from dramaturg.models.errors import UNANSWERED, ModelUnavailable, RequestRejected
from dramaturg.models.local.cross_encoder import cross_encoder
from dramaturg.models.questions import decide
from dramaturg.nodes.asking import together
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.passages.retrieval import PassageEvidence, under_headings
from dramaturg.nodes.run import RoleContext, Run
from dramaturg.nodes.text.boundaries import sentences

CORRECT, INCORRECT, STRIP = 0.795, 0.005, 0.25  # the paper's scores 0.59, -0.99 and -0.5, as (score + 1) / 2
STEEPEST = 60.0  # beyond it e^x is no different for a probability
WHOLE = 2  # a text of so many sentences is a strip as it is


class RelevanceSettings(RoleContext):
    """Who says how relevant a text is, from where on it counts, and how small strips are."""

    evaluator: Open[Literal["model", "cross-encoder"]] = Field(
        default="model", description="The chat model's P(yes), or a small cross-encoder as in the paper (English)."
    )
    correct_above: Open[float | None] = Field(
        default=None,
        ge=0,
        le=1,
        description="Confidence from which a passage is correct; null: as measured for the evaluator, else 0.795, the "
        "paper's for PopQA (0.75 for PubHealth and ARC, 0.975 for biographies).",
    )
    incorrect_below: Open[float | None] = Field(
        default=None,
        ge=0,
        le=1,
        description="Confidence below which a passage is incorrect; null: as measured for the evaluator, else 0.005, "
        "the paper's for PopQA (0.045 for its other tasks).",
    )
    strip_above: Open[float | None] = Field(
        default=None,
        ge=0,
        le=1,
        description="Confidence from which a strip of a text is kept; null: as measured for the evaluator, else 0.25, "
        "the paper's.",
    )

    strip_sentences: Open[int] = Field(
        default=3, ge=1, le=50, description="The largest number of sentences in a strip."
    )
    strips: Open[int] = Field(
        default=5, ge=1, le=50, description="The most strips kept of the passages, and again of the web (paper: 5)."
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

    def verdict(self, confidence: float | None) -> Literal["correct", "ambiguous", "incorrect", "failed"]:
        """What a confidence means between the thresholds."""
        if confidence is None:
            return "failed"
        if confidence >= self.correct:
            return "correct"
        return "incorrect" if confidence < self.incorrect else "ambiguous"


class Relevance(NamedTuple):
    """How sure the evaluator is that a text helps to answer, from 0 to 1.

    None if that cannot be had, with the kind of error. A chat model without log-probabilities gives 1 for its yes and
    0 for its no.
    """

    confidence: float | None
    error: str = ""


class Strip(TypedDict):
    """A few sentences, where they are from, and how relevant they are; of a web page `passage` is empty.

    `source` is a document of the persona or an address in the web.
    """

    passage: str
    source: str
    headings: list[str]
    text: str
    confidence: float | None


async def relevances(
    run: Run[RelevanceSettings], texts: Sequence[PassageEvidence | Strip], question: str
) -> list[Relevance]:
    """Judge each text under its headings, in order.

    Raises:
        ModelRefused: the key or the model's name is wrong, so that no question will be answered.
        ModelUnavailable: the model cannot be reached for any of the texts.
    """
    shown = [under_headings(one["headings"], one["text"]) for one in texts]
    if run.settings.evaluator == "cross-encoder":
        model = await asyncio.to_thread(cross_encoder)
        return [Relevance(likely(logit)) for logit in await asyncio.to_thread(model.scores, question, shown)]
    prompt, problems = run.prompt("judge_relevance"), list[str]()

    async def judged(text: str) -> Relevance:
        messages = prompt.messages(role=run.role.card.name, data={"question": question, "passage": text})
        try:
            decision = await decide(run.chat, messages)
        except (*UNANSWERED, ModelUnavailable, RequestRejected) as error:
            problems.append(str(error))
            return Relevance(None, type(error).__name__)
        return Relevance(float(decision.answer) if decision.probability is None else decision.probability)

    found = await together(*map(judged, shown))
    if found and all(one.error == ModelUnavailable.__name__ for one in found):
        raise ModelUnavailable(f"{problems[-1]} None of {len(found)} texts could be judged.")
    return found


def likely(logit: float) -> float:
    """A logit as a probability."""
    return 1 / (1 + exp(-max(-STEEPEST, min(STEEPEST, logit))))


def strips_of(text: str, most: int, *, source: str, headings: Sequence[str], passage: str = "") -> list[Strip]:
    """The strips of a text (4.4), not judged yet; see `strip_texts`."""
    return [
        Strip(passage=passage, source=source, headings=list(headings), text=part, confidence=None)
        for part in strip_texts(text, most)
    ]


def strip_texts(text: str, most: int) -> list[str]:
    """Consecutive sentences, at most `most` together and in about equal parts; one or two sentences stay whole."""
    spans = list(sentences(text))
    if len(spans) <= WHOLE:
        return [text.strip()] if spans else []
    count = ceil(len(spans) / most)
    bounds = [number * len(spans) // count for number in range(count + 1)]
    return [text[spans[first][0] : spans[after - 1][1]] for first, after in pairwise(bounds)]


async def refined(
    run: Run[RelevanceSettings], strips: Sequence[Strip], question: str
) -> tuple[list[Strip], dict[str, Any]]:
    """Judge strips and keep the best; beside them how many were judged, kept, and could not be judged.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    found = await relevances(run, strips, question)
    judged: list[Strip] = [
        {**strip, "confidence": relevance.confidence} for strip, relevance in zip(strips, found, strict=True)
    ]
    kept = best_strips(judged, run.settings.limits(run.chat).strip, run.settings.strips)
    failed = sum(one.confidence is None for one in found)
    return kept, {"strips": len(judged), "kept": len(kept), "failed": failed}


def best_strips(strips: Sequence[Strip], least: float, most: int) -> list[Strip]:
    """The most relevant strips in the order of the text; one without a verdict is not among them."""
    sure = {n: one["confidence"] for n, one in enumerate(strips) if one["confidence"] is not None}
    kept = sorted((n for n, confidence in sure.items() if confidence >= least), key=lambda n: -sure[n])[:most]
    return [strips[n] for n in sorted(kept)]
