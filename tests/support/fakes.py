"""A chat model that answers with what a function of the messages says, and is asked as most providers' models are."""

from collections.abc import Callable

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from dramaturg import testing
from dramaturg.testing import Answer, Call, FirstToken

Reply = Callable[[list[BaseMessage]], Answer | AIMessage]


class ScriptedChatModel(testing.ScriptedChatModel):
    """Answers with what `reply` returns for the messages, and raises what it returns as an exception.

    It is asked in threads, as models without coroutines are: `reply` may block.
    """

    reply: Reply
    _agenerate = BaseChatModel._agenerate
    _astream = BaseChatModel._astream

    def script(self, call: Call) -> Answer:
        """Have the answer of the function."""
        return self.reply(list(call.messages))


def weighing(model: ScriptedChatModel) -> ScriptedChatModel:
    """The same, asked as OpenAI's models are: a yes or no may be a `FirstToken`, as `yes_with` makes one."""
    return model.model_copy(update={"log_probabilities": True})


def yes_with(probability: float) -> FirstToken:
    """A yes with this probability."""
    return FirstToken({"yes": probability, "no": 1 - probability})


def scripted(*answers: str | AIMessage | Exception) -> ScriptedChatModel:
    """Give the answers in turn, and the last one again ever after."""
    left = list(answers)
    return ScriptedChatModel(reply=lambda _: left.pop(0) if len(left) > 1 else left[0])
