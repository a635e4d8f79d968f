"""The page of nodes is what their code says, and their code says what they do when they run."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from dramaturg.models.questions import write
from dramaturg.nodes.run import RoleContext, open_run
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library_folder import Library
from dramaturg.stores.texts.draft import CastDraft
from dramaturg.stores.texts.reading import read_sent
from dramaturg.workflows import cast, riverbend

import node_facts
from fakes import scripted
from node_facts import Facts
from nodes_page import PAGE, entries, entry, page, wired
from roles import run_settings, small_role
from scope_roles import MOON, player, reasoned, scoped
from served_graphs import GRAPHS
from townspeople import townspeople, world_settings

Seen = dict[Callable[..., Any], Facts]
"""What each node did or does."""
TALK = [HumanMessage("Who are you?"), AIMessage("Ada."), HumanMessage("Storms?")]
OFTEN: dict[str, Any] = {"verify": True, "window": 2, "alpha": 4, "memory_length": 200}


class Watched(dict[str, Any]):
    """A state that notes what is read of it."""

    def __init__(self, state: Any, facts: Facts) -> None:
        super().__init__(state)
        self.facts = facts

    def __getitem__(self, name: str) -> Any:
        self.facts.needs.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.facts.may_read.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.facts.may_read.add(name)
        return super().get(name, default)


def calls_in(written: dict[str, Any]) -> int:
    """How often a node asked the chat model, by its account."""
    usage = written.get("usage", {})
    return 0 if isinstance(usage, Overwrite) else sum(one["calls"] for one in usage.values())


def watched(builder: Any, seen: Seen) -> Any:
    """A graph whose nodes note what they do."""
    for name, one in builder.nodes.items():  # which all builders of the graph share
        if (node := getattr(one.runnable, "afunc", None)) in wired():
            runnable = copy(one.runnable)
            runnable.afunc = watching(node, seen)
            builder.nodes[name] = replace(one, runnable=runnable)
    return builder.compile()


def watching(node: Callable[..., Any], seen: Seen) -> Callable[..., Any]:
    """A node that notes what it reads, writes and streams."""

    async def watched_node(state: Any, **given: Any) -> Any:
        facts = seen.setdefault(node, Facts())

        def streamed(event: Any) -> None:
            facts.events.add(event["event"])
            write(event)

        if runtime := given.get("runtime"):
            write = runtime.stream_writer
            given["runtime"] = runtime.override(stream_writer=streamed)
        written = await node(Watched(state, facts), **given)
        facts.writes.update(written or {})
        facts.asks |= {"something"} if calls_in(written or {}) else set()
        return written

    return watched_node


@pytest.fixture(scope="module")
def known() -> Seen:
    """What the page says of each node."""
    nodes, _ = entries()
    return {one.function: one.facts for one in nodes}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "Run `make docs`."


@pytest.mark.sample(8)
@pytest.mark.parametrize("often", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
async def test_the_page_has_all_that_a_node_does(name: str, often: bool, tmp_path: Path, known: Seen) -> None:
    small_role(tmp_path)
    seen: Seen = {}
    graph = watched(import_module(f"dramaturg.workflows.{name}").build(), seen)
    found = [MOON, scoped("Tom"), scoped("friends", level="general")] if often else []
    model = player(*found, verdict="yes" if often else "no", line=reasoned(2 if often else 5))
    settings = {key: value for key, value in OFTEN.items() if often and key in graph.context_schema.model_fields}
    context = graph.context_schema(**run_settings(tmp_path, model, **settings))
    given: Any = {"rebuild": True} if name.endswith("_index") else {"messages": TALK}
    await graph.ainvoke(given, context=context)
    hold(seen, known)


async def test_the_page_has_all_that_a_simulation_does(tmp_path: Path, known: Seen) -> None:
    seen: Seen = {}
    graph = watched(riverbend.build(), seen)
    await graph.ainvoke({}, context=graph.context_schema(**world_settings(tmp_path, townspeople(), steps=1)))
    hold(seen, known)


async def test_the_page_has_all_that_casting_does(tmp_path: Path, known: Seen) -> None:
    seen: Seen = {}
    role = Library(tmp_path).create("ada", RoleCard(name="Ada"))
    CastDraft(role.root).add_texts([read_sent("lamp.md", b'# The lamp\n\n"It burns," said Ada.\n')])
    graph = watched(cast.build(), seen)
    model = scripted('{"told": [{"sentence": 1, "kind": "who"}]}', '{"episodes": []}', '{"triples": []}', "{}")
    context = graph.context_schema(role="ada", library=str(tmp_path), chat_model=model)
    await graph.ainvoke({}, context=context)
    hold(seen, known)


def hold(seen: Seen, known: Seen) -> None:
    """Hold what nodes did against what the page says."""
    assert len(seen) >= 2
    for node, did in seen.items():
        said = known[node]
        read, may_read = did.needs | did.may_read, said.needs | said.may_read
        assert read <= may_read, (node, read - may_read)
        assert did.writes <= said.writes, (node, did.writes - said.writes)
        assert did.events <= said.events, (node, did.events - said.events)
        assert bool(did.asks) <= bool(said.asks - {"embed"} or said.runs), node


class Lights(RoleContext):
    lamps: int = 1


class Night(TypedDict, total=False):
    hour: int
    ships: list[str]
    lit: bool
    log: dict[str, Any]


def written(hour: int) -> dict[str, Any]:
    return {"log": {"hour": hour}}


def ships_of(night: Night) -> list[str]:
    return night.get("ships", [])


def announce(runtime: Runtime[Any], event: str) -> None:
    runtime.stream_writer({"event": event})


async def keep_watch(state: Night, runtime: Runtime[Any]) -> dict[str, Any]:
    run = await open_run(runtime, Lights)
    announce(runtime, "watching")
    lit: dict[str, Any] = {"lit": True}
    if ships_of(state):
        lit["ships"] = [await write(run.chat, [])]
    return {**written(state["hour"]), **lit}


def test_what_a_node_does_is_found_in_the_functions_that_it_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_facts, "HOUSES", (__name__,))
    found = entry(keep_watch).facts
    assert (found.needs, found.may_read) == ({"hour"}, {"ships"})
    assert found.writes == {"log", "lit", "ships"}
    assert (found.events, found.settings, found.asks) == ({"watching"}, {Lights}, {"write"})


def test_every_node_and_router_of_a_graph_is_on_the_page() -> None:
    named = {one.function for found in entries() for one in found}
    assert wired().keys() <= named
