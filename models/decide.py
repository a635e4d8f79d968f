"""Yes or no."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from dramaturg.models.asking import Question, ask
from dramaturg.models.chat import Respondent
from dramaturg.models.probabilities import begins, enough, normal
from dramaturg.models.reading import Unread
from dramaturg.models.structured import Form, Interview
from dramaturg.models.words import short_schema, word

YES = ("yes", "true", "是", "是的", "对", "예", "네")
NO = ("no", "false", "否", "不", "不是", "不对", "아니요", "아니오")


@dataclass(frozen=True)
class Decision:
    """An answer, and P(yes) where the server gives log-probabilities."""

    answer: bool
    probability: float | None


async def decide(
    respondent: Respondent,
    messages: Sequence[BaseMessage],
    *,
    threshold: float = 0.5,
    yes: Sequence[str] = YES,
    no: Sequence[str] = NO,
) -> Decision:
    """Ask for yes or no.

    With log-probabilities the answer is yes if P(yes) / (P(yes) + P(no)) of the first token is at least `threshold`;
    without them it is what the model says, and `threshold` has no part in it.

    Raises:
        ModelError: there is no answer; see `dramaturg.models.errors` for the kinds.
    """

    def weigh(tokens: Mapping[str, float]) -> Decision:
        probability = probability_of_yes(tokens, yes, no)
        return Decision(probability >= threshold, probability)

    schema = short_schema({"type": "string", "enum": [*yes, *no]})
    form = Form("decide", schema, lambda text: Decision(says_yes(text, yes, no), None), weigh)
    question = Question("decide", messages, Decision, {"threshold": threshold, "yes": list(yes), "no": list(no)})
    return await ask(respondent, question, lambda chat: Interview(chat, respondent, messages, form).answer())


def probability_of_yes(tokens: Mapping[str, float], yes: Sequence[str], no: Sequence[str]) -> float:
    """Weigh the tokens that begin a yes against those that begin a no; one that begins both counts for neither."""
    for_yes = sum(p for token, p in tokens.items() if begins(token, yes) and not begins(token, no))
    for_no = sum(p for token, p in tokens.items() if begins(token, no) and not begins(token, yes))
    return for_yes / enough(for_yes + for_no)


def says_yes(text: str, yes: Sequence[str], no: Sequence[str]) -> bool:
    """Read a yes or a no that is written out."""
    said = word(text)
    if said in map(normal, yes):
        return True
    if said in map(normal, no):
        return False
    problem = f"the answer must be one of {', '.join([*yes, *no])}."
    raise Unread(problem, text)
