"""A store in one file: what is put is there for every program, whole or not at all, until it is deleted."""

import asyncio
import errno
import gc
import math
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from dramaturg.stores.conversations import item_store
from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.errors import DamagedConversations, StorageError

from crash_points import SOME_OR_ALL, failures, few_or_many, kills, mutations
from property_settings import property_settings

LABELS = st.text(st.characters(exclude_characters=".\0", exclude_categories=["Cs"]), min_size=1, max_size=3)
NAMESPACES = st.lists(LABELS | st.sampled_from("ab"), min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "", "ключ", "'; --"])
VALUES = st.none() | st.dictionaries(st.text("abc"), st.integers() | st.text() | st.booleans(), max_size=2)


@st.composite
def puts(draw: st.DrawFn) -> PutOp:
    return PutOp(draw(NAMESPACES), draw(KEYS), draw(VALUES))


def conditions() -> st.SearchStrategy[tuple[MatchCondition, ...]]:
    path = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2).map(tuple)
    return st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), path), max_size=2).map(tuple)


def said(item: Any) -> Any:
    return (item.namespace, item.key, item.value) if isinstance(item, Item) else item


@property_settings(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(puts(), max_size=8),
    st.lists(puts(), max_size=3),
    st.lists(st.sampled_from("ab") | LABELS, max_size=2).map(tuple),
    conditions(),
    st.none() | st.integers(1, 3),
)
async def test_it_holds_what_a_store_in_memory_holds(
    tmp_path: Path, first: list[PutOp], more: list[PutOp], prefix: Any, wanted: Any, depth: int | None
) -> None:
    ours, known = ItemStore(tmp_path / "items.sqlite"), InMemoryStore()
    ours.path.unlink(missing_ok=True)
    gets: list[Op] = [GetOp(op.namespace, op.key) for op in (*first, *more)]
    reads: list[Op] = [SearchOp(prefix, limit=99), ListNamespacesOp(wanted, max_depth=depth)]
    for ops in (first, [*more, *gets], [*gets, *reads]):
        mine, theirs = await ours.abatch(ops), await known.abatch(ops)
        for op, one, other in zip(ops, mine, theirs, strict=True):
            if isinstance(op, SearchOp):
                assert sorted(map(said, one), key=repr) == sorted(map(said, other), key=repr)  # type: ignore[arg-type]
            elif isinstance(op, GetOp):
                assert said(one) == said(other)
    kept = {item.namespace for item in await ours.asearch((), limit=99)}
    assert await ours.alist_namespaces() == sorted(kept)


async def test_namespaces_are_listed_as_the_conditions_say(tmp_path: Path) -> None:
    ours, known = ItemStore(tmp_path / "items.sqlite"), InMemoryStore()
    for namespace in [("a", "b", "c"), ("a", "b"), ("a", "x", "c"), ("b",), ("ab", "c")]:
        for store in (ours, known):
            await store.aput(namespace, "k", {})
    asked: list[dict[str, Any]] = [
        *({"prefix": ("a",)}, {"prefix": ("a", "*", "c")}, {"suffix": ("c",)}, {"suffix": ("*", "b", "c", "d")}),
        *({"prefix": ("a",), "suffix": ("c",)}, {"max_depth": 1}, {"limit": 2}, {"limit": 2, "offset": 4}),
    ]
    for one in asked:
        assert await ours.alist_namespaces(**one) == await known.alist_namespaces(**one), one


async def test_a_search_is_read_in_pages(tmp_path: Path) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    for number in range(7):
        await store.aput(("a", str(number % 2)), f"k{number}", {"n": number})
    pages = [await store.asearch(("a",), limit=3, offset=at) for at in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert len({(item.namespace, item.key) for page in pages for item in page}) == 7


async def test_what_is_read_of_a_namespace_is_no_more_work_where_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, opened, steps = ItemStore(tmp_path / "items.sqlite"), item_store.connect, list[None]()

    def counted(path: Path) -> sqlite3.Connection:
        connection = opened(path)
        connection.set_progress_handler(lambda: steps.append(None), 1)
        return connection

    monkeypatch.setattr(item_store, "connect", counted)
    await store.abatch([PutOp(("talks", "a"), key, {}) for key in "xyz"])
    counts = list[int]()
    for others in (0, 1000):
        await store.abatch([PutOp(("talks", f"b{at}"), "x", {}) for at in range(others)])
        steps.clear()
        assert len(await store.asearch(("talks", "a"), limit=500)) == 3
        counts.append(len(steps))
    assert counts[1] < 2 * counts[0]


async def test_an_item_tells_when_it_was_made_and_changed(tmp_path: Path) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    await store.aput(("a",), "k", {"n": 1})
    first = await store.aget(("a",), "k")
    await store.aput(("a",), "k", {"n": 2})
    (second,) = await store.asearch(("a",))
    assert first is not None
    assert isinstance(second, SearchItem)
    assert first.created_at == first.updated_at == second.created_at < second.updated_at
    assert second.value == {"n": 2}


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_no_file_is_made_until_an_item_is_put(tmp_path: Path) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    assert await store.aget(("a",), "k") is None
    assert await store.asearch(("a",)) == []
    assert await store.alist_namespaces() == []
    await store.adelete(("a",), "k")
    assert names(tmp_path) == []
    await store.aput(("a",), "k", {})
    assert names(tmp_path) == ["items.sqlite"]


@pytest.mark.parametrize("value", [{"x": math.nan}, {"x": "\ud800"}, {"x": {1, 2}}])
async def test_what_is_no_json_is_refused_and_nothing_of_the_batch_is_written(tmp_path: Path, value: Any) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    with pytest.raises((ValueError, TypeError)):
        await store.abatch([PutOp(("a",), "whole", {}), PutOp(("a",), "k", value)])
    assert await store.asearch(()) == []


async def test_what_it_cannot_do_it_says(tmp_path: Path) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    with pytest.raises(ValueError, match="no filters"):
        await store.asearch(("a",), filter={"x": 1})
    with pytest.raises(ValueError, match="periods"):
        await store.abatch([PutOp(("a.b",), "k", {})])
    with pytest.raises(NotImplementedError):
        await store.aput(("a",), "k", {}, ttl=1)


async def test_it_can_be_called_from_plain_functions(tmp_path: Path) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    store.put(("a",), "k", {"n": 1})
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"n": 1}


