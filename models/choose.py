"""One of several options."""

from collections.abc import Mapping, Sequence

from langchain_core.messages import BaseMessage

from dramaturg.models.asking import Question, ask
from dramaturg.models.chat import Respondent
from dramaturg.models.probabilities import enough, normal
from dramaturg.models.reading import Unread
from dramaturg.models.structured import Form, Interview
from dramaturg.models.wording import say
from dramaturg.models.words import short, short_schema


async def choose(respondent: Respondent, messages: Sequence[BaseMessage], options: Sequence[str]) -> str:
    """Ask for one of `options`, which are listed with numbers after the messages.

    With log-probabilities and up to nine options it is the one whose number is most probable; otherwise the one that
    the model names, by its number or its text.

    Raises:
        ValueError: there are no options, or two are the same.
        ModelError: there is no answer; see `dramaturg.models.errors` for the kinds.
    """
    if not options or len({normal(option) for option in options}) < len(options):
        msg = "A choice needs options that differ."
        raise ValueError(msg)
    listed = "\n".join(f"{label}. {option}" for label, option in enumerate(options, 1))
    asked = [*messages, say("options", respondent.language, options=listed)]
    schema = short_schema({"type": "integer", "minimum": 1, "maximum": len(options)})
    weigh = (lambda tokens: most_probable(tokens, options)) if len(options) <= 9 else None
    form = Form("choose", schema, lambda text: chosen(text, options), weigh)
    question = Question("choose", messages, str, {"options": list(options)})
    return await ask(respondent, question, lambda chat: Interview(chat, respondent, asked, form).answer())


def most_probable(tokens: Mapping[str, float], options: Sequence[str]) -> str:
    """The option whose number is the most probable first token."""
    weights = [tokens.get(str(label), 0.0) for label in range(1, len(options) + 1)]
    enough(sum(weights))
    return options[weights.index(max(weights))]


def chosen(text: str, options: Sequence[str]) -> str:
    """Read an option that is named by its number or its text."""
    said = normal(str(short(text)))
    named = {normal(option): option for option in options} | {str(n): option for n, option in enumerate(options, 1)}
    if said in named:
        return named[said]
    problem = f"the answer must be a number from 1 to {len(options)}."
    raise Unread(problem, text)
