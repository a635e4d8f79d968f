"""Entity normalization with a model (RoleRAG 3.2): which names mean the same, what a group is called, the plan."""

import asyncio
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from operator import is_
from typing import Any, Literal, NamedTuple, Self, cast

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model, model_validator

from dramaturg.models.chat import ChatModel, threshold
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import Truth
from dramaturg.models.questions import choose, decide, extract
from dramaturg.nodes.asking import Answers
from dramaturg.nodes.graph.build import ChunkSettings, GraphBuild, GraphDraftState, ask_all, open_build
from dramaturg.nodes.graph.facts import Mentions, entities_in, facts_key, mentions_in
from dramaturg.nodes.graph.normalization import (
    EntityMatch,
    Named,
    Pair,
    candidate_pairs,
    groups_with_decisions,
    in_former_order,
    merge_groups,
)
from dramaturg.nodes.index_steps import unless_overtaken
from dramaturg.nodes.judgement import sentence
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.run import by_rules, needs
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.documents.merges import PLAN, Merge, MergePlan, Split, Why, read_plan, write_plan
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role

ORDER = answer_key("order")  # under which the order of documents, and so of 𝒩, is kept from one version to the next
BY_CARD = "role.yaml gives both as names of the role."


class NormalizationSettings(ChunkSettings):
    """How names are compared."""

    neighbours: Closed[int] = Field(
        default=3, ge=1, le=50, description="Nearest entities that each one is compared with (k)."
    )
    same_above: Closed[float | None] = Field(
        default=None, ge=0, le=1, description="Least P(yes) for the same entity; default: as measured for the model."
    )
    least_similarity: Closed[float] = Field(
        default=-1, ge=-1, le=1, description="Pairs below this cosine are not asked about; -1: all are (the paper)."
    )
    chains: Closed[Literal["whole", "cut"]] = by_rules(
        paper="whole",
        ours="cut",
        description="Names that are one only by way of others: whole: they are one, whatever was said of the two (the "
        "paper, Algorithm 1); cut: a chain that holds a no is cut at its least certain match, so that a father and a "
        "son do not become one by way of a surname, and one wrong no takes a group apart.",
    )
    skip_joined: Closed[bool] = Field(
        default=False,
        description="Do not ask about pairs that are in one group already: the groups are the same, but for no's "
        "that would have cut them.",
    )
    pairs_at_once: Closed[int] = Field(
        default=1, ge=1, le=20, description="Pairs in one question, for models that can take it."
    )
    reasons: Closed[bool] = Field(default=True, description="Let the model give a reason why two names mean the same.")

    def least_certainty(self, chat: ChatModel) -> float:
        """From which P(yes) two entities are the same: the setting, or what was measured for the model."""
        return threshold(chat.name, "same", self.same_above)


class PairVerdict(BaseModel):
    """The answer on one of several pairs."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field(default="", min_length=1, max_length=200)
    same: Truth


Build = GraphBuild[NormalizationSettings]


@needs(draft="chunk_persona")
@unless_overtaken
async def compare_entities(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Ask of each entity and its k nearest whether they are the same (Algorithm 1, lines 5 to 21).

    A pair that has an answer is never asked again. One whose answer cannot be used counts as not the same, and is asked
    when the role is indexed again.
    """
    build = await open_build(state, runtime, NormalizationSettings)
    entities, order = await entities_in_order(build)
    pairs = await pairs_of(entities, build) if entities else []
    await build.keep({ORDER: order})
    tried: set[Pair] = set()
    answers = await build.answers()
    before = sum(pair.same_key in answers for pair in pairs)
    while wave := next_pairs(pairs, tried, await build.answers(), build):
        await ask_pairs(wave, build, before + len(tried))
        tried |= set(wave)
    if build.run.settings.reasons:
        await explain(pairs, build)
    return {"usage": {"compare_entities": build.run.usage}}


