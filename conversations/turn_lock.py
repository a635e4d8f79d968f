"""One turn at a time on a thread: across tasks and threads, and across processes that share a folder."""

import asyncio
import hashlib
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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


@asynccontextmanager
async def turn_lock(
    saver: BaseCheckpointSaver[Any], thread: str, folder: Path | None, patience: float
) -> AsyncIterator[None]:
    """Hold a thread for one turn.

    Args:
        saver: where the thread is kept.
        thread: its name.
        folder: where its lock file lies; None: only this process uses the saver.
        patience: seconds to wait for a turn of somebody else.

    Raises:
        ThreadBusy: the other turn took longer.
        StorageError: the lock file cannot be written.
    """
    attempt, release = in_files(thread, folder) if folder else in_process(saver, thread)
    until = time.monotonic() + patience
    # Attempts that do not block, and not a wait in a thread: a turn that is cancelled meanwhile leaves no lock behind.
    while not attempt():
        if time.monotonic() >= until:
            msg = f"The conversation {thread!r} is in use elsewhere: wait for that reply, or take another thread."
            raise ThreadBusy(msg)
        await asyncio.sleep(POLL)
    try:
        yield
    finally:
        release()


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
