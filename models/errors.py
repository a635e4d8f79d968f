"""What can go wrong between a question and its answer, and which errors of client libraries mean it.

Every error derives from RuntimeError, so that a LangGraph server shows its text to clients. Of what a server said a
message repeats what `dramaturg.models.server_words` lets through: servers echo keys, and what was asked.
"""

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

from dramaturg.models.server_words import SaidInAnswer, said_by, words_of


class WeightsError(RuntimeError):
    """Weights of an embedded model are missing, damaged or cannot be had."""


class ModelError(RuntimeError):
    """A model was asked and there is no answer that can be used."""

    lasts: float = 0.0
    """Seconds for which every question would fail like this; infinite where somebody has to change something first."""


class ModelUnavailable(ModelError):
    """No connection, too many requests, or a failing server: the same question may be answered another time."""


class ModelTimeout(ModelError):
    """The answer was not complete within the deadline of the question."""


class ModelRefused(ModelError):
    """The server refuses the request as it is: key, model name, or a prompt that is too long."""


class PromptRefused(ModelRefused):
    """This prompt is too long, cannot be encoded, or is refused by a server that takes others like it."""


class RequestRejected(ModelRefused):
    """The server refuses the request as it is put together: without one of its parameters it may pass."""


class UnusableAnswer(ModelError):
    """The model answered, also when asked again, but not in a form that answers the question."""


class Filtered(UnusableAnswer):
    """A filter of the server's kept the question, or its answer, back."""


class OtherOrigin(RuntimeError):
    """A server sends whoever asks to another one, which would see the key and the prompt."""


UNANSWERED = (UnusableAnswer, ModelTimeout, PromptRefused)
"""Errors that leave one question without an answer; after the others, no question will be answered now."""
REFUSED = (Filtered, PromptRefused, RequestRejected)
"""Those in which a server does not take what it is asked. Of one question it may be about that one alone; who has many
to ask counts the first ones."""


ADVICE: dict[type[ModelError], str] = {
    ModelUnavailable: "The connection to the model {name!r} was lost ({seen}): see that its server runs, and go on.",
    ModelTimeout: "The model {name!r} took too long ({seen}): set a longer deadline, or choose a faster model.",
    ModelRefused: "The model {name!r} refuses the request ({seen}): check {setting}, the key and the prompt's length.",
    PromptRefused: "The model {name!r} cannot take this prompt ({seen}): make what is sent shorter.",
    RequestRejected: "The model {name!r} refuses the request ({seen}): check the prompt's length and its settings.",
    UnusableAnswer: "The model {name!r} sent something else than an answer ({seen}): check that OPENAI_BASE_URL and "
    "{setting} name a model of this kind.",
    Filtered: "The server of the model {name!r} holds back what its filter does not let through ({seen}): say it in "
    "other words, or choose another model.",
}
PAGE = (
    "The server of the model {name!r} sent a page instead of an answer: see that OPENAI_BASE_URL names its API (it "
    "often ends in /v1), and that nothing before it asks you to sign in."
)
NOTHING = "The server of the model {name!r} gave no answer, and no error: ask again, or look into its log."
OF_WORDS = "dramaturg_of_words"
"""What is noted with an error where a server took other requests of the same form: it is about what was said."""
THIS_ONE = (
    "The server of the model {name!r} refuses this prompt ({seen}), and takes others: say it in other words, or choose "
    "another model."
)
FILTERED = re.compile(
    r"content[ _-]?(?:filter|management|policy|moderation)|moderation|safety[ _](?:system|filter|check)"
    r"|content exists risk|inappropriate content|data_?inspection_?failed|considered high risk|prohibited_content"
    r"|(?:usage|use) (?:policy|policies|guidelines)|guardrail|new_sensitive|(?:不安全|敏感)(?:或敏感)?内容",
    re.IGNORECASE,
)
"""How filters are named: by Azure, OpenAI, Anthropic, OpenRouter, DeepSeek, DashScope, Moonshot, xAI, Google, MiniMax,
and Zhipu."""
TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|prompt is too long|too many (?:input )?tokens|n_ctx"
    r"|input (?:is too long|tokens? exceeds?)|exceeds? the (?:maximum|limit)[^.]{0,40}tokens",
    re.IGNORECASE,
)
UNREACHABLE = (
    "The model {name!r} cannot be reached ({seen}): see that its server runs, and that OPENAI_BASE_URL names it."
)
BY_STATUS: dict[int, str] = {
    401: "The server of the model {name!r} refuses the key ({seen}): check OPENAI_API_KEY.",
    402: "The server of the model {name!r} asks for payment ({seen}): see to the account of OPENAI_API_KEY.",
    403: "The server of the model {name!r} refuses the key ({seen}): check OPENAI_API_KEY, and whether it may use what "
    "{setting} names.",
    404: "There is no model {name!r} ({seen}): check OPENAI_BASE_URL and {setting}.",
    429: "The server of the model {name!r} has too many questions ({seen}): ask again {later}, or lower concurrency.",
}
FAILING = "The server of the model {name!r} fails ({seen}): ask again {later}, and look into its log."
SPENT = "The quota of the model {name!r} is spent ({seen}): see to the account of OPENAI_API_KEY."
SETTINGS = {
    "chat": "DRAMATURG_CHAT_MODEL or chat_model",
    "embedding": "DRAMATURG_EMBEDDING_MODEL or embedding_model",
}


