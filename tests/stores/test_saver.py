"""The saver of conversations: what is put is got, in the order of the writing, and nothing else is kept."""

import asyncio
import json
import random
import sqlite3
import subprocess
import sys
import textwrap
import zlib
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.checkpoint.base import id as checkpoint_ids
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import StateGraph
from pydantic import SecretStr

from dramaturg.stores.errors import StorageError
from dramaturg.stores.saver import entries as saver_entries
from dramaturg.stores.saver import file as saver_file
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.saver.rows import Line, as_channels, as_keys, channels_in
from dramaturg.stores.saver.schema import create_tables
from dramaturg.stores.saver.serde import FORMER_DICTIONARY, StrictSerializer, compressed, expanded

pytestmark = pytest.mark.sample_of_file(16)

WINDOW = 4


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], lambda old, new: (old + new)[-WINDOW:]]
    turns: int


async def respond(state: State) -> dict[str, Any]:
    asked = state["messages"][-1].content
    return {"messages": [AIMessage(f"on {asked}", id=f"answer {asked}")], "turns": state.get("turns", 0) + 1}


def graph(saver: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("respond", respond)
    builder.set_entry_point("respond")
    return builder.compile(checkpointer=saver)


async def say(saver: Any, text: str, thread: str = "evening", **configurable: Any) -> State:
    turn = {"messages": [HumanMessage(text, id=f"question {text}")]}
    config = {"configurable": {"thread_id": thread, **configurable}}
    said: State = await graph(saver).ainvoke(turn, config, durability="exit")
    return said


def at(thread: str, checkpoint_id: str | None = None) -> Any:
    place = {"thread_id": thread, "checkpoint_ns": ""}
    return {"configurable": place if checkpoint_id is None else {**place, "checkpoint_id": checkpoint_id}}


def checkpoint(**values: Any) -> Checkpoint:
    return {**empty_checkpoint(), "channel_values": values}


def row(file: Path, query: str) -> Any:
    """What the file answers."""
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchone()


def texts(messages: Any) -> list[Any]:
    return [message.content for message in messages]


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut is not tested here."""
    monkeypatch.setattr(saver_file, "SYNCHRONOUS", "OFF")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "talks" / "ada.sqlite"


@pytest.mark.parametrize("back", [1, 365 * 24 * 3600], ids=["a second", "a year"])
async def test_a_clock_put_back_between_programs_hides_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch, back: int
) -> None:
    now = checkpoint_ids.time.time_ns()
    for turn in range(4):
        monkeypatch.setattr(checkpoint_ids, "_last_v6_timestamp", None)
        monkeypatch.setattr(checkpoint_ids.time, "time_ns", lambda turn=turn: now - turn * back * 10**9)
        async with ConversationSaver.open(file) as saver:
            assert (await say(saver, str(turn)))["turns"] == turn + 1
    async with ConversationSaver.open(file) as saver:
        listed = [found async for found in saver.alist(at("evening"))]
        steps = await saver.asteps("evening")
    ids = [step.checkpoint_id for step in steps]
    assert sorted(ids, reverse=True) == ids  # the ids tell the order the other way round
    assert [found.checkpoint["channel_values"]["turns"] for found in listed] == [4, 3, 2, 1]
    assert [texts(step.said) for step in steps] == [[str(turn), f"on {turn}"] for turn in range(4)]


async def test_a_reader_gets_the_ordinary_checkpoint_though_messages_are_kept_apart(file: Path) -> None:
    said = [HumanMessage("hello", id="1", additional_kwargs={"mood": "shy"}), AIMessage("who calls?", id="2")]
    put = checkpoint(messages=said, summary="none yet", scores=[1, 2.5], raw=b"\0\1")
    async with ConversationSaver.open(file) as saver:
        await saver.aput(at("evening"), put, {"source": "loop", "step": 0}, {})
        got = await saver.aget_tuple(at("evening"))
        assert got is not None
        assert got.checkpoint == put
        assert got.metadata == {"source": "loop", "step": 0}
    (blob,) = row(file, "SELECT checkpoint FROM checkpoints")
    assert len(blob) < 250


@pytest.mark.parametrize("value", ["a text", [], None, [HumanMessage("no id")], ["plain"], {"a": [1]}])
async def test_any_other_value_of_the_channel_stays_as_it_is(file: Path, value: Any) -> None:
    put = checkpoint(messages=value)
    async with ConversationSaver.open(file) as saver:
        await saver.aput(at("evening"), put, {}, {})
        got = await saver.aget_tuple(at("evening"))
        assert got is not None
        assert got.checkpoint == put
        assert [step.said for step in await saver.asteps("evening")] == [()]


async def test_a_message_is_kept_once_and_found_by_its_id(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        for turn in range(6):
            await say(saver, str(turn))
        steps = await saver.asteps("evening")
        assert [texts(step.said) for step in steps] == [[str(turn), f"on {turn}"] for turn in range(6)]
        assert await saver.asaid("evening", "question 3") == [steps[3].checkpoint_id]
        assert await saver.asaid("evening", "question 9") == await saver.asaid("morning", "question 3") == []
        assert await saver.asteps("evening", limit=2) == steps[-2:]
        assert await saver.asteps("evening", steps[2].checkpoint_id) == steps[:3]
        assert await saver.asteps("evening", limit=0) == await saver.asteps("morning") == []
        assert [await saver.abeginning("evening", count) for count in (0, 2, 6, 9)] == [[], steps[:2], steps, steps]
        assert await saver.abeginning("morning", 2) == []
        with pytest.raises(ValueError, match="no checkpoint 'nowhere'"):
            await saver.asteps("evening", "nowhere")
    assert row(file, "SELECT count(*) FROM messages") == (12,)


async def test_branches_keep_their_own_past(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        await say(saver, "first")
        fork = (await saver.asteps("evening"))[0].checkpoint_id
        await say(saver, "left")
        await say(saver, "right", checkpoint_id=fork)
        await say(saver, "right on")
        left = await saver.asaid("evening", "question left")
        assert [texts(step.said)[0] for step in await saver.asteps("evening")] == ["first", "right", "right on"]
        assert [texts(step.said)[0] for step in await saver.asteps("evening", left[0])] == ["first", "left"]
        every = await saver.aall_steps("evening")
        assert [(one.checkpoint_id, one.parent_id) for one in every] == [
            (
                one.config["configurable"]["checkpoint_id"],
                (one.parent_config or at(""))["configurable"].get("checkpoint_id"),
            )
            async for one in saver.alist(at("evening"))
        ]
        for branch in (await saver.asteps("evening"), await saver.asteps("evening", left[0])):
            assert [step for step in reversed(every) if step in branch] == branch
        assert await saver.aall_steps("morning") == []
        with pytest.raises(ValueError, match="no checkpoint 'gone'"):
            await saver.aput(at("evening", "gone"), checkpoint(), {}, {})


async def test_listing_follows_the_writing(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        for turn in range(40):  # more than a page
            await saver.aput(
                at("evening"), checkpoint(turn=turn), {"source": "loop", "step": turn, "odd": turn % 2}, {}
            )
            if turn == 20:
                await saver.aput(at("morning"), checkpoint(turn=-1), {}, {})

        async def listed(*, limit: int | None = None, **kinds: Any) -> list[int]:
            found = [one async for one in saver.alist(kinds.pop("config", at("evening")), limit=limit, **kinds)]
            assert found == await asyncio.to_thread(lambda: list(saver.list(at("evening"), limit=limit, **kinds)))
            return [one.checkpoint["channel_values"]["turn"] for one in found]

        assert await listed() == list(range(39, -1, -1))
        assert await listed(filter={"odd": 1}, limit=3) == [39, 37, 35]
        assert await listed(limit=0) == await listed(filter={"even": 1}) == []
        (tenth,) = [one async for one in saver.alist(at("evening"), filter={"step": 10})]
        assert await listed(before=tenth.config, limit=2) == [9, 8]
        assert len([one async for one in saver.alist(None)]) == 41
        assert await saver.athreads() == ["evening", "morning"]
        with pytest.raises(ValueError, match="no checkpoint 'never'"):
            await listed(before=at("evening", "never"))


async def test_steps_of_a_subgraph_are_listed_from_before_a_step_of_its_graph(file: Path) -> None:
    inside: Any = {"configurable": {"thread_id": "evening", "checkpoint_ns": "index"}}
    async with ConversationSaver.open(file) as saver:
        await saver.aput(inside, checkpoint(turn=1), {}, {})
        step = await saver.aput(at("evening"), checkpoint(turn=2), {}, {})
        await saver.aput(inside, checkpoint(turn=3), {}, {})
        found = [one async for one in saver.alist(inside, before=step)]
        assert [one.checkpoint["channel_values"]["turn"] for one in found] == [1]
        unwritten = [one async for one in saver.alist(inside, before=at("evening", "begun, and kept at its end only"))]
        assert [one.checkpoint["channel_values"]["turn"] for one in unwritten] == [3, 1]


async def test_the_same_checkpoint_put_again_takes_the_place_of_the_first(file: Path) -> None:
    first = checkpoint(messages=[HumanMessage("hello", id="1")])
    async with ConversationSaver.open(file) as saver:
        place = await saver.aput(at("evening"), first, {}, {})
        await saver.aput(place, checkpoint(messages=[HumanMessage("more", id="2")]), {}, {})
        await saver.aput(place, {**first, "channel_values": {"messages": [HumanMessage("hi", id="1")]}}, {}, {})
        assert texts((await saver.aget_tuple(at("evening"))).checkpoint["channel_values"]["messages"]) == ["hi"]
        assert len([one async for one in saver.alist(at("evening"))]) == 2
        assert [texts(step.said) for step in await saver.asteps("evening")] == [["hi"]]


async def stored(file: Path, *checkpoint_ids: str) -> list[bytes]:
    """What the file holds of some checkpoints: their states and the messages that they said."""
    marks = ",".join("?" * len(checkpoint_ids))
    states = f"SELECT checkpoint FROM checkpoints WHERE checkpoint_id IN ({marks})"
    said = (
        "SELECT messages.message FROM messages JOIN said ON said.message = messages.key JOIN checkpoints ON "
        f"checkpoints.key = said.checkpoint WHERE checkpoint_id IN ({marks})"
    )
    with closing(sqlite3.connect(file)) as connection:
        return [blob for query in (states, said) for (blob,) in connection.execute(query, checkpoint_ids)]


async def test_what_is_erased_is_not_in_the_file_any_more(file: Path) -> None:
    secret = random.Random(1)
    async with ConversationSaver.open(file) as saver:
        place = at("evening")
        for turn in range(12):
            words = " ".join(f"{secret.getrandbits(64):x}" for _ in range(40))
            put = checkpoint(messages=[HumanMessage(words, id=f"said in {turn}")], notes=words[::-1])
            place = await saver.aput(place, put, {"source": "loop", "step": turn}, {})
            await saver.aput_writes(place, [("notes", words[::-1])], "task")
        steps = await saver.asteps("evening")
        await saver.aput(
            at("evening", steps[4].checkpoint_id), checkpoint(messages=[HumanMessage("b", id="b")]), {}, {}
        )
        kept, gone = [s.checkpoint_id for s in steps[:5]], [s.checkpoint_id for s in steps[5:]]
        head = await saver.aget_tuple(at("evening"))
        assert head is not None
        blobs, others = await stored(file, *gone), await stored(file, *kept, head.checkpoint["id"])
        await saver.aerase("evening", gone[0])
        assert await saver.aget_tuple(at("evening")) == head  # another branch's
        assert await saver.asaid("evening", "said in 7") == []
        assert [step.checkpoint_id for step in await saver.asteps("evening", kept[-1])] == kept
    data = in_folder(file)
    assert all(blob in data for blob in others if len(blob) < 500)
    shared = b"".join(others)  # what the form of every checkpoint has in common
    for blob in blobs:
        pieces = [blob[start : start + 12] for start in range(60, len(blob) - 12, 12)]
        assert not any(piece in data for piece in pieces if piece not in shared)
        assert sum(piece not in shared for piece in pieces) > len(pieces) / 2
    assert b"said in 7" not in data
    assert all(one.encode() not in data for one in gone)


def episodes(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Memories as ID-RAG keeps them, each of words of its own."""
    words = [random.Random(number).randbytes(300).hex() for number in range(start, start + count)]
    return [{"id": f"turn {start + at}", "at": "", "text": word, "importance": None} for at, word in enumerate(words)]


async def test_entries_of_a_long_list_are_kept_once_and_go_with_the_last_that_names_them(file: Path) -> None:
    def rows() -> tuple[int, int]:
        query = "SELECT (SELECT count(*) FROM messages), (SELECT max(length(checkpoint)) FROM checkpoints)"
        return row(file, query)

    async def episodes_at(place: Any) -> Any:
        return (await saver.aget_tuple(place)).checkpoint["channel_values"]["episodes"]

    async with ConversationSaver.open(file) as saver:
        place, places = at("evening"), []
        for turn in range(20):
            kept = checkpoint(turn=turn, episodes=episodes(20, turn))
            place = await saver.aput(place, kept, {"source": "loop", "step": turn}, {})
            places.append(place)
        assert rows() == (39, rows()[1])
        assert rows()[1] < 300
        assert await episodes_at(places[5]) == episodes(20, 5)
        branch = await saver.aput(places[9], checkpoint(episodes=episodes(3) + episodes(20, 10)), {}, {})
        assert rows()[0] == 39
        await saver.acopy_thread("evening", "copy")
        assert rows()[0] == 2 * 39
        await saver.adelete_thread("evening")
        assert await episodes_at(at("copy")) == episodes(3) + episodes(20, 10)
        copied = [one async for one in saver.alist(at("copy"))]
        tenth = next(one for one in copied if one.checkpoint["channel_values"].get("turn") == 10)
        await saver.aerase("copy", tenth.config["configurable"]["checkpoint_id"])
        assert rows()[0] == 30  # the branch names the three first, and what its parent named
        assert await episodes_at(at("copy")) == episodes(3) + episodes(20, 10)
        assert branch["configurable"]["thread_id"] == "evening"
    assert episodes(1, 35)[0]["text"].encode() not in in_folder(file)


async def test_a_window_of_hundreds_that_slides_is_read_back_after_each_step(file: Path) -> None:
    said = [HumanMessage(f"Turn {number}", id=f"m{number}") for number in range(24)]
    seen = episodes(240)
    async with ConversationSaver.open(file) as saver:
        place = at("evening")
        for turn in range(4):
            values = {"messages": said[turn : turn + 20], "episodes": seen[turn : turn + 200]}
            place = await saver.aput(place, checkpoint(**values), {}, {})
            found = await saver.aget_tuple(place)
            assert found
            assert {name: found.checkpoint["channel_values"][name] for name in values} == values


async def test_entries_that_another_program_removed_since_they_were_read_are_written_again(file: Path) -> None:
    seen = [{"id": f"e{number}", "text": f"What was seen in turn {number}." * 9} for number in range(40)]
    async with ConversationSaver.open(file) as saver, ConversationSaver.open(file) as other:
        place = await saver.aput(at("evening"), checkpoint(episodes=seen), {}, {})
        assert await saver.aget_tuple(place)
        await other.adelete_thread("evening")
        await other.aput(at("evening"), checkpoint(episodes=seen[::-1]), {}, {})
        await saver.aput(at("evening"), checkpoint(episodes=seen), {}, {})
        for reader in (saver, other):
            found = await reader.aget_tuple(at("evening"))
            assert found
            assert found.checkpoint["channel_values"]["episodes"] == seen


async def test_a_file_that_names_no_entries_can_be_read_by_the_release_before(file: Path) -> None:
    def version() -> int:
        return int(row(file, "PRAGMA user_version")[0])

    async with ConversationSaver.open(file) as saver:
        await say(saver, "first")
        await saver.aput(at("morning"), checkpoint(episodes=episodes(2)), {}, {})
        assert version() == 1
        await saver.aput(at("evening"), checkpoint(episodes=episodes(20)), {}, {})
    assert version() == 2
    async with ConversationSaver.open(file) as saver:
        assert (await saver.aget_tuple(at("evening"))).checkpoint["channel_values"] == {"episodes": episodes(20)}


async def test_when_the_head_is_erased_its_parent_is_the_head(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        await say(saver, "first")
        first = (await saver.asteps("evening"))[0].checkpoint_id
        await say(saver, "left")
        await say(saver, "right", checkpoint_id=first)
        (right,) = await saver.asaid("evening", "question right")
        await saver.aerase("evening", right)
        assert [step.checkpoint_id for step in await saver.asteps("evening")] == [first]
        assert [one.config["configurable"]["checkpoint_id"] async for one in saver.alist(at("evening"), limit=1)] == [
            first
        ]
        assert (await say(saver, "again"))["turns"] == 2
        await saver.aerase("evening", first)
        assert await saver.athreads() == []
        assert await saver.aget_tuple(at("evening")) is None
        with pytest.raises(ValueError, match="no checkpoint"):
            await saver.aerase("evening", first)
    async with ConversationSaver.open(file) as saver:
        assert (await say(saver, "anew"))["turns"] == 1


async def test_erasing_takes_what_sub_graphs_kept_of_the_turn(file: Path) -> None:
    inner = StateGraph(State).add_node("respond", respond).set_entry_point("respond").compile(checkpointer=True)
    outer = StateGraph(State).add_node("inner", inner).set_entry_point("inner")
    async with ConversationSaver.open(file) as saver:
        talk = outer.compile(checkpointer=saver)
        for turn in range(3):
            await talk.ainvoke({"messages": [HumanMessage(f"word {turn}", id=f"{turn}")]}, at("evening"))

        async def kept() -> str:
            return str(
                [
                    one.checkpoint["channel_values"]
                    async for one in saver.alist({"configurable": {"thread_id": "evening"}})
                ]
            )

        assert "word 2" in await kept()
        first = (await saver.asaid("evening", "2"))[-1]
        (step,) = await saver.asteps("evening", first, limit=1)
        await saver.aerase("evening", step.parent_id)  # that of the input, where the turn began
        assert "word 2" not in await kept()
        assert "word 1" in await kept()


async def test_a_copy_and_pruning_keep_conversations_whole(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        for turn in range(5):
            await say(saver, str(turn))
        await saver.acopy_thread("evening", "copy")
        assert texts([m for s in await saver.asteps("copy") for m in s.said]) == texts(
            [m for s in await saver.asteps("evening") for m in s.said]
        )
        with pytest.raises(ValueError, match="there already"):
            await saver.acopy_thread("evening", "copy")
        await saver.aprune(["copy"])
        (step,) = await saver.asteps("copy")
        assert (step.parent_id, texts(step.said)) == (None, ["3", "on 3", "4", "on 4"])
        assert (await say(saver, "5", "copy"))["turns"] == 6
        assert len(await saver.asteps("evening")) == 5
        await saver.adelete_thread("evening")
        assert await saver.athreads() == ["copy"]
    async with ConversationSaver.open(file):
        pass  # every row that another one needs is there


async def test_pruning_keeps_what_a_delta_channel_is_rebuilt_from(file: Path) -> None:
    class Log(TypedDict, total=False):
        log: Annotated[list[str], DeltaChannel(lambda old, new: sum(new, old), snapshot_frequency=3)]

    async def note(state: Log) -> Log:
        return {"log": ["noted"]}

    async with ConversationSaver.open(file) as saver:
        notes = StateGraph(Log).add_node("note", note).set_entry_point("note").compile(checkpointer=saver)
        for turn in range(5):
            await notes.ainvoke({"log": [f"{turn}"]}, at("evening"), durability="sync")
        before = [one async for one in saver.alist(at("evening"))]
        await saver.aprune(["evening"])
        after = [one async for one in saver.alist(at("evening"))]
        state = await notes.aget_state(at("evening"))
    assert state.values["log"] == [word for turn in range(5) for word in (f"{turn}", "noted")]
    assert 1 < len(after) < len(before)


async def test_removing_a_run_in_between_leaves_a_chain(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        place = at("evening")
        for turn in range(4):
            put = checkpoint(messages=[HumanMessage(str(one), id=str(one)) for one in range(turn + 1)])
            place = await saver.aput(place, put, {"run_id": f"run {turn}"}, {})
        await saver.adelete_for_runs(["run 1", "run 2", "run 9"])
        assert [texts(step.said) for step in await saver.asteps("evening")] == [["0"], ["1", "2", "3"]]
        await saver.adelete_for_runs(["run 3"])
        assert [texts(step.said) for step in await saver.asteps("evening")] == [["0"]]


def size(file: Path) -> int:
    return file.stat().st_size


def in_folder(file: Path) -> bytes:
    """The bytes of the file and of whatever lies beside it."""
    return b"".join(path.read_bytes() for path in file.parent.iterdir())


def prose(rng: random.Random, source: str, size: int) -> str:
    start = rng.randrange(len(source) - size)
    return source[start : start + size]


async def test_turns_take_six_kilobytes_in_a_straight_line(file: Path) -> None:
    rng, sizes = random.Random(3), []
    source = " ".join(path.read_text(encoding="utf-8") for path in Path(__file__).parents[2].glob("docs/**/*.md"))
    window: list[BaseMessage] = []
    async with ConversationSaver.open(file) as saver:
        place = at("evening")
        for turn in range(201):
            question = HumanMessage(prose(rng, source, 200), id=f"{rng.getrandbits(128):032x}")
            window = [*window, question, AIMessage(prose(rng, source, 400), id=f"{rng.getrandbits(128):032x}")][-20:]
            evidence = [{"id": turn, "score": rng.random(), "text": prose(rng, source, 750)} for _ in range(10)]
            put = checkpoint(messages=window, summary=prose(rng, source, 2000), evidence=json.dumps(evidence))
            place = await saver.aput(place, put, {"source": "loop", "step": turn, "parents": {}}, {})
            sizes.append(size(file))
    assert (sizes[200] - sizes[0]) / 200 <= 6 * 1024
    assert 0.9 < (sizes[200] - sizes[100]) / (sizes[100] - sizes[0]) < 1.1


SECRETS = ("openai_api_key", "my_password", "token", "Authorization", "innocent", "langsmith", "user_id")


async def test_nothing_from_configurable_is_kept_but_langgraphs_own_keys(file: Path) -> None:
    planted = {name: f"planted-{index}-secret" for index, name in enumerate(SECRETS)}
    async with ConversationSaver.open(file) as saver:
        await say(saver, "hello", **planted, run_id="run 7", assistant_id="ada", langgraph_auth_user_id="u1")
        config = {**at("evening"), "metadata": {**planted, "other": "planted-as-metadata"}}
        config["configurable"] |= planted
        await saver.aput(config, checkpoint(), {"source": "loop", "token": planted["token"]}, {})
        async for found in saver.alist(at("evening")):
            assert not set(found.metadata) & set(SECRETS)
        assert found.metadata["assistant_id"] == "ada"
        assert found.metadata["langgraph_auth_user_id"] == "u1"
    data = in_folder(file)
    assert b"langgraph_auth_user_id" in data
    assert b"planted" not in data


@pytest.mark.parametrize("thread", ["", None, "a\0b", "a\ud800b"])
async def test_a_thread_id_that_cannot_be_stored_is_refused(file: Path, thread: Any) -> None:
    async with ConversationSaver.open(file) as saver:
        for call in (saver.aget_tuple(at(thread)), saver.aput(at(thread), checkpoint(), {}, {}), saver.asteps(thread)):
            with pytest.raises(ValueError, match="thread"):
                await call
        with pytest.raises(ValueError, match="thread"):
            await saver.aget_tuple({"configurable": {}})


async def test_a_number_and_its_text_are_one_thread_but_letters_differ(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        for thread in (5, "5", "\u00e9", "e\u0301", "../x", "a'; DROP TABLE lines; --"):
            await saver.aput(at(thread), checkpoint(thread=str(thread)), {}, {})  # type: ignore[arg-type]
        assert len(await saver.athreads()) == 5


class Mood(Enum):
    SHY = "shy"


@pytest.mark.parametrize("value", [Mood.SHY, [{"a": (Mood.SHY,)}], SecretStr("planted")])
async def test_a_type_that_could_not_be_read_back_is_refused_when_it_is_written(file: Path, value: Any) -> None:
    async with ConversationSaver.open(file) as saver:
        await say(saver, "hello")
        before = await saver.aget_tuple(at("evening"))
        for put in (
            checkpoint(a=value),
            checkpoint(messages=[HumanMessage("x", id="1", additional_kwargs={"a": value})]),
        ):
            with pytest.raises(ValueError, match="cannot be kept in a conversation"):
                await saver.aput(at("evening"), put, {}, {})
        with pytest.raises(ValueError, match="cannot be kept in a conversation"):
            await saver.aput_writes(before.config, [("a", value)], "task")
        assert await saver.aget_tuple(at("evening")) == before


async def test_the_calls_without_a_work_from_other_threads(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:

        def work() -> list[str]:
            place = saver.put(at("evening"), checkpoint(n=1), {"run_id": "r"}, {})
            saver.put_writes(place, [("n", 2)], "task")
            saver.copy_thread("evening", "copy")
            saver.prune(["copy"])
            found = saver.get_tuple(at("copy"))
            saver.delete_for_runs(["r"])
            saver.delete_thread("copy")
            return [write[2] for write in found.pending_writes]

        assert await asyncio.to_thread(work) == [2]
        assert await saver.athreads() == []
        assert saver.get_tuple(at("evening")) is None


async def test_a_cancelled_call_is_done_or_not_done(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        for turn in range(20):
            put = asyncio.create_task(saver.aput(at("evening"), checkpoint(turn=turn), {}, {}))
            await asyncio.sleep(0)
            put.cancel()
            await asyncio.gather(put, return_exceptions=True)
        await saver.aput(at("evening"), checkpoint(turn=20), {}, {})
        found = await saver.aget_tuple(at("evening"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"turn": 20}
    async with ConversationSaver.open(file):
        pass


async def test_a_file_of_langgraphs_own_saver_goes_on_in_its_order(tmp_path: Path) -> None:
    file = tmp_path / "old.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(file)) as stock:
        for turn in range(3):
            await say(stock, str(turn), openai_secret="planted")
        await say(stock, "other", "morning")
        head = await stock.aget_tuple(at("evening"))
        await stock.aput_writes(head.config, [("turns", 9)], "task")
        head = await stock.aget_tuple(at("evening"))
        history = [one async for one in stock.alist(at("evening"))]
    assert b"planted" in file.read_bytes()
    async with ConversationSaver.open(file) as saver:
        found = [one async for one in saver.alist(at("evening"))]
        assert [(one.config, one.checkpoint, one.parent_config, one.pending_writes) for one in found] == [
            (one.config, one.checkpoint, one.parent_config, one.pending_writes) for one in history
        ]
        assert [texts(step.said) for step in await saver.asteps("evening")] == [[str(t), f"on {t}"] for t in range(3)]
        assert (await say(saver, "3", "morning"))["turns"] == 2
    assert b"planted" not in file.read_bytes()
    assert in_folder(file) == file.read_bytes()


def program(code: str, file: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    head = "import asyncio, sys\nfrom pathlib import Path\nfile = Path(sys.argv[1])\n"
    helpers = "from test_saver import ConversationSaver, HumanMessage, StorageError, at, checkpoint, random\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + helpers + textwrap.dedent(code), str(file), *arguments],
        cwd=Path(__file__).parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.crash
async def test_programs_that_write_at_the_same_time_lose_nothing(file: Path) -> None:
    code = """
        async def main():
            async with ConversationSaver.open(file) as saver:
                for turn in range(15):
                    await saver.aput(at("evening"), checkpoint(who=sys.argv[2], turn=turn), {}, {})
        asyncio.run(main())
    """
    programs = [program(code, file, name) for name in "abc"]  # also the first to create the file
    outputs = [(await asyncio.to_thread(one.communicate))[0] for one in programs]
    assert outputs == ["", "", ""]
    async with ConversationSaver.open(file) as saver:
        found = [one.checkpoint["channel_values"] async for one in saver.alist(at("evening"))]
    for name in "abc":
        assert [one["turn"] for one in found if one["who"] == name] == list(range(14, -1, -1))


async def test_a_file_that_another_program_holds_is_a_typed_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saver_file, "PATIENCE", 0.1)
    async with ConversationSaver.open(file) as saver:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageError, match="held it too long"):
            await saver.aput(at("evening"), checkpoint(), {}, {})
        other.close()
        await saver.aput(at("evening"), checkpoint(), {}, {})


@pytest.mark.crash
async def test_a_full_disk_is_a_typed_error_and_the_next_turn_works(file: Path) -> None:
    code = """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        async def main():
            async with ConversationSaver.open(file) as saver:
                place = await saver.aput(at("evening"), checkpoint(turn=0), {}, {})
                full = file.stat().st_size + 4096
                resource.setrlimit(resource.RLIMIT_FSIZE, (full, resource.RLIM_INFINITY))
                long = [HumanMessage(random.Random(1).randbytes(50_000).hex(), id="1")]
                try:
                    await saver.aput(place, checkpoint(messages=long), {}, {})
                except StorageError as error:
                    print(type(error).__name__)
                print((await saver.aget_tuple(at("evening"))).checkpoint["channel_values"])
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                await saver.aput(place, checkpoint(messages=long), {}, {})
                print([len(step.said) for step in await saver.asteps("evening")])
        asyncio.run(main())
    """
    output, _ = await asyncio.to_thread(program(code, file).communicate)
    assert output.splitlines() == ["StorageError", "{'turn': 0}", "[0, 1]"]


async def test_channel_versions_grow_from_numbers_and_from_old_texts(file: Path) -> None:
    async with ConversationSaver.open(file) as saver:
        assert saver.get_next_version(None, None) == 1
        assert saver.get_next_version(7, None) == 8
        old = f"{7:032}.{0.123456:016}"
        assert old < saver.get_next_version(old, None) < saver.get_next_version(saver.get_next_version(old, None), None)


async def test_a_type_that_the_state_declares_is_kept(file: Path) -> None:
    class Felt(TypedDict, total=False):
        mood: Mood

    async def feel(state: Felt) -> Felt:
        return {"mood": Mood.SHY}

    async with ConversationSaver.open(file) as saver:
        feeling = StateGraph(Felt).add_node("feel", feel).set_entry_point("feel").compile(checkpointer=saver)
        assert await feeling.ainvoke({}, at("evening")) == {"mood": Mood.SHY}
        assert (await feeling.aget_state(at("evening"))).values == {"mood": Mood.SHY}


@given(st.lists(st.integers(1, 60)))
def test_the_keys_of_a_window_come_back_in_their_order(keys: list[int]) -> None:
    assert channels_in(as_keys(keys)) == {"messages": keys}
    assert channels_in(as_channels({"messages": keys, "episodes": keys[::-1]})) == {
        "messages": keys,
        "episodes": keys[::-1],
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
MAPPINGS = st.lists(
    st.builds(
        lambda given, own: {**given, "id": own}, st.dictionaries(st.text(max_size=3), VALUES), st.sampled_from("12")
    ),
    max_size=5,
)


@given(MAPPINGS, MAPPINGS)
def test_any_lists_of_mappings_come_back(first: list[Any], second: list[Any]) -> None:
    serializer = StrictSerializer()
    with closing(sqlite3.connect(":memory:")) as connection, pytest.MonkeyPatch.context() as patch:
        create_tables(connection)
        patch.setattr(saver_entries, "LONG", 1)  # or no list of these would be long
        for values in ({"a": first}, {"a": first[1:] + second, "b": first}, {"b": second}):
            for channel, entries in saver_entries.taken_apart(serializer, values).items():
                keys = saver_entries.store(connection, Line(1, "evening", "", None, 0), entries)
                found = saver_entries.load(connection, serializer, 1, keys, serializer.last_read)
                assert repr([found[key] for key in keys]) == repr(values[channel])


@pytest.mark.parametrize("ids", [["a\0b", "a\0c", "a"], [str(number) for number in range(600)]])
def test_an_entry_is_kept_once_whatever_its_id(ids: list[str]) -> None:
    line = Line(1, "evening", "", None, 0)
    entries = saver_entries.taken_apart(StrictSerializer(), {"a": [{"id": one, "text": "t" * 4000} for one in ids]})[
        "a"
    ]
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(connection)
        keys = saver_entries.store(connection, line, entries)
        assert len(set(keys)) == len(ids)
        assert saver_entries.store(connection, line, entries[::-1]) == keys[::-1]


@given(st.binary(max_size=400) | st.text().map(str.encode))
def test_compressed_bytes_come_back(data: bytes) -> None:
    assert expanded(*compressed("bytes", data)) == ("bytes", data)
    assert expanded(*compressed("bytes", data * 9)) == ("bytes", data * 9)
    press = zlib.compressobj(level=6, zdict=FORMER_DICTIONARY)
    assert expanded("bytes+zlib", press.compress(data) + press.flush()) == ("bytes", data)
