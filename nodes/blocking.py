"""Graphs of coroutines, called by code that blocks: notebooks, scripts, and graphs of others.

One event loop for all such calls runs in a thread of its own, so that connections are kept from one call to the next,
and a loop that runs already, as in a notebook, is in nobody's way. Savers are used by their blocking methods, as
LangGraph does in such a call: some have no others.
"""

import asyncio
import os
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata, CheckpointTuple

__all__ = ["BlockingSaver", "iterated"]

T = TypeVar("T")

_loops: dict[int, tuple[asyncio.AbstractEventLoop, threading.Thread]] = {}
_starting = threading.Lock()


def shared_loop() -> asyncio.AbstractEventLoop:
    """The loop of blocking calls of this process; within one of its own coroutines another one."""
    with _starting:
        loop, thread = _loops.get(os.getpid(), (None, None))
        if loop is None or thread is threading.current_thread():
            loop = asyncio.new_event_loop()
            new = threading.Thread(target=loop.run_forever, name="dramaturg blocking calls", daemon=True)
            new.start()
            if thread is None:
                _loops[os.getpid()] = loop, new
        return loop


def iterated(stream: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
    """What a stream gives, one after the other, for code that blocks: it goes on when the next one is asked for.

    Args:
        stream: begins it. It runs in the context variables of who asks, as one task.

    Raises:
        Exception: whatever it raises. Who goes away before its end has it cancelled, and waits until it is.
    """
    loop, ended = shared_loop(), object()
    given: queue.SimpleQueue[Any] = queue.SimpleQueue()
    wanted = asyncio.Semaphore(0)

    async def run() -> None:
        try:
            await wanted.acquire()
            async with aclosing(cast("AsyncGenerator[T]", stream())) as parts:
                async for part in parts:
                    given.put(part)
                    await wanted.acquire()
        finally:
            given.put(ended)

    running = asyncio.run_coroutine_threadsafe(run(), loop)
    try:
        while True:
            loop.call_soon_threadsafe(wanted.release)
            part = given.get()
            if part is ended:
                break
            yield cast("T", part)
    except BaseException:
        running.cancel()
        while given.get() is not ended:
            pass
        raise
    running.result()


class BlockingSaver(BaseCheckpointSaver[Any]):
    """A saver whose methods for coroutines call its blocking ones in a thread."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self.saver = saver

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "BlockingSaver":
        """The same for one that knows more types."""
        return BlockingSaver(self.saver.with_allowlist(extra_allowlist))

    @property
    def config_specs(self) -> list[Any]:
        """What a config may name."""
        return self.saver.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The version of a channel after this one."""
        return self.saver.get_next_version(current, channel)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint."""
        return await asyncio.to_thread(self.saver.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (the name is LangGraph's)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Read checkpoints."""

        def found() -> list[CheckpointTuple]:
            return list(self.saver.list(config, filter=filter, before=before, limit=limit))

        for one in await asyncio.to_thread(found):
            yield one

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: Any
    ) -> RunnableConfig:
        """Write a checkpoint."""
        return await asyncio.to_thread(self.saver.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write what a task gave."""
        await asyncio.to_thread(self.saver.put_writes, config, writes, task_id, task_path)

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, Any]:
        """Read how channels came about."""
        return await asyncio.to_thread(self.saver.get_delta_channel_history, config=config, channels=channels)
