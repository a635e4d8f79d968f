"""How a turn begins: the question, the window, nothing left of the turn before."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from dramaturg.nodes.reply import earlier
from dramaturg.nodes.turn import LONGEST_MESSAGE, WindowSettings, leaving, question_in, read_turn, removals


def talk(length: int) -> list[AnyMessage]:
    """A conversation of so many messages, a user's first."""
    kinds = (HumanMessage, AIMessage)
    return [kinds[n % 2](content=f"message {n}", id=str(n)) for n in range(length)]


@given(st.integers(0, 30), st.integers(2, 40))
def test_what_stays_is_the_last_messages_and_begins_with_the_user(turns: int, window: int) -> None:
    messages = talk(2 * turns + 1)
    gone = [message.id for message in removals(leaving(messages, window))]
    kept = [message for message in messages if message.id not in gone]
    assert gone == [message.id for message in messages[: len(gone)]]
    assert window - 1 <= len(kept) <= window or len(kept) == len(messages)
    assert kept[0].type == "human"
    assert kept[-1] is messages[-1]


async def test_a_turn_begins_with_nothing_of_the_last_one() -> None:
    written = await read_turn({"messages": talk(5)}, Runtime(context=WindowSettings(window=2)))
    assert written["question"] == "message 4"
    assert [message.id for message in written["messages"]] == ["0", "1"]
    assert written["evidence"] == written["usage"] == Overwrite({})


async def test_a_turn_without_a_context_has_the_defaults() -> None:
    runtime: Runtime[Any] = Runtime(context=None)
    assert (await read_turn({"messages": talk(21)}, runtime))["messages"] == []
    written = await read_turn({"messages": talk(1001)}, runtime)
    assert [message.id for message in written["messages"]] == [str(n) for n in range(980)]


def test_the_question_is_text_also_where_a_client_sends_blocks() -> None:
    assert question_in([HumanMessage([{"type": "text", "text": " Who are you? "}])]) == "Who are you?"


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        *((one, "nothing to answer") for one in ([], [AIMessage("hi")], [HumanMessage("")], [HumanMessage(" \n")])),
        ([HumanMessage("\ud83d")], "not valid Unicode"),
    ],
    ids=["no message", "a reply", "no text", "spaces", "half a surrogate pair"],
)
def test_what_cannot_be_answered_is_refused(messages: list[AnyMessage], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        question_in(messages)


@pytest.mark.parametrize(
    ("kinds", "most", "gone"),
    [
        ("uaua", 3, 2),  # an odd window: what would come first is a reply
        ("uuau", 3, 1),  # two of a user's in a row: the second may come first
        ("uuuu", 2, 2),
        ("auau", 4, 0),  # the role has spoken first, and nothing is too much
        ("auau", 3, 1),
        ("uaaau", 3, 4),
    ],
)
def test_the_window_begins_with_the_first_message_of_a_user_that_fits(kinds: str, most: int, gone: int) -> None:
    messages = [(HumanMessage if kind == "u" else AIMessage)(kind, id=str(at)) for at, kind in enumerate(kinds)]
    assert leaving(messages, most) == messages[:gone]


def test_a_message_of_megabytes_is_refused_in_a_sentence() -> None:
    assert question_in([HumanMessage("x" * LONGEST_MESSAGE)])
    with pytest.raises(ValueError, match=r"has 5,000,000 characters, and 100,000 are the most: send a part"):
        question_in([HumanMessage("x" * 5_000_000)])


def test_of_an_earlier_message_of_megabytes_only_the_beginning_is_shown() -> None:
    said = [HumanMessage("x" * 1_000_000), AIMessage("y" * 1_000_000), HumanMessage("Who are you?")]
    assert [len(one.text) for one in earlier(said)] == [LONGEST_MESSAGE] * 2
