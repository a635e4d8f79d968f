"""Drafts of a reply and the verdicts on them: checkers take turns, and the best line that all allow is spoken.

Any workflow can add these nodes: a node of its own writes a draft (`drafted`) and names who is to check it, `next_step`
leads from checker to checker and back to a revision, and `speak` ends the cycle.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypeVar, cast

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.reply import (
    AskedState,
    GatheredState,
    Grounds,
    GroundsSettings,
    ReplySettings,
    ground_text,
    joined,
    spoken,
    within_budget,
)
from dramaturg.nodes.run import MissingInput, RoleContext, Run, needs, open_run
from dramaturg.nodes.turn import StandaloneState, asked_as, stranger_name

__all__ = [
    "DraftState",
    "GroundedDraftSettings",
    "GroundedDraftState",
    "draft_from_grounds",
    "drafted",
    "speak",
    "verdict",
]

Outcome = Literal["allow", "revise", "block"]
STEPS: Mapping[Hashable, str] = {
    "gate": "validate",
    "verifier": "verify",
    "revise": "revise",
    "settled": "speak",
    "blocked": "decline",
}
"""Where `next_step` leads in a flow with the gate and the verifier, whose nodes have their own names."""

R = TypeVar("R", bound=ReplySettings)


class Verdict(TypedDict):
    """What one checker says of a draft.

    With a `score`, the outcome is "allow" above the score `above` and else "revise", and drafts are ranked by it; a
    verdict without a score that does not allow a draft is a veto. `bound` is the most revisions that this checker may
    ask for, `note` what the next draft is told, and `details` whatever else the evidence shows.
    """

    outcome: Outcome
    score: float | None
    above: float | None
    bound: int
    reason: str
    note: str
    error: str
    details: dict[str, Any]


def verdict(
    outcome: Outcome = "allow",
    *,
    score: float | None = None,
    above: float | None = None,
    bound: int = 1,
    reason: str = "",
    note: str = "",
    error: str = "",
    **details: Any,
) -> Verdict:
    """A verdict; see `Verdict`. With a score the outcome follows from it."""
    made: Verdict = {
        "outcome": outcome,
        "score": score,
        "above": above,
        "bound": bound,
        "reason": reason,
        "note": note,
        "error": error,
        "details": details,
    }
    made["outcome"] = outcome_of(made)
    return made


class Draft(TypedDict):
    """A line that may be spoken: of which turn, who is to check it in which order, and what they said of it.

    `text` is empty where a revision gave no usable answer; `error` says why.
    """

    turn: str
    id: str | None
    text: str
    error: str
    checkers: list[str]
    verdicts: dict[str, Verdict]


class DraftState(AskedState, StandaloneState):
    """What drafting and checking read and write."""

    drafts: NotRequired[Annotated[list[Draft], Field(description="The lines that were drafted, with verdicts.")]]
    grounds: NotRequired[Annotated[str, Field(description="What the drafts rest on, as checkers are shown it (M).")]]
    asker: NotRequired[Annotated[str, Field(description="Whom the drafts answer; empty: a stranger.")]]


class GroundedDraftSettings(GroundsSettings, ReplySettings):
    """A draft from gathered grounds."""


Checkers = Annotated[list[str], Field(description="Who checks a draft, in this order.")]


class GroundedDraftState(DraftState, GatheredState):
    """What a draft from gathered grounds reads."""

    checkers: NotRequired[Checkers]


async def drafted(
    run: Run[R],
    state: DraftState,
    prompt: str,
    grounds: Grounds,
    *,
    checkers: Sequence[str],
    data: Mapping[str, str] | None = None,
    **values: str,
) -> dict[str, Any]:
    """Draft a reply, c = GenResp(M, C) (DRMR, Equation 5): what a node that drafts returns.

    It is streamed only where nobody checks it: nobody shall read a line that is then taken back.

    Args:
        run: of the node that drafts.
        state: the turn.
        prompt: its name.
        grounds: what the draft rests on, and what limits it; the prompt shows each kind of text under its name.
        checkers: the names of those who check it, in their order: "gate", "verifier", or one of your own.
        data: more that the prompt shows, fenced.
        values: other values of the prompt.

    Raises:
        ModelError: the model gave no reply. In a revision, an answer that cannot be used ends it instead: there is a
            draft that can be spoken.
    """
    before = drafts_of(state)
    limits, slips = {**grounds["limits"], "directed": revision_note(before)}, dict[str, Any]()
    try:
        reply, slips = await spoken(
            run, state, prompt, grounds | {"limits": limits}, quiet=bool(checkers), data=data, **values
        )
        new = new_draft(state, reply, checkers)
    except UNANSWERED as error:
        if not before:
            raise
        new = new_draft(state, AIMessage(""), checkers, str(error))
    return {
        "drafts": [*before, new],
        "grounds": ground_text(grounds, run.role.card.profile),
        "asker": grounds["asker"],
        "evidence": slips,
        "usage": {"draft": run.usage},
    }


@needs(question="read_turn", gathered="a node that gathers grounds")
async def draft_from_grounds(state: GroundedDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft a reply from all grounds that were gathered, within one budget of tokens.

    The checkers are those that `checkers` of the state names; nobody where it names none. Nodes before it add to
    `gathered`. A node that writes it with LangGraph's `Overwrite` removes what the nodes before it, or in the same
    step, have gathered: only a node at the beginning of a turn should do that.

    Raises:
        ModelError: the model gave no reply.
    """
    run = await open_run(runtime, GroundedDraftSettings)
    grounds, counts = within_budget(joined(state["gathered"].values()), run.settings.grounds_tokens)
    checkers, user = state.get("checkers") or [], grounds["asker"] or stranger_name(run)
    written = await drafted(run, state, "respond_from_grounds", grounds, checkers=checkers, user=user)
    named = {"messages": [asked_as(state["messages"][-1], grounds["asker"])]} if grounds["asker"] else {}
    return {**written, **named, "evidence": {**written["evidence"], "grounds": counts}}


