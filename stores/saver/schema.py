"""The tables of a file of conversations, how such a file is known, and how one of LangGraph's saver becomes one."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from dramaturg.stores.errors import DamagedConversations
from dramaturg.stores.saver import checkpoints as saver_checkpoints
from dramaturg.stores.saver import rows as saver_rows
from dramaturg.stores.saver.checkpoints import new_in, pack, put
from dramaturg.stores.saver.config import OWN_METADATA, Place
from dramaturg.stores.saver.rows import VERSION, Unreadable, as_keys
from dramaturg.stores.saver.serde import StrictSerializer

APPLICATION = 0x44524D54  # "DRMT"
FIRST_VERSION = 1
PAGE = 4096  # bytes


# A line is one namespace of a thread: its own conversation, or what a sub-graph of it keeps.
TABLES = (
    "CREATE TABLE lines (key INTEGER PRIMARY KEY, thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL, "
    "head INTEGER, size INTEGER NOT NULL, checksum BLOB NOT NULL, UNIQUE (thread_id, checkpoint_ns)) STRICT",
    "CREATE TABLE checkpoints (key INTEGER PRIMARY KEY, line INTEGER NOT NULL, sequence INTEGER NOT NULL UNIQUE, "
    "checkpoint_id TEXT NOT NULL, parent INTEGER, message_keys TEXT, said TEXT NOT NULL, link BLOB NOT NULL, "
    "checksum BLOB NOT NULL, metadata TEXT NOT NULL, type TEXT NOT NULL, checkpoint BLOB NOT NULL, "
    "UNIQUE (line, checkpoint_id)) STRICT",
    "CREATE TABLE messages (key INTEGER PRIMARY KEY, line INTEGER NOT NULL, message_id TEXT NOT NULL, "
    "hash BLOB NOT NULL, checksum BLOB NOT NULL, type TEXT NOT NULL, message BLOB NOT NULL, "
    "UNIQUE (line, message_id, hash)) STRICT",
    "CREATE TABLE said (message INTEGER NOT NULL, checkpoint INTEGER NOT NULL, "
    "PRIMARY KEY (message, checkpoint)) STRICT, WITHOUT ROWID",
    "CREATE TABLE writes (line INTEGER NOT NULL, checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, "
    "idx INTEGER NOT NULL, task_path TEXT NOT NULL, channel TEXT NOT NULL, checksum BLOB NOT NULL, "
    "type TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (line, checkpoint_id, task_id, idx)) STRICT",
    "CREATE INDEX order_of_line ON checkpoints (line, sequence)",
    "CREATE INDEX children ON checkpoints (parent)",
)
_LOST = (  # each finds what only a lost or forged row can leave behind
    "SELECT 1 FROM lines LEFT JOIN (SELECT line, count(*) AS size, max(sequence) AS newest FROM checkpoints "
    "GROUP BY line) AS found ON found.line = lines.key LEFT JOIN checkpoints AS last ON last.key = lines.head "
    "WHERE lines.size != ifnull(found.size, 0) OR last.sequence IS NOT found.newest OR "
    "(lines.head IS NOT NULL AND last.line IS NOT lines.key)",
    "SELECT 1 FROM checkpoints WHERE line NOT IN (SELECT key FROM lines)",
    "SELECT 1 FROM checkpoints WHERE parent NOT IN (SELECT key FROM checkpoints)",
    "SELECT 1 WHERE (SELECT count(*) FROM said) != (SELECT ifnull(sum(json_extract(run.value, '$[1]') - "
    "json_extract(run.value, '$[0]') + 1), 0) FROM checkpoints, json_each(checkpoints.said) AS run)",
)
_STOCK = {"checkpoints", "writes"}


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables and mark the file, in the transaction that is open."""
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FIRST_VERSION}")


def empty_database() -> bytes:
    """Return the bytes of a file of conversations without any."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute(f"PRAGMA page_size = {PAGE}")
        create_tables(connection)
        return bytes(connection.serialize())
    finally:
        connection.close()


def mark(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the application id and the version that the file carries."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def require_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Check what rows cannot tell about themselves: the tables, the pages, the indexes, and that no row is missing.

    Raises:
        DamagedConversations: the file is of another program, of a newer version, or damaged.
    """
    application, version = mark(connection)
    if application != APPLICATION:
        raise damaged(path, "belongs to another program")
    if version > VERSION:
        raise DamagedConversations(
            f"{path} was written by a newer version of dramaturg (format {version}): update dramaturg, or move it "
            "away to begin anew; nothing was changed in it."
        )
    tables = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    if version < FIRST_VERSION or {sql for (sql,) in tables} != set(TABLES):
        raise damaged(path, "has other tables than were written")
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise damaged(path, "is damaged")
    if any(connection.execute(query).fetchone() for query in _LOST):
        raise damaged(path, "lacks rows that were written")


def damaged(path: Path, what: str) -> DamagedConversations:
    """Return the error for a file that may not be used."""
    return DamagedConversations(
        f"{path} {what}: put a copy of it from before in its place, or move it away to begin anew; "
        "nothing was changed in it."
    )


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
        checkpoint = saver_rows.revive(serializer, kind, blob)
        if not isinstance(checkpoint, dict) or checkpoint.get("id") != checkpoint_id:
            raise Unreadable("holds a checkpoint that is none")
        packed = pack(serializer, checkpoint, checkpoint_ns, _own(metadata))  # type: ignore[arg-type]
        put(connection, Place(thread_id, checkpoint_ns, None), packed)


def _own(metadata: bytes | None) -> str:
    """Leave out what came from `configurable`: it may be a secret, and nothing tells it apart."""
    given: dict[str, Any] = saver_rows.revive_metadata(bytes(metadata or b"{}").decode("utf-8", "replace"))
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
        packed = serializer.dumps_typed(saver_rows.revive(serializer, kind, value))
        saver_checkpoints.save_writes(connection, line, checkpoint_id, task_id, task_path, [(index, channel, *packed)])
