"""Turns that are whole or not there, and a past that can be changed: with our saver, and what matters with others."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from databases import PLACES, open_saver
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph, add_messages

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.turn_lock import ThreadBusy
from dramaturg.conversations.turns import all_steps, lineage, turns_until
from dramaturg.models.errors import ModelError, ModelUnavailable
from dramaturg.nodes.run import RoleContext
from dramaturg.nodes.wish import WISH
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows import naive_rag

from roles import fenced
from talks import Player, conversation, memory, questions

pytestmark = pytest.mark.sample_of_file(9)

Saver = BaseCheckpointSaver[Any]


@pytest.fixture
def player() -> Player:
    return Player()


@pytest.fixture
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Saver]:
    """Our own, or that of the test's parameter."""
    async with open_saver(getattr(request, "param", "ours"), tmp_path, request) as saver:
        yield saver


# What a conversation asks of a saver: write, list, go back, delete. Our own passes LangGraph's whole suite besides.
each_saver = pytest.mark.parametrize("saver", PLACES, indirect=True)


@pytest.fixture
def talk(saver: Saver, tmp_path: Path, player: Player) -> Conversation:
    return conversation(saver, tmp_path, player)


@each_saver
async def test_turns_are_remembered(talk: Conversation) -> None:
    output = await talk.take_turn("one")
    await talk.take_turn("two")
    assert output["messages"][-1].text == "Reply 1 to one"
    assert [(t.question, t.reply) for t in await talk.history()] == [
        ("one", "Reply 1 to one"),
        ("two", "Reply 2 to two"),
    ]
    assert await memory(talk) == {"one", "two"}
    assert await talk.unfinished() is None


async def test_a_turn_whose_listener_fails_is_unfinished_at_once(talk: Conversation, player: Player) -> None:
    def closed(_: Any) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError) as failed:
        await talk.take_turn("one", closed)
    assert failed.tb is not None  # it still holds the frames of the turn: nothing ends there by being forgotten
    unfinished = await talk.unfinished()
    assert unfinished is not None
    assert unfinished.question == "one"
    await talk.finish()
    assert await questions(talk) == ["one"]


@each_saver
async def test_a_fork_remembers_its_own_past_only(talk: Conversation, player: Player) -> None:
    for text in ("one", "two", "three"):
        await talk.take_turn(text)
    first, _, third = await talk.history()
    await talk.fork(first.id)
    assert await questions(talk) == ["one"]
    assert await memory(talk) == {"one"}
    await talk.take_turn("other")
    assert await questions(talk) == ["one", "other"]
    assert await memory(talk) == {"one", "other"}
    assert "two" not in player.shown[-1]
    await talk.fork(third.id)
    assert await questions(talk) == ["one", "two", "three"]
    assert await memory(talk) == {"one", "two", "three"}
    assert sorted([t.question for t in b] for b in await talk.branches()) == [["one", "other"], ["one", "two", "three"]]


async def test_branches_begin_with_the_one_that_was_spoken_on_last(talk: Conversation) -> None:
    assert await talk.branches() == []
    await talk.take_turn("one")
    await talk.take_turn("two")
    await talk.fork((await talk.history())[0].id)
    assert [len(branch) for branch in await talk.branches()] == [1, 2]


@pytest.mark.sample(3)
@each_saver
@pytest.mark.parametrize("number", [0, 1, 2, None])
async def test_a_turn_is_asked_again(talk: Conversation, number: int | None) -> None:
    for text in ("one", "two", "three"):
        await talk.take_turn(text)
    before = await talk.history()
    await talk.regenerate(None if number is None else before[number].id)
    after = await talk.history()
    kept = 2 if number is None else number
    assert after[:kept] == before[:kept]
    assert [turn.question for turn in after] == ["one", "two", "three"][: kept + 1]
    assert after[-1].reply == f"Reply 4 to {after[-1].question}"
    assert await memory(talk) == set(await questions(talk))


@pytest.mark.parametrize("number", [0, 1])
async def test_a_turn_is_edited(talk: Conversation, number: int) -> None:
    for text in ("one", "two"):
        await talk.take_turn(text)
    await talk.edit((await talk.history())[number].id, "else")
    assert await questions(talk) == [["else"], ["one", "else"]][number]
    assert await memory(talk) == set(await questions(talk))


