"""Corrective retrieval (CRAG, Yan et al. 2024, Algorithm 1): passages are judged, refined, or searched beyond."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

from langgraph.runtime import Runtime

from dramaturg.nodes.context import language_of, respondent_of, role_of, settings
from dramaturg.nodes.knowledge_strips import Strip, refined, strip_text, strip_texts
from dramaturg.nodes.passage_evidence import Candidate, PassageEvidence, as_evidence, under_headings
from dramaturg.nodes.relevance import Limits, Relevance, relevances
from dramaturg.nodes.respond import AskedState, GroundedReplySettings, spoken
from dramaturg.nodes.retrieval import RetrievalSettings, passages_of
from dramaturg.nodes.turn import Report
from dramaturg.nodes.web_search import WebSearchSettings
from dramaturg.stores.passages import PassageStore

Action = Literal["correct", "ambiguous", "incorrect"]


class CorrectiveSettings(RetrievalSettings, WebSearchSettings):
    """Which passages are judged, and what may correct them."""


class CorrectiveReplySettings(GroundedReplySettings, CorrectiveSettings):
    """A reply from corrected knowledge."""


class JudgedPassage(PassageEvidence):
    """A retrieved passage and what the evaluator says of it."""

    confidence: float | None
    verdict: Literal["correct", "ambiguous", "incorrect", "failed"]
    error: str


class CorrectiveState(Report):
    """What correction reads and writes; `strips` are what the reply will rest on."""

    question: str
    version: str
    candidates: list[Candidate]
    action: Action
    strips: list[Strip]


class CorrectedState(AskedState):
    """What a reply from corrected knowledge reads."""

    strips: list[Strip]


C = TypeVar("C", bound=CorrectiveSettings)
R = TypeVar("R", bound=CorrectiveReplySettings)


async def evaluate_passages(state: CorrectiveState, runtime: Runtime[C]) -> dict[str, Any]:
    """Have each retrieved passage judged, and decide on the action (Algorithm 1, lines 1–2; 4.2, 4.3).

    Raises:
        ModelError: the model cannot be reached or refuses every question.
        ValueError: the thresholds contradict each other.
    """
    context = settings(runtime, CorrectiveSettings)
    role = await role_of(context)
    chat = await respondent_of(context, role)
    limits = context.limits(chat)
    passages = as_evidence(await passages_of(context, state["version"]), state["candidates"][: context.knowledge])
    texts = [under_headings(one["headings"], one["text"]) for one in passages]
    language = language_of(context, role)
    found = await relevances(texts, state["question"], chat, context, role=role.card.name, language=language)
    retrieved = [judged(one, relevance, limits) for one, relevance in zip(passages, found, strict=True)]
    action = action_on(one["verdict"] for one in retrieved)
    runtime.stream_writer({"event": "evaluated", "action": action, "retrieved": retrieved})
    evidence = {
        "retrieved": retrieved,
        "action": action,
        "thresholds": limits._asdict(),
        "web_search": "not needed" if context.web else "off",
    }
    usage = {"evaluate_passages": chat.account.usage()}
    return {"action": action, "strips": [], "evidence": evidence, "usage": usage}


def judged(passage: PassageEvidence, relevance: Relevance, limits: Limits) -> JudgedPassage:
    """A passage with its verdict."""
    verdict = verdict_on(relevance.confidence, limits)
    return {**passage, "confidence": relevance.confidence, "verdict": verdict, "error": relevance.error}


def verdict_on(confidence: float | None, limits: Limits) -> Literal["correct", "ambiguous", "incorrect", "failed"]:
    """What a confidence means between the thresholds."""
    if confidence is None:
        return "failed"
    if confidence >= limits.correct:
        return "correct"
    return "incorrect" if confidence < limits.incorrect else "ambiguous"


def action_on(verdicts: Iterable[str]) -> Action:
    """Correct if one passage is, incorrect if all are, else ambiguous: one that could not be judged may be either."""
    found = set(verdicts)
    if "correct" in found:
        return "correct"
    return "incorrect" if found <= {"incorrect"} else "ambiguous"


def evaluation_outcome(state: CorrectiveState, runtime: Runtime[C]) -> Literal["some", "elsewhere", "none"]:
    """Whether the passages are of use, knowledge is to be had elsewhere, or neither: there is no web search."""
    if state["action"] != "incorrect":
        return "some"
    return "elsewhere" if settings(runtime, CorrectiveSettings).web else "none"


async def refine_knowledge(state: CorrectiveState, runtime: Runtime[C]) -> dict[str, Any]:
    """Take the passages apart and keep the relevant strips (4.4).

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    context = settings(runtime, CorrectiveSettings)
    role = await role_of(context)
    chat = await respondent_of(context, role)
    store = await passages_of(context, state["version"])
    strips = strips_of(store, state["candidates"][: context.knowledge], context.strip_sentences)
    kept, counts = await refined(strips, state["question"], chat, context, role)
    runtime.stream_writer({"event": "refined", **counts})
    usage = {"refine_knowledge": chat.account.usage()}
    return {"strips": kept, "evidence": {"refinement": counts}, "usage": usage}


def strips_of(store: PassageStore, candidates: Sequence[Candidate], most: int) -> list[Strip]:
    """The strips of passages, the most similar passage first."""
    return [
        Strip(passage=one.id, source=one.source, headings=list(one.headings), text=text, confidence=None)
        for one in (store.get(candidate["passage"]) for candidate in candidates)
        for text in strip_texts(one.text, most)
    ]


def refinement_outcome(state: CorrectiveState, runtime: Runtime[C]) -> Literal["enough", "elsewhere"]:
    """Whether the passages suffice, or are to be complemented and can be."""
    more = state["action"] == "ambiguous" and settings(runtime, CorrectiveSettings).web
    return "elsewhere" if more else "enough"


async def respond_from_strips(state: CorrectedState, runtime: Runtime[R]) -> dict[str, Any]:
    """Answer from what correction left, with the prompt of naive RAG; from the profile alone if nothing is left.

    Raises:
        ModelError: the model gave no reply.
    """
    context = settings(runtime, CorrectiveReplySettings)
    data = {"knowledge": "\n\n".join(map(strip_text, state["strips"]))}
    reply, usage = await spoken(context, state, "respond_from_knowledge", data)
    evidence = {"knowledge": state["strips"]}  # in the place of the passages that were retrieved
    return {"messages": [reply], "evidence": evidence, "usage": {"respond_from_strips": usage}}
