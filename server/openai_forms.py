"""OpenAI's forms: completions, their chunks as events, models, and errors."""

import asyncio
import base64
import json
import logging
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import quote

from langchain_core.messages import BaseMessage
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from dramaturg.conversations.turn_lock import ThreadBusy
from dramaturg.models.chat import total
from dramaturg.models.errors import ModelError, ModelRefused, ModelTimeout, ModelUnavailable, WeightsError
from dramaturg.server.access import refusal
from dramaturg.server.chat_requests import Unfit
from dramaturg.server.rooms import UnknownModel
from dramaturg.stores.errors import RoleBusy, RoleError, StorageError

log = logging.getLogger(__name__)
ADDRESSES = ("/v1/models", "/v1/chat/completions", "/v1/embeddings", "/v1/threads?role=NAME", "/health")
STOPPED = "The server was stopped; the reply so far is saved: ask again when it is running."


class EventStream(StreamingResponse):
    """Server-sent events."""

    def __init__(
        self, events: AsyncIterator[str], headers: Mapping[str, str], after: Callable[[], None] = lambda: None
    ) -> None:
        kept = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **headers}
        super().__init__(events, media_type="text/event-stream", headers=kept)
        self.after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them; afterwards, or where nobody takes them any more, do what is to be done then."""
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:  # the server ends, and waits no longer
            error = {"message": STOPPED, "type": "server_error", "param": None, "code": "stopped"}
            await send({"type": "http.response.body", "body": event({"error": error}).encode()})
        finally:
            self.after()


async def said_at_once(text: str, about: dict[str, Any], finish: str) -> AsyncIterator[str]:
    """A text as events."""
    yield chunk(about, {"role": "assistant", "content": text})
    yield chunk(about, {}, finish=finish)
    yield "data: [DONE]\n\n"


def event(body: Mapping[str, Any]) -> str:
    """One event of a stream."""
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def chunk(about: Mapping[str, Any], delta: Mapping[str, str], finish: str | None = None) -> str:
    """A part of a completion."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return event({**about, "object": "chat.completion.chunk", "choices": [choice]})


def finish_of(message: BaseMessage | None) -> str:
    """Why a text has ended: "length" where its tokens did before it."""
    return "length" if message and message.response_metadata.get("finish_reason") == "length" else "stop"


def completion(about: Mapping[str, Any], text: str, output: Mapping[str, Any], finish: str) -> dict[str, Any]:
    """A whole completion."""
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return {**about, "object": "chat.completion", "choices": [choice], "usage": usage_of(output)}


def usage_of(output: Mapping[str, Any]) -> dict[str, Any]:
    """What a turn has cost so far, in OpenAI's names."""
    used: list[Any] = list((output.get("usage") or {}).values())
    sums: Any = used[0] if used else {}
    for one in used[1:]:
        sums = total(sums, one)
    read, written = int(sums.get("prompt_tokens", 0)), int(sums.get("completion_tokens", 0))
    thought = (
        {"completion_tokens_details": {"reasoning_tokens": sums["thought_tokens"]}}
        if sums.get("thought_tokens")
        else {}
    )
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written, **thought}


def told(about: Mapping[str, Any]) -> dict[str, str]:
    """The thread of a turn, for who wants to name it the next time."""
    return {"X-Role-Thread": quote(str(about.get("thread", "")), safe=" !#$&'()*+,/:;=?@[]")}


def shown_model(name: str) -> dict[str, Any]:
    """A model as a client lists it."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "dramaturg"}


def packed(vector: list[float]) -> str:
    """A vector as OpenAI's clients ask for it: little-endian floats of 32 bits, in base64."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def described(error: Exception) -> tuple[int, str, str]:
    """The status, the sentence and the code of an error."""
    known: Mapping[type[Exception], tuple[int, str]] = {
        UnknownModel: (404, "model_not_found"),
        RoleError: (400, "role"),
        ThreadBusy: (409, "thread_busy"),
        RoleBusy: (409, "role_busy"),
        StorageError: (503, "storage"),
        ModelTimeout: (504, "model_timeout"),
        ModelUnavailable: (503, "model_unavailable"),
        ModelRefused: (502, "model_refused"),
        ModelError: (502, "model_error"),
        WeightsError: (503, "weights"),
        ValueError: (400, "invalid_request"),
        RuntimeError: (500, "server_error"),
    }
    for kind, (status, code) in known.items():
        if isinstance(error, kind):
            return status, str(error) or type(error).__name__, code
    return 500, "The server failed: its log says why.", "server_error"


async def failed(_: Request, error: Exception) -> Response:
    """Answer an error."""
    status, message, code = described(error)
    if status == 500:
        log.error("A request failed.", exc_info=error)
    return refusal(status, message, code, error.field if isinstance(error, Unfit) else None)


async def unreadable(_: Request, error: ValidationError) -> Response:
    """Answer a body that has another form."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    what = first["msg"].removeprefix("Value error, ")
    return refusal(
        400, f"The request cannot be read: {where + ': ' if where else ''}{what}.", "invalid_request", where or None
    )


async def refused(_: Request, error: HTTPException) -> Response:
    """Answer what there is not."""
    known = f"There is no such address here: {', '.join(ADDRESSES)}." if error.detail == "Not Found" else error.detail
    codes = {403: "read_only", 404: "not_found", 409: "changed"}
    return refusal(error.status_code, known, codes.get(error.status_code, "invalid_request"))
