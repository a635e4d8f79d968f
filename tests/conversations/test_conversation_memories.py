"""What a conversation remembers of its turns: its own alone, as long as a branch holds the turn, and no longer."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypedDict

import numpy as np
import pytest
from databases import PLACES, open_saver, open_store
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from pydantic import ValidationError

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.json_lines import exported, imported
from dramaturg.conversations.opening import open_conversation
from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.run import RoleContext
from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.conversations.memories import (
    ConversationMemories,
    ConversationMemory,
    memory_id,
    of_turns,
    positive_zeros,
)
from dramaturg.stores.conversations.talk import TalkRecords
from dramaturg.stores.errors import DamagedConversations
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.saver.conversation_saver import ConversationSaver

from crash_points import forkserver, killed_at, writes_of
from property_settings import property_settings
from talks import Player, conversation
from turns_in_processes import context as role_context
from turns_in_processes import prepared

pytestmark = pytest.mark.sample_of_file(10)

MOOD = {"joy": {"score": 7, "reason": "It is morning."}, "fear": {"score": 2, "reason": ""}}
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(params=PLACES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BaseStore]:
    async with open_store(request.param, tmp_path, request) as store:
        yield store


def memory(turn: str, thread: str = "tea", **changes: Any) -> ConversationMemory:
    given = {
        "thread": thread,
        "turn": turn,
        "question": f"What of {turn}?",
        "answer": f"That of {turn}.",
        "emotions": MOOD,
        "encoder": "model",
        "embedding": "minilm",
        "vector": [0.1, -0.0, 1e-7, 2 / 3],
        "created": NOON,
    }
    return ConversationMemory.model_validate(given | changes)


async def test_what_is_saved_is_found_again(store: BaseStore) -> None:
    memories = ConversationMemories(store, "beethoven", "tea")
    whole = memory("m-1", speaker="Tom", pinned=True)
    marked = memory("m-2", emotions=None, error="The model gave no scores.")
    for one in (whole, marked):
        await memories.save(one)
    assert await memories.get([whole.id, marked.id]) == {whole.id: whole, marked.id: marked}
    assert whole.id != marked.id


async def test_memories_come_in_the_order_of_the_ids_and_all_of_them_by_age(store: BaseStore) -> None:
    memories = ConversationMemories(store, "beethoven", "tea")
    made = [memory(f"m-{number}", created=NOON - timedelta(hours=number)) for number in range(5)]
    for one in made:
        await memories.save(one)
    asked = [made[3].id, "gone", made[0].id, made[4].id, made[0].id]
    assert list(await memories.get(asked)) == [made[3].id, made[0].id, made[4].id]
    assert await memories.all() == made[::-1]
    assert await memories.get([]) == {}


async def test_a_turn_that_runs_twice_makes_one_memory(store: BaseStore) -> None:
    memories = ConversationMemories(store, "beethoven", "tea")
    await memories.save(memory("m-1"))
    await memories.save(memory("m-1", answer="Something else."))
    assert [one.answer for one in await memories.all()] == ["Something else."]


async def test_memories_are_dropped(store: BaseStore) -> None:
    memories = ConversationMemories(store, "beethoven", "tea")
    for turn in ("m-1", "m-2", "m-3"):
        await memories.save(memory(turn))
    await memories.drop([memory_id("m-1"), memory_id("m-3"), "gone"])
    assert await memories.ids() == {memory_id("m-2")}
    await memories.drop_all()
    assert await memories.all() == []


NAMES = ["", "a.b", "a", "b", "чай 茶", "x" * 300, "x" * 299, '["a", "b"]', "\\", "langgraph", "\0", "\ud800"]


async def test_no_conversation_sees_another(store: BaseStore) -> None:
    names = [name for name in NAMES if name != "\0" or not isinstance(store, AsyncPostgresStore)]  # takes no NUL
    places = [(role, thread) for role in ("beethoven", "a", "a.b") for thread in names]
    talks = [ConversationMemories(store, role, thread) for role, thread in places]
    assert len({talk.namespace for talk in talks}) == len(talks)
    for number, talk in enumerate(talks):
        if "\ud800" not in talk.thread:
            await talk.save(memory("m-1", talk.thread, answer=str(number)))
    for number, talk in enumerate(talks):
        answers = [] if "\ud800" in talk.thread else [str(number)]
        assert [one.answer for one in await talk.all()] == answers
    await talks[0].drop_all()
    assert await talks[0].all() == []
    assert len(await talks[1].all()) == 1


async def test_a_memory_is_kept_in_its_own_conversation_only(store: BaseStore) -> None:
    with pytest.raises(ValueError, match="of the conversation 'dinner', not of 'tea'"):
        await ConversationMemories(store, "beethoven", "tea").save(memory("m-1", "dinner"))


@pytest.mark.parametrize(
    "change",
    [
        *({"turn": ""}, {"vector": []}, {"vector": [float("nan")]}, {"vector": [float("inf")]}),
        *({"created": datetime(2024, 5, 1)}, {"emotions": {"joy": {"score": 11, "reason": ""}}}, {"mood": "glad"}),
    ],
)
def test_what_is_no_memory_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        memory("m-1").model_validate(memory("m-1").model_dump() | change)


async def test_half_a_letter_is_refused_and_counts_as_not_there() -> None:
    memories = ConversationMemories(InMemoryStore(), "beethoven", "tea")
    half = memory("m-1", answer="\ud800")
    with pytest.raises(ValueError, match="surrogates"):
        await memories.save(half)
    record = {"memory": half.model_dump(mode="json"), "checksum": ""}
    await memories.store.aput(memories.namespace, half.id, record)
    assert await memories.all() == []


async def forged(store: BaseStore, namespace: tuple[str, ...], how: Callable[[dict[str, Any]], Any]) -> None:
    """Change the record of the first turn behind the back of its conversation."""
    item = await store.aget(namespace, memory_id("m-1"))
    assert item is not None
    value = {**item.value, "memory": dict(item.value["memory"])}
    await store.aput(namespace, item.key, value if how(value) is None else {}, index=False)


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another answer": lambda value: value["memory"].update(answer="I never said so."),
    "another vector": lambda value: value["memory"].update(vector=[1.0, 0.0, 0.0, 0.0]),
    "another mood": lambda value: value["memory"].update(emotions=None),
    "another turn": lambda value: value["memory"].update(turn="m-2"),
    "one key more": lambda value: value["memory"].update(more=1),
    "no answer": lambda value: value["memory"].pop("answer") and None,
    "no memory": lambda value: value.pop("memory") and None,
    "no checksum": lambda value: value.pop("checksum") and None,
    "nothing": lambda value: True,
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("how", FORGERIES)
async def test_a_record_that_was_changed_counts_as_not_there(store: BaseStore, how: str) -> None:
    memories = ConversationMemories(store, "beethoven", "tea")
    for turn in ("m-1", "m-2"):
        await memories.save(memory(turn))
    await forged(store, memories.namespace, FORGERIES[how])
    assert list(await memories.get([memory_id("m-1"), memory_id("m-2")])) == [memory_id("m-2")]
    assert [one.turn for one in await memories.all()] == ["m-2"]
    assert await memories.ids() == {memory_id("m-1"), memory_id("m-2")}
    await memories.drop_all()
    assert await memories.ids() == set()


@pytest.mark.parametrize("place", [("beethoven", "dinner"), ("mozart", "tea")])
async def test_a_record_that_was_copied_from_elsewhere_counts_as_not_there(
    store: BaseStore, place: tuple[str, str]
) -> None:
    there, here = ConversationMemories(store, *place), ConversationMemories(store, "beethoven", "tea")
    await there.save(memory("m-1", place[1]))
    item = await store.aget(there.namespace, memory_id("m-1"))
    assert item is not None
    await store.aput(here.namespace, item.key, item.value, index=False)
    assert await here.all() == []


async def test_more_memories_than_a_page(store: BaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramaturg.stores.conversations.items.PAGE", 3)
    memories = ConversationMemories(store, "beethoven", "tea")
    ids = [memory_id(f"m-{number}") for number in range(8)]
    for number in range(8):
        await memories.save(memory(f"m-{number}"))
    assert await memories.ids() == set(ids)
    assert list(await memories.get([*ids, *ids[::-1]])) == ids
    await memories.drop_all()
    assert await memories.ids() == set()


STEPS = st.lists(
    st.tuples(st.sampled_from(["save", "drop", "drop all"]), st.sampled_from("abc"), st.sampled_from(["tea", "a.b"]))
)


@property_settings(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
async def test_saves_and_drops_in_any_order_are_those_of_a_dictionary(
    tmp_path: Path, steps: list[tuple[str, str, str]]
) -> None:
    store = ItemStore(tmp_path / "memories.sqlite")
    store.path.unlink(missing_ok=True)
    known: dict[tuple[str, str], ConversationMemory] = {}
    for number, (what, turn, thread) in enumerate(steps):
        memories = ConversationMemories(store, "beethoven", thread)
        if what == "save":
            known[thread, turn] = memory(turn, thread, answer=str(number))
            await memories.save(known[thread, turn])
        else:
            gone = [key for key in known if key[0] == thread and (what == "drop all" or key[1] == turn)]
            await (memories.drop([memory_id(turn)]) if what == "drop" else memories.drop_all())
            for key in gone:
                del known[key]
    for thread in ("tea", "a.b"):
        found = await ConversationMemories(store, "beethoven", thread).all()
        assert {one.turn: one for one in found} == {
            turn: one for (where, turn), one in known.items() if where == thread
        }


class TeaState(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    remembered: list[str]


class Host:
    """A workflow whose first node answers, whose second remembers, and whose last may fail, as often as it is told."""

    def __init__(self) -> None:
        self.fails: BaseException | None = None

    def build(self) -> StateGraph[TeaState, RoleContext, Any, Any]:
        graph = StateGraph(TeaState, context_schema=RoleContext)
        graph.add_node("answer", self.answer)
        graph.add_node("remember", self.remember)
        graph.add_node("end", self.end)
        graph.add_edge(START, "answer")
        graph.add_edge("answer", "remember")
        graph.add_edge("remember", "end")
        graph.add_edge("end", END)
        return graph

    async def answer(self, state: TeaState) -> TeaState:
        return {"messages": [AIMessage(f"That of {state['messages'][-1].text}")]}

    async def remember(self, state: TeaState, runtime: Runtime[RoleContext]) -> TeaState:
        *_, asked, reply = state["messages"]
        assert runtime.store is not None
        assert runtime.execution_info is not None
        thread = str(runtime.execution_info.thread_id)
        made = memory(str(asked.id), thread, question=asked.text, answer=reply.text)
        await ConversationMemories(runtime.store, runtime.context.role, thread).save(made)
        return {"remembered": [*state.get("remembered", []), made.id]}

    async def end(self, state: TeaState) -> TeaState:
        if self.fails:
            raise self.fails
        return {}


def tea(saver: Any, store: BaseStore | None, host: Host | None = None, thread: str = "tea") -> Conversation:
    return Conversation((host or Host()).build(), saver, RoleContext(role="beethoven"), thread, store=store)


async def kept(talk: Conversation) -> set[str]:
    """The questions of all memories that the thread has."""
    assert talk.store is not None
    return {one.question for one in await memories_of(talk).all()}


async def recalled(talk: Conversation) -> list[str]:
    """The questions of the memories that the head names."""
    ids = (await talk.values()).get("remembered", [])
    return [one.question for one in (await memories_of(talk).get(ids)).values()]


def memories_of(talk: Conversation) -> ConversationMemories:
    assert talk.store is not None
    return ConversationMemories(talk.store, talk.context.role, talk.thread.name)


@pytest.fixture(params=["memory", "ours", "postgres"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with open_saver(request.param, tmp_path, request) as saver:
        yield saver


async def test_each_branch_recalls_what_was_said_on_it(saver: Any, tmp_path: Path) -> None:
    talk = tea(saver, ItemStore(tmp_path / "memories.sqlite"))
    for text in ("one", "two", "three"):
        await talk.take_turn(text)
    first, *_, third = await talk.history()
    await talk.fork(first.id)
    await talk.take_turn("other")
    assert await recalled(talk) == ["one", "other"]
    await talk.fork(third.id)
    assert await recalled(talk) == ["one", "two", "three"]
    assert await kept(talk) == {"one", "two", "three", "other"}


async def test_a_message_that_is_delivered_twice_is_remembered_once(saver: Any) -> None:
    talk = tea(saver, InMemoryStore())
    for _ in range(2):
        await talk.take_turn(HumanMessage("one", id="m-1"))
    assert await recalled(talk) == ["one"]
    assert len(await memories_of(talk).all()) == 1


async def test_a_turn_that_is_deleted_is_forgotten_with_what_followed_and_no_other(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        talk = tea(saver, ItemStore(tmp_path / "memories.sqlite"))
        other = tea(saver, talk.store, thread="dinner")
        for text in ("one", "secret", "three"):
            await talk.take_turn(text)
            await other.take_turn(text.replace("secret", "two"))
        first, second, _ = await talk.history()
        await talk.fork(first.id)
        await talk.take_turn("branch")
        await talk.delete(second.id)
        assert await kept(talk) == {"one", "branch"}
        assert await recalled(talk) == ["one", "branch"]
        assert await recalled(other) == ["one", "two", "three"]
    assert b"secret" not in all_bytes(tmp_path)


async def test_what_a_saver_cannot_erase_is_still_remembered(tmp_path: Path) -> None:
    talk = tea(InMemorySaver(), ItemStore(tmp_path / "memories.sqlite"))
    for text in ("one", "two"):
        await talk.take_turn(text)
    gone = (await talk.history())[1]
    await talk.delete(gone.id)
    assert await recalled(talk) == ["one"]
    await talk.fork(gone.id)
    assert await recalled(talk) == ["one", "two"]


async def test_a_thread_that_is_erased_leaves_no_byte_of_a_memory(saver: Any, tmp_path: Path) -> None:
    talk = tea(saver, ItemStore(tmp_path / "memories.sqlite"))
    other = tea(saver, talk.store, thread="dinner")
    for number in range(12):
        await talk.take_turn(f"secret wish {number} " + "marked " * 300)
    await other.take_turn("one")
    await memories_of(talk).save(memory("orphan", question="secret, too"))
    assert b"secret" in all_bytes(tmp_path)
    await talk.erase()
    assert await kept(talk) == set()
    assert await recalled(other) == ["one"]
    data = all_bytes(tmp_path)
    assert b"secret" not in data
    assert b"marked" not in data
    await talk.erase()
    await talk.take_turn("anew")
    assert await recalled(talk) == ["anew"]


async def test_a_turn_that_failed_after_it_remembered_is_finished_with_one_memory(saver: Any) -> None:
    host = Host()
    talk = tea(saver, InMemoryStore(), host)
    host.fails = ModelUnavailable("The model is not there.")
    with pytest.raises(ModelUnavailable):
        await talk.take_turn(HumanMessage("one", id="m-1"))
    host.fails = None
    await talk.take_turn(HumanMessage("one", id="m-1"))
    assert await recalled(talk) == ["one"]
    assert await kept(talk) == {"one"}


async def test_a_turn_that_is_withdrawn_is_forgotten(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        host = Host()
        talk = tea(saver, ItemStore(tmp_path / "memories.sqlite"), host)
        await talk.take_turn("one")
        host.fails = ModelUnavailable("The model is not there.")
        with pytest.raises(ModelUnavailable):
            await talk.take_turn("two")
        await talk.withdraw()
        assert await kept(talk) == {"one"}
        assert len(await memories_of(talk).ids()) == 1


@pytest.mark.sample(8)
@pytest.mark.parametrize("how", ["next", "fork", "regenerate", "edit"])
@pytest.mark.parametrize("fails", ["once", "always"])
async def test_a_turn_that_stopped_after_its_reply_is_remembered(saver: Any, how: str, fails: str) -> None:
    host = Host()
    talk = tea(saver, InMemoryStore(), host)
    await talk.take_turn("one")
    first = (await talk.history())[0].id
    host.fails = ModelUnavailable("The model is not there.")
    with pytest.raises(ModelUnavailable):
        await talk.take_turn(HumanMessage("two", id="two"))
    if fails == "once":
        host.fails = None
    changes = {
        "next": lambda: talk.take_turn("three"),
        "fork": lambda: talk.fork(first),
        "regenerate": lambda: talk.regenerate(first),
        "edit": lambda: talk.edit(first, "three"),
    }
    try:
        await changes[how]()
    except ModelUnavailable:
        assert fails == "always"
    host.fails = None
    assert "two" in await kept(talk)
    await talk.fork("two")
    assert await talk.unfinished() is None
    assert await recalled(talk) == ["one", "two"]


@pytest.mark.parametrize("goes_on", [False, True])
async def test_a_thread_is_erased_after_its_memories(
    saver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    """No words are left that nobody can find: what is left can be erased again, or gone on with."""
    talk = tea(saver, ItemStore(tmp_path / "memories.sqlite"))
    await talk.take_turn("secret")

    async def killed(_: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(saver, "adelete_thread", killed)
        with pytest.raises(KeyboardInterrupt):
            await talk.erase()
    assert await kept(talk) == set()
    assert [turn.question for turn in await talk.history()] == ["secret"]
    if goes_on:
        await talk.take_turn("two")
        assert await recalled(talk) == ["two"]
    await talk.erase()
    assert await talk.history() == []


async def test_a_turn_that_was_begun_keeps_its_memory_when_another_is_deleted(saver: Any) -> None:
    """Its end will name it."""
    host = Host()
    talk = tea(saver, InMemoryStore(), host)
    for text in ("one", "two"):
        await talk.take_turn(text)
    first, second = await talk.history()
    await talk.fork(first.id)
    host.fails = ModelUnavailable("The model is not there.")
    with pytest.raises(ModelUnavailable):
        await talk.take_turn("three")
    host.fails = None
    await talk.delete(second.id)
    await talk.finish()
    assert await recalled(talk) == ["one", "three"]


async def test_without_a_store_nothing_is_remembered(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        talk = conversation(saver, tmp_path, Player())
        assert talk.store is None
        await talk.take_turn("one")
        await talk.delete((await talk.history())[0].id)
        await talk.erase()


async def test_a_conversation_that_was_imported_begins_without_memories(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        talk = tea(saver, ItemStore(tmp_path / "memories.sqlite"))
        await talk.take_turn("one")
        lines = [line async for line in exported(talk)]
        copy = tea(saver, talk.store, thread="copy")
        assert await imported(copy, lines) == 1
        assert "remembered" not in await copy.values()
        assert await recalled(copy) == []
        await copy.take_turn("two")
        assert await recalled(copy) == ["two"]
        assert await recalled(talk) == ["one"]


async def test_a_conversation_of_the_library_has_a_store_beside_its_file(tmp_path: Path) -> None:
    folder = await asyncio.to_thread(prepared, tmp_path / "library", "vanilla", 1)
    files = folder / ".conversations"
    async with open_conversation("vanilla", role_context(folder, "vanilla"), "tea") as talk:
        assert isinstance(talk.store, ItemStore)
        assert talk.store.path == files / f"{talk.context.role}.memories.sqlite"
        await talk.delete((await talk.history())[0].id)
        await talk.erase()
        assert await talk.store.asearch(()) == []
    async with open_conversation("vanilla", role_context(folder, "vanilla")) as talk:
        assert isinstance(talk.store, InMemoryStore)


async def test_a_file_of_memories_that_is_damaged_is_said_so(tmp_path: Path) -> None:
    talk = tea(InMemorySaver(), ItemStore(tmp_path / "memories.sqlite"))
    await talk.take_turn("one")
    (tmp_path / "memories.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(DamagedConversations, match="put a copy of it from before"):
        await talk.take_turn("two")


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Conversation]:
    async with ConversationSaver.open(folder / "talks.sqlite") as saver:
        yield tea(saver, ItemStore(folder / "memories.sqlite"))


async def said(folder: Path, *texts: str) -> None:
    async with opened(folder) as talk:
        for text in texts:
            await talk.take_turn(HumanMessage(text, id=text))


def say_two(folder: Path) -> None:
    asyncio.run(said(folder, "two"))


async def test_a_turn_that_is_killed_after_it_remembered_leaves_nothing_that_harms(tmp_path: Path) -> None:
    await said(tmp_path, "one")
    # The store's commit is the first after the thread was begun; the checkpoint's comes after it.
    writes = await asyncio.to_thread(writes_of, say_two, copied(tmp_path, "dry"))
    last = len(writes) - writes[::-1].index("commit")
    assert await asyncio.to_thread(killed_at, say_two, tmp_path, last)
    async with opened(tmp_path) as talk:
        assert [turn.id for turn in await talk.history()] == ["one"]
        assert await recalled(talk) == ["one"]
        assert await kept(talk) == {"one", "two"}
        await talk.take_turn("three")
        assert await recalled(talk) == ["one", "three"]
        await talk.delete((await talk.history())[1].id)
        assert await kept(talk) == {"one"}
    assert b"two" not in all_bytes(tmp_path)


def copied(folder: Path, name: str) -> Path:
    target = folder / name
    target.mkdir()
    for path in folder.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes())
    return target


def save_some(path: Path, writer: int) -> None:
    async def save() -> None:
        memories = ConversationMemories(ItemStore(path), "beethoven", "tea")
        for number in range(15):
            await memories.save(memory(f"{writer}-{number}"))

    asyncio.run(save())


@pytest.mark.crash
async def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memories.sqlite"
    writers = [forkserver().Process(target=save_some, args=(path, writer)) for writer in range(2)]
    for one in writers:
        one.start()
    for one in writers:
        await asyncio.to_thread(one.join)
    assert [one.exitcode for one in writers] == [0, 0]
    found = await ConversationMemories(ItemStore(path), "beethoven", "tea").all()
    assert {one.turn for one in found} == {f"{writer}-{number}" for writer in range(2) for number in range(15)}
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_vector_is_the_same_whether_or_not_a_database_keeps_the_sign_of_zero() -> None:
    assert list(map(str, positive_zeros([-0.0, 0.0, -1.5]))) == ["0.0", "0.0", "-1.5"]


async def test_a_memory_of_an_earlier_version_is_read_under_its_turn_alone(store: BaseStore) -> None:
    """As it was written then: without the version, and with a checksum of all the rest."""
    memories, old = ConversationMemories(store, "beethoven", "tea"), memory("m-1")
    record = {"role": "beethoven", "memory": old.model_dump(mode="json", exclude={"version", "record"})}
    words = old.model_dump(mode="json", exclude={"version", "record", "vector"})
    record["checksum"] = sha256(canonical(["beethoven", words]) + np.asarray(old.vector, "<f8").tobytes())
    await store.aput(memories.namespace, memory_id("m-1"), record, index=False)
    new = memory("m-1", version=2)
    await memories.save(new)
    assert await memories.get([memory_id("m-1"), new.id]) == {memory_id("m-1"): old, new.id: new}
    await memories.save(old.model_copy(update={"pinned": True}))
    assert {one.pinned for one in await memories.all()} == {True, False}
    assert of_turns(["m-1"], await memories.ids()) == {memory_id("m-1"), new.id}
    assert of_turns(["m-2"], await memories.ids()) == set()


# What is read of a conversation, turn by turn


async def test_what_was_read_is_not_read_again_and_what_was_written_since_is(store: BaseStore) -> None:
    """Whether a talk has two memories or two thousand, a turn reads those that are new or were changed."""
    memories = ConversationMemories(store, "beethoven", "tea")
    for number in range(8):
        await memories.save(memory(f"m-{number}"))
    ids = [memory_id(f"m-{number}") for number in range(8)]
    seen: dict[str, Any] = {}
    for change in ("none", "new", "pinned", "damaged", "removed"):
        if change == "new":
            await memories.save(memory("m-8"))
            ids.append(memory_id("m-8"))
        if change == "pinned":
            await memories.save(memory("m-2", pinned=True))
        if change == "damaged":
            item = await store.aget(memories.namespace, ids[3])
            assert item is not None
            await store.aput(memories.namespace, ids[3], {**item.value, "role": "bea", "memory": {}}, index=False)
        if change == "removed":
            await memories.drop([ids[4]])
        there, found = await memories.since(ids, seen)
        seen |= {key: there[key] for key in found}
        assert list(there) == [one for one in ids if (one, change) != (ids[4], "removed")]
        assert [*found] == {"none": ids, "new": ids[8:], "pinned": [ids[2]]}.get(change, [])
        assert change != "pinned" or found[ids[2]].pinned


async def test_what_was_said_is_read_from_the_record_of_the_talk(store: BaseStore) -> None:
    """A memory that stands on a record is written without texts, and is there as long as these are."""
    talk, memories = TalkRecords(store, "beethoven", "tea"), ConversationMemories(store, "beethoven", "tea")
    said = [HumanMessage("Where is the quince?", id="m-1", name="Tom"), AIMessage("In the attic.", id="m-2")]
    record = await talk.extended("", said)
    told = {"question": "Where is the quince?", "answer": "In the attic.", "speaker": "Tom"}
    whole = memory("m-1", version=2, record=record, vector=[0.5, -0.25], **told)
    await memories.save(whole)
    assert await memories.get([whole.id]) == {whole.id: whole}
    (item,) = await store.asearch(memories.namespace)
    assert "quince" not in str(item.value)
    await talk.forget([record])
    assert await memories.all() == []
    assert await memories.ids() == {whole.id}
