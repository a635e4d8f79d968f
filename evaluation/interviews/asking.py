"""Asking: each item in a conversation of its own, so that no answer is coloured by those before it (InCharacter)."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from inspect import isclass
from itertools import chain, zip_longest
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from pydantic import BaseModel
from typing_extensions import TypedDict

from dramaturg.evaluation.instruments.instrument import Instrument, Item
from dramaturg.evaluation.interviews.cleaning import anonymous, cleaned
from dramaturg.evaluation.interviews.state import (
    InterviewContext,
    InterviewInput,
    InterviewRecord,
    InterviewState,
    ItemReply,
    Judging,
    described,
    instrument_of,
    language_for,
)
from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.part import OwnSettings
from dramaturg.nodes.run import RoleContext, run_of, settings, turns
from dramaturg.prompts import load
from dramaturg.workflows.methods import Flow, flow

ALONE = {"approval": "nobody", "conversation_memories": 0, "kept_episodes": 0, "talk_tokens": 0}
"""Settings of some methods, without which an item waits for a person, or remembers another one."""
KEPT = ("messages", "evidence", "usage")


class AskedItem(TypedDict):
    """An item that is asked."""

    item: str
    dimension: str
    question: str


async def begin(state: InterviewInput, runtime: Runtime[InterviewContext]) -> dict[str, Any]:
    """Say what is to be done, and refuse it where it cannot be."""
    context = settings(runtime, InterviewContext)
    respondent_context(context)
    return {"about": await described(context)}


async def send_items(state: InterviewState, runtime: Runtime[InterviewContext]) -> list[Send]:
    """Send every item to `ask`."""
    context = settings(runtime, InterviewContext)
    instrument = await instrument_of(context)
    return [
        Send(
            "ask",
            AskedItem(item=one.id, dimension=one.dimension, question=question_of(instrument, one, context.judging)),
        )
        for one in items_of(instrument, context.limit)
    ]


async def ask(state: AskedItem, runtime: Runtime[InterviewContext]) -> dict[str, Any]:
    """Put the open question of an item to the role."""
    context = settings(runtime, InterviewContext)
    said = ItemReply(**state, reply="", error="", evidence={}, usage={})
    try:
        # No more items than questions: each is then soon whole, and checkpointed. A server has a queue of its own.
        async with nullcontext() if context.server else turns(context):
            output = await replied(context, state)
        said |= {"reply": output["messages"][-1].text, "evidence": output["evidence"], "usage": output["usage"]}
    except UNANSWERED as error:
        said["error"] = str(error)
    return {"replies": [said], "usage": said["usage"]}


async def clean(state: InterviewState, runtime: Runtime[InterviewContext]) -> dict[str, Any]:
    """Cut every reply down to the role's answer, and flag what is wrong with it."""
    context = settings(runtime, InterviewContext)
    card, language = (await run_of(context)).role.card, await language_for(context)
    records = []
    for one in state["replies"]:
        found = cleaned(
            one["reply"],
            names=(card.name, *card.aliases),
            others=[context.experimenter],
            language=language,
        )
        flags = ["no_reply"] if one["error"] else list(found.flags)
        records.append({**one, "cleaned": found.text, "flags": flags, "anonymous": "", "anonymous_question": ""})
    return {"records": records}


async def anonymize(state: InterviewState, runtime: Runtime[InterviewContext]) -> dict[str, Any]:
    """Take the names of the role and of who asks out of what judges will see."""
    context = settings(runtime, InterviewContext)
    card = (await run_of(context)).role.card
    names, by = (card.name, *card.aliases), context.experimenter
    hidden: list[InterviewRecord] = [
        {
            **one,
            "anonymous": anonymous(one["cleaned"], names=names, experimenter=by),
            "anonymous_question": anonymous(one["question"], names=names, experimenter=by),
        }
        for one in state["records"]
    ]
    return {"records": hidden}


def items_of(instrument: Instrument, limit: int) -> list[Item]:
    """The items that are asked: all in their order, or the first ones of each dimension in turn."""
    if not limit:
        return list(instrument.items)
    groups: list[Sequence[Item]] = [instrument.items_of(one.name) for one in instrument.dimensions]
    return [item for item in chain.from_iterable(zip_longest(*groups)) if item][:limit]


def question_of(instrument: Instrument, item: Item, judging: Judging) -> str:
    """What the role is asked: the open question, or for a self-report how far the statement holds."""
    if judging != "self_report":
        return item.question
    low, high = instrument.scale.low, instrument.scale.high
    (asked,) = load("report_choice", instrument.language).messages(item=item.statement, low=low, high=high)
    return asked.text


async def replied(context: InterviewContext, asked: AskedItem) -> dict[str, Any]:
    """Have the method take one turn from an empty state.

    As a part of this node it is checkpointed under the node's own task: one that was stopped goes on, and no other
    item sees it.
    """
    own = respondent_context(context)
    to_the_role = "user_role" in type(own).model_fields
    question = asked["question"]
    text = f"{context.experimenter}: {question}" if context.experimenter and not to_the_role else question
    graph = await asyncio.to_thread(_graph, context.method)
    given = {"messages": [HumanMessage(text, id=asked["item"])]}
    found: dict[str, Any] = await graph.ainvoke(given, context=own, output_keys=[*KEPT])
    return found


def respondent_context(context: InterviewContext) -> RoleContext:
    """How the method answers."""
    if twice := sorted(context.method_settings.keys() & RoleContext.model_fields.keys()):
        raise ValueError(f"The setting {twice[0]!r} is the whole interview's: take it out of those of the method.")
    kind = context.respondent.context
    shared = {name: getattr(context, name) for name in RoleContext.model_fields}
    by = context.experimenter
    user = {"user_role": by} if by and "user_role" in kind.model_fields else {}
    return kind.model_validate(joined({**shared, **user, **alone(kind)}, context.method_settings))


def alone(kind: type[BaseModel], wanted: Mapping[str, Any] = ALONE) -> dict[str, Any]:
    """The settings by which a method asks nobody and remembers nothing, or others; those of its parts with them."""
    own = {name: value for name, value in wanted.items() if name in kind.model_fields}
    for name, field in kind.model_fields.items():
        part = field.annotation
        if isclass(part) and issubclass(part, RoleContext):
            without = {one for mark in field.metadata if isinstance(mark, OwnSettings) for one in mark.without}
            own[name] = alone(part, {one: value for one, value in wanted.items() if one not in without})
    return own


def joined(settings: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others that come first, also among those of one part."""
    both = {**settings, **others}
    for name, one in settings.items():
        if isinstance(one, dict) and isinstance(both[name], dict):
            both[name] = joined(one, both[name])
    return both


@cache
def _graph(method: str | Flow) -> CompiledStateGraph[Any, Any, Any, Any]:
    asked = method if isinstance(method, Flow) else flow(method)
    return asked.builder.compile(name=asked.name)
