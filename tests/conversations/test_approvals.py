"""Turns that wait for a person's approval: answered, left alone, refused, killed and gone back from."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from databases import open_saver
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import interrupt

from dramaturg.conversations.conversation import Conversation
from dramaturg.nodes.run import RoleContext
from dramaturg.stores.saver.conversation_saver import ConversationSaver

from changing_roles import (
    CORE,
    FREE,
    KEEPER,
    SAILOR,
    approve_it,
    became,
    becoming,
    changing_talk,
    finding,
    take_waiting_turn,
    what_is_kept,
)
from crash_points import SOME_OR_ALL, Crash, kills
from fakes import ScriptedChatModel

pytestmark = pytest.mark.sample_of_file(5)

Saver = BaseCheckpointSaver[Any]


@pytest.fixture(params=["memory", "ours", "postgres"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Saver]:
    async with open_saver(request.param, tmp_path, request) as saver:
        yield saver


@pytest.fixture
def talk(saver: Saver, tmp_path: Path) -> Conversation:
    return changing_talk(saver, becoming(tmp_path / "library"))


def calls(talk: Conversation) -> int:
    """How often the model was asked."""
    model = talk.context.chat_model
    return len(model.calls) if isinstance(model, ScriptedChatModel) else -1


async def questions(talk: Conversation) -> list[str]:
    return [turn.question for turn in await talk.history()]


async def test_a_turn_waits_with_its_reply_given_and_says_for_what(talk: Conversation) -> None:
    assert await talk.waiting() == []
    output = await talk.take_turn("one")
    assert output["messages"][-1].text == "I keep the light."
    assert [(turn.question, turn.reply) for turn in await talk.history()] == [("one", "I keep the light.")]
    (asked,) = await talk.waiting()
    ((change),) = asked["changes"]
    assert (change["number"], change["sentence"], change["replaces"]["sentence"]) == (1, SAILOR, KEEPER)
    assert await became(talk) == []


@pytest.mark.parametrize(("numbers", "objects"), [([1], ["a sailor", "brandy"]), ([], ["brandy"])])
async def test_an_answer_ends_the_turn(talk: Conversation, numbers: list[int], objects: list[str]) -> None:
    await talk.take_turn("one")
    before = calls(talk)
    output = await talk.answer({"approved": numbers})
    assert calls(talk) == before
    assert await became(talk) == objects
    assert [one["sentence"] for one in output["evidence"]["identity_changes"]][-1] == "Ada Quill likes brandy."
    assert output["evidence"]["declined"] == 1 - len(numbers)
    assert output["evidence"]["gate"]
    assert (await talk.waiting(), await talk.unfinished(), await questions(talk)) == ([], None, ["one"])


async def test_what_was_approved_is_her_identity_in_the_next_turn(talk: Conversation) -> None:
    await talk.take_turn("one")
    await talk.answer({"approved": [1]})
    await talk.take_turn("two")
    model = talk.context.chat_model
    assert isinstance(model, ScriptedChatModel)
    weighed = next(call.text for call in model.calls[5:] if "<statements>" in call.text)
    assert SAILOR in model.calls[-1].text
    assert KEEPER not in weighed + model.calls[-1].text


async def test_the_next_message_approves_nothing_and_asks_no_model_for_it(talk: Conversation) -> None:
    await talk.take_turn("one")
    alone = calls(talk)
    await talk.take_turn("two")
    assert calls(talk) == 2 * alone  # "two" is said in full; what is known by then is not held against the core again
    assert await questions(talk) == ["one", "two"]
    first = (await talk.history())[0]
    assert first.reply == "I keep the light."
    assert (await talk.values(first))["evidence"]["declined"] == 1
    assert await became(talk) == ["brandy"]  # what nobody must approve is taken
    assert len(await talk.waiting()) == 1


async def test_a_message_delivered_again_is_given_its_reply_and_waits_on(talk: Conversation) -> None:
    message = HumanMessage("one", id="m-1")
    first = await talk.take_turn(message)
    asked, before = await talk.waiting(), calls(talk)
    again = await talk.take_turn(message)
    assert again["messages"] == first["messages"]
    assert again["evidence"] == first["evidence"]
    assert (await talk.waiting(), calls(talk)) == (asked, before)
    await talk.answer({"approved": [1]})
    assert (await talk.take_turn(message))["messages"] == first["messages"]
    assert (await questions(talk), calls(talk)) == (["one"], before)


async def test_finishing_a_turn_that_waits_asks_again(talk: Conversation) -> None:
    output = await talk.take_turn("one")
    asked, before = await talk.waiting(), calls(talk)
    assert (await talk.finish())["messages"] == output["messages"]
    assert (await talk.waiting(), calls(talk)) == (asked, before)


@pytest.mark.sample(4)
@pytest.mark.parametrize("wrong", [{"approved": [2]}, {"approved": "all"}, {}, "yes"])
async def test_an_answer_that_cannot_be_used_leaves_the_turn_waiting(talk: Conversation, wrong: Any) -> None:
    await talk.take_turn("zero")
    await talk.answer({"approved": []})
    await talk.take_turn("one")
    (asked,) = await talk.waiting()
    for _ in range(2):
        output = await talk.answer(wrong)
        assert output["messages"][-1].text == "I keep the light."
        (again,) = await talk.waiting()
        assert again["changes"] == asked["changes"]
        assert wrong == {} or "Resume with" in again["error"]
    await talk.answer({"approved": [1]})
    assert await became(talk) == ["brandy", "a sailor"]
    assert await questions(talk) == ["zero", "one"]
    await talk.delete((await talk.history())[-1].id)
    assert (await questions(talk), await became(talk)) == (["zero"], ["brandy"])


async def test_after_a_wrong_answer_the_next_message_approves_nothing(talk: Conversation) -> None:
    await talk.take_turn("one")
    await talk.answer("yes")
    await talk.take_turn("two")
    assert (await questions(talk), await became(talk)) == (["one", "two"], ["brandy"])


async def test_nothing_can_be_answered_where_nothing_waits(talk: Conversation) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="Nothing waits for an answer"):
            await talk.answer({"approved": []})
        await talk.take_turn("one")
        with pytest.raises(ValueError, match="anything but None"):
            await talk.answer(None)
        await talk.answer({"approved": []})


async def test_a_waiting_turn_is_asked_again(talk: Conversation) -> None:
    await talk.take_turn("one")
    await talk.regenerate()
    assert (await questions(talk), await became(talk), len(await talk.waiting())) == (["one"], [], 1)
    await talk.answer({"approved": [1]})
    assert await became(talk) == ["a sailor", "brandy"]
    assert [[turn.question for turn in branch] for branch in await talk.branches()] == [["one"], ["one"]]


async def test_a_waiting_turn_is_gone_on_from_and_nothing_is_approved(talk: Conversation) -> None:
    await talk.take_turn("one")
    await talk.fork((await talk.history())[0].id)
    assert (await questions(talk), await became(talk), await talk.waiting()) == (["one"], ["brandy"], [])


async def test_no_turn_is_left_out_while_changes_wait(talk: Conversation) -> None:
    await talk.take_turn("one")
    (turn,) = await talk.history()
    with pytest.raises(ValueError, match="approve or refuse them first"):
        await talk.leave_out(turn.id)
    assert len(await talk.waiting()) == 1
    await talk.answer({"approved": [1]})
    await talk.take_turn("two")
    await talk.leave_out(turn.id)
    assert (await questions(talk), await became(talk)) == (["two"], [])  # what it has become by that is left out, too


async def test_a_fork_from_before_a_waiting_turn_leaves_nothing_waiting(talk: Conversation) -> None:
    await talk.take_turn("one")
    await talk.answer({"approved": []})
    await talk.take_turn("two")
    await talk.fork((await talk.history())[0].id)
    assert (await questions(talk), await talk.waiting()) == (["one"], [])


@pytest.mark.parametrize("how", ["delete", "withdraw"])
async def test_a_waiting_turn_is_taken_back(talk: Conversation, how: str) -> None:
    await talk.take_turn("one")
    await talk.answer({"approved": []})
    await talk.take_turn("two")
    assert len(await talk.waiting()) == 1
    await (talk.delete((await talk.history())[-1].id) if how == "delete" else talk.withdraw())
    assert (await questions(talk), await talk.waiting(), await talk.unfinished()) == (["one"], [], None)
    assert await became(talk) == ["brandy"]


async def test_only_what_must_be_approved_is_waited_for(saver: Saver, tmp_path: Path) -> None:
    talk = changing_talk(saver, becoming(tmp_path, FREE))
    await talk.take_turn("one")
    assert (await talk.waiting(), await talk.unfinished(), await became(talk)) == ([], None, ["brandy"])


async def test_of_several_changes_some_are_approved(saver: Saver, tmp_path: Path) -> None:
    talk = changing_talk(saver, becoming(tmp_path, CORE, FREE, finding("gin", relation="likes"), approval="all"))
    await talk.take_turn("one")
    await talk.answer({"approved": [1, 3]})
    assert await became(talk) == ["a sailor", "gin"]


async def test_what_waits_is_there_after_a_restart(tmp_path: Path) -> None:
    for numbers in ([1], None):
        async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
            talk = changing_talk(saver, becoming(tmp_path / "library"))
            await (talk.take_turn("one") if numbers else talk.answer({"approved": [1]}))
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        talk = changing_talk(saver, becoming(tmp_path / "library"))
        assert (await became(talk), await talk.waiting(), calls(talk)) == (["a sailor", "brandy"], [], 0)


@pytest.fixture(scope="module")
def waiting_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a conversation that waits."""
    library = tmp_path_factory.mktemp("waiting")
    becoming(library)
    take_waiting_turn(library)
    return library


