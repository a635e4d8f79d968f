"""A simulation that is kept: its log is a file for people and programs, its checkpoints let it go on and branch."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.pregel.protocol import PregelProtocol

from dramaturg.nodes.identity.retrieval import SEARCH
from dramaturg.nodes.world.world import Event, WorldInput, WorldSettings, described, event, scenario_of
from dramaturg.stores.conversations.kept_run import alone, checkpoints_of, kept_run, refuse_other_run
from dramaturg.stores.files import write_bytes
from dramaturg.workflows.server import ServedGraph, open_server

Show = Callable[[Event], None]
HEAD: RunnableConfig = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}
LONGEST = 1000  # steps of the graph


class Simulation:
    """One run of a graph of a world, such as `riverbend.build()`.

    After every step of the graph it is checkpointed, and then the log is written anew as a whole: a run that was killed
    at any moment goes on where it was, and its log lacks nothing and holds nothing twice.

    Args:
        graph: compiled with a saver, or that of a server.
        context: how the run is to be done.
        log: the file of events, JSON lines.
        place: the thread; on a server, the one there.
    """

    def __init__(
        self,
        graph: PregelProtocol[Any, Any, Any, Any],
        context: WorldSettings,
        log: Path,
        place: RunnableConfig = HEAD,
    ) -> None:
        self.graph: Any = graph
        self.context = context
        self.log = log
        self.place = place

    async def events(self) -> list[Event]:
        """What has happened so far, as it is checkpointed."""
        events: list[Event] = (await self.graph.aget_state(self.place)).values.get("log", [])
        return events

    async def over(self) -> bool:
        """Whether the run was played to its end."""
        return bool((await self.graph.aget_state(self.place)).values.get("over"))

    async def play(self, show: Show = lambda _: None, start: Mapping[str, Any] | None = None) -> list[Event]:
        """Play to the end, from the beginning or from where it stopped; return all events.

        Args:
            show: is given each event that is new, as soon as whoever makes it is done.
            start: where to begin, if nothing has been played yet; see `branch_of`.

        Raises:
            ValueError: the run was begun with other settings.
            ModelError: the model gave no answer; play again to go on.
        """
        events = await self.events()
        self.check(events)
        self.write(events)
        if not await self.over():
            await self.go_on(show, dict(start or {}))
        return await self.events()

    async def go_on(self, show: Show, start: Any) -> None:
        """Play from the last checkpoint on; where there is none, from a start."""
        # Not `next`: after a kill between what a node wrote and its checkpoint there is none, and yet more to be done.
        begun = bool((await self.graph.aget_state(self.place)).values)
        config: RunnableConfig = {**self.place, "recursion_limit": LONGEST}
        parts: Any = self.graph.astream(
            None if begun else start,
            config,
            context=self.context,
            stream_mode=["updates", "values"],
            durability="sync",
            version="v2",
        )
        async with aclosing(parts):  # stopped by `show` or a full disk, it is at its end before the saver is closed
            async for part in parts:
                if part["type"] == "values" and not part["ns"]:
                    self.write(part["data"].get("log", []))
                elif part["type"] == "updates":
                    for one in new_in(part["data"]):
                        show(one)

    def branch_of(self, name: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """Where a branch begins: what another run has come to, and that this one leaves it there.

        Args:
            name: of the other run.
            state: of the other run, see `after`.

        Raises:
            ValueError: the other one has other agents.
        """
        told = {"of": name, "after": state["step"], **described(self.context, scenario_of(self.context))}
        if begun_run(state["log"])["agents"] != told["agents"]:
            msg = f"{name} is a run of other agents than {told['scenario']} has: branch it with its own scenario."
            raise ValueError(msg)
        log = [*state["log"], event(state["step"], state["log"][-1]["time"], "branch", **told)]
        return {**{channel: state[channel] for channel in WorldInput.__annotations__ if channel in state}, "log": log}

    async def after(self, step: int) -> dict[str, Any]:
        """The state after a step.

        Raises:
            ValueError: the run has not come that far.
        """
        async for state in self.graph.aget_state_history(self.place):
            last = (state.values.get("log") or [{}])[-1]
            if last.get("kind") == "cost" and last["step"] == step:
                return dict(state.values)
        msg = f"{self.log} has not come to the end of step {step}."
        raise ValueError(msg)

    def check(self, events: Sequence[Event]) -> None:
        """Refuse to go on with another run than was begun.

        Raises:
            ValueError: a setting that makes a run what it is has changed.
        """
        if events:
            untold = {name: WorldSettings.model_fields[name].default for name in SEARCH}  # by an earlier version
            wanted = described(self.context, scenario_of(self.context))
            if isinstance(self.graph, ServedGraph):  # whose model is its own affair
                wanted["model"] = begun_run(events)["model"]
            refuse_other_run(self.log, untold | begun_run(events), wanted, "--log")

    def write(self, events: Sequence[Event]) -> None:
        """Write the log as a whole."""
        if events:
            lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in events)
            write_bytes(self.log, lines.encode(errors="surrogatepass"), within=self.log.parent)


@asynccontextmanager
async def open_simulation(
    graph: StateGraph[Any, Any, Any, Any], context: WorldSettings, log: Path, *, server: str = "", name: str = ""
) -> AsyncIterator[Simulation]:
    """Open a run by the file of its log; its checkpoints lie beside it.

    Args:
        graph: the builder.
        context: how the run is to be done.
        log: the file.
        server: the address of a LangGraph server that plays; beside the log lies which of its threads has the
            checkpoints.
        name: of the graph on the server.

    Raises:
        Busy: another program plays it.
        ValueError: the log is there and its checkpoints are not, or its folder is not there.
        ServerError: the server cannot be reached, refuses or fails; the same call goes on.
    """
    if not server:
        if begun := await asyncio.to_thread(server_of, log):
            raise ValueError(f"{log} was begun on {begun}: name that by --server, or take another --log.")
        async with kept_run(log, "plays", "--log") as (log, saver):
            yield Simulation(graph.compile(saver), context, log)
        return
    log = await asyncio.to_thread(lambda: log.expanduser().absolute())
    agents = [one.role for one in scenario_of(context).agents]
    async with open_server(server) as there:
        with alone(log, f"plays {log}", "take another --log"):
            for agent in agents:
                await there.require(agent, {name: (graph, context)} if agent == agents[0] else {})
            place: RunnableConfig = {"configurable": {"thread_id": await asyncio.to_thread(thread_of, log, there.url)}}
            with there.speaking(name):
                await there.client.threads.create(
                    thread_id=place["configurable"]["thread_id"], graph_id=name, if_exists="do_nothing"
                )
            yield Simulation(ServedGraph(there, name, graph), context, log, place)


def thread_of(log: Path, server: str) -> str:
    """The server's thread of a run; a new one for a log that is not there.

    Raises:
        ValueError: the run was begun at home or on another server, or the log cannot be there.
    """
    file = place_of(log)
    if log.is_dir() or not log.parent.is_dir():
        raise ValueError(f"{log} cannot be written: name a file in a folder that is there.")
    if not file.is_file():
        if log.exists() or checkpoints_of(log).exists():
            raise ValueError(f"{log} was begun at home: leave --server out, or take another --log.")
        write_bytes(file, json.dumps({"server": server, "thread": str(uuid4())}).encode(), within=log.parent)
    place = json.loads(file.read_bytes())
    if place["server"] != server:
        raise ValueError(f"{log} was begun on {place['server']}: name that by --server, or take another --log.")
    return str(place["thread"])


def server_of(log: Path) -> str:
    """The server on which a run was begun; empty: at home."""
    file = place_of(log.expanduser().absolute())
    return str(json.loads(file.read_bytes())["server"]) if file.is_file() else ""


def place_of(log: Path) -> Path:
    """The file that says where on a server a run is: beside its log."""
    return log.with_name(f"{log.name}.server")


def begun_run(events: Sequence[Event]) -> Event:
    """What a run is: said at its beginning, or where it left another one."""
    return next(one for one in reversed(events) if one["kind"] in ("run", "branch"))


def new_in(part: Mapping[str, Any]) -> list[Event]:
    """The events that nodes have written."""
    return [one for written in part.values() for one in (written or {}).get("log", [])]
