"""Connections to endpoints: a pool for each event loop, requests that are sent again, redirects within a server alone.

Nothing else sends a request again: the clients of OpenAI's package are told not to.
"""

import asyncio
import time
from functools import cache, partial
from importlib import import_module
from typing import Any, cast

import openai

from dramaturg.models.clock import question_ends
from dramaturg.models.errors import OtherOrigin, retry_after
from dramaturg.models.per_loop import PerLoop
from dramaturg.models.servers.pace import Place, held, pace_of

RETRIES = 2
MOMENT = 0.5  # seconds before a request is sent again, twice as many before the next time
LONGEST = 60.0  # seconds that are waited for a server where no question has an end
TOO_MANY = (429, 503)
AGAIN = (408, 409, *TOO_MANY)  # the statuses, and all from 500 on, after which the same request may be answered

# What OpenAI's package is built on: httpx, or its successor.
_http: Any = import_module(openai.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
LOST: tuple[type[Exception], ...] = (_http.RemoteProtocolError, _http.ReadError, _http.WriteError)
"""A connection that was kept, and that the server has closed meanwhile."""


def pause_after(response: Any, sent: int, retries: int) -> float | None:
    """Seconds after which a request is sent again; None: it is not.

    Args:
        response: None: the connection was lost.
        sent: how often it was sent.
        retries: how often it may be sent again.
    """
    if sent > retries or not (response is None or response.status_code in AGAIN or response.status_code >= 500):
        return None
    wished = None if response is None else retry_after(response.headers)
    pause = MOMENT * 2 ** (sent - 1) if wished is None else wished
    ends = question_ends.get()
    return pause if pause < (LONGEST if ends is None else ends - time.monotonic()) else None


class ConnectionsPerLoop(openai.DefaultAsyncHttpxClient):
    """An HTTP client that sends each request through the pool of the running loop, and again where that may help.

    A pooled connection belongs to the loop that opened it: in the next one (the next `asyncio.run`, another worker of
    a server) it fails with "Event loop is closed".
    """

    def __init__(self, retries: int) -> None:
        super().__init__()
        self._retries = retries
        self._pools = PerLoop(partial(openai.DefaultAsyncHttpxClient, event_hooks={"response": [refuse_elsewhere]}))

    async def send(self, request: Any, **parameters: Any) -> Any:
        """Send a request in the running loop; what no question asks waits for a place of its own."""
        if held.get():
            return await self._send(request, parameters)
        pace = pace_of((str(request.url.netloc), request.headers.get("authorization")))
        async with pace.place(1, None):
            return await self._send(request, parameters)

    async def _send(self, request: Any, parameters: Any) -> Any:
        pool, place, sent = self._pools.get(), cast("Place", held.get()), 0
        while True:
            sent, response = sent + 1, cast("Any", None)
            try:
                response = await pool.send(request, **parameters)
            except LOST:
                if (pause := pause_after(None, sent, self._retries)) is None:
                    raise
            else:
                pause = pause_after(response, sent, self._retries)
                place.heed(too_many=response.status_code in TOO_MANY, pause=pause or 0)
            if pause is None:
                return response
            if response is not None:
                await response.aclose()
            if response is not None and response.status_code in TOO_MANY:
                await place.again()
            else:
                await asyncio.sleep(pause)


class BlockingConnections(openai.DefaultHttpxClient):
    """The same for code that blocks, in whatever thread."""

    def __init__(self, retries: int) -> None:
        super().__init__(event_hooks={"response": [refuse_other_origin]})
        self._retries = retries

    def send(self, request: Any, **parameters: Any) -> Any:
        """Send a request."""
        sent = 0
        while True:
            sent, response = sent + 1, cast("Any", None)
            try:
                response = super().send(request, **parameters)
            except LOST:
                if (pause := pause_after(None, sent, self._retries)) is None:
                    raise
            else:
                pause = pause_after(response, sent, self._retries)
            if pause is None:
                return response
            if response is not None:
                response.close()
            time.sleep(pause)


@cache
def connections(retries: int = RETRIES) -> ConnectionsPerLoop:
    """The client of coroutines."""
    return ConnectionsPerLoop(retries)


@cache
def blocking_connections(retries: int = RETRIES) -> BlockingConnections:
    """The client of code that blocks. Reading the trusted certificates takes 25 ms: once is enough."""
    return BlockingConnections(retries)


def sending(retries: int = RETRIES) -> dict[str, Any]:
    """The parameters of a client of LangChain's that sends through these connections, and nothing again by itself."""
    return {
        "max_retries": 0,
        "http_client": blocking_connections(retries),
        "http_async_client": connections(retries),
    }


def refuse_other_origin(response: Any) -> None:
    """Follow a redirect within a server alone: another one would be given the key.

    Raises:
        OtherOrigin: it leads elsewhere.
    """
    if response.has_redirect_location:
        target = response.url.join(response.headers["location"])
        if (target.scheme, target.host, target.port) != (response.url.scheme, response.url.host, response.url.port):
            there = f"{target.scheme}://{target.netloc.decode()}"
            raise OtherOrigin(f"sends us to {there}: if you trust it, name that in OPENAI_BASE_URL.")


async def refuse_elsewhere(response: Any) -> None:
    """See `refuse_other_origin`."""
    refuse_other_origin(response)
