"""Where one question of a step fails for good, the others are not asked any more."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import Field

from dramaturg.models.errors import ModelRefused
from dramaturg.testing import WordEmbeddings
from dramaturg.workflows.methods import flow

from fakes import ScriptedChatModel


class Refusing(ScriptedChatModel):
    """Answers as it is told until it is to judge: of what it judges the first is refused, and nothing else answered."""

    judged: list[str] = Field(default_factory=list)
    waiting: list[str] = Field(default_factory=list)

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any
    ) -> ChatResult:
        if run_manager.metadata.get("question") != "decide":
            return self._generate(messages, stop, **more)
        self.judged.append(text := messages[-1].text)
        if len(self.judged) == 1:
            await asyncio.sleep(0.01)
            raise ModelRefused("The key is refused.")
        self.waiting.append(text)
        try:
            await asyncio.Event().wait()
        finally:
            self.waiting.remove(text)
        raise AssertionError


async def test_the_others_are_not_asked_any_more(tmp_path: Path) -> None:
    whole_role(tmp_path)
    given = {"role": "ada", "library": str(tmp_path), "embedding_model": WordEmbeddings()}
    found = flow("amadeus")
    for one in found.preparations(found.context(**given, chat_model=whole_cast())).values():
        await one.graph.ainvoke({}, context=one.context)
    model = Refusing(reply=whole_cast().reply)
    asked = {"messages": [("user", "Do storms make you afraid, and what does Tom say of friends and of the Moon?")]}
    with pytest.raises(ModelRefused):
        await found.builder.compile().ainvoke(asked, context=found.context(**given, chat_model=model))
    assert len(model.judged) > 1
    assert model.waiting == []
