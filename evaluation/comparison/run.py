"""An evaluation as it runs: prepare, reply, measure, interview. What is answered is kept, and not asked for again."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from langchain_core.language_models import BaseChatModel
from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from dramaturg.evaluation.comparison.contestants import ToAsk, contestant, language_in
from dramaturg.evaluation.comparison.interviews import FOLDER, Left, context_of, left_of
from dramaturg.evaluation.comparison.plan import Plan, keep_plan, read_plan, require_made
from dramaturg.evaluation.comparison.records import FILE, Indexed, Judged, RecordFile, Records, Reply
from dramaturg.evaluation.comparison.speakers import MethodSpeakers
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.evaluation.interviews.run import interviewed
from dramaturg.evaluation.judging.measures import ToJudge, exchange, has_row, is_measured, measured, to_judge
from dramaturg.evaluation.judging.scales import COUNTED, NOBODY, SIMILARITY, UNJUDGED
from dramaturg.models.clients import name_of
from dramaturg.models.embeddings import embedder
from dramaturg.models.errors import ModelRefused
from dramaturg.models.servers.pace import unhurried
from dramaturg.nodes.asking import Announce, Answers, after, answer_all
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.passages.corrective import WebSearch
from dramaturg.nodes.run import AT_ONCE, Name, RunContext, chat_in, library_of
from dramaturg.stores.files import make_folder, read_if_there, write_bytes

Phase = Literal["Preparing", "Replies", "Measures", "Interviews"]
Show = Callable[[Phase, int], Announce]
"""Called with a phase and its number of steps when it begins; returns the callback for the steps that are done."""
Model = Name | SkipJsonSchema[InstanceOf[BaseChatModel]]
FIRST_REFUSALS = 5
"""Questions that a model may refuse before it has answered any: where a filter takes out one in ten of them, five in a
row are one run in 100,000; a request that the server does not take at all is refused each time."""
T = TypeVar("T")


class EvaluationSettings(RunContext):
    """With which models an evaluation is done: `chat_model` speaks for the roles."""

    web_search: Closed[WebSearch] = Field(
        default="off", description="With what a method that searches the web does so."
    )

    judges: Closed[tuple[Model, ...]] = Field(
        default=(), max_length=5, description="The chat models that judge; none: the one that speaks."
    )
    printed: Closed[Mapping[str, str]] = Field(
        default={}, description="Prompts of judges in their papers' words, by metric."
    )
    most_calls: Closed[int] = Field(
        default=0, ge=0, description="Calls after which nothing more is asked; 0: no bound."
    )
    server: Closed[str] = Field(
        default="",
        max_length=2000,
        description="The address of a LangGraph server where the roles speak; what judges is asked from here.",
    )


class Capped(RuntimeError):
    """The calls that an evaluation may make are spent."""


class Evaluation(NamedTuple):
    """An evaluation: what is wanted, how it is to be done, and where it is kept."""

    plan: Plan
    asked: Sequence[ToAsk]
    settings: EvaluationSettings
    folder: Path


async def evaluate(evaluation: Evaluation, show: Show) -> None:
    """Have everything answered and measured that is not there yet, and every interview held to its end.

    Raises:
        Busy: another program works in the folder.
        ValueError: the folder holds another plan.
        Capped: as many calls were made as are allowed; what they brought is kept.
        ModelError: a model cannot be reached, or refuses every question; what came before is kept.
    """
    make_folder(evaluation.folder, within=evaluation.folder.parent)
    file = RecordFile(evaluation.folder)
    with file.opened() as known:
        keep_plan(evaluation.folder, evaluation.plan)
        desk = Desk(file, known, evaluation.settings)
        if evaluation.plan.metrics:
            await reply_and_measure(evaluation, desk, show)
        if evaluation.plan.interviews:
            await interview_all(evaluation, desk, show)


def take_over(source: Path, folder: Path) -> None:
    """Let a run begin with what another one had answered: its records and interviews, as far as the plan wants them.

    Raises:
        ValueError: the other is none, or does not say what made its replies.
    """
    require_made(read_plan(source))
    if (folder / FILE).exists():
        return  # it has begun, and goes on with what it took over then
    make_folder(folder, within=folder.parent)
    for file in source.glob("talks.*"):
        shutil.copyfile(file, folder / file.name)
    if (source / FOLDER).is_dir():
        shutil.copytree(source / FOLDER, folder / FOLDER, dirs_exist_ok=True)
    write_bytes(folder / FILE, read_if_there(source / FILE, within=source) or b"", within=folder)


async def reply_and_measure(evaluation: Evaluation, desk: "Desk", show: Show) -> None:
    """Have every question answered, and every reply measured; see `evaluate`."""
    settings, known = evaluation.settings, desk.known
    waiting = unanswered(evaluation.asked, known)
    async with MethodSpeakers(settings, evaluation.folder) as speakers:
        await prepare_all(waiting.values(), speakers, desk, show)
        asked = len({one.key for one in evaluation.asked})
        announce = after(asked - len(waiting), show("Replies", asked))
        if evaluation.plan.talks:
            await talk(evaluation, speakers, desk, announce)
        else:
            await desk.take(waiting, speakers.reply, announce, speakers.turns or desk.turns)
    tasks, wanted = unmeasured(evaluation, known), len({one.key for one in wanted_measures(evaluation, known)})
    announce = after(wanted - len(tasks), show("Measures", wanted))
    await desk.take(tasks, lambda one: measure(one, settings), announce, desk.turns)


async def talk(evaluation: Evaluation, speakers: MethodSpeakers, desk: "Desk", announce: Announce) -> None:
    """Hold all talks, turn by turn: what a turn is asked hangs on those before it.

    A talk whose turn has no reply stops there; the same command asks for that turn again and goes on.
    """
    known, done = desk.known, 0
    talks = Talks(evaluation)
    for number in range(1, talks.longest + 1):
        waiting = unanswered(talks.to_ask(number, known), known)
        await desk.take(waiting, speakers.reply, after(done, announce), speakers.turns or desk.turns)
        done += len(waiting)


class Talks:
    """The turns of an evaluation's talks, each with those before it."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.settings = evaluation.settings
        self.turns: dict[tuple[str, str, int, str], list[ToAsk]] = {}
        self.before: dict[str, list[ToAsk]] = {}
        for one in evaluation.asked:
            place = one.question.talk
            if place:
                own = self.turns.setdefault((one.contestant.name, one.role.id, one.seed, place.id), [])
                self.before[one.key] = [*own]
                own.append(one)

    @property
    def longest(self) -> int:
        """How many turns the longest talk has."""
        return max((one.question.turn for own in self.turns.values() for one in own), default=0)

    def to_ask(self, number: int, known: Records) -> Iterator[ToAsk]:
        """The turns of this number in the talks that have come so far, each with what was said before it."""
        for own in self.turns.values():
            for one in own:
                if one.question.turn == number and self.ready(one, known):
                    yield self.with_dialogue(one, known)

    def ready(self, one: ToAsk, known: Records) -> bool:
        """Whether all turns before have their replies."""
        replies = [known.replies.get(before.key) for before in self.before[one.key]]
        return all(reply and not reply.error for reply in replies)

    def with_dialogue(self, one: ToAsk, known: Records) -> ToAsk:
        """A turn with what was said before it, and with what the user says where that is known by now."""
        if one.question.talk is None:
            return one
        said, language = list(one.question.turns), language_in(self.settings, one.role)
        for before in self.before[one.key]:
            if (reply := known.replies.get(before.key)) and not reply.error:
                said += [*before.question.turns, *exchange(before.question, reply, one.role, language)]
        reply = known.replies.get(one.key)
        text = (reply.asked if reply else "") or one.question.text
        return one._replace(question=one.question.model_copy(update={"turns": tuple(said), "text": text}))


