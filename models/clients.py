"""The client of a chat model: which one a name means, each built once a process."""

import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from dramaturg.models.environment import Environment, environment
from dramaturg.models.errors import ModelRefused

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

DEFAULT_MODEL = "gpt-4.1-mini"  # gives log-probabilities and takes a temperature, unlike the reasoning models
OPENAI = "https://api.openai.com/v1"
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


def name_of(model: str | BaseChatModel) -> str:
    """The name that reports, thresholds and kept answers go by; no client is built."""
    if isinstance(model, BaseChatModel):
        own = getattr(model, "model_name", None) or getattr(model, "model", None)
        return own if isinstance(own, str) else model._llm_type
    if name := endpoint_name(model, environment()):
        return name
    if ":" in model:
        return model
    from dramaturg.models.local.embedded import EMBEDDED_MODEL

    return EMBEDDED_MODEL


def address_of(model: str | BaseChatModel) -> str:
    """The address that a model is asked at, without what may be secret in it; no client is built.

    Empty: it is embedded, or another package knows where its provider is.
    """
    if isinstance(model, BaseChatModel):
        address = getattr(model, "openai_api_base", None)
    else:
        address = endpoint_name(model, environment()) and (environment().base_url or OPENAI)
    if not isinstance(address, str):
        return ""
    place = urlsplit(address)
    return urlunsplit((place.scheme, place.netloc.rpartition("@")[2], place.path, "", ""))


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
    from dramaturg.models.local.embedded import EMBEDDED_MODEL, serve

    # The server is in this process: a new connection costs nothing, and none is left over when a loop ends.
    return openai_compatible(EMBEDDED_MODEL, serve(), "local", retries=0, default_headers={"Connection": "close"})


def slots(model: str | BaseChatModel) -> int | None:
    """How many questions a model takes at once, where that is known."""
    if not is_embedded(model):
        return None
    from dramaturg.models.local.embedded import SLOTS

    return SLOTS


def writing_parameters(model: str | BaseChatModel) -> dict[str, Any]:
    """The parameters with which a model writes free text best, where that was measured."""
    if not is_embedded(model):
        return {}
    from dramaturg.models.local.embedded import WRITING

    return WRITING


def is_embedded(model: str | BaseChatModel) -> bool:
    """Whether a model is the embedded one."""
    return not (isinstance(model, BaseChatModel) or ":" in model or endpoint_name(model, environment()))


def openai_compatible(
    model: str, base_url: str | None, key: str, *, retries: int | None = None, **parameters: Any
) -> "ChatOpenAI":
    """Build a client of OpenAI or of a server that speaks its protocol; its connections send a request again."""
    from langchain_openai import ChatOpenAI

    from dramaturg.models.servers.connections import RETRIES, sending

    return ChatOpenAI(
        model=model,
        base_url=base_url,
        api_key=SecretStr(key),
        timeout=TIMEOUT,
        stream_chunk_timeout=None,
        stream_usage=True,
        **sending(RETRIES if retries is None else retries),
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
