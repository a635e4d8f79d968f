"""A conversation as its turns: what was said at each step of a branch, and where a message was said."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from dramaturg.stores.saver import entries as saver_entries
from dramaturg.stores.saver import rows as saver_rows
from dramaturg.stores.saver.rows import Line, Link, Unreadable, link_of
from dramaturg.stores.saver.serde import StrictSerializer, expanded

# CROSS JOIN keeps the order of the tables: each step is one look-up by key.
_CHAIN = (
    "WITH RECURSIVE chain (depth, step) AS (SELECT 0, ?1 UNION ALL SELECT depth + 1, checkpoints.parent "
    "FROM chain CROSS JOIN checkpoints ON checkpoints.key = chain.step "
    "WHERE checkpoints.parent IS NOT NULL AND depth < ?2) "
    "SELECT key, line, sequence, checkpoint_id, parent, message_keys, said, link "
    "FROM (SELECT depth, step FROM chain ORDER BY depth DESC LIMIT ?3) AS wanted "
    "LEFT JOIN checkpoints ON checkpoints.key = wanted.step ORDER BY depth DESC"
)
_ALL = (
    "SELECT key, line, sequence, checkpoint_id, parent, message_keys, said, link FROM checkpoints "
    "WHERE line = ? ORDER BY sequence DESC"
)
_SAID = (
    "SELECT checkpoints.key, checkpoints.line, checkpoints.sequence, checkpoints.checkpoint_id, checkpoints.parent, "
    "checkpoints.message_keys, checkpoints.said, checkpoints.link, messages.key FROM messages "
    "CROSS JOIN said ON said.message = messages.key CROSS JOIN checkpoints ON checkpoints.key = said.checkpoint "
    "WHERE messages.line = ? AND messages.message_id = ? ORDER BY checkpoints.sequence DESC"
)
_ENTRIES = "SELECT type, message FROM messages WHERE line = ?"

A_STEP = 8192  # bytes that a step takes beside its texts, roughly
Place = tuple[Link, str | None]  # of a checkpoint, and the id of its parent


@dataclass(frozen=True)
class Step:
    """A checkpoint of a branch, and the messages in it that its parent's window did not hold."""

    checkpoint_id: str
    parent_id: str | None
    said: tuple[BaseMessage, ...]


def steps(
    connection: sqlite3.Connection,
    serializer: StrictSerializer,
    thread_id: str,
    checkpoint_id: str | None,
    limit: int | None,
) -> list[Step]:
    """Return the chain of parents that ends in a checkpoint; see `ConversationSaver.asteps`."""
    line = saver_rows.line(connection, thread_id, "")
    last = None if line is None else _end(connection, line, checkpoint_id)
    if line is None or last is None:
        if checkpoint_id is not None:
            raise ValueError(f"The thread {thread_id!r} has no checkpoint {checkpoint_id!r}.")
        return []
    chain = _chain(connection, line, last, line.size if limit is None else limit)
    found = _steps(connection, serializer, line, chain)
    if limit is None:
        size = sum(A_STEP + sum(len(message.text) for message in step.said) for step in found)
        serializer.last_steps.keep(line.key, dict(zip(chain, found, strict=True)), size)
    return found


def beginning(connection: sqlite3.Connection, serializer: StrictSerializer, thread_id: str, count: int) -> list[Step]:
    """Return the first steps of the head's branch; see `ConversationSaver.abeginning`."""
    line = saver_rows.line(connection, thread_id, "")
    last = None if line is None else saver_rows.head(connection, line)
    if line is None or last is None:
        return []
    return _steps(connection, serializer, line, _chain(connection, line, last, line.size, first=count))


def all_steps(connection: sqlite3.Connection, serializer: StrictSerializer, thread_id: str) -> list[Step]:
    """Return every step of a thread, the newest first; see `ConversationSaver.aall_steps`."""
    line = saver_rows.line(connection, thread_id, "")
    if line is None:
        return []
    links = [link_of(row) for row in connection.execute(_ALL, (line.key,)).fetchall()]
    known = {link.key: link for link in links}
    parents = {link.key: known.get(link.parent) for link in links if link.parent is not None}
    if None in parents.values():
        raise Unreadable("lacks a checkpoint that another one continues")
    _require_ends({key: parent.key for key, parent in parents.items() if parent})
    spoken = saver_entries.load(connection, serializer, line.key, (key for link in links for key in link.new))
    before = {key: parent.checkpoint_id for key, parent in parents.items() if parent}
    return [Step(one.checkpoint_id, before.get(one.key), tuple(spoken[key] for key in one.new)) for one in links]


