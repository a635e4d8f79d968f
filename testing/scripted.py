"""A chat model that answers by a script and remembers what it was asked."""

import math
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field, InstanceOf

from dramaturg.testing.fitting import fitting
from dramaturg.testing.script import Answer, Call, FirstToken, Rule, said, unscripted, written_out


class ScriptedChatModel(BaseChatModel):
    """Answers with the first rule that matches, else with the answer for the kind of question.

    Streams word by word, and reports a word as a token of usage. An answer that is an exception is raised. Questions
    that are asked at once are answered in their order, in the event loop: a function that answers must not block.
    """

    rules: Sequence[InstanceOf[Rule]] = ()
    decide: Any = True
    """The answer to a yes or no that no rule answers; None, here and below: `Unscripted` is raised."""
    rate: Any = 3
    choose: Any = 1
    extract: Any = Field(default=lambda call: fitting(call.schema or {}))
    """By default an object that fits the schema: lists of one item, the lowest numbers, a short text."""
    write: Any = "Very well."
    errors: Mapping[int, InstanceOf[Exception]] = {}
    """What is raised in place of an answer, by the number of the call; the first is 1."""
    log_probabilities: bool = False
    """Whether it is asked as OpenAI's models are: by first-token probabilities, or with a schema to be kept to."""
    calls: list[InstanceOf[Call]] = Field(default_factory=list, repr=False)  # LangChain writes a model out at each call
    """Every call so far, in order."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def speaks_openai(self) -> bool:
        """Whether `dramaturg.models` may ask with the parameters of OpenAI's chat completions."""
        return self.log_probabilities

    def script(self, call: Call) -> Answer:
        """What the script says to a call.

        Raises:
            Unscripted: nothing in it answers.
        """
        if rule := next((rule for rule in self.rules if rule.matches(call)), None):
            return said(rule.says, call)
        defaults = [getattr(self, kind) for kind in call.kinds]
        if None in defaults:
            raise unscripted(call)
        answers = [said(script, call) for script in defaults]
        return answers[0] if len(answers) == 1 else weighed(answers, call)

    def answer(self, messages: list[BaseMessage], parameters: dict[str, Any]) -> AIMessage:
        """Record the call and do what the script says."""
        own = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}
        set_here = {name: value for name, value in own.items() if value is not None}
        call = Call(list(messages), {**set_here, **parameters})
        self.calls.append(call)
        answer = self.errors.get(len(self.calls)) or self.script(call)
        if isinstance(answer, Exception):
            raise answer
        message = written_out(answer, call)
        if parameters.get("logprobs"):
            message.response_metadata = {**message.response_metadata, "logprobs": logprobs(weights_of(answer, call))}
        message.usage_metadata = message.usage_metadata or usage(messages, message)
        return message

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = self.answer(messages, kwargs)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = self.answer(messages, kwargs)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in chunks(self.answer(messages, kwargs)):
            if run_manager and chunk.text:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in chunks(self.answer(messages, kwargs)):
            if run_manager and chunk.text:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


def chunks(answer: AIMessage) -> Iterator[ChatGenerationChunk]:
    """An answer word by word, and what is known of it at its end."""
    for word in words(answer.text):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word))
    last = AIMessageChunk(
        content="",
        usage_metadata=answer.usage_metadata,
        response_metadata=answer.response_metadata,
        additional_kwargs=answer.additional_kwargs,
        chunk_position="last",
    )
    yield ChatGenerationChunk(message=last)


def words(text: str) -> list[str]:
    """Split a text so that its parts joined are the text again."""
    return [word for word in re.split(r"(?<= )", text) if word]


def usage(messages: Sequence[BaseMessage], answer: AIMessage) -> UsageMetadata:
    """Words, as a server counts tokens."""
    read, written = sum(len(message.text.split()) for message in messages), len(answer.text.split())
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def weights_of(answer: Answer, call: Call) -> Mapping[str, float]:
    """The probabilities of the first token of an answer: an answer in words is certain."""
    return answer.probabilities if isinstance(answer, FirstToken) else {written_out(answer, call).text: 1.0}


def weighed(answers: Sequence[Answer], call: Call) -> FirstToken:
    """One first token for a question of several kinds: who asks looks only at the tokens that may answer it."""
    return FirstToken(
        {token: weight / len(answers) for one in answers for token, weight in weights_of(one, call).items()}
    )


def logprobs(weights: Mapping[str, float]) -> dict[str, Any]:
    """The probabilities of the first token as OpenAI's servers send them; an alternative is always among them."""
    known = {**weights, "…": 1e-6}
    top = [{"token": token, "logprob": math.log(max(weight, 1e-9))} for token, weight in known.items()]
    return {"content": [{**max(top, key=lambda one: float(str(one["logprob"]))), "top_logprobs": top}]}
