"""One open file of conversations: one thread, one transaction at a time, and errors that say what to do."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dramaturg.stores.errors import StorageError
from dramaturg.stores.files import close_to_others, make_folder, write_bytes
from dramaturg.stores.locks import file_lock
from dramaturg.stores.saver.rows import Unreadable
from dramaturg.stores.saver.schema import damaged, empty_database, is_stock, migrate, require_whole
from dramaturg.stores.saver.serde import StrictSerializer

T = TypeVar("T")
# A rollback journal is gone when a turn is acknowledged. A log of a killed program (WAL) would hold acknowledged turns,
# and sqlite drops its damaged end without a word. EXTRA: the journal's removal, too, outlives a power cut.
JOURNAL = "DELETE"
SYNCHRONOUS = "EXTRA"
PATIENCE = 30.0  # seconds that one program waits for another's transaction
_REFUSALS = {  # sqlite's codes for what is wrong around the file, not in it
    sqlite3.SQLITE_PERM: "there is no permission",
    sqlite3.SQLITE_BUSY: "another program has held it too long",
    sqlite3.SQLITE_LOCKED: "another program has held it too long",
    sqlite3.SQLITE_NOMEM: "there is no memory",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_IOERR: "the disk refuses",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_TOOBIG: "a value is too large",
}


class ConversationFile:
    """A connection that only its own thread uses, so that each job is a whole transaction whoever waits for it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="conversations")
        self._connection: sqlite3.Connection | None = None

    def open(self) -> Future[None]:
        """Open the file, or create it; see `ConversationSaver.open`."""
        return self._thread.submit(self._open)

    def read(self, job: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run a job on one state of the file."""
        return self._thread.submit(self._run, "DEFERRED", job)

    def write(self, job: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run a job that changes the file, wholly or not at all."""
        return self._thread.submit(self._run, "IMMEDIATE", job)

    def close(self) -> Future[None]:
        """Close the file after the jobs that are waiting."""
        closing = self._thread.submit(self._close)
        self._thread.shutdown(wait=False)
        return closing

    def _open(self) -> None:
        close_to_others(self.path)
        _create(self.path)
        self._connection = connect(self.path)

    def _run(self, kind: str, job: Callable[[sqlite3.Connection], T]) -> T:
        if self._connection is None:
            raise RuntimeError(f"{self.path} is closed: use the saver inside `async with`.")
        with transaction(self._connection, self.path, kind):
            return job(self._connection)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def connect(path: Path) -> sqlite3.Connection:
    """Open a file that is there, check it, and bring it up to date."""
    with translated(path):
        if path.stat().st_size == 0:
            raise damaged(path, "is empty")
        uri = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path, kind: str) -> Iterator[None]:
    """Do all of a block or nothing of it."""
    with translated(path):
        try:
            connection.execute(f"BEGIN {kind}")
            yield
            connection.commit()
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.rollback()
            raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn sqlite's errors into the two that there are for users."""
    try:
        yield
    except Unreadable as error:
        raise damaged(path, str(error)) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the text of an error may be damaged, too
        reason = _REFUSALS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if reason is None:
            raise damaged(path, f"is damaged ({error})") from error
        raise StorageError(
            f"{path} cannot be used ({reason}): what was kept before still is; put that right and try again."
        ) from error
    except OSError as error:
        raise StorageError(
            f"{path} cannot be used ({error.strerror or error}): give permission, or check the disk."
        ) from error


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
    if is_stock(connection):
        connection.execute(f"PRAGMA journal_mode = {JOURNAL}")
        with transaction(connection, path, "IMMEDIATE"):
            migrate(connection, StrictSerializer())
    with transaction(connection, path, "DEFERRED"):
        require_whole(connection, path)
    connection.execute(f"PRAGMA journal_mode = {JOURNAL}")


def _create(path: Path) -> None:
    """Put an empty file in place, unless one is there."""
    if path.exists():
        return
    make_folder(path.parent, within=path.parent)
    busy = StorageError(f"{path} is being created by another program: try again when it is done.")
    with file_lock(path.parent / f".{path.name}.lock", patience=PATIENCE, busy=busy):
        if not path.exists():
            write_bytes(path, empty_database(), within=path.parent, private=True)
