"""The one table of a file of items: what an operation of LangGraph's store interface reads and writes in it."""

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, Op, Result, SearchItem, SearchOp

from dramaturg.stores.saver.schema import damaged
from dramaturg.stores.saver.values import Unreadable

APPLICATION = 0x44524D53  # "DRMS"
VERSION = 1
# Every label of a namespace ends with a point, which no label may hold: "a.b." lies between "a." and "a/".
TABLE = (
    "CREATE TABLE items (number INTEGER PRIMARY KEY, namespace TEXT NOT NULL, key TEXT NOT NULL, "
    "created REAL NOT NULL, updated REAL NOT NULL, value BLOB NOT NULL, UNIQUE (namespace, key)) STRICT"
)
GET = "SELECT namespace, key, created, updated, value FROM items WHERE namespace = ? AND key = ?"
SEARCH = (
    "SELECT namespace, key, created, updated, value FROM items WHERE namespace >= ? AND (? = '' OR namespace < ?) "
    "ORDER BY namespace, key LIMIT ? OFFSET ?"
)
PUT = (
    "INSERT INTO items (namespace, key, created, updated, value) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (namespace, key) DO UPDATE SET updated = excluded.updated, value = excluded.value"
)


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


def nothing(op: Op) -> Result:
    """The answer of an empty store."""
    return [] if isinstance(op, SearchOp | ListNamespacesOp) else None


def answer(connection: sqlite3.Connection, op: Op) -> Result:
    """What an operation reads; nothing, if it writes."""
    if isinstance(op, GetOp):
        row = connection.execute(GET, (joined(op.namespace), op.key)).fetchone()
        return Item(**fields(*row)) if row else None
    if isinstance(op, SearchOp):
        low = joined(op.namespace_prefix)
        rows = connection.execute(SEARCH, (low, low, f"{low[:-1]}/", op.limit, op.offset))
        return [SearchItem(**fields(*row)) for row in rows]
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
    every = (split(text) for (text,) in connection.execute("SELECT DISTINCT namespace FROM items"))
    found = {one[: op.max_depth] for one in every if all(fits(one, wanted) for wanted in op.match_conditions or ())}
    return sorted(found)[op.offset : op.offset + op.limit]


def fits(namespace: tuple[str, ...], wanted: MatchCondition) -> bool:
    """Whether a namespace begins or ends with some labels; a star is any label."""
    path = wanted.path
    part = namespace[: len(path)] if wanted.match_type == "prefix" else namespace[max(len(namespace) - len(path), 0) :]
    return len(part) == len(path) and all(asked in ("*", label) for asked, label in zip(path, part, strict=True))


def fields(namespace: Any, key: Any, created: Any, updated: Any, value: Any) -> dict[str, Any]:
    """What an item is made of.

    Raises:
        Unreadable: the row is not as it was written.
    """
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
