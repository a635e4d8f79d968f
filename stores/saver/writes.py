"""What the tasks of an unfinished step have written already: LangGraph's pending writes."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, PendingWrite, writes_sort_key

from dramaturg.stores.saver.rows import Line
from dramaturg.stores.saver.serde import StrictSerializer
from dramaturg.stores.saver.values import checksum, require, revive

Write = tuple[int, str, str, bytes]  # index, channel, kind, bytes
_COLUMNS = "line, checkpoint_id, task_id, idx, task_path, channel, type, value"


def packed(serializer: StrictSerializer, writes: Sequence[tuple[str, Any]]) -> list[Write]:
    """Return the writes of a task as rows; an error or an interrupt has its fixed index, so that it is kept once."""
    return [
        (WRITES_IDX_MAP.get(channel, index), channel, *serializer.dumps_typed(value))
        for index, (channel, value) in enumerate(writes)
    ]


def save(
    connection: sqlite3.Connection, line: Line, checkpoint_id: str, task_id: str, task_path: str, writes: list[Write]
) -> None:
    """Write what a task wrote; ordinary writes that are there already stay, special ones are replaced."""
    special = all(channel in WRITES_IDX_MAP for _, channel, _, _ in writes)
    for index, channel, kind, value in writes:
        row = (line.key, checkpoint_id, task_id, index, task_path, channel, kind, value)
        _insert(connection, row, "REPLACE" if special else "IGNORE")


def load(
    connection: sqlite3.Connection, serializer: StrictSerializer, line: int, checkpoint_id: str
) -> list[PendingWrite]:
    """Return the writes of a checkpoint in the order in which a step applies them."""
    rows = _rows(connection, "line = ? AND checkpoint_id = ?", (line, checkpoint_id))
    ordered = sorted(rows, key=lambda row: writes_sort_key(row[4], row[2], row[3]))
    return [(row[2], row[5], revive(serializer, row[6], row[7])) for row in ordered]


def copy(connection: sqlite3.Connection, source: Line, target: Line) -> None:
    """Copy the writes of a line to another."""
    for row in _rows(connection, "line = ?", (source.key,)):
        _insert(connection, (target.key, *row[1:]), "REPLACE")


def remove(connection: sqlite3.Connection, line: Line, checkpoint_ids: Iterable[str]) -> None:
    """Remove the writes of checkpoints."""
    connection.executemany(
        "DELETE FROM writes WHERE line = ? AND checkpoint_id = ?", [(line.key, one) for one in checkpoint_ids]
    )


def _rows(connection: sqlite3.Connection, where: str, values: Sequence[str | int]) -> list[tuple[Any, ...]]:
    # The condition is a text of this module; what comes from outside is bound.
    rows = connection.execute(f"SELECT {_COLUMNS}, checksum FROM writes WHERE {where}", values).fetchall()  # noqa: S608
    for *row, seal in rows:
        require(seal, *row)
    return [tuple(row[:-1]) for row in rows]


def _insert(connection: sqlite3.Connection, row: tuple[Any, ...], otherwise: str) -> None:
    connection.execute(
        f"INSERT OR {otherwise} INTO writes ({_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (*row, checksum(*row)),
    )
