"""What each call of the saver does in the file's thread, once its arguments are checked and serialized."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple

from dramaturg.stores.saver import checkpoints as saver_checkpoints
from dramaturg.stores.saver import pruning as saver_pruning
from dramaturg.stores.saver import rows as saver_rows
from dramaturg.stores.saver.checkpoints import load
from dramaturg.stores.saver.config import Place, metadata_text, text, thread
from dramaturg.stores.saver.rows import Line, Link, as_json
from dramaturg.stores.saver.serde import StrictSerializer

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
        below = self._first(connection) if below is None else below
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

    def _first(self, connection: sqlite3.Connection) -> int:
        if self.before is None:
            return _NEWEST
        # Where a graph is run again from a step, LangGraph asks for those of its subgraphs from before that step.
        for line in saver_rows.lines(connection, self.thread_id, None):
            link = saver_rows.find(connection, line, self.before)
            if link is not None:
                return link.sequence
        if self.checkpoint_ns:  # a run that is kept at its end only has not put the step that it began with
            return _NEWEST
        raise ValueError(f"There is no checkpoint {self.before!r} in this conversation to list those before it.")

    def _matches(self, connection: sqlite3.Connection, link: Link) -> bool:
        if not self.filters:
            return True
        metadata = saver_rows.revive_metadata(saver_rows.content(connection, link)[0])
        return all(key in metadata and metadata[key] == value for key, value in self.filters.items())


T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]


class Pages:
    """The jobs that read a listing a page at a time, up to a limit; each is told what the one before it found."""

    def __init__(self, listing: Listing, serializer: StrictSerializer, limit: int | None) -> None:
        self._listing, self._serializer, self._left = listing, serializer, limit
        self._below: int | None = None
        self._ended = False

    def __iter__(self) -> Iterator[Job[Page]]:
        while not self._ended and (self._left is None or self._left > 0):
            count = PAGE if self._left is None else min(PAGE, self._left)
            yield partial(self._listing.page, serializer=self._serializer, below=self._below, count=count)

    def taken(self, page: Page) -> list[CheckpointTuple]:
        """Note where the next page begins; return the checkpoints of this one."""
        found, self._below = page
        self._ended = self._below is None
        self._left = None if self._left is None else self._left - len(found)
        return found


def get(serializer: StrictSerializer, config: RunnableConfig) -> Job[CheckpointTuple | None]:
    """Return the job that reads one checkpoint."""
    return partial(saver_checkpoints.get, serializer=serializer, place=Place.of(config))


def put(
    serializer: StrictSerializer, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
) -> Job[RunnableConfig]:
    """Return the job that writes a checkpoint and returns its configuration."""
    place = Place.of(config)
    packed = saver_checkpoints.pack(serializer, checkpoint, place.checkpoint_ns, metadata_text(config, metadata))

    def job(connection: sqlite3.Connection) -> RunnableConfig:
        saver_checkpoints.put(connection, place, packed, serializer.last_read)
        return place.config(packed.checkpoint_id)

    return job


def put_writes(
    serializer: StrictSerializer,
    config: RunnableConfig,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
) -> Job[None]:
    """Return the job that keeps what a task wrote; it may come before the checkpoint that it belongs to."""
    place = Place.of(config)
    if place.checkpoint_id is None:
        raise ValueError("Writes belong to a checkpoint: put its `checkpoint_id` into `configurable`.")
    checkpoint_id, rows = place.checkpoint_id, saver_checkpoints.pack_writes(serializer, writes)

    def job(connection: sqlite3.Connection) -> None:
        line = saver_rows.ensure_line(connection, place.thread_id, place.checkpoint_ns)
        saver_checkpoints.save_writes(connection, line, checkpoint_id, task_id, task_path, rows)

    return job


def delete_thread(thread_id: str) -> Job[None]:
    """Return the job that removes a conversation."""
    return partial(saver_pruning.delete_thread, thread_id=thread(thread_id))


def delete_for_runs(run_ids: Sequence[str]) -> Job[None]:
    """Return the job that removes what some runs wrote."""
    return partial(saver_pruning.delete_for_runs, run_ids=[str(one) for one in run_ids])


def copy_thread(source: str, target: str) -> Job[None]:
    """Return the job that copies a conversation."""
    return partial(saver_pruning.copy_thread, source=thread(source), target=thread(target))


def prune(serializer: StrictSerializer, thread_ids: Sequence[str], strategy: str) -> Job[None]:
    """Return the job that shortens conversations."""
    threads = [thread(one) for one in thread_ids]
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"There is no strategy {strategy!r}: take 'keep_latest' or 'delete'.")

    def job(connection: sqlite3.Connection) -> None:
        for one in threads:
            if strategy == "delete":
                saver_pruning.delete_thread(connection, one)
            else:
                saver_pruning.keep_latest(connection, serializer, one)

    return job
