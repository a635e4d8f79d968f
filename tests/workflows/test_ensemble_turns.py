"""The ensemble in a kept conversation: a turn that fails or waits is finished, and what was done is not asked again."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from ensemble_roles import Talk, asked, cast

from dramaturg.conversations.conversation import Conversation
from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows.ensemble import EnsembleContext, build

from cast_roles import cast_role
from changing_roles import CORE, FREE, KEEPER, SAILOR, became
from fakes import ScriptedChatModel
from identity_roles import found
from roles import run_settings, small_role
from scope_roles import Answer

pytestmark = pytest.mark.sample_of_file(2)

Begin = Callable[..., Conversation]
OF_SCOPE = {"standalone", "hypothetical", "scope", "told"}


@pytest.fixture
async def begin(tmp_path: Path) -> AsyncIterator[Begin]:
    small_role(tmp_path / "library")
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:

        def talk(model: ScriptedChatModel, name: str = "tea", **settings: Any) -> Conversation:
            context = EnsembleContext(**run_settings(tmp_path / "library", model, **settings))
            return Conversation(build(), saver, context, name)

        yield talk


def questions(model: ScriptedChatModel) -> Counter[tuple[str, str]]:
    """What was asked, and how often."""
    return Counter(asked(call.messages) for call in model.calls)


def step_of(part: Any) -> list[str]:
    """The part whose step something that is shown ends."""
    return [part["ns"][0].partition(":")[0]] if part["type"] == "values" and len(part["ns"]) == 1 else []


@pytest.mark.sample(1)
@pytest.mark.parametrize("end", ["failed", "stopped"])
async def test_a_turn_that_ends_in_one_part_is_finished_and_the_others_are_not_asked_again(
    begin: Begin, end: str
) -> None:
    await begin(cast(), "first").take_turn("Storms?")  # the role is indexed
    steps, done = Counter[str](), Counter[str]()
    await begin(whole := cast(), "whole").take_turn("Storms?", lambda part: steps.update(step_of(part)))
    assert {*steps} == {"passages", "scope", "memories", "relations", "identity"}
    others = {one for one in questions(whole) if one[0] in {"verdict", "findings", "mood", "query", "record"}}
    others_are_done, stopped = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    async def pause() -> None:
        for _ in range(100):
            await asyncio.sleep(0)

    def fails(_: str) -> Exception:
        until = time.monotonic() + 120
        while any(done[one] < steps[one] for one in steps if one != "scope") and time.monotonic() < until:
            time.sleep(0.01)
        asyncio.run_coroutine_threadsafe(pause(), loop).result(120)  # the other parts end
        if end == "stopped":
            loop.call_soon_threadsafe(others_are_done.set)
            stopped.wait(120)
        return ModelUnavailable("The model is not there.")

    model = cast(hypothetical=fails)
    talk = begin(model)
    turn = asyncio.create_task(talk.take_turn("Storms?", lambda part: done.update(step_of(part))))
    if end == "stopped":
        await others_are_done.wait()
        turn.cancel()
    with pytest.raises(ModelUnavailable if end == "failed" else asyncio.CancelledError):
        await turn
    stopped.set()
    before = questions(model)
    assert others <= before.keys()
    talk.change(chat_model=(again := cast()))
    output = await talk.finish()
    assert output["messages"][-1].text == "I keep the light."
    assert not questions(again).keys() & before.keys() - {one for one in before if one[0] in OF_SCOPE}
    assert output["evidence"]["parts"] == ["passages", "scope", "memories", "relations", "identity"]
    assert {"attributes", "entities", "memories", "relations", "identity"} <= output["evidence"].keys()
    calls = sum(used["calls"] for used in output["usage"].values())
    assert calls == len(again.calls) + sum(before[one] for one in others)
    assert [(turn.question, turn.reply) for turn in await talk.history()] == [("Storms?", "I keep the light.")]


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", ["reply", "weighed", "line"])
async def test_a_turn_that_failed_after_the_parts_is_finished_without_them(begin: Begin, part: str) -> None:
    gone: Answer = lambda _: ModelUnavailable("The model is not there.")  # noqa: E731
    model = cast(**{part: gone})
    talk = begin(model)
    with pytest.raises(ModelUnavailable):
        await talk.take_turn("Storms?")
    talk.change(chat_model=(again := cast()))
    output = await talk.finish()
    assert output["messages"][-1].text == "I keep the light."
    assert {kind for kind, _ in questions(again)} <= {"reply", "weighed", "line", "mood"}  # and what is remembered


async def test_who_the_role_becomes_is_approved_through_the_part(begin: Begin) -> None:
    talk = begin(model := cast(reflected=found(CORE, FREE)), identity={"update": True})
    output = await talk.take_turn("Who are you?")
    assert output["messages"][-1].text == "I keep the light."
    (waits,) = await talk.waiting()
    ((change),) = waits["changes"]
    assert (change["sentence"], change["replaces"]["sentence"]) == (SAILOR, KEEPER)
    before = len(model.calls)
    output = await talk.answer({"approved": [1]})
    assert len(model.calls) == before
    assert await became(talk) == ["a sailor", "brandy"]
    output = await talk.take_turn("And now?")
    looked_up = {one["sentence"] for one in output["evidence"]["identity"]["triples"]}
    assert KEEPER not in looked_up


async def test_a_conversation_goes_on_after_a_turn_is_taken_back(begin: Begin) -> None:
    talk = begin(cast())
    await talk.take_turn("One?")
    await talk.take_turn("Two?")
    first, second = await talk.history()
    await talk.delete(second.id)
    values = await talk.values()
    assert [one["text"] for one in values["episodes"]] == ["this stranger: One?\nAda Quill: I keep the light."]
    output = await talk.take_turn("Three?")
    assert output["messages"][-1].text == "I keep the light."
    assert [turn.question for turn in await talk.history()] == [first.question, "Three?"]


async def test_what_is_remembered_says_which_role_of_the_user_spoke(tmp_path: Path) -> None:
    talk, secret = Talk(cast_role(tmp_path).root.parent), "I hid the gold under the lamp."
    parts = {"parts": ["memories", "relations", "identity"]}
    await talk.turn(cast(), secret, user_role="tom", **parts)
    await talk.turn(model := cast(), "What do you know of the gold?", user_role="Mr Pike", **parts)
    (call,) = [call for call in model.calls if asked(call.messages)[0] == "reply"]
    earlier, *_ = (message.text for message in call.messages if message.type != "system")
    assert earlier == f"Tom Quill: {secret}"
    for _ in range(2):  # both have left the window then
        output = await talk.turn(cast(), "And?", user_role="tom", window=2, **parts)
    assert sorted(one["text"].split("\n")[0] for one in output["evidence"]["episodes"]) == [
        "Mr Pike: What do you know of the gold?",
        f"Tom Quill: {secret}",
    ]
