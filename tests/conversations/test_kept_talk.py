"""What is kept of a talk: what was imported or taken over as what was said here, as long as a branch holds it."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from databases import PLACES, open_saver, open_store
from hypothesis import given
from hypothesis import strategies as st
from kept_talks import (
    ASKED,
    TOLD,
    Listener,
    branch_of,
    history_of,
    kept_talk,
    lines_in,
    recalled_in,
    records_of,
    small_talk,
)
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore, Item, Op, Result, SearchOp
from langgraph.store.memory import InMemoryStore

from dramaturg.conversations.alignment import Exchange
from dramaturg.conversations.chats import taken_in, written_out
from dramaturg.conversations.json_lines import exported, imported
from dramaturg.conversations.thread import last_node
from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.talk.memory import index_of
from dramaturg.stores.conversations import items
from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.conversations.talk import Fact, Line, TalkRecord, TalkRecords, TalksOf
from dramaturg.stores.saver.conversation_saver import ConversationSaver

from property_settings import property_settings


@pytest.fixture(params=["memory", "ours", "postgres"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with open_saver(request.param, tmp_path, request) as saver:
        yield saver


async def test_a_talk_that_was_imported_elsewhere_recalls_the_same(tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore())
    for text in [TOLD, *small_talk(29)]:
        await talk.take_turn(text)
    lines = [line async for line in exported(talk)]
    assert not [line for line in lines if "talk_head" in line or "recalled_talk" in line]
    copy = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), "copy")
    assert await imported(copy, lines) == 30
    assert await branch_of(copy) == [
        one.model_copy(update={"at": now.at, "embedding": "", "vectors": "", "dimension": 0})
        for one, now in zip(await branch_of(talk), await branch_of(copy), strict=True)
    ]
    here, there = await recalled_in(talk, ASKED), await recalled_in(copy, ASKED)
    assert here == there
    assert any(TOLD in one for one in here)


async def test_each_turn_of_an_import_knows_what_was_said_until_then(tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore())
    for text in [*small_talk(6), TOLD, *small_talk(3)]:
        await talk.take_turn(text)
    copy = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), "copy")
    await imported(copy, [line async for line in exported(talk)])
    for turn in await copy.history():
        head = (await copy.values(turn))["talk_head"]
        assert lines_in(await records_of(copy).branch(head))[-1] == turn.question
    await copy.fork((await copy.history())[5].id)
    assert not any(TOLD in one for one in await recalled_in(copy, ASKED))


async def test_an_import_that_failed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore())
    for text in (TOLD, "two"):
        await talk.take_turn(text)
    lines = [line async for line in exported(talk)]
    copy, times = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), "copy"), 0
    real = TalkRecords.extended

    async def fails(*given: Any) -> str:
        nonlocal times
        times += 1
        if times > 1:
            raise ModelUnavailable("It stops here.")
        return await real(*given)

    monkeypatch.setattr(TalkRecords, "extended", fails)
    with pytest.raises(ModelUnavailable):
        await imported(copy, lines)
    assert await records_of(copy).all() == []


async def test_a_chat_of_sillytavern_is_kept_with_its_swipes_as_branches(tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore())
    await talk.take_turn(TOLD)
    await talk.regenerate()
    for text in small_talk(4):
        await talk.take_turn(text)
    chat = await written_out(talk)
    copy = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), "copy")
    assert await taken_in(copy, chat, ["Ada Quill", "ada"]) == 5
    assert lines_in(await branch_of(copy)) == lines_in(await branch_of(talk))
    assert lines_in(await records_of(copy).all()).count(TOLD) == 2
    assert any(TOLD in one for one in await recalled_in(copy, ASKED))


async def test_a_history_that_a_client_keeps_is_recalled(saver: Any, tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    history = history_of(*small_talk(3), TOLD, *small_talk(36))
    output = await talk.take_turn_after(history, ASKED)
    assert [TOLD in one["text"] for one in output["evidence"]["talk"]].count(True) == 1
    assert len(await branch_of(talk)) == 41


async def test_what_was_said_elsewhere_since_the_last_turn_is_recalled(saver: Any, tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    await talk.take_turn("one")
    history = [Exchange("one", "Reply 1."), *history_of(TOLD, *small_talk(6))]
    output = await talk.take_turn_after(history, ASKED)
    assert [TOLD in one["text"] for one in output["evidence"]["talk"]].count(True) == 1
    assert lines_in(await branch_of(talk)) == ["one", TOLD, *small_talk(6), ASKED]


async def test_an_edited_message_of_a_client_is_another_branch(saver: Any, tmp_path: Path) -> None:
    listener = Listener()
    talk = kept_talk(tmp_path, saver, InMemoryStore(), listener=listener)
    old, new = history_of(TOLD, *small_talk(8)), history_of("My sister keeps bees.", *small_talk(8))
    for history in (old, new, old, new):
        await talk.take_turn_after(history, ASKED)
        assert (TOLD in listener.recalled) == (history is old)
        assert ("bees" in listener.recalled) == (history is new)


async def without_talk(talk: Any, turns: list[str]) -> None:
    """A thread as an earlier version has written it: without a word of what is kept."""
    graph, node = talk.thread.graph, last_node(talk.thread.graph)
    await talk.thread.begin()
    window = list[AnyMessage]()
    for at, text in enumerate(turns):
        window = [*window, HumanMessage(text, id=f"h{at}"), AIMessage(f"Well: {at}.", id=f"a{at}", name="ada")][-4:]
        await graph.aupdate_state(talk.thread.address(), {"messages": window}, as_node=node)


@pytest.mark.parametrize("how", ["next", "again", "client"])
async def test_a_talk_of_an_earlier_version_is_recalled(saver: Any, tmp_path: Path, how: str) -> None:
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    await without_talk(talk, [TOLD, *small_talk(7)])
    if how == "client":
        output = await talk.take_turn_after(history_of(TOLD, *small_talk(7)), ASKED)
    elif how == "again":
        output = await talk.edit((await talk.history())[-1].id, ASKED)
    else:
        output = await talk.take_turn(ASKED)
    assert any(TOLD in one["text"] for one in output["evidence"]["talk"])
    assert len(await talk.history()) == 9 - (how == "again")
    assert (await branch_of(talk))[0].at <= (await branch_of(talk))[-1].at


async def test_what_was_lost_of_a_talk_is_kept_anew(saver: Any, tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    for text in [TOLD, *small_talk(6)]:
        await talk.take_turn(text)
    before = await branch_of(talk)
    anew = kept_talk(tmp_path, saver, InMemoryStore())
    assert any(TOLD in one for one in await recalled_in(anew, ASKED))
    assert [one.id for one in await branch_of(anew)][:7] == [one.id for one in before]


async def test_what_somebody_else_has_written_into_the_store_does_not_come_back(saver: Any, tmp_path: Path) -> None:
    """Lines and notes with other words, and those of another talk; what was said is kept anew as it was."""
    talk, listener, fresh = kept_talk(tmp_path, saver, InMemoryStore()), Listener(), InMemoryStore()
    other = kept_talk(tmp_path, saver, talk.store, "dinner")
    for text in [TOLD, *small_talk(4)]:
        await talk.take_turn(text)
    note = await talk.note("I am called Tom.")
    await other.note("I cannot eat nuts.")
    for one in (talk, other):
        where = records_of(one).namespace
        for item in await records_of(one).store.asearch(where, limit=100):
            changed = json.dumps(item.value).replace("Zebulon", "Bonaparte").replace("Tom.", "Jim.")
            await fresh.aput(where, item.key, json.loads(changed), index=False)
            if one is other:
                await fresh.aput(records_of(talk).namespace, item.key, item.value, index=False)
    anew = kept_talk(tmp_path, saver, fresh, listener=listener)
    assert await anew.notes() == []
    await anew.take_turn(ASKED)
    assert TOLD in listener.recalled
    assert "Bonaparte" not in listener.recalled
    assert "nuts" not in listener.recalled
    assert note not in await kept_talk(tmp_path, saver, fresh, "dinner").notes()
    await fresh.aput(records_of(talk).namespace, "notes", {"notes": [{"text": "Jim."}]}, index=False)
    assert await anew.notes() == []


async def test_what_a_method_by_its_paper_says_is_not_kept(tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), rules="paper")
    await talk.take_turn_after(history_of(TOLD, *small_talk(6)), ASKED)
    assert await records_of(talk).all() == []


async def test_a_thread_that_is_erased_leaves_nothing_of_the_talk(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        talk = kept_talk(tmp_path, saver, ItemStore(tmp_path / "items.sqlite"))
        other = kept_talk(tmp_path, saver, talk.store, "dinner")
        await talk.take_turn(TOLD)
        await other.take_turn("one")
        assert b"Zebulon" in (tmp_path / "items.sqlite").read_bytes()
        await talk.erase()
        assert lines_in(await records_of(other).all()) == ["one"]
    assert b"Zebulon" not in (tmp_path / "items.sqlite").read_bytes()


async def test_a_turn_that_is_deleted_is_kept_no_more_and_a_fork_before_it_is(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        talk = kept_talk(tmp_path, saver, ItemStore(tmp_path / "items.sqlite"))
        await talk.take_over(history_of()[:0])
        for text in ("one", TOLD, "three"):
            await talk.take_turn(text)
        first, second, _ = await talk.history()
        await talk.fork(first.id)
        await talk.take_turn("other")
        await talk.delete(second.id)
        assert lines_in(await records_of(talk).all()) == ["one", "other"]
        assert lines_in(await branch_of(talk)) == ["one", "other"]
    assert b"Zebulon" not in (tmp_path / "items.sqlite").read_bytes()


async def test_a_turn_under_way_keeps_what_it_has_dropped_when_another_is_deleted(tmp_path: Path) -> None:
    """More came at once than the window holds: what is dropped is kept before there is a reply."""
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        listener = Listener()
        listener.down = True
        talk = kept_talk(tmp_path, saver, InMemoryStore(), listener=listener)
        sent: list[AnyMessage] = []
        for at, text in enumerate([TOLD, *small_talk(5)]):
            sent += [HumanMessage(text, id=f"h{at}"), AIMessage(f"Well: {at}.", id=f"a{at}")]
        await talk.thread.begin()
        with pytest.raises(ModelUnavailable):
            await talk.thread.graph.ainvoke(
                {"messages": [*sent, HumanMessage(ASKED, id="asked")]},
                talk.thread.address(),
                context=talk.context,
                durability="exit",
            )
        await talk._forget_lost_turns()
        listener.down = False
        output = await talk.finish()
        assert any(TOLD in one["text"] for one in output["evidence"]["talk"])
        assert lines_in(await branch_of(talk)) == [TOLD, *small_talk(5), ASKED]


# Records


def window_of(*turns: int) -> list[AnyMessage]:
    return [one for at in turns for one in (HumanMessage(f"q{at}", id=f"h{at}"), AIMessage(f"r{at}", id=f"a{at}"))]


async def records(*turns: int) -> tuple[TalkRecords, str]:
    kept = TalkRecords(InMemoryStore(), "ada", "tea")
    return kept, await kept.extended("", window_of(*turns))


async def test_what_was_forgotten_keeps_its_place_whether_or_not_the_window_shows_it() -> None:
    for shown in ([0, 1, 2, 3], [0, 2, 3], [2, 3]):
        kept, head = await records(0, 1, 2)
        before = await kept.branch(head)
        await kept.pin([before[2].id], pinned=True)
        await kept.forget([before[1].id])
        after = await kept.branch(await kept.extended(head, window_of(*shown)))
        assert [one.id for one in after[:3]] == [one.id for one in before]
        assert lines_in(after) == ["q0", "", "q2", "q3"]
        assert [one.pinned for one in after] == [False, False, True, False]


async def test_of_what_was_forgotten_the_ids_of_its_messages_are_left_and_no_more() -> None:
    kept, head = await records(0)
    (one,) = await kept.get([head])
    named = tuple(line.model_copy(update={"name": "Tom"}) for line in one.said)
    noted = (Fact(about="user", text="It rains."),)
    full = one.model_copy(update={"said": named, "facts": noted, "pinned": True}).embedded("words", np.ones((3, 4)))
    await kept.save([full])
    assert await kept.get([head]) == [full]
    await kept.forget([head])
    said = tuple(Line(id=line.id, who=line.who, text="") for line in one.said)
    assert await kept.get([head]) == [TalkRecord(id=head, parent="", place=0, said=said, at=one.at)]


async def test_what_no_store_can_hold_is_left_out_of_what_was_said(tmp_path: Path) -> None:
    kept = TalkRecords(ItemStore(tmp_path / "items.sqlite"), "ada", "tea")
    asked = HumanMessage("one\0 \ud83d two", id="h", name="To\0m")
    (one,) = await kept.branch(await kept.extended("", [asked, AIMessage("\0three", id="a")]))
    assert [(line.name, line.text) for line in one.said] == [("Tom", "one ? two"), (None, "three")]


async def test_what_was_said_elsewhere_has_its_own_time() -> None:
    kept, then = TalkRecords(InMemoryStore(), "ada", "tea"), datetime(2026, 1, 2, tzinfo=UTC)
    head = await kept.extended("", window_of(0, 1), {"h0": then})
    first, second = await kept.branch(head)
    assert first.at == then
    assert second.at > then


async def test_what_was_forgotten_last_is_gone_on_from() -> None:
    kept, head = await records(0, 1, 2)
    await kept.forget([head])
    after = await kept.branch(await kept.extended(head, window_of(0, 1, 3)))
    assert lines_in(after) == ["q0", "q1", "", "q3"]


async def test_what_was_forgotten_is_not_kept_again_by_who_has_not_read_it() -> None:
    kept, head = await records(0, 1, 2)
    await kept.forget([head])
    for item in await kept.store.asearch(kept.namespace):
        assert "q2" not in json.dumps(item.value)
    fresh = InMemoryStore()
    for item in await kept.store.asearch(kept.namespace):
        await fresh.aput(item.namespace, item.key, item.value, index=False)
    other = TalkRecords(fresh, "ada", "tea")
    assert await other.extended("", window_of(0, 1, 2)) == head
    assert lines_in(await other.branch(head)) == ["q0", "q1", ""]


@pytest.mark.parametrize("begin", [0, 1, 2, 3])
async def test_a_window_may_begin_in_the_middle_of_what_was_said_at_once(begin: int) -> None:
    said: list[AnyMessage] = [*window_of(0), HumanMessage("q1", id="h1"), AIMessage("r1", id="a1")]
    more = AIMessage("And more.", id="a2")
    kept = TalkRecords(InMemoryStore(), "ada", "tea")
    head = await kept.extended("", said)
    head = await kept.extended(head, [*said, more][begin:])
    assert [[line.id for line in one.said] for one in await kept.branch(head)] == [["h0", "a0"], ["h1", "a1", "a2"]]


async def test_a_long_history_that_is_sent_again_and_again_is_kept_once() -> None:
    kept, head = await records(*range(1100))
    assert await kept.extended(head, window_of(*range(1101))) != head
    assert len(await kept.all()) == 1101


class Slow(InMemoryStore):
    """Others go on while it is asked, and something is done before it answers."""

    async def before(self, ops: list[Op]) -> None:
        """Nothing is done."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        asked = list(ops)
        await self.before(asked)
        await asyncio.sleep(0)
        return await super().abatch(asked)


