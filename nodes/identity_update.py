"""Identity update 𝒞' = update(𝒞, o, M, A) (ID-RAG, Algorithm 1, step 8, and 6.4).

The paper leaves its rules to future work. Here the model looks for evidence in what was asked, seen and done; what is
salient and sure enough becomes a triple of this conversation. The chronicle itself is never written to, and a core
triple gives way to nothing that a person has not approved.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import extract
from dramaturg.nodes.context import respondent_of, settings
from dramaturg.nodes.identity import Identity, IdentityChange, IdentitySettings, IdentityState, as_plain, same_as
from dramaturg.nodes.identity import identity_of as identity_now
from dramaturg.nodes.perception import day_of
from dramaturg.prompts import load
from dramaturg.stores.role_files import Triple

MOST_FINDINGS = 3
MOST_CHANGES = 200
Kind = Literal["belief", "trait", "value", "preference", "goal", "experience"]


class UpdateSettings(IdentitySettings):
    """Whether an identity changes, and who must agree."""

    update: bool = Field(default=False, description="Whether a turn may change the identity: a call after the reply.")
    approval: Literal["core", "all", "nobody"] = Field(
        default="core",
        description="What a person must approve: what takes the place of a core triple, or every change. nobody: "
        "nobody is there to ask, and core triples stay.",
    )
    least_salience: int = Field(default=6, ge=1, le=10, description="From which salience, 1 to 10, a change counts.")
    least_confidence: float = Field(default=0.7, ge=0, le=1, description="From which confidence a change counts.")


class UpdateState(IdentityState):
    """What updating reads and writes: `proposed` waits for approval, `identity_changes` live on."""

    proposed: NotRequired[list[IdentityChange]]


class Finding(BaseModel):
    """Evidence that the role has become something, or is no more what a statement says."""

    model_config = ConfigDict(extra="forbid")

    evidence: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
    relation: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]{1,40}$")]
    object: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    kind: Kind
    salience: int = Field(strict=True, ge=1, le=10)
    confidence: float = Field(ge=0, le=1)
    replaces: int = Field(strict=True, ge=0, le=1000)


class Findings(BaseModel):
    """What one turn tells of an identity; mostly nothing."""

    model_config = ConfigDict(extra="forbid")

    findings: Annotated[list[Finding], Field(max_length=MOST_FINDINGS)]


U = TypeVar("U", bound=UpdateSettings)


def update_outcome(state: UpdateState, runtime: Runtime[U]) -> Literal["reflect", "stay"]:
    """Whether a turn may change the identity."""
    return "reflect" if settings(runtime, UpdateSettings).update else "stay"


async def reflect(state: UpdateState, runtime: Runtime[U]) -> dict[str, Any]:
    """Look for evidence in what was asked, seen and done, and propose changes.

    Where the model gives no usable answer the identity stays, and the evidence says why.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    context = settings(runtime, UpdateSettings)
    identity = await identity_now(context, state)
    chat = await respondent_of(context, identity.role)
    try:
        found = (await extract(chat, reflection_prompt(identity, state), findings_among(identity))).findings
        heavy = [change_of(one, identity, state, context) for one in found if weighs_enough(one, context)]
        proposed = what_is_new(heavy, identity)
        light = [{"object": one.object, "salience": one.salience, "confidence": one.confidence} for one in found]
        evidence = {"reflection": {"found": light, "proposed": len(proposed)}}
    except UNANSWERED as error:
        proposed, evidence = [], {"reflection": {"error": str(error)}}
    return {"proposed": proposed, "evidence": evidence, "usage": {"reflect": chat.account.usage()}}


async def approve(state: UpdateState, runtime: Runtime[U]) -> dict[str, Any]:
    """Wait for a person where one must agree: the graph stops here, and goes on with what is resumed with.

    It asks with {"question", "changes": [{number, triple, sentence, replaces, evidence, …}]} and takes
    {"approved": [numbers]}, such as `Command(resume={"approved": [1]})`. After any other answer it asks again, and
    "error" says what is wrong with it.
    """
    context = settings(runtime, UpdateSettings)
    identity = await identity_now(context, state)
    proposed = state.get("proposed") or []
    asked = [at for at, one in enumerate(proposed) if one["asks"]]
    if not asked or context.approval == "nobody":
        return {"evidence": {"declined": len(asked)}} if asked else {}
    question = {
        "question": f"Shall {identity.name} become this? Resume with {{'approved': [numbers]}}.",
        "changes": [shown(proposed[at], number, identity) for number, at in enumerate(asked, start=1)],
    }
    agreed = {asked[number - 1] for number in answered(question, len(asked))}
    kept = [agreed_to(one) if at in agreed else one for at, one in enumerate(proposed)]
    left = [one for at, one in enumerate(kept) if at not in asked or at in agreed]
    return {"proposed": left, "evidence": {"declined": len(asked) - len(agreed)}}