@pytest.mark.sample(2)
@each_saver
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_turn_is_deleted_with_what_followed(talk: Conversation, number: int) -> None:
    for text in ("one", "two", "three"):
        await talk.take_turn(text)
    gone = (await talk.history())[number]
    await talk.delete(gone.id)
    assert await questions(talk) == ["one", "two", "three"][:number]
    assert await memory(talk) == set(await questions(talk))
    await talk.take_turn("next")
    assert await questions(talk) == [*["one", "two", "three"][:number], "next"]


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("talks.sqlite*"))


async def test_our_saver_erases_what_is_deleted(tmp_path: Path, player: Player) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        talk = conversation(saver, tmp_path, player)
        await talk.take_turn("one")
        await talk.take_turn("a secret wish")
        await talk.fork((await talk.history())[1].id)
        await talk.take_turn("three")
        await talk.delete((await talk.history())[1].id)
        assert await questions(talk) == ["one"]
        assert len(await talk.branches()) == 1
    assert b"secret" not in all_bytes(tmp_path)


async def test_a_message_that_is_delivered_twice_is_one_turn(talk: Conversation, player: Player) -> None:
    message = HumanMessage("one", id="m-1")
    first = await talk.take_turn(message)
    await talk.take_turn("two")
    again = await talk.take_turn(message)
    assert [m.text for m in again["messages"]] == [m.text for m in first["messages"]]
    assert again["evidence"] == first["evidence"]
    assert await questions(talk) == ["one", "two"]
    assert player.replies == 2


@each_saver
async def test_a_failed_turn_is_withdrawn_by_another_message(talk: Conversation, player: Player) -> None:
    await talk.take_turn("one")
    player.down = True
    with pytest.raises(ModelError):
        await talk.take_turn("two")
    unfinished = await talk.unfinished()
    assert unfinished is not None
    assert (unfinished.question, unfinished.reply) == ("two", None)
    assert await questions(talk) == ["one"]
    player.down = False
    await talk.take_turn("three")
    assert await questions(talk) == ["one", "three"]
    assert await memory(talk) == {"one", "three"}
    assert "two" not in player.shown[-1]


@each_saver
async def test_a_failed_turn_is_finished_by_the_same_message(talk: Conversation, player: Player) -> None:
    player.down = True
    message = HumanMessage("one", id="m-1")
    with pytest.raises(ModelError):
        await talk.take_turn(message)
    player.down = False
    output = await talk.take_turn(message)
    assert output["messages"][-1].text == "Reply 1 to one"
    assert await questions(talk) == ["one"]
    assert await talk.unfinished() is None


async def test_a_failed_turn_can_be_finished_or_withdrawn(talk: Conversation, player: Player) -> None:
    with pytest.raises(ValueError, match="no unfinished turn"):
        await talk.finish()
    await talk.withdraw()
    player.down = True
    with pytest.raises(ModelError):
        await talk.take_turn("one")
    with pytest.raises(ModelError):
        await talk.finish()
    player.down = False
    await talk.finish()
    assert await questions(talk) == ["one"]
    player.down = True
    with pytest.raises(ModelError):
        await talk.take_turn("two")
    await talk.withdraw()
    assert await talk.unfinished() is None
    assert await questions(talk) == ["one"]


@each_saver
async def test_a_turn_is_asked_again_with_a_wish_that_holds_for_it_alone(talk: Conversation, player: Player) -> None:
    await talk.take_turn("one")
    await talk.take_turn("two")
    output = await talk.regenerate(wish=" shorter,\n please ")
    assert fenced("wish", player.shown[-1]) == output["evidence"]["wish"] == "shorter, please"
    await talk.regenerate((await talk.history())[0].id, wish="in rhyme")
    await talk.take_turn("three")
    assert "<wish>" not in player.shown[-1]
    assert "rhyme" not in player.shown[-1]
    asked = [[(turn.question, turn.wish) for turn in branch] for branch in await talk.branches()]
    assert sorted(asked) == [
        [("one", ""), ("two", "")],
        [("one", ""), ("two", "shorter, please")],
        [("one", "in rhyme"), ("three", "")],
    ]
    await talk.regenerate((await talk.history())[0].id)
    assert "<wish>" not in player.shown[-1]
    assert not any(turn.wish for turn in await talk.history())
    with pytest.raises(ValueError, match="The wish for a reply has 501 characters, and 500 are the most"):
        await talk.regenerate(wish="x" * 501)