async def test_who_reads_a_talk_while_another_does_has_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "PAGE", 2)
    kept, head = await records(*range(12))
    slow, there = Slow(), list[Any]()
    for at in range(0, 12, 2):
        there += await kept.store.asearch(kept.namespace, limit=2, offset=at)
    for item in reversed(there):  # the last that was said is read first
        await slow.aput(item.namespace, item.key, item.value, index=False)

    async def later(steps: int) -> list[str]:
        for _ in range(steps):
            await asyncio.sleep(0)
        return lines_in(await TalkRecords(slow, "ada", "tea").branch(head))

    read = await asyncio.gather(*map(later, range(16)))
    assert read == [[f"q{at}" for at in range(12)]] * 16


async def test_a_talk_is_looked_up_whole_while_another_reads_it_anew_after_a_change(tmp_path: Path) -> None:
    """While a third talk reads the second, something is forgotten in the first, which somebody then reads."""
    saver, store, listener, done = InMemorySaver(), Slow(), Listener(), asyncio.Event()
    first = kept_talk(tmp_path, saver, store, "first", known_as="tom")
    second = kept_talk(tmp_path, saver, store, "second", known_as="tom")
    third = kept_talk(tmp_path, saver, store, "third", known_as="tom", listener=listener)
    for text in (TOLD, "It rains."):
        await first.take_turn(text)
    await second.take_turn("one")
    kept, of_second = await branch_of(first), records_of(second).namespace
    reading = list[asyncio.Task[Any]]()

    async def before(ops: list[Op]) -> None:
        if not reading and any(isinstance(op, SearchOp) and op.namespace_prefix == of_second for op in ops):
            reading.append(asyncio.create_task(asyncio.sleep(0)))
            await records_of(first).forget([kept[1].id])
            reading.append(asyncio.create_task(records_of(first).branch(kept[1].id)))
            for _ in range(20):
                await asyncio.sleep(0)
        elif len(reading) == 2 and any(
            isinstance(op, SearchOp) and op.namespace_prefix == records_of(first).namespace for op in ops
        ):
            await done.wait()

    records_of(second)._known().records.clear()  # so that it is read
    store.before = before  # type: ignore[method-assign]
    await third.take_turn(ASKED)
    done.set()
    await asyncio.gather(*reading)
    assert len(reading) == 2
    assert TOLD in listener.recalled


