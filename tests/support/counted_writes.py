"""What counts as a write: every change to the file system or to a database, in every thread of a process."""

import builtins
import errno
import io
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Condition, get_ident
from typing import IO, Any, Literal, TypeVar
from unittest.mock import patch

KILLED = 77  # exit code of a process that died where it was told to
CHANGES = (
    *("replace", "rename", "unlink", "remove", "rmdir", "mkdir", "link", "symlink"),
    *("write", "pwrite", "truncate", "ftruncate", "sendfile"),
)
AT_REST = 15.0  # seconds that others are given to finish; who needs longer waits for a lock, and does not write
T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """What happens at one of the writes, counted from 1; at 0 nothing does."""

    at: int = 0
    what: Literal["before", "fail"] = "before"
    error: int = errno.ENOSPC


class Writes:
    """Counts writes, and at one of them ends the process or refuses; before each, `look` may look at the disk.

    While it looks no other thread is in the midst of a write.
    """

    def __init__(self, plan: Plan, look: Callable[[], None] | None = None) -> None:
        self.names: list[str] = []
        self._plan, self._look = plan, look
        self._turn = Condition()
        self._writing: list[int] = []

    def step(self, name: str, act: Callable[[], T], refusal: Callable[[int], Exception] | None = None) -> T:
        """Do one write, as planned."""
        with self._turn:
            self.names.append(name)
            planned = self._plan.what if len(self.names) == self._plan.at else ""
            if self._look:
                self._turn.wait_for(lambda: {*self._writing} <= {get_ident()}, AT_REST)
                self._look()
            self._writing.append(get_ident())
        try:
            if planned == "before":
                os._exit(KILLED)
            if planned == "fail":
                raise (refusal or _os_error)(self._plan.error)
            return act()
        finally:
            with self._turn:
                self._writing.remove(get_ident())
                self._turn.notify_all()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count what is done inside.

        Nothing waits for the disk: a process that dies takes nothing with it that the system was given.
        """
        patches = [patch.object(os, name, self._changing(name)) for name in CHANGES if hasattr(os, name)]
        patches += [patch.object(module, "open", self._opening(io.open)) for module in (io, builtins)]
        patches += [
            patch.object(os, name, self._flushing(name)) for name in ("fsync", "fdatasync") if hasattr(os, name)
        ]
        patches += [patch.object(os, "open", self._descriptor(os.open))]
        patches += [
            patch.object(one, "connect", self._connecting(sqlite3.connect)) for one in (sqlite3, sqlite3.dbapi2)
        ]
        patches += self._of_postgres() if "psycopg" in sys.modules else []
        for one in patches:
            one.start()
        try:
            yield
        finally:
            for one in reversed(patches):
                one.stop()

    def _of_postgres(self) -> list[Any]:
        """Statements, and ends of transactions; refused as by a full disk, or with the connection cut."""
        import psycopg

        def counted(original: Callable[..., Any]) -> Callable[..., Any]:
            def statement(cursor: Any, query: Any, *given: Any, **named: Any) -> Any:
                verb = str(query.decode() if isinstance(query, bytes) else query).split(maxsplit=1)[0].lower()
                refusal = partial(_postgres_error, cursor.connection)
                act = partial(original, cursor, query, *given, **named)
                return act() if verb == "set" else self.step(f"sql {verb}", act, refusal)

            return statement

        def ended(transaction: Any, kind: Any, *rest: Any) -> Any:
            act = partial(end, transaction, kind, *rest)
            return act() if kind else self.step("commit", act, partial(_postgres_error, transaction.connection))

        end = psycopg.Transaction.__exit__
        names = ("execute", "executemany")
        found = [patch.object(psycopg.Cursor, name, counted(getattr(psycopg.Cursor, name))) for name in names]
        return [*found, patch.object(psycopg.Transaction, "__exit__", ended)]

    def _changing(self, name: str) -> Callable[..., Any]:
        original = getattr(os, name)
        return lambda *given, **named: self.step(name, partial(original, *given, **named))

    def _flushing(self, name: str) -> Callable[[int], None]:
        return lambda descriptor: self.step(name, partial(os.fstat, descriptor)) and None

    def _descriptor(self, original: Callable[..., int]) -> Callable[..., int]:
        def opened(path: Any, flags: int, *given: Any, **named: Any) -> int:
            act = partial(original, path, flags, *given, **named)
            return self.step("open", act) if flags & (os.O_CREAT | os.O_TRUNC) else act()

        return opened

    def _opening(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def opened(file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
            act = partial(original, file, mode, *given, **named)
            return CountedFile(self.step("open", act), self) if set(mode) & set("wxa+") else act()

        return opened

    def _connecting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def connected(*given: Any, factory: type[sqlite3.Connection] = sqlite3.Connection, **named: Any) -> Any:
            if given[:1] == (":memory:",):  # no disk, that could be full or keep a part of it
                return original(*given, factory=factory, **named)
            kind = type("CountedConnection", (_Connection, factory), {"writes": self})
            return self.step("connect", partial(original, *given, factory=kind, **named), _sql_error)

        return connected


class CountedFile:
    """An open file that is written in halves, so that a torn file is among the ends that are tried."""

    def __init__(self, file: IO[Any], writes: Writes) -> None:
        self._file, self._writes = file, writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "CountedFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)

    def write(self, data: Any) -> int:
        half = len(data) // 2
        parts = (data[:half], data[half:]) if half else (data,)
        return sum(self._writes.step("write", partial(self._put, part)) for part in parts)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def truncate(self, size: int | None = None) -> int:
        return self._writes.step("truncate", partial(self._file.truncate, size))

    def _put(self, part: Any) -> int:
        written = self._file.write(part)
        self._file.flush()
        return written


class _Connection:
    """Mixed into the class of a connection: all its statements go through cursors that count."""

    writes: Writes

    def cursor(self, factory: type[sqlite3.Cursor] = sqlite3.Cursor) -> Any:
        kind = type("CountedCursor", (_Cursor, factory), {"writes": self.writes})
        return super().cursor(kind)  # type: ignore[misc]

    def execute(self, *given: Any) -> Any:
        return self.cursor().execute(*given)

    def executemany(self, *given: Any) -> Any:
        return self.cursor().executemany(*given)

    def executescript(self, *given: Any) -> Any:
        return self.cursor().executescript(*given)

    def commit(self) -> None:
        # Outside a transaction there is nothing to write.
        act = super().commit  # type: ignore[misc]
        self.writes.step("commit", act, _sql_error) if self.in_transaction else act()  # type: ignore[attr-defined]

    def __exit__(self, kind: object, *_: object) -> bool:
        self.commit() if kind is None else self.rollback()  # type: ignore[attr-defined]
        return False


class _Cursor:
    writes: Writes

    def execute(self, sql: str, *given: Any) -> Any:
        return self._step(sql, partial(super().execute, sql, *given))  # type: ignore[misc]

    def executemany(self, sql: str, *given: Any) -> Any:
        return self._step(sql, partial(super().executemany, sql, *given))  # type: ignore[misc]

    def executescript(self, sql: str) -> Any:
        return self._step("script", partial(super().executescript, sql))  # type: ignore[misc]

    def _step(self, sql: str, act: Callable[[], Any]) -> Any:
        verb = sql.split(maxsplit=1)[0].lower() if sql.strip() else ""
        return act() if verb in ("select", "explain", "") else self.writes.step(f"sql {verb}", act, _sql_error)


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _sql_error(number: int) -> sqlite3.Error:
    full = number == errno.ENOSPC
    error = sqlite3.OperationalError("database or disk is full" if full else "disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL if full else sqlite3.SQLITE_IOERR
    return error


def _postgres_error(connection: Any, number: int) -> Exception:
    import psycopg

    if number == errno.ENOSPC:
        return psycopg.errors.DiskFull("no space left on device")
    connection.pgconn.finish()
    return psycopg.OperationalError("server closed the connection unexpectedly")