async def entities_in_order(build: Build) -> tuple[list[Named], JsonValue]:
    """The entity database 𝒩, and the order that it is in, which is kept.

    Documents come in the order in which they became the role's, and names in that of their chunks. So a document that
    is added comes last, and where one is removed or changed 𝒩 is that of a run which knows of nothing else.
    """
    answers, decisions = await build.answers(), await decisions_of(build)
    before = cast("dict[str, list[str]]", answers.get(ORDER, {}))
    if isinstance(before, list):  # an earlier version has written down the keys of entities, which stay first
        before = {"names": before}
    chunks = in_former_order(await build.records(), before.get("documents", []), lambda chunk: chunk.source)
    mentions = mentions_at_hand(build, chunks, answers, decisions.splits if decisions else ())
    found = entities_in(mentions, before.get("names", []))
    there = {entity.key for entity in found}  # the order of before may hold names of a forgotten document
    documents: list[JsonValue] = [*dict.fromkeys(chunk.source for chunk in chunks)]
    return found, {"documents": documents, "names": [one for one in before.get("names", []) if one in there]}


class ReadMentions(NamedTuple):
    """Mentions, and all that they were read from."""

    chunks: Sequence[StoredPassage]
    splits: Sequence[Split]
    facts: Sequence[JsonValue]
    mentions: Mentions


def mentions_at_hand(
    build: Build, chunks: Sequence[StoredPassage], answers: Mapping[str, JsonValue], splits: Sequence[Split]
) -> Mentions:
    """The mentions in all chunks, as they were read by an earlier step of the run from these very answers, or again."""
    chunks, facts = tuple(chunks), [answers.get(facts_key(chunk)) for chunk in chunks]
    known: ReadMentions | None = build.run.opened.at_hand.get("mentions")
    if not known or (known.chunks, known.splits) != (chunks, splits) or not all(map(is_, known.facts, facts)):
        known = ReadMentions(chunks, splits, facts, mentions_in(chunks, answers, splits))
        build.run.opened.at_hand["mentions"] = known
    return known.mentions


async def decisions_of(build: Build) -> MergePlan | None:
    """What a person has decided; nothing where names are not made one."""
    return await asyncio.to_thread(read_plan, build.run.role.root) if build.run.settings.normalization else None


async def pairs_of(entities: Sequence[Named], build: Build) -> list[Pair]:
    """Which entities are compared: each with its k nearest, without those that a person has decided about.

    Where both quote one sentence there is nothing to compare: it names the two beside each other.
    """
    at_hand = build.run.opened.at_hand
    known: tuple[Sequence[Named], list[Pair]] | None = at_hand.get("pairs")
    if not known or known[0] != entities:  # else an earlier step of the run has looked for the nearest of the same ones
        vectors = await build.embedded([entity.text for entity in entities])
        known = at_hand["pairs"] = entities, candidate_pairs(entities, vectors, build.run.settings.neighbours)
    settled = await asyncio.to_thread(settled_names, build.run.role)
    return [
        pair
        for pair in known[1]
        if pair.similarity >= build.run.settings.least_similarity
        and not any({pair.one.key, pair.other.key} <= names for names in settled)
        and not (pair.one.place and pair.one.place == pair.other.place)
    ]


def settled_names(role: Role) -> list[set[str]]:
    """Names between which no model is asked: those of the role's card, and those that a person has decided about."""
    decisions = read_plan(role.root)
    decided = {key for merge in (decisions.groups() if decisions else ()) for key in merge.spellings()}
    return [{normal_name(name) for name in (role.card.name, *role.card.aliases)}, decided]


def next_pairs(
    pairs: Sequence[Pair], tried: Container[Pair], answers: Mapping[str, JsonValue], build: Build
) -> list[Pair]:
    """The pairs to ask about now: all that are left, or a few of those that are not in one group by now."""
    settings, chat = build.run.settings, build.run.chat
    left = [pair for pair in pairs if pair not in tried and pair.same_key not in answers]
    if not settings.skip_joined:
        return left
    names = list(dict.fromkeys(key for pair in pairs for key in (pair.one.key, pair.other.key)))
    matches = matches_in(pairs, answers, settings.least_certainty(chat))
    group = {key: at for at, keys in enumerate(merge_groups(names, [one[:2] for one in matches])) for key in keys}
    apart = [pair for pair in left if group[pair.one.key] != group[pair.other.key]]
    return apart[: chat.at_once * settings.pairs_at_once]