async def test_what_was_noted_of_a_talk_that_was_erased_is_in_no_index() -> None:
    """The same is said again, as where it is imported again."""
    kept, head = await records(0, 1)
    noted = (Fact(about="user", text="It rains."),)
    await kept.save([one.model_copy(update={"facts": noted}) for one in await kept.get([head])])
    assert (await index_of(kept, head)).records[1].facts == noted
    await kept.drop_all()
    assert await kept.extended("", window_of(0, 1)) == head
    assert (await index_of(kept, head)).records[1].facts == ()


async def test_what_a_turn_under_way_names_stays() -> None:
    kept, head = await records(0, 1, 2)
    ids = [one.id for one in await kept.branch(head)]
    await kept.drop_lost([], [ids[1]])
    assert [one.id for one in await kept.all()] == ids[:2]


async def test_who_has_had_a_branch_that_is_lost_stands_where_the_talk_is_now_and_others_where_they_were() -> None:
    kept, lost = await records(0, 1)
    first = (await kept.branch(lost))[0].id
    other = await kept.extended(first, window_of(2))
    for user, head in (("ann", lost), ("tom", other)):
        await TalksOf(kept.store, "ada", user).note("tea", head)
    await kept.drop_lost(["h2"], [first])
    assert [one.id for one in await kept.branch(other)] == [first, other]
    assert await kept.branch(lost) == []
    for user, head in (("ann", first), ("tom", other)):
        assert [one.head for one in await TalksOf(kept.store, "ada", user).others("", 9)] == [head]


