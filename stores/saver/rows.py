"""The rows of a file of conversations: each is verified when it is read, and sealed when it is written."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain
from typing import Any

from dramaturg.stores.errors import DamagedConversations
from dramaturg.stores.saver.serde import StrictSerializer

VERSION = 2  # of a file whose checkpoints name entries of other channels than messages; else it is 1
_LONGEST = 1_000_000  # entries of one channel
MESSAGES = "messages"  # the channel of what was said
Value = str | bytes | int | None


class Unreadable(DamagedConversations):
    """A row is not what was written; the file's name is added where it is known."""


@dataclass(frozen=True)
class Line:
    """One namespace of a thread: its newest checkpoint (None before the first) and how many it has."""

    key: int
    thread_id: str
    checkpoint_ns: str
    head: int | None
    size: int


@dataclass(frozen=True)
class Link:
    """A checkpoint's place: its parent, the entries that it names by channel, and what was said in it.

    `message_keys` are the keys of its messages where it names no other entries, as up to format 1; None: the state
    holds all there is.
    """

    key: int
    line: int
    sequence: int
    checkpoint_id: str
    parent: int | None
    message_keys: str | None
    said: str

    @property
    def channels(self) -> dict[str, list[int]]:
        """The keys of the entries of each channel that is not in the state, in order."""
        return channels_in(self.message_keys)

    @property
    def window(self) -> list[int]:
        """The keys of the messages of the window, in order."""
        return self.channels.get(MESSAGES, [])

    @property
    def new(self) -> list[int]:
        """The keys of the messages that the parent's window did not hold, in order."""
        return _keys(_json(self.said))


LINK = "key, line, sequence, checkpoint_id, parent, message_keys, said, link"


def checksum(*values: Value) -> bytes:
    """Return the 8 bytes that tell whether the values of a row are what was written.

    They find accidents; what a forger may do is bounded by the serializer.
    """
    parts = []
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        parts.append(b"%b %d %b" % (type(value).__name__.encode(), len(data), data))
    return blake2b(b"".join(parts), digest_size=8).digest()


def require(seal: bytes, *values: Value) -> None:
    """Compare a row with its checksum."""
    if seal != checksum(*values):
        raise Unreadable("holds a row that is not what was written")


def revive(serializer: StrictSerializer, kind: str, data: bytes) -> Any:
    """Return a stored value.

    Raises:
        Unreadable: the bytes are no value that the serializer wrote, or name what may not be loaded.
    """
    try:
        return serializer.loads_typed((kind, data))
    except (ValueError, TypeError, LookupError, AttributeError, ImportError, ArithmeticError, RuntimeError) as error:
        raise Unreadable("holds a value that cannot be loaded") from error


def revive_metadata(text: str) -> dict[str, Any]:
    """Return the metadata of a checkpoint."""
    found = _json(text)
    if not isinstance(found, dict):
        raise Unreadable("holds a checkpoint without metadata")
    return found


def channels_in(text: str | None) -> dict[str, list[int]]:
    """Return the keys that `as_channels` wrote."""
    if text is None:
        return {}
    found = _json(text)
    named = found if isinstance(found, dict) else {MESSAGES: found}
    return {channel: _keys(runs) for channel, runs in named.items()}


def _keys(runs: Any) -> list[int]:
    try:
        ranges = [range(first, last + 1) for first, last in runs]
        if sum(map(len, ranges)) <= _LONGEST:
            return [*chain.from_iterable(ranges)]
    except (TypeError, ValueError, OverflowError) as error:
        raise Unreadable("holds a checkpoint without its messages") from error
    raise Unreadable("holds a checkpoint with too many messages")


def as_keys(keys: Iterable[int]) -> str:
    """Return the text of a list of keys: the first and last of each run, for a window is one run most of the time."""
    return json.dumps(_runs(keys), separators=(",", ":"))


def as_channels(channels: Mapping[str, Sequence[int]]) -> str | None:
    """Return the `message_keys` of a link."""
    if channels.keys() <= {MESSAGES}:
        return as_keys(channels[MESSAGES]) if channels else None
    return json.dumps({channel: _runs(keys) for channel, keys in channels.items()}, separators=(",", ":"))