class Verdicts(Extracted):
    """The answer on several pairs; None: it holds no verdict on that one."""

    def in_order(self) -> list[PairVerdict | None]:
        """The verdicts, in the order of the pairs."""
        return [getattr(self, name) for name in type(self).model_fields if name != "dropped"]

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if not any(self.in_order()):
            raise ValueError("there is no verdict in it")
        return self


@lru_cache(maxsize=128)
def verdicts_on(pairs: int) -> type[Verdicts]:
    """The form of an answer on so many pairs."""
    fields: Any = {f"pair_{at}": (PairVerdict, None) for at in range(1, pairs + 1)}
    form: type[Verdicts] = create_model("Verdicts", __base__=Verdicts, **fields)
    return form


def in_pairs(answer: Any) -> Any:
    """Verdicts in a list, in their order or with the number of each, or by their numbers alone."""
    if isinstance(answer, list):
        numbered = all(isinstance(one, dict) and "pair" in one for one in answer)
        answer = {one["pair"] if numbered else at: one for at, one in enumerate(answer, start=1)}
    if not isinstance(answer, dict):
        return answer
    found: dict[str, Any] = {}
    for key, verdict in answer.items():
        digits = re.search(r"\d+", str(key))
        one = (
            {name: value for name, value in verdict.items() if name != "pair"} if isinstance(verdict, dict) else verdict
        )
        found[f"pair_{int(digits[0])}" if digits else str(key)] = one
    return found


async def ask_pairs(pairs: Sequence[Pair], build: Build, before: int) -> None:
    """Ask about pairs, one or several in a question; the reasons of several come with the answers.

    Of several, those on which an answer holds no verdict are asked about once more, without the others.

    Args:
        pairs: of the index.
        build: of the graph.
        before: how many others have been asked about.
    """
    settings, chat, run = build.run.settings, build.run.chat, build.run
    size, least = settings.pairs_at_once, settings.least_certainty(chat)

    async def ask_one(batch: Sequence[Pair]) -> Answers:
        (pair,) = batch
        messages = run.prompt("same_entity").messages(data={"one": pair.one.entry, "other": pair.other.entry})
        decision = await decide(chat, messages, threshold=least)
        return {pair.same_key: {"same": decision.answer, "certainty": decision.probability}}

    async def ask_several(batch: Sequence[Pair]) -> Answers:
        answers, left = dict[str, JsonValue](), batch
        with suppress(*UNANSWERED):  # what has come before is kept
            while left:
                listed = (f"[{at}] {pair.one.entry}\n[{at}] {pair.other.entry}" for at, pair in enumerate(left, 1))
                messages = run.prompt("same_entities").messages(count=len(left), data={"pairs": "\n\n".join(listed)})
                found = await extract(chat, messages, verdicts_on(len(left)), form=in_pairs)
                for pair, verdict in zip(left, found.in_order(), strict=True):
                    answers |= {pair.same_key: {"same": verdict.same, "certainty": None}} if verdict else {}
                    answers |= {pair.why_key: verdict.reason} if verdict and verdict.reason else {}
                left = [pair for pair in left if pair.same_key not in answers]  # fewer: each answer holds a verdict
        return answers

    batches = {str(start): pairs[start : start + size] for start in range(0, len(pairs), size)}
    await ask_all(
        build, "pairs", batches, ask_one if size == 1 else ask_several, total=len(pairs), each=size, before=before
    )


async def explain(pairs: Sequence[Pair], build: Build) -> None:
    """Have the model say why, of the pairs that it held for the same: few, and a person will read them."""
    answers, chat = await build.answers(), build.run.chat
    matched = {one[:2] for one in matches_in(pairs, answers, build.run.settings.least_certainty(chat))}
    left = {p.why_key: p for p in pairs if (p.one.key, p.other.key) in matched and p.why_key not in answers}
    prompt = build.run.prompt("why_same")

    async def ask(pair: Pair) -> Answers:
        why = await sentence(chat, prompt.messages(data={"one": pair.one.entry, "other": pair.other.entry}))
        return {pair.why_key: why} if why else {}

    await ask_all(build, "reasons", left, ask)


def matches_in(pairs: Iterable[Pair], answers: Mapping[str, JsonValue], least: float) -> list[EntityMatch]:
    """The edges of 𝒢: the pairs that were held for the same, from `least` on where there is a P(yes)."""
    return [one for one in verdicts_in(pairs, answers, least) if one.same]


