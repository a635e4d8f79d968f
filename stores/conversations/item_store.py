"""A LangGraph store in one sqlite file: JSON under a namespace and a key, wholly written or not at all."""

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from dramaturg.stores.files import canonical, close_to_others
from dramaturg.stores.saver.file import JOURNAL, PATIENCE, SYNCHRONOUS, transaction, translated
from dramaturg.stores.saver.rows import Unreadable
from dramaturg.stores.saver.schema import damaged

APPLICATION = 0x44524D53  # "DRMS"
VERSION = 1


# Every label of a namespace ends with a point, which no label may hold: "a.b." lies between "a." and "a/".
TABLE = (
    "CREATE TABLE items (number INTEGER PRIMARY KEY, namespace TEXT NOT NULL, key TEXT NOT NULL, "
    "created REAL NOT NULL, updated REAL NOT NULL, value BLOB NOT NULL, UNIQUE (namespace, key)) STRICT"
)
GET = "SELECT namespace, key, created, updated, value FROM items WHERE namespace = ? AND key = ?"
AFTER_ALL = b""  # a blob comes after every text
SEARCH = (
    "SELECT namespace, key, created, updated, value FROM items WHERE namespace >= ? AND namespace < ? "
    "ORDER BY namespace, key LIMIT ? OFFSET ?"
)
STAMPS = "SELECT key, updated FROM items WHERE namespace = ? AND key IN (SELECT value FROM json_each(?))"
# What is put again is later than before, whatever the clock says: a stamp tells whether it was.
PUT = (
    "INSERT INTO items (namespace, key, created, updated, value) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (namespace, key) DO UPDATE SET "
    "updated = max(excluded.updated, items.updated + 0.000001), value = excluded.value"
)


class StampsOp(NamedTuple):
    """Asks when items were put last."""

    namespace: tuple[str, ...]
    keys: tuple[str, ...]


Place = tuple[tuple[str, ...], str]  # a namespace and a key


class ItemStore(BaseStore):
    """Items that outlive a process; programs that share the file wait for each other.

    A batch is one transaction: its reads see what was there before its writes. The file is made by the first item that
    is put, and what is deleted is erased from it. There are no vectors, filters or times to live. Items are given in
    the order of their namespaces and keys. A value that is no JSON any more is given as an empty one: only who wrote it
    knows how to do without it.

    Every call may raise `DamagedConversations` when the file is not as it was written, and `StorageError` when the
    file system refuses or another program holds the file. There is nothing to close.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # One thread: what is asked for later is done later, also where the first to ask was cancelled meanwhile.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="items")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do some operations; see `BaseStore`.

        Raises:
            ValueError: a value is not plain JSON, a namespace has a label that none may have, or a search a filter.
        """
        return self._begun(ops).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do some operations; see `batch`."""
        return await asyncio.wrap_future(self._begun(ops))

    async def stamps(self, namespace: tuple[str, ...], keys: Sequence[str]) -> dict[str, float]:
        """Return when items were put last, in seconds, by their keys; their values are not looked at."""
        asked: Any = StampsOp(namespace, tuple(keys))
        (found,) = await asyncio.wrap_future(self._thread.submit(self._done, [asked], {}))
        return cast("dict[str, float]", found)

    def _begun(self, ops: Iterable[Op]) -> Future[list[Result]]:
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
            if isinstance(op, SearchOp) and op.filter:
                raise ValueError("This store has no filters: search without one, and choose among what it gives.")
        last = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        puts = {place: None if op.value is None else canonical(dict(op.value)) for place, op in last.items()}
        return self._thread.submit(self._done, asked, puts)

    def _done(self, ops: Sequence[Op], puts: Mapping[Place, bytes | None]) -> list[Result]:
        grows = any(value is not None for value in puts.values())
        with translated(self.path):
            if not grows and not self.path.exists():
                return [nothing(op) for op in ops]
            with (
                closing(connect(self.path)) as connection,
                transaction(connection, self.path, "IMMEDIATE" if puts else "DEFERRED"),
            ):
                if not has_table(connection, self.path):
                    if not grows:
                        return [nothing(op) for op in ops]
                    create_table(connection)
                results = [answer(connection, op) for op in ops]
                for (namespace, key), value in puts.items():
                    put(connection, namespace, key, value)
                return results


def has_table(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether anything was ever written to the file.

    Raises:
        DamagedConversations: it is of another program, or of a newer version.
    """
    application = _pragma(connection, "application_id")
    if application == 0 and connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None:
        return False
    if application != APPLICATION:
        raise damaged(path, "belongs to another program")
    if _pragma(connection, "user_version") != VERSION:
        raise damaged(path, "is of another version of dramaturg")
    return True


