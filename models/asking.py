"""Asking a question: within a deadline, in its turn, again if need be, and from disk if the answer is kept there."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import TypeAdapter, ValidationError

from dramaturg.models.answer_cache import answer_key
from dramaturg.models.chat import Respondent
from dramaturg.models.errors import ModelError, ModelTimeout, UnusableAnswer, WeightsError
from dramaturg.models.failures import failures, typed
from dramaturg.models.reading import Unread

T = TypeVar("T")


@dataclass(frozen=True)
class Question(Generic[T]):
    """What is asked: the kind, the messages, the type of the answer, and all else that the answer depends on."""

    kind: str
    messages: Sequence[BaseMessage]
    answer: type[T]
    parameters: dict[str, Any] = field(default_factory=dict)


async def ask(respondent: Respondent, question: Question[T], answer: Callable[[BaseChatModel], Awaitable[T]]) -> T:
    """Take the answer from disk, or have it from the model within the deadline and keep it.

    Raises:
        ModelTimeout: there is no answer within the deadline.
        ModelError: see `answer`.
        WeightsError: the embedded model is not there.
    """
    if respondent.cache is None:
        return await in_turn(respondent, answer)
    key = answer_key(respondent.identity, question.kind, question.messages, question.parameters)
    adapter = TypeAdapter(question.answer)
    try:
        if (kept := await respondent.cache.get(key)) is not None:
            value = adapter.validate_python(kept)
            respondent.account.record_cached()
            return value
    except ValidationError:
        pass  # kept by another version, or not by us: ask again and replace it
    value = await in_turn(respondent, answer)
    await respondent.cache.set(key, adapter.dump_python(value, mode="json", by_alias=True))
    return value


async def in_turn(respondent: Respondent, answer: Callable[[BaseChatModel], Awaitable[T]]) -> T:
    """Wait for the turn, then have the answer within the deadline. Starting the client does not count."""
    chat = await client_of(respondent)
    async with respondent.limit:
        try:
            async with asyncio.timeout(respondent.deadline):
                return await answer(chat)
        except TimeoutError:
            pass
    msg = f"The model {respondent.name!r} did not answer within {respondent.deadline:g} s: allow a longer deadline."
    raise ModelTimeout(msg)


async def client_of(respondent: Respondent) -> BaseChatModel:
    """Build the client in a thread: that reads files, and may start the embedded model."""
    if isinstance(respondent.model, BaseChatModel):
        return respondent.model
    return await called(asyncio.to_thread(lambda: respondent.chat), respondent.name)


async def called(call: Awaitable[T], name: str) -> T:
    """Await a call of the client of model `name`, and raise what goes wrong as an error of the package."""
    try:
        return await call
    except (ModelError, WeightsError, Unread):
        raise
    except failures() as error:
        failed = typed(error, name)
    raise failed  # outside of the handler: the client's error repeats what the server said


async def counted(respondent: Respondent, call: Awaitable[AIMessage], read: Callable[[AIMessage], T]) -> T:
    """Make one call, read its answer, and put both on the account.

    Raises:
        Unread: the answer came, and `read` cannot use it.
        ModelError: no answer came.
    """
    begun, usable, message = time.monotonic(), False, None
    try:
        message = await called(call, respondent.name)
        answer = read(message)
        usable = True
        return answer
    finally:
        tokens = message.usage_metadata if message else None
        respondent.account.record(time.monotonic() - begun, usable=usable, tokens=tokens)


async def until_usable(respondent: Respondent, kind: str, attempt: Callable[[Unread | None], Awaitable[T]]) -> T:
    """Attempt an answer until it can be used; each attempt is told what was wrong with the answer before.

    Raises:
        UnusableAnswer: no attempt gave one.
    """
    problem: Unread | None = None
    for _ in range(respondent.attempts):
        try:
            return await attempt(problem)
        except Unread as unread:
            problem = unread
        except UnusableAnswer:
            problem = None
    raise unusable(respondent, kind)


def unusable(respondent: Respondent, kind: str) -> UnusableAnswer:
    """Say that a question has no answer, without a word of what the model said."""
    tries = f"{respondent.attempts} attempt{'s' if respondent.attempts > 1 else ''}"
    msg = f"The model {respondent.name!r} gave no usable answer to a question of the kind {kind!r} in {tries}."
    return UnusableAnswer(msg)
