"""Answers in a form: by log-probabilities, by a JSON schema that the server enforces, or by asking for one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from dramaturg.models.chat import Respondent
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.failures import RequestRejected

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


async def answered(chat: BaseChatModel, respondent: Respondent, messages: Sequence[BaseMessage], form: Form[T]) -> T:
    """Ask in the best way that the server takes, and remember the ways that it refuses.

    A way counts as refused when the same question passes in the next way, so a prompt that is too long rules out none.
    """
    refused = set[str]()
    rejected: RequestRejected | None = None
    for way in ways(chat, respondent, form):
        try:
            answer = await WAYS[way](chat, respondent, messages, form)
        except RequestRejected as error:
            refused.add(way)
            rejected = error
        except NoProbabilities:
            refused.add(way)
        except Undecided:
            continue
        else:
            respondent.shared.refused.update(refused)
            return answer
    raise rejected or UnusableAnswer(...)
