"""How checkpoints and pending writes become rows and come back: what LangGraph puts is what LangGraph gets."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, Checkpoint, CheckpointTuple, PendingWrite, writes_sort_key

from dramaturg.stores.saver import entries as saver_entries
from dramaturg.stores.saver import rows as saver_rows
from dramaturg.stores.saver.config import Place, at
from dramaturg.stores.saver.entries import Entry
from dramaturg.stores.saver.rows import (
    MESSAGES,
    VERSION,
    Line,
    Link,
    Unreadable,
    as_channels,
    as_keys,
    checksum,
    require,
    revive,
)
from dramaturg.stores.saver.serde import LastRead, StrictSerializer, Verified

Write = tuple[int, str, str, bytes]  # index, channel, kind, bytes
_COLUMNS = "line, checkpoint_id, task_id, idx, task_path, channel, type, value"


@dataclass(frozen=True)
class Packed:
    """A checkpoint as it will be stored, and apart from it the entries of its channels."""

    checkpoint_id: str
    channels: dict[str, list[Entry]]
    metadata: str
    kind: str
    data: bytes


def pack_writes(serializer: StrictSerializer, writes: Sequence[tuple[str, Any]]) -> list[Write]:
    """Return the writes of a task as rows; an error or an interrupt has its fixed index, so that it is kept once."""
    return [
        (WRITES_IDX_MAP.get(channel, index), channel, *serializer.dumps_typed(value))
        for index, (channel, value) in enumerate(writes)
    ]


def save_writes(
    connection: sqlite3.Connection, line: Line, checkpoint_id: str, task_id: str, task_path: str, writes: list[Write]
) -> None:
    """Write what a task wrote; ordinary writes that are there already stay, special ones are replaced."""
    special = all(channel in WRITES_IDX_MAP for _, channel, _, _ in writes)
    for index, channel, kind, value in writes:
        row = (line.key, checkpoint_id, task_id, index, task_path, channel, kind, value)
        _insert_write(connection, row, "REPLACE" if special else "IGNORE")


def load_writes(
    connection: sqlite3.Connection, serializer: StrictSerializer, line: int, checkpoint_id: str
) -> list[PendingWrite]:
    """Return the writes of a checkpoint in the order in which a step applies them."""
    rows = _write_rows(connection, "line = ? AND checkpoint_id = ?", (line, checkpoint_id))
    ordered = sorted(rows, key=lambda row: writes_sort_key(row[4], row[2], row[3]))
    return [(row[2], row[5], revive(serializer, row[6], row[7])) for row in ordered]


def rewrite_writes(
    connection: sqlite3.Connection,
    serializer: StrictSerializer,
    line: Line,
    checkpoint_id: str,
    new: Callable[[Any], Any],
) -> None:
    """Put other values in the place of the writes of a checkpoint."""
    for *row, kind, data in _write_rows(connection, "line = ? AND checkpoint_id = ?", (line.key, checkpoint_id)):
        packed = serializer.dumps_typed(new(revive(serializer, kind, data)))
        if packed != (kind, data):
            _insert_write(connection, (*row, *packed), "REPLACE")


def copy_writes(connection: sqlite3.Connection, source: Line, target: Line) -> None:
    """Copy the writes of a line to another."""
    for row in _write_rows(connection, "line = ?", (source.key,)):
        _insert_write(connection, (target.key, *row[1:]), "REPLACE")


def remove_writes(connection: sqlite3.Connection, line: Line, checkpoint_ids: Iterable[str]) -> None:
    """Remove the writes of checkpoints."""
    connection.executemany(
        "DELETE FROM writes WHERE line = ? AND checkpoint_id = ?", [(line.key, one) for one in checkpoint_ids]
    )


def _write_rows(connection: sqlite3.Connection, where: str, values: Sequence[str | int]) -> list[tuple[Any, ...]]:
    # The condition is a text of this module; what comes from outside is bound.
    rows = connection.execute(f"SELECT {_COLUMNS}, checksum FROM writes WHERE {where}", values).fetchall()  # noqa: S608
    for *row, seal in rows:
        require(seal, *row)
    return [tuple(row[:-1]) for row in rows]


def _insert_write(connection: sqlite3.Connection, row: tuple[Any, ...], otherwise: str) -> None:
    connection.execute(
        f"INSERT OR {otherwise} INTO writes ({_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (*row, checksum(*row)),
    )


def pack(serializer: StrictSerializer, checkpoint: Checkpoint, checkpoint_ns: str, metadata: str) -> Packed:
    """Serialize a checkpoint, in the caller's thread: the graph may change its values afterwards.

    Raises:
        ValueError: it holds what could not be read back.
    """
    values: Mapping[str, Any] = checkpoint["channel_values"]
    channels = saver_entries.taken_apart(serializer, values) if checkpoint_ns == "" else {}
    if channels:
        rest = {name: value for name, value in values.items() if name not in channels}
        checkpoint = {**checkpoint, "channel_values": rest}
    return Packed(checkpoint["id"], channels, metadata, *serializer.dumps_typed(checkpoint))


def put(connection: sqlite3.Connection, place: Place, packed: Packed, last: LastRead[Verified] | None = None) -> None:
    """Write a checkpoint and make it the head; one with the same id is replaced and keeps its parent.

    Args:
        connection: of the file.
        place: of the checkpoint that it continues.
        packed: the checkpoint.
        last: the entries that were read last, which are not looked for again; see `entries.store`.

    Raises:
        ValueError: the checkpoint that it continues is not there.
    """
    line = saver_rows.ensure_line(connection, place.thread_id, place.checkpoint_ns)
    old = saver_rows.find(connection, line, packed.checkpoint_id)
    parent = _parent(connection, line, place, packed) if old is None else old.parent
    channels = {name: saver_entries.store(connection, line, one, last) for name, one in packed.channels.items()}
    window = channels.get(MESSAGES)
    link = Link(
        saver_rows.next_key(connection) if old is None else old.key,
        line.key,
        saver_rows.next_sequence(connection),
        packed.checkpoint_id,
        parent,
        as_channels(channels),
        as_keys(new_in(connection, window, parent)),
    )
    if old is not None:
        saver_rows.save_said(connection, old.key, old.new, present=False)
        connection.execute("DELETE FROM checkpoints WHERE key = ?", (old.key,))
    if channels.keys() - {MESSAGES}:
        connection.execute(f"PRAGMA user_version = {VERSION}")
    saver_rows.insert(connection, link, packed.metadata, packed.kind, packed.data)
    saver_rows.save_line(connection, replace(line, head=link.key, size=line.size + (old is None)))


def new_in(connection: sqlite3.Connection, window: Sequence[int] | None, parent: int | None) -> list[int]:
    """Return the messages of a window that the parent's window does not hold, each once."""
    before = set() if parent is None else set(saver_rows.link(connection, parent).window)
    return [key for key in dict.fromkeys(window or ()) if key not in before]


