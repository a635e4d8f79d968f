"""What is made once and used by many: for each event loop, and for each model by all chats with it."""

import asyncio
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from langchain_core.language_models import BaseChatModel

from dramaturg.models.environment import Environment, environment

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes one thing for each running event loop: locks and connections cannot move to another.

    Those of closed loops are dropped.
    """

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


@dataclass
class Shared:
    """What all chats with one model share: whose turn it is, and which ways of asking its server refuses."""

    limits: dict[int, PerLoop[asyncio.Semaphore]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    client: BaseChatModel | None = None
    """Of a model that goes by a name, once it was asked; an object is its own."""

    def limit(self, at_once: int) -> asyncio.Semaphore:
        """Lets so many questions through at once: one for all chats of this event loop with this bound."""
        with _lock:
            limits = self.limits.setdefault(at_once, PerLoop(partial(asyncio.Semaphore, at_once)))
        return limits.get()


_shared: dict[tuple[str, Environment] | int, Shared] = {}
_lock = threading.Lock()


def shared(model: str | BaseChatModel) -> Shared:
    """Find what all chats with a model share. A model object takes its part with it when it goes."""
    key = id(model) if isinstance(model, BaseChatModel) else (model, environment())
    with _lock:
        if key not in _shared:
            _shared[key] = Shared()
            if isinstance(key, int):
                weakref.finalize(model, _shared.pop, key)
        return _shared[key]
