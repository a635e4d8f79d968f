"""A number on a scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from dramaturg.models.asking import Question, ask
from dramaturg.models.chat import Respondent
from dramaturg.models.probabilities import enough
from dramaturg.models.reading import Unread
from dramaturg.models.structured import Form, Interview
from dramaturg.models.words import number, short_schema


@dataclass(frozen=True)
class Rating:
    """A rating, and the probability of each step of the scale where the server gives log-probabilities."""

    value: float
    distribution: dict[int, float] | None


async def rate(respondent: Respondent, messages: Sequence[BaseMessage], *, low: int, high: int) -> Rating:
    """Ask for a whole number from `low` to `high`.

    With log-probabilities the value is the expected one, sum of k * P(k) over the scale; without them it is the
    number that the model says. A scale with a number of two digits is always asked without: "10" is one token to
    some models and two to others, so its probability is not in the first token.

    Raises:
        ValueError: `low` is not below `high`.
        ModelError: there is no answer; see `dramaturg.models.errors` for the kinds.
    """
    if low >= high:
        msg = f"A scale must go up: {low} is not below {high}."
        raise ValueError(msg)
    scale = range(low, high + 1)
    schema = short_schema({"type": "integer", "minimum": low, "maximum": high})
    weigh = (lambda tokens: expected(tokens, scale)) if low >= 0 and high <= 9 else None
    form = Form("rate", schema, lambda text: Rating(float(on_scale(text, scale)), None), weigh)
    question = Question("rate", messages, Rating, {"low": low, "high": high})
    return await ask(respondent, question, lambda chat: Interview(chat, respondent, messages, form).answer())


def expected(tokens: Mapping[str, float], scale: range) -> Rating:
    """The expected value over the steps of the scale."""
    mass = enough(sum(tokens.get(str(step), 0.0) for step in scale))
    distribution = {step: tokens.get(str(step), 0.0) / mass for step in scale}
    value = sum(step * probability for step, probability in distribution.items())
    return Rating(min(max(value, scale[0]), scale[-1]), distribution)


def on_scale(text: str, scale: range) -> int:
    """Read a number that is written out, and refuse one beyond the scale."""
    said = number(text)
    if said in scale:
        return said
    problem = f"the answer must be from {scale[0]} to {scale[-1]}."
    raise Unread(problem, text)