async def test_what_is_deleted_or_replaced_is_erased(tmp_path: Path) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    for number in range(20):
        await store.aput(("a",), str(number), {"text": f"kept {number} " + "secret " * 40 * number})
    assert b"secret" in store.path.read_bytes()
    await store.abatch([PutOp(("a",), str(number), None) for number in range(10)])
    await store.abatch([PutOp(("a",), str(number), {"text": "short"}) for number in range(10, 20)])
    assert b"secret" not in store.path.read_bytes()
    assert names(tmp_path) == ["items.sqlite"]


async def test_a_cancelled_write_is_done_before_what_is_asked_for_later(tmp_path: Path) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    writes = [asyncio.create_task(store.aput(("a",), str(number), {})) for number in range(5)]
    await asyncio.sleep(0)
    for write in writes:
        write.cancel()
    await asyncio.gather(*writes, return_exceptions=True)
    found = await store.asearch(())
    await asyncio.sleep(0.05)
    assert await store.asearch(()) == found


async def test_no_thread_is_left(tmp_path: Path) -> None:
    before = {*threading.enumerate()}  # a store of another test may not be collected yet
    store = ItemStore(tmp_path / "items.sqlite")
    await store.aput(("a",), "k", {})
    (thread,) = [one for one in threading.enumerate() if one.name.startswith("items") and one not in before]
    del store
    gc.collect()
    thread.join(120)
    assert not thread.is_alive()


def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "items.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE store (prefix text)")
    connection.close()
    before = path.read_bytes()
    for ops in ([SearchOp(())], [PutOp(("a",), "k", {})]):
        with pytest.raises(DamagedConversations, match="another program"):
            ItemStore(path).batch(ops)
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be used"):
        ItemStore(tmp_path / "nowhere" / "items.sqlite").put(("a",), "k", {})


def test_a_file_that_stays_in_use_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    store.put(("a",), "k", {})
    monkeypatch.setattr("dramaturg.stores.conversations.item_store.PATIENCE", 0.05)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="another program"):
        store.put(("a",), "l", {})
    other.close()
    store.put(("a",), "l", {})
    assert len(store.search(())) == 2


def put_pair(folder: Path) -> None:
    """Write two items at once, and take a third one away."""
    ops: list[Op] = [PutOp(("a",), key, {"n": key}) for key in "xy"]
    ItemStore(folder / "items.sqlite").batch([*ops, PutOp(("a",), "old", None)])


def kept(folder: Path) -> list[str]:
    return [item.key for item in ItemStore(folder / "items.sqlite").search(("a",))]


OLD, NEW = ["old"], ["x", "y"]


@pytest.fixture(params=["new", "old"])
def before(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[str]]:
    folder = tmp_path / "before"
    folder.mkdir()
    if request.param == "new":
        return folder, []
    ItemStore(folder / "items.sqlite").put(("a",), "old", {"n": "old"})
    return folder, OLD


@SOME_OR_ALL
def test_a_batch_that_is_killed_at_any_write_is_whole_or_not_there(
    before: tuple[Path, list[str]], tmp_path: Path, most: int | None
) -> None:
    folder, old = before
    seen = []
    for crash in kills(put_pair, folder, tmp_path, most):
        seen.append(kept(crash.folder))
        put_pair(crash.folder)
        assert kept(crash.folder) == NEW
    assert seen == [old] * len(seen)
    assert len(seen) >= 2


@SOME_OR_ALL
def test_a_disk_that_is_full_at_any_write_costs_the_batch_only(
    before: tuple[Path, list[str]], tmp_path: Path, most: int | None
) -> None:
    folder, old = before
    for crash in failures(put_pair, folder, tmp_path, errno.ENOSPC, most):
        assert crash.error is None or isinstance(crash.error, StorageError)
        assert kept(crash.folder) == (NEW if crash.error is None else old)


def many(store: ItemStore, keys: Iterable[int]) -> None:
    for key in keys:
        store.put(("a",), f"k{key:03}", {"n": f"item {key} " * 8})


@few_or_many(60, 2000)
def test_a_file_that_was_changed_is_refused_or_gives_no_more_than_was_there(count: int, tmp_path: Path) -> None:
    store = ItemStore(tmp_path / "items.sqlite")
    many(store, range(60))
    refused = 0
    for _, _ in mutations(tmp_path, seed=1, count=count):
        try:
            found = store.search((), limit=99)
            assert len(found) <= 2 * 60
            store.put(("a",), "k000", {})
        except DamagedConversations:
            refused += 1
    assert refused > count // 4
