"""Attribute extractor: beliefs, values and psychological traits from the selected passages (AMADEUS 3.3)."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from typing_extensions import TypedDict

from dramaturg.models.errors import ModelTimeout, UnusableAnswer
from dramaturg.models.questions import extract
from dramaturg.nodes.context import language_of, respondent_of, role_of, settings
from dramaturg.nodes.passage_evidence import Candidate, in_context
from dramaturg.nodes.retrieval import PassageSettings, passages_of
from dramaturg.nodes.turn import Report
from dramaturg.prompts import load
from dramaturg.stores.passages import StoredPassage
from dramaturg.stores.role import Role

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


class AttributeState(Report):
    """What the extractor reads and writes; `role_memory` lives on from turn to turn."""

    question: str
    version: str
    selected: list[Candidate]
    attributes: list[Attribute]
    role_memory: list[Attribute]


class Finding(BaseModel):
    """One attribute as the model gives it, with the number of the passage that shows it."""

    model_config = ConfigDict(extra="forbid")

    attribute: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    passage: int


class Findings(BaseModel):
    """The two kinds of attribute that decide how a role acts (AMADEUS, footnote 2)."""

    model_config = ConfigDict(extra="forbid")

    belief_and_value: list[Finding] = Field(max_length=3)
    psychological_traits: list[Finding] = Field(max_length=3)


A = TypeVar("A", bound=AttributeSettings)


async def extract_attributes(state: AttributeState, runtime: Runtime[A]) -> dict[str, Any]:
    """Extract the role's attributes from the selected passages, and add them to the role memory.

    Where the answer cannot be used or does not come in time, the turn goes on with what the role memory holds, and the
    evidence says so.
    """
    context = settings(runtime, AttributeSettings)
    role = await role_of(context)
    chat = await respondent_of(context, role)
    store = await passages_of(context, state["version"])
    passages = [store.get(candidate["passage"]) for candidate in state["selected"]]
    messages = prompt(role, language_of(context, role), state["question"], passages)
    evidence: dict[str, Any] = {}
    found: list[Attribute] = []
    try:
        found = traced(await extract(chat, messages, findings(len(passages))), passages, role.id)
    except (UnusableAnswer, ModelTimeout) as error:
        evidence["attributes_error"] = str(error)
    own = [attribute for attribute in state.get("role_memory", []) if attribute["role"] == role.id]
    memory = remembered(own, found, context.remembered)
    runtime.stream_writer({"event": "extracted", "attributes": found})
    return {
        "attributes": found,
        "role_memory": memory,
        "evidence": {"attributes": found, "role_memory": memory, **evidence},
        "usage": {"extract_attributes": chat.account.usage()},
    }


def prompt(role: Role, language: str, question: str, passages: Sequence[StoredPassage]) -> list[BaseMessage]:
    """Show the passages, numbered, under the question."""
    numbered = "\n\n".join(f"[{number}] {in_context(passage)}" for number, passage in enumerate(passages, start=1))
    data = {"question": question, "passages": numbered}
    return load("extract_attributes", language).messages(role=role.card.name, data=data)


def findings(passages: int) -> type[Findings]:
    """The form of an answer on so many passages: an attribute must name one of them."""
    finding = create_model("Finding", __base__=Finding, passage=(int, Field(ge=1, le=passages)))
    kind = (list[finding], Field(max_length=3))  # type: ignore[valid-type]
    return create_model("Findings", __base__=Findings, belief_and_value=kind, psychological_traits=kind)


def traced(answer: Findings, passages: Sequence[StoredPassage], role: str) -> list[Attribute]:
    """Give each attribute the id of the passage that it names; one that is said twice counts once, the first time."""
    kinds: list[tuple[Kind, list[Finding]]] = [
        ("belief_and_value", answer.belief_and_value),
        ("psychological_trait", answer.psychological_traits),
    ]
    attributes: list[Attribute] = [
        {
            "role": role,
            "kind": kind,
            "attribute": finding.attribute,
            "passage": passages[finding.passage - 1].id,
        }
        for kind, found in kinds
        for finding in found
    ]
    return list({a["attribute"].casefold(): a for a in reversed(attributes)}.values())[::-1]


def remembered(memory: Sequence[Attribute], found: Sequence[Attribute], most: int) -> list[Attribute]:
    """Add what was found to a role memory: no attribute twice, the newest last, the oldest forgotten first."""
    merged = {a["attribute"].casefold(): a for a in memory}
    for attribute in found:
        merged.pop(attribute["attribute"].casefold(), None)
        merged[attribute["attribute"].casefold()] = attribute
    return list(merged.values())[-most:] if most else []
