"""Parts of conversations that go or are copied; what stays is always whole."""

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import replace

from dramaturg.stores.saver import checkpoints as saver_checkpoints
from dramaturg.stores.saver import entries as saver_entries
from dramaturg.stores.saver import rows as saver_rows
from dramaturg.stores.saver.checkpoints import load, new_in
from dramaturg.stores.saver.rows import MESSAGES, Line, Link, as_channels, as_json, as_keys
from dramaturg.stores.saver.serde import StrictSerializer

_DESCENDANTS = (
    "key IN (WITH RECURSIVE gone (step) AS (SELECT ? UNION SELECT checkpoints.key FROM gone "
    "CROSS JOIN checkpoints ON checkpoints.parent = gone.step) SELECT step FROM gone)"
)
_DURING = (  # what sub-graphs wrote in the steps that led to the root's checkpoints, or went on from them
    "line = ?1 AND (EXISTS (SELECT 1 FROM json_each(?2) AS span WHERE sequence > json_extract(span.value, '$[0]') "
    "AND sequence < json_extract(span.value, '$[1]')) OR EXISTS (SELECT 1 FROM json_each(metadata, '$.parents') AS "
    "above, json_each(?3) AS gone WHERE above.value = gone.value))"
)


def erase(connection: sqlite3.Connection, thread_id: str, checkpoint_id: str) -> None:
    """Remove a checkpoint and all that followed from it; see `ConversationSaver.aerase`."""
    lines = saver_rows.lines(connection, thread_id)
    root = next((line for line in lines if line.checkpoint_ns == ""), None)
    link = None if root is None else saver_rows.find(connection, root, checkpoint_id)
    if root is None or link is None:
        raise ValueError(f"The thread {thread_id!r} has no checkpoint {checkpoint_id!r}.")
    gone = saver_rows.links(connection, _DESCENDANTS, (link.key,))
    spans = [[_before(connection, root, one), one.sequence] for one in gone]
    for line in lines:
        if line.key != root.key:
            ids = as_json(one.checkpoint_id for one in gone)
            remove(connection, line, saver_rows.links(connection, _DURING, (line.key, as_json(spans), ids)))
    remove(connection, root, gone)


def delete_for_runs(connection: sqlite3.Connection, run_ids: Iterable[str]) -> None:
    """Remove what some runs wrote; what others wrote after it continues what was there before."""
    where = "json_extract(metadata, '$.run_id') IN (SELECT value FROM json_each(?))"
    gone = saver_rows.links(connection, where, (as_json(run_ids),))
    for line in saver_rows.lines(connection, None):
        remove(connection, line, [link for link in gone if link.line == line.key])


def delete_thread(connection: sqlite3.Connection, thread_id: str) -> None:
    """Remove a conversation and all that its sub-graphs kept."""
    for line in saver_rows.lines(connection, thread_id):
        connection.execute(
            "DELETE FROM said WHERE checkpoint IN (SELECT key FROM checkpoints WHERE line = ?)", (line.key,)
        )
        for table in ("checkpoints", "messages", "writes"):
            connection.execute(f"DELETE FROM {table} WHERE line = ?", (line.key,))  # noqa: S608
        connection.execute("DELETE FROM lines WHERE key = ?", (line.key,))


def keep_latest(connection: sqlite3.Connection, serializer: StrictSerializer, thread_id: str) -> None:
    """Remove all but the head of each namespace, and what the head's delta channels are rebuilt from."""
    for line in saver_rows.lines(connection, thread_id):
        head = saver_rows.head(connection, line)
        if head is not None:
            kept = _needed(connection, serializer, line, head)
            every = saver_rows.links(connection, "line = ?", (line.key,))
            remove(connection, line, [link for link in every if link.key not in kept])


def copy_thread(connection: sqlite3.Connection, source: str, target: str) -> None:
    """Copy a conversation with all its branches, in their order.

    Raises:
        ValueError: the target is there already.
    """
    if saver_rows.lines(connection, target):
        raise ValueError(f"The thread {target!r} is there already: copy to a new one.")
    for line in saver_rows.lines(connection, source):
        copied = saver_rows.ensure_line(connection, target, line.checkpoint_ns)
        entries = saver_entries.copy(connection, line, copied)
        keys = _copy_checkpoints(connection, line, copied, entries)
        saver_checkpoints.copy_writes(connection, line, copied)
        head = None if line.head is None else keys[line.head]
        saver_rows.save_line(connection, replace(copied, head=head, size=line.size))


