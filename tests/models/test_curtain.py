"""What a graph streams of a reply: no thoughts, nothing that is said for others, and all else, however it is parted."""

import random
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import Field
from wild_endpoint import THOUGHT, WildEndpoint, wild_endpoint

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.errors import Filtered, UnusableAnswer
from dramaturg.models.questions import LEFT_OUT, decide, write_message
from dramaturg.nodes.own_voice import OwnVoice
from dramaturg.workflows.vanilla import build

from roles import small_role

MESSAGES = [HumanMessage("Who are you?")]
VOICE = partial(OwnVoice, ["Ada"], ["Tom"])
SAID = "Good evening. I keep the light, and <b>nobody</b> else does."
FORMS = {
    "<think>{0}</think>\n\n{1}": False,
    "<think>\n{0}\n</think>{1}<think>{0}</think>": False,
    "[THINK]{0}[/THINK]{1}": False,
    "<|channel|>analysis<|message|>{0}<|end|><|start|>assistant<|channel|>final<|message|>{1}<|return|>": False,
    "{1}\nTom: {0}": True,
    "<think>{0}</think>Ada: {1}\n\n**You:** {0}\nAda: {0}": True,
}
"""Thoughts or the lines of others in the place of {0}, the role's in that of {1}; whether others speak."""


class Parted(BaseChatModel):
    """Gives its texts in turn, each in these parts."""

    texts: list[list[str]]
    asked: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "parted"

    def _next(self, messages: list[BaseMessage]) -> list[str]:
        self.asked.append(messages)
        return self.texts[(len(self.asked) - 1) % len(self.texts)]

    def _generate(self, messages: list[BaseMessage], *args: Any, **parameters: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(self._next(messages))))])

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for part in self._next(messages):
            chunk = ChatGenerationChunk(message=AIMessageChunk(part))
            if run_manager:
                await run_manager.on_llm_new_token(part, chunk=chunk)
            yield chunk


def parted(text: str, chance: random.Random) -> list[str]:
    """A text, cut anywhere."""
    most, at, parts = chance.choice([1, 3, 8, 30]), 0, list[str]()
    while at < len(text):
        at, begun = at + chance.randint(1, most), at
        parts.append(text[begun:at])
    return parts


async def streamed(asked: ChatModel, **how: Any) -> tuple[list[str], AIMessage]:
    """What a graph shows of a text, part by part, and the text."""
    said: list[AIMessage] = []

    async def speak(state: MessagesState) -> dict[str, Any]:
        said.append(await write_message(asked, state["messages"], **how))
        return {"messages": [said[0]]}

    graph = StateGraph(MessagesState).add_node(speak).add_edge(START, "speak").compile()
    shown = [part.text async for part, _ in graph.astream(MessagesState(messages=MESSAGES), stream_mode="messages")]
    return [one for one in shown if one], said[0]


@pytest.mark.parametrize("form", FORMS)
async def test_thoughts_and_others_are_not_shown_however_the_stream_is_cut(form: str) -> None:
    chance, text = random.Random(form), form.format(THOUGHT, SAID)
    for _ in range(40):
        shown, said = await streamed(chat_model(Parted(texts=[parted(text, chance)])), voice=VOICE)
        assert "".join(shown).strip() == said.text == SAID
        assert bool(said.response_metadata.get(LEFT_OUT)) == FORMS[form]


async def test_a_text_that_is_thoughts_alone_is_asked_for_again_and_nothing_of_it_is_shown() -> None:
    model = Parted(texts=[["<think>", THOUGHT], ["<think>", THOUGHT, "</think>", SAID]])
    shown, said = await streamed(chat_model(model, attempts=1))
    assert "".join(shown) == said.text == SAID
    assert len(model.asked) == 2


async def test_who_is_told_of_the_whole_text_is_told_no_thoughts_that_were_taken_back() -> None:
    texts = [["I think that ", "he lies.", "</think>", "Good ", "evening."]]

    async def speak(state: MessagesState) -> dict[str, Any]:
        asked = chat_model(Parted(texts=texts))
        return {"messages": [await write_message(asked, state["messages"], may_show=lambda _, whole: whole or None)]}

    graph = StateGraph(MessagesState).add_node(speak).add_edge(START, "speak").compile()
    events = [one async for one in graph.astream_events(MessagesState(messages=MESSAGES), version="v2")]
    (ended,) = (one["data"]["output"].text for one in events if one["event"] == "on_chat_model_end")
    assert ended == "Good evening."
    shown = graph.astream(MessagesState(messages=MESSAGES), stream_mode="messages")
    assert "".join([part.text async for part, _ in shown]) == "Good evening."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WildEndpoint]:
    with wild_endpoint() as server:
        for name, value in server.variables().items():
            monkeypatch.setenv(name, value)
        yield server


async def test_a_first_text_is_shown_when_it_is_known_that_it_does_not_begin_with_thoughts(
    server: WildEndpoint, tmp_path: Path
) -> None:
    small_role(tmp_path)
    for ways, parts in (("good", 2), ("think, unopened", 1)):
        server.ways = ways
        talk = build().compile()
        model = f"m {ways}"  # what is learned of the one does not hold for the other
        context = {"role": "ada", "library": str(tmp_path), "chat_model": model}
        for turn in range(2):
            asked = talk.astream(MessagesState(messages=MESSAGES), context=context, stream_mode="messages")  # type: ignore[arg-type]
            shown = [part.text async for part, _ in asked if part.text]
            assert "".join(shown) == "I keep the light."
            assert (len(shown) >= parts) if turn else True


async def test_more_room_is_given_to_a_model_that_thinks_long(server: WildEndpoint) -> None:
    server.ways = "think, long"
    for requests in (2, 1):
        server.asked.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(server.model, "reply", lambda _: SAID)
            assert (await write_message(chat_model("m"), MESSAGES, max_tokens=100)).text == SAID
        assert len(server.asked) == requests


async def test_what_a_filter_holds_back_is_not_asked_for_again(server: WildEndpoint) -> None:
    server.ways = "filtered"
    for question in (write_message, decide):
        server.asked.clear()
        with pytest.raises(Filtered, match="'m' holds back"):
            await question(chat_model("m"), MESSAGES)
        assert len(server.asked) <= 2  # a decision by its first token, and by its text


async def test_who_speaks_only_for_others_is_asked_again() -> None:
    model = Parted(texts=[["Tom: ", "Hello!"], [SAID]])
    assert (await streamed(chat_model(model), voice=VOICE))[1].text == SAID
    with pytest.raises(UnusableAnswer):
        await streamed(chat_model(Parted(texts=[["Tom: ", "Hello!"]])), voice=VOICE)
