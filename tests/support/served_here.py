"""A LangGraph server at the door of langgraph-sdk: its runs are tasks of this process, its values are JSON."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import uuid4

import httpx
import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Interrupt
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError

from dramaturg.nodes.open_settings import SettingRefused, require_open
from dramaturg.workflows import server

from roles import WordEmbeddings
from served_graphs import SERVED

URL = "http://server.test"
NOTHING = {"error": None, "state": None, "checkpoint": None}


class Part(NamedTuple):
    event: str
    data: Any


class ServedRun:
    """A run, with all that it has streamed."""

    def __init__(self, thread: str, metadata: Any) -> None:
        self.id, self.thread, self.metadata, self.status = str(uuid4()), thread, metadata, "running"
        self.parts: list[Part] = []
        self.news = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def say(self, part: Part) -> None:
        self.parts.append(part)
        self.news.set()

    async def follow(self, at: int = 0) -> AsyncIterator[Part]:
        while True:
            while at < len(self.parts):
                at += 1
                yield self.parts[at - 1]
            if self.status != "running":
                return
            self.news.clear()
            await self.news.wait()


class ServedHere:
    """What `get_client` gives: `runs` and `threads`, over the graphs of langgraph.json."""

    def __init__(self, library: Path, model: Any, opened: tuple[str, ...] = ()) -> None:
        self.own = {"library": str(library), "chat_model": model, "embedding_model": WordEmbeddings()}
        self.opened = opened
        self.saver, self.store = InMemorySaver(), InMemoryStore()
        self.all: dict[str, list[ServedRun]] = {}
        self.graph_of: dict[str, str] = {}
        self.lost: Callable[[Part], bool] = lambda part: False
        """After which part the connection is lost."""
        self.runs = SimpleNamespace(
            list=self.listed, stream=self.stream, join_stream=self.join_stream, cancel=self.cancel
        )
        self.threads = SimpleNamespace(
            create=self.create, delete=self.delete, get_state=self.get_state, get_history=self.get_history
        )

    @asynccontextmanager
    async def client(self, **_: Any) -> AsyncIterator["ServedHere"]:
        yield self

    async def create(self, thread_id: str, graph_id: str, **_: Any) -> None:
        self.all.setdefault(thread_id, [])
        self.graph_of.setdefault(thread_id, graph_id)

    async def delete(self, thread: str) -> None:
        self._known(thread)
        del self.all[thread]
        await self.saver.adelete_thread(thread)

    async def listed(self, thread: str, **_: Any) -> list[dict[str, Any]]:
        self._known(thread)
        return [{"run_id": one.id, "status": one.status, "metadata": one.metadata} for one in self.all[thread][::-1]]

    async def stream(
        self,
        thread_id: str | None,
        assistant_id: str,
        *,
        input: Any = None,  # noqa: A002
        command: Any = None,
        context: Any = None,
        config: Any = None,
        checkpoint_id: str | None = None,
        metadata: Any = None,
        on_run_created: Callable[[Any], None] = lambda run: None,
        on_disconnect: str = "continue",
        stream_mode: Any = "values",
        stream_subgraphs: bool = False,
        interrupt_before: Any = None,
        interrupt_after: Any = None,
        **_: Any,
    ) -> AsyncIterator[Part]:
        thread, graph = thread_id, assistant_id
        if graph not in SERVED:
            raise NotFoundError("no", response=answer(404), body=None)
        kind: Any = SERVED[graph].context_schema
        try:
            require_open(kind, context or {}, opened=self.opened)
        except SettingRefused as refused:
            raise UnprocessableEntityError("no", response=answer(422), body={"detail": str(refused)}) from None
        run = ServedRun(thread or str(uuid4()), metadata)
        if thread:
            for other in self.all.setdefault(thread, []):
                await self.cancel(thread, other.id)
            self.all[thread].append(run)
            self.graph_of[thread] = graph
        where = {"thread_id": run.thread} | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})
        how = {
            "context": kind(**{**(context or {}), **self.own}),
            "stream_mode": [{"messages-tuple": "messages"}.get(mode, mode) for mode in stream_mode],
            "subgraphs": stream_subgraphs,
            "interrupt_before": interrupt_before,
            "interrupt_after": interrupt_after,
            "durability": "sync",
        }
        settings = {**(config or {}), "configurable": where, "metadata": {"run_id": run.id}}
        compiled = SERVED[graph].builder.compile(self.saver, store=self.store)
        given = Command(resume=command["resume"]) if command and command.get("resume") else input
        # In a context of its own: else the graph here would hear what the one there says.
        work = self._work(run, compiled, given, settings, how)
        run.task = asyncio.create_task(work, context=Context())
        on_run_created({"run_id": run.id, "thread_id": run.thread})
        try:
            async for part in self._streamed(run):
                yield part
        finally:
            if on_disconnect == "cancel":
                run.task.cancel()

    async def _work(self, run: ServedRun, graph: Any, given: Any, settings: Any, how: Any) -> None:
        try:
            async for found in graph.astream(given, settings, **how):
                namespace, mode, data = found if how["subgraphs"] else ((), *found)
                run.say(Part("|".join([mode, *namespace]), as_json(data)))
            run.status = "interrupted" if (await graph.aget_state(settings)).next else "success"
        except asyncio.CancelledError:
            run.status = "interrupted"
        except Exception as error:  # noqa: BLE001 (whatever it is, the server says its name)
            run.status = "error"
            run.say(Part("error", {"error": type(error).__name__, "message": str(error)}))
        run.news.set()

    async def _streamed(self, run: ServedRun) -> AsyncIterator[Part]:
        async for part in run.follow():
            yield part
            if self.lost(part):
                raise httpx.ReadError("gone")

    async def join_stream(self, thread: str, run: str, **_: Any) -> AsyncIterator[Part]:
        async for part in self._streamed(next(one for one in self.all[thread] if one.id == run)):
            yield part

    async def cancel(self, thread: str, run: str, **_: Any) -> None:
        one = next(one for one in self.all[thread] if one.id == run)
        if one.task and not one.task.done():
            one.task.cancel()
            await asyncio.wait([one.task])

    async def get_state(self, thread_id: str, **_: Any) -> dict[str, Any]:
        self._known(thread_id)
        if not self.all[thread_id]:
            return {"values": {}, "next": [], "tasks": [], "checkpoint": None, "metadata": {}}
        return await anext(self._history(thread_id, 1))

    async def get_history(self, thread_id: str, **_: Any) -> list[dict[str, Any]]:
        return [found async for found in self._history(thread_id, 1000)]

    async def _history(self, thread: str, limit: int) -> AsyncIterator[dict[str, Any]]:
        graph = SERVED[self.graph_of[thread]].builder.compile(self.saver, store=self.store)
        config: Any = {"configurable": {"thread_id": thread}}
        head = [await graph.aget_state(config)]
        for one in head if limit == 1 else [one async for one in graph.aget_state_history(config)]:
            place = {"checkpoint_map": {}, **one.config["configurable"]}
            asked = [
                {"interrupts": as_json(task.interrupts), "id": task.id, "name": task.name, **NOTHING}
                for task in one.tasks
            ]
            yield {
                "values": as_json(one.values),
                "next": list(one.next),
                "checkpoint": place,
                "created_at": "",
                "metadata": one.metadata,
                "tasks": asked,
                "parent_checkpoint": None,
                "interrupts": [],
            }

    def _known(self, thread: str) -> None:
        if thread not in self.all:
            raise NotFoundError("no", response=answer(404), body=None)


async def reached(_: str) -> None:
    """It is in this process."""


def answer(status: int) -> httpx.Response:
    return httpx.Response(status, request=httpx.Request("POST", URL))


def as_json(value: Any) -> Any:
    def plain(one: Any) -> Any:
        if isinstance(one, BaseMessage):
            return one.model_dump(mode="json")
        return {"value": one.value, "id": one.id} if isinstance(one, Interrupt) else str(one)

    return json.loads(json.dumps(value, default=plain))


@contextmanager
def served_here(monkeypatch: pytest.MonkeyPatch, *how: Any, **named: Any) -> Iterator[ServedHere]:
    """Have every client of a server talk to one of this process."""
    made = ServedHere(*how, **named)
    with monkeypatch.context() as patched:
        patched.setattr(server, "get_client", made.client)
        patched.setattr(server, "reach", reached)
        yield made
