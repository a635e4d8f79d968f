"""What an interview is told, what it keeps, and what it gives: plain values that fit into a checkpoint and a file."""

import asyncio
import operator
from functools import cache
from typing import Annotated, Any, Literal

from langchain_core.language_models import BaseChatModel
from pydantic import Field, InstanceOf, JsonValue, field_validator
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from dramaturg.evaluation.instruments.files import FOUR_LETTERS, instrument
from dramaturg.evaluation.instruments.instrument import Instrument, Language, RefusalRule, Tie
from dramaturg.evaluation.interviews.cleaning import Flag
from dramaturg.models.chat import Usage, add_usage
from dramaturg.models.clients import name_of
from dramaturg.nodes.open_settings import Closed, Open
from dramaturg.nodes.run import Name, RoleContext, run_of
from dramaturg.prompts import digest_of
from dramaturg.workflows.methods import Flow, flow
from dramaturg.workflows.names import METHODS

Judging = Literal["expert_rating", "option_conversion", "self_report"]


class InterviewContext(RoleContext):
    """Who is interviewed with what, and how the answers are judged; `chat_model` answers for the role."""

    turn_deadline: Open[float] = Field(
        default=3600, gt=0, le=86_400, description="Seconds for an answer of the role; nobody waits for it in a chat."
    )
    method: Open[Annotated[str, Field(max_length=64)] | SkipJsonSchema[InstanceOf[Flow]]] = Field(
        default="amadeus", description="How the role answers, such as amadeus."
    )
    method_settings: Closed[dict[str, JsonValue]] = Field(
        default_factory=dict, description="Settings of the method by their names; all others are its own."
    )
    server: Closed[str] = Field(
        default="",
        max_length=2000,
        description="The address of a LangGraph server that answers for the role; what judges is asked from here.",
    )
    instrument: Closed[Annotated[str, Field(max_length=4096)] | SkipJsonSchema[InstanceOf[Instrument]]] = Field(
        default=FOUR_LETTERS, description="big-five, four-letters, or the path of an inventory."
    )
    limit: Open[int] = Field(
        default=0, ge=0, le=1000, description="So many items, of each dimension in turn; 0: the whole inventory."
    )
    experimenter: Open[str] = Field(
        default="", max_length=80, description="Who asks: somebody whom the role knows; empty: nobody in particular."
    )
    judge: Closed[Literal[""] | Name | SkipJsonSchema[InstanceOf[BaseChatModel]]] = Field(
        default="", description="The chat model that judges the answers; empty: the one that gives them."
    )
    judging: Open[Judging] = Field(
        default="expert_rating",
        description="expert_rating: a dimension is rated from batches of answers; option_conversion: each answer is "
        "turned into a choice on the item's scale, and scored by the keys; self_report: the role is shown the "
        "statement and names a number itself, which is scored by the keys, without a judge.",
    )
    repeats: Open[int] = Field(
        default=1, ge=1, le=20, description="How often the answers are judged, in shuffled batches from the second on."
    )
    tie: Open[Tie] = Field(default="low", description="The pole of a score exactly at the midpoint.")
    refusals: Open[RefusalRule] = Field(
        default="leave_out",
        description="With option_conversion: a refusal to answer is left out, or taken for the midpoint.",
    )

    @field_validator("method")
    @classmethod
    def _is_no_module(cls, method: str | Flow) -> str | Flow:
        if isinstance(method, str) and method not in METHODS:  # a caller may have sent it: nothing is imported for it
            raise ValueError(f"There is no method {method!r}; there are: {', '.join(METHODS)}")
        return method

    @property
    def respondent(self) -> Flow:
        """How the role answers."""
        return self.method if isinstance(self.method, Flow) else flow(self.method)


class ItemReply(TypedDict):
    """What came back for an item; no reply where the role's model gave none, and `error` says why."""

    item: str
    dimension: str
    question: str
    reply: str
    error: str
    evidence: dict[str, Any]
    """What the reply rests on, by mechanism, as the method says it."""
    usage: dict[str, Usage]


class InterviewRecord(ItemReply):
    """An item with all that became of it."""

    cleaned: str
    """The role's answer alone."""
    flags: list[Flag]
    anonymous: str
    """What judges see of the answer."""
    anonymous_question: str


class Judgement(TypedDict):
    """What the judge says of a batch: a score, or with option_conversion a choice or "x"; None where it gave none."""

    dimension: str
    repeat: int
    items: list[str]
    analysis: str
    result: float | Literal["x"] | None
    error: str


class DimensionResult(TypedDict):
    """The score of a dimension, in the instrument's range, and how far its parts lie apart."""

    score: float | None
    """The mean of `repeats`; None where no batch was judged."""
    letter: str
    """"?" without a score."""
    repeats: list[float | None]
    """The mean over the batches of each repeat."""
    batches: list[list[float]]
    """The scores of the batches of each repeat; those that are missing are left out."""
    intra_std: list[float | None]
    """The population standard deviation over the batches of each repeat; None for fewer than two."""
    inter_std: float | None
    """The same over repeats."""


class Counts(TypedDict):
    """How much was asked, and what is missing."""

    items: int
    repeats: int
    wanted: int
    """Items that were to be judged, in all repeats."""
    missing: int
    """Those of them that were not: no reply, an empty one, or no judgement."""
    no_reply: int
    empty: int
    judgements: int
    judgements_missing: int
    refused: int
    """Answers that the judge took for refusals; with option_conversion only."""
    flags: dict[str, int]
    """How many replies have each flag."""


class InterviewInput(TypedDict):
    """An interview takes nothing: all that it needs is in the context."""


class InterviewResult(TypedDict):
    """What is made of records and judgements, without a model."""

    scores: dict[str, DimensionResult]
    type: str
    counts: Counts
    valid: bool
    invalid_because: str


class InterviewOutput(InterviewResult):
    """What an interview gives."""

    about: dict[str, Any]
    records: list[InterviewRecord]
    judgements: Annotated[list[Judgement], operator.add]
    usage: Annotated[dict[str, Usage], add_usage]


class InterviewState(InterviewOutput):
    """An interview under way."""

    replies: Annotated[list[ItemReply], operator.add]


async def language_for(context: InterviewContext) -> Language:
    """Return the language of questions, answers and judges."""
    found: Any = (await run_of(context)).language
    return found  # type: ignore[no-any-return]


async def instrument_of(context: InterviewContext) -> Instrument:
    """Return the instrument of an interview; each is read once."""
    if isinstance(context.instrument, Instrument):
        return context.instrument
    return await asyncio.to_thread(_instrument, context.instrument, await language_for(context))


async def described(context: InterviewContext) -> dict[str, Any]:
    """Describe an interview for whoever reads its file; with another value it is another interview."""
    asked = await instrument_of(context)
    own = ("role", "method", "method_settings", "limit", "experimenter", "judging", "repeats", "tie", "refusals")
    prompts = {"prompts": digest_of(context.prompts)} if context.prompts else {}
    rules = {"rules": context.rules} if context.rules != "ours" else {}
    return {
        **{name: getattr(context, name) for name in own},
        **prompts,
        **rules,
        "method": context.respondent.name,
        "instrument": asked.name,
        "source": asked.source,
        "licence": asked.licence,
        "language": asked.language,
        "model": f"{context.chat_model} at {context.server}" if context.server else name_of(context.chat_model),
        "judge": name_of(context.judge or context.chat_model),
        "model_seed": context.model_seed,
    }


@cache
def _instrument(name: str, language: Language) -> Instrument:
    return instrument(name, language)
