"""What all chats with one model share."""

import asyncio
import threading
import weakref
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from langchain_core.language_models import BaseChatModel

from dramaturg.models.clients import slots
from dramaturg.models.environment import Environment, environment
from dramaturg.models.per_loop import PerLoop
from dramaturg.models.servers.endpoints import Endpoint
from dramaturg.models.servers.pace import Pace


@dataclass
class Shared:
    """Whose turn it is, and what the server takes."""

    limits: dict[int, PerLoop[asyncio.Semaphore]] = field(default_factory=dict)
    server: Endpoint = field(default_factory=Endpoint)
    """Of a client of OpenAI's protocol what is kept of its server, once it was asked."""
    first: PerLoop[asyncio.Lock] = field(default_factory=partial(PerLoop, asyncio.Lock))
    """For questions whose answer the first token may not tell."""
    undecided: Counter[str] = field(default_factory=Counter)
    """By kind of question: how often in a row the first token did not tell the answer."""
    pace: Pace = field(default_factory=Pace)
    """Of a client of OpenAI's protocol that of its server, once it was asked."""
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
            _shared[key] = Shared(pace=Pace(slots(model)))
            if isinstance(key, int):
                weakref.finalize(model, _shared.pop, key)
        return _shared[key]