def remove(connection: sqlite3.Connection, line: Line, gone: Collection[Link]) -> None:
    """Remove checkpoints of a line, their writes, and the messages and other entries that no other checkpoint names.

    A checkpoint that continued a removed one continues the nearest one before it that stays, and so does the head.
    """
    if not gone:
        return
    parents = {link.key: link.parent for link in gone}
    where = "line = ? AND parent IN (SELECT value FROM json_each(?))"
    orphans = [o for o in saver_rows.links(connection, where, (line.key, as_json(parents))) if o.key not in parents]
    for orphan in orphans:
        parent = _staying(orphan.parent, parents)
        said = orphan.said if MESSAGES not in orphan.channels else as_keys(new_in(connection, orphan.window, parent))
        saver_rows.save_link(connection, replace(orphan, parent=parent, said=said))
    for link in gone:
        saver_rows.save_said(connection, link.key, link.new, present=False)
        connection.execute("DELETE FROM checkpoints WHERE key = ?", (link.key,))
    saver_checkpoints.remove_writes(connection, line, (link.checkpoint_id for link in gone))
    saver_entries.remove_unnamed(connection, line)
    _move_head(connection, replace(line, size=line.size - len(gone)), parents)


def _move_head(connection: sqlite3.Connection, line: Line, parents: dict[int, int | None]) -> None:
    if line.size == 0:
        connection.execute("DELETE FROM lines WHERE key = ?", (line.key,))
        connection.execute("DELETE FROM writes WHERE line = ?", (line.key,))
    elif line.head in parents:
        head = _staying(line.head, parents)
        if head is None:
            (newest,) = saver_rows.links(connection, "line = ? ORDER BY sequence DESC LIMIT 1", (line.key,))
            head = newest.key
        saver_rows.make_head(connection, line, head)
    else:
        saver_rows.save_line(connection, line)


def _staying(key: int | None, parents: dict[int, int | None]) -> int | None:
    """Follow the parents to one that is not removed."""
    while key in parents:
        key = parents[key]
    return key


def _before(connection: sqlite3.Connection, line: Line, link: Link) -> int:
    """Return the sequence number of the checkpoint that was written before one in the same line."""
    row = connection.execute(
        "SELECT ifnull(max(sequence), 0) FROM checkpoints WHERE line = ? AND sequence < ?", (line.key, link.sequence)
    ).fetchone()
    return int(row[0])


def _needed(connection: sqlite3.Connection, serializer: StrictSerializer, line: Line, link: Link) -> set[int]:
    """Return a checkpoint's key and those of its ancestors back to the last snapshot of each delta channel."""
    kept = {link.key}
    found = load(connection, serializer, line, link)
    unseen = set(found.metadata.get("counters_since_delta_snapshot") or {}) - set(found.checkpoint["channel_values"])
    while unseen and link.parent is not None:
        link = saver_rows.link(connection, link.parent)
        kept.add(link.key)
        unseen -= set(load(connection, serializer, line, link).checkpoint["channel_values"])
    return kept


def _copy_checkpoints(
    connection: sqlite3.Connection, source: Line, target: Line, entries: dict[int, int]
) -> dict[int, int]:
    links = saver_rows.links(connection, "line = ? ORDER BY sequence", (source.key,))
    first = saver_rows.next_key(connection)
    keys = {link.key: first + index for index, link in enumerate(links)}
    for link in links:
        copied = replace(
            link,
            key=keys[link.key],
            line=target.key,
            sequence=saver_rows.next_sequence(connection),
            parent=None if link.parent is None else keys[link.parent],
            message_keys=as_channels({name: [entries[key] for key in keys] for name, keys in link.channels.items()}),
            said=as_keys(entries[key] for key in link.new),
        )
        saver_rows.insert(connection, copied, *saver_rows.content(connection, link))
    return keys
