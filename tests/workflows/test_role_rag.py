"""RoleRAG's chat graph with a scripted model: what is out of scope, specific, general, or none of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from dramaturg.nodes.graph.recall import ALL, within
from dramaturg.workflows.role_rag import RoleRagContext, build

from fakes import ScriptedChatModel
from roles import LIFE, fenced, run_settings
from scope_roles import MOON, graph_role, player, publish, scoped, shown

FRIENDS = scoped("her friends", level="general")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("library")
    graph_role(root)
    return root


@pytest.fixture
def nameless(tmp_path: Path) -> Path:
    """A library in which the graph of Ada does not name her."""
    graph_role(tmp_path, named=False)
    return tmp_path


async def answered(library: Path, model: ScriptedChatModel, question: str = "Tell me?", **settings: Any) -> Any:
    """One turn without memory."""
    context = RoleRagContext(**run_settings(library, model, **settings))
    return await build().compile().ainvoke({"messages": [("user", question)]}, context=context)


def told(model: ScriptedChatModel, name: str) -> str:
    """What the reply was told."""
    (text,) = shown(model, "reply")
    return fenced(name, text)


def found(output: Any, strategy: str) -> list[tuple[str, str]]:
    """Which entities were recalled, and how."""
    return [(one["entity"], one["how"]) for one in output["evidence"].get(strategy, [])]


async def test_what_is_out_of_scope_is_named_with_its_reason(library: Path) -> None:
    output = await answered(library, model := player(MOON), "What of Apollo 11?")
    assert set(output) == {"messages", "evidence", "usage"}
    assert (output["messages"][-1].text, output["messages"][-1].name) == ("I keep the light.", "ada")
    assert told(model, "unknown") == "- Apollo 11: Apollo 11 is of a later time."
    assert told(model, "knowledge") == "Ada Quill (character): She keeps the lighthouse."
    assert (told(model, "silent"), told(model, "told")) == ("", "")
    evidence = output["evidence"]
    assert evidence["out_of_scope"] == [{"name": "Apollo 11", "reason": "Apollo 11 is of a later time."}]
    assert [(one["relevant"], one["strategy"]) for one in evidence["entities"]] == [(False, "out of scope")]
    assert not {"specific", "general", "missing"} & set(evidence)
    assert {node: usage["calls"] for node, usage in output["usage"].items()} == {
        "hypothesize": 1,
        "scope_entities": 1,
        "keep_boundaries": 0,
        "respond_in_scope": 1,
    }


@pytest.mark.parametrize(
    ("question", "recalled"),
    [("Did Tom see Apollo 11?", ["Tom Quill"]), ("Did Tom see it?", ["Tom Quill", "Leith"])],
)
async def test_what_only_the_hypothetical_context_names_is_no_guide_to_what_cannot_be_known(
    library: Path, question: str, recalled: list[str]
) -> None:
    entities = MOON, scoped("Tom"), scoped("Leith", "location"), scoped("her friends", level="general")
    output = await answered(library, player(*entities), question)
    assert [one for one, _ in found(output, "specific")] == recalled
    assert bool(found(output, "general")) == ("Leith" in recalled)


async def test_the_scope_is_judged_from_the_profile_the_question_and_the_hypothetical_context(library: Path) -> None:
    output = await answered(library, model := player(), "And the moon?")
    (text,) = shown(model, "scope")
    closest = "the lamp, Tom Quill, Gull Rock, the log, the harbour master"
    assert fenced("profile", text) == f"A keeper of few words.\nShe keeps the lighthouse.\n{closest}"
    assert fenced("question", text) == "And the moon?"
    assert fenced("context", text) == output["evidence"]["hypothetical"] == "The lamp was trimmed at dusk."


@pytest.mark.parametrize("name", ["Tom Quill", "Tom", "HER  brother", "“Tom”"])
async def test_a_specific_entity_is_found_by_its_name_or_an_alias(library: Path, name: str) -> None:
    output = await answered(library, model := player(scoped(name)))
    assert found(output, "specific") == [("Tom Quill", "name")]
    text = "Tom Quill (character): He sails the mail boat."
    assert told(model, "knowledge").endswith(
        f"{text}\nAda Quill – Tom Quill: How Ada Quill and Tom Quill are connected."
    )
    (one,) = output["evidence"]["specific"]
    assert (one["asked"], one["score"], one["names"]) == (name, None, ["Tom Quill", "Tom", "her brother"])
    assert (one["relation"]["source"], one["relation"]["target"], one["relation"]["strength"]) == (
        "Ada Quill",
        "Tom Quill",
        9,
    )
    said = one["statements"][0]
    assert LIFE[said["start"] : said["end"]].startswith("Her brother Tom sails the mail boat")


async def test_a_specific_entity_that_the_graph_does_not_name_is_answered_by_the_nearest(library: Path) -> None:
    output = await answered(library, model := player({**scoped("the boat"), "reason": "the mail boat"}), nearest=1)
    assert found(output, "specific") == [("Tom Quill", "nearest")]
    assert output["evidence"]["specific"][0]["score"] > 0.4
    assert "How Ada Quill and Tom Quill are connected." in told(model, "knowledge")
    output = await answered(library, player(scoped("the boat")), nearest=3)
    assert len(found(output, "specific")) == 3


async def test_an_entity_that_the_role_has_no_relation_to_is_described_without_one(library: Path) -> None:
    output = await answered(library, model := player(scoped("Leith", "location")))
    assert output["evidence"]["specific"][0]["relation"] is None
    assert told(model, "knowledge").endswith("Leith (location): Flour comes from there.")
    assert "connected" not in told(model, "knowledge")


async def test_a_general_entity_is_answered_from_neighbours_of_its_type_by_strength(library: Path) -> None:
    output = await answered(library, model := player(FRIENDS))
    assert found(output, "general") == [("Tom Quill", "neighbour"), ("the harbour master", "neighbour")]
    assert "Leith" not in told(model, "knowledge")
    things = scoped("her things", "object", level="general")
    output = await answered(library, player(FRIENDS, things), general=3)
    assert [name for name, _ in found(output, "general")] == ["the lamp", "Tom Quill", "the log"]
    assert output["evidence"]["general"][0]["asked"] == "her friends, her things"


async def test_several_strategies_run_side_by_side_and_meet_in_one_reply(library: Path) -> None:
    model = player(MOON, scoped("the lamp", "object"), FRIENDS)
    context = RoleRagContext(**run_settings(library, model))
    steps: dict[str, int] = {}
    async for part in build().compile().astream({"messages": [("user", "All?")]}, context=context, stream_mode="tasks"):
        if "input" in part:
            steps[part["name"]] = steps.get(part["name"], 0) + 1
    strategies = {"note_out_of_scope", "recall_specific", "recall_general"}
    assert {name: steps.get(name, 0) for name in [*strategies, "recall_nearest", "respond_in_scope"]} == {
        **dict.fromkeys(strategies, 1),
        "recall_nearest": 0,
        "respond_in_scope": 1,
    }
    knowledge = told(model, "knowledge")
    assert all(knowledge.count(f"{name} (") == 1 for name in ("Ada Quill", "the lamp", "Tom Quill"))
    assert told(model, "unknown").startswith("- Apollo 11")


async def test_an_entity_that_is_recalled_twice_stands_in_the_prompt_once(library: Path) -> None:
    output = await answered(library, model := player(scoped("Tom"), FRIENDS))
    assert found(output, "specific") == [("Tom Quill", "name")]
    assert ("Tom Quill", "neighbour") in found(output, "general")
    assert told(model, "knowledge").count("He sails the mail boat.") == 1
    boat = {**scoped("the boat"), "reason": "the mail boat"}
    output = await answered(library, player(scoped("Tom"), boat), nearest=1)
    assert found(output, "specific") == [("Tom Quill", "name")]
    assert "missing" not in output["evidence"]


async def test_two_names_of_one_entity_are_one_and_none_of_them_is_missing(library: Path) -> None:
    output = await answered(library, model := player(scoped("Tom"), scoped("her brother")))
    assert [name for name, _ in found(output, "specific")] == ["Tom Quill"]
    assert "missing" not in output["evidence"]
    assert told(model, "silent") == ""


@pytest.mark.parametrize("name", ["Ada Quill", "the keeper"])
async def test_a_question_about_the_role_itself_is_answered_by_what_is_nearest(library: Path, name: str) -> None:
    output = await answered(library, player(scoped(name, relevant=False)), "Do you sail the mail boat?", nearest=2)
    (entity,) = output["evidence"]["entities"]
    assert (entity["strategy"], entity["relevant"]) == ("profile", True)
    assert found(output, "specific")[0] == ("Tom Quill", "nearest")
    assert len(found(output, "specific")) == 2
    assert "out_of_scope" not in output["evidence"]


async def test_the_judge_of_all_entities_sees_the_notes_on_those_that_are_named(library: Path) -> None:
    await answered(library, model := player(hypothetical="She wrote it in the log."), "Who is your brother?")
    notes = fenced("notes", shown(model, "scope")[0])
    assert "Tom Quill (character): He sails the mail boat." in notes
    assert "All ships are in it." in notes
    assert "Leith" not in notes


async def test_a_general_entity_without_neighbours_of_its_type_falls_back_to_its_nearest(library: Path) -> None:
    ships = {**scoped("mail boats", "concept", level="general"), "reason": "the mail boat"}
    output = await answered(library, model := player(ships, FRIENDS), nearest=1)
    assert ("Tom Quill", "neighbour") in found(output, "general")
    output = await answered(library, model := player(ships), nearest=1)
    assert found(output, "general") == [("Tom Quill", "nearest")]
    assert "He sails the mail boat." in told(model, "knowledge")
    output = await answered(library, player(ships), nearest=1, rules="paper")
    assert found(output, "general") == []


async def test_an_entity_that_nobody_wrote_of_is_said_to_be_so(library: Path) -> None:
    reed = scoped("Captain Reed")
    output = await answered(library, model := player(reed), nearest=2)
    assert output["evidence"].get("missing") == ["Captain Reed"]
    assert told(model, "silent") == "Captain Reed"
    assert len(found(output, "specific")) == 2
    output = await answered(library, model := player(scoped("the mail boat", "object")), nearest=2)
    assert "missing" not in output["evidence"]
    output = await answered(library, model := player(reed), nearest=2, rules="paper")
    assert "missing" not in output["evidence"]
    assert len(found(output, "specific")) == 2


async def test_why_something_cannot_be_known_is_to_be_explained(library: Path) -> None:
    for language, words in {"en": "explain", "zh": "解释", "ko": "그 까닭을 설명"}.items():
        await answered(library, model := player(MOON), language=language)
        assert words in shown(model, "reply")[0]


async def test_an_answer_without_a_reason_and_in_the_form_of_the_paper_is_read(library: Path) -> None:
    moon = {**MOON, "reason": ""}
    output = await answered(library, player(moon), "Apollo 11?")
    assert [one["name"] for one in output["evidence"].get("out_of_scope", [])] == ["Apollo 11"]
    many = [scoped(f"Boat {number}") for number in range(9)]
    output = await answered(library, player(MOON, *many), "Apollo 11?")
    assert [one["name"] for one in output["evidence"]["out_of_scope"]] == ["Apollo 11"]
    assert output["evidence"]["entities_dropped"] == ["entities: 2 beyond 8 left out"]
    listed = json.dumps({"entities": ["(character<|>Tom<|>Tom is her brother<|>Yes<|>specific)"]})
    output = await answered(library, player(scope=listed))
    assert [(one["name"], one["strategy"]) for one in output["evidence"]["entities"]] == [("Tom", "specific")]


async def test_a_question_that_names_no_entity_is_answered_by_what_is_nearest_to_it(library: Path) -> None:
    output = await answered(library, model := player(), "Who sails the mail boat?", nearest=1)
    assert found(output, "specific") == [("Tom Quill", "nearest")]
    assert told(model, "knowledge").count("\n\n") == 1


async def test_the_role_itself_takes_no_place_where_it_is_nearest(library: Path) -> None:
    asked = {**scoped("the lighthouse", "object"), "reason": "she keeps the lighthouse"}
    output = await answered(library, model := player(asked), nearest=1)
    assert [name == "Ada Quill" for name, _ in found(output, "specific")] == [False]
    assert told(model, "knowledge").count("Ada Quill (character)") == 1


async def test_where_nothing_is_near_enough_the_reply_is_told_that_nothing_is_written(library: Path) -> None:
    output = await answered(library, model := player(scoped("Rex"), scoped("Tom")), least_score=0.99)
    assert output["evidence"]["missing"] == ["Rex"]
    assert told(model, "silent") == "Rex"
    assert found(output, "specific") == [("Tom Quill", "name")]
    output = await answered(library, model := player(), least_score=0.99)
    assert found(output, "specific") == []
    assert told(model, "knowledge") == "Ada Quill (character): She keeps the lighthouse."


async def test_a_role_that_no_document_names_answers_from_what_is_nearest(nameless: Path) -> None:
    output = await answered(nameless, model := player(FRIENDS, scoped("Tom"), MOON), "Who sails the mail boat?")
    assert found(output, "general") == [("Tom Quill", "nearest"), ("the harbour master", "nearest")]
    assert found(output, "specific") == [("Tom Quill", "name")]
    assert output["evidence"]["specific"][0]["relation"] is None
    assert "No document names Ada Quill" in output["evidence"]["graph_warning"]
    assert "Ada Quill" not in told(model, "knowledge")
    assert fenced("profile", shown(model, "scope")[0]) == "A keeper of few words."
    output = await answered(nameless, player())
    assert "role.yaml" in output["evidence"]["graph_warning"]


@pytest.mark.parametrize("other", ["Tom", "tom ", "Tom Quill"])
@pytest.mark.parametrize("first", [True, False])
async def test_an_entity_that_is_specific_and_out_of_scope_is_out_of_scope(
    library: Path, first: bool, other: str
) -> None:
    twice = [scoped("Tom", relevant=first), scoped(other, relevant=not first)]
    output = await answered(library, model := player(*twice, relevant="no"))
    assert [one["strategy"] for one in output["evidence"]["entities"]] == ["out of scope"]
    assert told(model, "unknown").endswith("is of a later time.")
    assert "specific" not in output["evidence"]


async def test_what_is_out_of_scope_is_so_whatever_its_level(library: Path) -> None:
    output = await answered(library, player(scoped("rockets", "object", relevant=False, level="general")))
    assert [one["strategy"] for one in output["evidence"]["entities"]] == ["out of scope"]
    assert "general" not in output["evidence"]


async def test_evidence_is_plain_and_lives_in_a_checkpoint(library: Path, tmp_path: Path) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    context = RoleRagContext(**run_settings(library, player(MOON, FRIENDS, scoped("Tom"), scoped("the boat"))))
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "talk.sqlite")) as saver:
        graph: Any = build().compile(saver)
        output = await graph.ainvoke({"messages": [("user", "Apollo 11?")]}, config, context=context)
        kept = (await graph.aget_state(config)).values
    assert json.loads(json.dumps(output["evidence"])) == output["evidence"] == kept["evidence"]
    assert kept["boundaries"] == [
        {"role": "ada", "name": "Apollo 11", "reason": "Apollo 11 is of a later time.", "told": False}
    ]


async def test_a_turn_reads_the_graph_that_it_began_with(tmp_path: Path) -> None:
    old = graph_role(tmp_path)
    model = player(scoped("Tom"), hypothetical=lambda _: publish(tmp_path, remark=" New!").version)
    output = await answered(tmp_path, model)
    assert output["evidence"]["hypothetical"] != old.version
    assert "New!" not in told(model, "knowledge")
    await answered(tmp_path, model := player(scoped("Tom")))
    assert "New!" in told(model, "knowledge")


def test_as_much_of_a_graph_is_shown_as_there_is_room_for_and_at_least_one_text() -> None:
    half = "x" * (ALL // 2)
    assert within([half, half, "y"]) == [half, half]
    assert within([half, half + "x"]) == [half]
    assert within(["x" * (ALL + 1), "y"]) == ["x" * (ALL + 1)]
