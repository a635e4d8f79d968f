"""Files that LangGraph's own sqlite saver wrote, as earlier releases did: they become files of conversations."""

import json
import sqlite3
from dataclasses import replace
from typing import Any

from dramaturg.stores.saver import rows as saver_rows
from dramaturg.stores.saver import values as saver_values
from dramaturg.stores.saver import writes as saver_writes
from dramaturg.stores.saver.checkpoints import new_in, pack, put
from dramaturg.stores.saver.config import OWN_METADATA, Place
from dramaturg.stores.saver.schema import create_tables, mark
from dramaturg.stores.saver.serde import StrictSerializer
from dramaturg.stores.saver.values import Unreadable, as_keys

_STOCK = {"checkpoints", "writes"}


def is_stock(connection: sqlite3.Connection) -> bool:
    """Return whether a file is one of LangGraph's sqlite saver."""
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    return mark(connection) == (0, 0) and {name for (name,) in rows} == _STOCK


def migrate(connection: sqlite3.Connection, serializer: StrictSerializer) -> None:
    """Bring a stock file into the present form, in the transaction that is open; its ids give the order.

    Raises:
        DamagedConversations: a row cannot be read; nothing is changed.
    """
    if not is_stock(connection):
        return  # another program did it while this one waited
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise Unreadable("is damaged")
    for table in _STOCK:
        connection.execute(f"ALTER TABLE {table} RENAME TO stock_{table}")
    create_tables(connection)
    _checkpoints(connection, serializer)
    _parents(connection)
    _writes(connection, serializer)
    for table in _STOCK:
        connection.execute(f"DROP TABLE stock_{table}")


def _checkpoints(connection: sqlite3.Connection, serializer: StrictSerializer) -> None:
    order = connection.execute("SELECT rowid FROM stock_checkpoints ORDER BY checkpoint_id").fetchall()
    for rowid in order:  # one at a time: such a file may be larger than the memory
        thread_id, checkpoint_ns, checkpoint_id, kind, blob, metadata = connection.execute(
            "SELECT thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata FROM stock_checkpoints "
            "WHERE rowid = ?",
            rowid,
        ).fetchone()
        checkpoint = saver_values.revive(serializer, kind, blob)
        if not isinstance(checkpoint, dict) or checkpoint.get("id") != checkpoint_id:
            raise Unreadable("holds a checkpoint that is none")
        packed = pack(serializer, checkpoint, checkpoint_ns, _own(metadata))  # type: ignore[arg-type]
        put(connection, Place(thread_id, checkpoint_ns, None), packed)


def _own(metadata: bytes | None) -> str:
    """Leave out what came from `configurable`: it may be a secret, and nothing tells it apart."""
    given: dict[str, Any] = saver_values.revive_metadata(bytes(metadata or b"{}").decode("utf-8", "replace"))
    return json.dumps({key: value for key, value in given.items() if key in OWN_METADATA}, separators=(",", ":"))


def _parents(connection: sqlite3.Connection) -> None:
    """Tie checkpoints to their parents once all are there: by a clock that was put back, a parent may sort later."""
    rows = connection.execute(
        "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM stock_checkpoints "
        "WHERE parent_checkpoint_id IS NOT NULL"
    ).fetchall()
    for thread_id, checkpoint_ns, checkpoint_id, parent_id in rows:
        line = saver_rows.ensure_line(connection, thread_id, checkpoint_ns)
        link = saver_rows.find(connection, line, checkpoint_id)
        parent = saver_rows.find(connection, line, parent_id)
        if link is not None and parent is not None and parent.key != link.key:
            said = as_keys(new_in(connection, link.window, parent.key))
            saver_rows.save_link(connection, replace(link, parent=parent.key, said=said))


def _writes(connection: sqlite3.Connection, serializer: StrictSerializer) -> None:
    rows = connection.execute(
        "SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value "
        "FROM stock_writes"
    ).fetchall()
    for thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, index, channel, kind, value in rows:
        line = saver_rows.ensure_line(connection, thread_id, checkpoint_ns)
        packed = serializer.dumps_typed(saver_values.revive(serializer, kind, value))
        saver_writes.save(connection, line, checkpoint_id, task_id, task_path, [(index, channel, *packed)])
