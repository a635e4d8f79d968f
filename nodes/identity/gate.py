"""The validation gate: what a role is about to say or do is held against its identity (ID-RAG 3.3.3 and 6.4).

The paper leaves it to future work. Here the rules of an office come first, then the role's own core triples and what
was looked up of it. What contradicts one of them is revised, or blocked.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from typing_extensions import TypedDict

from dramaturg.models.chat import ChatModel, threshold
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide, extract
from dramaturg.nodes.identity.chronicle import Identity, IdentitySettings, identity_of
from dramaturg.nodes.identity.retrieval import SelfImageState
from dramaturg.nodes.judgement import AppraisalSettings, sentence
from dramaturg.nodes.run import Run, open_run, settings
from dramaturg.prompts import load
from dramaturg.stores.documents.forms import Triple

GateOutcome = Literal["allow", "revise", "block"]


class GateSettings(IdentitySettings, AppraisalSettings):
    """Whether there is a gate, and what it does."""

    gate: bool = Field(default=True, description="Whether replies and deeds are held against the identity.")
    on_contradiction: Literal["revise", "block"] = Field(
        default="revise", description="What becomes of a reply or deed that contradicts the identity."
    )
    changes_of_mind: int = Field(
        default=1,
        ge=0,
        le=5,
        description="The most revisions; after them what contradicts a core triple or a rule is blocked.",
    )
    contradiction: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The probability from which a small model's yes counts as a contradiction; default: what was "
        "measured for the model, else 0.5.",
    )
    gate_triples: int = Field(
        default=12, ge=1, le=100, description="The most triples of the role that a reply is held against."
    )


class Contradiction(NamedTuple):
    """A triple that is contradicted, why, and how surely."""

    triple: Triple
    reason: str
    probability: float | None = None


class ContradictedStatement(BaseModel):
    """{reason, statement}: the number of the statement that is contradicted, 0 for none."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
    statement: int


class GateVerdict(TypedDict):
    """What the gate says: the triple that it rests on, why, and how sure it is, where that is known."""

    verdict: GateOutcome
    triple: dict[str, Any] | None
    reason: str
    probability: float | None
    error: str


class Proposal(TypedDict):
    """What a role is about to say or do: of which turn, and what the gate says of it, if it was asked."""

    turn: str
    id: str | None
    text: str
    verdict: GateVerdict | None


class DecisionState(SelfImageState):
    """What acting reads and writes: `proposals` A', and what the next one is told of the one before."""

    proposals: NotRequired[list[Proposal]]
    note: NotRequired[str]


def gated_outcome(state: DecisionState, runtime: Runtime[Any]) -> Literal["checked", "unchecked"]:
    """Whether a proposal goes to the gate; a choice does not: it must be one of the options."""
    return "checked" if settings(runtime, GateSettings).gate and not state["percept"]["options"] else "unchecked"


async def validate(state: DecisionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Hold the last proposal against the rules of the office, then the role's core triples and what was looked up.

    Without a usable answer of the model the proposal is let through, and the evidence says so.

    Raises:
        RoleError: the office is missing.
        ModelError: the model cannot be reached or refuses every question.
    """
    run = await open_run(runtime, GateSettings)
    identity = await identity_of(run, state)
    *before, last = proposals_of(state)
    looked_up = {one["sentence"] for one in state.get("identity") or []}
    core = [one for one in identity.triples if one.core]
    rest = [one for one in identity.triples if not one.core and identity.sentence(one) in looked_up]
    data = {"question": state["question"], "line": last["text"]}
    found, error = None, ""
    try:
        for triples in filter(None, (identity.rules, [*core, *rest][: run.settings.gate_triples])):
            found = found or await find_contradiction(run, identity, triples, data)
    except UNANSWERED as unanswered:
        found, error = None, str(unanswered)
    verdict: GateVerdict = {
        "verdict": gate_action(run.settings, found.triple, len(before)) if found else "allow",
        "triple": identity.triple_evidence(found.triple) if found else None,
        "reason": found.reason if found else "",
        "probability": found.probability if found else None,
        "error": error,
    }
    runtime.stream_writer({"event": "gate", "verdict": verdict["verdict"]})
    note = f"{identity.sentence(found.triple)} {found.reason}".strip() if found else ""
    proposals = [*before, {**last, "verdict": verdict}]
    return {"proposals": proposals, "note": note, "usage": {"validate": run.usage}}


def gate_outcome(state: DecisionState) -> GateOutcome:
    """What becomes of the last proposal."""
    verdict = proposals_of(state)[-1]["verdict"]
    return verdict["verdict"] if verdict else "allow"


def gate_action(own: GateSettings, contradicted: Triple, revisions: int) -> GateOutcome:
    """Revise what contradicts a triple, and block it after enough revisions where the triple is core or a rule.

    What still contradicts a triple that is not core may be said: people change their minds in small things.
    """
    if own.on_contradiction == "revise" and revisions < own.changes_of_mind:
        return "revise"
    essential = contradicted.core or contradicted.kind == "rule"
    return "block" if essential or own.on_contradiction == "block" else "allow"


async def find_contradiction(
    run: Run[GateSettings], identity: Identity, triples: Sequence[Triple], data: dict[str, str]
) -> Contradiction | None:
    """Which triple a line contradicts, if any: asked of all in one answer, or of each apart.

    Raises:
        ModelError: there is no answer.
    """
    if run.settings.apart(run.chat):
        return await find_contradiction_apart(run, identity, triples, data)
    data = {**data, "statements": identity.numbered(triples)}
    messages = load("weigh_action", run.language).messages(role=identity.name, data=data)
    found = await extract(run.chat, messages, judgement_among(len(triples)))
    return Contradiction(triples[found.statement - 1], found.reason) if found.statement else None


def judgement_among(statements: int) -> type[ContradictedStatement]:
    """The form of an answer that names one of so many statements."""
    number: Any = (int, Field(strict=True, ge=0, le=statements))
    return create_model("WeighedAmong", __base__=ContradictedStatement, statement=number)


async def find_contradiction_apart(
    run: Run[GateSettings], identity: Identity, triples: Sequence[Triple], data: dict[str, str]
) -> Contradiction | None:
    """Ask of each triple whether it is contradicted, and of the surest why."""
    stated = [{**data, "statement": identity.sentence(one)} for one in triples]
    sure = await asyncio.gather(
        *(contradiction_probability(run.chat, identity.name, run.language, one) for one in stated)
    )
    at = max(range(len(triples)), key=sure.__getitem__)
    if sure[at] < threshold(run.chat.name, "contradiction", run.settings.contradiction):
        return None
    messages = load("why_contradicts", run.language).messages(role=identity.name, data=stated[at])
    return Contradiction(triples[at], await sentence(run.chat, messages), sure[at])


async def contradiction_probability(chat: ChatModel, role: str, language: str, data: dict[str, str]) -> float:
    """How surely a line contradicts a statement, from 0 to 1.

    The question is whether the line could be said where the statement holds: a small model tells that more surely than
    whether the two contradict each other.

    Raises:
        ModelError: there is no answer.
    """
    fits = await decide(chat, load("contradicts", language).messages(role=role, data=data))
    return 1 - (float(fits.answer) if fits.probability is None else fits.probability)


def proposals_of(state: DecisionState) -> list[Proposal]:
    """The proposals of this turn: a failed turn that was given up may have left some."""
    return [one for one in state.get("proposals") or [] if one["turn"] == turn_of(state)]


def turn_of(state: DecisionState) -> str:
    """The id of the message that is answered."""
    return str(state["messages"][-1].id)
