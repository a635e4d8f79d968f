"""Identity retrieval: the query q = ω(WM), K = retrieve(𝒞, q), and WM' = WM ⊕ K (ID-RAG 3.3.2 and 4.1, steps 4 to 6).

Where there is no chronicle to search, or none is to be, the identity is inferred from memories (5.4).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, Literal, TypeAlias, cast

import numpy as np
from langgraph.runtime import Runtime
from pydantic import Field, StringConstraints, create_model
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.questions import extract, write
from dramaturg.nodes.identity.chronicle import (
    Condition,
    Identity,
    IdentitySettings,
    IdentityState,
    chronicled_identity,
)
from dramaturg.nodes.identity.episodes import EpisodeState
from dramaturg.nodes.identity.perception import before, question_of, search_text
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import BYTES, Grounds, grounds_of
from dramaturg.nodes.run import Run, RunContext, by_rules, needs, open_run, settings
from dramaturg.nodes.self_contained import SelfContainedSettings
from dramaturg.nodes.text.similarity import cosines
from dramaturg.prompts import fence, one_line
from dramaturg.stores.documents.chronicle import around
from dramaturg.stores.documents.forms import Triple

__all__ = ["ground_identity", "identity_grounds", "query_identity", "retrieve_identity", "search_chronicle"]

MOST_RELATIONS = 5  # of high priority: three, beside profession and is_politically, which are always included (A.7)
MOST_MEDIUM = 20  # the paper sets none, a form that a server enforces needs one
MOST_KEYWORDS = 4
UNLIMITED = 100_000  # tokens: as good as no limit
MOST_NOT_HELD = 20  # triples that are shown of those that do not hold at the date of a turn

RelationalTriple: TypeAlias = tuple[str, str, str]
"""(subject, relation, object)"""

Rule: TypeAlias = Literal["paper", "released"]
NEIGHBOUR = 2
"""The rank of a triple around what was looked up, behind those of high and of medium priority."""
PARTS = ("high_priority", "medium_priority", "keywords")


class IdentitySearchSettings(RunContext):
    """How an identity is looked for in a chronicle, and how much of it is wanted."""

    identity_retrieval: Open[Literal["strategy", "embedding"]] = Field(
        default="strategy",
        description="strategy: by relations and keywords that the model names; embedding: the sentences that are most "
        "similar to what the role perceives, which asks no model.",
    )
    identity_triples: Open[int] = Field(
        default=8,
        ge=1,
        le=200,
        description="Triples that are wanted; of high priority there may be more, as far as `identity_tokens` has "
        "room.",
    )
    identity_rule: Open[Rule] = Field(
        default="paper", description="How a strategy finds triples: as the paper says, or as its released code does."
    )
    hops: Open[int] = Field(
        default=0,
        ge=0,
        le=5,
        description="Neighbours that are added to what was found, by so many steps (r). Where nothing else is near, "
        "steps lead through the role itself, as far as triples are wanted.",
    )
    identity_tokens: Open[int] = by_rules(
        paper=UNLIMITED,
        ours=2000,
        ge=100,
        le=UNLIMITED,
        description="The largest number of tokens of the triples that were looked up: what is least important is left "
        "out. Core triples come first, then what the query wanted most, then what is nearest to what the role "
        "perceives. The paper has no such limit; its own is as good as none.",
    )


SEARCH = tuple(name for name in IdentitySearchSettings.model_fields if name not in RunContext.model_fields)
"""The names of these settings."""


class IdentityRetrievalSettings(IdentitySearchSettings, IdentitySettings, SelfContainedSettings):
    """Where the identity in a prompt comes from."""

    identity: Open[Condition] = Field(
        default="id-rag",
        description="id-rag: looked up in the chronicle; full: the whole chronicle; baseline: inferred from memories.",
    )
    feeling: Open[bool] = Field(
        default=False,
        description="Whether the model first states how the role feels about its latest progress, from memories; "
        "costs a call.",
    )
    context_tokens: Open[int] = Field(
        default=1000,
        ge=16,
        le=2000,
        description="The most tokens of what is made for the prompts, such as an inferred identity (the paper's).",
    )

    @property
    def has_query(self) -> bool:
        """Whether the model names what the chronicle is searched for."""
        return self.identity == "id-rag" and self.identity_retrieval == "strategy"


class Strategy(TypedDict):
    """A search strategy: relations of high and of medium priority, and keywords."""

    high_priority: list[str]
    medium_priority: list[str]
    keywords: list[str]


FoundIdentity = Annotated[
    list[dict[str, Any]], Field(description="The triples of the chronicle that were looked up, K.")
]


class IdentityRetrievalState(EpisodeState, IdentityState):
    """What query and retrieval read and write."""

    strategy: Annotated[Strategy | None, Field(description="What the chronicle is searched for; null: by similarity.")]
    inferred: Annotated[bool, Field(description="Whether the identity is inferred from memories and not looked up.")]
    feels: Annotated[bool, Field(description="Whether somebody wants to know how the role feels.")]
    identity: FoundIdentity
    identity_text: Annotated[str, Field(description="The identity as prompts show it, K_text.")]


class SelfImageState(IdentityRetrievalState):
    """What is read and written."""

    feeling: Annotated[str, Field(description="How the role feels about its latest progress; empty: nobody asked.")]
    self_image: Annotated[str, Field(description="The identity and the feeling, fenced for prompts.")]


@needs(question="read_turn", percept="perceive", situation="compose")
async def query_identity(state: IdentityRetrievalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have the model say which relations of this chronicle to search for, and which words.

    Without a usable answer the chronicle is searched by similarity, and the evidence says so. Nothing is asked where
    the identity is inferred, or looked up without a query.

    Raises:
        RoleError: the role has no chronicle.
    """
    run = await open_run(runtime, IdentityRetrievalSettings)
    plan = {"strategy": None, "inferred": run.settings.identity == "baseline", "feels": run.settings.feeling}
    if not run.settings.has_query:
        return plan
    identity = await chronicled_identity(run, state)
    if not identity.triples:  # of this time there are none
        return plan
    relations = list(dict.fromkeys(one.relation for one in identity.triples))
    messages = run.prompt("query_identity").messages(
        role=identity.name,
        situation=state["situation"],
        relations=", ".join(map(one_line, relations)),
        before=before(run, state),
        data={"question": question_of(state)},
    )
    strategy: Strategy | None = None
    evidence: dict[str, Any] = {}
    try:
        found = await extract(run.chat, messages, strategy_schema(tuple(relations)))
        strategy = cast("Strategy", found.model_dump(exclude={"dropped"}))
        evidence = {"identity_query_dropped": list(found.dropped)} if found.dropped else {}
    except UNANSWERED as error:
        evidence = {"identity_query_error": str(error)}
    return {**plan, "strategy": strategy, "evidence": evidence, "usage": {"query_identity": run.usage}}


