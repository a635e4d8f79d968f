"""What a judge is shown of a reply, and what comes of it: a value, a failure that is counted, or neither."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from dramaturg.evaluation.datasets.dataset import Turn

Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200, pattern=r"^[^\r\n<>]*$")]
"""Stands in the instructions: a single line, without a tag."""
Text = Annotated[str, StringConstraints(pattern=r"\S")]
State = Literal["judged", "missing", "not_applicable"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Case(_Frozen):
    """A reply and what a judge may need beside it; nothing in it says by which method or model the reply was made.

    What is not known is empty: a judge that needs it is not applicable then.
    """

    role: Annotated[Name, StringConstraints(min_length=1)]
    """The name of the role that replied."""
    question: Text
    reply: Text
    language: Literal["en", "zh", "ko"]
    """Of the prompts, and so of the judge's reasons."""
    profile: str = ""
    """Who the role is: the card's profile, or a persona document."""
    gold: str = ""
    """The right answer."""
    passages: tuple[Text, ...] = ()
    """What whoever replied was shown for this question; nothing where a method shows nothing."""
    events: str = ""
    """What the role has lived through that bears on the question. The same for all methods, unlike the passages."""
    dialogue: tuple[Turn, ...] = ()
    """What was said before the question, the oldest first."""
    user_role: Name = ""
    """The name of the one who asks."""
    relation: str = ""
    """How the role stands to the one who asks."""
    scope: Literal["in", "out", ""] = ""
    """`out`: the role can't know. No judge is shown this."""

    def part(self, name: str) -> str:
        """A part as a judge reads it."""
        if name == "passages":
            return "\n\n".join(f"[{number}] {passage}" for number, passage in enumerate(self.passages, start=1))
        if name == "dialogue":
            return "\n".join(f"{turn.speaker}: {' '.join(turn.text.split())}" for turn in self.dialogue)
        return str(getattr(self, name)).strip()


class Judgement(_Frozen):
    """What came of judging one reply by one judge."""

    judge: str
    state: State
    """judged: there is a value. missing: the judge failed, which is counted and is no score. not_applicable: the case
    lacks what the judge needs, so that there is nothing to ask and nothing is missing."""
    value: float | None = None
    """On the judge's scale; yes is 1 and no 0. Between whole numbers where the model gives log-probabilities."""
    probability: float | None = None
    """P(yes), where the scale is yes or no and the model gives log-probabilities."""
    reason: str = ""
    """The sentence that the value rests on."""
    error: str = ""
    """Why there is no value."""
    prompt_version: str
    """A digest of the prompt's text in the language of the case: values of other versions don't compare."""
    model: str
    """Who judged."""
