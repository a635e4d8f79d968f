"""What holds for every workflow: drawn as expected, nodes write only declared keys, settings are described."""

from pathlib import Path
from typing import Any, get_type_hints

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from syrupy.assertion import SnapshotAssertion

from dramaturg.nodes.turn import TurnOutput
from dramaturg.workflows import naive_rag
from dramaturg.workflows.methods import INDEXES, METHODS, chat_graph, context_type, preparations

from roles import actor, run_settings, small_role
from scope_roles import MOON, player, scoped
from served_graphs import ENTRIES, GRAPHS, SERVED, bounded


@pytest.mark.parametrize("name", SERVED)
def test_a_graph_as_it_is_drawn(name: str, snapshot: SnapshotAssertion) -> None:
    assert SERVED[name].get_graph(xray=True).draw_mermaid() == snapshot


@pytest.mark.parametrize("name", SERVED)
def test_a_graph_is_served_under_its_module(name: str) -> None:
    assert ENTRIES[name]["path"] == f"dramaturg.workflows.{name}:graph"
    assert ENTRIES[name]["description"]
    assert SERVED[name].name == name
    assert SERVED[name].checkpointer is None


def test_every_method_is_served_and_what_prepares_it() -> None:
    graphs = {*METHODS.values(), *INDEXES}
    assert graphs <= set(GRAPHS)


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("verdict", [True, False])
async def test_every_key_that_a_node_writes_is_a_channel(name: str, verdict: bool, tmp_path: Path) -> None:
    small_role(tmp_path)
    talk = [HumanMessage("Who are you?"), AIMessage("Ada."), HumanMessage("Storms?")]
    index = name.endswith("_index")
    given: Any = {"rebuild": True} if index else {"messages": talk}
    window = {} if index else {"window": 2}
    model = (
        player(MOON, scoped("Tom"), scoped("friends", level="general"), verdict="yes")
        if verdict
        else player(verdict="no")
    )
    context_schema: Any = GRAPHS[name].context_schema
    context = context_schema(**run_settings(tmp_path, model, **window))
    nodes = set()
    async for part in GRAPHS[name].astream(given, context=context, stream_mode="updates"):
        for node, written in part.items():
            nodes.add(node)
            assert set(written or {}) <= set(get_type_hints(GRAPHS[name].builder.state_schema)), node
    assert len(nodes) >= 3
    assert ("summarize" in nodes) == (bool(window) and "summarize" in GRAPHS[name].builder.nodes)


@pytest.mark.parametrize("name", SERVED)
def test_every_setting_is_described_and_bounded(name: str) -> None:
    schema = SERVED[name].get_context_jsonschema()
    for setting, field in schema["properties"].items():
        assert field.get("description"), setting
        assert bounded(field), setting


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", METHODS)
async def test_a_method_is_a_part_of_another_graph(name: str, tmp_path: Path) -> None:
    small_role(tmp_path)
    builder = StateGraph(TurnOutput, context_schema=context_type(name))
    builder.add_node("play", chat_graph(name).compile())
    builder.add_edge(START, "play")
    context = context_type(name)(**run_settings(tmp_path, player(scoped("Tom"))))
    output = await builder.compile().ainvoke({"messages": [HumanMessage("Storms?")]}, context=context)
    assert output["messages"][-1].text
    assert output["usage"]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_found_by_its_name(name: str) -> None:
    assert {"messages", "evidence", "usage"} == set(chat_graph(name).compile().get_output_jsonschema()["properties"])
    assert context_type(name)().role == "beethoven"


@pytest.mark.parametrize("name", METHODS)
def test_a_role_is_prepared_for_a_method_that_needs_it(name: str) -> None:
    context = context_type(name)()
    found = preparations(name, context)
    assert len(found) == {"id-rag": 0, "profile": 0, "vanilla": 0, "ensemble": 4}.get(name, 1)
    for one in found.values():
        written = one.graph.get_output_jsonschema()["properties"]
        assert {name for name in written if not name.endswith("_version")} == {"index", "version"}
        assert (one.takes("rebuild"), one.takes("reply")) == (True, False)
        assert one.context is context or name == "ensemble"


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match="no method 'amadeuz'; there are: amadeus"):
        chat_graph("amadeuz")


async def test_naive_rag_answers_from_the_nearest_fixed_passages(tmp_path: Path) -> None:
    small_role(tmp_path)
    model = actor()
    context = naive_rag.NaiveRagContext(**run_settings(tmp_path, model, fixed_length=120, fixed_overlap=10))
    output = await naive_rag.graph.ainvoke({"messages": [HumanMessage("Storms?")]}, context=context)
    assert output["messages"][-1].text == "I keep the light."
    assert len(model.calls) == 1
    assert len(output["evidence"]["knowledge"]) == 3
    assert all(len(passage["text"]) <= 120 for passage in output["evidence"]["knowledge"])
    assert set(output["usage"]) == {"respond_from_knowledge"}


@pytest.mark.sample(8)
@pytest.mark.parametrize("before", [[], [HumanMessage("Who are you?"), AIMessage("Ada.")]], ids=["first", "later"])
@pytest.mark.parametrize("name", METHODS)
async def test_what_an_interrupted_run_left_unanswered_is_joined_to_the_question(
    name: str, before: list[Any], tmp_path: Path
) -> None:
    small_role(tmp_path)
    model = player(MOON, scoped("Tom"))
    context = context_type(name)(**run_settings(tmp_path, model))
    messages = [*before, HumanMessage("Is it cold?"), HumanMessage("Storms?")]
    output = await chat_graph(name).compile().ainvoke({"messages": messages}, context=context)
    assert [one.type for one in output["messages"]] == [*(one.type for one in messages), "ai"]
    for call in model.calls:
        if call.schema is not None:  # a question for an answer in a format shows no messages of the conversation
            continue
        speakers = [one.type for one in call.messages if one.type != "system"]
        assert speakers == ["human", "ai"] * (len(speakers) // 2) + ["human"]
    assert any("Is it cold?" in call.text and "Storms?" in call.text for call in model.calls)


@pytest.mark.parametrize(("name", "knowledge"), [("vanilla", "none"), ("profile", "profile")])
async def test_a_baseline_says_what_it_answers_from(name: str, knowledge: str, tmp_path: Path) -> None:
    small_role(tmp_path)
    context = context_type(name)(**run_settings(tmp_path, actor()))
    stream = GRAPHS[name].astream({"messages": [HumanMessage("Storms?")]}, context=context, stream_mode="custom")
    assert [event async for event in stream] == [{"event": "responding", "knowledge": knowledge}]
