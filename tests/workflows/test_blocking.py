"""Graphs called by code that blocks: all of them, three ways, with three savers, and inside a loop that runs."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.run import RoleContext
from dramaturg.nodes.workflow import Workflow
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.testing import WordEmbeddings
from dramaturg.workflows.amadeus_index import graph as amadeus_index
from dramaturg.workflows.drmr_index import graph as drmr_index
from dramaturg.workflows.emotional_rag_index import graph as emotional_rag_index
from dramaturg.workflows.methods import METHODS, flow
from dramaturg.workflows.riverbend import graph as riverbend
from dramaturg.workflows.riverbend_agents import RiverbendContext
from dramaturg.workflows.role_rag_index import graph as role_rag_index
from dramaturg.workflows.vanilla import VanillaContext
from dramaturg.workflows.vanilla import build as vanilla

from fakes import scripted
from identity_roles import finding, found
from townspeople import townspeople, world_settings

Config = dict[str, dict[str, str]]
ASKED: dict[str, Any] = {"messages": [("user", "Who are you?")]}


@contextmanager
def in_memory(_: Path) -> Iterator[InMemorySaver]:
    yield InMemorySaver()


def in_sqlite(folder: Path) -> AbstractContextManager[SqliteSaver]:
    return SqliteSaver.from_conn_string(str(folder / "sqlite"))


def in_ours(folder: Path) -> AbstractContextManager[ConversationSaver]:
    return ConversationSaver.open_blocking(folder / "ours")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    whole_role(folder)
    return folder


def context(method: str, library: Path, **more: Any) -> RoleContext:
    given = {"chat_model": whole_cast(), "embedding_model": WordEmbeddings()} | more
    return flow(method).context(role="ada", library=str(library), **given)


def thread(name: str) -> Config:
    return {"configurable": {"thread_id": name}}


def talk(method: str, library: Path, saver: Any) -> None:
    """Call a graph in each way."""
    graph, own = flow(method).builder.compile(saver), context(method, library)
    first = graph.invoke(ASKED, thread("one"), context=own)
    assert first["messages"][-1].text == "I keep the light."
    modes = {mode for mode, _ in graph.stream(ASKED, thread("one"), context=own, stream_mode=["messages", "updates"])}
    assert modes == {"messages", "updates"}
    assert len(graph.get_state(thread("one")).values["messages"]) == 4
    both = graph.batch([ASKED, ASKED], [thread("two"), thread("three")], context=own)
    assert [len(one["messages"]) for one in both] == [2, 2]
    assert graph.invoke(ASKED, thread("two"), context=own)["messages"][-1].text == "I keep the light."


@pytest.mark.parametrize("kept", [in_memory, in_sqlite, in_ours])
@pytest.mark.parametrize("method", METHODS)
def test_every_graph_in_three_ways(
    method: str, kept: Callable[[Path], AbstractContextManager[Any]], library: Path, tmp_path: Path
) -> None:
    with kept(tmp_path) as saver:
        talk(method, library, saver)


def prepare(graph: Any, given: dict[str, Any], own: Any, saver: Any) -> None:
    """Call a graph that nobody talks to in each way."""
    graph = graph.builder.compile(saver)
    first = graph.invoke(given, thread("one"), context=own)
    parts = list(graph.stream(given, thread("two"), context=own, stream_mode=["updates", "values"]))
    assert {mode for mode, _ in parts} == {"updates", "values"}
    assert parts[-1][1].keys() >= first.keys()
    assert [one.keys() for one in graph.batch([given] * 2, [thread("three"), thread("four")], context=own)] == [
        first.keys()
    ] * 2
    assert not any(graph.get_state(thread(name)).next for name in ("one", "two", "three", "four"))


@pytest.mark.parametrize("kept", [in_memory, in_sqlite, in_ours])
@pytest.mark.parametrize("graph", [amadeus_index, role_rag_index, emotional_rag_index, drmr_index])
def test_what_prepares_a_role_in_three_ways(
    graph: Any, kept: Callable[[Path], AbstractContextManager[Any]], tmp_path: Path
) -> None:
    whole_role(tmp_path)
    given = {"role": "ada", "library": str(tmp_path), "chat_model": whole_cast(), "embedding_model": WordEmbeddings()}
    with kept(tmp_path) as saver:
        prepare(graph, {"rebuild": True}, graph.builder.context_schema(**given), saver)


@pytest.mark.parametrize("kept", [in_memory, in_sqlite, in_ours])
def test_a_simulation_in_three_ways(kept: Callable[[Path], AbstractContextManager[Any]], tmp_path: Path) -> None:
    own = RiverbendContext(**world_settings(tmp_path, townspeople(), steps=1))
    with kept(tmp_path) as saver:
        prepare(riverbend, {}, own, saver)


async def test_inside_a_loop_that_runs_as_in_a_notebook(library: Path) -> None:
    talk("amadeus", library, InMemorySaver())


def test_a_turn_that_waits_for_somebody_goes_on(library: Path) -> None:
    becomes = {"reflected": found(finding("the sea", 1), finding("brandy"))}
    own = context("id-rag", library, approval="all", update=True, chat_model=whole_cast(**becomes))
    graph = flow("id-rag").builder.compile(InMemorySaver())
    graph.invoke(ASKED, thread("t"), context=own)
    waiting = graph.get_state(thread("t"), subgraphs=True)
    assert waiting.interrupts
    graph.invoke(Command(resume={"approved": []}), thread("t"), context=own)
    assert not graph.get_state(thread("t")).next


def test_an_error_is_raised_as_it_is(library: Path) -> None:
    own = context("vanilla", library, chat_model=scripted(ModelUnavailable("It is tired.")))
    with pytest.raises(ModelUnavailable, match="It is tired"):
        vanilla().compile().invoke(ASKED, context=own)


def test_who_goes_away_from_a_stream_ends_it(library: Path) -> None:
    ended = threading.Event()

    async def waits(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        runtime.stream_writer("waits")
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return {}

    graph = vanilla(after={"respond_by_name": waits}).compile()
    parts = graph.stream(ASKED, context=context("vanilla", library), stream_mode="custom")
    assert "waits" in parts
    assert not ended.is_set()
    parts.close()  # type: ignore[attr-defined]
    assert ended.is_set()


def test_a_graph_does_not_run_ahead_of_who_reads_its_stream(library: Path) -> None:
    ran = threading.Event()

    async def noted(state: MessagesState) -> dict[str, Any]:
        ran.set()
        return {}

    parts = (
        vanilla(after={"respond_by_name": noted})
        .compile()
        .stream(ASKED, context=context("vanilla", library), stream_mode="updates")
    )
    while "respond_by_name" not in next(parts):
        pass
    assert not ran.wait(0.3)
    assert list(parts)
    assert ran.is_set()


def test_a_graph_is_a_node_of_a_graph_that_blocks(library: Path) -> None:
    own = context("vanilla", library)

    def ask(state: MessagesState) -> dict[str, Any]:
        said = vanilla().compile().invoke({"messages": state["messages"][:1]}, context=own)
        return {"messages": [AIMessage(said["messages"][-1].text)]}

    builder = StateGraph(MessagesState, context_schema=VanillaContext)
    builder.add_node("role", vanilla().compile()).add_node(ask)
    builder.add_edge(START, "role").add_edge("role", "ask")
    with SqliteSaver.from_conn_string(":memory:") as saver:
        said = builder.compile(saver).invoke(ASKED, thread("t"), context=own)["messages"]
    assert [one.text for one in said[1:]] == ["I keep the light."] * 2


def test_a_node_may_call_another_graph_and_block(library: Path) -> None:
    own = context("vanilla", library)

    async def calls(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(vanilla().compile().invoke(ASKED, context=own)["messages"][-1].text)]}

    builder: Workflow[Any, Any, Any, Any] = Workflow(MessagesState, context_schema=VanillaContext)
    builder.add_node(calls).add_edge(START, "calls")
    assert builder.compile().invoke(ASKED)["messages"][-1].text == "I keep the light."
