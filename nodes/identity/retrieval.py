"""The identity query q = ω(WM): which relations of an identity matter now (ID-RAG 3.3.2, step 4, and 4.1)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, cast

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import extract
from dramaturg.nodes.identity.chronicle import (
    Condition,
    Identity,
    IdentitySettings,
    IdentityState,
    has_chronicle,
    identity_of,
)
from dramaturg.nodes.identity.episodes import EpisodeState
from dramaturg.nodes.run import respondent_of, settings
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


PlainTriple: TypeAlias = tuple[str, str, str]


Rule: TypeAlias = Literal["paper", "released"]


FEW, FEWER, MOST = 3, 2, 6
"""Of the released rule: with fewer hits than these, relations of medium priority and keywords count; and its cap."""


PARTS = ("high_priority", "medium_priority", "keywords")


def identity_outcome(state: QueryState, runtime: Runtime[Any]) -> Literal["query", "look up", "infer"]:
    """Where the identity comes from: a query of the chronicle, the chronicle without a query, or memories alone."""
    context = settings(runtime, QuerySettings)
    if context.identity == "baseline":
        return "infer"
    return "query" if context.identity == "id-rag" and context.identity_retrieval == "strategy" else "look up"


async def query_identity(state: QueryState, runtime: Runtime[Any]) -> dict[str, Any]:
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


def search_chronicle(
    triples: Sequence[PlainTriple], strategy: Mapping[str, Sequence[str]], *, wanted: int, rule: Rule = "paper"
) -> list[PlainTriple]:
    """Return the triples K_ID that a strategy finds, those of high priority first, each once and in their own order.

    The paper's rule: all triples of a relation of high priority, then those of medium priority until there are enough;
    keywords only where nothing was found. The released code's, for comparison: all of medium priority where there are
    fewer than three of high, keywords where there are fewer than two, and never more than six, whatever is wanted.

    Args:
        triples: the chronicle, (subject, relation, object).
        strategy: `high_priority` and `medium_priority`, names of relations, and `keywords`, which are looked for in
            objects, whatever their case; each may be left out.
        wanted: how many triples are wanted; those of high priority are never cut.
        rule: "paper" or "released".

    Raises:
        ValueError: `wanted` is below 1, there is no such rule, or the strategy is not of this form.
    """
    high, medium, keywords = read_strategy(strategy)
    if wanted < 1:
        raise ValueError(f"At least one triple must be wanted, not {wanted}.")
    if rule not in ("paper", "released"):
        raise ValueError(f"There is no rule {rule!r}: take 'paper' or 'released'.")
    own = distinct(triples)
    first = [one for one in own if one[1] in high]
    second = [one for one in own if one[1] in medium and one[1] not in high]
    named = [one for one in own if any(word.casefold() in one[2].casefold() for word in keywords)]
    return by_released_rule(first, second, named) if rule == "released" else by_paper(first, second, named, wanted)


def by_paper(
    high: Sequence[PlainTriple], medium: Sequence[PlainTriple], named: Sequence[PlainTriple], wanted: int
) -> list[PlainTriple]:
    """All of high priority, filled up to the wanted number; keywords only where there is nothing else."""
    found = [*high, *medium[: max(wanted - len(high), 0)]]
    return found or list(named[:wanted])


def by_released_rule(
    high: Sequence[PlainTriple], medium: Sequence[PlainTriple], named: Sequence[PlainTriple]
) -> list[PlainTriple]:
    """What the released code gives for the same strategy."""
    found = [*high, *(medium if len(high) < FEW else [])]
    return distinct([*found, *(named if len(found) < FEWER else [])])[:MOST]


def distinct(triples: Sequence[PlainTriple]) -> list[PlainTriple]:
    """The triples, each once."""
    return list(dict.fromkeys((subject, relation, thing) for subject, relation, thing in triples))


def read_strategy(strategy: Mapping[str, Sequence[str]]) -> tuple[set[str], set[str], list[str]]:
    """The two sets of relations, and the keywords; an empty one is in every text and counts as none.

    Raises:
        ValueError: a part is unknown, or is no list of texts.
    """
    if unknown := sorted({*strategy} - {*PARTS}):
        raise ValueError(f"A search strategy has {', '.join(PARTS)}, and no {unknown[0]!r}.")
    for part, names in strategy.items():
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{part} of a search strategy must be a list of texts, not {names!r}.")
    high, medium, keywords = (strategy.get(part, ()) for part in PARTS)
    return set(high), set(medium), [word for word in keywords if word.strip()]
