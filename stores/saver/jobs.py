"""What each call of the saver does in the file's thread, once its arguments are checked and serialized."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple

from dramaturg.stores.saver import checkpoints as saver_checkpoints
from dramaturg.stores.saver import pruning as saver_pruning
from dramaturg.stores.saver import rows as saver_rows
from dramaturg.stores.saver import writes as saver_writes
from dramaturg.stores.saver.config import Place, metadata_text, thread
from dramaturg.stores.saver.listing import PAGE, Listing, Page
from dramaturg.stores.saver.serde import StrictSerializer

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]


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
        saver_checkpoints.put(connection, place, packed)
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
    checkpoint_id, rows = place.checkpoint_id, saver_writes.packed(serializer, writes)

    def job(connection: sqlite3.Connection) -> None:
        line = saver_rows.ensure_line(connection, place.thread_id, place.checkpoint_ns)
        saver_writes.save(connection, line, checkpoint_id, task_id, task_path, rows)

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
    """Return the job that shortens conversations.

    Raises:
        ValueError: there is no such strategy.
    """
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
