"""Iterative response revision (DRMR 3.3): a draft is verified, drafted again below a threshold, and then spoken.

Any workflow can add these nodes: a node of its own writes a draft (`drafted`), then come `verify`, `revise` and, after
whatever a revision of it is to look up, the draft again; `speak` ends the cycle.
"""

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypeVar

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.chat import ChatModel, threshold
from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.judgement import AppraisalSettings, Appraising
from dramaturg.nodes.reply import AskedState, Data, ReplySettings, spoken
from dramaturg.nodes.run import Run, open_run, settings
from dramaturg.nodes.turn import EvidenceState, stranger_name

ALPHA = 4.0
TEMPERATURE = 0.1  # of the verifier; both 4.4


class VerificationSettings(AppraisalSettings, ReplySettings):
    """Whether and how drafts are verified."""

    verify: bool = Field(default=False, description="Whether a reply is verified, and revised if it does not fit.")
    alpha: float | None = Field(
        default=None,
        ge=0,
        le=5,
        description="A draft with this score from 1 to 5, or a lower one, is revised (the paper's α); default: 4, so "
        "that only a 5 passes, or what was measured for the model.",
    )
    revisions: int = Field(default=2, ge=0, le=10, description="The most revisions of a reply.")
    notes: bool = Field(
        default=True,
        description="Whether a revision is shown why the draft before it did not pass; the paper's is not.",
    )


V = TypeVar("V", bound=VerificationSettings)


class Draft(TypedDict):
    """A reply that may be spoken: of which turn, how consistent it is (a score from 1 to 5), why, or why not known.

    `alpha` is the score that it must be above.
    """

    turn: str
    id: str | None
    text: str
    score: float | None
    alpha: float | None
    reason: str
    error: str


class DraftState(AskedState, EvidenceState):
    """What verifying reads and writes: what a draft rests on, whom it answers, and what the next one is told."""

    drafts: NotRequired[list[Draft]]
    grounds: NotRequired[str]
    asker: NotRequired[str]
    note: NotRequired[str]


async def drafted(
    run: Run[V], state: DraftState, name: str, data: Data, grounds: str, *, asker: str = ""
) -> dict[str, Any]:
    """Draft a reply, c = GenResp(M, C) (Equation 5): what a node that drafts returns.

    It is streamed only where nobody verifies it: nobody shall read a line that is then taken back.

    Args:
        run: of the node that drafts.
        state: the turn.
        name: of the prompt.
        data: what the prompt shows, fenced.
        grounds: what the draft is to be consistent with, the paper's M.
        asker: the name of the user's role.

    Raises:
        ModelError: the model gave no reply. In a revision, an answer that cannot be used ends it instead: there is a
            draft that can be spoken.
    """
    before = drafts_of(state)
    limits = {"directed": state.get("note", "")} if before else {}
    try:
        reply = await spoken(run, state, name, data, limits, quiet=run.settings.verify, user=asker)
        new = draft_of(state, reply.text, reply.id)
    except UNANSWERED as error:
        if not before:
            raise
        new = draft_of(state, "", error=str(error))
    return {"drafts": [*before, new], "grounds": grounds, "asker": asker, "usage": {"draft": run.usage}}


def draft_of(state: DraftState, text: str, message: str | None = None, error: str = "") -> Draft:
    """A draft that was not verified yet."""
    return {
        "turn": turn_of(state),
        "id": message,
        "text": text,
        "score": None,
        "alpha": None,
        "reason": "",
        "error": error,
    }


def checking_outcome(state: DraftState, runtime: Runtime[Any]) -> Literal["checked", "aloud"]:
    """Whether a reply is verified before it is spoken; there is nothing to verify where a revision gave none."""
    drafts = drafts_of(state)
    empty = bool(drafts) and not drafts[-1]["text"]
    return "checked" if settings(runtime, VerificationSettings).verify and not empty else "aloud"


