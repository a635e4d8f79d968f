"""The half of LangGraph's saver interface that is for threads: each call waits for the file."""

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from dramaturg.stores.saver import jobs as saver_jobs
from dramaturg.stores.saver.file import ConversationFile
from dramaturg.stores.saver.listing import Listing
from dramaturg.stores.saver.serde import StrictSerializer


class BlockingCalls(BaseCheckpointSaver[Any]):
    """The calls without `a`; what each does says its counterpart in `ConversationSaver`."""

    serde: StrictSerializer

    def __init__(self, file: ConversationFile) -> None:
        super().__init__(serde=StrictSerializer())
        self._file = file

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint; see `aget_tuple`."""
        return self._file.read(saver_jobs.get(self.serde, config)).result()

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints; see `alist`."""
        pages = saver_jobs.Pages(Listing.of(config, filter, before), self.serde, limit)
        for job in pages:
            yield from pages.taken(self._file.read(job).result())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint; see `aput`."""
        return self._file.write(saver_jobs.put(self.serde, config, checkpoint, metadata)).result()

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task has written; see `aput_writes`."""
        self._file.write(saver_jobs.put_writes(self.serde, config, writes, task_id, task_path)).result()

    def delete_thread(self, thread_id: str) -> None:
        """Remove a conversation; see `adelete_thread`."""
        self._file.write(saver_jobs.delete_thread(thread_id)).result()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove what some runs wrote; see `adelete_for_runs`."""
        self._file.write(saver_jobs.delete_for_runs(run_ids)).result()

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a conversation; see `acopy_thread`."""
        self._file.write(saver_jobs.copy_thread(source_thread_id, target_thread_id)).result()

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Shorten conversations; see `aprune`."""
        self._file.write(saver_jobs.prune(self.serde, thread_ids, strategy)).result()

    def get_next_version(self, current: str | int | None, channel: None) -> str | int:
        """Return the version of a channel after this one: a number, or a text where a stock saver began with one."""
        if isinstance(current, str):
            return f"{int(current.split('.')[0]) + 1:032}"
        return (current or 0) + 1
