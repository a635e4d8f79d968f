"""Which error of the package stands for an error of a client library."""

from functools import cache

from dramaturg.models.errors import ModelError, ModelRefused, ModelTimeout, ModelUnavailable, UnusableAnswer


class RequestRejected(ModelRefused):
    """The server refuses a parameter of the request, or the request as a whole: without the parameter it may pass."""


@cache
def failures() -> tuple[type[Exception], ...]:
    """All errors that a chat client is known to raise, for an `except` clause."""
    import httpx
    import openai
    from langchain_core.exceptions import LangChainException

    parsing = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
    return (openai.OpenAIError, LangChainException, httpx.HTTPError, OSError, *parsing)


def typed(error: Exception, name: str) -> ModelError:
    """Say what an error of the client of model `name` means. The text of the server is left out: it may echo a key."""
    status = getattr(error, "status_code", None)
    seen = f"{status} {type(error).__name__}" if isinstance(status, int) else type(error).__name__
    kind = kind_of(error)
    return kind(MESSAGES[kind].format(name=name, seen=seen))


MESSAGES: dict[type[ModelError], str] = {
    ModelUnavailable: "The model {name!r} cannot be reached ({seen}): see that its server runs, or ask again later.",
    ModelTimeout: "The model {name!r} took too long ({seen}): allow a longer deadline or choose a faster model.",
    ModelRefused: "The model {name!r} refuses the request ({seen}): check its name, the key and the prompt's length.",
    RequestRejected: "The model {name!r} refuses the request ({seen}): check the prompt's length and its settings.",
    UnusableAnswer: "The model {name!r} sent an answer that is not one ({seen}): check that it is a chat model's server.",
}


def kind_of(error: Exception) -> type[ModelError]:
    """Choose the error's kind; the classes of LangChain first, they hold for every provider."""
    import openai
    from langchain_core import exceptions as core

    if isinstance(error, core.ContextOverflowError):
        return ModelRefused
    if isinstance(error, core.ModelTimeoutError | openai.APITimeoutError | TimeoutError):
        return ModelTimeout
    if isinstance(error, core.ModelInvalidRequestError | openai.BadRequestError | openai.UnprocessableEntityError):
        return RequestRejected
    if isinstance(error, core.ModelRateLimitError | core.ModelAPIError | core.ModelConnectionError):
        return ModelUnavailable
    if isinstance(error, core.ModelError):
        return ModelRefused
    return kind_by_library(error)


def kind_by_library(error: Exception) -> type[ModelError]:
    """Choose the kind of an error that LangChain has no class for."""
    import httpx
    import openai

    if isinstance(error, openai.APIStatusError):
        return ModelUnavailable if error.status_code in (408, 409, 429) or error.status_code >= 500 else ModelRefused
    unusable = (
        openai.APIResponseValidationError,
        openai.LengthFinishReasonError,
        openai.ContentFilterFinishReasonError,
    )
    if isinstance(error, unusable):
        return UnusableAnswer
    if isinstance(error, openai.APIError | httpx.HTTPError | OSError):
        return ModelUnavailable
    return ModelRefused if isinstance(error, openai.OpenAIError | UnicodeEncodeError) else UnusableAnswer
