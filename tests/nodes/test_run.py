"""A run has its workflow's settings with and without a context, and its role is that of the library at the time."""

import threading
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from typing_extensions import TypedDict

from dramaturg.nodes.run import RoleContext, open_run, run_of, settings
from dramaturg.nodes.workflow import CompiledWorkflow, Workflow
from dramaturg.stores.library_folder import UnknownRole

from roles import small_role
from served_graphs import SERVED


class Seen(TypedDict):
    seen: list[Any]


class Inner(RoleContext):
    size: int = 1


class Outer(Inner):
    size: int = 2


async def note(state: Seen, runtime: Runtime[Any]) -> dict[str, Any]:
    run = await open_run(runtime, Inner)
    return {"seen": [*state["seen"], run.settings.size]}


def inner() -> Workflow[Seen, Inner, Seen, Seen]:
    return Workflow(Seen, Inner).add_node(note).add_edge(START, "note").add_edge("note", END)  # type: ignore[return-value]


def outer() -> Workflow[Seen, Outer, Seen, Seen]:
    builder: Workflow[Seen, Outer, Seen, Seen] = Workflow(Seen, Outer)
    builder.add_node(note)
    builder.add_node("inner", inner().compile())
    builder.add_edge(START, "note")
    builder.add_edge("note", "inner")
    return builder


