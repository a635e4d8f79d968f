"""Texts taken apart into strips, of which the relevant ones are put together again (CRAG, Yan et al. 2024, 4.4)."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.chat import ChatModel
from dramaturg.nodes.context import language_of
from dramaturg.nodes.passage_evidence import under_headings
from dramaturg.nodes.relevance import Relevance, RelevanceSettings, relevances
from dramaturg.nodes.text_boundaries import sentences
from dramaturg.stores.role import Role

WHOLE = 2  # a text of so many sentences is a strip as it is


class StripSettings(RelevanceSettings):
    """How small strips are, and how many are kept."""

    strip_sentences: int = Field(default=3, ge=1, le=50, description="The most sentences of a strip.")
    strips: int = Field(
        default=5, ge=1, le=50, description="The most strips kept of the passages, and again of the web (paper: 5)."
    )


class Strip(TypedDict):
    """A few sentences, where they are from, and how relevant they are; of a web page `passage` is empty.

    `source` is a document of the persona or an address in the web.
    """

    passage: str
    source: str
    headings: list[str]
    text: str
    confidence: float | None


def strip_texts(text: str, most: int) -> list[str]:
    """Consecutive sentences, at most `most` together and in about equal parts; one or two sentences stay whole."""
    spans = list(sentences(text))
    if len(spans) <= WHOLE:
        return [text.strip()] if spans else []
    count = ceil(len(spans) / most)
    bounds = [number * len(spans) // count for number in range(count + 1)]
    return [text[spans[first][0] : spans[after - 1][1]] for first, after in pairwise(bounds)]


def best(strips: Sequence[Strip], least: float, most: int) -> list[Strip]:
    """The most relevant strips in the order of the text; one without a verdict is not among them."""
    sure = {n: one["confidence"] for n, one in enumerate(strips) if one["confidence"] is not None}
    kept = sorted((n for n, confidence in sure.items() if confidence >= least), key=lambda n: -sure[n])[:most]
    return [strips[n] for n in sorted(kept)]


async def refined(
    strips: Sequence[Strip], question: str, chat: ChatModel, context: StripSettings, role: Role
) -> tuple[list[Strip], dict[str, Any]]:
    """Judge strips and keep the best; beside them how many were judged, kept, and could not be judged.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    texts = [strip_text(one) for one in strips]
    found = await relevances(texts, question, chat, context, role=role.card.name, language=language_of(context, role))
    judged = [weighed(one, relevance) for one, relevance in zip(strips, found, strict=True)]
    kept = best(judged, context.limits(chat).strip, context.strips)
    failed = sum(one.confidence is None for one in found)
    return kept, {"strips": len(judged), "kept": len(kept), "failed": failed}


def weighed(strip: Strip, relevance: Relevance) -> Strip:
    """A strip with what the evaluator says of it."""
    return {**strip, "confidence": relevance.confidence}


def strip_text(strip: Strip) -> str:
    """A strip under its headings, as a model reads it."""
    return under_headings(strip["headings"], strip["text"])