TREES = st.lists(st.integers(0, 30), min_size=1, max_size=14)


@property_settings(100)
@given(TREES, st.sets(st.integers(0, 13)), st.sets(st.integers(0, 13)))
async def test_what_leads_to_a_turn_that_is_left_stays_and_no_more(
    parents: list[int], held: set[int], forgotten: set[int]
) -> None:
    """Each record follows one of those before it, or none; some were forgotten, some turns are left."""
    kept, ids, paths = TalkRecords(InMemoryStore(), "ada", "tea"), list[str](), list[list[int]]()
    for at, chosen in enumerate(parents):
        before = chosen % (at + 1) - 1
        ids.append(await kept.extended(ids[before] if before >= 0 else "", window_of(at)))
        paths.append([*(paths[before] if before >= 0 else []), at])
    await kept.forget([ids[at] for at in forgotten if at < len(ids)])
    await kept.drop_lost(f"h{at}" for at in held)
    wanted = {at for end in held if end < len(ids) for at in paths[end]}
    assert {one.id for one in await kept.all()} == {ids[at] for at in wanted}
    for end in held:
        if end < len(ids):
            found = await kept.branch(ids[end])
            assert [one.id for one in found] == [ids[at] for at in paths[end]]
            assert await kept.is_whole(ids[end])


