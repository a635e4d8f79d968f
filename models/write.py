"""Free text, streamed."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias, cast

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel, Field

from dramaturg.models.asking import Question, ask, counted, unusable
from dramaturg.models.chat import Respondent
from dramaturg.models.client import writing
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.reading import LONGEST, Unread, text_of
from dramaturg.models.structured import QUIET, speaks_openai

Chat: TypeAlias = Runnable[LanguageModelInput, AIMessage]


class Written(BaseModel):
    """A text, and the id under which its tokens were streamed; one from the cache of answers was not."""

    text: str
    streamed_as: str | None = Field(default=None, exclude=True)


async def write(
    respondent: Respondent,
    messages: Sequence[BaseMessage],
    *,
    temperature: float | None = None,
    max_tokens: int = 1024,
    quiet: bool = False,
) -> str:
    """Ask for a text; its tokens stream to whoever listens, as in LangGraph's mode `messages`, unless it is `quiet`.

    A text that ends where the tokens ended is an answer: it was shown. A text that was begun is not asked for again,
    unless nobody saw it.

    Raises:
        ModelError: there is no text; see `dramaturg.models.errors` for the kinds.
    """
    message = await write_message(respondent, messages, temperature=temperature, max_tokens=max_tokens, quiet=quiet)
    return message.text


async def write_message(
    respondent: Respondent,
    messages: Sequence[BaseMessage],
    *,
    temperature: float | None = None,
    max_tokens: int = 1024,
    quiet: bool = False,
) -> AIMessage:
    """Ask for a text as `write` does, and give it as a message with the id of its streamed tokens.

    A node that returns this message does not stream it a second time.
    """
    settings = writing(respondent.model) | {"max_tokens": max_tokens}
    if temperature is not None:
        settings["temperature"] = temperature
    if respondent.seed is not None:
        settings["seed"] = respondent.seed

    async def answer(chat: BaseChatModel) -> Written:
        return await told(respondent, with_settings(chat, settings), messages, quiet=quiet)

    written = await ask(respondent, Question("write", messages, Written, settings), answer)
    return AIMessage(written.text, id=written.streamed_as)


async def told(respondent: Respondent, chat: Chat, messages: Sequence[BaseMessage], *, quiet: bool) -> Written:
    """Have a text written; again only as long as nothing of it was shown."""
    config = QUIET if quiet else None
    for _ in range(respondent.attempts):
        shown: list[str] = []
        try:
            return await counted(respondent, streamed(chat, messages, shown, config), said)
        except (Unread, UnusableAnswer):
            if any(shown) and not quiet:
                break
    raise unusable(respondent, "write")


def said(message: AIMessage) -> Written:
    """The text of a message, also if the tokens ended before it did."""
    return Written(text=text_of(message, cut=True).strip(), streamed_as=message.id)


async def streamed(
    chat: Chat, messages: Sequence[BaseMessage], shown: list[str], config: RunnableConfig | None
) -> AIMessage:
    """Put a streamed message together; `shown` gets its parts as they come."""
    message = AIMessageChunk(content="")
    stream = cast("AsyncGenerator[AIMessage]", chat.astream(list(messages), config))
    async with aclosing(stream):
        async for part in stream:
            message += as_chunk(part)
            shown.append(part.text)
            if len(message.text) > LONGEST:
                break
    return message


def as_chunk(part: AIMessage) -> AIMessageChunk:
    """A part of a stream; a model that does not stream gives its whole message, which is no chunk."""
    return part if isinstance(part, AIMessageChunk) else AIMessageChunk(**part.model_dump(exclude={"type"}))


def with_settings(chat: BaseChatModel, settings: dict[str, Any]) -> Chat:
    """Set the temperature and the like: OpenAI's clients take them with a call, others as fields if they have them."""
    if speaks_openai(chat):
        return chat.bind(**settings)
    fields = type(chat).model_fields
    return chat.model_copy(update={name: value for name, value in settings.items() if name in fields})
