"""Chat completions of OpenAI's protocol, asked for what a server takes, and looked at when they come back.

What a server is known to refuse is left out of a request. What comes back may be an error, or a page to sign in at,
with the status of an answer. A connection that closes early looks like one that is done: the protocol marks the end of
a stream twice, by the `finish_reason` of the last choice and by a line `data: [DONE]`, and there are servers that leave
out one of the two; a stream that has neither broke off. An answer in one piece needs no mark: its JSON is whole, or is
no JSON. Messages go out past what OpenAI's client does to each, which is much and changes nothing.
"""

import hashlib
import json
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages.base import merge_content
from typing_extensions import TypeIs

from dramaturg.models.reading import InvalidAnswer
from dramaturg.models.server_words import SaidInAnswer, note
from dramaturg.models.servers.endpoints import endpoint
from dramaturg.models.servers.negotiation import adapted
from dramaturg.models.servers.pace import pace_of

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI

DONE = re.compile(rb"[\r\n]data: ?\[DONE\]")
LONGEST = len(b"\ndata: [DONE]")
SMALL = 2_000  # bytes of an answer in which there can be nothing said
THOUGHT_FIELDS = ("reasoning_content", "reasoning")  # of a message, beside what it says


class BrokenOff(InvalidAnswer):
    """A stream closed before the server said that it was done."""


def adapting(client: BaseChatModel) -> BaseChatModel:
    """A client of OpenAI's protocol that asks for what its server takes; another one as it is.

    Its streams raise `BrokenOff` where they break off, and its answers `SaidInAnswer` where they are errors. Clients of
    other protocols find out for themselves, or never say how an answer ended.
    """
    if not is_openai_client(client):
        return client
    root = client.root_async_client
    completions = _Completions(client.async_client, Sender(root, client.model_name))
    root = _Around(root, chat=_Around(root.chat, completions=completions))
    return client.model_copy(update={"async_client": completions, "root_async_client": root})


def sender_of(client: BaseChatModel) -> "Sender | None":
    """What sends the requests of a client that `adapting` gave: with it what is known of its server, and its pace."""
    completions = getattr(client, "async_client", None)
    return completions.sender if isinstance(completions, _Completions) else None


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


class Sender:
    """Sends requests to one server for one model, as that takes them."""

    def __init__(self, client: Any, model: str) -> None:
        self._key = client.api_key if isinstance(client.api_key, str) else ""
        self._model = model
        self.server = endpoint(str(client.base_url), model, hashlib.sha256(self._key.encode()).hexdigest())
        self.pace = pace_of((str(client.base_url.netloc), f"Bearer {self._key}"))

    async def send(self, request: Mapping[str, Any], once: Callable[..., Awaitable[Any]]) -> Any:
        """Send a request, also again without what is refused; `once` sends it as it is given."""

        async def sent(asked: dict[str, Any]) -> Any:
            try:
                return await once(**with_messages_as_they_are(asked))
            except Exception as error:
                self.note(error, asked)
                raise

        return await adapted(self.server, request, sent)

    def note_of(self, request: Mapping[str, Any]) -> Callable[[Exception], None]:
        """What notes that with errors of one request."""
        return partial(self.note, request=request)

    def note(self, error: Exception, request: Mapping[str, Any]) -> None:
        """Note with an error what can be shown of the server's words."""
        messages = request.get("messages") or ()
        also = [*(request.get("stop") or ()), *(one["name"] for one in messages if one.get("name"))]
        said = [*messages, *({"content": text.strip()} for text in also if isinstance(text, str))]
        note(error, said, key=self._key, model=self._model)


