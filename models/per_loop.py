"""What is made once for each event loop: locks and connections cannot move to another."""

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes one thing for each running event loop. Those of closed loops are dropped."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._things: dict[asyncio.AbstractEventLoop, T] = {}
        self._lock = threading.Lock()

    def get(self) -> T:
        """The thing of the running loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._things:
                # A WeakKeyDictionary would keep them: a semaphore that was waited for refers to its loop.
                for closed in [other for other in self._things if other.is_closed()]:
                    del self._things[closed]
                self._things[loop] = self._make()
            return self._things[loop]
