"""How a role begins to speak: what is held back, what is drawn again, and what a user sees of that."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from dramaturg.models.errors import ModelUnavailable
from dramaturg.testing import ScriptedChatModel, in_turn, write_role
from dramaturg.workflows.methods import METHODS, chat_graph, context_type
from dramaturg.workflows.vanilla import build

from identity_roles import ada, decider, take, weighed
from identity_roles import in_turn as answers_in_turn
from roles import run_settings

REFUSAL = "I'm sorry, but I can't assist with that."
ECHO = "Are you ever lonely? I am not."
ANNOUNCED = "As Ada Quill, I have the lamp for company. It never talks."
GOOD = "I have the lamp for company. It never talks."
QUESTION: Any = {"messages": [("user", "Are you ever lonely?")]}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    write_role(tmp_path)
    return tmp_path


def context(library: Path, model: BaseChatModel, **settings: Any) -> Any:
    return {"role": "ada", "library": str(library), "chat_model": model, **settings}


def scripted(*replies: Any) -> ScriptedChatModel:
    return ScriptedChatModel(write=in_turn(*replies))


async def turn(library: Path, model: BaseChatModel, **settings: Any) -> Any:
    return await build().compile().ainvoke(QUESTION, context=context(library, model, **settings))


async def streamed(library: Path, model: BaseChatModel, **settings: Any) -> list[AIMessageChunk]:
    """What a user is shown, in LangGraph's mode `messages`."""
    parts = build().compile().astream(QUESTION, context=context(library, model, **settings), stream_mode="messages")
    return [message async for message, _ in parts]


@pytest.mark.parametrize(
    "made",
    [
        lambda replies: ScriptedChatModel(write=replies),
        lambda replies: ScriptedChatModel(write=replies, log_probabilities=True),  # as OpenAI's are asked: bound
    ],
    ids=["plain", "bound"],
)
async def test_nothing_of_a_slip_is_shown_and_what_follows_it_streams(
    made: Callable[[Any], ScriptedChatModel], library: Path
) -> None:
    model = made(in_turn(REFUSAL, GOOD))
    shown = await streamed(library, model)
    assert [one.text.strip() for one in shown if one.text] == GOOD.split()
    assert len({one.id for one in shown}) == 1
    assert len(model.calls) == 2


class Wrapped(ScriptedChatModel):
    """Hands each question on to another model."""

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in ScriptedChatModel(write=self.write).astream(messages):
            yield ChatGenerationChunk(message=chunk)


async def test_a_model_behind_the_model_shows_nothing_of_a_slip_either(library: Path) -> None:
    shown = "".join(one.text for one in await streamed(library, Wrapped(write=in_turn(REFUSAL, GOOD))))
    assert "sorry" not in shown
    assert GOOD.split(maxsplit=1)[0] in shown


async def test_evidence_and_usage_tell_of_a_redraw(library: Path) -> None:
    output = await turn(library, scripted(REFUSAL, ECHO, GOOD))
    assert output["messages"][-1].text == GOOD
    assert output["evidence"].get("slips") == [
        {"slip": "refusal", "text": REFUSAL, "outcome": "dropped"},
        {"slip": "echo", "text": ECHO, "outcome": "dropped"},
    ]
    used = output["usage"]["respond_by_name"]
    assert used["calls"] == 3
    assert used["completion_tokens"] == sum(len(one.split()) for one in (REFUSAL, ECHO, GOOD))


async def test_a_model_without_chance_is_asked_to_have_some(library: Path) -> None:
    model = scripted(REFUSAL, REFUSAL, GOOD)
    await turn(library, model, temperature=0, model_seed=7)
    temperatures, seeds = ([one.parameters[name] for one in model.calls] for name in ("temperature", "seed"))
    assert temperatures[0] == 0
    assert temperatures == sorted({*temperatures})
    assert temperatures[-1] <= 1
    assert len({*seeds}) == 3


@pytest.mark.parametrize(
    ("replies", "spoken", "outcomes"),
    [
        ((REFUSAL, REFUSAL, REFUSAL), REFUSAL, ["spoken", "dropped", "dropped"]),
        ((ECHO, REFUSAL, REFUSAL), ECHO, ["spoken", "dropped", "dropped"]),
        ((REFUSAL, ECHO, ECHO), ECHO, ["dropped", "spoken", "dropped"]),
        ((REFUSAL, ECHO, ANNOUNCED), GOOD, ["dropped", "dropped", "cut"]),
        ((ANNOUNCED, ANNOUNCED, ANNOUNCED), GOOD, ["cut", "dropped", "dropped"]),
        (("As Ada Quill, I never", ANNOUNCED, REFUSAL), GOOD, ["dropped", "cut", "dropped"]),
        (("As Ada Quill, I never",) * 3, "As Ada Quill, I never", ["spoken", "dropped", "dropped"]),
    ],
)
async def test_of_three_slips_the_least_is_spoken(
    replies: tuple[str, ...], spoken: str, outcomes: list[str], library: Path
) -> None:
    model = scripted(*replies)
    output = await turn(library, model)
    assert output["messages"][-1].text == spoken
    assert [one["outcome"] for one in output["evidence"].get("slips", [])] == outcomes
    assert len(model.calls) == 3


async def test_what_is_spoken_of_three_slips_is_shown_once(library: Path) -> None:
    shown = await streamed(library, scripted(ECHO, REFUSAL, REFUSAL))
    assert [one.text for one in shown if one.text] == [ECHO]


