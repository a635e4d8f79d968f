"""Methods and nodes as parts of another graph: whose settings hold, what they remember, what they give back."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.conversations.why import why
from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.part import PartState, heard, part, part_context
from dramaturg.nodes.reply import ReplySettings
from dramaturg.nodes.run import RoleContext, RunContext, open_run, settings
from dramaturg.nodes.turn import TurnInput, TurnOutput
from dramaturg.nodes.wish import WISH
from dramaturg.nodes.workflow import Workflow
from dramaturg.testing import Rule, ScriptedChatModel, WordEmbeddings, write_role
from dramaturg.workflows import amadeus, profile, vanilla

from roles import fenced

THREAD: Any = {"configurable": {"thread_id": "t"}}


class SceneContext(RoleContext):
    """Who plays the second role."""

    other: str = Field(default="ben", description="The second role.")


class SceneState(TurnOutput, PartState):
    """A scene of two."""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    write_role(tmp_path)
    write_role(tmp_path, "ben", name="Ben Gunn", profile="He has been alone for long.")
    return tmp_path


def told(library: Path, model: Any, **given: Any) -> dict[str, Any]:
    return {"library": str(library), "chat_model": model, "embedding_model": WordEmbeddings(), "role": "ada"} | given


def scene(one: Any, other: Any) -> Workflow[Any, Any, Any, Any]:
    """A line of one role, then a line of another."""
    builder = Workflow(SceneState, SceneContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.add_node("one", one)
    builder.add_node("other", other)
    builder.add_edge(START, "one")
    builder.add_edge("one", "other")
    builder.add_edge("other", END)
    return builder


def two(**given: Any) -> Workflow[Any, Any, Any, Any]:
    return scene(part(amadeus.graph, given), part(vanilla.graph, lambda outer: {"role": outer.other}))


def said(*lines: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(line) for line in lines]}


async def test_each_hears_the_other_and_gives_back_its_reply_alone(library: Path) -> None:
    model = ScriptedChatModel(
        rules=[Rule("You are Ben", "I am Ben."), Rule("I am Ada.", "I am Ben.")], write="I am Ada."
    )
    output = await two(slots=1).compile().ainvoke(said("Who are you?"), context=SceneContext(**told(library, model)))
    assert [(one.name, one.text) for one in output["messages"]] == [
        (None, "Who are you?"),
        ("ada", "I am Ada."),
        ("ben", "I am Ben."),
    ]
    assert set(output["evidence"]) == {"one", "other"}
    assert len(output["evidence"]["one"]["selection"]["selected"]) == 1
    assert {name.partition(".")[0] for name in output["usage"]} == {"one", "other"}
    assert sum(used["calls"] for used in output["usage"].values()) == len(model.calls)
    assert "ada: I am Ada." in model.calls[-1].text


async def test_a_wish_comes_to_every_part_that_speaks_in_its_turn(library: Path) -> None:
    graph = two().compile(InMemorySaver())
    context = SceneContext(**told(library, model := ScriptedChatModel()))
    asked = HumanMessage("Who are you?", additional_kwargs={WISH: "in rhyme"})
    output = await graph.ainvoke({"messages": [asked]}, THREAD, context=context)
    assert [fenced("wish", call.text) for call in model.calls if "Answer aloud" in call.text] == ["in rhyme"] * 2
    assert why(output["evidence"]).endswith("the wish was “in rhyme”.")
    assert "rhyme" not in str((await graph.aget_state(THREAD)).values["parts"])
    model.calls.clear()
    await graph.ainvoke(said("And now?"), THREAD, context=context)
    assert not any("rhyme" in call.text for call in model.calls)


async def test_each_keeps_its_own_memory_on_its_own_branch(library: Path) -> None:
    graph = two().compile(InMemorySaver())
    context = SceneContext(**told(library, model := ScriptedChatModel()))
    await graph.ainvoke(said("First?"), THREAD, context=context)
    before = (await graph.aget_state(THREAD)).config
    await graph.ainvoke(said("Second?"), THREAD, context=context)
    values = (await graph.aget_state(THREAD)).values["parts"]
    assert [one["data"]["content"] for one in values["one"]["messages"] if one["type"] == "human"] == [
        "First?",
        "ben: Very well.\nSecond?",
    ]
    assert values["one"]["role_memory"]
    model.calls.clear()
    await graph.ainvoke(said("Instead?"), before, context=context)
    assert not any("Second?" in call.text for call in model.calls)
    values = (await graph.aget_state(THREAD)).values["parts"]
    assert "Second?" not in str(values)
    assert "First?" in str(values)


async def test_a_turn_that_stopped_in_a_part_goes_on_there(library: Path) -> None:
    graph = two().compile(InMemorySaver())
    model = ScriptedChatModel(
        errors={4: ModelUnavailable("away"), 5: ModelUnavailable("away"), 6: ModelUnavailable("away")}
    )
    context = SceneContext(**told(library, model, attempts=1))
    with pytest.raises(ModelUnavailable):
        await graph.ainvoke(said("Who are you?"), THREAD, context=context)
    asked = [call.text for call in model.calls]
    model.errors = {}
    output = await graph.ainvoke(None, THREAD, context=context)
    assert [one.name for one in output["messages"]] == [None, "ada", "ben"]
    again = [call.text for call in model.calls[len(asked) :]]
    assert not set(again) & set(asked[:3])


async def test_models_library_and_language_are_those_of_the_graph_around_it(library: Path) -> None:
    model, own = ScriptedChatModel(), ScriptedChatModel(write="Mine.")
    graph = scene(part(profile.graph), part(profile.graph, {"chat_model": own, "role": "ben"})).compile()
    context = SceneContext(**told(library, model, language="zh"))
    output = await graph.ainvoke(said("Who are you?"), context=context)
    assert [one.text for one in output["messages"][1:]] == ["Very well.", "Mine."]
    assert "你就是Ada Quill" in model.calls[0].text
    assert "你就是Ben Gunn" in own.calls[0].text


async def test_a_node_runs_under_settings_of_its_own(library: Path) -> None:
    seen: list[tuple[float, str]] = []

    async def look(state: TurnOutput, runtime: Runtime[Any]) -> dict[str, Any]:
        run = await open_run(runtime, ReplySettings)
        seen.append((run.settings.temperature, run.role.id))
        return {}

    builder = Workflow(TurnOutput, vanilla.VanillaContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.add_node("plain", look)
    builder.add_node("warm", part(look, {"temperature": 1.5}))
    builder.add_node("ben", part(look, vanilla.VanillaContext(role="ben", temperature=0.1)))
    builder.add_edge(START, "plain")
    builder.add_edge("plain", "warm")
    builder.add_edge("warm", "ben")
    context = vanilla.VanillaContext(**told(library, ScriptedChatModel(), temperature=0.7))
    await builder.compile().ainvoke(said("Who?"), context=context)
    assert seen == [(0.7, "ada"), (1.5, "ada"), (0.1, "ben")]


async def test_what_is_unknown_or_missing_is_named(library: Path) -> None:
    context = SceneContext(**told(library, ScriptedChatModel()))
    with pytest.raises(ValueError, match=r"The part 'vanilla' has no setting 'temperatur'; did you mean 'temperature'"):
        part(vanilla.graph, {"temperatur": 1})
    graph = scene(part(vanilla.graph, lambda _: {"temperatur": 1}), part(vanilla.graph)).compile()
    with pytest.raises(ValueError, match=r"The part 'one' has no setting 'temperatur'; did you mean 'temperature'"):
        await graph.ainvoke(said("Who?"), context=context)
    with pytest.raises(ValueError, match=r"The part 'x' cannot be set so: temperature: Input should be less than"):
        part_context(vanilla.VanillaContext, {"temperature": 9}, context, "x")
    with pytest.raises(ValueError, match=r"Nobody says which role the part 'x' plays.*RunContext"):
        part_context(vanilla.VanillaContext, None, RunContext(), "x")
    with pytest.raises(TypeError, match="a compiled graph or a coroutine function, not str"):
        part("vanilla")
    with pytest.raises(TypeError, match=r"not Workflow: call compile\(\) on it"):
        part(vanilla.build())
    with pytest.raises(TypeError, match="a mapping, a context, or a function of the context around it, not str"):
        part(vanilla.graph, "temperature=1")  # type: ignore[arg-type]
    plain = StateGraph(TurnInput)
    plain.add_node("x", lambda state: {})
    plain.add_edge(START, "x")
    with pytest.raises(TypeError, match="no settings of its own"):
        part(plain.compile())


def test_several_lines_are_heard_with_their_speakers() -> None:
    lines = [
        HumanMessage("Hi."),
        AIMessage("I am Ada.", name="ada"),
        AIMessage("I am Ben.", name="ben"),
        AIMessage("Eh?", name="tom"),
    ]
    assert heard([*lines], "ada").text == "ben: I am Ben.\ntom: Eh?"
    assert heard([*lines], "jim").text == "Hi.\nada: I am Ada.\nben: I am Ben.\ntom: Eh?"
    with pytest.raises(ValueError, match="nothing for 'tom' to answer"):
        heard([*lines], "tom")


async def test_a_part_that_gathers_reads_and_writes_the_channels_around_it(library: Path) -> None:
    class Gathered(amadeus.PassagesOutput, TurnInput):
        question: str
        unrelated: str

    class Given(TurnInput):
        question: str
        unrelated: str

    builder = Workflow(Gathered, RoleContext, input_schema=Given, output_schema=Gathered)
    builder.add_node("passages", part(amadeus.build_grounds().compile(name="passages"), {"slots": 1}))
    builder.add_edge(START, "passages")
    given: Any = {**said("Storms?"), "question": "Storms?", "unrelated": "as it was"}
    output = await builder.compile().ainvoke(given, context=RoleContext(**told(library, ScriptedChatModel())))
    assert set(output["gathered"]["passages"]["texts"]) == {"attributes", "knowledge"}
    assert (output["unrelated"], len(output["evidence"]["selection"]["selected"])) == ("as it was", 1)
    assert output["role_memory"]
    assert settings(Runtime(context=None), RoleContext).role == "beethoven"