# Notes, and what is pinned


async def test_a_note_is_shown_whatever_is_said_from_the_first_turn_on(saver: Any, tmp_path: Path) -> None:
    listener = Listener()
    talk = kept_talk(tmp_path, saver, InMemoryStore(), listener=listener)
    await talk.note("I cannot eat  nuts.")
    await talk.note("I am called Tom.")
    for text in small_talk(6):
        output = await talk.take_turn(text)
        assert "[to be kept in mind, as the user has asked]\nI cannot eat nuts.\nI am called Tom." in listener.recalled
    assert [one["text"] for one in output["evidence"]["talk"]][:2] == ["I cannot eat nuts.", "I am called Tom."]
    await talk.edit((await talk.history())[0].id, "another branch")
    assert "I cannot eat nuts." in listener.recalled
    await talk.erase()
    assert await talk.notes() == []


async def test_where_notes_have_no_room_the_latest_are_shown_and_the_rest_of_it_is_for_the_talk(tmp_path: Path) -> None:
    listener = Listener()
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), listener=listener, talk_tokens=60)
    for text in ("A" * 150, "B" * 150, "C" * 150):
        await talk.note(text)
    await talk.take_turn("one")
    assert "A" * 150 not in listener.recalled
    assert "C" * 150 in listener.recalled
    with pytest.raises(ValueError, match="up to 500 characters"):
        await talk.note("x" * 501)
    with pytest.raises(ValueError, match="one at least"):
        await talk.note(" \0 ")
    for number in range(47):
        await talk.note(f"note {number}")
    with pytest.raises(ValueError, match="50 notes already"):
        await talk.note("one too many")


