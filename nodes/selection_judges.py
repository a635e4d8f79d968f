"""Who judges a passage in guided selection: the chat model, or a small cross-encoder."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from typing_extensions import TypedDict

from dramaturg.models.chat import ChatModel
from dramaturg.models.cross_encoder import cross_encoder
from dramaturg.models.errors import ModelError, ModelRefused, PromptRefused, RequestRejected
from dramaturg.models.questions import decide
from dramaturg.nodes.passage_evidence import Candidate, in_context
from dramaturg.prompts import load
from dramaturg.stores.passages import PassageStore


class Verdict(TypedDict):
    """One judgement; `certainty` is P(yes) or a logit where the judge gives one.

    `wasted`: one at a time, the loop would have ended before this passage, so the verdict does not count.
    """

    passage: str
    score: float
    verdict: Literal["yes", "no", "failed"]
    certainty: float | None
    error: str
    wasted: bool


Announce = Callable[[Verdict], None]


def verdict_on(
    candidate: Candidate, verdict: Literal["yes", "no", "failed"], certainty: float | None = None, error: str = ""
) -> Verdict:
    """Write down one judgement."""
    return {**candidate, "verdict": verdict, "certainty": certainty, "error": error, "wasted": False}


async def judged_by_model(
    candidates: Sequence[Candidate],
    question: str,
    store: PassageStore,
    chat: ChatModel,
    *,
    role: str,
    language: str,
    above: float,
    announce: Announce,
) -> list[Verdict]:
    """Ask the chat model of each passage whether attributes regarding u can be inferred from it (line 8).

    A verdict that cannot be had is `failed`, with the kind of error.

    Raises:
        ModelRefused: the key or the model's name is wrong, so that no question will be answered.
    """
    prompt = load("judge", language)

    async def judged(candidate: Candidate) -> Verdict:
        passage = in_context(store.get(candidate["passage"]))
        messages = prompt.messages(role=role, data={"question": question, "passage": passage})
        try:
            decision = await decide(chat, messages, threshold=above)
        except ModelError as error:
            if isinstance(error, ModelRefused) and not isinstance(error, PromptRefused | RequestRejected):
                raise
            verdict = verdict_on(candidate, "failed", error=type(error).__name__)
        else:
            verdict = verdict_on(candidate, "yes" if decision.answer else "no", decision.probability)
        announce(verdict)
        return verdict

    return await asyncio.gather(*map(judged, candidates))


async def judged_by_cross_encoder(
    candidates: Sequence[Candidate], question: str, store: PassageStore, *, above: float, announce: Announce
) -> list[Verdict]:
    """Score question and passage together; the logit is comparable within one question more than between two."""
    texts = [in_context(store.get(candidate["passage"])) for candidate in candidates]
    model = await asyncio.to_thread(cross_encoder)
    logits = await asyncio.to_thread(model.scores, question, texts)
    verdicts = [
        verdict_on(candidate, "yes" if logit >= above else "no", logit)
        for candidate, logit in zip(candidates, logits, strict=True)
    ]
    for verdict in verdicts:
        announce(verdict)
    return verdicts
