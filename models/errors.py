"""What can go wrong between a question and its answer, and which errors of client libraries mean it.

Every error derives from RuntimeError, so that a LangGraph server shows its text to clients. No message repeats what
a server said: servers echo keys.
"""

from functools import cache


class WeightsError(RuntimeError):
    """Weights of an embedded model are missing, damaged or cannot be had."""


class ModelError(RuntimeError):
    """A model was asked and there is no answer that can be used."""


class ModelUnavailable(ModelError):
    """No connection, too many requests, or a failing server: the same question may be answered later."""


class ModelTimeout(ModelError):
    """The answer was not complete within the deadline of the question."""


class ModelRefused(ModelError):
    """The server refuses the request as it is: key, model name, or a prompt that is too long."""


class PromptRefused(ModelRefused):
    """This prompt is too long for the model or cannot be encoded; another one may pass."""


class RequestRejected(ModelRefused):
    """The server refuses the request as it is put together: without one of its parameters it may pass."""


class UnusableAnswer(ModelError):
    """The model answered, also when asked again, but not in a form that answers the question."""


class OtherOrigin(RuntimeError):
    """A server sends whoever asks to another one, which would see the key and the prompt."""


UNANSWERED = (UnusableAnswer, ModelTimeout, PromptRefused)
"""Errors that leave one question without an answer; after the others, no question will be answered now."""


ADVICE: dict[type[ModelError], str] = {
    ModelUnavailable: "The model {name!r} cannot be reached ({seen}): see that its server runs, or ask again later.",
    ModelTimeout: "The model {name!r} took too long ({seen}): allow a longer deadline or choose a faster model.",
    ModelRefused: "The model {name!r} refuses the request ({seen}): check its name, the key and the prompt's length.",
    PromptRefused: "The model {name!r} cannot take this prompt ({seen}): make what is sent shorter.",
    RequestRejected: "The model {name!r} refuses the request ({seen}): check the prompt's length and its settings.",
    UnusableAnswer: "The model {name!r} sent something else than an answer ({seen}): check that a chat model is there.",
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


def model_error(error: Exception, name: str) -> ModelError:
    """The error of the package for one of model `name`'s client. The server's text is left out: it may echo a key."""
    for one in (error, error.__cause__):  # OpenAI's client wraps what its connection raises
        if isinstance(one, OtherOrigin):
            return ModelRefused(f"The server of the model {name!r} {one}")
    kind = next(kind for kind, errors in error_table() if isinstance(error, errors))
    status = getattr(error, "status_code", None)
    seen = f"{status} {type(error).__name__}" if isinstance(status, int) else type(error).__name__
    return kind(ADVICE[kind].format(name=name, seen=seen))