async def test_notes_stand_before_what_comes_back_and_have_their_room_of_it(tmp_path: Path) -> None:
    listener = Listener()
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), listener=listener, talk_tokens=60)
    for text in [TOLD, *small_talk(5)]:
        await talk.take_turn(text)
    note = await talk.note("I am called Tom.")
    assert (await talk.note("I am  called Tom.")).id == note.id
    assert [one.text for one in await talk.notes()] == ["I am called Tom."]
    await talk.take_turn(ASKED)
    assert listener.recalled.index("called Tom") < listener.recalled.index(TOLD)
    await talk.note("B" * 180)
    shown = await recalled_in(talk, ASKED)
    assert shown[:2] == ["I am called Tom.", "B" * 180]
    assert len("".join(shown).encode()) <= 240


async def test_what_is_pinned_comes_back_whatever_is_asked(tmp_path: Path) -> None:
    listener = Listener()
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), listener=listener, talk_tokens=100)
    for text in [TOLD, *small_talk(30)]:
        await talk.take_turn(text)
    await talk.take_turn("What about rain, supper, ferries and nets?")
    assert TOLD not in listener.recalled
    told = next(one for one in await talk.remembered() if one.said[0].text == TOLD)
    await talk.pin([told.id])
    await talk.take_turn("What about rain, supper, ferries and nets?")
    assert TOLD in listener.recalled
    assert listener.recalled.count(TOLD) == 1
    await talk.pin([told.id], pinned=False)
    await talk.take_turn("What about rain, supper, ferries and nets?")
    assert TOLD not in listener.recalled


