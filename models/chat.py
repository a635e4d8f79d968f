"""A chat model as the questions use it: its bounds, turn and thresholds, and the account of what it costs."""

import hashlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import BaseMessage
from langchain_core.messages.ai import UsageMetadata
from pydantic import SecretStr
from typing_extensions import TypedDict

from dramaturg.models.answer_cache import AnswerCache, open_answers
from dramaturg.models.clients import chat_client, endpoint_name, name_of
from dramaturg.models.clock import TurnClock
from dramaturg.models.environment import environment
from dramaturg.models.servers.forms import about_tokens
from dramaturg.models.shared import Shared, shared

__all__ = ["Account", "ChatModel", "chat_model"]


class Usage(TypedDict):
    """The cost of the questions of one node, as plain numbers that fit into a checkpoint.

    `calls` were sent to the model, `failures` of them gave no usable answer; `cached` questions were answered from
    disk; `seconds` is the sum over calls, also of those that ran at once. Tokens are those that the server reported.
    `unanswered` is there only where questions stayed without an answer: a turn that fails is not finished from what
    took the place of one. `thought_tokens` is there only where a model thinks aloud: that many of the completion's
    tokens, as its server counts them, or else about as many as the text has.
    """

    calls: int
    cached: int
    failures: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    thought_tokens: NotRequired[int]
    unanswered: NotRequired[int]


@dataclass
class Account:
    """Counts the calls of one node run."""

    calls: int = 0
    cached: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    thought_tokens: int = 0
    unanswered: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)
    """By kind of question: how many in a row had no usable answer."""

    def record(self, seconds: float, *, usable: bool, tokens: UsageMetadata | None = None, thoughts: str = "") -> None:
        """Count one call, answered or not; its thoughts by the server, or by their text."""
        self.calls += 1
        self.failures += not usable
        self.seconds += seconds
        if tokens:
            self.prompt_tokens += token_count(tokens["input_tokens"])
            self.completion_tokens += token_count(tokens["output_tokens"])
        details = tokens.get("output_token_details", {}) if tokens else {}
        self.thought_tokens += token_count(details.get("reasoning")) or about_tokens(thoughts)
        if (all_of_it := spending.get()) and all_of_it is not self:
            all_of_it.record(seconds, usable=usable, tokens=tokens, thoughts=thoughts)

    def record_cached(self) -> None:
        """Count one question that was answered from disk."""
        self.cached += 1

    def record_unanswered(self) -> None:
        """Count one question that has no answer."""
        self.unanswered += 1

    def usage(self) -> Usage:
        """What was counted so far."""
        counts = {name: getattr(self, name) for name in Usage.__annotations__}
        return cast("Usage", {name: count for name, count in counts.items() if count or name not in SELDOM})


SELDOM = Usage.__optional_keys__
spending: ContextVar[Account | None] = ContextVar("spending", default=None)
"""Where it is set, all that is asked in this context is counted there too: a turn that fails has no usage to show."""


MEASURED: Mapping[tuple[str, str], float] = {
    ("qwen2.5-coder-1.5b", "judge"): 0.4,
    ("qwen2.5-coder-1.5b", "correct"): 0.45,
    ("qwen2.5-coder-1.5b", "incorrect"): 0.3,
    ("qwen2.5-coder-1.5b", "strip"): 0.4,
    ("qwen2.5-coder-1.5b", "same"): 0.87,
    ("qwen2.5-coder-1.5b", "scope"): 0.4,
    ("qwen2.5-coder-1.5b", "level"): 0.75,
    ("qwen2.5-coder-1.5b", "consistency"): 2.5,
    ("qwen2.5-coder-1.5b", "contradiction"): 0.4,
    ("cross-encoder", "judge"): -8.0,
}