async def test_a_redraw_that_fails_costs_no_turn(library: Path) -> None:
    output = await turn(library, scripted(ECHO, ModelUnavailable("The model is not there."), GOOD), attempts=1)
    assert output["messages"][-1].text == ECHO
    error = "The model is not there."
    assert output["evidence"].get("slips") == [{"slip": "echo", "text": ECHO, "outcome": "spoken", "error": error}]


async def test_by_the_papers_rules_nothing_is_drawn_again(library: Path) -> None:
    model = scripted(REFUSAL, GOOD)
    shown = await streamed(library, model, rules="paper")
    assert "".join(one.text for one in shown) == REFUSAL
    assert len([one for one in shown if one.text]) > 1
    assert len(model.calls) == 1


async def test_answers_from_disk_do_not_repeat_a_slip(library: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("DRAMATURG_CACHE", str(tmp_path / "cache"))
    for calls in (2, 0):
        model = scripted(REFUSAL, GOOD)
        output = await turn(library, model, answer_cache=True, temperature=1)
        assert output["messages"][-1].text == GOOD
        assert len(model.calls) == calls


class Waiting(BaseChatModel):
    """Writes some words, and the others when it is let."""

    words: tuple[str, ...]
    waits_at: int
    _let: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)
    _begun: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)
    _ended: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)  # copies of a model share it

    @property
    def _llm_type(self) -> str:
        return "waiting"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(self.words)))])

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        try:
            for at, word in enumerate(self.words):
                if at == self.waits_at:
                    self._begun.set()
                    await self._let.wait()
                yield ChatGenerationChunk(message=AIMessageChunk(word))
            last = AIMessageChunk("", response_metadata={"finish_reason": "stop"}, chunk_position="last")
            yield ChatGenerationChunk(message=last)
        finally:
            self._ended.set()


SENTENCE = ("I ", "keep ", "the ", "light, ", "and ", "no more. ", "It ", "burns.")


@pytest.mark.parametrize(
    ("words", "waits_at", "first"),
    [
        (SENTENCE, 7, "I keep the light, and no more. "),
        (("on ",) * 400, 350, "on " * 50),  # a sentence that never ends
        (("灯不灭，我也不走，除非天塌下来。", "真的，", "真的。"), 2, "灯不灭"),
    ],
)
async def test_only_the_first_sentence_waits(words: tuple[str, ...], waits_at: int, first: str, library: Path) -> None:
    model, begun = Waiting(words=words, waits_at=waits_at), ""
    parts = build().compile().astream(QUESTION, context=context(library, model), stream_mode="messages")
    async with asyncio.timeout(60):
        async for message, _ in parts:
            begun += message.text
            if begun.startswith(first) and not model._let.is_set():
                assert not model._ended.is_set()
                model._let.set()
            finished = message.response_metadata.get("finish_reason")
    assert begun.strip() == "".join(words).strip()
    assert finished == "stop"


async def test_a_turn_that_is_left_stops_the_model(library: Path) -> None:
    for waits_at in (3, 7):  # while the sentence is held back, and after it
        model = Waiting(words=SENTENCE, waits_at=waits_at)
        task = asyncio.create_task(streamed(library, model))
        await model._begun.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert model._ended.is_set()


@pytest.mark.sample(4)
@pytest.mark.parametrize("method", METHODS)
async def test_no_method_speaks_a_slip(method: str, tmp_path: Path) -> None:
    whole_role(tmp_path)
    reply = answers_in_turn(REFUSAL, "I keep the light, and that is all.")
    made = context_type(method)(**run_settings(tmp_path, whole_cast(reply=lambda _: reply(""))))
    shown, output = [], {}
    parts: Any = chat_graph(method).compile().astream(QUESTION, context=made, stream_mode=["messages", "values"])
    async for mode, part in parts:
        if mode == "messages":
            shown.append(part[0].text)
        else:
            output = part
    assert "".join(shown) == output["messages"][-1].text == "I keep the light, and that is all."
    assert output["evidence"].get("slips") == [{"slip": "refusal", "text": REFUSAL, "outcome": "dropped"}]


async def test_a_deed_and_what_is_said_in_place_of_a_blocked_line_are_held_to_the_same(tmp_path: Path) -> None:
    role = ada(tmp_path)
    deed = await take(role, decider(deed=answers_in_turn(REFUSAL, "She trims the lamp.")), observations=["Dusk falls."])
    assert deed["messages"][-1].text == "She trims the lamp."
    model = decider(weighed=weighed(1), declined=answers_in_turn(REFUSAL, "I shall not do that."))
    said = await take(role, model, "Will you leave the light?")
    assert said["messages"][-1].text == "I shall not do that."
    assert [one["slip"] for one in said["evidence"].get("slips", [])] == ["refusal"]


async def test_each_draft_of_a_turn_tells_of_its_slips(tmp_path: Path) -> None:
    replies = answers_in_turn(REFUSAL, "I leave it alone.", ECHO, "I stay with the light.")
    weighs = answers_in_turn(weighed(1), weighed(0))
    said = await take(
        ada(tmp_path), decider(reply=lambda _: replies(""), weighed=lambda _: weighs("")), "Are you ever lonely?"
    )
    assert said["messages"][-1].text == "I stay with the light."
    assert [one["slip"] for one in said["evidence"].get("slips", [])] == ["refusal", "echo"]
    assert [one["text"] for one in said["evidence"]["gate"]["attempts"]] == [
        "I leave it alone.",
        "I stay with the light.",
    ]
