"""Graphs of a LangGraph server in the place of those at home: the same state, settings and events, the work there.

`stand_in` makes of a workflow's builder another one with the same input, output and settings, of which the one node
that works asks the server. Whoever compiles a workflow takes it as any other: what is kept of it is kept at home, with
the server's thread and checkpoint beside it. The server asks its own model, from its own library.
"""

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Annotated, Any, Literal, NotRequired, get_type_hints
from uuid import UUID, uuid4, uuid5

import httpx
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.pregel.remote import RemoteException, RemoteGraph
from langgraph.runtime import Runtime
from langgraph.types import StateSnapshot, interrupt
from langgraph_sdk import get_client
from langgraph_sdk.errors import APIStatusError, NotFoundError
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.environment import environment
from dramaturg.nodes.open_settings import SettingRefused
from dramaturg.nodes.run import RoleContext, RunContext
from dramaturg.stores.files import canonical
from dramaturg.stores.library_folder import UnknownRole
from dramaturg.workflows.methods import INDEXES, AnyGraph, Flow, flow
from dramaturg.workflows.names import METHODS
from dramaturg.workflows.server_forms import ServerError, advice, as_at_home, as_sent, changes, sent, shown, unreachable

ASKED_FOR = "dramaturg_turn"
"""In the metadata of a run: what it was begun for, by which it is found again."""
INDEXING = UUID("6f0d1c0e-6b1a-4b7e-9a55-0c6b5f6d2f10")
"""What the threads of indexes are named by: whoever asks for the same index at the same time waits for one run."""
RUNS = 64
"""How many runs a server is given at once: what it does not work at waits in its queue."""
PATIENCE = 10.0
"""Seconds that a server may take to say that it is there."""
Keep = Literal["conversation", "answer", "index"]
"""What becomes of a thread: that of a conversation stays, that of an answer is deleted when it is had, that of an index
when it is made again. Who stops cancels the run, but not that of an answer, which is found again."""


class ServerThread(TypedDict):
    """Where on the server a thread is; a checkpoint None is its beginning."""

    thread: str
    checkpoint: str | None


Place = Annotated[ServerThread, Field(description="The server's thread, and the checkpoint after the last turn.")]


