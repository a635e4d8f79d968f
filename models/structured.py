"""Answers in a form: by log-probabilities, by a JSON schema that the server enforces, or by asking for one."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from dramaturg.models.asking import counted, until_usable
from dramaturg.models.chat import Respondent
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.failures import RequestRejected
from dramaturg.models.probabilities import NoProbabilities, Undecided, first_token
from dramaturg.models.reading import Unread, text_of
from dramaturg.models.wording import say

T = TypeVar("T")

QUIET = RunnableConfig(tags=[TAG_NOSTREAM])  # judgements are not part of what a user reads
ONE_TOKEN = {"max_tokens": 1, "logprobs": True, "top_logprobs": 20, "temperature": 0, "stream": False}
TOKENS = 4096  # of an answer in a form; the deadline bounds it too
REPEATED = 2000  # characters of its answer that a model is shown again


@dataclass(frozen=True)
class Form(Generic[T]):
    """The form of an answer: its JSON schema, how it is read, and how it follows from the first token if it does."""

    kind: str
    schema: Mapping[str, Any]
    read: Callable[[str], T]
    weigh: Callable[[Mapping[str, float]], T] | None = None


@dataclass(frozen=True)
class Interview(Generic[T]):
    """One question in a form to one model, in each of the ways that it can be asked."""

    chat: BaseChatModel
    respondent: Respondent
    messages: Sequence[BaseMessage]
    form: Form[T]
    temperature: float = 0
    """Of an answer that the server holds to a schema."""

    async def answer(self) -> T:
        """Ask in the best way that the server takes, and remember the ways that it refuses.

        A way counts as refused when the same question then passes in another way: a prompt that is too long rules
        out none.
        """
        refused = set[str]()
        for way, ask in self.ways().items():
            try:
                answer = await ask()
                break
            except (RequestRejected, NoProbabilities):
                refused.add(way)
            except Undecided:
                pass
        else:
            answer = await self.by_asking()
        self.respondent.shared.refused.update(refused)
        return answer

    def ways(self) -> dict[str, Callable[[], Awaitable[T]]]:
        """The ways that need a server's help, best first, as far as this one is not known to refuse them."""
        if not speaks_openai(self.chat):
            return {}
        ways: dict[str, Callable[[], Awaitable[T]]] = {}
        if self.form.weigh:
            ways["probabilities"] = partial(self.by_probabilities, self.form.weigh)
        ways["schema"] = self.by_schema
        return {way: ask for way, ask in ways.items() if way not in self.respondent.shared.refused}

    async def by_probabilities(self, weigh: Callable[[Mapping[str, float]], T]) -> T:
        """Look at the first token only."""
        call = self.chat.bind(**ONE_TOKEN).ainvoke(list(self.messages), QUIET)
        try:
            return await counted(self.respondent, call, lambda message: weigh(first_token(message)))
        except UnusableAnswer:
            raise Undecided from None

    async def by_schema(self) -> T:
        """Have the server hold the model to the schema."""
        schema = {"name": "answer", "schema": self.form.schema, "strict": False}
        form = {"type": "json_schema", "json_schema": schema}
        return await self.written(
            self.messages, response_format=form, max_tokens=TOKENS, temperature=self.temperature, stream=False
        )

    async def by_asking(self) -> T:
        """Put the schema into the prompt."""
        return await self.written([*self.messages, self.say("contract")])

    async def written(self, messages: Sequence[BaseMessage], **parameters: Any) -> T:
        """Read what the model writes, and tell it what is wrong with it."""
        chat = self.chat.bind(**parameters) if parameters else self.chat

        def attempt(wrong: Unread | None) -> Awaitable[T]:
            asked = [*messages, *(self.again(wrong) if wrong else [])]
            return counted(
                self.respondent, chat.ainvoke(asked, QUIET), lambda message: self.form.read(text_of(message))
            )

        return await until_usable(self.respondent, self.form.kind, attempt)

    def again(self, wrong: Unread) -> list[BaseMessage]:
        """Show the model its answer, and what is wrong with it."""
        if not wrong.answer:
            return []
        return [AIMessage(wrong.answer[:REPEATED]), self.say("reask", problem=str(wrong))]

    def say(self, name: str, **values: str) -> BaseMessage:
        """Say a sentence that shows the schema."""
        schema = json.dumps(self.form.schema, ensure_ascii=False)
        return say(name, self.respondent.language, schema=schema, **values)


def speaks_openai(chat: BaseChatModel) -> bool:
    """Whether a model takes the parameters of OpenAI's chat completions."""
    from langchain_openai.chat_models.base import BaseChatOpenAI

    return isinstance(chat, BaseChatOpenAI)