def given_or_to_be_given(crash: Crash) -> bool:
    """Look after a killed answer: it was given, or can still be; whether it can."""
    replies, waiting, objects = what_is_kept(crash.folder)
    assert replies == ["I keep the light."]
    assert objects == ([] if waiting else ["a sailor", "brandy"])
    approve_it(crash.folder)
    assert what_is_kept(crash.folder) == (["I keep the light."], [], ["a sailor", "brandy"])
    return bool(waiting)


@SOME_OR_ALL
def test_an_answer_killed_at_any_write_was_given_or_can_be_given(
    waiting_library: Path, tmp_path: Path, most: int | None
) -> None:
    seen = [given_or_to_be_given(crash) for crash in kills(approve_it, waiting_library, tmp_path, most)]
    assert len(seen) >= (most or 3)
    assert all(seen)  # its last write is what gives the answer


class Asking(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    said: str


def asking(question: Any, done: Callable[[Any], Any]) -> StateGraph[Any, Any, Any, Any]:
    """A workflow of somebody else's that asks something after its reply."""

    async def reply(state: Asking) -> dict[str, Any]:
        return {"messages": [AIMessage("Ay.")]}

    async def ask(state: Asking) -> dict[str, Any]:
        return {"said": done(interrupt(question))}

    builder = StateGraph(Asking, RoleContext)
    builder.add_node(reply)
    builder.add_node(ask)
    builder.add_edge(START, "reply")
    builder.add_edge("reply", "ask")
    builder.add_edge("ask", END)
    return builder


async def test_a_question_of_another_kind_is_answered_by_nobody_but_a_person(saver: Saver) -> None:
    talk = Conversation(asking("Burn the letters?", str), saver, RoleContext(), "tea")
    await talk.take_turn("one")
    assert await talk.waiting() == ["Burn the letters?"]
    await talk.take_turn("two")
    assert [(turn.question, turn.reply) for turn in await talk.history()] == [("one", "Ay."), ("two", "Ay.")]
    assert "said" not in await talk.values((await talk.history())[0])
    await talk.answer("Burn them.")
    assert (await talk.values())["said"] == "Burn them."


async def test_a_node_that_takes_no_answer_costs_no_reply(saver: Saver) -> None:
    talk = Conversation(asking({"changes": []}, lambda _: 1 / 0), saver, RoleContext(), "tea")
    await talk.take_turn("one")
    with pytest.raises(ZeroDivisionError):
        await talk.answer("Ay.")
    assert await talk.waiting() == [{"changes": []}]
    await talk.take_turn("two")
    assert [(turn.question, turn.reply) for turn in await talk.history()] == [("one", "Ay."), ("two", "Ay.")]