async def test_a_turn_that_failed_is_finished_with_its_wish(talk: Conversation, player: Player) -> None:
    player.down = True
    with pytest.raises(ModelError):
        await talk.take_turn(HumanMessage("one", additional_kwargs={WISH: "shorter"}))
    player.down = False
    assert (await talk.finish())["evidence"]["wish"] == "shorter"
    assert fenced("wish", player.shown[-1]) == "shorter"


@pytest.mark.parametrize("number", [0, 1])
async def test_a_turn_that_fails_when_asked_again_leaves_the_branch_of_before(
    talk: Conversation, player: Player, number: int
) -> None:
    for text in ("one", "two"):
        await talk.take_turn(text)
    before = await talk.history()
    player.down = True
    with pytest.raises(ModelError):
        await talk.regenerate(before[number].id)
    assert await talk.unfinished() is None
    assert [(t.id, t.reply) for t in await talk.history()] == [(t.id, t.reply) for t in before]
    assert await memory(talk) == {"one", "two"}


@pytest.mark.sample(3)
@each_saver
@pytest.mark.parametrize("durability", ["sync", "async"])
async def test_a_turn_that_another_program_left_step_by_step_is_finished(
    talk: Conversation, player: Player, durability: Any
) -> None:
    """Studio and servers keep a checkpoint a step; the last turn stopped in the middle."""
    graph, thread = talk.thread.graph, talk.thread.address()
    await talk.take_turn("one")
    player.down = True
    message = HumanMessage("two", id="m-2")
    with pytest.raises(ModelError):
        await talk.thread.graph.ainvoke(
            {"messages": [message]}, talk.thread.address(), context=talk.context, durability=durability
        )
    unfinished = await talk.unfinished()
    assert unfinished is not None
    assert unfinished.id == "m-2"
    player.down = False
    await talk.take_turn(message)
    assert await questions(talk) == ["one", "two"]
    player.down = True
    with pytest.raises(ModelError):
        await graph.ainvoke({"messages": [("user", "x")]}, thread, context=talk.context, durability=durability)
    player.down = False
    await talk.take_turn("three")
    assert await questions(talk) == ["one", "two", "three"]
    assert await memory(talk) == {"one", "two", "three"}


async def test_a_cancelled_turn_leaves_the_thread_free(talk: Conversation, player: Player) -> None:
    await talk.take_turn("one")

    def cancel(_: Any) -> None:
        task.cancel()

    task = asyncio.create_task(talk.take_turn("two", cancel))
    with pytest.raises(asyncio.CancelledError):
        await task
    await talk.take_turn("three")
    assert await questions(talk) == ["one", "three"]


async def test_turns_at_once_are_taken_one_after_the_other(talk: Conversation) -> None:
    await asyncio.gather(*(talk.take_turn(str(number)) for number in range(8)))
    assert sorted(await questions(talk)) == [str(number) for number in range(8)]


async def test_a_thread_that_stays_in_use_is_busy(saver: Saver, tmp_path: Path, player: Player) -> None:
    for locks in (None, tmp_path / "locks"):
        talk = conversation(saver, tmp_path, player, locks=locks, patience=0.05)
        async with talk.turn():
            with pytest.raises(ThreadBusy, match="in use elsewhere"):
                await talk.take_turn("one")
        await talk.take_turn("two")


async def test_programs_that_share_a_folder_wait_for_each_other(tmp_path: Path, player: Player) -> None:
    """Each has a saver of its own, as two processes have."""
    locks = tmp_path / "locks"
    one = conversation(InMemorySaver(), tmp_path, player, locks=locks, patience=0.05)
    other = conversation(InMemorySaver(), tmp_path, player, locks=locks, patience=0.05)
    async with one.turn():
        with pytest.raises(ThreadBusy):
            await other.take_turn("one")
    await other.take_turn("two")


@pytest.mark.parametrize("text", ["", "  ", "\0"])
async def test_an_empty_message_leaves_nothing_behind(talk: Conversation, text: str) -> None:
    with pytest.raises(ValueError, match="nothing to answer"):
        await talk.take_turn(text)
    await talk.take_turn("one")
    with pytest.raises(ValueError, match="nothing to answer"):
        await talk.edit((await talk.history())[0].id, text)
    assert await talk.unfinished() is None
    assert await questions(talk) == ["one"]


