"""A chat model as the questions use it: its client, bounds, turn and thresholds, and the account of what it costs."""

import asyncio
import hashlib
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NotRequired, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages.ai import UsageMetadata
from pydantic import SecretStr
from typing_extensions import TypedDict, TypeIs

from dramaturg.models.answer_cache import AnswerCache, open_answers
from dramaturg.models.environment import Environment, environment
from dramaturg.models.errors import ModelRefused

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI
    from langchain_openai.chat_models.base import BaseChatOpenAI

    from dramaturg.models.asking import TurnClock

__all__ = ["Account", "ChatModel", "chat_model"]

DEFAULT_MODEL = "gpt-4.1-mini"  # gives log-probabilities and takes a temperature, unlike the reasoning models
TIMEOUT = 600.0  # seconds for one read; what bounds a question is its deadline

_clients: dict[tuple[str, Environment], BaseChatModel] = {}
_building = threading.Lock()  # held for seconds where the embedded model starts


def chat_client(model: str | BaseChatModel) -> BaseChatModel:
    """Build the client of a model, or give the one that this process has.

    "auto" is the endpoint of the environment if it names one, else the embedded model; "embedded" starts that model
    if it does not run yet, which takes seconds; "provider:name" is any provider that LangChain knows; another name is
    a model at the endpoint of the environment (one with a colon in it is written "openai:name").

    Raises:
        ModelRefused: there is no key, or the provider's package is missing.
        WeightsError: the embedded model is not there.
    """
    if isinstance(model, BaseChatModel):
        return model
    key = (model, environment())
    with _building:
        if key not in _clients:
            _clients[key] = new_client(*key)
        return _clients[key]


def is_openai_client(client: BaseChatModel) -> "TypeIs[BaseChatOpenAI]":
    """Whether a model is LangChain's client of OpenAI's protocol: only who made one has its package imported.

    To import it for this question takes a second.
    """
    module = sys.modules.get("langchain_openai.chat_models.base")
    return isinstance(client, getattr(module, "BaseChatOpenAI", ()))


def name_of(model: str | BaseChatModel) -> str:
    """The name that reports, thresholds and kept answers go by; no client is built."""
    if isinstance(model, BaseChatModel):
        own = getattr(model, "model_name", None) or getattr(model, "model", None)
        return own if isinstance(own, str) else model._llm_type
    if name := endpoint_name(model, environment()):
        return name
    if ":" in model:
        return model
    from dramaturg.models.embedded import EMBEDDED_MODEL

    return EMBEDDED_MODEL


def endpoint_name(model: str, surroundings: Environment) -> str | None:
    """The model's name at the endpoint of the environment, or None if it is not asked there."""
    if model == "auto":
        named = surroundings.base_url or surroundings.api_key
        return (surroundings.chat_model or DEFAULT_MODEL) if named else None
    if model.startswith("openai:"):
        return model.removeprefix("openai:")
    return None if model == "embedded" or ":" in model else model


def new_client(model: str, surroundings: Environment) -> BaseChatModel:
    """Build a new client."""
    if name := endpoint_name(model, surroundings):
        if not (surroundings.base_url or surroundings.api_key):
            msg = f"The model {name!r} needs an endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL, or choose 'embedded'."
            raise ModelRefused(msg)
        key = surroundings.api_key.get_secret_value() if surroundings.api_key else "none"
        return openai_compatible(name, surroundings.base_url, key)
    if ":" in model:
        return from_provider(model)
    from dramaturg.models.embedded import EMBEDDED_MODEL, serve

    # The server is in this process: a new connection costs nothing, and none is left over when a loop ends.
    return openai_compatible(EMBEDDED_MODEL, serve(), "local", retries=0, default_headers={"Connection": "close"})


def slots(model: str | BaseChatModel) -> int:
    """How many questions a model takes at once, where that is known."""
    if not is_embedded(model):
        return sys.maxsize
    from dramaturg.models.embedded import SLOTS

    return SLOTS


def writing_parameters(model: str | BaseChatModel) -> dict[str, Any]:
    """The parameters with which a model writes free text best, where that was measured."""
    if not is_embedded(model):
        return {}
    from dramaturg.models.embedded import WRITING

    return WRITING


