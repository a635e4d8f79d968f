"""Rewriting the checkpoints of a thread: something in them is to be there no more, and the thread is to go on."""

import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.stores.saver import checkpoints as saver_checkpoints
from dramaturg.stores.saver import entries as saver_entries
from dramaturg.stores.saver import rows as saver_rows
from dramaturg.stores.saver.checkpoints import load, new_in, pack
from dramaturg.stores.saver.rows import MESSAGES, VERSION, Line, Link, as_channels, as_json, as_keys
from dramaturg.stores.saver.serde import StrictSerializer

K = TypeVar("K")
T = TypeVar("T")


class Rewriter(Protocol):
    """What is to become of checkpoints."""

    def values(self, saved: CheckpointTuple) -> dict[str, Any] | None:
        """The values that a checkpoint is to have; None: as they are. It is called for what it continues first."""

    def written(self, value: Any) -> Any:
        """What a pending write is to hold."""


def rewrite(connection: sqlite3.Connection, serializer: StrictSerializer, thread_id: str, new: Rewriter) -> int:
    """Rewrite the checkpoints of a thread in a file of ours; return how many were changed."""
    lines = {line.key: line for line in saver_rows.lines(connection, thread_id)}
    where = "line IN (SELECT value FROM json_each(?)) ORDER BY sequence DESC"
    links = {link.key: link for link in saver_rows.links(connection, where, (as_json(lines),))}
    changed = 0
    for link in parents_first(links, lambda one: one.parent):
        line = lines[link.line]
        saved = load(connection, serializer, line, link)
        if (values := new.values(saved)) is not None:
            changed += 1
            _replace(connection, serializer, line, link, {**saved.checkpoint, "channel_values": values})
        saver_checkpoints.rewrite_writes(connection, serializer, line, link.checkpoint_id, new.written)
    for line in lines.values():
        saver_entries.remove_unnamed(connection, line)
        serializer.last_read.drop(line.key)
        serializer.last_steps.drop(line.key)
    return changed


def _replace(
    connection: sqlite3.Connection, serializer: StrictSerializer, line: Line, link: Link, checkpoint: Any
) -> None:
    packed = pack(serializer, checkpoint, line.checkpoint_ns, saver_rows.content(connection, link)[0])
    channels = {name: saver_entries.store(connection, line, one) for name, one in packed.channels.items()}
    said = as_keys(new_in(connection, channels.get(MESSAGES), link.parent))
    saver_rows.save_said(connection, link.key, link.new, present=False)
    connection.execute("DELETE FROM checkpoints WHERE key = ?", (link.key,))
    if channels.keys() - {MESSAGES}:
        connection.execute(f"PRAGMA user_version = {VERSION}")
    written = replace(link, message_keys=as_channels(channels), said=said)
    saver_rows.insert(connection, written, packed.metadata, packed.kind, packed.data)


async def rewrite_elsewhere(saver: BaseCheckpointSaver[Any], thread: str, new: Rewriter) -> int:
    """Rewrite the checkpoints of a thread in memory or in a Postgres database; return how many were changed.

    In the database all is one transaction; what was there stays in its files until they are vacuumed.

    Raises:
        ValueError: the saver has no way to it.
    """
    saved = [one async for one in saver.alist({"configurable": {"thread_id": thread}})]
    aio = sys.modules.get("langgraph.checkpoint.postgres.aio")  # not imported for those who have no such saver
    if aio and isinstance(saver, aio.AsyncPostgresSaver):
        return await _in_database(saver, thread, saved, new)
    if isinstance(saver, InMemorySaver):
        return _in_memory(saver, thread, saved, new)
    raise ValueError(
        f"{type(saver).__name__} cannot take single things out of what it has kept: erase the whole conversation, or "
        "keep conversations with ConversationSaver."
    )