async def verify(state: DraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Score how consistent the last draft is with what it rests on: h = Verify(M, c^m, c^u) in 1 … 5 (Equation 6).

    Where no score can be had the draft has none: that is no reason to revise it, and the evidence says why.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    run = await open_run(runtime, VerificationSettings)
    *before, last = drafts_of(state)
    asked = Appraising(
        together="verify_line",
        score="judge_line",
        reason="why_line",
        values={"role": run.role.card.name, "user": state.get("asker") or stranger_name(run.language)},
        data={"notes": state.get("grounds", ""), "question": state["question"], "line": last["text"]},
        language=run.language,
    )
    try:
        apart = run.settings.apart(run.chat)
        found = await (asked.decided_by(run.chat) if apart else asked.together_by(run.chat, TEMPERATURE))
        alpha = alpha_of(run.settings, run.chat, apart=apart)
        last = {**last, "score": found.score, "reason": found.reason, "alpha": alpha}
    except UNANSWERED as error:
        last = {**last, "error": str(error)}
    runtime.stream_writer({"event": "verified", "draft": len(before) + 1, "score": last["score"]})
    return {"drafts": [*before, last], "usage": {"verify": run.usage}}


def alpha_of(context: VerificationSettings, chat: ChatModel, *, apart: bool) -> float:
    """α: a setting, else what was measured for probabilities, else the paper's."""
    if apart:
        return threshold(chat.name, "consistency", context.alpha, unmeasured=ALPHA)
    return ALPHA if context.alpha is None else context.alpha


def verification_outcome(state: DraftState, runtime: Runtime[Any]) -> Literal["settled", "inconsistent"]:
    """Whether the last draft is to be revised, h ≤ α; not where it has no score, or enough revisions were made."""
    drafts = drafts_of(state)
    enough = len(drafts) > settings(runtime, VerificationSettings).revisions
    return "settled" if enough or drafts[-1]["score"] is None or passed(drafts[-1]) else "inconsistent"


async def revise(state: DraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Begin a revision: the next draft is shown why this one did not pass, if it may know."""
    drafts = drafts_of(state)
    runtime.stream_writer({"event": "revising", "revision": len(drafts), "reason": drafts[-1]["reason"]})
    return {"note": drafts[-1]["reason"] if settings(runtime, VerificationSettings).notes else ""}


async def speak(state: DraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Speak the best draft: of those with the highest score the last one, or the last where none has a score."""
    run = await open_run(runtime, VerificationSettings)
    drafts = drafts_of(state)
    best = max(range(len(drafts)), key=lambda at: (bool(drafts[at]["text"]), drafts[at]["score"] or 0, at))
    reply = AIMessage(drafts[best]["text"], id=drafts[best]["id"], name=run.role.id)
    written = {"messages": [reply], "drafts": [], "grounds": "", "asker": "", "note": ""}
    return {**written, "evidence": verified(drafts, best)} if run.settings.verify else written


def verified(drafts: Sequence[Draft], best: int) -> dict[str, Any]:
    """Each draft with its score and reason, which of them was spoken, and whether it passed."""
    shown = [{name: one[name] for name in ("text", "score", "reason", "error")} for one in drafts]
    outcome = {"passed": passed(drafts[best]), "spoken": best, "revisions": len(drafts) - 1}
    alphas = [one["alpha"] for one in drafts if one["alpha"] is not None]
    return {"drafts": shown, "verification": {**outcome, "alpha": alphas[-1] if alphas else None}}


def passed(draft: Draft) -> bool:
    """Whether a draft has a score, and a higher one than α."""
    return draft["score"] is not None and draft["alpha"] is not None and draft["score"] > draft["alpha"]


def drafts_of(state: DraftState) -> list[Draft]:
    """The drafts of this turn: one that failed and was given up may have left some."""
    return [one for one in state.get("drafts", []) if one["turn"] == turn_of(state)]


def turn_of(state: DraftState) -> str:
    """The id of the user's message."""
    return str(state["messages"][-1].id)
