"""Which error of the package stands for an error of a client library."""

from functools import cache

from dramaturg.models.errors import (
    ModelError,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    PromptRefused,
    UnusableAnswer,
)


class RequestRejected(ModelRefused):
    """The server refuses the request as it is put together: without one of its parameters it may pass."""


ADVICE: dict[type[ModelError], str] = {
    ModelUnavailable: "The model {name!r} cannot be reached ({seen}): see that its server runs, or ask again later.",
    ModelTimeout: "The model {name!r} took too long ({seen}): allow a longer deadline or choose a faster model.",
    ModelRefused: "The model {name!r} refuses the request ({seen}): check its name, the key and the prompt's length.",
    PromptRefused: "The model {name!r} cannot take this prompt ({seen}): make what is sent shorter.",
    RequestRejected: "The model {name!r} refuses the request ({seen}): check the prompt's length and its settings.",
    UnusableAnswer: "The model {name!r} sent something else than an answer ({seen}): check that a chat model is there.",
}


@cache
def kinds() -> tuple[tuple[type[ModelError], tuple[type[Exception], ...]], ...]:
    """What errors of client libraries stand for; the first row that an error is in holds."""
    import httpx
    import openai
    from langchain_core import exceptions as core

    return (
        (PromptRefused, (core.ContextOverflowError, UnicodeEncodeError)),
        (ModelTimeout, (core.ModelTimeoutError, openai.APITimeoutError, TimeoutError)),
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
def failures() -> tuple[type[Exception], ...]:
    """All errors that a chat client is known to raise, for an `except` clause."""
    return tuple(error for _, errors in kinds() for error in errors)


def typed(error: Exception, name: str) -> ModelError:
    """Say what an error of the client of model `name` means. The text of the server is left out: it may echo a key."""
    kind = next(kind for kind, errors in kinds() if isinstance(error, errors))
    status = getattr(error, "status_code", None)
    seen = f"{status} {type(error).__name__}" if isinstance(status, int) else type(error).__name__
    return kind(ADVICE[kind].format(name=name, seen=seen))