async def test_a_turn_that_is_not_there(talk: Conversation) -> None:
    with pytest.raises(ValueError, match="Nothing has been said"):
        await talk.regenerate()
    await talk.take_turn("one")
    for change in (talk.fork, talk.regenerate, talk.delete):
        with pytest.raises(ValueError, match="no turn 'nowhere'"):
            await change("nowhere")
    assert await questions(talk) == ["one"]


@each_saver
async def test_a_thread_is_erased(talk: Conversation) -> None:
    await talk.take_turn("one")
    await talk.erase()
    assert await talk.history() == []
    await talk.take_turn("two")
    assert await questions(talk) == ["two"]
    assert await memory(talk) == {"two"}


@each_saver
async def test_the_first_question_is_that_of_the_branch(talk: Conversation) -> None:
    assert await talk.first_question() == ""
    for text in ("one", "two"):
        await talk.take_turn(text)
    assert await talk.first_question() == "one"
    await talk.edit((await talk.history())[0].id, "else")
    assert await talk.first_question() == "else"
    await talk.erase()
    await step_by_step(talk, "three", "four")
    assert await talk.first_question() == "three"


@each_saver
async def test_the_tree_is_that_of_the_branches(talk: Conversation) -> None:
    await step_by_step(talk, "one", "two")
    for text in ("three", "four"):
        await talk.take_turn(text)
    first, second, *_ = await talk.history()
    await talk.regenerate(second.id)
    await talk.take_turn("five")
    await talk.edit(first.id, "else")
    await talk.fork(second.id)
    await talk.take_turn("six")
    branches = [[None, *(turn.id for turn in branch)] for branch in await talk.branches()]
    assert len(branches) == 4
    assert {(one.id, before) for one, before in await talk.tree()} == {
        (turn, before) for branch in branches for before, turn in pairwise(branch)
    }


@pytest.mark.sample(2)
@each_saver
async def test_one_query_and_a_listing_read_the_same_past(talk: Conversation) -> None:
    for text in ("one", "two", "three"):
        await talk.take_turn(text)
    await talk.edit((await talk.history())[1].id, "else")
    turns = await turns_until(talk.saver, "tea")
    assert [turn.question for turn in turns] == ["one", "else"]
    steps = await all_steps(talk.saver, "tea")
    chain = list(lineage(steps, next(iter(steps))))[::-1]
    assert [step.checkpoint_id for step in chain if step.said] == [turn.checkpoint for turn in turns]


async def step_by_step(talk: Conversation, *texts: str) -> None:
    """Turns as Studio and servers keep them: a checkpoint a step; the text is the id."""
    for text in texts:
        asked = {"messages": [HumanMessage(text, id=text)]}
        await talk.thread.graph.ainvoke(asked, talk.thread.address(), context=talk.context, durability="sync")


async def test_turns_that_were_kept_step_by_step_are_deleted(talk: Conversation, tmp_path: Path) -> None:
    await step_by_step(talk, "one", "secret", "three")
    await talk.delete("secret")
    assert await talk.unfinished() is None
    await talk.take_turn("next")
    assert await questions(talk) == ["one", "next"]
    assert b"secret" not in all_bytes(tmp_path)


@pytest.mark.sample(2)
@each_saver
async def test_turns_that_were_kept_step_by_step_are_forked_and_delivered_again(
    talk: Conversation, player: Player
) -> None:
    await step_by_step(talk, "one", "two")
    again = await talk.take_turn(HumanMessage("two", id="two"))
    assert (again["messages"][-1].text, player.replies) == ("Reply 2 to two", 2)
    await talk.fork("one")
    assert await talk.unfinished() is None
    assert await memory(talk) == {"one"}
    await talk.take_turn("else")
    assert sorted([t.question for t in b] for b in await talk.branches()) == [["one", "else"], ["one", "two"]]


async def test_a_turn_kept_step_by_step_that_is_withdrawn_takes_no_other_with_it(
    talk: Conversation, player: Player
) -> None:
    await step_by_step(talk, "one")
    player.down = True
    with pytest.raises(ModelError):
        await step_by_step(talk, "two")
    player.down = False
    await talk.withdraw()
    await talk.take_turn("three")
    assert await questions(talk) == ["one", "three"]


