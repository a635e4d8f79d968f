"""Identity retrieval K = retrieve(𝒞, q), and its text (ID-RAG 3.3.2, step 5)."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.nodes.context import embedder_of, settings
from dramaturg.nodes.embedded_texts import likeness
from dramaturg.nodes.identity import Identity, has_chronicle, identity_of
from dramaturg.nodes.identity_query import QuerySettings, QueryState, identity_model
from dramaturg.nodes.identity_retrieval import Rule, search_chronicle
from dramaturg.nodes.perception import about
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


R = TypeVar("R", bound=IdentityRecallSettings)


async def retrieve_identity(state: IdentityRecallState, runtime: Runtime[R]) -> dict[str, Any]:
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
