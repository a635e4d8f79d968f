"""Free text, streamed."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias, cast

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import Runnable

from dramaturg.models.asking import Question, ask, counted, unusable
from dramaturg.models.chat import Respondent
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.reading import LONGEST, Unread, text_of
from dramaturg.models.structured import speaks_openai

Chat: TypeAlias = Runnable[LanguageModelInput, AIMessage]


async def write(
    respondent: Respondent,
    messages: Sequence[BaseMessage],
    *,
    temperature: float | None = None,
    max_tokens: int = 1024,
) -> str:
    """Ask for a text; its tokens stream to whoever listens, as in LangGraph's mode `messages`.

    A text that ends where the tokens ended is an answer: it was shown. A text that was begun is not asked for again.

    Raises:
        ModelError: there is no text; see `dramaturg.models.errors` for the kinds.
    """
    settings: dict[str, Any] = {"max_tokens": max_tokens} | (
        {} if temperature is None else {"temperature": temperature}
    )

    async def answer(chat: BaseChatModel) -> str:
        return await told(respondent, with_settings(chat, settings), messages)

    return await ask(respondent, Question("write", messages, str, settings), answer)


async def told(respondent: Respondent, chat: Chat, messages: Sequence[BaseMessage]) -> str:
    """Have a text written; again only as long as nothing of it was shown."""
    for _ in range(respondent.attempts):
        shown: list[str] = []
        try:
            return await counted(respondent, streamed(chat, messages, shown), said)
        except (Unread, UnusableAnswer):
            if any(shown):
                break
    raise unusable(respondent, "write")


def said(message: AIMessage) -> str:
    """The text of a message, also if the tokens ended before it did."""
    return text_of(message, cut=True).strip()


async def streamed(chat: Chat, messages: Sequence[BaseMessage], shown: list[str]) -> AIMessage:
    """Put a streamed message together; `shown` gets its parts as they come."""
    message = AIMessageChunk(content="")
    stream = cast("AsyncGenerator[AIMessageChunk]", chat.astream(list(messages)))
    async with aclosing(stream):
        async for chunk in stream:
            message += chunk
            shown.append(chunk.text)
            if len(message.text) > LONGEST:
                break
    return message


def with_settings(chat: BaseChatModel, settings: dict[str, Any]) -> Chat:
    """Set the temperature and the like: OpenAI's clients take them with a call, others as fields if they have them."""
    if speaks_openai(chat):
        return chat.bind(**settings)
    fields = type(chat).model_fields
    return chat.model_copy(update={name: value for name, value in settings.items() if name in fields})
