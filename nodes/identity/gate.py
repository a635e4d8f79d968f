"""The validation gate: what a role is about to say or do is checked against its identity (ID-RAG 3.3.3 and 6.4).

The paper leaves it to future work. Here the rules of an office come first, then the role's own core triples and what
was looked up of it. What contradicts one of them is revised, or blocked.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from langgraph.runtime import Runtime
from pydantic import Field, StringConstraints, create_model

from dramaturg.models.chat import ChatModel, threshold
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import NumberOf
from dramaturg.models.questions import decide, extract
from dramaturg.nodes.asking import together
from dramaturg.nodes.drafts import DraftState, Outcome, asked_before, judged, last_draft, verdict
from dramaturg.nodes.identity.chronicle import Identity, IdentitySettings, identity_of
from dramaturg.nodes.identity.perception import before, question_of
from dramaturg.nodes.identity.retrieval import IdentityRetrievalState
from dramaturg.nodes.judgement import AppraisalSettings, sentence
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import Run, by_rules, needs, open_run
from dramaturg.nodes.self_contained import SelfContainedSettings
from dramaturg.prompts import Prompt
from dramaturg.stores.documents.forms import Triple


class GateSettings(IdentitySettings, SelfContainedSettings, AppraisalSettings):
    """Whether there is a gate, and what it does."""

    gate: Open[bool] = by_rules(
        paper=False,
        ours=True,
        description="Whether replies and actions are checked against the identity; the paper leaves this to future "
        "work (3.3.3, 6.4). "
        "It costs a question a reply, or one for each triple with a small model, and a reply that is "
        "not streamed.",
    )
    on_contradiction: Open[Literal["revise", "block"]] = Field(
        default="revise", description="What happens to a reply or action that contradicts the identity."
    )
    changes_of_mind: Open[int] = Field(
        default=1,
        ge=0,
        le=5,
        description="The largest number of revisions; after that, a reply that contradicts a core triple or a rule "
        "is blocked.",
    )
    contradiction: Open[float | None] = Field(
        default=None,
        ge=0,
        le=1,
        description="The probability from which a small model's yes counts as a contradiction; default: what was "
        "measured for the model, else 0.5.",
    )
    gate_triples: Open[int] = Field(
        default=12,
        ge=1,
        le=100,
        description="The largest number of the role's triples that a reply is checked against.",
    )


class Contradiction(NamedTuple):
    """A triple that is contradicted, why, and how surely."""

    triple: Triple
    reason: str
    probability: float | None = None


class ContradictedStatement(Extracted):
    """{reason, statement}: the number of the statement that is contradicted, 0 for none."""

    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)] = ""
    statement: int


class GateState(IdentityRetrievalState, DraftState):
    """What the gate reads and writes."""


@needs(question="read_turn", drafts="a node that drafts", percept="perceive")
async def validate(state: GateState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Hold the last draft against the rules of the office, then the role's core triples and what was looked up.

    Without a usable answer of the model the draft is let through, and the evidence says so.

    Raises:
        RoleError: the office is missing.
        ModelError: the model cannot be reached or refuses every question.
    """
    run = await open_run(runtime, GateSettings)
    identity = await identity_of(run, state)
    last = last_draft(state)
    looked_up = {one["sentence"] for one in state.get("identity") or []}
    core = [one for one in identity.triples if one.core]
    rest = [one for one in identity.triples if not one.core and identity.sentence(one) in looked_up]
    data, said = {"question": question_of(state), "line": last["text"]}, before(run, state)
    found, error = None, ""
    try:
        for triples in filter(None, (identity.rules, [*core, *rest][: run.settings.gate_triples])):
            found = found or await find_contradiction(run, identity, triples, data, said)
    except UNANSWERED as unanswered:
        found, error = None, str(unanswered)
    note = f"{identity.sentence(found.triple)} {found.reason}".strip() if found else ""
    given = verdict(
        gate_action(run.settings, found.triple, asked_before(state, "gate")) if found else "allow",
        bound=run.settings.changes_of_mind,
        reason=found.reason if found else "",
        note=note,
        error=error,
        triple=identity.triple_evidence(found.triple) if found else None,
        probability=found.probability if found else None,
    )
    runtime.stream_writer({"event": "gate", "verdict": given["outcome"]})
    return {"drafts": judged(state, "gate", given), "usage": {"validate": run.usage}}


def gate_action(own: GateSettings, contradicted: Triple, revisions: int) -> Outcome:
    """Revise what contradicts a triple, and block it after enough revisions where the triple is core or a rule.

    What still contradicts a triple that is not core may be said: people change their minds in small things.
    """
    if own.on_contradiction == "revise" and revisions < own.changes_of_mind:
        return "revise"
    essential = contradicted.core or contradicted.kind == "rule"
    return "block" if essential or own.on_contradiction == "block" else "allow"


async def find_contradiction(
    run: Run[GateSettings], identity: Identity, triples: Sequence[Triple], data: dict[str, str], said: str = ""
) -> Contradiction | None:
    """Which triple a line contradicts, if any: asked of all in one answer, or of each apart.

    Args:
        run: of the node that asks.
        identity: whose triples they are.
        triples: the most important first.
        data: "question" and "line".
        said: the section of what was said before the question.

    Raises:
        ModelError: there is no answer.
    """
    if run.settings.scores_apart(run.chat):
        return await find_contradiction_apart(run, identity, triples, data, said)
    data = {**data, "statements": identity.numbered(triples)}
    messages = run.prompt("weigh_action").messages(role=identity.name, before=said, data=data)
    found = await extract(run.chat, messages, judgement_among(len(triples)))
    return Contradiction(triples[found.statement - 1], found.reason) if found.statement else None


@lru_cache(maxsize=128)
def judgement_among(statements: int) -> type[ContradictedStatement]:
    """The form of an answer that names one of so many statements."""
    number: Any = (Annotated[int, NumberOf(statements, least=0)], ...)
    return create_model("WeighedAmong", __base__=ContradictedStatement, statement=number)


async def find_contradiction_apart(
    run: Run[GateSettings], identity: Identity, triples: Sequence[Triple], data: dict[str, str], said: str
) -> Contradiction | None:
    """Ask of each triple whether it is contradicted, and of the surest why."""
    stated = [{**data, "statement": identity.sentence(one)} for one in triples]
    sure = await together(
        *(contradiction_probability(run.chat, run.prompt, identity.name, one, said) for one in stated)
    )
    at = max(range(len(triples)), key=sure.__getitem__)
    if sure[at] < threshold(run.chat.name, "contradiction", run.settings.contradiction):
        return None
    messages = run.prompt("why_contradicts").messages(role=identity.name, before=said, data=stated[at])
    return Contradiction(triples[at], await sentence(run.chat, messages), sure[at])


async def contradiction_probability(
    chat: ChatModel, prompt: Callable[[str], Prompt], role: str, data: dict[str, str], said: str = ""
) -> float:
    """How surely a line contradicts a statement, from 0 to 1.

    The question is whether the line could be said where the statement holds: a small model tells that more surely than
    whether the two contradict each other.

    Raises:
        ModelError: there is no answer.
    """
    fits = await decide(chat, prompt("contradicts").messages(role=role, before=said, data=data))
    return 1 - (float(fits.answer) if fits.probability is None else fits.probability)
