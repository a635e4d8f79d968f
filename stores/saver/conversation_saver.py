"""Conversations in one sqlite file: LangGraph's saver interface, kept so that nothing acknowledged is lost."""

import asyncio
import builtins
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from dramaturg.stores.saver import jobs as saver_jobs
from dramaturg.stores.saver import pruning as saver_pruning
from dramaturg.stores.saver import rewriting as saver_rewriting
from dramaturg.stores.saver import steps as saver_steps
from dramaturg.stores.saver.config import text, thread
from dramaturg.stores.saver.file import ConversationFile
from dramaturg.stores.saver.jobs import Job, Listing
from dramaturg.stores.saver.rewriting import Rewriter
from dramaturg.stores.saver.serde import StrictSerializer
from dramaturg.stores.saver.steps import Step

T = TypeVar("T")


class ConversationSaver(BaseCheckpointSaver[Any]):
    """A LangGraph saver whose head is the newest acknowledged write, with the transcript in a table of its own.

    Compile a graph with it as with any saver. Every call is one transaction in a thread of the saver's own: wholly
    done or not at all, also when the caller is cancelled. The calls without `a` may be made from any thread. All of
    them raise `DamagedConversations` when what is read is not what was written, and `StorageError` when the file
    system refuses or another program holds the file.
    """

    serde: StrictSerializer

    def __init__(self, file: ConversationFile) -> None:
        super().__init__(serde=StrictSerializer())
        self._file = file

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator["ConversationSaver"]:
        """Open a file of conversations, or create it; one of LangGraph's sqlite saver is brought into this form.

        Raises:
            DamagedConversations: the file is damaged, empty, of another program, or of a newer version.
        """
        file = ConversationFile(path)
        try:
            await asyncio.wrap_future(file.open())
            yield cls(file)
        finally:
            await asyncio.shield(asyncio.wrap_future(file.close()))

    @classmethod
    @contextmanager
    def open_blocking(cls, path: Path) -> Iterator["ConversationSaver"]:
        """The same for code that blocks."""
        file = ConversationFile(path)
        try:
            file.open().result()
            yield cls(file)
        finally:
            file.close().result()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a configuration names; without an id, the one that was written last."""
        return await self._read(saver_jobs.get(self.serde, config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints in the order of their writing, newest first; a page at a time, so that writers go on.

        Raises:
            ValueError: `before` names no checkpoint of the conversation.
        """
        pages = saver_jobs.Pages(Listing.of(config, filter, before), self.serde, limit)
        for job in pages:
            for found in pages.taken(await self._read(job)):
                yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint, its messages and its place in one transaction; when it returns, they are on the disk.

        Raises:
            ValueError: the state holds what could not be read back, or the parent is not there.
        """
        return await self._write(saver_jobs.put(self.serde, config, checkpoint, metadata))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task of an unfinished step has written."""
        await self._write(saver_jobs.put_writes(self.serde, config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a conversation, and what its sub-graphs kept."""
        await self._write(saver_jobs.delete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove what some runs wrote; a later checkpoint then continues the nearest one before it that stays."""
        await self._write(saver_jobs.delete_for_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a conversation with all its branches; a source that is not there gives nothing.

        Raises:
            ValueError: the target is there already.
        """
        await self._write(saver_jobs.copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the head of each namespace ("keep_latest"), or nothing ("delete"); the transcript goes too.

        What a delta channel of the head is rebuilt from stays.
        """
        await self._write(saver_jobs.prune(self.serde, thread_ids, strategy))

    async def asteps(
        self, thread_id: str, checkpoint_id: str | None = None, limit: int | None = None
    ) -> builtins.list[Step]:
        """Return a branch as steps, oldest first: a checkpoint (default: the head) and those that it goes back to.

        Args:
            thread_id: the conversation; one that is not there has no steps.
            checkpoint_id: the end of the branch.
            limit: how many of the last steps; default: all.

        Raises:
            ValueError: there is no such checkpoint.
        """
        checkpoint = None if checkpoint_id is None else text(checkpoint_id, "checkpoint_id")
        return await self._read(
            partial(
                saver_steps.steps,
                serializer=self.serde,
                thread_id=thread(thread_id),
                checkpoint_id=checkpoint,
                limit=limit,
            )
        )

    async def abeginning(self, thread_id: str, count: int) -> builtins.list[Step]:
        """Return the first steps of the branch that ends in the head, oldest first; the others are not read."""
        return await self._read(
            partial(saver_steps.beginning, serializer=self.serde, thread_id=thread(thread_id), count=count)
        )

    async def aall_steps(self, thread_id: str) -> builtins.list[Step]:
        """Return the steps of all branches of a thread, the newest first; none is read but what was said in it."""
        return await self._read(partial(saver_steps.all_steps, serializer=self.serde, thread_id=thread(thread_id)))

    async def amay_hold(self, thread_id: str, words: Sequence[str]) -> bool:
        """Return whether a thread may hold all words, in small letters, on any branch; "no" is sure.

        A message that is a list of parts holds a word where one part does.
        """
        return await self._read(partial(saver_steps.may_hold, thread_id=thread(thread_id), words=words))

    async def asaid(self, thread_id: str, message_id: str) -> builtins.list[str]:
        """Return the ids of the checkpoints that said the message with this id, newest first."""
        wanted = text(message_id, "message_id")
        return await self._read(partial(saver_steps.said, thread_id=thread(thread_id), message_id=wanted))

    async def aerase(self, thread_id: str, checkpoint_id: str) -> None:
        """Remove a checkpoint and all that followed from it, so that no byte of it stays in the file.

        If the head is among them, the parent of the erased checkpoint is the head again.

        Raises:
            ValueError: there is no such checkpoint.
        """
        wanted = text(checkpoint_id, "checkpoint_id")
        await self._write(partial(saver_pruning.erase, thread_id=thread(thread_id), checkpoint_id=wanted))

    async def arewrite(self, thread_id: str, new: Rewriter) -> int:
        """Put other values into the checkpoints of a thread, so that no byte of what they held stays in the file.

        Each keeps its id, its place and its parent. What `new` is asked, it is asked in the thread of the file.

        Returns:
            How many were changed.

        Raises:
            ValueError: a value could not be read back.
        """
        job = partial(saver_rewriting.rewrite, serializer=self.serde, thread_id=thread(thread_id), new=new)
        return await self._write(job)

    async def athreads(self) -> builtins.list[str]:
        """Return the ids of all conversations, the one that was written last first."""
        return await self._read(saver_steps.threads)

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

    async def _read(self, job: Job[T]) -> T:
        return await asyncio.wrap_future(self._file.read(job))

    async def _write(self, job: Job[T]) -> T:
        return await asyncio.wrap_future(self._file.write(job))