@cache
def error_table() -> tuple[tuple[type[ModelError], tuple[type[Exception], ...]], ...]:
    """Errors of client libraries by the error of the package that they become; the first matching row counts."""
    import httpx
    import openai
    from langchain_core import exceptions as core

    return (
        (PromptRefused, (core.ContextOverflowError, UnicodeEncodeError)),
        (ModelTimeout, (core.ModelTimeoutError, openai.APITimeoutError, TimeoutError)),
        (ModelUnavailable, (SaidInAnswer,)),
        (RequestRejected, (core.ModelInvalidRequestError, openai.BadRequestError, openai.UnprocessableEntityError)),
        (ModelUnavailable, (core.ModelRateLimitError, core.ModelAPIError, core.ModelConnectionError)),
        (ModelUnavailable, (openai.RateLimitError, openai.InternalServerError, openai.ConflictError)),
        (ModelRefused, (core.ModelError, openai.APIStatusError)),
        (UnusableAnswer, (openai.APIResponseValidationError,)),
        (ModelUnavailable, (openai.APIError, httpx.HTTPError, OSError)),
        (UnusableAnswer, (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError, RecursionError)),
        (ModelRefused, (openai.OpenAIError,)),
        (ModelUnavailable, (RuntimeError,)),  # asyncio's, of connections that are gone
        (UnusableAnswer, (core.LangChainException, ValueError, TypeError, LookupError, AttributeError)),
    )


@cache
def client_errors() -> tuple[type[Exception], ...]:
    """All errors that a model's client is known to raise, for an `except` clause."""
    return tuple(error for _, errors in error_table() for error in errors)


def model_error(error: Exception, name: str, kind: str = "chat") -> ModelError:
    """The error of the package for one of a model's client, with what can be shown of the server's words.

    Args:
        error: the client's.
        name: of the model.
        kind: "chat" or "embedding".
    """
    for one in (error, error.__cause__):  # OpenAI's client wraps what its connection raises
        if isinstance(one, OtherOrigin):
            return lasting(ModelRefused(f"The server of the model {name!r} {one}"), math.inf)
    said = said_by(error)
    made = _meant(error, name, kind)
    return lasting(type(made)(f"{made} It says: “{said}”"), made.lasts) if said else made


