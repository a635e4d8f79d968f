"""Identity update 𝒞' = update(𝒞, o, M, A) (ID-RAG, Algorithm 1, step 8, and 6.4).

The paper leaves its rules to future work. Here the model looks for evidence in what was asked, seen and done; what is
salient and sure enough becomes a triple of this conversation. The chronicle itself is never written to, and a core
triple is replaced or contradicted only by what a person has approved. Whether it is contradicted is for the gate's
question to say, and not for the model that looked for evidence.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import NumberOf, Scale
from dramaturg.models.questions import extract
from dramaturg.nodes.asking import together
from dramaturg.nodes.identity.chronicle import (
    UNKNOWN_KIND,
    GivenObject,
    GivenRelation,
    Identity,
    IdentityChange,
    IdentityState,
    identity_of,
    triple_json,
    written_relation,
)
from dramaturg.nodes.identity.episodes import Situation, Updates
from dramaturg.nodes.identity.gate import GateSettings, find_contradiction
from dramaturg.nodes.identity.perception import before, date_of_turn, question_of
from dramaturg.nodes.identity.retrieval import FoundIdentity
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.stores.documents.chronicle import triple_key
from dramaturg.stores.documents.forms import Triple

MOST_FINDINGS = 3
MOST_CHANGES = 200
MOST_STATEMENTS = 100  # that a model is shown to say which of them is replaced
ACTION = "change_identity"
"""What a view of interrupts calls that which waits for approval."""


class UpdateSettings(GateSettings):
    """Which changes count, and who must agree; what contradicts a core triple is found as the gate finds it."""

    approval: Open[Literal["core", "all", "nobody"]] = Field(
        default="core",
        description="What a person must approve: what takes the place of a core triple or contradicts one, or every "
        "change. nobody: no person is asked, and core triples never change.",
    )
    least_salience: Open[int] = Field(
        default=6, ge=1, le=10, description="The lowest salience, from 1 to 10, at which a change is accepted."
    )
    least_confidence: Open[float] = Field(
        default=0.7, ge=0, le=1, description="The lowest confidence at which a change is accepted."
    )


class UpdateState(IdentityState):
    """What updating reads and writes."""

    updates: Updates
    identity: FoundIdentity
    situation: Situation
    proposed: NotRequired[
        Annotated[list[IdentityChange], Field(description="Changes of the identity that wait for approval.")]
    ]


class Finding(BaseModel):
    """Evidence that the role has become something, or is no more what a statement says."""

    model_config = ConfigDict(extra="forbid")

    evidence: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)] = ""
    relation: GivenRelation
    object: GivenObject
    kind: Literal["belief", "trait", "value", "preference", "goal", "experience"] | None = None
    salience: Annotated[int, Scale(1, 10)]
    confidence: Annotated[float, Scale(0, 1)]
    replaces: Annotated[int, NumberOf(1000, least=0)] = 0


class Findings(Extracted):
    """What one turn tells of an identity; mostly nothing."""

    findings: Annotated[list[Finding], Field(max_length=MOST_FINDINGS)]


def update_outcome(state: UpdateState) -> Literal["reflect", "stay"]:
    """Whether a turn may change the identity."""
    return "reflect" if state.get("updates") else "stay"


@needs(question="read_turn", percept="perceive")
async def reflect(state: UpdateState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look for evidence in what was asked, seen and done, beside what is remembered, M, and propose changes.

    Without a usable answer of the model the identity stays, and the evidence says why. Each change that replaces no
    core triple is checked against all of them, a question of the gate: what contradicts one waits for a person.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    run = await open_run(runtime, UpdateSettings)
    identity = await identity_of(run, state)
    happened = "\n".join([*(state["percept"]["observations"] or []), question_of(state)])
    data = {
        "statements": identity.numbered(known := statements_of(identity, state)),
        "question": happened,
        "line": state["messages"][-1].text,
    }
    shown = {
        "situation": f"{situation}\n\n" if (situation := state.get("situation")) else "",
        "before": before(run, state),
    }
    messages = run.prompt("reflect_identity").messages(role=identity.name, data=data, **shown)
    proposed: list[IdentityChange] = []
    evidence: dict[str, Any]
    try:
        answer = await extract(run.chat, messages, findings_among(len(known)))
        found, dropped = answer.findings, {"dropped": list(answer.dropped)} if answer.dropped else {}
        proposed = changes_of(found, identity, known, state, run.settings)
        light = [{"object": one.object, "salience": one.salience, "confidence": one.confidence} for one in found]
        evidence = {"found": light, "proposed": len(proposed), **dropped}
    except UNANSWERED as error:
        evidence = {"error": str(error)}
    weighed = await together(*(held_against_core(run, identity, one, state) for one in proposed))
    proposed = [change for change, _ in weighed]
    if not_weighed := [error for _, error in weighed if error]:
        evidence["not_weighed"] = not_weighed
    return {"proposed": proposed, "evidence": {"reflection": evidence}, "usage": {"reflect": run.usage}}


def statements_of(identity: Identity, state: UpdateState) -> list[Triple]:
    """The triples that evidence is checked against; of a long chronicle the core and what was found, then others."""
    triples = identity.triples
    if len(triples) <= MOST_STATEMENTS:
        return [*triples]
    near = {one["sentence"] for one in state.get("identity") or []}
    first = sorted(
        range(len(triples)), key=lambda at: (not triples[at].core, identity.sentence(triples[at]) not in near)
    )
    return [triples[at] for at in sorted(first[:MOST_STATEMENTS])]


async def held_against_core(
    run: Run[UpdateSettings], identity: Identity, change: IdentityChange, state: UpdateState
) -> tuple[IdentityChange, str]:
    """Have what contradicts a core triple ask for approval, to take its place; also what could not be weighed, and why.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    core = [one for one in identity.triples if one.core]
    named = change["replaces"]
    if not core or (named or {}).get("core"):
        return change, ""
    line = identity.sentence(Triple.model_validate(change["triple"]))
    try:
        found = await find_contradiction(
            run, identity, core, {"question": question_of(state), "line": line}, before(run, state)
        )
    except UNANSWERED as error:
        return {**change, "asks": True}, str(error)
    if found is None:
        return change, ""
    besides: Any = {"replaces_too": named} if named else {}
    return {**change, "asks": True, "replaces": triple_json(found.triple), **besides}, ""


