"""A chat model as the questions use it: its bounds, its turn, and the account of what it costs."""

import asyncio
import threading
import weakref
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd

from dramaturg.models.account import Account
from dramaturg.models.answer_cache import AnswerCache, open_answers
from dramaturg.models.client import PerLoop, chat_client, endpoint_name, name_of, slots
from dramaturg.models.environment import Environment, environment


@dataclass(frozen=True)
class Shared:
    """What all chats with one model share: whose turn it is, and which ways of asking its server refuses."""

    limits: dict[int, PerLoop[asyncio.Semaphore]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)


_shared: dict[tuple[str, Environment] | int, Shared] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class ChatModel:
    """A chat model with the bounds within which it answers, and the account of what that costs."""

    model: str | BaseChatModel
    name: str
    deadline: float
    attempts: int
    concurrency: int
    cache: AnswerCache | None
    shared: Shared
    language: str = "en"
    seed: int | None = None
    account: Account = field(default_factory=Account)

    @property
    def client(self) -> BaseChatModel:
        """The client; the first use may start the embedded model, which blocks for seconds."""
        return chat_client(self.model)

    @property
    def limit(self) -> asyncio.Semaphore:
        """Lets `concurrency` questions through at once; shared by all that ask this model in this event loop."""
        with _lock:
            make = partial(asyncio.Semaphore, self.concurrency)
            limits = self.shared.limits.setdefault(self.concurrency, PerLoop(make))
        return limits.get()

    @property
    def identity(self) -> Any:
        """What a kept answer depends on besides the question: name, endpoint and parameters, without secrets."""
        if isinstance(self.model, BaseChatModel):
            return [self.name, identity_of(self.model)]
        surroundings = environment()
        return [self.name, surroundings.base_url if endpoint_name(self.model, surroundings) else self.model]


def chat_model(
    model: str | BaseChatModel = "auto",
    *,
    deadline: float = 120,
    attempts: int = 2,
    concurrency: int = 4,
    cache: Path | None = None,
    language: str = "en",
    seed: int | None = None,
) -> ChatModel:
    """Make a chat model with a fresh account. The client is built with the first question.

    Args:
        model: see `dramaturg.models.client.chat_client`.
        deadline: seconds for one question with all its attempts, from the moment that it has its turn.
        attempts: how often an answer is asked for until it can be used.
        concurrency: questions that are with the model at once in one event loop; the embedded model takes no more than
            it has slots.
        cache: the file that answers are kept in and taken from; None: they are not kept.
        language: of re-asks: "en", "zh", "ko"; others are re-asked in English.
        seed: of texts that are written, where the server honours it; None: the server's own chance.

    Raises:
        ValueError: a bound is not positive, or the cache cannot be used.
    """
    if deadline <= 0 or attempts < 1 or concurrency < 1:
        msg = "The deadline, the attempts and the concurrency of a chat model must be positive."
        raise ValueError(msg)
    answers, at_once = open_answers(cache) if cache else None, min(concurrency, slots(model))
    return ChatModel(model, name_of(model), deadline, attempts, at_once, answers, shared(model), language, seed)


def identity_of(model: BaseChatModel) -> Any:
    """What LangChain serializes of a model, with secrets left out; of others, what they say identifies them."""
    known = dumpd(model)
    if known["type"] == "constructor":
        return known
    return [known["id"], {name: repr(value) for name, value in model._identifying_params.items()}]


def shared(model: str | BaseChatModel) -> Shared:
    """Find what all chats with a model share. A model object takes its part with it when it goes."""
    key = id(model) if isinstance(model, BaseChatModel) else (model, environment())
    with _lock:
        if key not in _shared:
            _shared[key] = Shared()
            if isinstance(key, int):
                weakref.finalize(model, _shared.pop, key)
        return _shared[key]
