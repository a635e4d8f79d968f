"""Free text, streamed."""

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import Runnable

from dramaturg.models.asking import Question, ask, counted, until_usable
from dramaturg.models.chat import Respondent
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.reading import LONGEST, Unread, text_of
from dramaturg.models.structured import speaks_openai


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
    settings = {"max_tokens": max_tokens} | ({} if temperature is None else {"temperature": temperature})

    async def answer(chat: BaseChatModel) -> str:
        def attempt(_: Unread | None) -> Awaitable[str]:
            return counted(respondent, streamed(with_settings(chat, settings), messages), written)

        return await until_usable(respondent, "write", attempt)

    return await ask(respondent, Question("write", messages, str, settings), answer)