def _in_memory(saver: InMemorySaver, thread: str, saved: Iterable[CheckpointTuple], new: Rewriter) -> int:
    changed = 0
    for one, checkpoint in _rewritten(saved, new):
        changed += 1
        namespace = one.config["configurable"]["checkpoint_ns"]
        before = one.parent_config or {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
        saver.put(before, checkpoint, one.metadata, checkpoint["channel_versions"])
    for place, rows in saver.writes.items():
        if place[0] == thread:
            for key, (task, channel, value, path) in rows.items():
                written = new.written(saver.serde.loads_typed(value))
                rows[key] = (task, channel, saver.serde.dumps_typed(written), path)
    return changed


async def _in_database(saver: Any, thread: str, saved: Iterable[CheckpointTuple], new: Rewriter) -> int:
    from langgraph.checkpoint.postgres._ainternal import get_connection
    from psycopg.types.json import Jsonb

    changed = 0
    async with get_connection(saver.conn) as connection, connection.transaction(), connection.cursor() as cursor:
        for one, checkpoint in _rewritten(saved, new):
            changed += 1
            place = (thread, one.config["configurable"]["checkpoint_ns"])
            values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
            plain = {
                name: value for name, value in values.items() if value is None or isinstance(value, str | float | int)
            }
            blobs = {name: value for name, value in values.items() if name not in plain}
            for row in saver._dump_blobs(*place, blobs, {name: versions[name] for name in blobs if name in versions}):
                await cursor.execute(PUT_BLOB, row)
            gone = [(*place, name, version) for name, version in versions.items() if name not in blobs]
            await cursor.executemany(DROP_BLOB, gone)
            await cursor.execute(
                "UPDATE checkpoints SET checkpoint = %s WHERE thread_id = %s AND checkpoint_ns = %s "
                "AND checkpoint_id = %s",
                (Jsonb({**checkpoint, "channel_values": plain}), *place, checkpoint["id"]),
            )
        await cursor.execute(
            "SELECT checkpoint_ns, checkpoint_id, task_id, idx, type, blob FROM checkpoint_writes WHERE thread_id = %s",
            [thread],
        )
        for row in await cursor.fetchall():
            old = saver.serde.loads_typed((row["type"], row["blob"]))
            if (written := new.written(old)) != old:
                keys = (row["checkpoint_ns"], row["checkpoint_id"], row["task_id"], row["idx"])
                await cursor.execute(PUT_WRITE, (*saver.serde.dumps_typed(written), thread, *keys))
    return changed


PUT_BLOB = (
    "INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob) "
    "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (thread_id, checkpoint_ns, channel, version) "
    "DO UPDATE SET type = EXCLUDED.type, blob = EXCLUDED.blob"
)
DROP_BLOB = (
    "DELETE FROM checkpoint_blobs WHERE thread_id = %s AND checkpoint_ns = %s AND channel = %s AND version = %s::text"
)
PUT_WRITE = (
    "UPDATE checkpoint_writes SET type = %s, blob = %s WHERE thread_id = %s AND checkpoint_ns = %s "
    "AND checkpoint_id = %s AND task_id = %s AND idx = %s"
)


def _rewritten(saved: Iterable[CheckpointTuple], new: Rewriter) -> Iterator[tuple[CheckpointTuple, Checkpoint]]:
    """The checkpoints that change, as they were and as they are to be; what one continues comes before it."""

    def place(config: RunnableConfig | None) -> tuple[str, str] | None:
        own = config["configurable"] if config else {}
        return (own["checkpoint_ns"], own["checkpoint_id"]) if own else None

    every = {place(one.config): one for one in saved}
    for one in parents_first(every, lambda one: place(one.parent_config)):
        if (values := new.values(one)) is not None:
            yield one, {**one.checkpoint, "channel_values": values}


def parents_first(every: Mapping[K, T], parent: Callable[[T], K | None]) -> Iterator[T]:
    """All of a tree, given by their keys, the latest first: each after the one that it continues."""
    left = dict(every)
    while left:
        chain = list[T]()
        key: K | None = next(reversed(left))
        while (one := left.pop(key, None)) is not None:  # type: ignore[arg-type]  # None is the key of nothing
            chain.append(one)
            key = parent(one)
        yield from reversed(chain)