@lru_cache(maxsize=128)
def findings_among(statements: int) -> type[Findings]:
    """The form of an answer that names only statements that there are."""
    replaces: Any = (Annotated[int, NumberOf(statements, least=0)], 0)
    finding = create_model("FindingAmong", __base__=Finding, replaces=replaces)
    findings: Any = (Annotated[list[finding], Field(max_length=MOST_FINDINGS)], ...)  # type: ignore[valid-type]
    return create_model("FindingsAmong", __base__=Findings, findings=findings)


def changes_of(
    found: list[Finding], identity: Identity, shown: Sequence[Triple], state: UpdateState, own: UpdateSettings
) -> list[IdentityChange]:
    """The changes that salient and sure findings propose, without those that would change nothing.

    A finding names what it replaces by its number among those that were shown. Nothing is proposed that is known, was
    proposed before, or equals the triple that it would replace. What is new is never core: that is for a person to
    write.
    """
    changes: list[IdentityChange] = []
    new: list[Triple] = []
    for one in found:
        gone = shown[one.replaces - 1] if one.replaces else None
        triple = Triple(
            subject=identity.name,
            relation=written_relation(
                one.relation, [*identity.templates, *(held.relation for held in identity.triples)]
            ),
            object=" ".join(one.object.split()),
            kind=one.kind or UNKNOWN_KIND,
            source=f"turn {state['messages'][-2].id}",
            since=date_of_turn(state) or None,
        )
        known = map(triple_key, [*([gone] if gone else identity.triples), *new])
        if one.salience < own.least_salience or one.confidence < own.least_confidence or triple_key(triple) in known:
            continue
        new.append(triple)
        changes.append(
            {
                "role": identity.role.id,
                "turn": str(state["messages"][-2].id),
                "triple": triple_json(triple),
                "replaces": triple_json(gone) if gone else None,
                "evidence": one.evidence,
                "salience": one.salience,
                "confidence": one.confidence,
                "asks": own.approval == "all" or bool(gone and gone.core),
                "approved": None,
            }
        )
    return changes


