"""A chat model of the benchmarks: answers by a rule, after a fixed time."""

import asyncio
from abc import ABC, abstractmethod
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class StubModel(BaseChatModel, ABC):
    """Takes `latency` seconds for each answer, however many are asked for at once."""

    latency: float

    @abstractmethod
    def answer(self, messages: list[BaseMessage]) -> str:
        """What it says."""

    @property
    def _llm_type(self) -> str:
        return "stub"

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=self.answer(messages)))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        await asyncio.sleep(self.latency)
        return self._generate(messages)