@pytest.mark.sample(3)
@each_saver
@pytest.mark.parametrize("same", [True, False])
async def test_an_input_that_was_stored_and_no_more(
    talk: Conversation, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await step_by_step(talk, "one")
    graph: Any = talk.thread.graph
    put = graph.checkpointer.aput

    async def last(*arguments: Any) -> Any:
        await put(*arguments)
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(graph.checkpointer, "aput", last)
        with pytest.raises(ConnectionError):
            await step_by_step(talk, "two")
    unfinished = await talk.unfinished()
    assert unfinished is not None
    assert (unfinished.id, unfinished.question, unfinished.reply) == ("two", "two", None)
    await talk.take_turn(HumanMessage("two", id="two") if same else "three")
    assert await questions(talk) == ["one", "two" if same else "three"]


async def test_the_id_of_a_reply_is_no_message(talk: Conversation) -> None:
    reply = (await talk.take_turn("one"))["messages"][-1].id
    with pytest.raises(ValueError, match="id of a reply"):
        await talk.take_turn(HumanMessage("two", id=reply))
    with pytest.raises(ValueError, match="no turn"):
        await talk.fork(reply)
    assert [turn.reply for turn in await talk.history()] == ["Reply 1 to one"]


async def test_a_message_is_asked_again_with_all_that_it_holds(talk: Conversation) -> None:
    content = [{"type": "text", "text": "one"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]
    await talk.take_turn(HumanMessage(content))
    await talk.regenerate()
    assert (await talk.values())["messages"][0].content == content


@each_saver
async def test_what_was_asked_again_is_deleted_and_the_branches_can_be_read(talk: Conversation) -> None:
    """The checkpoint before it is the head again, and was written before that of the other branch."""
    for text in ("one", "two"):
        await talk.take_turn(text)
    await talk.regenerate()
    await talk.delete((await talk.history())[1].id)
    assert await questions(talk) == ["one"]
    assert ["one", "two"] in [[turn.question for turn in branch] for branch in await talk.branches()]


async def test_a_turn_of_another_branch_is_deleted_without_leaving_this_one(talk: Conversation) -> None:
    await talk.take_turn("one")
    old = (await talk.history())[0]
    await talk.edit(old.id, "else")
    await talk.delete(old.id)
    assert await questions(talk) == ["else"]


async def test_a_turn_that_stopped_in_a_node_of_another_method_is_asked_again(
    talk: Conversation, player: Player
) -> None:
    given = talk.context.model_dump(include={"role", "library", "language", "splitter"})
    models = {"chat_model": talk.context.chat_model, "embedding_model": talk.context.embedding_model}
    other = Conversation(naive_rag.build(), talk.saver, naive_rag.NaiveRagContext(**given, **models), "tea")
    message = HumanMessage("one", id="m-1")
    player.down = True
    with pytest.raises(ModelError):
        await talk.take_turn(message)
    player.down = False
    assert (await other.take_turn(message))["messages"][-1].text == "Reply 1 to one"
    assert await other.unfinished() is None


class Noted(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: list[str]


class Noting:
    """A workflow that answers, and then takes a note, which may fail or take for ever."""

    def __init__(self, saver: Saver) -> None:
        self.fails: BaseException | None = None
        self.answers = 0
        self.noting = asyncio.Event()
        self.slow = False
        graph = StateGraph(Noted, context_schema=RoleContext)
        graph.add_node("answer", self.answer)
        graph.add_node("note", self.note)
        graph.add_edge(START, "answer")
        graph.add_edge("answer", "note")
        graph.add_edge("note", END)
        self.talk = Conversation(graph, saver, RoleContext(role="ada"), "tea")

    async def answer(self, state: Noted) -> Noted:
        self.answers += 1
        return {"messages": [AIMessage(f"That of {state['messages'][-1].text}")]}

    async def note(self, state: Noted) -> Noted:
        self.noting.set()
        if self.slow:
            await asyncio.Event().wait()
        if self.fails:
            raise self.fails
        return {"notes": [*state.get("notes", []), state["messages"][-2].text]}

    async def stopped(self, text: str) -> None:
        """A turn that stops after its reply; its text is its id."""
        self.fails = ModelUnavailable("The model is not there.")
        with pytest.raises(ModelUnavailable):
            await self.talk.take_turn(HumanMessage(text, id=text))
        assert await self.open() == text
        self.fails = None

    async def open(self) -> str | None:
        """The question of the unfinished turn, if it has its reply."""
        unfinished = await self.talk.unfinished()
        return unfinished.question if unfinished and unfinished.reply is not None else None

    async def notes(self) -> list[str]:
        return list((await self.talk.values()).get("notes", []))


@pytest.fixture
def noting(saver: Saver) -> Noting:
    return Noting(saver)


@each_saver
async def test_a_turn_that_stopped_after_its_reply_is_finished_before_the_next(noting: Noting) -> None:
    await noting.talk.take_turn("one")
    await noting.stopped("two")
    output = await noting.talk.take_turn("three")
    assert [message.text for message in output["messages"][2:]] == ["two", "That of two", "three", "That of three"]
    assert await questions(noting.talk) == await noting.notes() == ["one", "two", "three"]
    assert noting.answers == 3
    assert await noting.talk.unfinished() is None


async def test_a_reply_is_kept_though_its_turn_cannot_be_finished(noting: Noting) -> None:
    await noting.talk.take_turn("one")
    await noting.stopped("two")
    for text in ("three", "four"):
        await noting.stopped(text)
    output = await noting.talk.take_turn("five")
    assert [message.text for message in output["messages"][::2]] == ["one", "two", "three", "four", "five"]
    assert await questions(noting.talk) == ["one", "two", "three", "four", "five"]
    assert await noting.notes() == ["one", "four", "five"]
    await noting.talk.fork("three")
    assert await noting.talk.unfinished() is None
    assert await noting.notes() == ["one"]


async def test_a_turn_that_was_cancelled_after_its_reply_is_kept(noting: Noting) -> None:
    await noting.talk.take_turn("one")
    for _ in range(2):  # also when it is gone on with
        noting.slow = True
        noting.noting.clear()
        task = asyncio.create_task(noting.talk.take_turn("two" if not await noting.open() else "three"))
        await noting.noting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await noting.open() == "two"
    noting.slow = False
    await noting.talk.take_turn("three")
    assert await questions(noting.talk) == await noting.notes() == ["one", "two", "three"]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("how", ["fork", "regenerate", "edit"])
async def test_a_change_of_another_turn_keeps_one_that_stopped_after_its_reply(
    noting: Noting, how: str, fails: bool
) -> None:
    await noting.talk.take_turn(HumanMessage("one", id="one"))
    await noting.stopped("two")
    noting.fails = ModelUnavailable("The model is not there.") if fails else None
    changes = {
        "fork": lambda: noting.talk.fork("one"),
        "regenerate": lambda: noting.talk.regenerate("one"),
        "edit": lambda: noting.talk.edit("one", "else"),
    }
    if fails and how != "fork":
        with pytest.raises(ModelUnavailable):
            await changes[how]()
        assert await noting.open() == ("else" if how == "edit" else "one")  # a reply to this, too, was read
    else:
        await changes[how]()
        assert await noting.talk.unfinished() is None
    assert ["one", "two"] in [[turn.question for turn in branch] for branch in await noting.talk.branches()]
    noting.fails = None
    await noting.talk.fork("two")
    assert await questions(noting.talk) == ["one", "two"]
    assert await noting.notes() == (["one"] if fails else ["one", "two"])


async def test_a_turn_that_stopped_after_its_reply_can_be_withdrawn_finished_and_deleted(noting: Noting) -> None:
    await noting.stopped("one")
    await noting.talk.withdraw()
    assert await questions(noting.talk) == []
    await noting.stopped("two")
    output = await noting.talk.take_turn(HumanMessage("two", id="two"))
    assert output["messages"][-1].text == "That of two"
    await noting.stopped("three")
    await noting.talk.finish()
    assert noting.answers == 3
    await noting.stopped("four")
    await noting.talk.delete("three")
    assert await questions(noting.talk) == await noting.notes() == ["two"]
    assert await noting.talk.unfinished() is None


async def test_a_reply_is_kept_by_a_workflow_that_lacks_the_node_in_which_its_turn_stopped(noting: Noting) -> None:
    await noting.stopped("one")
    graph = StateGraph(Noted, context_schema=RoleContext)
    graph.add_node("answer", noting.answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    other = Conversation(graph, noting.talk.saver, noting.talk.context, "tea")
    output = await other.take_turn(HumanMessage("one", id="one"))
    assert (output["messages"][-1].text, noting.answers) == ("That of one", 1)
    assert await other.unfinished() is None
