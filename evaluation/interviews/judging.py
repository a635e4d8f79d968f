"""Judging: answers without names are rated by dimension in batches, or one by one turned into choices (InCharacter).

InCharacter's `expert_rating` in batches is the default; it is also what Emotional RAG used. `option_conversion` is its
OC, and `self_report` asks the role for the choice, without a judge. What is ours: the prompts; a judge that gives
nothing usable leaves its batch missing, where the released code takes the midpoint; answers that are not there stand in
no batch, which are made of the others; OC asks about each answer alone, and not about many in one question. AMADEUS,
Tables 4 and 5, names none of these choices.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import Annotated, Any, Literal, Self

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from langgraph.types import Send
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, create_model, model_validator
from typing_extensions import TypedDict

from dramaturg.evaluation.instruments.instrument import Dimension, Instrument
from dramaturg.evaluation.interviews.cleaning import EXPERIMENTER, PARTICIPANT, fenced
from dramaturg.evaluation.interviews.state import (
    InterviewContext,
    InterviewRecord,
    InterviewState,
    Judgement,
    Judging,
    instrument_of,
)
from dramaturg.evaluation.metrics.alignment import split_batches
from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import UNANSWERED, UnusableAnswer
from dramaturg.models.loose import Scale, is_nothing, spelling
from dramaturg.models.questions import extract
from dramaturg.nodes.run import chat_in, settings
from dramaturg.prompts import load

ROUNDING = 0.01
"""By how much two percentages may miss 100."""
Analysis = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1500)]


PERCENT = Scale(0, 100)
Percent = Annotated[float, PERCENT]


class Batch(TypedDict):
    """Answers that are judged together."""

    dimension: str
    repeat: int
    items: list[str]
    answers: str


class _Form(BaseModel):
    """Closed: an unknown key is a slip."""

    model_config = ConfigDict(extra="forbid")


class Shares(_Form):
    """How much of each pole, in percent; the keys are the letters. One of the two tells the other."""

    high: Percent
    low: Percent

    @model_validator(mode="before")
    @classmethod
    def _with_the_rest(cls, given: Any) -> Any:
        letters = {str(field.alias) for field in cls.model_fields.values()}
        if not isinstance(given, dict):
            return given
        there = {letter: given[letter] for letter in letters if not is_nothing(given.get(letter))}
        if len(there) != 1:
            return given
        ((letter, share),) = there.items()
        return {**given, (letters - {letter}).pop(): 100 - PERCENT.read(share)}

    @model_validator(mode="after")
    def _make_a_whole(self) -> Self:
        if abs(self.high + self.low - 100) <= ROUNDING:
            return self
        raise ValueError("the two percentages must sum to 100")


class InShares(_Form):
    """{analysis, result}: where a person is between two poles."""

    analysis: Analysis = ""
    result: Shares


class OnScale(_Form):
    """{analysis, result}: where a person is on a scale, in steps as fine as the judge likes."""

    analysis: Analysis = ""
    result: float


class StepChoice(_Form):
    """{analysis, result}: the step that an answer stands for, or "x" for a refusal."""

    analysis: Analysis = ""
    result: int | Literal["x"]


async def send_batches(state: InterviewState, runtime: Runtime[InterviewContext]) -> list[Send] | str:
    """Send every batch to `judge`; with nothing to judge, go on to `score`."""
    context = settings(runtime, InterviewContext)
    instrument = await instrument_of(context)
    sends = [
        Send("judge", one)
        for repeat in range(context.repeats)
        for dimension in instrument.dimensions
        for one in batches(dimension, state["records"], repeat, context.judging)
    ]
    return sends or "score"


async def judge(state: Batch, runtime: Runtime[InterviewContext]) -> dict[str, Any]:
    """Judge a batch; a judge without a usable answer leaves it missing."""
    context = settings(runtime, InterviewContext)
    instrument = await instrument_of(context)
    asked = context.model_copy(update={"chat_model": context.judge or context.chat_model})
    chat = await chat_in(asked, instrument.language)
    dimension, repeat, items = state["dimension"], state["repeat"], state["items"]
    said = Judgement(dimension=dimension, repeat=repeat, items=items, analysis="", result=None, error="")
    try:
        said["analysis"], said["result"] = await judged(chat, instrument, state, context.judging)
    except UNANSWERED as error:
        said["error"] = str(error)
    return {"judgements": [said], "usage": {"judge": chat.account.usage()}}


def batches(dimension: Dimension, records: Sequence[InterviewRecord], repeat: int, judging: Judging) -> Iterator[Batch]:
    """The batches of a dimension: InCharacter's sizes, in the order of the items, and by chance from repeat 1 on.

    The chance is that of Python's `random` with the number of the repeat as its seed.
    """
    there = [one for one in records if one["dimension"] == dimension.name and answered(one)]
    if repeat:
        Random(repeat).shuffle(there)  # noqa: S311 (no secret hangs on it)
    sizes = [1] * len(there) if judging != "expert_rating" else split_batches(len(there)) if there else []
    for size in sizes:
        batch, there = there[:size], there[size:]
        items = [one["item"] for one in batch]
        yield Batch(dimension=dimension.name, repeat=repeat, items=items, answers=as_text(batch))


def answered(record: InterviewRecord) -> bool:
    """Whether there is anything to judge."""
    return not {"no_reply", "empty"} & {*record["flags"]}


def as_text(batch: Sequence[InterviewRecord]) -> str:
    """Questions and answers as a judge reads them."""
    return "\n\n".join(
        f"{number}. {EXPERIMENTER}: {one['anonymous_question']}\n{PARTICIPANT}: {one['anonymous']}"
        for number, one in enumerate(batch, start=1)
    )


async def judged(
    chat: ChatModel, instrument: Instrument, batch: Batch, judging: Judging
) -> tuple[str, float | Literal["x"]]:
    """Ask for the analysis and the result."""
    if judging == "self_report":
        return "", own_choice(instrument, batch)
    messages = judge_messages(instrument, batch, judging)
    dimension = dimension_of(instrument, batch["dimension"])
    if judging == "option_conversion":
        choice = await extract(chat, messages, choices(instrument.scale.low, instrument.scale.high))
        return choice.analysis, choice.result
    if instrument.scores == "percent":
        shared = await extract(chat, messages, shares(dimension.high, dimension.low))
        return shared.analysis, shared.result.high
    rated = await extract(chat, messages, scale(*instrument.range))
    return rated.analysis, rated.result


def own_choice(instrument: Instrument, batch: Batch) -> int:
    """Return the step of the scale that the role named; an answer with none or several is unusable."""
    answer = batch["answers"].rpartition(f"{PARTICIPANT}:")[2]
    low, high = instrument.scale.low, instrument.scale.high
    minus = "-?" if low < 0 else ""  # elsewhere it is a dash
    named = {int(one) for one in re.findall(rf"(?<![\d.]){minus}\d{{1,3}}(?![\d]|[.]\d)", answer.replace("−", "-"))}
    if len(named) == 1 and low <= min(named) <= high:
        return named.pop()
    raise UnusableAnswer(f"The answer does not name one whole number from {low} to {high}.")


def judge_messages(instrument: Instrument, batch: Batch, judging: Judging) -> list[BaseMessage]:
    """What the judge is shown."""
    low, high = instrument.scale.low, instrument.scale.high
    answers = fenced("answers", batch["answers"])
    if judging == "option_conversion":
        (item,) = (one for one in instrument.items if one.id in batch["items"])
        prompt, data = load("convert_answer", instrument.language), {"statement": item.statement}
        return prompt.messages(low=low, high=high, answers=answers, data=data)
    dimension = dimension_of(instrument, batch["dimension"])
    data = {"dimension": f"{dimension.name}: {dimension.description}"}
    if instrument.scores == "percent":
        prompt = load("rate_poles", instrument.language)
        return prompt.messages(high=dimension.high, low=dimension.low, answers=answers, data=data)
    prompt = load("rate_dimension", instrument.language)
    return prompt.messages(low=low, high=high, answers=answers, data=data)


def dimension_of(instrument: Instrument, name: str) -> Dimension:
    """A dimension by its name."""
    return next(one for one in instrument.dimensions if one.name == name)


@lru_cache(maxsize=128)
def shares(high: str, low: str) -> type[InShares]:
    """The form of a rating between the poles of a dimension."""
    poles = {"high": high, "low": low}
    named: dict[str, Any] = {name: (Percent, Field(alias=letter)) for name, letter in poles.items()}
    return create_model("InShares", __base__=InShares, result=(create_model("Shares", __base__=Shares, **named), ...))


@lru_cache(maxsize=128)
def scale(low: float, high: float) -> type[OnScale]:
    """The form of a rating on a scale."""
    return create_model("OnScale", __base__=OnScale, result=(Annotated[float, Scale(low, high)], ...))


@lru_cache(maxsize=128)
def choices(low: int, high: int) -> type[StepChoice]:
    """The form of a choice on the scale of an instrument's items."""
    steps = Annotated[int, Field(ge=low, le=high)]

    def step(value: object) -> object:
        return "x" if spelling(str(value)) == "x" else Scale(low, high).read(value)

    either: Any = Annotated[steps | Literal["x"], BeforeValidator(step)]
    return create_model("Choice", __base__=StepChoice, result=(either, ...))