async def update_identity(state: UpdateState, runtime: Runtime[U]) -> dict[str, Any]:
    """Take what was proposed, and approved where that was needed, into the identity of this conversation."""
    context = settings(runtime, UpdateSettings)
    identity = await identity_now(context, state)
    taken = [one for one in state.get("proposed") or [] if one["approved"] or not one["asks"]]
    before = state.get("identity_changes") or []
    room = taken[: max(MOST_CHANGES - len(before), 0)]
    changes = [shown(one, number, identity) for number, one in enumerate(room, start=1)]
    evidence: dict[str, Any] = {"identity_changes": changes} if changes else {}
    if len(room) < len(taken):
        evidence["identity_full"] = MOST_CHANGES
    runtime.stream_writer({"event": "identity_changed", "changes": len(room)})
    return {"identity_changes": [*before, *room], "proposed": [], "evidence": evidence}


def what_is_new(proposed: Iterable[IdentityChange], identity: Identity) -> list[IdentityChange]:
    """The changes that change something: not to what is known or was proposed before, nor a triple to itself."""
    new: list[IdentityChange] = []
    for change in proposed:
        gone = [Triple.model_validate(change["replaces"])] if change["replaces"] else identity.triples
        if same_as(triple_of(change), [*gone, *map(triple_of, new)]) is None:
            new.append(change)
    return new


def reflection_prompt(identity: Identity, state: UpdateState) -> Any:
    """Show who the role is, by numbers, and what has happened."""
    numbered = "\n".join(f"{number}. {identity.sentence(one)}" for number, one in enumerate(identity.triples, start=1))
    happened = "\n".join([*(state["percept"]["observations"] or []), state["question"]])
    data = {"statements": numbered, "question": happened, "line": state["messages"][-1].text}
    return load("reflect_identity", identity.language).messages(role=identity.name, data=data)


def findings_among(identity: Identity) -> type[Findings]:
    """The form of an answer that names no statement that there is not."""
    most = len(identity.triples)

    class FindingAmong(Finding):
        replaces: int = Field(strict=True, ge=0, le=most)

    class FindingsAmong(Findings):
        findings: Annotated[list[FindingAmong], Field(max_length=MOST_FINDINGS)]  # type: ignore[assignment]

    return FindingsAmong


def weighs_enough(finding: Finding, context: UpdateSettings) -> bool:
    """Whether a finding is salient and sure enough."""
    return finding.salience >= context.least_salience and finding.confidence >= context.least_confidence


def change_of(finding: Finding, identity: Identity, state: UpdateState, context: UpdateSettings) -> IdentityChange:
    """The change that a finding proposes. What is new is never core: that is for a person to write."""
    gone = identity.triples[finding.replaces - 1] if finding.replaces else None
    day = day_of(state)
    triple = Triple(
        subject=identity.name,
        relation=finding.relation,
        object=" ".join(finding.object.split()),
        kind=finding.kind,
        source=f"turn {state['messages'][-2].id}",
        since=day or None,
    )
    change: IdentityChange = {
        "role": identity.role.id,
        "turn": str(state["messages"][-2].id),
        "triple": as_plain(triple),
        "replaces": as_plain(gone) if gone else None,
        "evidence": finding.evidence,
        "salience": finding.salience,
        "confidence": finding.confidence,
        "asks": False,
        "approved": None,
    }
    return {**change, "asks": needs_approval(change, context)}


def needs_approval(change: IdentityChange, context: UpdateSettings) -> bool:
    """Whether a person must agree; always where a core triple would give way."""
    return context.approval == "all" or bool((change["replaces"] or {}).get("core"))


def agreed_to(change: IdentityChange) -> IdentityChange:
    """A change that a person approves: what takes the place of a core triple is core, and as well protected."""
    core = bool((change["replaces"] or {}).get("core"))
    return {**change, "approved": True, "triple": {**change["triple"], **({"core": True} if core else {})}}


def answered(question: dict[str, Any], most: int) -> list[int]:
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
    """The numbers of the changes that a person approves.

    Raises:
        ValueError: the answer is of another form, or names a change that there is not.
    """
    numbers = answer.get("approved") if isinstance(answer, Mapping) else None
    if isinstance(numbers, list | tuple) and all(type(one) is int and 1 <= one <= most for one in numbers):
        return list(numbers)
    msg = f"Resume with {{'approved': [numbers]}}, where numbers are from 1 to {most}; an empty list approves none."
    raise ValueError(msg)


def triple_of(change: IdentityChange) -> Triple:
    """The triple that a change brings."""
    return Triple.model_validate(change["triple"])


def shown(change: IdentityChange, number: int, identity: Identity) -> dict[str, Any]:
    """A change as a person reads it."""
    gone = Triple.model_validate(change["replaces"]) if change["replaces"] else None
    told = {name: change[name] for name in ("evidence", "salience", "confidence", "approved")}
    sentence = identity.sentence(triple_of(change))
    replaces = identity.shown(gone) if gone else None
    return {"number": number, "triple": change["triple"], "sentence": sentence, "replaces": replaces, **told}
