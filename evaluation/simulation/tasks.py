"""What is to be asked for a measure of a run: every score that it is made of (ID-RAG 5.5)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from langchain_core.language_models import BaseChatModel
from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from dramaturg.evaluation.simulation.action_alignment import alignment, reason_messages
from dramaturg.evaluation.simulation.events import Action, Context
from dramaturg.evaluation.simulation.identity_quiz import (
    LOOKED_UP,
    answered,
    correctness,
    looked_up,
    quiz_messages,
    quiz_of,
)
from dramaturg.evaluation.simulation.logs import Run
from dramaturg.evaluation.simulation.scores import Measure, key_of
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.context import Name, RunContext, embedder_of, respondent_in, respondent_of
from dramaturg.nodes.identity import Identity, identity_of
from dramaturg.nodes.identity_recall import IdentityRecallSettings
from dramaturg.stores.role_files import Question

QUESTIONS: Mapping[Measure, int] = {"recall": 1, "recall_with_retrieval": 2, "alignment": 2}
"""How many questions a score takes, re-asks left out."""


NO_QUIZ = 'no agent has questions with the attribute "identity" in its questions.jsonl: write some'
LACKS: Mapping[Measure, str] = {
    "recall": NO_QUIZ,
    "recall_with_retrieval": NO_QUIZ,
    "alignment": "no agent that acts has a chronicle.yaml: write one",
}


class MeasureSettings(RunContext):
    """With which models measures are taken: `chat_model` answers for the agents."""

    judge: Literal[""] | Name | SkipJsonSchema[InstanceOf[BaseChatModel]] = Field(
        default="", description="The chat model that judges deeds; empty: the one that answers."
    )


class Said(NamedTuple):
    """What was answered, and its score."""

    answer: str
    score: float


class Task(NamedTuple):
    """A score that is wanted: for which measure, of what, and how it is had.

    `taken_as` is another measure where both ask the same: with nothing to look up, recall with retrieval is recall.
    """

    measure: Measure
    taken_as: Measure
    run: Run
    step: int
    time: str
    agent: str
    asked: str
    right: str
    model: str
    key: str
    take: Callable[[], Awaitable[Said]]


async def planned(run: Run, measures: Sequence[Measure], context: MeasureSettings) -> list[Task]:
    """Return all scores that measures of a run are made of, step by step and agent by agent.

    Raises:
        RoleError: an agent is not in the library, or its files cannot be read.
        ValueError: there is nothing to measure.
    """
    tasks = []
    for measure in measures:
        plan = alignment_tasks(run, context) if measure == "alignment" else recall_tasks(run, measure, context)
        tasks += (found := await plan)
        if not found:
            raise ValueError(f"{run.path.name} has nothing to measure: {LACKS[measure]}.")
    return tasks


async def recall_tasks(run: Run, measure: Measure, context: MeasureSettings) -> list[Task]:
    """A score a step, agent and question of its quiz."""
    tasks = []
    for at in run.contexts:
        own = agent_settings(context, at.agent)
        identity = await known_of(own, at)
        if quiz := await asyncio.to_thread(quiz_of, identity.role):
            tasks += await quizzed(run, measure, own, identity, at, quiz)
    return tasks


async def quizzed(
    run: Run,
    measure: Measure,
    own: IdentityRecallSettings,
    identity: Identity,
    at: Context,
    quiz: Sequence[Question],
) -> list[Task]:
    """The scores of one quiz."""
    chat, model = await respondent_of(own, identity.role), await embedder_of(own, identity.role)
    anew = measure == "recall_with_retrieval" and at.identity.how in LOOKED_UP
    taken_as: Measure = "recall_with_retrieval" if anew else "recall"
    rests_on = [identity.text(identity.triples)] if anew else []
    tasks = []
    for one in quiz:
        messages, right = quiz_messages(identity, at, one.question), one.answer or ""
        key = key_of(messages, taken_as, at.step, chat.name, model.name, right, *rests_on)
        take = partial(recalled, chat, model, own if anew else None, identity, at, one.question, right)
        about = (run, at.step, at.time, at.agent, one.question, right, chat.name, key)
        tasks.append(Task(measure, taken_as, *about, take))
    return tasks


async def alignment_tasks(run: Run, context: MeasureSettings) -> list[Task]:
    """A score a deed of an agent that has a chronicle."""
    tasks = []
    for at in run.actions:
        own = agent_settings(context, at.agent)
        identity = await known_of(own, at)
        if identity.triples:
            judged = own.model_copy(update={"chat_model": context.judge or context.chat_model})
            judge = await respondent_in(judged, identity.language)
            key = key_of(reason_messages(identity, at.text), "alignment", at.step, judge.name)
            about = (run, at.step, at.time, at.agent, at.text, "", judge.name, key)
            tasks.append(Task("alignment", "alignment", *about, partial(judged_deed, judge, identity, at.text)))
    return tasks


async def recalled(
    chat: ChatModel,
    model: Embedder,
    anew: IdentityRecallSettings | None,
    identity: Identity,
    at: Context,
    question: str,
    right: str,
) -> Said:
    """Have a question of the quiz answered, after its identity was looked up if that is wanted."""
    more = await looked_up(anew, at, question) if anew else ""
    answer = await answered(chat, quiz_messages(identity, at, question, more))
    return Said(answer, await correctness(model, answer, right))


async def judged_deed(judge: ChatModel, identity: Identity, deed: str) -> Said:
    """Have a deed judged."""
    return Said(*await alignment(judge, identity, deed))


def agent_settings(context: MeasureSettings, agent: str) -> IdentityRecallSettings:
    """How an agent's identity is looked up: as in the run."""
    shared = {name: getattr(context, name) for name in RunContext.model_fields}
    return IdentityRecallSettings(role=agent, **shared)


async def known_of(context: IdentityRecallSettings, at: Context | Action) -> Identity:
    """All that is on record of an agent on the day of an event."""
    state: Any = {"percept": {"now": at.time}}
    return await identity_of(context, state)
