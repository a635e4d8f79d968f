"""Whether a streamed answer came to its end: a connection that closes early looks like one that is done.

OpenAI's protocol marks the end twice, by the `finish_reason` of the last choice and by a line `data: [DONE]`. There are
servers that leave out one of the two; a stream that has neither broke off. An answer in one piece needs no mark: its
JSON is whole, or is no JSON. Messages go out past what OpenAI's client does to each, which is much and changes nothing.
"""

import re
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from typing_extensions import TypeIs

from dramaturg.models.reading import InvalidAnswer

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI

DONE = re.compile(rb"[\r\n]data: ?\[DONE\]")
LONGEST = len(b"\ndata: [DONE]")


class BrokenOff(InvalidAnswer):
    """A stream closed before the server said that it was done."""


def heeding_ends(client: BaseChatModel) -> BaseChatModel:
    """A client of OpenAI's protocol whose streams raise `BrokenOff` where they break off; another one as it is.

    Clients of other protocols find out for themselves, or never say how an answer ended.
    """
    if not is_openai_client(client):
        return client
    completions = _HeedingEnds(client.async_client)
    root = _Around(client.root_async_client, chat=_Around(client.root_async_client.chat, completions=completions))
    return client.model_copy(update={"async_client": completions, "root_async_client": root})


def is_openai_client(client: BaseChatModel) -> "TypeIs[BaseChatOpenAI]":
    """Whether a model is LangChain's client of OpenAI's protocol: only who made one has its package imported.

    To import it for this question takes a second.
    """
    module = sys.modules.get("langchain_openai.chat_models.base")
    return isinstance(client, getattr(module, "BaseChatOpenAI", ()))


def with_messages_as_they_are(request: dict[str, Any]) -> dict[str, Any]:
    """A request that sends the same, whose messages OpenAI's client does not go through.

    It compares each part of each message with all forms that its annotations allow, to rename none of them: with a
    full window that is a third of what a call costs the processor.
    """
    messages = request.get("messages")
    return {**request, "messages": [], "extra_body": {**(request.get("extra_body") or {}), "messages": messages}}


class _Around:
    """An object, but for some attributes."""

    def __init__(self, inner: Any, **others: Any) -> None:
        self._inner = inner
        vars(self).update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _AsTheyAre:
    """OpenAI's client that gives raw responses, whose messages are sent as they are."""

    def __init__(self, completions: Any) -> None:
        self._completions = completions

    async def create(self, **request: Any) -> Any:
        """Send a request."""
        return await self._completions.create(**with_messages_as_they_are(request))

    async def parse(self, **request: Any) -> Any:
        """Send a request for an answer in a format."""
        return await self._completions.parse(**with_messages_as_they_are(request))


class _HeedingEnds(_Around):
    """OpenAI's client of chat completions; whatever else is asked of it is that client's affair."""

    def __init__(self, completions: Any) -> None:
        super().__init__(completions, with_raw_response=_AsTheyAre(completions.with_raw_response))

    async def create(self, **request: Any) -> Any:
        """Send a request."""
        from openai import AsyncStream

        answer = await self._inner.create(**with_messages_as_they_are(request))
        return _WholeStream(answer) if isinstance(answer, AsyncStream) else answer


class _WholeStream:
    """The chunks of a stream as plain JSON, and an error in place of an end that nobody said.

    LangChain reads mappings. OpenAI's client would make an object of each chunk, which LangChain makes a mapping of
    again: a third of what a streamed answer costs the processor.
    """

    def __init__(self, stream: Any) -> None:
        stream._cast_to = object
        self._stream, self._body, self._done = stream, stream.response.aiter_bytes, False
        stream.response.aiter_bytes = self._heard  # the mark of the end is no chunk: it is seen in the bytes alone

    async def __aenter__(self) -> "_WholeStream":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.close()

    async def __aiter__(self) -> AsyncIterator[Any]:
        ended = False
        async for chunk in self._stream:
            choices = chunk.get("choices") if isinstance(chunk, dict) else None
            ended = ended or any(isinstance(one, dict) and one.get("finish_reason") for one in choices or ())
            yield chunk
        if not (ended or self._done):
            raise BrokenOff("it broke off before its end.")

    async def _heard(self, *size: int) -> AsyncIterator[bytes]:
        before = b"\n"
        async for part in self._body(*size):
            self._done = self._done or bool(DONE.search(before + part))
            before = (before + part)[-LONGEST:]
            yield part