def load(connection: sqlite3.Connection, serializer: StrictSerializer, line: Line, link: Link) -> CheckpointTuple:
    """Return a checkpoint with its metadata, its parent and its pending writes."""
    metadata, kind, blob = saver_rows.content(connection, link)
    checkpoint = saver_rows.revive(serializer, kind, blob)
    if not isinstance(checkpoint, dict) or checkpoint.get("id") != link.checkpoint_id:
        raise Unreadable("holds a checkpoint that is none")
    channels = link.channels
    entries = saver_entries.load(
        connection, serializer, line.key, chain.from_iterable(channels.values()), serializer.last_read
    )
    for name, keys in channels.items():
        checkpoint["channel_values"][name] = [entries[key] for key in keys]
    parent = None if link.parent is None else saver_rows.link(connection, link.parent).checkpoint_id
    return CheckpointTuple(
        at(line.thread_id, line.checkpoint_ns, link.checkpoint_id),
        checkpoint,  # type: ignore[arg-type]
        saver_rows.revive_metadata(metadata),  # type: ignore[arg-type]
        None if parent is None else at(line.thread_id, line.checkpoint_ns, parent),
        load_writes(connection, serializer, line.key, link.checkpoint_id),
    )


def get(connection: sqlite3.Connection, serializer: StrictSerializer, place: Place) -> CheckpointTuple | None:
    """Return the checkpoint that a configuration means, or None."""
    line = saver_rows.line(connection, place.thread_id, place.checkpoint_ns)
    if line is None:
        return None
    wanted = place.checkpoint_id
    link = saver_rows.head(connection, line) if wanted is None else saver_rows.find(connection, line, wanted)
    return None if link is None else load(connection, serializer, line, link)


def _parent(connection: sqlite3.Connection, line: Line, place: Place, packed: Packed) -> int | None:
    if place.checkpoint_id in (None, packed.checkpoint_id):
        return None
    found = saver_rows.find(connection, line, place.checkpoint_id)
    if found is None and place.checkpoint_ns == "":
        raise ValueError(f"The thread {place.thread_id!r} has no checkpoint {place.checkpoint_id!r} to continue.")
    return None if found is None else found.key
