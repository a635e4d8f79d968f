"""Judges asked about what is known: anchors or scored replies, pairs of them in both orders, and who is speaking."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from dramaturg.evaluation.comparison.contestants import digest
from dramaturg.evaluation.comparison.estimates import GUESSED, JUDGED, Estimate, priced
from dramaturg.evaluation.comparison.records import Judged, RecordFile, Records
from dramaturg.evaluation.comparison.run import Desk, EvaluationSettings, Show, judges_of
from dramaturg.evaluation.judging import lines
from dramaturg.evaluation.judging.anchors import Known
from dramaturg.evaluation.judging.judges import DIGITS, JUDGES, judged, prompt_version, text_version
from dramaturg.evaluation.judging.lines import SPEAKER, HiddenSpeaker
from dramaturg.evaluation.judging.persona_eval import shared
from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import REFUSED, UNANSWERED
from dramaturg.models.questions import choose
from dramaturg.nodes.asking import after, asked_in_all
from dramaturg.nodes.run import chat_in
from dramaturg.prompts import load
from dramaturg.stores.files import make_folder, sha256

PAIR = "pair"
"""The name of the comparison of two replies among the metrics."""
PAIR_PROMPT = "grade_pair"
AGAINST = ("wrong", "refused", "voice", "echo")
"""With which anchors a right one makes a pair, question by question in turn."""


class Pair(NamedTuple):
    """Two replies to one question, of which it is known which is better."""

    better: Known
    worse: Known
    swapped: bool = False
    """Whether the better one is shown second."""

    @property
    def id(self) -> str:
        """Both, in their order."""
        return " or ".join(one.id for one in self.shown)

    @property
    def shown(self) -> tuple[Known, Known]:
        """Both, in their order."""
        return (self.worse, self.better) if self.swapped else (self.better, self.worse)


class Material(NamedTuple):
    """What judges are asked about."""

    source: str
    """`anchors`, or the name of the file that people scored."""
    version: str
    """Of the replies: scores on others do not compare."""
    known: Sequence[Known]
    metrics: tuple[str, ...]
    lines: Sequence[HiddenSpeaker]

    @property
    def pairs(self) -> list[Pair]:
        """Of each question two replies of which one is known to be better, in both orders."""
        replies = dict[str, list[Known]]()
        for one in self.known:
            replies.setdefault(one.question, []).append(one)
        found = [pair for turn, of in enumerate(replies.values()) if (pair := pair_of(of, turn))]
        return [one._replace(swapped=swapped) for one in found for swapped in (False, True)]


class ToAsk(NamedTuple):
    """One question to one judge; `key` is a digest of all that it depends on."""

    key: str
    metric: str
    """Of JUDGES, or PAIR or SPEAKER."""
    language: str
    by: str
    about: Known | HiddenSpeaker | Pair

    @property
    def id(self) -> str:
        """What it is about, as records name it."""
        return self.about.id


def pair_of(replies: Sequence[Known], turn: int) -> Pair | None:
    """Two replies to one question: anchors by their kinds, others by what people gave them; None if none is better."""
    kinds = {one.kind: one for one in replies}
    if "accepted" in kinds:
        return Pair(kinds["declined"], kinds["accepted"])
    if "right" in kinds:
        return Pair(kinds["right"], kinds[AGAINST[turn % len(AGAINST)]])
    (metric,) = replies[0].worth
    if JUDGES[metric].better == "by_scope":
        return None  # whether to decline is better hangs on the scope, which the file does not say
    ranked = sorted(replies, key=lambda one: one.worth[metric], reverse=JUDGES[metric].better == "higher")
    best, worst = ranked[0], ranked[-1]
    alike = " ".join(best.case.reply.split()).casefold() == " ".join(worst.case.reply.split()).casefold()
    return None if alike or best.worth[metric] == worst.worth[metric] else Pair(best, worst)


def to_ask(material: Material, by: str) -> list[ToAsk]:
    """All questions to one judge, those with the same prompt together."""
    found = [*graded(material, by)]
    for pair in material.pairs:
        case, replies = pair.better.case, [one.case.reply for one in pair.shown]
        key = digest([by, PAIR, text_version(PAIR_PROMPT, case.language), case.model_dump(), replies])
        found.append(ToAsk(key, PAIR, case.language, by, pair))
    for one in material.lines:
        told = {name: value for name, value in one._asdict().items() if name != "prompt" or value}
        key = digest([by, SPEAKER, text_version(lines.PROMPT, one.language), told])
        found.append(ToAsk(key, SPEAKER, one.language, by, one))
    return found


def graded(material: Material, by: str) -> Iterator[ToAsk]:
    """The replies whose worth is known by a metric."""
    for metric in material.metrics:
        for one in material.known:
            if metric in one.worth:
                version = prompt_version(JUDGES[metric], one.language)
                yield ToAsk(digest([by, metric, version, one.case.model_dump()]), metric, one.language, by, one)


async def hold(material: Material, settings: EvaluationSettings, folder: Path, show: Show) -> Records:
    """Ask every judge of the settings what it was not asked yet; returns all records of the folder.

    Raises:
        Busy: another program works in the folder.
        Capped: as many calls were made as are allowed; what they brought is kept.
        ModelError: a model cannot be reached, or refuses every question; what came before is kept.
    """
    make_folder(folder, within=folder.parent)
    file, judges = RecordFile(folder), judges_of(settings)
    with file.opened() as known:
        desk = Desk(file, known, settings)
        asked = {one.key: one for name in judges for one in to_ask(material, name)}
        waiting = {key: one for key, one in asked.items() if key not in known.judged or known.judged[key].error}

        async def ask(one: ToAsk) -> Judged:
            context = settings.model_copy(update={"chat_model": judges[one.by]})
            return await answered(one, await chat_in(context, one.language))

        announce = after(len(asked) - len(waiting), show("Measures", len(asked)))
        await desk.take(waiting, ask, announce, desk.turns)
        return known


async def answered(one: ToAsk, chat: ChatModel) -> Judged:
    """Ask a judge one question; an answer that did not come is a record without a value that says why."""
    about: dict[str, Any] = {"key": one.key, "metric": one.metric, "model": one.by, "reply": one.id}
    try:
        about |= await asked_of(one, chat)
    except (*UNANSWERED, *REFUSED) as error:
        about |= {"value": None, "error": str(error), "refused": isinstance(error, REFUSED)}
    return Judged(**about, **asked_in_all([chat.account.usage()]))


async def asked_of(one: ToAsk, chat: ChatModel) -> dict[str, Any]:
    """Ask, by the kind of the question; places are counted from 1."""
    if isinstance(one.about, Known):
        grade = await judged(JUDGES[one.metric], chat, one.about.case)
        return {
            "value": grade.value,
            "probability": grade.probability,
            "reason": grade.reason,
            "error": grade.error,
            "refused": grade.refused,
            "prompt": grade.prompt_version,
        }
    if isinstance(one.about, HiddenSpeaker) and one.about.prompt:
        return {"value": float(await shared(chat, one.about) + 1), "prompt": sha256(one.about.prompt.encode())[:DIGITS]}
    if isinstance(one.about, HiddenSpeaker):
        place, prompt = await lines.named(chat, one.about), lines.PROMPT
    else:
        place, prompt = await preferred(chat, one.about), PAIR_PROMPT
    return {"value": float(place + 1), "prompt": text_version(prompt, one.language)}


async def preferred(chat: ChatModel, pair: Pair) -> int:
    """Ask which of two replies is better; the place of the one that was chosen, from 0."""
    case = pair.better.case
    data = {part: case.part(part) for part in ("profile", "question", "gold")}
    replies = [" ".join(one.case.reply.split()) for one in pair.shown]
    messages = load(PAIR_PROMPT, case.language).messages(data=data, role=case.role)
    return replies.index(await choose(chat, messages, replies))


def estimated(material: Material, judges: Sequence[str], known: Records) -> list[Estimate]:
    """How many questions are left of each kind, and what they cost: a grade is two calls, a choice is one."""
    found = []
    for name in judges:
        asked = to_ask(material, name)
        for metric in dict.fromkeys(one.metric for one in asked):
            keys = {one.key for one in asked if one.metric == metric}
            done = [known.judged[key] for key in keys if key in known.judged and not known.judged[key].error]
            calls, tokens, seconds = JUDGED if metric in JUDGES else (one / 2 for one in JUDGED)
            basis = GUESSED
            if done:
                calls, tokens = fmean(one.calls for one in done), fmean(one.tokens for one in done)
                basis = f"{len(done)} answers so far"
            found.append(
                priced(f"{metric}, by {name}", len(keys) - len(done), len(done), (calls, tokens, seconds), basis)
            )
    return found


async def estimate(material: Material, settings: EvaluationSettings, folder: Path) -> list[Estimate]:
    """What is left to be asked, read from the folder without changing it."""
    return estimated(material, [*judges_of(settings)], await asyncio.to_thread(RecordFile(folder).read))