@dataclass(frozen=True)
class ChatModel:
    """A chat model with the bounds within which it answers, and the account of what that costs."""

    model: str | BaseChatModel
    name: str
    deadline: float
    attempts: int
    concurrency: int | None
    cache: AnswerCache | None
    shared: Shared
    language: str = "en"
    seed: int | None = None
    account: Account = field(default_factory=Account)
    clock: TurnClock | None = None
    """Of the turn in which it is asked; None: its questions are bounded by their deadline alone."""
    replies: bool = False
    """Whether its answer is the turn's reply."""

    @property
    def client(self) -> BaseChatModel:
        """The client; the first use may start the embedded model, which blocks for seconds."""
        return chat_client(self.model)

    @property
    def window(self) -> int | None:
        """How many tokens a prompt and its answer may have, as the model's server or its client says; None: neither."""
        client = self.model if isinstance(self.model, BaseChatModel) else self.shared.client
        profile = getattr(client, "profile", None) or {}
        return self.shared.server.limit("context") or profile.get("max_input_tokens")

    def has_room(self, messages: Sequence[BaseMessage], answer: int) -> bool:
        """Whether a prompt, and an answer of so many tokens, are within the window, as far as that is known."""
        return self.window is None or tokens_in(messages) + answer <= self.window

    @property
    def limit(self) -> AbstractAsyncContextManager[None]:
        """Lets `concurrency` questions through at once; shared by all that ask this model in this event loop."""
        return self.shared.limit(self.concurrency) if self.concurrency else nullcontext()

    @property
    def at_once(self) -> int:
        """How many questions may be with the model at once, by now."""
        return min(self.concurrency or sys.maxsize, self.shared.pace.most)

    @property
    def identity(self) -> Any:
        """What a kept answer depends on besides the question: name, endpoint, parameters, and a digest of the key."""
        if isinstance(self.model, BaseChatModel):
            keys = [value for value in vars(self.model).values() if isinstance(value, SecretStr)]
            return [self.name, identity_of(self.model), *map(digest_of_key, keys)]
        surroundings = environment()
        if not endpoint_name(self.model, surroundings):
            return [self.name, self.model]
        return [self.name, surroundings.base_url, digest_of_key(surroundings.api_key)]


def tokens_in(messages: Sequence[BaseMessage]) -> int:
    """About how many tokens messages have, rather too many: a token is three bytes of UTF-8 or more."""
    return sum(len(one.text.encode(errors="replace")) for one in messages) // 3


def digest_of_key(key: SecretStr | None) -> str:
    """Who asks, without a way back to the key."""
    return hashlib.sha256(b"asked by " + key.get_secret_value().encode()).hexdigest() if key else ""


def token_count(reported: object) -> int:
    """A count that a server reported, or 0 where it is none."""
    return reported if isinstance(reported, int) and reported > 0 else 0


def add_usage(left: dict[str, Usage], right: dict[str, Usage]) -> dict[str, Usage]:
    """Sum usage per node: a reducer for LangGraph state, pure and (up to rounding of seconds) associative."""
    return left | {node: total(left[node], used) if node in left else used for node, used in right.items()}


def total(one: Usage, other: Usage) -> Usage:
    """Sum two usages field by field."""
    seldom = {name: count for name in SELDOM if (count := sum(cast("int", each.get(name, 0)) for each in (one, other)))}
    summed = Usage(
        calls=one["calls"] + other["calls"],
        cached=one["cached"] + other["cached"],
        failures=one["failures"] + other["failures"],
        prompt_tokens=one["prompt_tokens"] + other["prompt_tokens"],
        completion_tokens=one["completion_tokens"] + other["completion_tokens"],
        seconds=one["seconds"] + other["seconds"],
    )
    return cast("Usage", {**summed, **seldom})


def threshold(model: str, question: str, setting: float | None = None, *, unmeasured: float = 0.5) -> float:
    """The threshold of a model for a kind of judgement: a setting, else what was measured, else `unmeasured`.

    For a yes or no, 0.5 is what the model's own words would say.
    """
    return MEASURED.get((model, question), unmeasured) if setting is None else setting


def chat_model(
    model: str | BaseChatModel = "auto",
    *,
    deadline: float = 120,
    attempts: int = 2,
    concurrency: int | None = None,
    cache: Path | None = None,
    language: str = "en",
    seed: int | None = None,
) -> ChatModel:
    """Make a chat model with a fresh account. The client is built with the first question.

    Args:
        model: see `dramaturg.models.clients.chat_client`.
        deadline: seconds for one question with all its attempts, from the moment that it has its turn.
        attempts: how often an answer is asked for until it can be used.
        concurrency: the most questions that are with the model at once in one event loop; None: as many as its server
            bears, which is found out. The embedded model takes no more than it has slots.
        cache: the file that answers are kept in and taken from; None: they are not kept.
        language: of re-asks: "en", "zh", "ko"; others are re-asked in English.
        seed: of texts that are written, where the server honours it; None: the server's own chance.

    Raises:
        ValueError: a bound is not positive, or the cache cannot be used.
    """
    if deadline <= 0 or attempts < 1 or (concurrency is not None and concurrency < 1):
        msg = "The deadline, the attempts and the concurrency of a chat model must be positive."
        raise ValueError(msg)
    answers = open_answers(cache) if cache else None
    return ChatModel(model, name_of(model), deadline, attempts, concurrency, answers, shared(model), language, seed)


def identity_of(model: BaseChatModel) -> Any:
    """What LangChain serializes of a model, with secrets left out; of others, what they say identifies them."""
    known = dumpd(model)
    if known["type"] == "constructor":
        return known
    return [known["id"], {name: repr(value) for name, value in model._identifying_params.items()}]
