"""What is to be asked for a measure of a run: every score that it is made of (ID-RAG 5.5)."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, JsonValue
from pydantic.json_schema import SkipJsonSchema

from dramaturg.cli.simulation.run_log import Action, Context, LoggedRun, MeasuredRun
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.identity.chronicle import Identity, identity_of
from dramaturg.nodes.identity.retrieval import SEARCH, IdentityRetrievalSettings
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.run import Name, RunContext, chat_in, run_of
from dramaturg.nodes.world.world import WorldSettings
from dramaturg.stores.conversations.kept_run import alone
from dramaturg.stores.documents.forms import Question
from dramaturg.stores.documents.reading import read_lines
from dramaturg.stores.files import canonical, write_bytes
from studies.simulation.quiz import (
    LOOKED_UP,
    Scored,
    answered,
    correctness,
    judged_deed,
    looked_up,
    quiz_messages,
    quiz_of,
    reason_messages,
)

Measure = Literal["recall", "recall_with_retrieval", "alignment"]
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

    judge: Closed[Literal[""] | Name | SkipJsonSchema[InstanceOf[BaseChatModel]]] = Field(
        default="", description="The chat model that judges deeds; empty: the one that answers."
    )


class Task(NamedTuple):
    """A score that is wanted: for which measure, of what, and how it is had.

    `taken_as` is another measure where both ask the same: with nothing to look up, recall with retrieval is recall.
    """

    measure: Measure
    taken_as: Measure
    run: MeasuredRun
    step: int
    time: str
    agent: str
    asked: str
    right: str
    model: str
    key: str
    take: Callable[[], Awaitable[Scored]]


class MeasureScore(BaseModel):
    """A score, and what it rests on; no score where there was no answer, and `error` says why."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    key: str
    """A digest of all that the score depends on."""
    measure: Measure
    step: int
    time: str
    agent: str
    asked: str
    """The question of the quiz, or the deed."""
    right: str
    """The right answer; empty where there is none."""
    answer: str
    """What the agent answered, or the judge's reason."""
    score: float | None
    error: str
    model: str
    """Who answered, or judged."""


class ScoreFile:
    """The scores of one run, in a file beside its log that is replaced as a whole."""

    def __init__(self, log: Path) -> None:
        self.path = log.with_suffix(".measures.jsonl")

    @contextmanager
    def opened(self) -> Iterator[dict[str, MeasureScore]]:
        """Hold the file, and give its scores by their keys."""
        with alone(self.path, f"measures {self.path.name}"):
            yield self.read()

    def read(self) -> dict[str, MeasureScore]:
        """The scores by their keys; none if nothing was measured yet."""
        found = read_lines(self.path, MeasureScore, self.path.parent).values() if self.path.exists() else ()
        return {one.key: one for one in found}

    def write(self, scores: Mapping[str, MeasureScore]) -> None:
        """Put all scores in place."""
        lines = "".join(one.model_dump_json() + "\n" for one in scores.values())
        write_bytes(self.path, lines.encode(), within=self.path.parent)


async def planned(run: MeasuredRun, measures: Sequence[Measure], context: MeasureSettings) -> list[Task]:
    """Return all scores that measures of a run are made of, step by step and agent by agent; none is an error."""
    tasks = []
    for measure in measures:
        plan = alignment_tasks(run, context) if measure == "alignment" else recall_tasks(run, measure, context)
        tasks += (found := await plan)
        if not found:
            raise ValueError(f"{run.path.name} has nothing to measure: {LACKS[measure]}.")
    return tasks


async def recall_tasks(run: MeasuredRun, measure: Measure, context: MeasureSettings) -> list[Task]:
    """Return a score for each step, agent and question of its quiz."""
    tasks = []
    for at in run.contexts:
        own = agent_settings(context, at.agent, run.about)
        identity = await known_of(own, at)
        if quiz := await asyncio.to_thread(quiz_of, identity.role):
            tasks += await quizzed(run, measure, own, identity, at, quiz)
    return tasks


async def quizzed(
    run: MeasuredRun,
    measure: Measure,
    own: IdentityRetrievalSettings,
    identity: Identity,
    at: Context,
    quiz: Sequence[Question],
) -> list[Task]:
    """Return the scores of one quiz."""
    agent = await run_of(own)
    chat, model = agent.chat, await agent.embedder()
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


async def alignment_tasks(run: MeasuredRun, context: MeasureSettings) -> list[Task]:
    """Return a score for each deed of an agent that has a chronicle."""
    tasks = []
    for at in run.actions:
        own = agent_settings(context, at.agent, run.about)
        identity = await known_of(own, at)
        if identity.triples:
            judged = own.model_copy(update={"chat_model": context.judge or context.chat_model})
            judge = await chat_in(judged, identity.language)
            key = key_of(reason_messages(identity, at.text), "alignment", at.step, judge.name)
            about = (run, at.step, at.time, at.agent, at.text, "", judge.name, key)
            tasks.append(Task("alignment", "alignment", *about, partial(judged_deed, judge, identity, at.text)))
    return tasks


async def recalled(
    chat: ChatModel,
    model: Embedder,
    anew: IdentityRetrievalSettings | None,
    identity: Identity,
    at: Context,
    question: str,
    right: str,
) -> Scored:
    """Have a question of the quiz answered, after its identity was looked up if that is wanted."""
    more = await looked_up(anew, at, question) if anew else ""
    answer = await answered(chat, quiz_messages(identity, at, question, more))
    return Scored(answer, await correctness(model, answer, right))


def agent_settings(context: MeasureSettings, agent: str, about: LoggedRun | None = None) -> IdentityRetrievalSettings:
    """Return how an agent's identity is looked up: as in the run, where that is told of it."""
    shared: dict[str, Any] = {name: getattr(context, name) for name in RunContext.model_fields}
    told = (about.model_extra or {}) if about else {}
    usual = WorldSettings.model_fields  # of what an early run does not tell
    search = {name: told.get(name, usual[name].default) for name in SEARCH}
    return IdentityRetrievalSettings(role=agent, **shared, **search)


async def known_of(context: IdentityRetrievalSettings, at: Context | Action) -> Identity:
    """Return all that is on record of an agent on the day of an event."""
    state: Any = {"percept": {"now": at.time}}
    return await identity_of(await run_of(context), state)


def key_of(messages: list[BaseMessage], *more: JsonValue) -> str:
    """Digest what a score depends on: a question as it is put, and all else."""
    said: list[JsonValue] = [[message.type, message.text] for message in messages]
    return hashlib.sha256(canonical([said, *more])).hexdigest()[:32]
