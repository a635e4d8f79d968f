"""A score from 1 to 5 with its reason (DRMR, Equations 2 and 6): in one answer, or number and reason apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from langchain_core.messages import BaseMessage
from pydantic import Field, StringConstraints, WithJsonSchema

from dramaturg.models.chat import ChatModel
from dramaturg.models.clients import is_embedded
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import Scale
from dramaturg.models.questions import decide, extract, rate, write
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import RoleContext
from dramaturg.prompts import Prompt

LOW, HIGH = 1, 5


REASON_TOKENS = 60


class AppraisalSettings(RoleContext):
    """How a score is asked for."""

    appraisal: Open[Literal["auto", "together", "apart"]] = Field(
        default="auto",
        description="together: one answer, the reason and then the score (the paper); apart: the score by "
        "probabilities, which small models know better than they say it, then the reason; auto: apart with the "
        "embedded model.",
    )

    def scores_apart(self, chat: ChatModel) -> bool:
        """Whether score and reason are asked for apart."""
        return self.appraisal == "apart" or (self.appraisal == "auto" and is_embedded(chat.model))


class Appraisal(NamedTuple):
    """A score from 1 to 5, and the reason for it, which may be empty: nothing hangs on it."""

    score: float
    reason: str
    dropped: tuple[str, ...] = ()
    """What was left out or cut of the answer."""


class ReasonedScore(Extracted):
    """{reason, score}, in the order in which a model is to think."""

    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)] = ""
    # Asked for in whole steps; what a model puts between two of them stays there.
    score: Annotated[float, Scale(LOW, HIGH), WithJsonSchema({"type": "integer", "minimum": LOW, "maximum": HIGH})]


@dataclass(frozen=True)
class Appraising:
    """What is appraised: the names of its prompts, and what they show."""

    together: str
    """Asks for {reason, score}."""
    score: str
    """Asks for a number from 1 to 5, or whether something is so."""
    reason: str
    """Asks for a sentence."""
    values: Mapping[str, str]
    data: Mapping[str, str]
    prompt: Callable[[str], Prompt]
    """Finds a prompt by its name, such as a run's."""

    def messages(self, name: str) -> list[BaseMessage]:
        """One of its prompts."""
        return self.prompt(name).messages(data=dict(self.data), **self.values)

    async def together_by(self, chat: ChatModel, temperature: float = 0) -> Appraisal:
        """Ask for the reason and the score in one answer.

        Raises:
            ModelError: there is no answer.
        """
        found = await extract(chat, self.messages(self.together), ReasonedScore, temperature=temperature)
        return Appraisal(float(found.score), found.reason, found.dropped)

    async def rated_by(self, chat: ChatModel) -> Appraisal:
        """Ask for the score as a number: the expected one where the server gives probabilities.

        Raises:
            ModelError: there is no answer.
        """
        rating = await rate(chat, self.messages(self.score), low=LOW, high=HIGH)
        return Appraisal(rating.value, await self.explained_by(chat))

    async def decided_by(self, chat: ChatModel) -> Appraisal:
        """Ask whether it is so, and why.

        Raises:
            ModelError: there is no answer.
        """
        return Appraisal(await self.probable_by(chat), await self.explained_by(chat))

    async def probable_by(self, chat: ChatModel) -> float:
        """Ask whether it is so: the score is 1 + 4 P(yes).

        Raises:
            ModelError: there is no answer.
        """
        decision = await decide(chat, self.messages(self.score))
        sure = float(decision.answer) if decision.probability is None else decision.probability
        return LOW + (HIGH - LOW) * sure

    async def explained_by(self, chat: ChatModel) -> str:
        """Ask for the reason alone; a score stands also without one."""
        return await sentence(chat, self.messages(self.reason))


async def sentence(chat: ChatModel, messages: Sequence[BaseMessage], most: int = REASON_TOKENS) -> str:
    """Ask why a judgement is as it is: one sentence on one line; empty where the model gives none that can be used."""
    try:
        return " ".join((await write(chat, messages, temperature=0, max_tokens=most, quiet=True)).split())
    except UNANSWERED:
        return ""
