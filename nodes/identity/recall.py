"""Identity retrieval K = retrieve(𝒞, q), and its text (ID-RAG 3.3.2, step 5)."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.questions import write
from dramaturg.nodes.identity.chronicle import Identity, has_chronicle, identity_of
from dramaturg.nodes.identity.embedded_texts import likeness
from dramaturg.nodes.identity.perception import about
from dramaturg.nodes.identity.retrieval import QuerySettings, QueryState, Rule, identity_model, search_chronicle
from dramaturg.nodes.run import embedder_of, language_of, respondent_of, role_of, settings
from dramaturg.prompts import fence, load
from dramaturg.stores.identity_graph import around
from dramaturg.stores.role_files import Triple


class IdentityRecallSettings(QuerySettings):
    """How much of an identity is looked up."""

    identity_triples: int = Field(
        default=8, ge=1, le=200, description="Triples that are wanted; those of high priority are never cut."
    )
    identity_rule: Rule = Field(
        default="paper", description="How a strategy finds triples: as the paper says, or as its released code does."
    )
    hops: int = Field(
        default=0, ge=0, le=5, description="Neighbours that are added to what was found, by so many steps (r)."
    )


class IdentityRecallState(QueryState):
    """What retrieval reads and writes: K as plain triples, and its text."""

    identity: list[dict[str, Any]]
    identity_text: str


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


async def retrieve_identity(state: IdentityRecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look the identity up: K⁽⁰⁾ by the strategy or by similarity, K⁽¹⁾ around it, or all of it.

    Raises:
        RoleError: the role has no chronicle.
    """
    context = settings(runtime, IdentityRecallSettings)
    identity = has_chronicle(await identity_of(context, state))
    # The state may hold the strategy of a turn that was taken with other settings.
    asked = context.identity == "id-rag" and context.identity_retrieval == "strategy"
    strategy = state["strategy"] if asked else None
    if context.identity == "full":
        how, found = "all", list(identity.triples)
    elif strategy is None:
        how, found = "similarity", await most_similar(context, identity, state)
    else:
        how, found = "strategy", by_strategy(context, identity, strategy)
    more = around(identity.triples, found, context.hops, [identity.name])
    shown = [identity.shown(one) for one in found] + [{**identity.shown(one), "neighbour": True} for one in more]
    runtime.stream_writer({"event": "identity", "triples": len(shown)})
    evidence = {"identity": {"how": how, "query": strategy, "triples": shown, "of": len(identity.triples)}}
    return {"identity": shown, "identity_text": identity.text([*found, *more]), "evidence": evidence}


def by_strategy(context: IdentityRecallSettings, identity: Identity, strategy: Any) -> list[Triple]:
    """The triples that a strategy finds."""
    named = dict(zip(identity_model(identity), identity.triples, strict=True))
    found = search_chronicle(list(named), strategy, wanted=context.identity_triples, rule=context.identity_rule)
    return [named[one] for one in found]


async def most_similar(context: IdentityRecallSettings, identity: Identity, state: IdentityRecallState) -> list[Triple]:
    """The top k by relevance(q, v), the cosine of their sentences with what the role perceives."""
    texts = [identity.sentence(one) for one in identity.triples]
    near = await likeness(await embedder_of(context, identity.role), about(state), texts)
    return [identity.triples[at] for at in best(near, context.identity_triples)]


def best(values: Sequence[float], k: int) -> list[int]:
    """The places of the k largest values, the largest first; ties in their order."""
    return [int(at) for at in np.argsort(-np.asarray(values), kind="stable")[:k]]


async def infer_identity(state: ContextState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Infer who the role is from its memories (5.4, condition 1: the identity of generative agents).

    Raises:
        ModelError: the model gave no answer.
    """
    text, usage = await said_of_role(state, settings(runtime, ContextSettings), "infer_identity")
    evidence: dict[str, Any] = {"identity": {"how": "inferred", "query": None, "triples": [], "text": text}}
    return {"identity": [], "identity_text": text, "evidence": evidence, "usage": {"infer_identity": usage}}


def feeling_outcome(state: ContextState, runtime: Runtime[Any]) -> Literal["asked", "unasked"]:
    """Whether somebody wants to know how the role feels."""
    return "asked" if settings(runtime, ContextSettings).feeling else "unasked"


async def feel(state: ContextState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Say how the role feels about its latest progress: what passes, and is no identity (5.4, condition 2).

    Raises:
        ModelError: the model gave no answer.
    """
    text, usage = await said_of_role(state, settings(runtime, ContextSettings), "feel_progress")
    return {"feeling": text, "evidence": {"feeling": text}, "usage": {"feel": usage}}


async def augment(state: ContextState, runtime: Runtime[Any]) -> dict[str, Any]:
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