def _require_ends(parents: Mapping[int, int]) -> None:
    """Refuse what goes back without an end; the order of writing doesn't tell: a head may be of before its children."""
    ending = set[int]()
    for key in parents:
        chain, at = dict[int, None](), key
        while at in parents and at not in ending:
            if at in chain:
                raise Unreadable("holds a conversation that continues itself")
            chain[at] = None
            at = parents[at]
        ending.update(chain)


def said(connection: sqlite3.Connection, thread_id: str, message_id: str) -> list[str]:
    """Return the checkpoints that said a message, newest first; see `ConversationSaver.asaid`."""
    line = saver_rows.line(connection, thread_id, "")
    if line is None:
        return []
    found = []
    for *row, message in connection.execute(_SAID, (line.key, message_id)).fetchall():
        link = link_of(row)
        if message not in link.new or link.line != line.key:
            raise Unreadable("holds a message in a checkpoint that did not say it")
        found.append(link.checkpoint_id)
    return list(dict.fromkeys(found))


def may_hold(connection: sqlite3.Connection, thread_id: str, words: Sequence[str]) -> bool:
    """Tell whether words may stand in a thread; see `ConversationSaver.amay_hold`.

    A text stands in the bytes of its message as it is, and no byte of it belongs to what is not UTF-8 around it.
    """
    line, left = saver_rows.line(connection, thread_id, ""), {*words}
    for kind, data in connection.execute(_ENTRIES, (line.key,)).fetchall() if line else ():
        try:
            held = expanded(kind, data)[1].decode(errors="replace").casefold()
        except ValueError as error:
            raise Unreadable("holds a value that cannot be loaded") from error
        left = {word for word in left if word not in held}
        if not left:
            break
    return not left


def threads(connection: sqlite3.Connection) -> list[str]:
    """Return the threads that have a checkpoint, that of the newest write first."""
    newest: dict[str, int] = {}
    for line in saver_rows.lines(connection, None):
        head = saver_rows.head(connection, line)
        if head is not None:
            newest[line.thread_id] = max(head.sequence, newest.get(line.thread_id, 0))
    return sorted(newest, key=lambda thread: -newest[thread])


def _end(connection: sqlite3.Connection, line: Line, checkpoint_id: str | None) -> Link | None:
    if checkpoint_id is None:
        return saver_rows.head(connection, line)
    return saver_rows.find(connection, line, checkpoint_id)


def _steps(
    connection: sqlite3.Connection, serializer: StrictSerializer, line: Line, chain: Sequence[Place]
) -> list[Step]:
    """Return steps; those of the branch that was read last are known by their links, and not read again."""
    known: dict[Place, Step] = serializer.last_steps.of(line.key) or {}
    new = [key for place in chain if place not in known for key in place[0].new]
    spoken = saver_entries.load(connection, serializer, line.key, new) if new else {}
    return [
        known.get((link, parent)) or Step(link.checkpoint_id, parent, tuple(spoken[key] for key in link.new))
        for link, parent in chain
    ]


def _chain(connection: sqlite3.Connection, line: Line, last: Link, count: int, first: int | None = None) -> list[Place]:
    """Return up to `count` links, oldest first, each with its parent's id; of those, no more than the `first`."""
    if count < 1:
        return []
    chain: list[Place] = []
    before: Link | None = None
    for row in connection.execute(_CHAIN, (last.key, count, -1 if first is None else first)).fetchall():
        if row[0] is None:
            raise Unreadable("lacks a checkpoint that another one continues")
        link = link_of(row)
        if link.line != line.key:
            raise Unreadable("continues another conversation's checkpoint")
        chain.append((link, None if before is None else before.checkpoint_id))
        before = link
    # The chain ends in a checkpoint without a parent: one that does not has gone through more than there are.
    if len(chain) > line.size or (first and chain[0][0].parent is not None):
        raise Unreadable("holds a conversation that continues itself")
    return chain[-count:]
