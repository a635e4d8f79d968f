"""A chat model that answers by a script and remembers what it was asked."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

Reply = Callable[[list[BaseMessage]], str | AIMessage | Exception]


@dataclass(frozen=True)
class Call:
    """One call: the messages and the bound parameters."""

    messages: list[BaseMessage]
    parameters: dict[str, Any]

    @property
    def text(self) -> str:
        """All messages in one string, for `in`."""
        return "\n".join(message.text for message in self.messages)


class ScriptedChatModel(BaseChatModel):
    """Answers with what `reply` returns for the messages, and raises what it returns as an exception.

    `calls` holds every call, in order. Streams word by word. A word is a token in what it reports of usage.
    """

    reply: Reply
    calls: list[Call] = Field(default_factory=list, repr=False)  # LangChain writes a model out at every call of it

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def answer(self, messages: list[BaseMessage], parameters: dict[str, Any]) -> AIMessage:
        """Record the call and do what the script says."""
        self.calls.append(Call(list(messages), parameters))
        said = self.reply(list(messages))
        if isinstance(said, Exception):
            raise said
        message = AIMessage(said) if isinstance(said, str) else said.model_copy()
        message.usage_metadata = message.usage_metadata or usage(messages, message)
        return message

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages, kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self.answer(messages, kwargs)
        for word in words(answer.text):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=word))
            if run_manager:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk
        last = AIMessageChunk(
            content="",
            usage_metadata=answer.usage_metadata,
            response_metadata=answer.response_metadata,
            additional_kwargs=answer.additional_kwargs,
            chunk_position="last",
        )
        yield ChatGenerationChunk(message=last)


def usage(messages: list[BaseMessage], answer: AIMessage) -> UsageMetadata:
    """Words, as a server counts tokens."""
    read, written = sum(len(message.text.split()) for message in messages), len(answer.text.split())
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def words(text: str) -> list[str]:
    """Split a text so that its parts joined are the text again."""
    return [word for word in re.split(r"(?<= )", text) if word]


def scripted(*answers: str | AIMessage | Exception) -> ScriptedChatModel:
    """Give the answers in turn, and the last one again ever after."""
    left = list(answers)
    return ScriptedChatModel(reply=lambda _: left.pop(0) if len(left) > 1 else left[0])
