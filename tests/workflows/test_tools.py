"""Roles as tools of an agent: it talks with one by the thread of its own run, and looks up what one knows."""

from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from dramaturg.stores.errors import RoleError
from dramaturg.testing import WordEmbeddings
from dramaturg.workflows.tools import lookup_tool, role_tool

ASK = {"message": "Do storms make you afraid?"}


class Caller(BaseChatModel):
    """Calls its only tool once, then repeats what that has said."""

    named: str = ""
    given: dict[str, str] = Field(default_factory=dict)

    @property
    def _llm_type(self) -> str:
        return "caller"

    def bind_tools(self, tools: Any, **_: Any) -> "Caller":
        return self.model_copy(update={"named": tools[0].name})

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        call = {"name": self.named, "args": self.given, "id": str(len(messages))}
        said = AIMessage("", tool_calls=[call]) if isinstance(last, HumanMessage) else AIMessage(last.text)
        return ChatResult(generations=[ChatGeneration(message=said)])


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    whole_role(tmp_path)
    return {"library": str(tmp_path), "chat_model": whole_cast(), "embedding_model": WordEmbeddings()}


def agent(tool: BaseTool, given: dict[str, str]) -> Any:
    return create_agent(Caller(given=given), [tool], checkpointer=InMemorySaver())


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


@pytest.mark.parametrize("blocking", [True, False])
async def test_an_agent_talks_with_a_role_in_the_thread_of_its_run(settings: dict[str, Any], blocking: bool) -> None:
    heard: list[str] = []

    def reply(text: str) -> str:
        heard.append(text)
        return "I keep the light."

    saver = InMemorySaver()
    tool = role_tool("ada", method="vanilla", checkpointer=saver, **settings | {"chat_model": whole_cast(reply=reply)})
    assert tool.name == "ask_ada"
    talks = agent(tool, ASK)
    for name, turns in (("one", 1), ("one", 2), ("two", 1)):
        given = {"messages": [("user", "Ask her.")]}
        said = talks.invoke(given, thread(name)) if blocking else await talks.ainvoke(given, thread(name))
        assert said["messages"][-1].text == "I keep the light."
        assert said["messages"][-2].artifact["usage"]["respond_by_name"]["calls"] == 1
        kept = saver.get(thread(f"{name}/ask_ada"))
        assert kept is not None
        assert len(kept["channel_values"]["messages"]) == 2 * turns
        assert len(talks.get_state(thread(name)).values["messages"]) == 4 * turns  # the talk is no part of it


@pytest.mark.parametrize("method", ["amadeus", "role-rag", "emotional-rag"])
def test_an_agent_looks_up_what_a_role_knows(settings: dict[str, Any], method: str) -> None:
    tool = lookup_tool("ada", method=method, **settings)
    said = agent(tool, {"question": "Do storms make you afraid?"}).invoke({"messages": [("user", "?")]}, thread("t"))
    found = said["messages"][-2].artifact
    assert len(said["messages"]) == 4
    assert found["texts"] or found["limits"]
    assert all(text in said["messages"][-1].text for texts in found["texts"].values() for text in texts)


async def test_a_tool_is_called_without_an_agent(settings: dict[str, Any]) -> None:
    tool = role_tool("ada", method="vanilla", **settings)
    assert tool.invoke(ASK) == await tool.ainvoke(ASK) == "I keep the light."


def test_what_cannot_be_is_said_when_a_tool_is_made(settings: dict[str, Any]) -> None:
    with pytest.raises(RoleError):
        role_tool("nobody", **settings)
    with pytest.raises(ValueError, match="looks nothing up"):
        lookup_tool("ada", method="vanilla", **settings)
    with pytest.raises(ValueError, match="slotz"):
        role_tool("ada", slotz=3, **settings)
