"""Entity normalization with a model: which pairs mean the same, why, and what a group is called (RoleRAG 3.2)."""

import asyncio
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide, extract, write
from dramaturg.nodes.asked_answers import Answers, answer_all, progress
from dramaturg.nodes.draft_work import unless_overtaken
from dramaturg.nodes.entity_normalization import Edge, Named, Pair, candidate_pairs, merge_groups
from dramaturg.nodes.graph_draft import GraphDraftState
from dramaturg.nodes.graph_facts import ORDER
from dramaturg.nodes.graph_questions import Asked, N, asked_of, embedded, entities_of
from dramaturg.prompts import load
from dramaturg.stores.answers import answer_key
from dramaturg.stores.merge_files import read_plan
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role

REASON_TOKENS = 60


@unless_overtaken
async def compare_entities(state: GraphDraftState, runtime: Runtime[N]) -> dict[str, Any]:
    """Ask of each entity and its k nearest whether they are the same (Algorithm 1, lines 5 to 21).

    A pair that has an answer is never asked again. One whose answer cannot be used counts as not the same, and is asked
    when the role is indexed again.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    asked = await asked_of(runtime, state["draft"])
    entities = await entities_of(asked)
    pairs = await pairs_of(entities, asked, runtime) if entities else []
    await asked.keep({ORDER: [entity.key for entity in entities]})
    tried: set[Pair] = set()
    while wave := next_pairs(pairs, tried, await asked.answers(), asked):
        await ask_pairs(wave, asked, runtime)
        tried |= set(wave)
    if asked.context.reasons:
        await explain(pairs, asked, runtime)
    return {"usage": {"compare_entities": asked.chat.account.usage()}}


async def pairs_of(entities: Sequence[Named], asked: Asked, runtime: Runtime[N]) -> list[Pair]:
    """Which entities are compared: each with its k nearest, without those that a person has decided about.

    Where both quote one sentence there is nothing to compare: it names the two beside each other.
    """
    vectors = await embedded([entity.text for entity in entities], asked, runtime)
    settled = await asyncio.to_thread(settled_names, asked.role)
    return [
        pair
        for pair in candidate_pairs(entities, vectors, asked.context.neighbours)
        if pair.similarity >= asked.context.least_similarity
        and not any({pair.one.key, pair.other.key} <= names for names in settled)
        and not (pair.one.place and pair.one.place == pair.other.place)
    ]


def settled_names(role: Role) -> list[set[str]]:
    """Names between which no model is asked: those of the role's card, and those that a person has decided about."""
    decisions = read_plan(role.root)
    decided = {key for merge in (decisions.groups() if decisions else ()) for key in merge.spellings()}
    return [{normal_name(name) for name in (role.card.name, *role.card.aliases)}, decided]


def next_pairs(
    pairs: Sequence[Pair], tried: Container[Pair], answers: Mapping[str, JsonValue], asked: Asked
) -> list[Pair]:
    """The pairs to ask about now: all that are left, or a few of those that are not in one group by now."""
    left = [pair for pair in pairs if pair not in tried and same_key(pair) not in answers]
    if not asked.context.skip_joined:
        return left
    edges = same_edges(pairs, answers, asked.above)
    names = dict.fromkeys(key for pair in pairs for key in (pair.one.key, pair.other.key))
    group = {key: at for at, keys in enumerate(merge_groups([*names], [edge[:2] for edge in edges])) for key in keys}
    apart = [pair for pair in left if group[pair.one.key] != group[pair.other.key]]
    return apart[: asked.chat.concurrency * asked.context.pairs_at_once]


async def ask_pairs(pairs: Sequence[Pair], asked: Asked, runtime: Runtime[N]) -> None:
    """Ask about pairs, one or several in a question."""
    size = asked.context.pairs_at_once
    batches = {str(start): pairs[start : start + size] for start in range(0, len(pairs), size)}

    async def ask(batch: Sequence[Pair]) -> Answers:
        try:
            return await (verdict_on(batch[0], asked) if size == 1 else verdicts_on(batch, asked))
        except UNANSWERED:
            return {}

    announce = progress(runtime, "pairs", len(pairs), each=size)
    await answer_all(batches, ask, keep=asked.keep, announce=announce)


async def verdict_on(pair: Pair, asked: Asked) -> Answers:
    """Ask whether two entities are the same."""
    messages = load("same_entity", asked.language).messages(data={"one": pair.one.entry, "other": pair.other.entry})
    decision = await decide(asked.chat, messages, threshold=asked.above)
    return {same_key(pair): {"same": decision.answer, "certainty": decision.probability}}


class PairVerdict(BaseModel):
    """The answer on one of several pairs."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field(min_length=1, max_length=200)
    same: bool


async def verdicts_on(pairs: Sequence[Pair], asked: Asked) -> Answers:
    """Ask about several pairs in one question; the reasons come with the answers."""
    listed = "\n\n".join(
        f"[{at}] {pair.one.entry}\n[{at}] {pair.other.entry}" for at, pair in enumerate(pairs, start=1)
    )
    messages = load("same_entities", asked.language).messages(count=len(pairs), data={"pairs": listed})
    verdicts = {f"pair_{at}": (PairVerdict, ...) for at in range(1, len(pairs) + 1)}
    found = await extract(asked.chat, messages, create_model("Verdicts", **verdicts))  # type: ignore[call-overload]
    answers: dict[str, JsonValue] = {}
    for pair, (_, verdict) in zip(pairs, found, strict=True):
        answers[same_key(pair)] = {"same": verdict.same, "certainty": None}
        answers[why_key(pair)] = verdict.reason
    return answers


async def explain(pairs: Sequence[Pair], asked: Asked, runtime: Runtime[N]) -> None:
    """Have the model say why, of the pairs that it held for the same: few, and a person will read them."""
    answers = await asked.answers()
    held = {edge[:2] for edge in same_edges(pairs, answers, asked.above)}
    left = {why_key(p): p for p in pairs if (p.one.key, p.other.key) in held and why_key(p) not in answers}

    async def ask(pair: Pair) -> Answers:
        messages = load("why_same", asked.language).messages(data={"one": pair.one.entry, "other": pair.other.entry})
        try:
            said = await write(asked.chat, messages, temperature=0, max_tokens=REASON_TOKENS, quiet=True)
        except UNANSWERED:
            return {}
        return {why_key(pair): " ".join(said.split())}

    await answer_all(left, ask, keep=asked.keep, announce=progress(runtime, "reasons", len(left)))


def same_edges(pairs: Iterable[Pair], answers: Mapping[str, JsonValue], above: float) -> list[Edge]:
    """The edges of 𝒢: the pairs that were held for the same, at this threshold where there is a P(yes)."""
    edges = []
    for pair in pairs:
        verdict = answers.get(same_key(pair))
        if isinstance(verdict, dict):
            certainty = verdict.get("certainty")
            sure = float(certainty) if isinstance(certainty, int | float) else None
            if verdict.get("same") if sure is None else sure >= above:
                reason = str(answers.get(why_key(pair), ""))
                edges.append(Edge(pair.one.key, pair.other.key, round(pair.similarity, 4), sure, reason))
    return edges


def same_key(pair: Pair) -> str:
    """What the verdict on a pair is kept by: what was compared, in either order."""
    return answer_key("same", *sorted([pair.one.entry, pair.other.entry]))


def why_key(pair: Pair) -> str:
    """What the reason for a verdict is kept by."""
    return answer_key("why", *sorted([pair.one.entry, pair.other.entry]))
