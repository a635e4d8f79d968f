"""Conversations whose saver and store are LangGraph's for Postgres: a thread is held across machines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.turn_lock import ThreadBusy
from dramaturg.stores.conversations.memories import ConversationMemories
from dramaturg.stores.errors import StorageError
from dramaturg.workflows.methods import METHODS, flow

from roles import run_settings
from talks import Player, conversation, questions


@pytest.fixture(params=["connection", "pool"])
async def savers(request: pytest.FixtureRequest, postgres: str) -> AsyncIterator[list[AsyncPostgresSaver]]:
    """A saver for each of two machines, over one connection or a pool with as few as there can be."""
    if request.param == "connection":
        opened = AsyncPostgresSaver.from_conn_string
        async with opened(postgres) as one, opened(postgres) as other:
            yield [one, other]
        return
    how: dict[str, Any] = {"autocommit": True, "row_factory": dict_row}
    pools = [AsyncConnectionPool(postgres, min_size=1, max_size=1, kwargs=how, open=False) for _ in range(2)]
    async with pools[0], pools[1]:
        yield [AsyncPostgresSaver(pool) for pool in pools]


async def test_turns_of_two_machines_are_taken_one_after_the_other(
    savers: list[AsyncPostgresSaver], tmp_path: Path
) -> None:
    one, other = (conversation(saver, tmp_path, Player()) for saver in savers)
    asked = [f"{number}" for number in range(8)]
    await asyncio.gather(*((one, other)[at % 2].take_turn(text) for at, text in enumerate(asked)))
    assert sorted(await questions(one)) == asked
    assert [len(branch) for branch in await other.branches()] == [len(asked)]


async def test_whoever_waits_too_long_is_told_and_goes_on_when_the_other_is_gone(
    savers: list[AsyncPostgresSaver], tmp_path: Path, postgres: str
) -> None:
    one, other = (conversation(saver, tmp_path, Player(), patience=0.05) for saver in savers)
    async with one.turn():
        with pytest.raises(ThreadBusy, match="'tea' is in use elsewhere"):
            await other.take_turn("one")
        with psycopg.connect(postgres, autocommit=True) as admin:  # as a server does when a machine is gone
            admin.execute("SELECT pg_terminate_backend(pid, 120000) FROM pg_locks WHERE locktype = 'advisory'")
        await other.take_turn("one")
    assert await questions(one) == ["one"]


async def test_a_turn_that_is_cancelled_while_it_waits_leaves_no_lock_behind(
    savers: list[AsyncPostgresSaver], tmp_path: Path, postgres: str
) -> None:
    one, other = (conversation(saver, tmp_path, Player()) for saver in savers)
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    async with one.turn(), await psycopg.AsyncConnection.connect(postgres, autocommit=True) as admin:
        waiting = asyncio.create_task(other.take_turn("one"))
        while (await (await admin.execute(held)).fetchone()) == (0,):  # noqa: ASYNC110 (a database has no event)
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await one.take_turn("two")
    assert await questions(other) == ["two"]


async def test_other_threads_are_not_held(savers: list[AsyncPostgresSaver], tmp_path: Path) -> None:
    one, other = (conversation(saver, tmp_path, Player(), patience=0.05) for saver in savers)
    other.thread.name = "dinner"
    async with one.turn():
        await other.take_turn("one")
    assert await questions(one) == []


async def test_a_database_that_is_gone_is_named(
    savers: list[AsyncPostgresSaver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: Any, **__: Any) -> Any:
        raise psycopg.OperationalError("connection refused\n\tIs the server running?")

    talk = conversation(savers[0], tmp_path, Player())
    monkeypatch.setattr(psycopg.AsyncConnection, "connect", refused)
    with pytest.raises(StorageError, match=r"cannot be reached \(connection refused Is the server running"):
        await talk.take_turn("one")


@asynccontextmanager
async def talking(method: str, library: Path, postgres: str) -> AsyncIterator[Conversation]:
    found = flow(method)
    context = found.context(**run_settings(library, whole_cast()))
    async with (
        AsyncPostgresSaver.from_conn_string(postgres) as saver,
        AsyncPostgresStore.from_conn_string(postgres) as store,
    ):
        yield Conversation(found.builder, saver, context, "tea", store=store)


@pytest.mark.sample(4)
@pytest.mark.parametrize("method", METHODS)
async def test_what_one_machine_began_another_goes_on_with(postgres: str, method: str, tmp_path: Path) -> None:
    whole_role(tmp_path)
    for number in range(2):
        async with talking(method, tmp_path, postgres) as talk:
            await talk.take_turn(f"Question {number}?")
            assert await questions(talk) == [f"Question {one}?" for one in range(number + 1)]


async def test_a_name_with_a_character_that_no_database_takes_is_remembered(postgres: str, tmp_path: Path) -> None:
    whole_role(tmp_path)
    async with talking("emotional-rag", tmp_path, postgres) as talk:
        output = await talk.take_turn(HumanMessage("Do storms make you afraid?", name="T\0om"))
        assert "remember_error" not in output["evidence"]
        assert talk.store
        (memory,) = await ConversationMemories(talk.store, "ada", "tea").all()
        assert memory.speaker == "Tom"