def new_draft(state: DraftState, said: AIMessage, checkers: Sequence[str], error: str = "") -> Draft:
    """A draft that nobody has checked yet."""
    return {
        "turn": turn_of(state),
        "id": said.id,
        "text": said.text,
        "error": error,
        "checkers": list(checkers),
        "verdicts": {},
    }


def judged(state: DraftState, checker: str, verdict: Verdict) -> list[Draft]:
    """The drafts of this turn with a verdict on the last: what a checker writes."""
    last = last_draft(state)
    return [*drafts_of(state)[:-1], {**last, "verdicts": {**last["verdicts"], checker: verdict}}]


def asked_before(state: DraftState, checker: str) -> int:
    """How many revisions a checker has asked for in this turn."""
    return sum(wants(one, checker) == "revise" for one in drafts_of(state))


@needs(drafts="a node that drafts")
def next_step(state: DraftState) -> str:
    """Who comes next: a checker by its name, "revise", "settled" where a draft may be spoken, or "blocked".

    All checkers of a draft see it in their order, unless one of them vetoes it; then it is revised if one of them asks
    for that and has revisions left. Of drafts that may not be spoken an earlier one may: then it is settled, too.
    """
    drafts = drafts_of(state)
    if not drafts:
        return "settled"
    last = drafts[-1]
    if last["text"]:
        for checker in last["checkers"]:
            if checker not in last["verdicts"]:
                return checker
            if vetoed(last["verdicts"][checker]):
                break
        asked = [checker for checker in last["verdicts"] if wants(last, checker) == "revise"]
        if any(asked_before(state, checker) <= last["verdicts"][checker]["bound"] for checker in asked):
            return "revise"
    return "settled" if any(map(may_be_spoken, drafts)) else "blocked"