def _meant(error: Exception, name: str, kind: str) -> ModelError:
    if isinstance(error, SaidInAnswer) and error.kind == "page":
        return lasting(ModelRefused(PAGE.format(name=name)), math.inf)
    if isinstance(error, SaidInAnswer) and error.kind == "nothing":
        return UnusableAnswer(NOTHING.format(name=name))
    meant = next(meant for meant, errors in error_table() if isinstance(error, errors))
    status, response = getattr(error, "status_code", None), getattr(error, "response", None)
    status = status if isinstance(status, int) else None
    if status in (400, 403, 413, 422) or (isinstance(error, SaidInAnswer) and status == 200):
        words = f"{words_of(error)} {getattr(error, 'code', '')} {inner_code(getattr(error, 'body', None))}"
        if FILTERED.search(words):
            meant = Filtered
        elif TOO_LONG.search(words):
            meant = PromptRefused
        elif status in (400, 422):
            meant = PromptRefused if is_of_words(error) else RequestRejected
    elif isinstance(error, SaidInAnswer) and status and status < 429:
        meant = ModelRefused
    what = f"{status} {type(error).__name__}" if status else type(error).__name__
    wished = retry_after(getattr(response, "headers", {}))
    told = {
        "name": name,
        "seen": " at ".join(filter(None, (what, address_of(error)))),
        "setting": SETTINGS[kind],
        "later": f"in {wished:g} s" if wished else "later",
    }
    if meant is ModelUnavailable and isinstance(error, unreachable()):
        return lasting(ModelUnavailable(UNREACHABLE.format(**told)), math.inf)
    if status == 429 and getattr(error, "code", None) == "insufficient_quota":
        return lasting(ModelUnavailable(SPENT.format(**told)), math.inf)
    failing = FAILING if status and (status >= 500 or status == 200) else ADVICE[meant]
    advice = BY_STATUS.get(status or 0, failing) if meant in {ModelRefused, ModelUnavailable} else ADVICE[meant]
    advice = THIS_ONE if meant is PromptRefused and is_of_words(error) else advice
    until = math.inf if meant is ModelRefused and status in BY_STATUS else wished or 0.0
    return lasting(meant(advice.format(**told)), until)


def is_of_words(error: Exception) -> bool:
    """Whether it is known that a request was refused for what was said in it; clients wrap the errors of others."""
    return any(getattr(one, OF_WORDS, False) for one in (error, error.__cause__, error.__context__) if one)


def inner_code(body: Any) -> str:
    """What an error is called in fields for that: Azure says there whether it was a filter."""
    match body:
        case {"innererror": {"code": str(code)}} | {"type": str(code)}:
            return code
    return ""


def lasting(error: ModelError, seconds: float) -> ModelError:
    """The error, with how long it lasts."""
    error.lasts = seconds
    return error


@cache
def unreachable() -> tuple[type[Exception], ...]:
    """Errors of client libraries where there was no connection, or none that led to an answer."""
    import httpx
    import openai
    from langchain_core import exceptions as core

    return (openai.APIConnectionError, core.ModelConnectionError, httpx.NetworkError, ConnectionError)


@cache
def provider_errors() -> tuple[type[Exception], ...]:
    """Errors that can come from nothing else than a provider's client or its connection."""
    import httpx
    import openai
    from langchain_core import exceptions as core

    return (openai.OpenAIError, core.ModelError, httpx.HTTPError, ConnectionError)


def address_of(error: Exception) -> str:
    """Where the request of an error went, without what may be secret in an address; empty where it does not say."""
    try:
        url: Any = getattr(getattr(error, "response", None) or error, "request").url  # noqa: B009 (it may be missing)
        return f"{url.scheme}://{url.netloc.decode()}{url.path}"
    except (AttributeError, RuntimeError):  # httpx raises the latter where a request was never set
        return ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds after which a server wants to be asked again, if it says so: as a number or a date."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        said = headers.get(name, "")
        try:
            seconds = float(said) / unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(said).timestamp() - time.time()
            except (ValueError, TypeError, OverflowError):
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None
