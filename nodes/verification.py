"""The verifier (DRMR 3.3): how consistent a draft is with what it rests on; below a threshold it is drafted again."""

from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.chat import ChatModel, threshold
from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.drafts import DraftState, judged, last_draft, verdict
from dramaturg.nodes.judgement import AppraisalSettings, Appraising
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import ReplySettings
from dramaturg.nodes.run import needs, open_run
from dramaturg.nodes.self_contained import SelfContainedSettings, in_full, talk_before
from dramaturg.nodes.turn import stranger_name

ALPHA = 4.0
TEMPERATURE = 0.1  # of the verifier; both 4.4


class VerificationSettings(SelfContainedSettings, AppraisalSettings, ReplySettings):
    """Whether and how drafts are verified."""

    verify: Open[bool] = Field(
        default=False, description="Whether a reply is verified, and revised if it does not fit."
    )
    alpha: Open[float | None] = Field(
        default=None,
        ge=0,
        le=5,
        description="A draft with this score from 1 to 5, or a lower one, is revised (the paper's α); default: 4, so "
        "that only a 5 passes, or what was measured for the model.",
    )
    revisions: Open[int] = Field(default=2, ge=0, le=10, description="The largest number of revisions of a reply.")
    notes: Open[bool] = Field(
        default=True,
        description="Whether a revision is told why the previous draft did not pass; in the paper it is not.",
    )


@needs(question="read_turn", drafts="a node that drafts")
async def verify(state: DraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Score how consistent the last draft is with what it rests on: h = Verify(M, c^m, c^u) in 1 … 5 (Equation 6).

    That is all that the draft was shown: the grounds, the role memory M among them, and the talk so far. What came
    about there holds: who was an enemy may have made peace. By the paper's rules (`recent` is 0) it is M alone.

    Where no score can be had the draft has none: that is no reason to revise it, and the evidence says why.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    run, last = await open_run(runtime, VerificationSettings), last_draft(state)
    asked = Appraising(
        together="verify_line",
        score="judge_line",
        reason="why_line",
        values={
            "role": run.role.card.name,
            "user": state.get("asker") or stranger_name(run),
            "before": talk_before(run, state, "talk_since"),
        },
        data={"notes": state.get("grounds", ""), "question": in_full(state), "line": last["text"]},
        prompt=run.prompt,
    )
    apart, own = run.settings.scores_apart(run.chat), run.settings
    bound = own.revisions
    try:
        found = await (asked.decided_by(run.chat) if apart else asked.together_by(run.chat, TEMPERATURE))
        above, note = alpha_of(own, run.chat, apart=apart), found.reason if own.notes else ""
        cut: dict[str, Any] = {"dropped": list(found.dropped)} if found.dropped else {}
        given = verdict(score=found.score, above=above, bound=bound, reason=found.reason, note=note, **cut)
    except UNANSWERED as error:
        given = verdict(bound=bound, error=str(error))
    drafts = judged(state, "verifier", given)
    runtime.stream_writer({"event": "verified", "draft": len(drafts), "score": given["score"]})
    return {"drafts": drafts, "usage": {"verify": run.usage}}


def alpha_of(context: VerificationSettings, chat: ChatModel, *, apart: bool) -> float:
    """α: a setting, else what was measured for probabilities, else the paper's."""
    if apart:
        return threshold(chat.name, "consistency", context.alpha, unmeasured=ALPHA)
    return ALPHA if context.alpha is None else context.alpha