@needs(inferred="query_identity")
def identity_outcome(state: IdentityRetrievalState) -> Literal["look up", "infer"]:
    """Where the identity comes from: the chronicle, or memories alone."""
    return "infer" if state["inferred"] else "look up"


@lru_cache(maxsize=128)
def strategy_schema(relations: tuple[str, ...]) -> type[Extracted]:
    """The form of a strategy over some relations: no other can be named. One of its lists is enough to search by."""
    relation: Any = Literal.__getitem__(relations)
    keyword = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40)]
    medium = min(len(relations), MOST_MEDIUM)
    fields: dict[str, Any] = {
        "high_priority": (list[relation], Field(default=[], max_length=MOST_RELATIONS)),
        "medium_priority": (list[relation], Field(default=[], max_length=medium)),
        "keywords": (list[keyword], Field(default=[], max_length=MOST_KEYWORDS)),
    }
    return create_model("SearchStrategy", __base__=Extracted, **fields)


@needs(question="read_turn", percept="perceive")
async def retrieve_identity(state: IdentityRetrievalState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look the identity up: K⁽⁰⁾ by the strategy or by similarity, K⁽¹⁾ around it, or all of it.

    Of more than there is room for, the evidence says how many were left out; see `within_tokens`.
    A strategy that finds no triple gives way to similarity, and the evidence says so.

    Raises:
        RoleError: the role has no chronicle.
    """
    run = await open_run(runtime, IdentityRetrievalSettings)
    identity = await chronicled_identity(run, state)
    own, triples = run.settings, identity.triples
    # The state may hold the strategy of a turn that was taken with other settings.
    strategy = state.get("strategy") if own.has_query else None
    how, found = "all", list(triples)
    if own.identity != "full" and strategy is not None:
        known = {(one.subject, one.relation, one.object): one for one in triples}
        hits = search_chronicle([*known], cast("Any", strategy), wanted=own.identity_triples, rule=own.identity_rule)
        how, found = "strategy", [known[one] for one in hits]
    if triples and own.identity != "full" and (strategy is None or not found):
        # The top k by relevance(q, v), the cosine with what the role perceives.
        texts = [identity.sentence(one) for one in triples]
        near = await cosines(await run.embedder(), search_text(state), texts)
        order = np.argsort(-np.asarray(near), kind="stable")[: own.identity_triples]
        how, found = "similarity", [triples[at] for at in order]
    room = max(own.identity_triples - len(found), 0)
    neighbours = around(triples, found, own.hops, [identity.name], room)
    high = strategy["high_priority"] if strategy is not None and how == "strategy" else None
    ranked = [(one, 0 if high is None or one.relation in high else 1) for one in found]
    ranked += [(one, NEIGHBOUR) for one in neighbours]
    kept = await within_tokens(run, search_text(state), identity, ranked)
    shown = [identity.triple_evidence(one) | ({"neighbour": True} if rank == NEIGHBOUR else {}) for one, rank in kept]
    runtime.stream_writer({"event": "identity", "triples": len(shown)})
    fallback = {"fallback": "the query found no triple"} if strategy is not None and how == "similarity" else {}
    evidence = {
        "identity": {
            "how": how,
            "query": strategy,
            "triples": shown,
            "of": len(triples),
            **fallback,
            **({"left_out": len(ranked) - len(kept)} if len(kept) < len(ranked) else {}),
            **not_held_evidence(identity),
        }
    }
    evidence |= run.kept_back(state.get("evidence"))
    return {"identity": shown, "identity_text": identity.text(one for one, _ in kept), "evidence": evidence}


async def within_tokens(
    run: Run[IdentityRetrievalSettings], text: str, identity: Identity, ranked: Sequence[tuple[Triple, int]]
) -> Sequence[tuple[Triple, int]]:
    """What there is room for of the triples that were looked up, in their order.

    Core triples come before all others, and of one rank the nearer first. Where there is room for all, the embedding
    model is not asked.

    Args:
        run: of the turn.
        text: what the role perceives, to which some of them are nearer than others.
        identity: puts them into words.
        ranked: the triples, each with how much it was wanted: 0 the most.
    """
    sentences, left = [identity.sentence(one) for one, _ in ranked], run.settings.identity_tokens * BYTES
    sizes = [len(one.encode()) + 1 for one in sentences]  # with the end of its line
    if sum(sizes) <= left:
        return ranked
    near, kept = await cosines(await run.embedder(), text, sentences), set[int]()
    for at in sorted(range(len(ranked)), key=lambda at: (not ranked[at][0].core, ranked[at][1], -near[at])):
        if sizes[at] <= left:
            kept.add(at)
            left -= sizes[at]
    return [one for at, one in enumerate(ranked) if at in kept]


def not_held_evidence(identity: Identity) -> dict[str, Any]:
    """What the evidence says of triples that do not hold at the date: how many there are, and the first of them."""
    if not identity.not_held:
        return {}
    shown = [identity.triple_evidence(one) for one in identity.not_held[:MOST_NOT_HELD]]
    return {"not_held": {"as_of": identity.as_of, "count": len(identity.not_held), "triples": shown}}


def search_chronicle(
    triples: Sequence[RelationalTriple], strategy: Mapping[str, Sequence[str]], *, wanted: int, rule: Rule = "paper"
) -> list[RelationalTriple]:
    """Return the triples K_ID that a strategy finds, those of high priority first, each once and in their own order.

    The paper's rule: all triples of a relation of high priority, then those of medium priority until there are enough;
    keywords only where nothing was found. The released code's, for comparison: all of medium priority where there are
    fewer than three of high, keywords where there are fewer than two, and never more than six, whatever is wanted.

    Args:
        triples: the chronicle, (subject, relation, object).
        strategy: `high_priority` and `medium_priority`, names of relations, and `keywords`, which are looked for in
            objects, whatever their case; each may be left out. An empty keyword counts as none.
        wanted: how many triples are wanted; those of high priority are never cut.
        rule: "paper" or "released".

    Raises:
        ValueError: `wanted` is below 1, there is no such rule, or the strategy is not of this form.
    """
    if unknown := sorted({*strategy} - {*PARTS}):
        raise ValueError(f"A search strategy has {', '.join(PARTS)}, and no {unknown[0]!r}.")
    for part, names in strategy.items():
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{part} of a search strategy must be a list of texts, not {names!r}.")
    if wanted < 1:
        raise ValueError(f"At least one triple must be wanted, not {wanted}.")
    if rule not in ("paper", "released"):
        raise ValueError(f"There is no rule {rule!r}: take 'paper' or 'released'.")
    high, medium, keywords = (strategy.get(part, ()) for part in PARTS)
    words = [word.casefold() for word in keywords if word.strip()]
    each = list(dict.fromkeys((subject, relation, thing) for subject, relation, thing in triples))
    first = [one for one in each if one[1] in high]
    second = [one for one in each if one[1] in medium and one[1] not in high]
    named = (one for one in each if any(word in one[2].casefold() for word in words))
    if rule == "paper":
        return [*first, *second[: max(wanted - len(first), 0)]] or list(islice(named, wanted))
    found = [*first, *(second if len(first) < 3 else [])]
    return list(dict.fromkeys([*found, *(named if len(found) < 2 else [])]))[:6]


@needs(situation="compose")
async def infer_identity(state: SelfImageState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Infer who the role is from its memories (5.4, condition 1: the identity of generative agents).

    Raises:
        ModelError: the model gave no answer.
    """
    run = await open_run(runtime, IdentityRetrievalSettings)
    text = await description(run, state, "infer_identity")
    evidence: dict[str, Any] = {"identity": {"how": "inferred", "query": None, "triples": [], "text": text}}
    return {"identity": [], "identity_text": text, "evidence": evidence, "usage": {"infer_identity": run.usage}}


def feeling_outcome(state: SelfImageState) -> Literal["asked", "unasked"]:
    """Whether somebody wants to know how the role feels."""
    return "asked" if state.get("feels") else "unasked"


@needs(situation="compose")
async def feel(state: SelfImageState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Say how the role feels about its latest progress: what passes, and is no identity (5.4, condition 2).

    Raises:
        ModelError: the model gave no answer.
    """
    run = await open_run(runtime, IdentityRetrievalSettings)
    text = await description(run, state, "feel_progress")
    return {"feeling": text, "evidence": {"feeling": text}, "usage": {"feel": run.usage}}


async def description(run: Run[IdentityRetrievalSettings], state: SelfImageState, prompt: str) -> str:
    """What the model says of the role by a prompt, from working memory alone."""
    messages = run.prompt(prompt).messages(role=run.role.card.name, situation=state["situation"])
    text = await write(run.chat, messages, temperature=0, max_tokens=run.settings.context_tokens, quiet=True)
    return " ".join(text.split())


@needs(identity_text="retrieve_identity")
async def augment(state: SelfImageState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Put identity and working memory together, WM' = WM ⊕ K: prompts show the one after the other.

    Drafts of a failed turn of the same message are dropped here: acting starts again.
    """
    parts = {"identity": state["identity_text"], "feeling": state.get("feeling", "")}
    text = "\n\n".join(fence(name, text) for name, text in parts.items() if text)
    updates = settings(runtime, IdentityRetrievalSettings).update
    return {"self_image": text, "feeling": "", "drafts": [], "updates": updates}


@needs(identity_text="retrieve_identity")
async def ground_identity(state: SelfImageState) -> dict[str, Any]:
    """Gather what a reply can rest on, for who makes it; see `identity_grounds`."""
    return {"gathered": {"identity": identity_grounds(state)}}


def identity_grounds(state: SelfImageState) -> Grounds:
    """What a reply can rest on here: "identity", the sentences that were looked up, or the text that was inferred."""
    return grounds_of(state, {"identity": state["identity_text"].splitlines()}, shown=("identity",))
