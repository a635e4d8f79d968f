"""Hypothetical context of a question (HyDE, Gao et al. 2023; RoleRAG 3.4)."""

from typing import Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import write
from dramaturg.nodes.context import RoleContext, language_of, respondent_of, role_of, settings
from dramaturg.nodes.turn import StandaloneState
from dramaturg.prompts import load


class HypotheticalSettings(RoleContext):
    """How long the hypothetical context is."""

    hypothetical_tokens: int = Field(
        default=120, ge=16, le=1000, description="The most tokens of the hypothetical context of a question."
    )


class HypotheticalState(StandaloneState):
    """What is read and written."""

    hypothetical: str


H = TypeVar("H", bound=HypotheticalSettings)


async def hypothesize(state: HypotheticalState, runtime: Runtime[H]) -> dict[str, Any]:
    """Infer what the text may be about that would answer the question; nobody is told that it is true.

    Where the model gives no usable answer, entities are looked for in the question alone, and the evidence says so.
    """
    context = settings(runtime, HypotheticalSettings)
    role = await role_of(context)
    chat = await respondent_of(context, role)
    data = {"profile": role.card.profile, "question": state["standalone"]}
    messages = load("hypothetical_context", language_of(context, role)).messages(role=role.card.name, data=data)
    try:
        text = await write(chat, messages, temperature=0, max_tokens=context.hypothetical_tokens, quiet=True)
        evidence = {"hypothetical": text}
    except UNANSWERED as error:
        text, evidence = "", {"hypothetical_error": str(error)}
    runtime.stream_writer({"event": "hypothesized", "text": text})
    return {"hypothetical": text, "evidence": evidence, "usage": {"hypothesize": chat.account.usage()}}