async def interview_all(evaluation: Evaluation, desk: "Desk", show: Show) -> None:
    """Hold the interviews that are not over; see `evaluate`."""
    settings, left = evaluation.settings, await asyncio.to_thread(unheld, evaluation)
    waiting = [one for one in evaluation.plan.interviews if one.key in left]
    async with MethodSpeakers(settings, evaluation.folder) as speakers:
        nothing = DatasetQuestion(id="", text="")  # whom to index is what matters here
        prepared = [
            ToAsk(
                contestant(one.contestant),
                await asyncio.to_thread(library_of(settings).open, one.role),
                one.seed,
                nothing,
                "",
            )
            for one in waiting
        ]
        await prepare_all(prepared, speakers, desk, show)
    make_folder(evaluation.folder / FOLDER, within=evaluation.folder)
    inventories = {one.metric: one for one in evaluation.plan.inventories}
    sizes = (inventories[one.inventory] for one in evaluation.plan.interviews)
    whole = sum(one.items + one.judgements for one in sizes)
    announce = after(whole - sum(map(sum, left.values())), show("Interviews", whole))
    await desk.interview(left, evaluation, announce)


def unheld(evaluation: Evaluation) -> dict[str, Left]:
    """Count what is left to be asked in each interview that is not over, by its key."""
    folder, inventories = evaluation.folder, {one.metric: one for one in evaluation.plan.inventories}
    return {
        one.key: left_of(folder, one, inventories[one.inventory])
        for one in evaluation.plan.interviews
        if not (folder / FOLDER / one.file).is_file()
    }