@needs(percept="perceive")
async def approve(state: UpdateState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Wait for a person where one must agree: the graph stops here, and goes on with what is resumed with.

    It asks with {"question", "changes": [{number, triple, sentence, replaces, evidence, …}]} and takes
    {"approved": [numbers]}, such as `Command(resume={"approved": [1]})`. Beside the changes stand "action_requests" and
    "review_configs", as LangChain's human-in-the-loop middleware asks, and {"decisions": [{"type": "approve"}, …]} is
    taken, too: views of interrupts, such as that of agent-chat-ui, show the one and answer with the other. After any
    other answer it asks again, and "error" says what is wrong with it.
    """
    run = await open_run(runtime, UpdateSettings)
    identity = await identity_of(run, state)
    proposed = state.get("proposed") or []
    asked = [at for at, one in enumerate(proposed) if one["asks"]]
    if not asked or run.settings.approval == "nobody":
        return {"evidence": {"declined": len(asked)}} if asked else {}
    changes = [change_evidence(proposed[at], number, identity) for number, at in enumerate(asked, start=1)]
    question = {
        "question": f"Shall {identity.name} become this? Resume with {{'approved': [numbers]}}.",
        "changes": changes,
        "action_requests": [action_request(one, identity.name) for one in changes],
        "review_configs": [{"action_name": ACTION, "allowed_decisions": ["approve", "reject"]}],
    }
    agreed = {asked[number - 1] for number in approved_numbers(question, len(asked))}
    kept = [approved(one) if at in agreed else one for at, one in enumerate(proposed)]
    left = [one for one in kept if one["approved"] or not one["asks"]]
    return {"proposed": left, "evidence": {"declined": len(asked) - len(agreed)}}


def action_request(change: dict[str, Any], name: str) -> dict[str, Any]:
    """A change as a view of interrupts shows it: what it says, and in the place of what, in sentences."""
    gone = {one: change[one]["sentence"] for one in ("replaces", "replaces_too") if change.get(one)}
    args = {"sentence": change["sentence"], **gone, "evidence": change["evidence"]}
    return {"name": ACTION, "args": args, "description": f"Shall {name} become this?"}


def approved_numbers(question: dict[str, Any], most: int) -> list[int]:
    """Ask a person until the answer can be read.

    An exception would end it: the graph keeps an answer for its step, and would give it the wrong one ever after.
    """
    asked = question
    while True:
        try:
            return approved_in(interrupt(asked), most)
        except ValueError as error:
            asked = {**question, "error": str(error)}


def approved_in(answer: object, most: int) -> list[int]:
    """The numbers of the changes that a person approves, from either form of an answer.

    Raises:
        ValueError: the answer is of another form, names a change that there is not, or does not decide on each.
    """
    match answer:
        case {"approved": [*numbers]} if all(type(one) is int and 1 <= one <= most for one in numbers):
            return numbers
        case {"decisions": [*decisions]} if len(decisions) == most:
            kinds = [one.get("type") if isinstance(one, Mapping) else None for one in decisions]
            if all(kind in ("approve", "reject") for kind in kinds):
                return [number for number, kind in enumerate(kinds, start=1) if kind == "approve"]
    msg = (
        f"Resume with {{'approved': [numbers]}}, where numbers are from 1 to {most}; an empty list approves none. "
        f"Or with {{'decisions': [{{'type': 'approve'}} or {{'type': 'reject'}}]}}, one for each change: {most}."
    )
    raise ValueError(msg)


def approved(change: IdentityChange) -> IdentityChange:
    """A change that a person approves: what replaces a core triple is core, and as well protected."""
    core = {"core": True} if (change["replaces"] or {}).get("core") else {}
    return {**change, "approved": True, "triple": {**change["triple"], **core}}


@needs(percept="perceive")
async def update_identity(state: UpdateState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Take what was proposed, and approved where that was needed, into the identity of this conversation."""
    identity = await identity_of(await open_run(runtime, UpdateSettings), state)
    taken = [one for one in state.get("proposed") or [] if one["approved"] or not one["asks"]]
    changed = state.get("identity_changes") or []
    room = taken[: max(MOST_CHANGES - len(changed), 0)]
    changes = [change_evidence(one, number, identity) for number, one in enumerate(room, start=1)]
    evidence: dict[str, Any] = {"identity_changes": changes} if changes else {}
    if len(room) < len(taken):
        evidence["identity_full"] = MOST_CHANGES
    runtime.stream_writer({"event": "identity_changed", "changes": len(room)})
    return {"identity_changes": [*changed, *room], "proposed": [], "evidence": evidence}


def change_evidence(change: IdentityChange, number: int, identity: Identity) -> dict[str, Any]:
    """A change as a person reads it."""
    gone, too = (
        identity.triple_evidence(Triple.model_validate(one)) if one else None
        for one in (change["replaces"], change.get("replaces_too"))
    )
    sentence = identity.sentence(Triple.model_validate(change["triple"]))
    shown: dict[str, Any] = {"number": number, "triple": change["triple"], "sentence": sentence, "replaces": gone}
    shown |= {"replaces_too": too} if too else {}
    return shown | {name: change[name] for name in ("evidence", "salience", "confidence", "approved")}
