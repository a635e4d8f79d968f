"""The merge plan: groups with a name each, from what the model answered, the role's card and what a person decided."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from langgraph.runtime import Runtime
from pydantic import JsonValue

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import choose
from dramaturg.nodes.asked_answers import Answers, answer_all, progress
from dramaturg.nodes.draft_work import unless_overtaken
from dramaturg.nodes.entity_normalization import Edge, Named, together
from dramaturg.nodes.graph_draft import GraphDraftState
from dramaturg.nodes.graph_questions import Asked, N, asked_of, entities_of
from dramaturg.nodes.name_merging import pairs_of, same_edges
from dramaturg.prompts import load
from dramaturg.stores.answers import answer_key
from dramaturg.stores.merge_files import PLAN, Merge, MergePlan, Why, read_plan, write_plan
from dramaturg.stores.names import normal_name
from dramaturg.stores.role_files import RoleCard

BY_CARD = "role.yaml gives both as names of the role."


class Groups(NamedTuple):
    """Entities in groups that mean one thing each, and the edges that speak for it."""

    entities: Mapping[str, Named]
    groups: Sequence[Sequence[str]]
    edges: Sequence[Edge]
    own: str | None
    """The entity that the role is, by its key; None if no document names the role."""

    def names(self, group: Sequence[str]) -> list[str]:
        """The names in a group, as the documents write them."""
        return [self.entities[key].name for key in group]


@unless_overtaken
async def name_groups(state: GraphDraftState, runtime: Runtime[N]) -> dict[str, Any]:
    """Have the model choose one name for each group of several, from the names in it (Algorithm 1, lines 23 to 25).

    The role's own group has the name of its card, one that a person has named keeps that.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    asked = await asked_of(runtime, state["draft"])
    found, answers = await groups_of(asked, runtime), await asked.answers()
    decisions = await asyncio.to_thread(read_plan, asked.role.root)
    left = {
        name_key(names): names
        for group in found.groups
        if len(group) > 1
        and given_name(group, found, asked.role.card, decisions) is None
        and name_key(names := found.names(group)) not in answers
    }

    async def ask(names: list[str]) -> Answers:
        try:
            return {name_key(names): await choose(asked.chat, naming(names, found, asked), names)}
        except UNANSWERED:
            return {}

    await answer_all(left, ask, keep=asked.keep, announce=progress(runtime, "names", len(left)))
    return {"usage": {"name_groups": asked.chat.account.usage()}}


def naming(names: Sequence[str], found: Groups, asked: Asked) -> Any:
    """Show what is said under each name."""
    said = "\n".join(found.entities[normal_name(name)].text for name in names)
    return load("choose_name", asked.language).messages(data={"names": said})


def planning_outcome(state: GraphDraftState) -> Literal["apply", "plan"]:
    """Whether the plan is carried out, or written down to be read first."""
    return "plan" if state.get("plan") else "apply"


async def write_merge_plan(state: GraphDraftState, runtime: Runtime[N]) -> dict[str, Any]:
    """Write down which names would become one and why, for a person to read and edit; nothing is published."""
    asked = await asked_of(runtime, state["draft"])
    plan = await merge_plan(asked, runtime)
    path = await asyncio.to_thread(write_plan, asked.role.root, plan, PLAN)
    runtime.stream_writer({"event": "planned", "merges": len(plan.merges), "file": str(path)})
    report = {**state["index"], "merges": len(plan.merges), "plan": str(path)}
    return {"index": report, "plan": False, "rebuild": False, "retry": False}


async def merge_plan(asked: Asked, runtime: Runtime[N]) -> MergePlan:
    """The plan that follows from all answers so far; without normalization every name stays alone."""
    found, answers = await groups_of(asked, runtime), await asked.answers()
    decisions = await asyncio.to_thread(read_plan, asked.role.root) if asked.context.normalization else None
    merges = [
        merge_of(group, found, named(group, found, answers, asked.role.card, decisions)) for group in found.groups
    ]
    alone = tuple(one.name for one in merges if [*one.spellings()] == [normal_name(one.name)])
    return MergePlan(merges=tuple(one for one in merges if len(one.spellings()) > 1), alone=alone)


async def groups_of(asked: Asked, runtime: Runtime[N]) -> Groups:
    """Put entities into groups by the model's answers, the role's card and what a person decided."""
    entities = await entities_of(asked)
    by_key, keys = {one.key: one for one in entities}, [one.key for one in entities]
    decisions = await asyncio.to_thread(read_plan, asked.role.root) if asked.context.normalization else None
    own = [key for key in own_keys(asked.role.card, decisions) if key in by_key]
    called = own[0] if own else None
    if not asked.context.normalization or not entities:
        return Groups(by_key, [[key] for key in keys], [], called)
    pairs = await pairs_of(entities, asked, runtime)
    edges = [*card_edges(asked.role.card, own), *same_edges(pairs, await asked.answers(), asked.above)]
    decided = [list(merge.spellings()) for merge in decisions.groups()] if decisions else []
    return Groups(by_key, together(keys, edges, decided), edges, called)


def own_keys(card: RoleCard, decisions: MergePlan | None = None) -> list[str]:
    """The names of the role, as they are compared: its name, what a person has merged under that, its aliases."""
    name = normal_name(card.name)
    merges = (merge.spellings() for merge in (decisions.merges if decisions else ()))
    merged = next((keys for keys in merges if name in keys), {})
    return list(dict.fromkeys((name, *merged, *map(normal_name, card.aliases))))


def card_edges(card: RoleCard, own: Sequence[str]) -> list[Edge]:
    """The names that the role's card gives are the same; no model is asked about that."""
    given = own_keys(card)
    return [Edge(own[0], key, reason=BY_CARD) for key in own[1:] if key in given]


def merge_of(group: Sequence[str], found: Groups, name: str) -> Merge:
    """One group of the plan, with all that speaks for it."""
    why = tuple(
        Why(
            names=(found.entities[edge.one].name, found.entities[edge.other].name),
            similarity=edge.similarity,
            certainty=None if edge.certainty is None else round(edge.certainty, 4),
            reason=edge.reason,
        )
        for edge in found.edges
        if edge.one in group and edge.other in group
    )
    return Merge(name=name, names=tuple(found.names(group)), why=why)


def named(
    group: Sequence[str], found: Groups, answers: Mapping[str, JsonValue], card: RoleCard, decisions: MergePlan | None
) -> str:
    """The canonical name of a group: given, or chosen by the model; the first where it chose none."""
    names = found.names(group)
    return given_name(group, found, card, decisions) or str(answers.get(name_key(names), names[0]))


def given_name(group: Sequence[str], found: Groups, card: RoleCard, decisions: MergePlan | None) -> str | None:
    """The name that a person has decided for, or that the role's card gives."""
    for merge in decisions.merges if decisions else ():
        if set(group) & set(merge.spellings()):
            return merge.name
    return card.name if found.own in group else None


def name_key(names: Sequence[str]) -> str:
    """What the name of a group is kept by."""
    return answer_key("name", *sorted(names))
