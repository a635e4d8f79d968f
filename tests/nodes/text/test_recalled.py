"""How much of what is recalled is shown: a budget, and of long texts the passages that match the question."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.conversations.conversation import Conversation
from dramaturg.nodes.text.recalled import LONG, passages_of, size_of, within_recalled
from dramaturg.workflows import emotional_rag
from dramaturg.workflows.emotional_rag import EmotionalRagContext

import identity_roles
from identity_roles import decider
from mood_models import feeler
from roles import fenced, run_settings, small_role, write_memories
from scope_roles import shown

FILLER = "On the {} day the glass stood still and nothing came over the water. "
PASTE = "Here is my log. " + "".join(FILLER.format(at) for at in range(680)).replace(
    FILLER.format(400), "The parcel from Leith lies under the third stair. ", 1
)
assert len(PASTE) > 45_000


async def test_a_long_paste_comes_back_by_the_passage_that_matches(tmp_path: Path) -> None:
    role, saver = identity_roles.ada(tmp_path), InMemorySaver()
    on: dict[str, Any] = {"window": 2, "gate": False, "summary_tokens": 0}
    for said in (PASTE, "Good.", "And you?"):
        await identity_roles.take(role, decider(), said, saver, **on)
    output = await identity_roles.take(role, model := decider(), "Where lies the parcel from Leith?", saver, **on)
    told = fenced("memories", identity_roles.shown(model, "reply")[-1])
    assert "The parcel from Leith lies under the third stair." in told
    assert "Here is my log." in told
    assert size_of(told) < LONG + 1000
    (long,) = [one for one in output["evidence"]["episodes"] if one.get("in_part")]
    assert "third stair" in long["text"]
    assert size_of(long["text"]) <= LONG


@pytest.mark.parametrize("tokens", [500, 3000])
async def test_what_finds_no_room_is_left_out_and_counted(tmp_path: Path, tokens: int) -> None:
    role = identity_roles.ada(tmp_path)
    write_memories(role, [{"text": f"Watch {at}: {'calm ' * 200}"} for at in range(10)])
    given: dict[str, Any] = {"recalled_tokens": tokens, "gate": False}
    output = await identity_roles.take(role, model := decider(), "How was the watch?", **given)
    told = fenced("memories", identity_roles.shown(model, "reply")[-1])
    assert size_of(told) < tokens * 4 + 200
    evidence = output["evidence"]
    assert len(evidence["episodes"]) + evidence.get("episodes_left_out", 0) == 10
    assert evidence["episodes"]
    assert (evidence.get("episodes_left_out", 0) > 0) == (tokens == 500)


def emotional_talk(library: Path, **given: Any) -> Conversation:
    """A conversation of Emotional RAG."""
    context = EmotionalRagContext(**run_settings(library, feeler()) | {"window": 2, "summary_tokens": 0, **given})
    return Conversation(emotional_rag.build(), InMemorySaver(), context, "tea", store=InMemoryStore())


async def test_a_long_paste_is_remembered_and_comes_back_by_the_passage_that_matches(tmp_path: Path) -> None:
    small_role(tmp_path)
    talk = emotional_talk(tmp_path)
    for said in (PASTE, "Good.", "And you?"):
        await talk.take_turn(HumanMessage(said))
    talk.change(chat_model=(model := feeler()))
    output = await talk.take_turn(HumanMessage("Where lies the parcel from Leith?"))
    reply = shown(model, "reply")[-1]
    assert "The parcel from Leith lies under the third stair." in reply
    assert len(reply) < 10_000
    (long,) = [one for one in output["evidence"]["memories"] if one.get("in_part")]
    assert (long["canon"], size_of(long["text"]) <= LONG) == (False, True)


async def test_of_many_memories_those_that_find_room_come_back(tmp_path: Path) -> None:
    small_role(tmp_path)
    write_memories(tmp_path / "ada", [{"text": f"Watch {at}: {'calm ' * 200}"} for at in range(10)])
    talk = emotional_talk(tmp_path, recalled_tokens=500)
    evidence = (await talk.take_turn(HumanMessage("How was the watch?")))["evidence"]
    assert len(evidence["memories"]) + evidence["memories_left_out"] == 10
    assert sum(size_of(one["text"]) for one in evidence["memories"]) <= 2000


TEXTS = st.lists(st.text(alphabet="ab .\n灯é", max_size=3000).map(lambda text: f"A: {text * 3}"), max_size=5)


@given(TEXTS, st.integers(500, 2000), st.randoms(use_true_random=False))
def test_no_more_is_shown_than_there_is_room_for_and_the_first_always(
    texts: list[str], tokens: int, random: Any
) -> None:
    near = {passage: random.random() for text in texts for passage in passages_of(text)}
    found = within_recalled(texts, near, tokens)
    assert sum(size_of(one) for one in found if one) <= tokens * 4
    assert not texts or found[0]
    assert all(one == text for one, text in zip(found, texts, strict=True) if one and size_of(text) <= LONG)
    assert all(size_of(one) <= LONG for one in found if one)