class _Completions(_Around):
    """OpenAI's client of chat completions; whatever else is asked of it is that client's affair."""

    def __init__(self, completions: Any, sender: Sender) -> None:
        super().__init__(completions, with_raw_response=_Raw(completions.with_raw_response, sender), sender=sender)

    async def create(self, **request: Any) -> Any:
        """Send a request. Where a stream is asked for, and the server gives none, its answer is one of one part."""
        if not request.get("stream"):
            return await self.sender.send(request, self._inner.create)

        async def begun(**asked: Any) -> Any:
            if not asked.get("stream"):
                return _InOnePiece((await whole(self._inner.with_raw_response.create, **asked)).content)
            stream = await self._inner.create(**asked)
            kind = stream.response.headers.get("content-type", "")
            if "event-stream" in kind or not re.search("json|html", kind):
                return await _WholeStream(stream, self.sender.note_of(request)).begun()
            body = await stream.response.aread()
            await stream.close()
            refuse_errors(kind, body)
            return _InOnePiece(body)

        return await self.sender.send(request, begun)


class _Raw(_Around):
    """OpenAI's client that gives raw responses."""

    def __init__(self, completions: Any, sender: Sender) -> None:
        super().__init__(completions, sender=sender)

    async def parse(self, **request: Any) -> Any:
        """Send a request for an answer in a format, which is read by us: also one that ends at its limit."""
        return await self.create(**request, stream=False)  # LangChain takes that out, and some servers stream then

    async def create(self, **request: Any) -> Any:
        """Send a request."""

        async def sent(**asked: Any) -> Any:
            if asked.get("stream"):  # the server gives nothing else
                stream = (await self._inner.create(**asked)).parse()
                response: Any = _Joined([chunk async for chunk in _WholeStream(stream, self.sender.note_of(asked))])
            else:
                response = await whole(self._inner.create, **asked)
            if asked.get("logprobs") and is_without_probabilities(response.content):
                self.sender.server.doubt(["logprobs"])
            return with_thoughts_in_answer(response)

        return await self.sender.send(request, sent)


def is_without_probabilities(body: bytes) -> bool:
    """Whether an answer came to its end, or to its limit, without the probabilities that were asked for."""
    return b'"top_logprobs"' not in body and bool(re.search(rb'"finish_reason": ?"(?:stop|length)"', body))


def with_thoughts_in_answer(response: Any) -> Any:
    """A raw response whose messages have their thoughts as `with_thoughts` puts them."""
    if not any(f'"{name}"'.encode() in response.content for name in THOUGHT_FIELDS):
        return response
    try:
        answer = json.loads(response.content)
        choices = [{**one, "message": with_thoughts(one.get("message"))} for one in answer["choices"]]
    except (ValueError, TypeError, AttributeError, LookupError):
        return response  # what has no such form is the client's affair
    return _Around(response, parse=lambda: {**answer, "choices": choices})


def with_thoughts(message: Any) -> Any:
    """A message, or a part of one, whose thoughts are a block of its content: LangChain leaves out their fields."""
    if not isinstance(message, dict):
        return message
    thought = next((text for name in THOUGHT_FIELDS if isinstance(text := message.get(name), str) and text), "")
    if not thought:
        return message
    said = message.get("content") or []
    said = [{"type": "text", "text": said}] if isinstance(said, str) else said
    return {**message, "content": [{"type": "reasoning", "reasoning": thought, "index": 0}, *said]}


class _Joined:
    """A stream as the raw response of an answer in one piece."""

    headers: Mapping[str, str] = {}

    def __init__(self, chunks: Sequence[Mapping[str, Any]]) -> None:
        said, last = list[Any](), dict[str, Any]()
        ended, usage, probable = None, None, None
        for chunk in chunks:
            usage, last = chunk.get("usage") or usage, {**last, **chunk}
            for choice in (chunk.get("choices") or ())[:1]:
                said.append((choice.get("delta") or {}).get("content") or "")
                ended, probable = choice.get("finish_reason") or ended, probable or choice.get("logprobs")
        message = {"role": "assistant", "content": merge_content("", *said)}
        choices = [{"index": 0, "message": message, "finish_reason": ended, "logprobs": probable}]
        self._answer = {**last, "object": "chat.completion", "choices": choices, "usage": usage}
        self.content = json.dumps(choices).encode()

    def parse(self) -> dict[str, Any]:
        """The answer."""
        return self._answer


