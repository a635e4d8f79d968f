"""Connections to servers of models: one pool an event loop, shared by all clients of the process."""

from functools import cache
from typing import Any

import openai

from dramaturg.models.per_loop import PerLoop


class ConnectionsPerLoop(openai.DefaultAsyncHttpxClient):
    """An HTTP client that sends each request through the pool of the running loop.

    A pooled connection belongs to the loop that opened it: in the next one (the next `asyncio.run`, another worker of
    a server) it fails with "Event loop is closed".
    """

    def __init__(self) -> None:
        super().__init__()
        self._pools = PerLoop(openai.DefaultAsyncHttpxClient)

    async def send(self, request: Any, **parameters: Any) -> Any:
        """Send a request in the running loop."""
        return await self._pools.get().send(request, **parameters)


@cache
def connections() -> ConnectionsPerLoop:
    """The connections of coroutines."""
    return ConnectionsPerLoop()


@cache
def blocking_connections() -> openai.DefaultHttpxClient:
    """The connections of code that blocks. Reading the trusted certificates takes 25 ms: once is enough."""
    return openai.DefaultHttpxClient()
