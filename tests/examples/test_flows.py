"""The flows of docs/how-to/composing.md: as short as they are said to be, and they run."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.nodes.open_settings import mark
from dramaturg.testing import Rule, ScriptedChatModel, WordEmbeddings, write_role

from commands import Command
from fakes import ScriptedChatModel as ScriptedFake
from flow_models import answered
from stub_endpoint import Endpoint

FLOWS = Path(__file__).parents[2] / "examples" / "flows"
MOST = {"all_five": 80, "own_judge": 20, "two_roles": 40, "weather": 45}
THREAD: Any = {"configurable": {"thread_id": "t"}}
ASKED: Any = {"messages": [("user", "Do storms frighten you?")]}


async def played(name: str, library: Path, model: ScriptedChatModel, **given: Any) -> list[dict[str, Any]]:
    """Two turns of a flow."""
    write_role(library)
    write_role(library, "ben", name="Ben Gunn")
    graph = import_module(f"dramaturg.examples.flows.{name}").build().compile(InMemorySaver(), store=InMemoryStore())
    told = {"role": "ada", "library": str(library), "chat_model": model, "embedding_model": WordEmbeddings()}
    context = graph.context_schema(**told, **given)
    return [await graph.ainvoke(ASKED, THREAD, context=context) for _ in range(2)]


def test_there_are_these_flows_and_they_are_short() -> None:
    found = {one.stem: len(one.read_text(encoding="utf-8").splitlines()) for one in FLOWS.glob("[!_]*.py")}
    assert set(found) == set(MOST)
    assert {name: lines for name, lines in found.items() if lines > MOST[name]} == {}


@pytest.mark.parametrize("name", MOST)
def test_the_page_shows_the_flow_as_it_is(name: str) -> None:
    shown = f"```python\n{(FLOWS / f'{name}.py').read_text(encoding='utf-8').rstrip()}\n```"
    assert shown in (FLOWS.parents[1] / "docs" / "how-to" / "composing.md").read_text(encoding="utf-8")


async def test_all_five_methods_find_something_for_one_reply(tmp_path: Path) -> None:
    _, output = await played("all_five", tmp_path, ScriptedChatModel())
    assert {"selection", "entities", "memories", "relations", "identity", "gate", "verification"} <= set(
        output["evidence"]
    )
    assert [one.type for one in output["messages"]] == ["human", "ai", "human", "ai"]


async def test_a_judge_and_a_node_of_ones_own(tmp_path: Path) -> None:
    _, output = await played("own_judge", tmp_path, model := ScriptedChatModel())
    assert {one["headings"][-1] for one in output["evidence"]["selection"]["selected"]} == {"Nature"}
    assert not any(call.kinds == ("decide",) for call in model.calls)
    assert len(output["evidence"]["attributes"]) <= 2


async def test_one_more_fact_stands_beside_what_the_method_finds_and_the_draft_is_verified(tmp_path: Path) -> None:
    model = ScriptedChatModel(rules=[Rule("How well the line fits", {"reason": "So.", "score": 5}, kind="extract")])
    _, output = await played("weather", tmp_path, model, weather="It hails.", verify=True)
    (said,) = {call.text for call in model.calls[-4:] if call.kinds == ("write",)}
    assert "<weather>\nIt hails.\n</weather>" in said
    assert "<knowledge>" in said
    assert [one["score"] for one in output["evidence"]["drafts"]] == [5]


async def test_two_roles_talk_until_it_is_the_users_turn(tmp_path: Path) -> None:
    _, output = await played("two_roles", tmp_path, ScriptedChatModel(), other="ben")
    assert [one.name for one in output["messages"]] == [None, "ada", "ben", "ada", "ben"] * 2


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", MOST)
def test_a_flow_is_asked_by_its_name(name: str, run: Command, stub: Endpoint, tmp_path: Path) -> None:
    write_role(tmp_path, "ben", name="Ben Gunn")
    stub.model = ScriptedFake(reply=answered)
    other = ["--set", "other=ben"] if name == "two_roles" else []
    method = f"dramaturg.examples.flows.{name}:build"
    assert run("index", "ada", "--method", method, *other)[0] == 0
    code, answer, error = run("ask", "ada", "Who are you?", "--method", method, *other)
    assert (code, "I keep the light." in answer) == (0, True), error


def test_each_line_of_a_scene_is_told_with_its_speaker(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    write_role(tmp_path, "ben", name="Ben Gunn")
    stub.model = ScriptedFake(reply=answered)
    asked = (
        "ask",
        "ada",
        "Who?",
        "--method",
        "dramaturg.examples.flows.two_roles:build",
        "--set",
        "other=ben",
        "--json",
    )
    told = json.loads(run(*asked)[1])
    assert [one["name"] for one in told["lines"]] == ["ada", "ben", "ada", "ben"]
    assert told["reply"] == told["lines"][-1]["text"]


@pytest.mark.parametrize("name", MOST)
def test_every_setting_of_a_flow_says_whether_a_caller_of_a_server_may_set_it(name: str) -> None:
    context = import_module(f"dramaturg.examples.flows.{name}").build().context_schema
    assert [one for one, field in context.model_fields.items() if mark(field) is None] == []