async def test_a_talk_that_is_erased_comes_back_in_no_other(tmp_path: Path) -> None:
    listener, saver, store = Listener(), InMemorySaver(), InMemoryStore()
    talk = kept_talk(tmp_path, saver, store, known_as="tom")
    other = kept_talk(tmp_path, saver, store, "dinner", listener=listener, known_as="tom")
    await talk.take_turn(TOLD)
    await other.take_turn(ASKED)
    assert TOLD in listener.recalled
    await talk.erase()
    assert "tea" not in {item.value.get("thread") for item in await store.asearch(())}
    await other.take_turn(ASKED)
    assert TOLD not in listener.recalled


async def test_of_a_talk_from_which_a_turn_was_deleted_the_rest_comes_back_in_others(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        listener, store = Listener(), InMemoryStore()
        talk = kept_talk(tmp_path, saver, store, known_as="tom")
        other = kept_talk(tmp_path, saver, store, "dinner", listener=listener, known_as="tom")
        for text in (TOLD, "two"):
            await talk.take_turn(text)
        await talk.delete((await talk.history())[1].id)
        await other.take_turn(ASKED)
        assert TOLD in listener.recalled
        await talk.delete((await talk.history())[0].id)
        await other.take_turn(ASKED)
        assert TOLD not in listener.recalled
        assert "tea" not in {item.value.get("thread") for item in await store.asearch(())}


@pytest.fixture(params=PLACES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BaseStore]:
    async with open_store(request.param, tmp_path, request) as store:
        yield store


async def had(store: BaseStore, user: str, *threads: str) -> None:
    """Have talks of one exchange with a user."""
    for thread in threads:
        head = await TalkRecords(store, "ada", thread).extended("", window_of(0))
        talks = TalksOf(store, "ada", user)
        await talks.begin(thread, head)
        await talks.note(thread, head)


async def test_of_other_users_nothing_is_read(store: BaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, read, counts = type(store).abatch, list[Item](), list[int]()

    async def counted(self: Any, ops: Iterable[Op]) -> list[Result]:
        found = await ask(self, ops)
        for one in found:
            several = one if isinstance(one, list) else [one]
            read.extend(item for item in several if isinstance(item, Item))
        return found

    monkeypatch.setattr(type(store), "abatch", counted)
    for others in (2, 40):
        for at in range(others):
            await had(store, f"user {at}", f"talk of {at}")
        user, tea, dinner = (f"{one} beside {others}" for one in ("tom", "tea", "dinner"))
        await had(store, user, tea, dinner)
        talk, talks = TalkRecords(store, "ada", tea), TalksOf(store, "ada", user)
        read.clear()
        assert await talk.beside() == {dinner}
        assert [one.thread for one in await talks.others(tea, 5)] == [dinner]
        await talk.drop_lost([])
        await TalkRecords(store, "ada", dinner).drop_all()
        assert await talks.others("", 5) == []
        counts.append(len(read))
    assert counts[0] == counts[1] < 20


async def test_in_a_store_that_listed_no_users_talks_are_found_with_them(store: BaseStore) -> None:
    await had(store, "tom", "tea", "dinner")
    await had(store, "mira", "lunch")
    for item in await store.asearch(("dramaturg_users_of",)):  # as it was written before
        await store.adelete(item.namespace, item.key)
    assert await TalkRecords(store, "ada", "tea").beside() == {"dinner"}
    await TalkRecords(store, "ada", "tea").drop_all()
    assert [one.thread for one in await TalksOf(store, "ada", "tom").others("", 5)] == ["dinner"]
    assert [one.thread for one in await TalksOf(store, "ada", "mira").others("", 5)] == ["lunch"]
