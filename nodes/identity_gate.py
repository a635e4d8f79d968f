"""The validation gate: what a role is about to say or do is held against its identity (ID-RAG 3.3.3 and 6.4).

The paper leaves it to future work. Here the rules of an office come first, then the role's own core triples and what
was looked up of it. What contradicts one of them is revised, or blocked.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide, extract, write
from dramaturg.models.thresholds import threshold
from dramaturg.nodes.appraisal import REASON_TOKENS, AppraisalSettings
from dramaturg.nodes.context import respondent_of, settings
from dramaturg.nodes.identity import Identity, IdentitySettings, identity_of
from dramaturg.nodes.proposals import DecisionState, Verdict, proposals_of
from dramaturg.prompts import load
from dramaturg.stores.role_files import Triple

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


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


class Weighed(BaseModel):
    """{reason, statement}: the number of the statement that is contradicted, 0 for none."""

    model_config = ConfigDict(extra="forbid")

    reason: Reason
    statement: int = Field(strict=True, ge=0, le=200)


G = TypeVar("G", bound=GateSettings)


def gated_outcome(state: DecisionState, runtime: Runtime[G]) -> Literal["checked", "unchecked"]:
    """Whether a proposal goes to the gate; a choice does not: one of the options it must be."""
    return "checked" if settings(runtime, GateSettings).gate and not state["percept"]["options"] else "unchecked"


async def validate(state: DecisionState, runtime: Runtime[G]) -> dict[str, Any]:
    """Hold the last proposal against the identity, the rules of the office before all else.

    Where the model gives no usable answer the proposal is let through, and the evidence says that nobody knows.

    Raises:
        RoleError: the office is not there.
        ModelError: the model cannot be reached or refuses every question.
    """
    context = settings(runtime, GateSettings)
    identity = await identity_of(context, state)
    chat = await respondent_of(context, identity.role)
    *before, last = proposals_of(state)
    own = held_against(identity, state, context.gate_triples)
    try:
        found = None
        for triples in filter(None, (identity.rules, own)):
            found = found or await contradicted(context, chat, identity, triples, state, last["text"])
        verdict = verdict_on(context, identity, found, len(before))
    except UNANSWERED as error:
        verdict = Verdict(verdict="allow", triple=None, reason="", probability=None, error=str(error))
    runtime.stream_writer({"event": "gate", "verdict": verdict["verdict"]})
    told = "" if verdict["triple"] is None else f"{verdict['triple']['sentence']} {verdict['reason']}".strip()
    usage = {"validate": chat.account.usage()}
    return {"proposals": [*before, {**last, "verdict": verdict}], "note": told, "usage": usage}


def gate_outcome(state: DecisionState) -> Literal["allow", "revise", "block"]:
    """What becomes of the last proposal."""
    verdict = proposals_of(state)[-1]["verdict"]
    return verdict["verdict"] if verdict else "allow"


def held_against(identity: Identity, state: DecisionState, most: int) -> list[Triple]:
    """The role's core triples, then what was looked up, each once."""
    looked_up = [one["sentence"] for one in state.get("identity") or []]
    core = [one for one in identity.triples if one.core]
    rest = [one for one in identity.triples if not one.core and identity.sentence(one) in looked_up]
    return [*core, *rest][:most]


def verdict_on(context: GateSettings, identity: Identity, found: Contradiction | None, revised: int) -> Verdict:
    """Allow what contradicts nothing; else revise, and after enough of that block what is core.

    What still contradicts a triple that is not core may be said: people change their minds in small things.
    """
    if found is None:
        return Verdict(verdict="allow", triple=None, reason="", probability=None, error="")
    essential = found.triple.core or found.triple.kind == "rule"
    again = context.on_contradiction == "revise" and revised < context.changes_of_mind
    verdict: Literal["allow", "revise", "block"] = (
        "revise" if again else "block" if essential or context.on_contradiction == "block" else "allow"
    )
    shown = identity.shown(found.triple)
    return Verdict(verdict=verdict, triple=shown, reason=found.reason, probability=found.probability, error="")


async def contradicted(
    context: GateSettings,
    chat: ChatModel,
    identity: Identity,
    triples: Sequence[Triple],
    state: DecisionState,
    deed: str,
) -> Contradiction | None:
    """Which of some triples a deed contradicts, if any: asked of all in one answer, or of each apart.

    Raises:
        ModelError: there is no answer.
    """
    data = {"question": state["question"], "line": deed}
    if context.apart(chat):
        return await contradicted_apart(context, chat, identity, triples, data)
    numbered = "\n".join(f"{number}. {identity.sentence(one)}" for number, one in enumerate(triples, start=1))
    messages = load("weigh_action", identity.language).messages(
        role=identity.name, data={**data, "statements": numbered}
    )
    found = await extract(chat, messages, weighed_among(len(triples)))
    return Contradiction(triples[found.statement - 1], found.reason) if found.statement else None


async def contradicted_apart(
    context: GateSettings, chat: ChatModel, identity: Identity, triples: Sequence[Triple], data: dict[str, str]
) -> Contradiction | None:
    """Ask of each triple whether it is contradicted, and of the surest why."""
    line = threshold(chat.name, "contradiction", context.contradiction)

    async def sure(triple: Triple) -> float:
        statement = {**data, "statement": identity.sentence(triple)}
        return await certainty(chat, identity.name, identity.language, statement)

    certainties = await asyncio.gather(*map(sure, triples))
    at = max(range(len(triples)), key=certainties.__getitem__)
    if certainties[at] < line:
        return None
    statement = {**data, "statement": identity.sentence(triples[at])}
    return Contradiction(triples[at], await why(chat, identity, statement), certainties[at])


async def certainty(chat: ChatModel, role: str, language: str, data: dict[str, str]) -> float:
    """How surely a line goes against a statement, from 0 to 1.

    What is asked is whether the line could be said where the statement holds: a small model tells that more surely than
    whether the two contradict each other.

    Raises:
        ModelError: there is no answer.
    """
    fits = await decide(chat, load("contradicts", language).messages(role=role, data=data))
    return 1 - (float(fits.answer) if fits.probability is None else fits.probability)


async def why(chat: ChatModel, identity: Identity, data: dict[str, str]) -> str:
    """Why a triple is contradicted, in a sentence; the verdict stands also without one."""
    messages = load("why_contradicts", identity.language).messages(role=identity.name, data=data)
    try:
        said = await write(chat, messages, temperature=0, max_tokens=REASON_TOKENS, quiet=True)
    except UNANSWERED:
        return ""
    return " ".join(said.split())


def weighed_among(statements: int) -> type[Weighed]:
    """The form of an answer that names one of so many statements."""

    class WeighedAmong(Weighed):
        statement: int = Field(strict=True, ge=0, le=statements)

    return WeighedAmong