def _runs(keys: Iterable[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for key in keys:
        if runs and key == runs[-1][1] + 1:
            runs[-1][1] = key
        else:
            runs.append([key, key])
    return runs


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable("holds a text that is no JSON") from error


def as_json(values: Iterable[object]) -> str:
    """Return the text of a list, which sqlite can read too."""
    return json.dumps(list(values), separators=(",", ":"))


def link_of(row: Sequence[object]) -> Link:
    """Return the link of a row of the columns `LINK`."""
    *values, seal = row
    require(seal, *values)  # type: ignore[arg-type]
    return Link(*values)  # type: ignore[arg-type]


def links(connection: sqlite3.Connection, where: str, values: Iterable[Value]) -> list[Link]:
    """Return the verified links that a condition names."""
    # All at once: a cursor that an error leaves half read would keep the file locked for as long as the error lives.
    # The condition is a text of this package; what comes from outside is bound.
    rows = connection.execute(f"SELECT {LINK} FROM checkpoints WHERE {where}", tuple(values)).fetchall()  # noqa: S608
    return [link_of(row) for row in rows]


def link(connection: sqlite3.Connection, key: int) -> Link:
    """Return the link that another row points to."""
    found = links(connection, "key = ?", (key,))
    if found:
        return found[0]
    raise Unreadable("lacks a checkpoint that another row points to")


def find(connection: sqlite3.Connection, line: Line, checkpoint_id: str) -> Link | None:
    """Return the link with an id, or None."""
    return next(iter(links(connection, "line = ? AND checkpoint_id = ?", (line.key, checkpoint_id))), None)


def head(connection: sqlite3.Connection, line: Line) -> Link | None:
    """Return the newest checkpoint of a line, or None before the first."""
    if line.head is None:
        return None
    found = link(connection, line.head)
    if found.line != line.key:
        raise Unreadable("points to another conversation's checkpoint")
    return found


def lines(connection: sqlite3.Connection, thread_id: str | None, checkpoint_ns: str | None = None) -> list[Line]:
    """Return the lines of a thread, or one of them, or all there are."""
    wanted = {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns}
    named = {column: value for column, value in wanted.items() if value is not None}
    where = " AND ".join(f"{column} = :{column}" for column in named) or "TRUE"
    rows = connection.execute(
        f"SELECT key, thread_id, checkpoint_ns, head, size, checksum FROM lines WHERE {where} ORDER BY key",  # noqa: S608
        named,
    ).fetchall()
    found = []
    for *values, seal in rows:
        require(seal, *values)
        found.append(Line(*values))
    return found


def line(connection: sqlite3.Connection, thread_id: str, checkpoint_ns: str) -> Line | None:
    """Return the line of a namespace, or None before anything was put there."""
    return next(iter(lines(connection, thread_id, checkpoint_ns)), None)


def ensure_line(connection: sqlite3.Connection, thread_id: str, checkpoint_ns: str) -> Line:
    """Return the line of a namespace, which is made if it is not there."""
    found = line(connection, thread_id, checkpoint_ns)
    if found is None:
        found = Line(_next(connection, "lines", "key"), thread_id, checkpoint_ns, None, 0)
        save_line(connection, found)
    return found


def save_line(connection: sqlite3.Connection, line: Line) -> None:
    """Write a line, over what it was."""
    values = (line.key, line.thread_id, line.checkpoint_ns, line.head, line.size)
    connection.execute("INSERT OR REPLACE INTO lines VALUES (?, ?, ?, ?, ?, ?)", (*values, checksum(*values)))


def save_link(connection: sqlite3.Connection, link: Link) -> None:
    """Write the link of a checkpoint that is there, and the relation of what was said in it."""
    values = _values(link)
    (old,) = links(connection, "key = ?", (link.key,))
    connection.execute(
        "UPDATE checkpoints SET sequence = ?, parent = ?, message_keys = ?, said = ?, link = ? WHERE key = ?",
        (link.sequence, link.parent, link.message_keys, link.said, checksum(*values), link.key),
    )
    save_said(connection, old.key, old.new, present=False)
    save_said(connection, link.key, link.new, present=True)


def save_said(connection: sqlite3.Connection, checkpoint: int, messages: Iterable[int], *, present: bool) -> None:
    """Write or remove the rows of what was said in a checkpoint."""
    change = "INSERT INTO said VALUES (?, ?)" if present else "DELETE FROM said WHERE message = ? AND checkpoint = ?"
    connection.executemany(change, [(message, checkpoint) for message in messages])


def insert(connection: sqlite3.Connection, link: Link, metadata: str, kind: str, blob: bytes) -> None:
    """Write a new checkpoint."""
    values = _values(link)
    seals = (checksum(*values), checksum(link.key, link.checkpoint_id, metadata, kind, blob))
    connection.execute(
        "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*values, *seals, metadata, kind, blob)
    )
    save_said(connection, link.key, link.new, present=True)


def content(connection: sqlite3.Connection, link: Link) -> tuple[str, str, bytes]:
    """Return the metadata, the kind and the bytes of a checkpoint."""
    row = connection.execute(
        "SELECT metadata, type, checkpoint, checksum FROM checkpoints WHERE key = ?", (link.key,)
    ).fetchone()
    *values, seal = row
    require(seal, link.key, link.checkpoint_id, *values)
    metadata, kind, blob = values
    return metadata, kind, blob


def next_key(connection: sqlite3.Connection) -> int:
    """Return a key that no checkpoint has."""
    return _next(connection, "checkpoints", "key")


def make_head(connection: sqlite3.Connection, line: Line, key: int) -> None:
    """Make a checkpoint that is there the newest of its line."""
    newest = replace(link(connection, key), sequence=next_sequence(connection))
    save_link(connection, newest)
    save_line(connection, replace(line, head=key))


def next_sequence(connection: sqlite3.Connection) -> int:
    """Return the number of the next write: it grows with every one, whatever the clock says."""
    return _next(connection, "checkpoints", "sequence")


def _values(link: Link) -> tuple[Value, ...]:
    return (link.key, link.line, link.sequence, link.checkpoint_id, link.parent, link.message_keys, link.said)


def _next(connection: sqlite3.Connection, table: str, column: str) -> int:
    (last,) = connection.execute(f"SELECT ifnull(max({column}), 0) FROM {table}").fetchone()  # noqa: S608
    return int(last) + 1