class Server:
    """A LangGraph server that serves the graphs of this package."""

    def __init__(self, url: str, client: Any) -> None:
        self.url = url
        self.client = client
        self.begun: set[str] = set()
        """The threads that were begun here."""
        self._runs = asyncio.Semaphore(RUNS)

    def flow(self, method: str | Flow, keep: Keep = "conversation", seed: str = "") -> Flow:
        """A method whose turns are taken on the server; see `stand_in`.

        Raises:
            ValueError: the method is a flow of one's own.
        """
        name = method.name if isinstance(method, Flow) else method
        if name not in METHODS:
            raise ValueError(
                f"{name} is a flow of your own, and a server has it by another name: leave --server out, or ask its "
                "graph by langgraph-sdk."
            )
        return Flow(name, self.stand_in(flow(name).builder, graph_of(name), keep, seed))

    def stand_in(self, builder: AnyGraph, graph: str, keep: Keep, seed: str = "") -> AnyGraph:
        """Return a graph that does on the server what a workflow does at home.

        Args:
            builder: of the workflow.
            graph: its name on the server.
            keep: what becomes of the server's thread.
            seed: a UUID by which the threads of a run are named, so that whoever has it finds them again; empty: they
                are named by chance, and found by what is checkpointed here.
        """
        given = get_type_hints(builder.input_schema, include_extras=True)
        kind = builder.context_schema
        taken = get_type_hints(builder.output_schema, include_extras=True)
        state: Any = TypedDict("OnServer", {**given, **taken, "server": NotRequired[Place]})  # type: ignore[misc]

        async def enter(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
            if state.get("server"):
                return {}
            name = str(uuid4())
            if keep == "index":
                wanted: Any = [graph, sent(runtime.context, kind), dict(state)]
                name = str(uuid5(INDEXING, canonical(wanted).decode()))
            elif seed:
                name = str(uuid5(UUID(seed), str(config["configurable"]["thread_id"])))
            return {"server": ServerThread(thread=name, checkpoint=None)}

        async def play(state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
            where, messages = state["server"], state.get("messages", [])
            turn = str(messages[-1].id) if messages else "index"
            asked: Any = {"messages": as_sent(messages, new=where["checkpoint"] is None)} if messages else None
            asked = asked or {name: value for name, value in state.items() if name in given}
            told = sent(runtime.context, kind)
            head = await self.played(graph, where, turn, asked, told, keep)
            while waiting := [one for task in head["tasks"] for one in task.get("interrupts") or ()]:
                resumed = {"resume": interrupt(waiting[0]["value"])}
                head = await self.run(graph, where, turn, keep, command=resumed, context=told)
            if keep == "answer":
                await self.forget(where["thread"])
            found = {name: value for name, value in head["values"].items() if name in taken}
            if "messages" in found:
                found["messages"] = changes(messages, found["messages"])
            return {**found, "server": {**where, "checkpoint": head["checkpoint"]["checkpoint_id"]}}

        made: Any = StateGraph(
            state, builder.context_schema, input_schema=builder.input_schema, output_schema=builder.output_schema
        )
        made.add_node("enter", enter)
        made.add_node("play", play)
        made.add_edge(START, "enter")
        made.add_edge("enter", "play")
        made.add_edge("play", END)
        return made  # type: ignore[no-any-return]  # its state is made here

    async def played(
        self, graph: str, where: ServerThread, turn: str, asked: Any, context: dict[str, Any], keep: Keep
    ) -> Mapping[str, Any]:
        """The thread's state after a turn: of the run that was begun for it before, or of one that begins now."""
        begun, found = await self.found(where["thread"], turn)
        head: Mapping[str, Any] | None = found
        if begun and begun["status"] in ("pending", "running"):
            return await self.run(graph, where, turn, keep, joins=begun["run_id"])
        if begun and head and keep != "index" and (head.get("metadata") or {}).get("run_id") == begun["run_id"]:
            waits = any(task.get("interrupts") for task in head["tasks"])
            if waits or not head["next"]:
                return head
            if keep == "conversation":  # it was stopped: what it has found out by then is kept
                return await self.run(graph, where, turn, keep, input=None, context=context)
        if begun and keep != "conversation":
            await self.forget(where["thread"])
        at = {"checkpoint_id": where["checkpoint"]} if where["checkpoint"] else {}
        return await self.run(graph, where, turn, keep, input=asked, context=context, **at)

    async def found(self, thread: str, turn: str) -> tuple[Any, Any]:
        """The last run that was begun for a turn, and the head of its thread; None where there is none."""
        with self.speaking():
            try:
                runs = await self.client.runs.list(thread, limit=20)
            except NotFoundError:
                return None, None
            begun = next((one for one in runs if (one.get("metadata") or {}).get(ASKED_FOR) == turn), None)
            return begun, begun and await self.client.threads.get_state(thread)

    async def run(
        self,
        graph: str,
        where: ServerThread,
        turn: str,
        keep: Keep,
        *,
        joins: str = "",
        **how: Any,
    ) -> Mapping[str, Any]:
        """Have the server run a graph, show what it streams, and return the thread's state after it."""
        thread, run = where["thread"], joins
        self.begun.add(thread)
        write = get_stream_writer()
        modes = ["custom", "messages-tuple"]

        def named(created: Mapping[str, Any]) -> None:
            nonlocal run
            run = str(created["run_id"])

        try:
            async with self._runs:
                with self.speaking(graph, lambda: bool(run)):
                    if joins:
                        parts = self.client.runs.join_stream(thread, joins, stream_mode=modes)
                    else:
                        parts = self.client.runs.stream(
                            thread,
                            graph,
                            **how,
                            stream_mode=modes,
                            stream_subgraphs=True,
                            stream_resumable=True,
                            metadata={ASKED_FOR: turn},
                            if_not_exists="create",
                            multitask_strategy="enqueue" if keep == "index" else "interrupt",
                            on_disconnect="continue",
                            on_run_created=named,
                        )
                    async with aclosing(parts):
                        async for part in parts:
                            if part.event == "error":
                                raise as_at_home(part.data, self.url)
                            for event in shown(part):
                                write(event)
                    return await self.client.threads.get_state(thread)  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            if run and keep != "answer":
                with suppress(httpx.HTTPError):
                    await self.client.runs.cancel(thread, run)
            raise

    async def require(self, role: str, graphs: Mapping[str, tuple[AnyGraph, RunContext]]) -> None:
        """Refuse what the server would refuse, before anything is asked.

        Args:
            role: must be in the server's library.
            graphs: by their names on the server: their builders here, and the settings that they are to have.

        Raises:
            ServerError: the server cannot be reached, or does not serve one of them.
            SettingRefused: a setting is not open to callers.
            UnknownRole: the server's library has no such role.
        """
        for graph, (builder, context) in graphs.items():
            await self.tried(graph, context=sent(context, builder.context_schema), interrupt_before="*")
        try:
            # It opens the role and asks nothing.
            await self.tried("drmr_index", context={"role": role}, interrupt_after=["recheck_dialogues"])
        except UnknownRole as error:
            raise UnknownRole(
                f"The server at {self.url} has no role {role!r} in its library: name the database that it reads by "
                f"--library postgresql://… or DRAMATURG_LIBRARY, and the role is carried there; or carry it by "
                f"`dramaturg library push postgresql://… {role}`."
            ) from error

    async def prepare(self, method: str, context: RoleContext) -> None:
        """Have a role indexed for a method as a turn would begin with it; nothing else is asked."""
        builder = flow(method).builder
        if after := sorted({end for start, end in builder.edges if start in INDEXES}):
            told, asked = sent(context, builder.context_schema), {"messages": [{"type": "human", "content": "?"}]}
            await self.tried(graph_of(method), input=asked, context=told, interrupt_before=after)
            return
        for one in flow(method).preparations(context).values():
            there = one._replace(builder=self.stand_in(one.builder, one.name, "index"))
            await there.graph.ainvoke({}, context=one.context)

    async def tried(self, graph: str, **how: Any) -> None:
        """Run a graph up to a node, on a thread that is deleted: without one some servers go past the node."""
        how = {"input": {}, "stream_mode": ["updates"], "on_disconnect": "cancel", "if_not_exists": "create", **how}
        thread = str(uuid4())
        with self.speaking(graph):
            try:
                async for part in self.client.runs.stream(thread, graph, **how):
                    if part.event == "error":
                        raise as_at_home(part.data, self.url)
            finally:
                with suppress(httpx.HTTPError):
                    await self.client.threads.delete(thread)

    async def forget(self, thread: str) -> None:
        """Delete a thread, if it is there."""
        self.begun.discard(thread)
        with self.speaking(), suppress(NotFoundError):
            await self.client.threads.delete(thread)

    @contextmanager
    def speaking(self, graph: str = "", begun: Any = bool) -> Iterator[None]:
        """What can go wrong on the way to the server becomes a sentence."""
        try:
            yield
        except APIStatusError as error:
            status = error.response.status_code
            said = error.body.get("detail") if isinstance(error.body, dict) else ""
            if status == 422 and said:
                raise SettingRefused(f"The server at {self.url} refuses: {said}") from error
            raise ServerError(advice(status, graph).format(url=self.url, graph=graph, status=status)) from error
        except httpx.HTTPError as error:
            what = type(error).__name__
            if begun():
                raise ServerError(
                    f"The connection to the server at {self.url} was lost ({what}): its run goes on there, and the "
                    "same command, or /retry in a chat, finds it again."
                ) from error
            raise unreachable(self.url, error) from error


class ServedGraph(RemoteGraph):
    """A graph of a server, run on its threads by who keeps their state there alone; left, the run is stopped."""

    def __init__(self, server: Server, name: str, builder: AnyGraph) -> None:
        super().__init__(name, client=server.client)
        self.server = server
        self.graph = name
        self.kind = builder.context_schema

    async def aget_state(self, config: RunnableConfig, **named: Any) -> StateSnapshot:
        """The head of a thread, empty where nothing has run on it."""
        with self.server.speaking(self.graph):
            try:
                return await super().aget_state(config, **named)
            except TypeError:  # `RemoteGraph` reads no thread on which nothing has run
                return StateSnapshot({}, (), config, None, None, None, (), ())

    async def astream(self, input: Any, config: Any = None, *, context: Any = None, **named: Any) -> AsyncIterator[Any]:  # noqa: A002
        """Run as `RemoteGraph.astream` does; a run that goes on is stopped before."""
        how: Any = {"context": sent(context, self.kind), "multitask_strategy": "interrupt", "on_disconnect": "cancel"}
        with self.server.speaking(self.graph):
            try:
                parts: Any = super().astream(input, config, **how, **named)
                async with aclosing(parts):
                    async for part in parts:
                        yield part
            except RemoteException as error:
                raise as_at_home(error.args[0], self.server.url) from error


@asynccontextmanager
async def open_server(url: str, *, forget: bool = False) -> AsyncIterator[Server]:
    """Open a server by its address; DRAMATURG_SERVER_KEY is sent as `x-api-key`.

    Args:
        url: such as http://127.0.0.1:8000.
        forget: delete the threads that were begun, in the end.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is no address of a server: write http://host:port.")
    await reach(url)
    # The client warns where it joins a stream again after nothing had come yet: what counts is the state afterwards.
    warnings.filterwarnings("ignore", message="Reconnecting without a Last-Event-ID")
    key = environment().server_key
    async with get_client(url=url, api_key=key.get_secret_value() if key else None) as client:
        server = Server(url.rstrip("/"), client)
        try:
            yield server
        finally:
            for thread in [*server.begun] if forget else ():
                with suppress(ServerError):
                    await server.forget(thread)


async def reach(url: str) -> None:
    """Have a server that is not there said at once: the client tries for a quarter of a minute."""
    try:
        async with httpx.AsyncClient(timeout=PATIENCE) as once:
            await once.get(f"{url.rstrip('/')}/ok")
    except httpx.HTTPError as error:
        raise unreachable(url, error) from error


def graph_of(method: str) -> str:
    """The name of a method's graph in langgraph.json."""
    return METHODS[method]
