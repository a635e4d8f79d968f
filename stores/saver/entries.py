"""What a conversation has many of: messages, and entries of long lists, are kept once; checkpoints name theirs."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from struct import pack
from typing import Any, NamedTuple

import ormsgpack
from langchain_core.messages import BaseMessage

from dramaturg.stores.saver.rows import MESSAGES, Line, Unreadable, as_json, channels_in, checksum, require, revive
from dramaturg.stores.saver.serde import LARGEST, LastRead, StrictSerializer, Verified, compressed, expanded

LONG = 4096  # bytes of a list of entries: a shorter one costs less whole, and changes whole at each turn
_COLUMNS = "key, line, message_id, hash, type, message, checksum"
_PLAIN = frozenset((str, int, float, bool, type(None)))
_TEXT = frozenset((str,))
_MAPPING = "mapping"  # the kind of an entry that is no message: msgpack of nothing but plain values


class Entry(NamedTuple):
    """A message, or a mapping with an id, as bytes: the same content under the same id is the same entry."""

    entry_id: str
    kind: str
    data: bytes

    @property
    def hash(self) -> bytes:
        """The 8 bytes that stand for its content beside its id."""
        return blake2b(self.kind.encode() + b" " + self.data, digest_size=8).digest()


def taken_apart(serializer: StrictSerializer, values: Mapping[str, Any]) -> dict[str, list[Entry]]:
    """Return the channels whose values are kept by entries: the messages, and long lists of plain mappings with ids.

    Raises:
        ValueError: a message holds what could not be read back.
    """
    found = {}
    for channel, value in values.items():
        if isinstance(value, list):
            entries = _messages(serializer, value) if channel == MESSAGES else _mappings(value)
            if entries is not None:
                found[channel] = entries
    return found


def store(
    connection: sqlite3.Connection, line: Line, entries: Sequence[Entry], last: LastRead[Verified] | None = None
) -> list[int]:
    """Write those entries that are not there yet; return the keys of all, in order.

    Args:
        connection: of the file.
        line: whose they are.
        entries: in their order.
        last: what `load` found last: an entry of the same bytes is not looked for if its row is still as it was.
    """
    before = (last and last.of(line.key)) or {}
    read = {Entry(entry_id, kind, data): row for row, (of, entry_id, kind, data) in before.items() if of == line.key}
    rows = {one: read[one] for one in entries if one in read}
    there = set(_rows(connection, "key, checksum", (key for key, _ in rows.values()))) if rows else set()
    known = {one: row[0] for one, row in rows.items() if row in there}
    others = {one: (one.entry_id, one.hash) for one in dict.fromkeys(entries) if one not in known}
    found, named = dict[tuple[str, bytes], int](), [*others.values()]
    for at in range(0, len(named), 250):  # bound one by one, since JSON in sqlite ends a text at a NUL
        some = named[at : at + 250]
        values = ", ".join(["(?, ?)"] * len(some))
        query = (
            f"SELECT message_id, hash, key FROM (VALUES {values}) AS named"  # noqa: S608
            " JOIN messages ON line = ? AND message_id = named.column1 AND hash = named.column2"
        )
        for entry_id, content, key in connection.execute(query, (*chain.from_iterable(some), line.key)):
            found[entry_id, content] = int(key)
    for one, name in others.items():
        if name not in found:
            found[name] = _insert(connection, line, *name, *compressed(one.kind, one.data))
        known[one] = found[name]
    return [known[one] for one in entries]


def load(
    connection: sqlite3.Connection,
    serializer: StrictSerializer,
    line: int,
    keys: Iterable[int],
    last: LastRead[Verified] | None = None,
) -> dict[int, Any]:
    """Return messages and other entries by their keys.

    Args:
        connection: of the file.
        serializer: what the messages were written by.
        line: whose they are.
        keys: which.
        last: what such calls found last, whose rows are not read again; this one's are kept there.
    """
    wanted = set(keys)
    sealed = _rows(connection, "key, checksum", wanted)
    if len(sealed) != len(wanted):
        raise Unreadable("lacks messages that a checkpoint names")
    before = (last and last.of(line)) or {}
    verified = {row: before[row] for row in sealed if row in before}
    for *values, seal in _rows(connection, _COLUMNS, (row[0] for row in sealed if row not in verified)):
        require(seal, *values)
        key, owner, entry_id, _, kind, data = values
        try:
            verified[key, seal] = (owner, entry_id, *expanded(kind, data))
        except ValueError as error:
            raise Unreadable("holds a value that cannot be loaded") from error
    if last is not None:
        last.keep(line, verified, sum(len(data) for *_, data in verified.values()))
    return _revived(serializer, line, verified)


def copy(connection: sqlite3.Connection, source: Line, target: Line) -> dict[int, int]:
    """Copy the entries of a line to another; return the new keys by the old ones."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM messages WHERE line = ?", (source.key,)).fetchall()  # noqa: S608
    keys = {}
    for *values, seal in rows:
        require(seal, *values)
        keys[values[0]] = _insert(connection, target, *values[2:])
    return keys