def verdicts_in(pairs: Iterable[Pair], answers: Mapping[str, JsonValue], least: float) -> list[EntityMatch]:
    """What was found of all pairs that have an answer."""
    verdicts = []
    for pair in pairs:
        verdict = answers.get(pair.same_key)
        if isinstance(verdict, dict):
            certainty = verdict.get("certainty")
            sure = float(certainty) if isinstance(certainty, int | float) else None
            same = bool(verdict.get("same")) if sure is None else sure >= least
            reason = str(answers.get(pair.why_key, ""))
            verdicts.append(EntityMatch(pair.one.key, pair.other.key, round(pair.similarity, 4), sure, reason, same))
    return verdicts


@needs(draft="chunk_persona")
@unless_overtaken
async def name_groups(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have the model choose one name for each group of several, from the names in it (Algorithm 1, lines 23 to 25).

    The role's own group has the name of its card, one that a person has named keeps that.
    """
    build = await open_build(state, runtime, NormalizationSettings)
    found, answers, run = await groups_of(build), await build.answers(), build.run
    left = found.unnamed(answers, run.role.card)

    async def ask(names: list[str]) -> Answers:
        described = "\n".join(found.entities[normal_name(name)].text for name in names)
        messages = run.prompt("choose_name").messages(data={"names": described})
        return {name_key(names): await choose(run.chat, messages, names)}

    await ask_all(build, "names", left, ask)
    return {"usage": {"name_groups": run.usage}}


def name_key(names: Sequence[str]) -> str:
    """What the name of a group is kept by."""
    return answer_key("name", *sorted(names))


def planning_outcome(state: GraphDraftState) -> Literal["apply", "plan"]:
    """Whether the plan is carried out, or written down to be read first."""
    return "plan" if state.get("plan") else "apply"


@needs(draft="chunk_persona", index="chunk_persona")
async def write_merge_plan(state: GraphDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Write down which names would become one and why, for a person to read and edit; nothing is published."""
    build = await open_build(state, runtime, NormalizationSettings)
    plan = await merge_plan(build)
    path = await asyncio.to_thread(write_plan, build.run.role.root, plan, PLAN)
    runtime.stream_writer({"event": "planned", "merges": len(plan.merges), "file": str(path)})
    report = {**state["index"], "merges": len(plan.merges), "plan": str(path)}
    return {"index": report, "plan": False, "rebuild": False, "retry": False}


async def merge_plan(build: Build) -> MergePlan:
    """The plan that follows from all answers so far; a group for which the model chose no name has its first."""
    return (await groups_of(build)).plan(await build.answers(), build.run.role.card)


class EntityGroups(NamedTuple):
    """Entities in groups that mean one thing each, and what speaks for it."""

    entities: Mapping[str, Named]
    groups: Sequence[Sequence[str]]
    verdicts: Sequence[EntityMatch]
    apart: Sequence[EntityMatch]
    """Of the verdicts, the no's within chains that were cut for them, and the matches that were left out."""
    own: str | None
    """The entity that the role is, by its key; None if no document names the role."""
    decisions: MergePlan | None
    """What a person decided."""
    left: bool = False
    """Whether a pair, or why two are the same, is still to be asked about."""

    def plan(self, answers: Mapping[str, JsonValue], card: RoleCard) -> MergePlan:
        """What is merged into what; a group for which the model chose no name has its first."""
        merges = []
        for group, verdicts in zip(self.groups, self.verdicts_within(), strict=True):
            names = self.names(group)
            name = self.given_name(group, card) or str(answers.get(name_key(names), names[0]))
            merges.append(Merge(name=name, names=tuple(names), why=self.why(group, verdicts)))
        alone = tuple(one.name for one in merges if [*one.spellings()] == [normal_name(one.name)])
        merged = tuple(one for one in merges if len(one.spellings()) > 1)
        splits = self.decisions.splits if self.decisions else ()
        return MergePlan(merges=merged, alone=alone, splits=splits, apart=self.reasons(self.apart))

    def unnamed(self, answers: Mapping[str, JsonValue], card: RoleCard) -> dict[str, list[str]]:
        """The names of the groups for which the model is still to choose one, by the key of its answer."""
        several = [group for group in self.groups if len(group) > 1 and self.given_name(group, card) is None]
        return {key: names for names in map(self.names, several) if (key := name_key(names)) not in answers}

    def names(self, group: Sequence[str]) -> list[str]:
        """The names in a group, as the documents write them."""
        return [self.entities[key].name for key in group]

    def decision(self, group: Sequence[str]) -> Merge | None:
        """What a person has decided about a group."""
        merges = self.decisions.merges if self.decisions else ()
        return next((one for one in merges if set(group) & set(one.spellings())), None)

    def given_name(self, group: Sequence[str], card: RoleCard) -> str | None:
        """The name of a group that a person has decided for, or that the role's card gives."""
        decided = self.decision(group)
        return decided.name if decided else card.name if self.own in group else None

    def verdicts_within(self) -> list[list[EntityMatch]]:
        """The verdicts on two names of one group, by group."""
        place = {key: at for at, group in enumerate(self.groups) for key in group}
        within: list[list[EntityMatch]] = [[] for _ in self.groups]
        for one in self.verdicts:
            if place[one.one] == place[one.other]:
                within[place[one.one]].append(one)
        return within

    def why(self, group: Sequence[str], verdicts: Iterable[EntityMatch]) -> tuple[Why, ...]:
        """What was found of the names in a group, also before a person decided about them."""
        decided = self.decision(group)
        return (*(decided.why if decided else ()), *self.reasons(verdicts))

    def reasons(self, verdicts: Iterable[EntityMatch]) -> tuple[Why, ...]:
        """Verdicts as a person reads them."""
        return tuple(
            Why(
                names=(self.entities[one.one].name, self.entities[one.other].name),
                same=one.same,
                similarity=one.similarity,
                certainty=None if one.certainty is None else round(one.certainty, 4),
                reason=one.reason,
            )
            for one in verdicts
        )


async def groups_of(build: Build) -> EntityGroups:
    """Put entities into groups by the model's answers, the role's card and what a person decided.

    Without normalization every name stays alone.
    """
    run, (entities, order) = build.run, await entities_in_order(build)
    if build.read is not None and ORDER in build.read:
        build.read[ORDER] = order
    by_key = {one.key: one for one in entities}
    decisions = await decisions_of(build)
    own = [key for key in own_keys(run.role.card, decisions) if key in by_key]
    own_key = own[0] if own else None
    if not run.settings.normalization or not entities:
        return EntityGroups(by_key, [[key] for key in by_key], [], [], own_key, decisions)
    pairs, answers = await pairs_of(entities, build), await build.answers()
    given = own_keys(run.role.card)
    verdicts = [EntityMatch(own[0], key, reason=BY_CARD) for key in own[1:] if key in given]
    verdicts += verdicts_in(pairs, answers, run.settings.least_certainty(run.chat))
    unexplained = run.settings.reasons and any(one.same and not one.reason for one in verdicts)
    left = unexplained or bool(next_pairs(pairs, (), answers, build))
    matches = [one for one in verdicts if one.same]
    decided = [list(merge.spellings()) for merge in decisions.groups()] if decisions else []
    groups = whole = groups_with_decisions([*by_key], matches, decided)
    if run.settings.chains == "cut":
        refused = [(one.one, one.other) for one in verdicts if not one.same]
        groups = groups_with_decisions([*by_key], matches, decided, refused)
    chain, group = ({key: at for at, keys in enumerate(found) for key in keys} for found in (whole, groups))
    apart = [one for one in verdicts if chain[one.one] == chain[one.other] and group[one.one] != group[one.other]]
    return EntityGroups(by_key, groups, verdicts, apart, own_key, decisions, left)


def own_keys(card: RoleCard, decisions: MergePlan | None = None) -> list[str]:
    """The names of the role, as they are compared: its name, what a person has merged under that, its aliases."""
    name = normal_name(card.name)
    merges = (merge.spellings() for merge in (decisions.merges if decisions else ()))
    merged = next((keys for keys in merges if name in keys), {})
    return list(dict.fromkeys((name, *merged, *map(normal_name, card.aliases))))
