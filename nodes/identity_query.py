"""The identity query q = ω(WM): which relations of an identity matter now (ID-RAG 3.3.2, step 4, and 4.1)."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar, cast

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import extract
from dramaturg.nodes.context import respondent_of, settings
from dramaturg.nodes.episodes import EpisodeState
from dramaturg.nodes.identity import Condition, Identity, IdentitySettings, IdentityState, has_chronicle, identity_of
from dramaturg.prompts import load
from dramaturg.stores.role_files import Triple

MOST_RELATIONS = 3
MOST_KEYWORDS = 4
Keyword = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40)]


class QuerySettings(IdentitySettings):
    """Where the identity in a prompt comes from, and how it is looked for."""

    identity: Condition = Field(
        default="id-rag",
        description="id-rag: looked up in the chronicle; full: the whole chronicle; baseline: inferred from memories.",
    )
    identity_retrieval: Literal["strategy", "embedding"] = Field(
        default="strategy",
        description="strategy: by relations and keywords that the model names; embedding: the sentences that are most "
        "similar to what the role perceives, which asks no model.",
    )


class Strategy(TypedDict):
    """A search strategy: relations of high and of medium priority, and keywords."""

    high_priority: list[str]
    medium_priority: list[str]
    keywords: list[str]


class QueryState(EpisodeState, IdentityState):
    """What the query reads and writes; no strategy: look by similarity."""

    strategy: Strategy | None


Q = TypeVar("Q", bound=QuerySettings)


def identity_outcome(state: QueryState, runtime: Runtime[Q]) -> Literal["query", "look up", "infer"]:
    """Where the identity comes from: a query of the chronicle, the chronicle without a query, or memories alone."""
    context = settings(runtime, QuerySettings)
    if context.identity == "baseline":
        return "infer"
    return "query" if context.identity == "id-rag" and context.identity_retrieval == "strategy" else "look up"


async def query_identity(state: QueryState, runtime: Runtime[Q]) -> dict[str, Any]:
    """Have the model say which relations of this chronicle to look for, and which words.

    Where it gives no usable answer the chronicle is searched by similarity, and the evidence says so.

    Raises:
        RoleError: the role has no chronicle.
    """
    context = settings(runtime, QuerySettings)
    identity = has_chronicle(await identity_of(context, state))
    chat = await respondent_of(context, identity.role)
    relations = relations_of(identity.triples)
    messages = load("query_identity", identity.language).messages(
        role=identity.name,
        situation=state["situation"],
        relations=", ".join(relations),
        data={"question": state["question"]},
    )
    try:
        found = await extract(chat, messages, strategy_schema(relations))
        strategy, evidence = cast("Strategy", found.model_dump()), {}
    except UNANSWERED as error:
        strategy, evidence = None, {"identity_query_error": str(error)}
    usage = {"query_identity": chat.account.usage()}
    return {"strategy": strategy, "evidence": evidence, "usage": usage}


def relations_of(triples: Sequence[Triple]) -> list[str]:
    """The relations that there are, in the order of the chronicle."""
    return list(dict.fromkeys(one.relation for one in triples))


def strategy_schema(relations: Sequence[str]) -> type[BaseModel]:
    """The form of a strategy over some relations: no other can be named."""
    one: Any = Literal.__getitem__(tuple(relations))
    names = Annotated[list[one], Field(max_length=MOST_RELATIONS)]
    keywords = Annotated[list[Keyword], Field(max_length=MOST_KEYWORDS)]
    fields: dict[str, Any] = {
        "high_priority": (names, ...),
        "medium_priority": (names, ...),
        "keywords": (keywords, ...),
    }
    return create_model("SearchStrategy", __config__=ConfigDict(extra="forbid"), **fields)


def identity_model(identity: Identity) -> list[tuple[str, str, str]]:
    """A chronicle as `search_chronicle` takes it."""
    return [(one.subject, one.relation, one.object) for one in identity.triples]