def remove_unnamed(connection: sqlite3.Connection, line: Line) -> None:
    """Remove the entries that no checkpoint of the line names any more."""
    named: set[int] = set()
    for (keys,) in connection.execute("SELECT message_keys FROM checkpoints WHERE line = ?", (line.key,)).fetchall():
        named.update(chain.from_iterable(channels_in(keys).values()))
    every = connection.execute("SELECT key FROM messages WHERE line = ?", (line.key,)).fetchall()
    connection.executemany("DELETE FROM messages WHERE key = ?", [row for row in every if row[0] not in named])


def _messages(serializer: StrictSerializer, value: list[Any]) -> list[Entry] | None:
    found = []
    for message in value:
        if not isinstance(message, BaseMessage) or not isinstance(message.id, str) or not message.id:
            return None
        found.append(Entry(message.id, *serializer.plain(message)))
    return found


def _mappings(value: list[Any]) -> list[Entry] | None:
    """Return the entries of a list; None: it is short, or holds anything that msgpack would not give back as it was."""
    found = []
    try:
        for one in value:
            if type(one) is not dict or type(one.get("id")) is not str or not one["id"] or not _is_plain(one):
                return None
            found.append(Entry(one["id"], _MAPPING, ormsgpack.packb(one)))
    except (ormsgpack.MsgpackEncodeError, RecursionError):  # no form for a number, half a surrogate pair, deep nesting
        return None
    return found if LONG <= sum(len(entry.data) for entry in found) <= LARGEST else None


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        if not _TEXT.issuperset(map(type, value)):
            return False
        value = value.values()
    elif type(value) is not list:
        return type(value) in _PLAIN
    return _PLAIN.issuperset(map(type, value)) or all(map(_is_plain, value))


def _rows(connection: sqlite3.Connection, columns: str, keys: Iterable[int]) -> list[Any]:
    where = "key IN (SELECT value FROM json_each(?))"
    return connection.execute(f"SELECT {columns} FROM messages WHERE {where}", (as_json(keys),)).fetchall()  # noqa: S608


def _revived(serializer: StrictSerializer, line: int, rows: Verified) -> dict[int, Any]:
    """Decode entries by their keys; messages all at once, for a call of the serializer takes longer than a message."""
    entries: dict[int, Any] = {}
    for wanted in {kind for _, _, kind, _ in rows.values()}:
        blobs = {key: data for (key, _), (_, _, kind, data) in rows.items() if kind == wanted}
        try:
            if wanted == _MAPPING:
                values = [ormsgpack.unpackb(data) for data in blobs.values()]
            else:
                values = revive(serializer, wanted, b"".join((b"\xdd", pack(">I", len(blobs)), *blobs.values())))
        except ormsgpack.MsgpackDecodeError as error:
            raise Unreadable("holds a value that cannot be loaded") from error
        if not isinstance(values, list) or len(values) != len(blobs):
            raise Unreadable("holds a message that is none")
        entries |= zip(blobs, values, strict=True)
    for (key, _), (owner, entry_id, *_) in rows.items():
        entry = entries[key]
        own_id = entry.get("id") if isinstance(entry, dict) else entry.id if isinstance(entry, BaseMessage) else None
        if (owner, entry_id) != (line, own_id):
            raise Unreadable("holds a message that is none")
    return entries


def _insert(connection: sqlite3.Connection, line: Line, entry_id: str, content: bytes, kind: str, data: bytes) -> int:
    (last,) = connection.execute("SELECT ifnull(max(key), 0) FROM messages").fetchone()
    values = (int(last) + 1, line.key, entry_id, content, kind, data)
    connection.execute(
        "INSERT INTO messages (key, line, message_id, hash, type, message, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*values, checksum(*values)),
    )
    return values[0]
