"""How a chat model is had from its name: one client a process and model."""

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel

from dramaturg.models.environment import Environment, environment
from dramaturg.models.errors import ModelRefused

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

DEFAULT_MODEL = "gpt-4.1-mini"  # gives log-probabilities and takes a temperature, unlike the reasoning models
TIMEOUT = 600.0  # seconds for one read; what bounds a question is its deadline
RETRIES = 2

_models: dict[tuple[str, Environment], BaseChatModel] = {}
_lock = threading.RLock()


def chat_model(model: str | BaseChatModel) -> BaseChatModel:
    """Build the client of a model, or give the one that this process has.

    "auto" is the endpoint of the environment if it names one, else the embedded model; "embedded" starts that model
    if it does not run yet, which takes seconds; "provider:name" is any provider that LangChain knows; another name is
    a model at the endpoint of the environment (one with a colon in it is written "openai:name").

    Raises:
        ModelRefused: the client cannot be built: no key, or the provider's package is missing.
        WeightsError: the embedded model is not there; the message says how to get it.
    """
    if isinstance(model, BaseChatModel):
        return model
    key = (resolved(model), environment())
    with _lock:
        if key not in _models:
            _models[key] = build(*key)
        return _models[key]


def resolved(model: str) -> str:
    """Say which model "auto" and an "openai:" in front stand for."""
    if model != "auto":
        return model.removeprefix("openai:")
    surroundings = environment()
    if surroundings.base_url or surroundings.api_key:
        return surroundings.chat_model or DEFAULT_MODEL
    return "embedded"


def model_name(model: str | BaseChatModel) -> str:
    """Give the name that reports, thresholds and cached answers go by, without building a client."""
    if isinstance(model, BaseChatModel):
        own = getattr(model, "model_name", None) or getattr(model, "model", None)
        return own if isinstance(own, str) else model._llm_type
    if (name := resolved(model)) != "embedded":
        return name
    from dramaturg.models.embedded import EMBEDDED_MODEL

    return EMBEDDED_MODEL


def build(model: str, surroundings: Environment) -> BaseChatModel:
    """Build a new client; `model` is resolved."""
    if model == "embedded":
        return embedded()
    if ":" in model:
        return from_provider(model)
    if not (surroundings.base_url or surroundings.api_key):
        msg = f"The model {model!r} needs an endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL, or choose 'embedded'."
        raise ModelRefused(msg)
    key = surroundings.api_key.get_secret_value() if surroundings.api_key else "none"
    return openai_compatible(model, surroundings.base_url, key, retries=RETRIES)


def embedded() -> BaseChatModel:
    """Start the embedded model and build its client."""
    from dramaturg.models.embedded import EMBEDDED_MODEL, serve

    return openai_compatible(EMBEDDED_MODEL, serve(), "local", retries=0)


def openai_compatible(model: str, base_url: str | None, key: str, *, retries: int) -> "ChatOpenAI":
    """Build a client of OpenAI or of a server that speaks its protocol."""
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    return ChatOpenAI(
        model=model,
        base_url=base_url,
        api_key=SecretStr(key),
        timeout=TIMEOUT,
        stream_chunk_timeout=None,
        max_retries=retries,
        stream_usage=True,
    )


def from_provider(model: str) -> BaseChatModel:
    """Build a client of any provider that LangChain knows, from "provider:name"."""
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(model)
    except (ImportError, ValueError) as error:
        msg = f"The model {model!r} cannot be built ({type(error).__name__}): install and set up its LangChain provider."
        raise ModelRefused(msg) from None