class Desk:
    """Where answers come in: a few are asked for at a time, each is counted, and on the disk before its place is free.

    A kill costs what is under way then, and nothing that was answered before. What has no answer is recorded with the
    reason, and asked for again by the same command, after all that was never asked for.
    """

    def __init__(self, file: RecordFile, known: Records, settings: EvaluationSettings) -> None:
        self.file = file
        self.known = known
        self.version = version("dramaturg")
        self.most_calls = settings.most_calls
        self.calls = 0
        self.under_way = 0
        self.turns = asyncio.Semaphore(settings.concurrency or AT_ONCE)
        self._unwritten: list[Reply | Judged] = []
        self._writing = asyncio.Lock()
        there: list[Reply | Judged] = [*known.replies.values(), *known.judged.values()]
        self._answered = {one.model for one in there if not one.error}
        """The models that have answered something."""
        self._refused: dict[str, set[str]] = {}
        """What the others have refused so far."""

    async def take(
        self,
        waiting: Mapping[str, T],
        ask: Callable[[T], Awaitable[Reply | Judged]],
        announce: Announce,
        turns: asyncio.Semaphore,
    ) -> None:
        """Ask for everything that is waiting, as many at a time as there are turns.

        Raises:
            Capped: the calls are spent before all is answered.
            ModelRefused: a model refuses the first questions one after the other.
        """
        taken = 0

        async def answer(key: str) -> Answers:
            nonlocal taken
            unhurried.set(True)  # whoever talks with a role goes ahead
            async with turns:
                if self.spent():
                    return {}  # what is under way is answered still: it is paid for
                self.under_way += 1
                try:
                    record = await ask(waiting[key])
                finally:
                    self.under_way -= 1
                self.calls += record.all_calls
                self._unwritten.append(record.model_copy(update={"dramaturg": self.version}))
                await self.write()
                taken += 1
                self.heed(record)
            return {}

        async def keep(_: Answers) -> None:
            """What came when the others were stopped."""

        known = {**self.known.replies, **self.known.judged}
        in_order = sorted(waiting, key=known.__contains__)  # what was asked for in vain comes last
        try:
            await answer_all({key: key for key in in_order}, answer, keep=keep, announce=announce)
        finally:
            await self.write()
        if taken < len(waiting):
            raise self.capped()

    async def write(self) -> None:
        """Write down what has come; those that come meanwhile wait, and are written together."""
        async with self._writing:
            if records := self._unwritten:
                self._unwritten = []
                try:
                    await asyncio.to_thread(self.file.add, records)
                except BaseException:
                    self._unwritten = records + self._unwritten
                    raise
                for one in records:
                    self.known.take(one)

    def heed(self, record: Reply | Judged) -> None:
        """Stop where a model that has answered nothing yet refuses one question after the other."""
        if not record.error:
            self._answered.add(record.model)
        elif record.refused and record.model not in self._answered:
            refused = self._refused.setdefault(record.model, set())
            refused.add(record.about)
            if len(refused) >= FIRST_REFUSALS:
                first = f"The model {record.model!r} has refused the first {len(refused)} questions and answered none"
                then = "so nothing more is asked; the same command begins with other questions"
                raise ModelRefused(f"{first}, {then}. The last time: {record.error}")

    async def prepared(self, now: Indexed | None) -> None:
        """Write down what an index has cost; one that was there before costs nothing more."""
        before = self.known.indexed.get(now.key) if now else None
        if now and (before is None or now.calls or now.passages != before.passages):
            spent = {name: getattr(now, name) + getattr(before, name, 0) for name in ("calls", "tokens", "seconds")}
            record = now.model_copy(update=spent)
            await asyncio.to_thread(self.file.add, [record])
            self.known.take(record)

    async def interview(self, left: Mapping[str, Left], evaluation: Evaluation, announce: Announce) -> None:
        """Hold interviews one after the other; a few questions of each are asked at a time.

        Args:
            left: what is left to be asked in each that is not over, by its key.
            evaluation: to which they belong.
            announce: is told how many of all these questions are answered.

        Raises:
            Capped: the calls are spent. What is under way then is asked again when it goes on: how many calls a reply
                makes is only known when it is there.
        """
        done = 0
        if left:
            announce(0)
        for one in (one for one in evaluation.plan.interviews if one.key in left):
            until = done + sum(left[one.key])

            def answered(node: str, calls: int, until: int = until) -> None:
                nonlocal done
                self.calls, done = self.calls + calls, done + 1
                announce(done)
                self.go_on(done < until)

            self.go_on(done < until)
            context = context_of(one, evaluation.settings, next(iter(evaluation.settings.judges), ""))
            await interviewed(context, evaluation.folder / FOLDER / one.file, answered)

    def go_on(self, wanted: bool) -> None:
        """Stop where more is wanted than may be asked."""
        if wanted and self.spent():
            raise self.capped()

    def capped(self) -> Capped:
        """What stops an evaluation whose calls are spent."""
        allowed = f"Stopped at the {self.most_calls:,} calls that are allowed"
        return Capped(f"{allowed}: what they brought is kept, and the same command goes on.")

    def spent(self) -> bool:
        """Whether the most calls are made; what is under way will be a call each, or more."""
        return bool(self.most_calls) and self.calls + self.under_way >= self.most_calls