@needs(drafts="a node that drafts")
async def revise(state: DraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Begin a revision: the next draft is told what the checkers noted, if it may know."""
    verdicts = last_draft(state)["verdicts"].values()
    reason = next((one["reason"] for one in verdicts if outcome_of(one) != "allow"), "")
    runtime.stream_writer({"event": "revising", "revision": len(drafts_of(state)), "reason": reason})
    return {}


@needs(drafts="a node that drafts")
async def speak(state: DraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Speak the best draft that all allow: of those with the highest score the last one.

    Raises:
        ValueError: there is none.
    """
    drafts = drafts_of(state)
    best = max(
        (at for at, one in enumerate(drafts) if may_be_spoken(one)),
        key=lambda at: (sum(one["score"] or 0 for one in drafts[at]["verdicts"].values()), at),
        default=None,
    )
    if best is None:
        why = (
            "all are blocked: lead the outcome 'blocked' of next_step to a node that declines"
            if drafts
            else ("there is none: a node that drafts comes before `speak`")
        )
        raise ValueError(f"No draft of this turn can be spoken; {why}.")
    run = await open_run(runtime, RoleContext)
    return ended(drafts, AIMessage(drafts[best]["text"], id=drafts[best]["id"], name=run.role.id), best)


def ended(drafts: Sequence[Draft], said: AIMessage, spoken: int | None = None) -> dict[str, Any]:
    """What the end of drafting leaves: the message, and as evidence the drafts with what each checker said.

    Args:
        drafts: of this turn.
        said: the line.
        spoken: which of the drafts it is; None: another line in their place.
    """
    evidence: dict[str, Any] = {}
    for checker in dict.fromkeys(name for one in drafts for name in one["checkers"]):
        if checker == "verifier":
            evidence |= verification_evidence(drafts, spoken)
        else:
            attempts = [attempt(one, checker) for one in drafts if checker in one["verdicts"]]
            evidence |= {checker: {"attempts": attempts, "outcome": attempts[-1]["verdict"]}} if attempts else {}
    written = {"messages": [said], "drafts": [], "grounds": "", "asker": ""}
    return {**written, "evidence": evidence} if evidence else written


def attempt(draft: Draft, checker: str) -> dict[str, Any]:
    """A draft with what one checker said of it."""
    verdict = draft["verdicts"][checker]
    scored = {"score": verdict["score"]} if verdict["score"] is not None else {}
    told = {"reason": verdict["reason"], "error": verdict["error"], **scored, **verdict["details"]}
    return {"text": draft["text"], "verdict": wants(draft, checker), **told}


def verification_evidence(drafts: Sequence[Draft], spoken: int | None) -> dict[str, Any]:
    """Each draft with its score and reason, which of them was spoken, whether it passed, and α."""
    verdicts = [one["verdicts"].get("verifier") for one in drafts]
    shown = [
        {
            "text": draft["text"],
            "score": verdict["score"] if verdict else None,
            "reason": verdict["reason"] if verdict else "",
            "error": draft["error"] or (verdict["error"] if verdict else ""),
            **(verdict["details"] if verdict else {}),
        }
        for draft, verdict in zip(drafts, verdicts, strict=True)
    ]
    last = verdicts[spoken] if spoken is not None else None
    alphas = [one["above"] for one in verdicts if one and one["above"] is not None]
    passed = last is not None and last["score"] is not None and outcome_of(last) == "allow"
    asked = sum(wants(one, "verifier") == "revise" for one in drafts[:-1])
    verification = {"passed": passed, "spoken": spoken, "revisions": asked, "alpha": alphas[-1] if alphas else None}
    return {"drafts": shown, "verification": verification}


def outcome_of(verdict: Verdict) -> Outcome:
    """What becomes of a draft: its score decides where it has one, also one that a person has changed."""
    if verdict["score"] is None or verdict["above"] is None:
        return verdict["outcome"]
    return "allow" if verdict["score"] > verdict["above"] else "revise"


def wants(draft: Draft, checker: str) -> Outcome:
    """What a checker wants of a draft; one that has not seen it, nothing."""
    verdict = draft["verdicts"].get(checker)
    return outcome_of(verdict) if verdict else "allow"


def vetoed(verdict: Verdict) -> bool:
    """Whether a verdict forbids a draft: it has no score and does not allow it."""
    return verdict["score"] is None and verdict["outcome"] != "allow"


def may_be_spoken(draft: Draft) -> bool:
    """Whether there is a line, and nobody forbids it."""
    return bool(draft["text"]) and not any(map(vetoed, draft["verdicts"].values()))


def revision_note(drafts: Sequence[Draft]) -> str:
    """What the next draft is told of the one before: the notes of those who want it revised."""
    if not drafts:
        return ""
    return "\n".join(
        filter(None, (one["note"] for one in drafts[-1]["verdicts"].values() if outcome_of(one) == "revise"))
    )


def drafts_of(state: DraftState) -> list[Draft]:
    """The drafts of this turn: one that failed and was given up may have left some."""
    return [as_draft(one) for one in state.get("drafts") or [] if one["turn"] == turn_of(state)]


def last_draft(state: DraftState) -> Draft:
    """The draft that is to be checked.

    Raises:
        MissingInput: this turn has none.
    """
    drafts = drafts_of(state)
    if not drafts:
        raise MissingInput("This turn has no draft yet: a node that drafts comes before those who check it.")
    return drafts[-1]


def turn_of(state: DraftState) -> str:
    """The id of the user's message."""
    return str(state["messages"][-1].id)


def as_draft(one: Any) -> Draft:
    """A draft as it is kept, also as it was before a draft could have several verdicts."""
    if "verdicts" in one:
        return cast("Draft", one)
    verdict: Verdict = {
        "outcome": "allow",
        "score": one.get("score"),
        "above": one.get("alpha"),
        "bound": 1,
        "reason": one.get("reason", ""),
        "note": one.get("reason", ""),
        "error": one.get("error", ""),
        "details": {},
    }
    gate = one.get("verdict")
    if gate:
        details = {"triple": gate["triple"], "probability": gate["probability"]}
        verdict |= {"outcome": gate["verdict"], "reason": gate["reason"], "note": gate["reason"], "details": details}
    checker = "gate" if "verdict" in one else "verifier"
    known = gate or verdict["score"] is not None or verdict["error"]
    return {
        "turn": one["turn"],
        "id": one["id"],
        "text": one["text"],
        "error": "",
        "checkers": [checker],
        "verdicts": {checker: verdict} if known else {},
    }
