"""A script for a chat model: which question is answered with what."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel

from dramaturg.models.asking import LANGUAGES, template

Kind = Literal["decide", "rate", "choose", "extract", "write"]
SHOWN = 400  # characters of a prompt that an error names


class Unscripted(AssertionError):
    """A model was asked what its script does not answer. No method takes this for an answer that failed."""


@dataclass(frozen=True)
class FirstToken:
    """An answer by the probabilities of its first token, such as `FirstToken({"yes": 0.7, "no": 0.3})`.

    A model that is not asked for probabilities says the most probable one.
    """

    probabilities: Mapping[str, float]

    @property
    def text(self) -> str:
        """The most probable token."""
        return max(self.probabilities, key=self.probabilities.__getitem__)


@dataclass(frozen=True)
class Call:
    """One call of a model: the messages and the parameters."""

    messages: list[BaseMessage]
    parameters: dict[str, Any] = field(default_factory=dict)
    """What was set for this call, such as `temperature`, `max_tokens` and `response_format`."""

    @property
    def text(self) -> str:
        """All messages in one string, for `in`."""
        return "\n".join(message.text for message in self.messages)

    @property
    def question(self) -> str:
        """The last message of the prompt: without what an answer in a format adds, and without re-asks."""
        return next((one.text for one in reversed(self.messages) if one.type == "human" and not added(one.text)), "")

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema that the answer is to fit; None for a text, and where the first token is asked for."""
        if form := self.parameters.get("response_format"):
            given: Mapping[str, Any] = form["json_schema"]["schema"]
            return given
        for message in reversed(self.messages):
            if message.text.startswith(beginnings("contract") + beginnings("reask")):
                return schema_at_the_end_of(message.text)
        return None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Which kind of question it asks; by its first token a rating looks like a decision, so then it is both."""
        chosen = any(message.text.startswith(beginnings("options")) for message in self.messages)
        if self.parameters.get("logprobs"):
            return ("choose",) if chosen else ("decide", "rate")
        if self.schema is None:
            return ("write",)
        match self.schema.get("properties"):
            case {"answer": {"enum": _}, **more} if not more:
                return ("decide",)
            case {"answer": {"type": "integer"}, **more} if not more and "title" not in self.schema:
                return ("choose",) if chosen else ("rate",)
        return ("extract",)


Answer: TypeAlias = (
    str | bool | int | BaseModel | Mapping[str, Any] | Sequence[Any] | FirstToken | AIMessage | Exception
)
"""A text; true or false for yes or no; a number for a rating or an option; an object; or what is raised."""
Script: TypeAlias = Answer | Callable[[Call], Answer]
"""An answer, or a function that has it for a call."""


@dataclass(frozen=True)
class Rule:
    """What is answered to the questions that hold `matching` and are of this kind and schema."""

    matching: str | re.Pattern[str]
    """A part of the question, the last message of a prompt; or a pattern that is searched in it."""
    says: Script
    kind: Kind | None = None
    schema: type[BaseModel] | str | None = None
    """The schema of an extraction, or its name."""

    def matches(self, call: Call) -> bool:
        """Whether it answers this call."""
        question, wanted = call.question, self.matching
        found = wanted in question if isinstance(wanted, str) else wanted.search(question)
        name = self.schema if isinstance(self.schema, str) or self.schema is None else self.schema.__name__
        fits = name is None or (call.schema or {}).get("title") == name
        return bool(found) and fits and self.kind in (None, *call.kinds)


def in_turn(*answers: Script) -> Callable[[Call], Answer]:
    """Give the answers in turn, and the last one again ever after."""
    left = list(answers)

    def answer(call: Call) -> Answer:
        return said(left.pop(0) if len(left) > 1 else left[0], call)

    return answer


def said(script: Script, call: Call) -> Answer:
    """What a script says to a call."""
    return script(call) if callable(script) else script


def written_out(answer: Answer, call: Call) -> AIMessage:
    """An answer as a model writes it: objects as JSON, yes and no in the words that are asked for."""
    if isinstance(answer, AIMessage):
        return answer.model_copy()
    if isinstance(answer, FirstToken):
        return AIMessage(answer.text)
    if isinstance(answer, BaseModel):
        return AIMessage(answer.model_dump_json(by_alias=True))
    if isinstance(answer, bool):
        words = ((call.schema or {}).get("properties", {}).get("answer") or {}).get("enum") or ("yes", "no")
        return AIMessage(str(words[0 if answer else -1]))
    if isinstance(answer, str | int):
        return AIMessage(str(answer))
    return AIMessage(json.dumps(answer, ensure_ascii=False))


def unscripted(call: Call) -> Unscripted:
    """Say which question has no answer."""
    name = (call.schema or {}).get("title")
    asked = f"a question of the kind {' or '.join(call.kinds)!r}" + (f" with the schema {name!r}" if name else "")
    shown = call.question[-SHOWN:]
    return Unscripted(f"The script has no answer to {asked}: add a Rule for it. The prompt ends:\n{shown}")


def added(text: str) -> bool:
    """Whether a message is one that `dramaturg.models` adds to a prompt."""
    return text.startswith(beginnings("contract") + beginnings("reask") + beginnings("options"))


@cache
def beginnings(name: str) -> tuple[str, ...]:
    """How such a message begins, in each language."""
    return tuple(template(name, language).template.partition("$")[0] for language in LANGUAGES)


def schema_at_the_end_of(text: str) -> Mapping[str, Any]:
    """The JSON object with which a message ends."""
    begin = text.rindex("\n{")
    found: Mapping[str, Any] = json.loads(text[begin:])
    return found
