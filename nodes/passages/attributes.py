"""Attribute extractor: beliefs, values and psychological traits from the selected passages (AMADEUS 3.3)."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from typing_extensions import TypedDict

from dramaturg.models.errors import ModelTimeout, UnusableAnswer
from dramaturg.models.extracted import Extracted, WholeNumber
from dramaturg.models.questions import extract
from dramaturg.nodes.passages.retrieval import (
    PassageSettings,
    PassagesVersion,
    Selected,
    asked,
    in_context,
    passages_of,
)
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.nodes.turn import Question, StandaloneState
from dramaturg.stores.index.passages import StoredPassage

Kind = Literal["belief_and_value", "psychological_trait"]


class AttributeSettings(PassageSettings):
    """How many attributes a role remembers of itself in one conversation."""

    remembered: int = Field(
        default=12, ge=0, le=100, description="The most attributes that stay in the role memory of a conversation."
    )


class Attribute(TypedDict):
    """What the passages show of a role, with the id of the passage that shows it."""

    role: str
    kind: Kind
    attribute: str
    passage: str


Attributes = Annotated[list[Attribute], Field(description="The attributes that the passages of this turn show.")]
AttributeMemory = Annotated[
    list[Attribute], Field(description="The attributes that were found so far; they live on from turn to turn.")
]


class AttributeState(StandaloneState):
    """What the extractor reads and writes."""

    question: Question
    passages_version: NotRequired[PassagesVersion]
    selected: Selected
    attributes: Attributes
    role_memory: NotRequired[AttributeMemory]


class Finding(BaseModel):
    """One attribute as the model gives it, with the number of the passage that shows it."""

    model_config = ConfigDict(extra="forbid")

    attribute: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    passage: WholeNumber


class Findings(Extracted):
    """The two kinds of attribute that decide how a role acts (AMADEUS, footnote 2)."""

    belief_and_value: list[Finding] = Field(max_length=3)
    psychological_traits: list[Finding] = Field(max_length=3)


@needs(question="read_turn", selected="judge")
async def extract_attributes(state: AttributeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Extract the role's attributes from the selected passages.

    Where the answer cannot be used or does not come in time, the turn goes on with what the role memory holds, and the
    evidence says so. What is found becomes role memory where the reply is made: a node between may take some away.
    """
    run = await open_run(runtime, PassageSettings)
    store = await passages_of(run, state.get("passages_version"))
    passages = [store.get(candidate["passage"]) for candidate in state["selected"]]
    numbered = "\n\n".join(f"[{number}] {in_context(passage)}" for number, passage in enumerate(passages, start=1))
    data = {"question": asked(state), "passages": numbered}
    messages = run.prompt("extract_attributes").messages(role=run.role.card.name, data=data)
    found, noted = list[Attribute](), dict[str, Any]()
    try:
        answer = await extract(run.chat, messages, findings(len(passages)))
        found = attributes_in(answer, passages, run.role.id)
        noted = {"attributes_dropped": list(answer.dropped)} if answer.dropped else {}
    except (UnusableAnswer, ModelTimeout) as error:
        noted = {"attributes_error": str(error)}
    runtime.stream_writer({"event": "extracted", "attributes": found})
    return {
        "attributes": found,
        "evidence": {"attributes": found, **noted},
        "usage": {"extract_attributes": run.usage},
    }


def findings(passages: int) -> type[Findings]:
    """The form of an answer on so many passages: an attribute must name one of them."""
    finding = create_model("Finding", __base__=Finding, passage=(WholeNumber, Field(ge=1, le=passages)))
    kind = (list[finding], Field(max_length=3))  # type: ignore[valid-type]
    return create_model("Findings", __base__=Findings, belief_and_value=kind, psychological_traits=kind)


def attributes_in(answer: Findings, passages: Sequence[StoredPassage], role: str) -> list[Attribute]:
    """The attributes of an answer, each with the id of the passage that it names; one said twice counts once."""
    kinds: dict[Kind, list[Finding]] = {
        "belief_and_value": answer.belief_and_value,
        "psychological_trait": answer.psychological_traits,
    }
    attributes: dict[str, Attribute] = {}
    for kind, found in kinds.items():
        for one in found:
            passage = passages[one.passage - 1].id
            attribute = Attribute(role=role, kind=kind, attribute=one.attribute, passage=passage)
            attributes.setdefault(one.attribute.casefold(), attribute)
    return list(attributes.values())


def remembered(run: Run[AttributeSettings], state: AttributeState) -> dict[str, Any]:
    """What a node that makes the reply, or gathers for it, writes: the role memory with the attributes of this turn."""
    memory = updated_memory(own_memory(run, state), state["attributes"], run.settings.remembered)
    return {"role_memory": memory, "evidence": {"attributes": state["attributes"], "role_memory": memory}}


def own_memory(run: Run[Any], state: AttributeState) -> list[Attribute]:
    """The role memory without what another role has left on this thread."""
    return [attribute for attribute in state.get("role_memory", []) if attribute["role"] == run.role.id]


def updated_memory(memory: Sequence[Attribute], found: Sequence[Attribute], most: int) -> list[Attribute]:
    """Add what was found to a role memory: no attribute twice, the newest last, the oldest forgotten first."""
    merged = {one["attribute"].casefold(): one for one in memory}
    for one in found:
        merged.pop(one["attribute"].casefold(), None)
        merged[one["attribute"].casefold()] = one
    return list(merged.values())[-most:] if most else []