def create_table(connection: sqlite3.Connection) -> None:
    """Make the table and mark the file, in the transaction that is open."""
    connection.execute(TABLE)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def nothing(op: Any) -> Any:
    """The answer of an empty store."""
    if isinstance(op, StampsOp):
        return {}
    return [] if isinstance(op, SearchOp | ListNamespacesOp) else None


def answer(connection: sqlite3.Connection, op: Any) -> Any:
    """What an operation reads; nothing, if it writes."""
    if isinstance(op, StampsOp):
        rows = connection.execute(STAMPS, (joined(op.namespace), json.dumps(op.keys)))
        return dict(rows.fetchall())
    if isinstance(op, GetOp):
        row = connection.execute(GET, (joined(op.namespace), op.key)).fetchone()
        return Item(**fields(*row)) if row else None
    if isinstance(op, SearchOp):
        low = joined(op.namespace_prefix)
        high = f"{low[:-1]}/" if low else AFTER_ALL
        # All at once: a statement that an unreadable item left half read would keep the file locked on Python 3.13.
        found = connection.execute(SEARCH, (low, high, op.limit, op.offset)).fetchall()
        return [SearchItem(**fields(*row)) for row in found]
    return namespaces(connection, op) if isinstance(op, ListNamespacesOp) else None


def put(connection: sqlite3.Connection, namespace: tuple[str, ...], key: str, value: bytes | None) -> None:
    """Write an item, or, for None, delete it."""
    if value is None:
        connection.execute("DELETE FROM items WHERE namespace = ? AND key = ?", (joined(namespace), key))
    else:
        now = datetime.now(UTC).timestamp()
        connection.execute(PUT, (joined(namespace), key, now, now, value))


def namespaces(connection: sqlite3.Connection, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """The namespaces that have an item and fulfil all conditions, cut to a depth, in their order."""
    every = (split(text) for (text,) in connection.execute("SELECT DISTINCT namespace FROM items").fetchall())
    found = {one[: op.max_depth] for one in every if all(fits(one, wanted) for wanted in op.match_conditions or ())}
    return sorted(found)[op.offset : op.offset + op.limit]


def fits(namespace: tuple[str, ...], wanted: MatchCondition) -> bool:
    """Whether a namespace begins or ends with some labels; a star is any label."""
    path = wanted.path
    part = namespace[: len(path)] if wanted.match_type == "prefix" else namespace[max(len(namespace) - len(path), 0) :]
    return len(part) == len(path) and all(asked in ("*", label) for asked, label in zip(path, part, strict=True))


def fields(namespace: Any, key: Any, created: Any, updated: Any, value: Any) -> dict[str, Any]:
    """What an item is made of."""
    try:
        times = {"created_at": datetime.fromtimestamp(created, UTC), "updated_at": datetime.fromtimestamp(updated, UTC)}
        return {"namespace": split(namespace), "key": str(key), "value": read(value), **times}
    except (TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        raise Unreadable("holds an item that was changed") from error


def read(value: bytes) -> dict[str, Any]:
    """A value, empty if it is damaged."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def joined(namespace: tuple[str, ...]) -> str:
    """A namespace as it is written."""
    return "".join(f"{label}." for label in namespace)


def split(text: str) -> tuple[str, ...]:
    """A namespace as it was."""
    return tuple(text.split(".")[:-1])


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, empty if it is not there; it is its owner's alone."""
    close_to_others(path)
    if not path.exists():
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    uri = f"{path.absolute().as_uri()}?mode=rwc"
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        connection.execute(f"PRAGMA journal_mode = {JOURNAL}")
    except BaseException:
        connection.close()
        raise
    return connection