async def whole(send: Callable[..., Awaitable[Any]], **request: Any) -> Any:
    """A raw response that is an answer.

    Raises:
        SaidInAnswer: it is an error.
    """
    response = await send(**request)
    refuse_errors(response.headers.get("content-type", ""), response.content)
    return response


def refuse_errors(kind: str, body: bytes) -> None:
    """Look at what came with the status of an answer.

    Raises:
        SaidInAnswer: it is an error, or a page.
    """
    if "html" in kind or body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise SaidInAnswer("page", body.decode(errors="replace"))
    if len(body) > SMALL and b'"error"' not in body:
        return
    try:
        data = json.loads(body)
    except ValueError:
        return  # what is no JSON is the client's affair
    if isinstance(data, dict) and not (data.get("choices") or data.get("data")):
        if data.get("error"):
            raise SaidInAnswer("error", data["error"])
        if data.get("choices") == []:
            raise SaidInAnswer("nothing", data)


def has_choices(chunk: Any) -> bool:
    """Whether a chunk is of an answer, and not of usage or of what a filter says of the prompt."""
    return isinstance(chunk, dict) and bool(chunk.get("choices"))


class _InOnePiece:
    """An answer that did not stream, as the one chunk of a stream."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aenter__(self) -> "_InOnePiece":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def __aiter__(self) -> AsyncIterator[Any]:
        answer = json.loads(self._body)
        choices = [{**one, "delta": with_thoughts(in_parts(one.get("message")))} for one in answer.get("choices") or ()]
        yield {**answer, "object": "chat.completion.chunk", "choices": choices}


def in_parts(message: Any) -> Any:
    """A message as the only part of a stream: calls of tools are numbered there."""
    if not isinstance(message, dict) or not message.get("tool_calls"):
        return message
    return {**message, "tool_calls": [{"index": at, **one} for at, one in enumerate(message["tool_calls"])]}


class _WholeStream:
    """The chunks of a stream as plain JSON, and an error in place of an end that nobody said.

    LangChain reads mappings. OpenAI's client would make an object of each chunk, which LangChain makes a mapping of
    again: a third of what a streamed answer costs the processor.
    """

    def __init__(self, stream: Any, note: Callable[[Exception], None]) -> None:
        stream._cast_to = object
        self._note = note
        self._stream, self._body, self._done = stream, stream.response.aiter_bytes, False
        stream.response.aiter_bytes = self._heard  # the mark of the end is no chunk: it is seen in the bytes alone
        self._first, self._rest = list[Any](), self._read()

    async def begun(self) -> "_WholeStream":
        """The stream, with its chunks up to the first that is of an answer.

        There may be a refusal in place of it, and the request pass in another way; or nothing.
        """
        try:
            while not (self._first and has_choices(self._first[-1])):
                self._first.append(await anext(self._rest))
        except StopAsyncIteration:
            pass
        except BaseException:
            await self._stream.close()
            raise
        return self

    async def __aenter__(self) -> "_WholeStream":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rest.aclose()
        await self._stream.close()

    async def __aiter__(self) -> AsyncIterator[Any]:
        for chunk in self._first:
            yield chunk
        async for chunk in self._rest:
            yield chunk

    async def _read(self) -> AsyncGenerator[Any]:
        from openai import APIError

        ended, empty = None, True
        try:
            async for chunk in self._stream:
                empty = empty and not has_choices(chunk)
                for one in chunk["choices"] if has_choices(chunk) else ():
                    if isinstance(one, dict):
                        ended, one["delta"] = ended or one.get("finish_reason"), with_thoughts(one.get("delta"))
                yield chunk
        except APIError as error:  # one that a part of the stream said
            if type(error) is not APIError or not error.body:
                raise
            said = SaidInAnswer("error", error.body)
            self._note(said)
            raise said from None
        if not (ended or self._done):
            raise BrokenOff("it broke off before its end.")
        if empty:
            raise SaidInAnswer("nothing", None)

    async def _heard(self, *size: int) -> AsyncIterator[bytes]:
        before = b"\n"
        async for part in self._body(*size):
            self._done = self._done or bool(DONE.search(before + part))
            before = (before + part)[-LONGEST:]
            yield part
