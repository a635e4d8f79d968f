"""The tables of a file of conversations, and how one knows that a file is one."""

import sqlite3
from pathlib import Path

from dramaturg.stores.errors import DamagedConversations

APPLICATION = 0x44524D54  # "DRMT"
VERSION = 1
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


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables and mark the file, in the transaction that is open."""
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


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
    if version != VERSION or {sql for (sql,) in tables} != set(TABLES):
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
