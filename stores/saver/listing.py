"""Checkpoints of a conversation, newest first, a page at a time: nobody waits for a reader that is slow."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from dramaturg.stores.saver import rows as saver_rows
from dramaturg.stores.saver import values as saver_values
from dramaturg.stores.saver.checkpoints import load
from dramaturg.stores.saver.config import text, thread
from dramaturg.stores.saver.rows import Line, Link
from dramaturg.stores.saver.serde import StrictSerializer
from dramaturg.stores.saver.values import as_json

PAGE = 32  # checkpoints read in one transaction
_NEWEST = 2**63 - 1
Page = tuple[list[CheckpointTuple], int | None]  # and where the next begins; None: there is none


@dataclass(frozen=True)
class Listing:
    """Which checkpoints are asked for: of one thread or all, of one namespace or all, with these metadata."""

    thread_id: str | None = None
    checkpoint_ns: str | None = None
    checkpoint_id: str | None = None
    before: str | None = None
    filters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, config: RunnableConfig | None, filters: Mapping[str, Any] | None, before: RunnableConfig | None
    ) -> "Listing":
        """Read it from what LangGraph passes to `alist`.

        Raises:
            ValueError: a thread id that cannot be stored, or a `before` without a checkpoint.
        """
        wanted = {} if config is None else config.get("configurable") or {}
        earlier = None if before is None else before.get("configurable") or {}
        if earlier is not None and not earlier.get("checkpoint_id"):
            raise ValueError("`before` names no checkpoint: put a `checkpoint_id` into its `configurable`.")
        return cls(
            thread_id=None if config is None else thread(wanted.get("thread_id")),
            checkpoint_ns=wanted.get("checkpoint_ns"),
            checkpoint_id=wanted.get("checkpoint_id"),
            before=None if earlier is None else text(earlier["checkpoint_id"], "checkpoint_id"),
            filters=dict(filters or {}),
        )

    def page(self, connection: sqlite3.Connection, serializer: StrictSerializer, below: int | None, count: int) -> Page:
        """Return up to `count` checkpoints, and where the next page begins."""
        lines = {line.key: line for line in saver_rows.lines(connection, self.thread_id, self.checkpoint_ns)}
        found: list[CheckpointTuple] = []
        below = self._first(connection, lines) if below is None else below
        while links := self._links(connection, lines, below):
            for link in links:
                below = link.sequence
                if self._matches(connection, link):
                    found.append(load(connection, serializer, lines[link.line], link))
                if len(found) == count:
                    return found, below
        return found, None

    def _links(self, connection: sqlite3.Connection, lines: Mapping[int, Line], below: int) -> list[Link]:
        where = (
            "line IN (SELECT value FROM json_each(?)) AND sequence < ? AND checkpoint_id = ifnull(?, checkpoint_id) "
            "ORDER BY sequence DESC LIMIT ?"
        )
        return saver_rows.links(connection, where, (as_json(lines), below, self.checkpoint_id, PAGE))

    def _first(self, connection: sqlite3.Connection, lines: Mapping[int, Line]) -> int:
        if self.before is None:
            return _NEWEST
        for line in lines.values():
            link = saver_rows.find(connection, line, self.before)
            if link is not None:
                return link.sequence
        raise ValueError(f"There is no checkpoint {self.before!r} in this conversation to list those before it.")

    def _matches(self, connection: sqlite3.Connection, link: Link) -> bool:
        if not self.filters:
            return True
        metadata = saver_values.revive_metadata(saver_rows.content(connection, link)[0])
        return all(key in metadata and metadata[key] == value for key, value in self.filters.items())
