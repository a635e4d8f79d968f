"""What can go wrong between a question and its answer.

Every error derives from RuntimeError, so that a LangGraph server shows its text to clients. No message repeats what
a server said: servers echo keys.
"""


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


class UnusableAnswer(ModelError):
    """The model answered, also when asked again, but not in a form that answers the question."""


UNANSWERED = (UnusableAnswer, ModelTimeout, PromptRefused)
"""What leaves one question without an answer; after the other errors, no question will be answered now."""
