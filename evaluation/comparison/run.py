"""An evaluation as it runs: prepare, reply, measure. What is answered is written down, and not asked for again."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from langchain_core.language_models import BaseChatModel
from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from dramaturg.evaluation.comparison.asked import Asked
from dramaturg.evaluation.comparison.plan import Plan, write_plan
from dramaturg.evaluation.comparison.records import Judged, RecordFile, Records, Reply
from dramaturg.evaluation.comparison.speakers import Speakers
from dramaturg.evaluation.judging.measures import SIMILARITY, ToJudge, measured, to_judge
from dramaturg.models.chat import Respondent
from dramaturg.models.client import name_of
from dramaturg.models.embeddings import Embedder, embedder
from dramaturg.nodes.asked_answers import Announce, Answers, answer_all
from dramaturg.nodes.context import Name, RunContext, respondent_in
from dramaturg.stores.files import make_folder
from dramaturg.stores.role import Role

Phase = Literal["Preparing", "Replies", "Measures"]
Show = Callable[[Phase, int], Announce]
"""Is told that a phase of so many steps begins, and gives what is told how many are done."""
Model = Name | SkipJsonSchema[InstanceOf[BaseChatModel]]
T = TypeVar("T")


class EvaluationSettings(RunContext):
    """With which models an evaluation is done: `chat_model` speaks for the roles."""

    judges: tuple[Model, ...] = Field(
        default=(), max_length=5, description="The chat models that judge; none: the one that speaks."
    )
    most_calls: int = Field(default=0, ge=0, description="Calls after which nothing more is asked; 0: no bound.")


class Capped(RuntimeError):
    """The calls that an evaluation may make are spent."""


class Evaluation(NamedTuple):
    """An evaluation: what is wanted, how it is to be done, and where it is kept."""

    plan: Plan
    asked: Sequence[Asked]
    settings: EvaluationSettings
    folder: Path


async def evaluate(evaluation: Evaluation, show: Show) -> None:
    """Have everything answered and measured that is not there yet.

    Raises:
        EvaluationBusy: another program works in the folder.
        Capped: as many calls were made as are allowed; what they brought is kept.
        ModelError: a model cannot be reached, or refuses every question; what came before is kept.
    """
    make_folder(evaluation.folder, within=evaluation.folder.parent)
    file, settings = RecordFile(evaluation.folder), evaluation.settings
    with file.opened() as known:
        write_plan(evaluation.folder, evaluation.plan)
        desk = Desk(file, known, settings)
        waiting = unanswered(evaluation.asked, known)
        async with Speakers(settings) as speakers:
            await prepare_all(waiting.values(), speakers, show)
            await desk.take(waiting, speakers.reply, show("Replies", len(waiting)))
        tasks = unmeasured(evaluation, known)
        await desk.take(tasks, lambda one: measure(one, settings), show("Measures", len(tasks)))


class Desk:
    """Where answers come in: a few are asked for at a time, each is counted and written down."""

    def __init__(self, file: RecordFile, known: Records, settings: EvaluationSettings) -> None:
        self.file = file
        self.known = known
        self.most_calls = settings.most_calls
        self.calls = 0
        self.under_way = 0
        self.turns = asyncio.Semaphore(settings.concurrency)

    async def take(
        self, waiting: Mapping[str, T], ask: Callable[[T], Awaitable[Reply | Judged]], announce: Announce
    ) -> None:
        """Ask for everything that is waiting.

        Raises:
            Capped: the calls are spent.
        """
        had: dict[str, Reply | Judged] = {}

        async def answer(key: str) -> Answers:
            async with self.turns:
                if self.spent():
                    return {}  # what is under way is answered still: it is paid for
                self.under_way += 1
                try:
                    record = had[key] = await ask(waiting[key])
                finally:
                    self.under_way -= 1
                self.calls += record.calls
            return {key: None}

        async def keep(answers: Answers) -> None:
            records = [had[key] for key in answers]
            await asyncio.to_thread(self.file.add, records)
            for one in records:
                self.known.take(one)

        await answer_all({key: key for key in waiting}, answer, keep=keep, announce=announce)
        if len(had) < len(waiting):
            allowed = f"Stopped at the {self.most_calls:,} calls that are allowed"
            raise Capped(f"{allowed}: what they brought is kept, and the same command goes on.")

    def spent(self) -> bool:
        """Whether the most calls are made; what is under way will be a call each, or more."""
        return bool(self.most_calls) and self.calls + self.under_way >= self.most_calls


async def prepare_all(asked: Iterable[Asked], speakers: Speakers, show: Show) -> None:
    """Index each role for each method that it is to speak by."""
    pairs = {(one.contestant.name, one.role.id): one for one in asked}
    announce = show("Preparing", len(pairs))
    for done, one in enumerate(pairs.values(), start=1):
        await speakers.prepare(one)
        announce(done)


def unanswered(asked: Iterable[Asked], known: Records) -> dict[str, Asked]:
    """The questions without a reply, by their keys; one that failed is asked again."""
    return {one.key: one for one in asked if one.key not in known.replies or known.replies[one.key].error}


def unmeasured(evaluation: Evaluation, known: Records) -> dict[str, ToJudge]:
    """The measures that are not taken yet, by their keys; one that failed is taken again."""
    tasks = {one.key: one for one in wanted_measures(evaluation, known)}
    return {key: one for key, one in tasks.items() if key not in known.judged or known.judged[key].error}


def wanted_measures(evaluation: Evaluation, known: Records) -> Iterator[ToJudge]:
    """Every measure of every reply that is there, metric by metric: one judge's prompts begin alike."""
    settings = evaluation.settings
    for metric in evaluation.plan.metrics:
        for one in evaluation.asked:
            reply = known.replies.get(one.key)
            if reply and not reply.error:
                language = one.role.card.language if settings.language == "auto" else settings.language
                for by in measured_by(metric, one.role, settings):
                    yield to_judge(reply, one.question, one.role, metric, language, by)


def measured_by(metric: str, role: Role, settings: EvaluationSettings) -> list[str]:
    """Who takes a measure: the judges, or for likeness the embedding model."""
    if metric == SIMILARITY:
        return [embedder(settings.embedding_model, role.card.language).name]
    return [*judges_of(settings)]


def judges_of(settings: EvaluationSettings) -> dict[str, Model]:
    """The judges by their names."""
    return {name_of(one): one for one in settings.judges or (settings.chat_model,)}


async def measure(task: ToJudge, settings: EvaluationSettings) -> Judged:
    """Take one measure."""
    return await measured(task, await judge_of(task, settings), await embedder_for(task.role, settings))


async def judge_of(task: ToJudge, settings: EvaluationSettings) -> Respondent | None:
    """Who judges, with a fresh account; nobody where it is the embedding model's."""
    if task.metric == SIMILARITY:
        return None
    judging = settings.model_copy(update={"chat_model": judges_of(settings)[task.by]})
    return await respondent_in(judging, task.language)


async def embedder_for(role: Role, settings: EvaluationSettings) -> Embedder:
    """The embedding model of a role's language."""
    return await asyncio.to_thread(embedder, settings.embedding_model, role.card.language)
