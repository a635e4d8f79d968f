"""Methods that are changed node by node: one in another's place, one between two, a state and settings of one's own."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END
from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.json_lines import exported, imported
from dramaturg.nodes.part import part
from dramaturg.nodes.run import open_run
from dramaturg.nodes.turn import TurnOutput
from dramaturg.testing import ScriptedChatModel, WordEmbeddings, write_role
from dramaturg.workflows import amadeus, vanilla
from dramaturg.workflows.methods import METHODS, chat_graph, context_type

ASKED: Any = {"messages": [("user", "Do storms frighten you?")]}


class LoudContext(vanilla.VanillaContext):
    """One more setting."""

    marks: int = Field(default=1, ge=0, le=9, description="Exclamation marks.")


class LoudState(vanilla.VanillaState):
    """One more channel."""

    louder: str


async def louder(state: LoudState, runtime: Runtime[LoudContext]) -> dict[str, Any]:
    """Say it louder."""
    run = await open_run(runtime, LoudContext)
    text = state["messages"][-1].text + "!" * run.settings.marks
    return {"louder": text, "evidence": {"louder": text}}


def given(library: Path, **more: Any) -> dict[str, Any]:
    model = ScriptedChatModel()
    return {"role": "ada", "library": str(library), "chat_model": model, "embedding_model": WordEmbeddings(), **more}


async def test_a_node_between_two_with_settings_and_a_channel_of_its_own(tmp_path: Path) -> None:
    write_role(tmp_path)
    builder = vanilla.build(after={"respond_by_name": louder}, state=LoudState, context=LoudContext)
    graph = builder.compile(name="loud")
    assert graph.get_context_jsonschema()["properties"]["marks"]["description"] == "Exclamation marks."
    output = await graph.ainvoke(ASKED, context=LoudContext(**given(tmp_path, marks=2, window=2)))
    assert output["evidence"]["louder"] == "Very well.!!"
    assert (await graph.ainvoke(ASKED, context=given(tmp_path)))["evidence"]["louder"] == "Very well.!"
    assert {("respond_by_name", "louder"), ("louder", "keep_talk")} <= builder.edges
    assert ("respond_by_name", "keep_talk") not in builder.edges


async def test_a_channel_of_ones_own_is_kept_whatever_a_former_one_was_called(tmp_path: Path) -> None:
    write_role(tmp_path)

    class NotedState(amadeus.AmadeusState):
        note: str
        stale: int

    async def note(state: NotedState) -> dict[str, Any]:
        return {"note": f"{state.get('note', '')}.", "stale": state.get("stale", 0) + 1}

    builder = amadeus.build(after={"speak": note}, state=NotedState)
    context = amadeus.AmadeusContext(**given(tmp_path))
    one, other = (Conversation(builder, InMemorySaver(), context, name) for name in ("one", "other"))
    for _ in range(2):
        await one.take_turn("Do storms frighten you?")
    await imported(other, [line async for line in exported(one)])
    for talk in (one, other):
        values = await talk.values()
        assert (values["note"], values["stale"]) == ("..", 2)


async def test_a_graph_or_a_part_between_two_goes_by_the_name_of_the_graph(tmp_path: Path) -> None:
    write_role(tmp_path)
    grounds = amadeus.build_grounds().compile(name="grounds")
    for between in (grounds, part(grounds)):
        builder = vanilla.build(after={"read_turn": between})
        assert ("read_turn", "grounds") in builder.edges
        output = await builder.compile().ainvoke(ASKED, context=amadeus.AmadeusContext(**given(tmp_path)))
        assert output["messages"][-1].text == "Very well."


async def test_another_node_in_the_place_of_one(tmp_path: Path) -> None:
    write_role(tmp_path)

    async def nothing(state: amadeus.AmadeusState) -> dict[str, Any]:
        return {"attributes": []}

    graph = amadeus.build(replace={"extract_attributes": nothing}).compile()
    context = amadeus.AmadeusContext(**given(tmp_path))
    output = await graph.ainvoke(ASKED, context=context)
    assert output["messages"][-1].text == "Very well."
    assert output["evidence"]["role_memory"] == []
    assert "extract_attributes" not in output["usage"]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", METHODS)
async def test_every_method_can_be_changed_and_plays_on(name: str, tmp_path: Path) -> None:
    write_role(tmp_path)
    seen: list[str] = []

    async def look(state: TurnOutput) -> dict[str, Any]:
        seen.append(str(state["messages"][-1].text))
        return {}

    builder: Any = chat_graph(name)
    last = sorted({start for start, end in builder.edges if end == END} & set(builder.nodes))
    build = import_module(f"dramaturg.workflows.{METHODS[name]}").build
    kind: Any = type("Kind", (context_type(name),), {})
    graph = build(after={"read_turn": look}, context=kind).compile()
    output = await graph.ainvoke(ASKED, context=kind(**given(tmp_path)))
    assert output["messages"][-1].type == "ai"
    assert (seen, bool(last)) == (["Do storms frighten you?"], True)
    changed: Any = graph.builder
    assert {end for start, end in changed.edges if start == "read_turn"} == {"look"}


def test_who_names_the_function_of_a_node_is_told_its_node() -> None:
    with pytest.raises(ValueError, match="the function of this name is its node 'draft'"):
        amadeus.build(replace={"draft_with_attributes": louder})
    with pytest.raises(ValueError, match="did you mean 'draft_with_attributes' or"):
        amadeus.build(replace={"draft_with_atributes": louder})


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"replace": {"respond_by_nam": louder}}, "no node 'respond_by_nam'; did you mean 'respond_by_name'"),
        ({"after": {"moon": louder}}, "The graph has no node 'moon'."),
        (
            {"after": {"read_turn": vanilla.respond_by_name}},
            "a node 'respond_by_name' already",
        ),
        ({"replace": {"respond_by_name": "x"}}, "at 'respond_by_name' is no node: give a coroutine function"),
        (
            {"state": TurnOutput},
            "TurnOutput lacks question, recalled_talk, summary, talk_head, window: inherit VanillaState.",
        ),
        ({"context": amadeus.AmadeusContext}, "AmadeusContext lacks settings of the graph: inherit VanillaContext."),
    ],
)
def test_a_change_that_cannot_be_made_says_why(changes: dict[str, Any], error: str) -> None:
    with pytest.raises((ValueError, TypeError), match=error):
        vanilla.build(**changes)


@pytest.mark.parametrize("name", METHODS)
def test_whoever_changes_what_is_built_changes_no_other(name: str) -> None:
    build: Any = import_module(f"dramaturg.workflows.{METHODS[name]}").build
    before = build().compile().get_graph().to_json()
    mine = build()
    mine.add_node("mine", louder)
    start, end = next((start, end) for start, end in mine.edges)
    mine.edges.remove((start, end))
    mine.add_edge(start, "mine")
    mine.add_conditional_edges("mine", lambda _: end, [end])
    next(iter(mine.branches.values())).clear()
    assert "mine" in mine.nodes
    assert build().compile().get_graph().to_json() == before
