"""The client of a chat model, by the model's name: one a process and model, with its connections."""

import asyncio
import sys
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import openai
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from dramaturg.models.environment import Environment, environment
from dramaturg.models.errors import ModelRefused, OtherOrigin

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

DEFAULT_MODEL = "gpt-4.1-mini"  # gives log-probabilities and takes a temperature, unlike the reasoning models
TIMEOUT = 600.0  # seconds for one read; what bounds a question is its deadline
RETRIES = 2

T = TypeVar("T")

_clients: dict[tuple[str, Environment], BaseChatModel] = {}
_lock = threading.Lock()


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
    with _lock:
        if key not in _clients:
            _clients[key] = build(*key)
        return _clients[key]


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


def build(model: str, surroundings: Environment) -> BaseChatModel:
    """Build a new client."""
    if name := endpoint_name(model, surroundings):
        if not (surroundings.base_url or surroundings.api_key):
            msg = f"The model {name!r} needs an endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL, or choose 'embedded'."
            raise ModelRefused(msg)
        key = surroundings.api_key.get_secret_value() if surroundings.api_key else "none"
        return openai_compatible(name, surroundings.base_url, key, max_retries=RETRIES)
    if ":" in model:
        return from_provider(model)
    from dramaturg.models.embedded import EMBEDDED_MODEL, serve

    # The server is in this process: a new connection costs nothing, and none is left over when a loop ends.
    return openai_compatible(EMBEDDED_MODEL, serve(), "local", max_retries=0, default_headers={"Connection": "close"})


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


def openai_compatible(model: str, base_url: str | None, key: str, **parameters: Any) -> "ChatOpenAI":
    """Build a client of OpenAI or of a server that speaks its protocol."""
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=model,
        base_url=base_url,
        api_key=SecretStr(key),
        timeout=TIMEOUT,
        stream_chunk_timeout=None,
        stream_usage=True,
        http_client=blocking_connections(),
        http_async_client=connections(),
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


class ConnectionsPerLoop(openai.DefaultAsyncHttpxClient):
    """An HTTP client that sends each request through the pool of the running loop.

    A pooled connection belongs to the loop that opened it: in the next one (the next `asyncio.run`, another worker of
    a server) it fails with "Event loop is closed".
    """

    def __init__(self) -> None:
        super().__init__()
        self._pools = PerLoop(partial(openai.DefaultAsyncHttpxClient, event_hooks={"response": [refuse_elsewhere]}))

    async def send(self, request: Any, **parameters: Any) -> Any:
        """Send a request in the running loop."""
        return await self._pools.get().send(request, **parameters)


@cache
def connections() -> ConnectionsPerLoop:
    """The client of coroutines."""
    return ConnectionsPerLoop()


@cache
def blocking_connections() -> openai.DefaultHttpxClient:
    """The client of code that blocks. Reading the trusted certificates takes 25 ms: once is enough."""
    return openai.DefaultHttpxClient(event_hooks={"response": [refuse_other_origin]})


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
