"""One description for what is told several times of an entity or a relation (RoleRAG 3.3)."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, cast

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import write
from dramaturg.nodes.asked_answers import Answers, answer_all, progress
from dramaturg.nodes.draft_work import unless_overtaken
from dramaturg.nodes.fact_extraction import ExtractionSettings
from dramaturg.nodes.graph_construction import Skeleton, Told, skeleton_of, told_in
from dramaturg.nodes.graph_draft import GraphDraftState
from dramaturg.nodes.graph_facts import mentions_in
from dramaturg.nodes.graph_questions import Asked, NormalizationSettings, asked_of
from dramaturg.nodes.merge_planning import merge_plan
from dramaturg.prompts import load
from dramaturg.stores.answers import answer_key

SHOWN = 6000  # characters in one question; more is summarized in parts, then the parts
CLIPPED = 1500  # the most that is shown of one text
QUOTED = 500  # characters of sentences that a small model need not sum up


class DescriptionSettings(ExtractionSettings, NormalizationSettings):
    """How descriptions are made one."""

    summarize_above: int | None = Field(
        default=None,
        ge=0,
        le=10_000,
        description="Characters; what is told of one entity in fewer is put together as it is. "
        "Default: 0, all is summarized (the paper), and 500 where sentences are quoted.",
    )
    description_tokens: int = Field(default=120, ge=16, le=1000, description="The most tokens of a summary.")


D = TypeVar("D", bound=DescriptionSettings)


@unless_overtaken
async def summarize_facts(state: GraphDraftState, runtime: Runtime[D]) -> dict[str, Any]:
    """Have what is told more than once of an entity or a relation made one description.

    Where there is none, what is told stands in its place as it is, and the report counts it.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    asked = await asked_of(runtime, state["draft"])
    told = [one for one in told_in(await skeleton(asked, runtime)) if long_enough(one, asked)]
    tried: set[Told] = set()
    while left := [one for one in await unsummarized(told, asked) if one not in tried]:
        await ask_summaries(left, asked, runtime)
        tried |= set(left)
    return {"usage": {"summarize_facts": asked.chat.account.usage()}}


async def skeleton(asked: Asked, runtime: Runtime[D]) -> Skeleton:
    """The graph before its descriptions are made one."""
    chunks = await asyncio.to_thread(asked.builder.records, asked.draft)
    plan = await merge_plan(asked, runtime)
    return skeleton_of(mentions_in(chunks, await asked.answers()), plan.groups())


def long_enough(told: Told, asked: Asked) -> bool:
    """Whether what is told is worth a question."""
    context = cast("DescriptionSettings", asked.context)
    above = context.summarize_above
    if above is None:
        above = QUOTED if context.quotes(asked.chat) else 0
    return sum(map(len, told.texts)) > above


async def unsummarized(told: Sequence[Told], asked: Asked) -> list[Told]:
    """What is to be asked now: parts first, and the whole when all its parts are there."""
    answers = await asked.answers()
    return list(dict.fromkeys(chain.from_iterable(open_questions(one, answers) for one in told)))


async def ask_summaries(left: Sequence[Told], asked: Asked, runtime: Runtime[D]) -> None:
    """Ask for summaries."""
    role, tokens = asked.role.card.name, cast("DescriptionSettings", asked.context).description_tokens

    async def ask(told: Told) -> Answers:
        said = "\n".join(f"- {one[:CLIPPED]}" for one in told.texts)
        messages = load("summarize_facts", asked.language).messages(role=role, data={"name": told.title, "facts": said})
        try:
            text = await write(asked.chat, messages, temperature=0, max_tokens=tokens, quiet=True)
        except UNANSWERED:
            return {}
        return {summary_key(told): " ".join(text.split())}

    await answer_all(
        {summary_key(one): one for one in left},
        ask,
        keep=asked.keep,
        announce=progress(runtime, "summaries", len(left)),
    )


def description_of(told: Told, answers: Mapping[str, JsonValue]) -> str | None:
    """The one description; None where an answer is missing for it."""
    if len(told.texts) == 1:
        return told.texts[0]
    parts = parts_of(told)
    if len(parts) == 1:
        answer = answers.get(summary_key(told))
        return None if answer is None else str(answer)
    found = [description_of(part, answers) for part in parts]
    whole = tuple(one for one in found if one is not None)
    return description_of(Told(told.title, whole), answers) if len(whole) == len(parts) else None


def open_questions(told: Told, answers: Mapping[str, JsonValue]) -> list[Told]:
    """The questions that can be asked now, so that there is a description in the end."""
    if len(told.texts) == 1:
        return []
    parts = parts_of(told)
    if len(parts) == 1:
        return [] if summary_key(told) in answers else [told]
    left = [one for part in parts for one in open_questions(part, answers)]
    if left:
        return left
    return open_questions(Told(told.title, tuple(description_of(part, answers) or "" for part in parts)), answers)


def parts_of(told: Told) -> list[Told]:
    """What is told, in parts that fit into a question."""
    parts: list[list[str]] = [[]]
    for text in told.texts:
        if sum(min(len(one), CLIPPED) for one in parts[-1]) + min(len(text), CLIPPED) > SHOWN:
            parts.append([])
        parts[-1].append(text)
    return [Told(told.title, tuple(part)) for part in parts]


def summary_key(told: Told) -> str:
    """What a summary is kept by."""
    return answer_key("summary", told.title, *told.texts)
