"""One turn at a time on a thread: across tasks, processes that share a folder, and machines that share a database."""

import asyncio
import hashlib
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from langgraph.checkpoint.base import BaseCheckpointSaver

from dramaturg.stores.errors import StorageError
from dramaturg.stores.files import close_to_others

POLL = 0.01  # seconds; an attempt takes microseconds

_locks: weakref.WeakKeyDictionary[BaseCheckpointSaver[Any], dict[str, threading.Lock]] = weakref.WeakKeyDictionary()


class ThreadBusy(RuntimeError):
    """Another turn on this thread took longer than one was ready to wait."""


def turn_lock(
    saver: BaseCheckpointSaver[Any], thread: str, folder: Path | None, patience: float
) -> AbstractAsyncContextManager[None]:
    """Hold a thread for one turn; what is locked ends with its holder, also where that is killed.

    Args:
        saver: where the thread is kept. With LangGraph's saver for Postgres the lock is in its database, and holds
            across machines.
        thread: its name.
        folder: where its lock file lies; None: only this process uses the saver. Not used with Postgres.
        patience: seconds to wait for a turn of somebody else.

    Raises:
        ThreadBusy: the other turn took longer.
        StorageError: the lock file cannot be written, or the database cannot be reached.
    """
    aio = sys.modules.get("langgraph.checkpoint.postgres.aio")  # not imported for those who have no such saver
    if aio and isinstance(saver, aio.AsyncPostgresSaver):
        return in_database(saver.conn, thread, patience)
    return by_attempts(*(in_files(thread, folder) if folder else in_process(saver, thread)), thread, patience)


@asynccontextmanager
async def by_attempts(
    attempt: Callable[[], bool], release: Callable[[], None], thread: str, patience: float
) -> AsyncIterator[None]:
    """Hold a lock that is tried again and again.

    Attempts do not block, and nothing waits in a thread: a turn that is cancelled meanwhile leaves no lock behind.
    """
    until = time.monotonic() + patience
    while not attempt():
        if time.monotonic() >= until:
            raise busy(thread)
        await asyncio.sleep(POLL)
    try:
        yield
    finally:
        release()


def busy(thread: str) -> ThreadBusy:
    """What to raise for a thread that somebody else holds."""
    return ThreadBusy(f"The conversation {thread!r} is in use elsewhere: wait for that reply, or take another thread.")


def in_process(saver: BaseCheckpointSaver[Any], thread: str) -> tuple[Callable[[], bool], Callable[[], None]]:
    """How a lock of this process is tried and released."""
    lock = _locks.setdefault(saver, {}).setdefault(thread, threading.Lock())
    return lambda: lock.acquire(blocking=False), lock.release


def lock_file(thread: str, folder: Path) -> Path:
    """The lock of a thread among others; its name is a digest, since a thread's may be no file's."""
    name = hashlib.sha256(thread.encode(errors="surrogatepass")).hexdigest()[:32]
    return folder / f"{name}.lock"


def in_files(thread: str, folder: Path) -> tuple[Callable[[], bool], Callable[[], None]]:
    """How a lock of a folder is tried and released; the system frees it when its process dies."""
    lock = FileLock(lock_file(thread, folder), blocking=False, thread_local=False, mode=0o600)

    def attempt() -> bool:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            close_to_others(folder)
            lock.acquire()
        except Timeout:
            return False
        except OSError as error:
            msg = f"{lock.lock_file} cannot be locked ({error.strerror}): give permission, or check the disk."
            raise StorageError(msg) from error
        return True

    return attempt, lock.release


@asynccontextmanager
async def in_database(conn: Any, thread: str, patience: float) -> AsyncIterator[None]:
    """Hold an advisory lock of a Postgres database, on a connection of its own.

    A connection of the saver's pool, held for a whole turn, would be missing to those who write.

    Args:
        conn: the connection or the pool of the saver.
        thread: the name of the thread.
        patience: seconds to wait.
    """
    from psycopg import AsyncConnection, OperationalError
    from psycopg.conninfo import make_conninfo
    from psycopg.errors import LockNotAvailable

    key = int.from_bytes(hashlib.sha256(b"turn\0" + thread.encode(errors="surrogatepass")).digest()[:8], signed=True)
    limits = {"lock_timeout": f"{max(1, round(patience * 1000))}ms", **KEEPALIVES}
    try:
        if isinstance(conn, AsyncConnection):
            info = conn.info
        else:
            async with conn.connection() as one:
                info = one.info
        lock = await AsyncConnection.connect(make_conninfo(info.dsn, password=info.password), autocommit=True)
    except OperationalError as error:
        raise unreachable(error) from error
    async with lock:
        try:
            settings = "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS one (name, value)"
            await lock.execute(settings, [[*limits], [*limits.values()]])
            await lock.execute("SELECT pg_advisory_lock(%s)", [key])
        except LockNotAvailable as error:
            raise busy(thread) from error
        except OperationalError as error:
            raise unreachable(error) from error
        yield


KEEPALIVES = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}
"""By which a server finds out, in about 20 seconds, that a machine which held a lock is gone."""


def unreachable(error: Exception) -> StorageError:
    """What to raise where the database is not there."""
    reason = " ".join(str(error).split())
    return StorageError(f"The database of the conversations cannot be reached ({reason}): look whether it runs.")
