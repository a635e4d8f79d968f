"""What a decision rests on beside memories: who the role is, and how it feels (ID-RAG 3.3.2, step 6; 5.4)."""

from typing import Any, Literal, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.questions import write
from dramaturg.nodes.context import language_of, respondent_of, role_of, settings
from dramaturg.nodes.identity_recall import IdentityRecallSettings, IdentityRecallState
from dramaturg.prompts import fence, load


class ContextSettings(IdentityRecallSettings):
    """What is written of a role's state before it acts."""

    feeling: bool = Field(
        default=False,
        description="Whether the model first says how the role feels about its latest progress, from memories: a call.",
    )
    context_tokens: int = Field(default=160, ge=16, le=2000, description="The most tokens of an inferred identity.")


class ContextState(IdentityRecallState):
    """What is read and written: `self_image` is K_text and what was written beside it, fenced."""

    feeling: str
    self_image: str


C = TypeVar("C", bound=ContextSettings)


async def infer_identity(state: ContextState, runtime: Runtime[C]) -> dict[str, Any]:
    """Infer who the role is from its memories (5.4, condition 1: the identity of generative agents).

    Raises:
        ModelError: the model gave no answer.
    """
    text, usage = await said_of_role(state, settings(runtime, ContextSettings), "infer_identity")
    evidence: dict[str, Any] = {"identity": {"how": "inferred", "query": None, "triples": [], "text": text}}
    return {"identity": [], "identity_text": text, "evidence": evidence, "usage": {"infer_identity": usage}}


def feeling_outcome(state: ContextState, runtime: Runtime[C]) -> Literal["asked", "unasked"]:
    """Whether somebody wants to know how the role feels."""
    return "asked" if settings(runtime, ContextSettings).feeling else "unasked"


async def feel(state: ContextState, runtime: Runtime[C]) -> dict[str, Any]:
    """Say how the role feels about its latest progress: what passes, and is no identity (5.4, condition 2).

    Raises:
        ModelError: the model gave no answer.
    """
    text, usage = await said_of_role(state, settings(runtime, ContextSettings), "feel_progress")
    return {"feeling": text, "evidence": {"feeling": text}, "usage": {"feel": usage}}


async def augment(state: ContextState, runtime: Runtime[C]) -> dict[str, Any]:
    """Put identity and working memory together, WM' = WM ⊕ K: prompts show the one after the other.

    What a turn of the same message that failed was about to say is forgotten here: acting begins anew.
    """
    parts = {"identity": state["identity_text"], "feeling": state.get("feeling", "")}
    text = "\n\n".join(fence(name, text) for name, text in parts.items() if text)
    return {"self_image": text, "feeling": "", "proposals": [], "note": ""}


async def said_of_role(state: ContextState, context: ContextSettings, name: str) -> tuple[str, Any]:
    """What the model says of the role by a prompt, from working memory alone."""
    role = await role_of(context)
    chat = await respondent_of(context, role)
    messages = load(name, language_of(context, role)).messages(role=role.card.name, situation=state["situation"])
    text = await write(chat, messages, temperature=0, max_tokens=context.context_tokens, quiet=True)
    return " ".join(text.split()), chat.account.usage()