def is_embedded(model: str | BaseChatModel) -> bool:
    """Whether a model is the embedded one."""
    return not (isinstance(model, BaseChatModel) or ":" in model or endpoint_name(model, environment()))


def openai_compatible(
    model: str, base_url: str | None, key: str, *, retries: int | None = None, **parameters: Any
) -> "ChatOpenAI":
    """Build a client of OpenAI or of a server that speaks its protocol; its connections send a request again."""
    from langchain_openai import ChatOpenAI

    from dramaturg.models.connections import RETRIES, blocking_connections, connections

    retries = RETRIES if retries is None else retries
    return ChatOpenAI(
        model=model,
        base_url=base_url,
        api_key=SecretStr(key),
        timeout=TIMEOUT,
        stream_chunk_timeout=None,
        stream_usage=True,
        max_retries=0,
        http_client=blocking_connections(retries),
        http_async_client=connections(retries),
        **parameters,
    )


def from_provider(model: str) -> BaseChatModel:
    """Build a client of any provider that LangChain knows, from "provider:name"."""
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(model)
    except (ImportError, ValueError) as error:
        cause = type(error).__name__
        msg = f"The model {model!r} cannot be built ({cause}): install its LangChain provider and set its key."
        raise ModelRefused(msg) from None


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


class Usage(TypedDict):
    """The cost of the questions of one node, as plain numbers that fit into a checkpoint.

    `calls` were sent to the model, `failures` of them gave no usable answer; `cached` questions were answered from
    disk; `seconds` is the sum over calls, also of those that ran at once. Tokens are those that the server reported.
    `unanswered` is there only where questions stayed without an answer: a turn that fails is not finished from what
    took the place of one.
    """

    calls: int
    cached: int
    failures: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
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
    unanswered: int = 0

    def record(self, seconds: float, *, usable: bool, tokens: UsageMetadata | None = None) -> None:
        """Count one call, answered or not."""
        self.calls += 1
        self.failures += not usable
        self.seconds += seconds
        if tokens:
            self.prompt_tokens += token_count(tokens["input_tokens"])
            self.completion_tokens += token_count(tokens["output_tokens"])

    def record_cached(self) -> None:
        """Count one question that was answered from disk."""
        self.cached += 1

    def record_unanswered(self) -> None:
        """Count one question that has no answer."""
        self.unanswered += 1

    def usage(self) -> Usage:
        """What was counted so far."""
        return cast("Usage", {name: count for name, count in asdict(self).items() if count or name != "unanswered"})


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


@dataclass
class Shared:
    """What all chats with one model share: whose turn it is, and which ways of asking its server refuses."""

    limits: dict[int, PerLoop[asyncio.Semaphore]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    client: BaseChatModel | None = None
    """Of a model that goes by a name, once it was asked; an object is its own."""


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
    clock: "TurnClock | None" = None
    """Of the turn in which it is asked; None: its questions are bounded by their deadline alone."""
    replies: bool = False
    """Whether its answer is the turn's reply."""

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
        """What a kept answer depends on besides the question: name, endpoint, parameters, and a digest of the key."""
        if isinstance(self.model, BaseChatModel):
            keys = [value for value in vars(self.model).values() if isinstance(value, SecretStr)]
            return [self.name, identity_of(self.model), *map(digest_of_key, keys)]
        surroundings = environment()
        if not endpoint_name(self.model, surroundings):
            return [self.name, self.model]
        return [self.name, surroundings.base_url, digest_of_key(surroundings.api_key)]


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
    unanswered = one.get("unanswered", 0) + other.get("unanswered", 0)
    summed = Usage(
        calls=one["calls"] + other["calls"],
        cached=one["cached"] + other["cached"],
        failures=one["failures"] + other["failures"],
        prompt_tokens=one["prompt_tokens"] + other["prompt_tokens"],
        completion_tokens=one["completion_tokens"] + other["completion_tokens"],
        seconds=one["seconds"] + other["seconds"],
    )
    return {**summed, "unanswered": unanswered} if unanswered else summed


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
    concurrency: int = 4,
    cache: Path | None = None,
    language: str = "en",
    seed: int | None = None,
) -> ChatModel:
    """Make a chat model with a fresh account. The client is built with the first question.

    Args:
        model: see `dramaturg.models.chat.chat_client`.
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
