"""What a turn takes beside the model, in counts: reads of the conversation, statements, the card, graphs."""

import asyncio
import typing
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from all_methods import whole_cast, whole_role
from langgraph.graph import StateGraph

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.stores import role as role_module
from dramaturg.stores.library import Library
from dramaturg.stores.saver.file import ConversationFile
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.workflows.methods import context_type

from roles import run_settings

TALKS = ("amadeus", "role-rag", "emotional-rag", "drmr", "id-rag")


@pytest.fixture(params=TALKS)
async def talk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Conversation]:
    """A conversation of each method whose window is full."""
    whole_role(tmp_path)
    kind: Any = context_type(request.param)
    context = kind(**run_settings(tmp_path, whole_cast()), window=4, summary_tokens=0)
    async with open_conversation(request.param, context, "tea") as talk:
        for number in range(3):
            await talk.take_turn(f"Who is Tom? ({number})")
        yield talk


@pytest.mark.sample(2)
async def test_a_turn_reads_its_conversation_three_times_and_writes_it_once(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Counter[str]()
    for kind in ("read", "write"):
        real = getattr(ConversationFile, kind)

        def counting(file: ConversationFile, job: Any, real: Any = real, kind: str = kind) -> Any:
            jobs[kind] += 1
            return real(file, job)

        monkeypatch.setattr(ConversationFile, kind, counting)
    await talk.take_turn("And Mary?")
    assert jobs == {"read": 3, "write": 1}


@pytest.mark.sample(2)
async def test_a_later_turn_takes_as_many_statements(talk: Conversation) -> None:
    saver: Any = talk.saver
    statements: list[str] = []
    saver._file._connection.set_trace_callback(statements.append)
    taken = []
    for number in range(6):
        statements.clear()
        await talk.take_turn(f"And Mary? ({number})")
        taken.append(len(statements))
    assert len(set(taken)) == 1


@pytest.mark.sample(2)
async def test_a_turn_goes_into_a_thread_where_something_may_block(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, real = list[str](), asyncio.to_thread

    async def counting(function: Any, *given: Any) -> Any:
        threads.append(getattr(function, "__qualname__", str(function)))
        return await real(function, *given)

    monkeypatch.setattr(asyncio, "to_thread", counting)
    await talk.take_turn("And Mary?")
    opening = {"Opened.role_and_chat", "Opened.embedder"}
    looking = {"current", "DialogueStore.ranked", "IndexBuilder.known_here", "formative_episodes", "Role.chronicle"}
    assert {*threads} <= opening | looking | {"recall_memories.<locals>.<lambda>"}
    assert len(threads) <= 6


@pytest.mark.parametrize(("method", "statements"), [("emotional-rag", 17), ("drmr", 13)])
async def test_a_turn_in_postgres_takes_so_many_statements_and_one_connection(
    method: str, statements: int, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_role(tmp_path / "roles")
    library = SharedLibrary(postgres, tmp_path / "cache")
    library.replace({"ada": Library(tmp_path / "roles").contents("ada")})
    kind: Any = context_type(method)
    context = kind(**run_settings(tmp_path, whole_cast()) | {"library": library}, window=4, summary_tokens=0)
    counts = Counter[str]()

    def counting(owner: Any, name: str, what: str) -> None:
        real = getattr(owner, name)

        def call(*given: Any, **named: Any) -> Any:
            counts[what] += 1
            return real(*given, **named)

        monkeypatch.setattr(owner, name, call)

    async with open_conversation(method, context, "tea") as talk:
        for number in range(3):
            await talk.take_turn(f"Who is Tom? ({number})")
        for owner in (psycopg.Cursor, psycopg.AsyncCursor):
            counting(owner, "execute", "statements")
            counting(owner, "executemany", "statements")
        for owner in (psycopg.Connection, psycopg.AsyncConnection):
            counting(owner, "connect", "connections")  # the lock of the turn
        await talk.take_turn("And Mary?")
    library.close()
    assert counts == {"statements": statements, "connections": 1}


@pytest.mark.sample(2)
async def test_a_turn_reads_the_role_s_card_once(talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    real, read = role_module.read_bytes, Counter[str]()

    def counting(path: Path, *given: Any, **named: Any) -> bytes:
        read[path.name] += 1
        return real(path, *given, **named)

    monkeypatch.setattr(role_module, "read_bytes", counting)
    await talk.take_turn("And Mary?")
    assert read["role.yaml"] == 1


@pytest.mark.sample(2)
async def test_a_turn_compiles_no_graph_and_looks_at_no_types(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    for owner, name in ((StateGraph, "compile"), (typing, "get_type_hints")):
        monkeypatch.setattr(owner, name, lambda *_, name=name, **__: made.append(name))
    await talk.take_turn("And Mary?")
    assert not made


@pytest.mark.sample(2)
async def test_the_next_turn_sees_a_card_that_was_changed(talk: Conversation) -> None:
    model: Any = talk.context.chat_model
    card = Path(str(talk.context.library)) / "ada" / "role.yaml"
    card.write_text(card.read_text().replace("Ada", "Adelaide"))
    asked = len(model.calls)
    await talk.take_turn("And Mary?")
    assert any("Adelaide" in call.text for call in model.calls[asked:])