async def prepare_all(asked: Iterable[ToAsk], speakers: MethodSpeakers, desk: "Desk", show: Show) -> None:
    """Index each role for each method that it is to speak by; on a server the roles at once."""
    pairs = {(one.contestant.name, one.role.id): one for one in asked}
    announce, done = show("Preparing", len(pairs)), 0
    for one in pairs.values():
        await speakers.require(one)
    if pairs:
        announce(0)
    by_role = [[one for one in pairs.values() if one.role.id == role] for role in {role: None for _, role in pairs}]
    waiting = by_role if speakers.server else [[*pairs.values()]]

    async def prepare(group: Sequence[ToAsk]) -> Answers:
        nonlocal done
        for one in group:
            await desk.prepared(await speakers.prepare(one))
            done += 1
            announce(done)
        return {}

    async def keep(_: Answers) -> None:
        """Indexes are kept with the roles."""

    await answer_all({str(at): group for at, group in enumerate(waiting)}, prepare, keep=keep, announce=lambda _: None)


def unanswered(asked: Iterable[ToAsk], known: Records) -> dict[str, ToAsk]:
    """The questions without a reply, by their keys; one that failed is asked again."""
    return {one.key: one for one in asked if one.key not in known.replies or known.replies[one.key].error}


def unmeasured(evaluation: Evaluation, known: Records) -> dict[str, ToJudge]:
    """The measures that are not taken yet, by their keys; one that failed is taken again."""
    tasks = {one.key: one for one in wanted_measures(evaluation, known)}
    return {key: one for key, one in tasks.items() if key not in known.judged or known.judged[key].error}


def wanted_measures(evaluation: Evaluation, known: Records) -> Iterator[ToJudge]:
    """Every measure of every reply that is there, metric by metric: one judge's prompts begin alike."""
    settings = evaluation.settings
    talks = Talks(evaluation)
    asked = [talks.with_dialogue(one, known) for one in evaluation.asked]
    for metric in evaluation.plan.metrics:
        for one in asked:
            reply = known.replies.get(one.key)
            if reply and not reply.error and is_measured(metric, one.contestant.name) and has_row(metric, one.question):
                # Likeness is the embedding model's to measure, what is counted nobody's, all else the judges'.
                likeness = evaluation.plan.embedders.get(one.role.id, "")
                by = {SIMILARITY: likeness, **dict.fromkeys(COUNTED, NOBODY)}.get(metric)
                language, hide = language_in(settings, one.role), evaluation.plan.anonymous
                for name in judges_of(settings) if by is None else [by]:
                    yield to_judge(reply, one.question, one.role, metric, language, name, anonymous=hide)


def judges_of(settings: EvaluationSettings) -> dict[str, Model]:
    """The judges by their names."""
    return {name_of(one): one for one in settings.judges or (settings.chat_model,)}


async def measure(task: ToJudge, settings: EvaluationSettings) -> Judged:
    """Take one measure; each judge has an account of its own, and the embedding model needs no judge."""
    judge = None
    if task.metric not in UNJUDGED:
        judging = settings.model_copy(update={"chat_model": judges_of(settings)[task.by]})
        judge = await chat_in(judging, task.language)
    likeness = await asyncio.to_thread(embedder, settings.embedding_model, task.role.card.language)
    return await measured(task, judge, likeness, settings.printed.get(task.metric, ""))