@pytest.fixture
def _ada(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A role in the library of the environment."""
    small_role(tmp_path)
    monkeypatch.setenv("DRAMATURG_LIBRARY", str(tmp_path))


@pytest.mark.usefixtures("_ada")
@pytest.mark.parametrize(
    ("given", "sizes"),
    [(None, [2, 2]), ({}, [2, 2]), ({"size": 5}, [5, 5]), (Outer(size=7, role="ada"), [7, 7])],
)
async def test_nodes_and_subgraphs_have_the_settings_of_the_run(given: Any, sizes: list[int]) -> None:
    if isinstance(given, dict):
        given = {"role": "ada", **given}
    graph = outer().compile()
    if given is None:
        graph = outer_of_ada().compile()
    assert (await graph.ainvoke({"seen": []}, context=given))["seen"] == sizes


def outer_of_ada() -> Workflow[Seen, Any, Seen, Seen]:
    class Ada(Outer):
        role: str = "ada"

    builder: Workflow[Seen, Any, Seen, Seen] = Workflow(Seen, Ada)
    builder.add_node(note)
    builder.add_node("inner", inner().compile())
    builder.add_edge(START, "note")
    builder.add_edge("note", "inner")
    return builder


@pytest.mark.usefixtures("_ada")
async def test_a_subgraph_by_itself_has_its_own_defaults() -> None:
    assert (await inner().compile().ainvoke({"seen": []}, context=Inner(role="ada")))["seen"] == [1]


def test_a_graph_is_a_workflow_also_with_another_configuration() -> None:
    compiled = outer().compile(name="outer")
    assert isinstance(compiled, CompiledStateGraph)
    assert type(compiled.with_config({"tags": ["a"]})) is type(compiled)


async def test_a_router_of_ones_own_may_block() -> None:
    seen = set[int]()

    def way(state: Seen) -> str:
        seen.add(threading.get_ident())
        return END

    way.__module__ = "flows.made_up"
    builder: Workflow[Seen, Outer, Seen, Seen] = Workflow(Seen, Outer)
    builder.add_node("begin", begin).add_edge(START, "begin").add_conditional_edges("begin", way, {END: END})
    assert (await builder.compile().ainvoke({"seen": [1]}))["seen"] == [1]
    assert threading.get_ident() not in seen


async def begin(state: Seen) -> dict[str, Any]:
    return {"seen": state["seen"]}


def test_a_run_without_an_event_loop_has_the_defaults_too() -> None:
    def size(state: Seen, runtime: Runtime[Any]) -> dict[str, Any]:
        return {"seen": [settings(runtime, Inner).size]}

    builder: Workflow[Seen, Outer, Seen, Seen] = Workflow(Seen, Outer)
    builder.add_node(size)
    builder.add_edge(START, "size")
    assert builder.compile().invoke({"seen": []}) == {"seen": [2]}


@pytest.mark.usefixtures("_ada")
async def test_each_run_opens_its_role_and_a_changed_context_is_another(tmp_path: Path) -> None:
    graph, context = inner().compile(), Inner(role="ada")
    await graph.ainvoke({"seen": []}, context=context)
    (tmp_path / "ada").rename(tmp_path / "bea")
    with pytest.raises(UnknownRole):
        await graph.ainvoke({"seen": []}, context=context)
    small_role(tmp_path)
    changed = CompiledWorkflow._context(graph, context)  # type: ignore[arg-type]
    assert (await run_of(changed)).role is (await run_of(changed)).role
    assert (await run_of(changed.model_copy(update={"role": "bea"}))).role.id == "bea"


async def test_a_node_whose_settings_the_context_lacks_says_so() -> None:
    class Other(RoleContext):
        pass

    with pytest.raises(TypeError, match="The context Other lacks settings of a node: inherit Inner too"):
        settings(Runtime(context=Other()), Inner)


@pytest.mark.parametrize("name", SERVED)
def test_every_graph_has_its_own_defaults_without_a_context(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph: Any = SERVED[name]
    seen: list[Any] = []
    monkeypatch.setattr(CompiledStateGraph, "astream", lambda self, *args, context=None, **given: seen.append(context))
    graph.astream({})
    graph.astream({}, context={})
    graph.astream({}, context=graph.context_schema())
    assert all(type(one) is graph.context_schema for one in seen)
    assert seen[0].model_dump() == seen[1].model_dump() == seen[2].model_dump()


class Asked(TypedDict, total=False):
    seen: list[Any]
    answer: str


async def test_a_thread_that_stopped_before_a_node_that_is_gone_goes_on_at_its_successor() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    def before(state: Asked) -> Asked:
        return {"seen": [*state.get("seen", []), "before"]}

    def waits(state: Asked) -> Asked:
        return {"seen": [*state["seen"], "old", interrupt("?")]}

    def goes_on(state: Asked) -> Asked:
        return {"seen": [*state["seen"], "new"]}

    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "one"}}
    old = StateGraph(Asked).add_node(before).add_node("old", waits).add_edge(START, "before").add_edge("before", "old")
    await old.compile(checkpointer=saver).ainvoke({}, thread)  # type: ignore[arg-type]
    renewed: Workflow[Asked, Any, Asked, Asked] = Workflow(Asked, RoleContext)
    renewed.former_nodes = {"old": "new"}
    renewed.add_node(before)
    renewed.add_node("new", goes_on)
    renewed.add_edge(START, "before")
    renewed.add_edge("before", "new")
    graph = renewed.compile(checkpointer=saver)
    assert (await graph.aget_state(thread)).next == ("new",)  # type: ignore[arg-type]
    assert (await graph.ainvoke(None, thread))["seen"] == ["before", "new"]  # type: ignore[arg-type]
    assert (await graph.aget_state(thread)).next == ()  # type: ignore[arg-type]
    assert (await graph.ainvoke({}, thread))["seen"] == ["before", "new", "before", "new"]  # type: ignore[arg-type]


async def test_what_a_node_of_ones_own_writes_and_the_state_does_not_keep_is_refused() -> None:
    class Wider(Seen):
        weather: str

    async def look_outside(state: Seen) -> dict[str, Any]:
        return {"wether": "hail"}

    builder = inner()
    builder.change(after={"note": look_outside})
    with pytest.raises(ValueError, match="The node 'look_outside' writes 'wether', and the state has no such channel"):
        await builder.compile().ainvoke({"seen": []})

    async def look(state: Seen) -> dict[str, Any]:
        return {"weather": "hail"}

    builder = inner()
    builder.change(after={"note": look}, state=Wider)
    assert (await builder.compile().ainvoke({"seen": []}, output_keys=["weather"])) == {"weather": "hail"}
    without = inner()
    without.change(after={"note": look})
    with pytest.raises(ValueError, match="Declare it in a class that inherits Seen"):
        await without.compile().ainvoke({"seen": []})
