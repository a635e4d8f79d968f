"""The transcript: every message of a conversation is kept once, and checkpoints name those of their window."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from langchain_core.messages import BaseMessage

from dramaturg.stores.saver.rows import Line, Unreadable, as_json, checksum, keys_in, require, revive
from dramaturg.stores.saver.serde import StrictSerializer, compressed

CHANNEL = "messages"


@dataclass(frozen=True)
class Utterance:
    """A message as bytes: the same text under the same id is the same utterance."""

    message_id: str
    kind: str
    data: bytes

    @property
    def hash(self) -> bytes:
        """The 8 bytes that stand for its content beside its id."""
        return blake2b(self.kind.encode() + b" " + self.data, digest_size=8).digest()


def utterances(serializer: StrictSerializer, value: Any) -> list[Utterance] | None:
    """Return the messages of a channel's value, or None when it is anything but a list of messages with ids.

    Raises:
        ValueError: a message holds what could not be read back.
    """
    if not isinstance(value, list):
        return None
    found = []
    for message in value:
        if not isinstance(message, BaseMessage) or not isinstance(message.id, str) or not message.id:
            return None
        found.append(Utterance(message.id, *serializer.plain(message)))
    return found


def store(connection: sqlite3.Connection, line: Line, window: Sequence[Utterance]) -> list[int]:
    """Write those messages of a window that are not there yet; return the keys of all, in order."""
    return [_known(connection, line, one) or _store(connection, line, one) for one in window]


def load(
    connection: sqlite3.Connection, serializer: StrictSerializer, line: int, keys: Iterable[int]
) -> dict[int, BaseMessage]:
    """Return messages by their keys."""
    wanted = set(keys)
    rows = connection.execute(
        "SELECT key, line, message_id, hash, type, message, checksum FROM messages "
        "WHERE key IN (SELECT value FROM json_each(?))",
        (as_json(sorted(wanted)),),
    ).fetchall()
    found = {}
    for *values, seal in rows:
        require(seal, *values)
        message = revive(serializer, values[4], values[5])
        if not isinstance(message, BaseMessage) or values[1:3] != [line, message.id]:
            raise Unreadable("holds a message that is none")
        found[values[0]] = message
    if len(found) != len(wanted):
        raise Unreadable("lacks messages that a checkpoint names")
    return found


def copy(connection: sqlite3.Connection, source: Line, target: Line) -> dict[int, int]:
    """Copy the messages of a line to another; return the new keys by the old ones."""
    rows = connection.execute(
        "SELECT key, line, message_id, hash, type, message, checksum FROM messages WHERE line = ?", (source.key,)
    ).fetchall()
    keys = {}
    for *values, seal in rows:
        require(seal, *values)
        keys[values[0]] = _insert(connection, target, *values[2:])
    return keys


def remove_unsaid(connection: sqlite3.Connection, line: Line) -> None:
    """Remove the messages that no checkpoint of the line names any more."""
    named: set[int] = set()
    windows = connection.execute(
        "SELECT message_keys FROM checkpoints WHERE line = ? AND message_keys IS NOT NULL", (line.key,)
    ).fetchall()
    for (keys,) in windows:
        named.update(keys_in(keys))
    every = connection.execute("SELECT key FROM messages WHERE line = ?", (line.key,)).fetchall()
    connection.executemany("DELETE FROM messages WHERE key = ?", [row for row in every if row[0] not in named])


def _known(connection: sqlite3.Connection, line: Line, utterance: Utterance) -> int | None:
    row = connection.execute(
        "SELECT key FROM messages WHERE line = ? AND message_id = ? AND hash = ?",
        (line.key, utterance.message_id, utterance.hash),
    ).fetchone()
    return None if row is None else int(row[0])


def _store(connection: sqlite3.Connection, line: Line, utterance: Utterance) -> int:
    kind, data = compressed(utterance.kind, utterance.data)
    return _insert(connection, line, utterance.message_id, utterance.hash, kind, data)


def _insert(connection: sqlite3.Connection, line: Line, message_id: str, content: bytes, kind: str, data: bytes) -> int:
    (last,) = connection.execute("SELECT ifnull(max(key), 0) FROM messages").fetchone()
    values = (int(last) + 1, line.key, message_id, content, kind, data)
    connection.execute(
        "INSERT INTO messages (key, line, message_id, hash, type, message, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*values, checksum(*values)),
    )
    return values[0]
