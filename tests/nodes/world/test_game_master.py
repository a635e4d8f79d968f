"""The game master: what comes of deeds, who hears of it, and what it does where the model's account cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime

from dramaturg.models.errors import ModelUnavailable, PromptRefused
from dramaturg.nodes.world.game_master import UNKNOWN_IMPORTANCE, outcome_among, resolve
from dramaturg.nodes.world.world import WorldSettings, names_of, scenario_of
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.errors import RoleError
from dramaturg.stores.library import Library

from fakes import ScriptedChatModel
from kept_forms import nothing_more_kept
from roles import fenced
from townspeople import asked, comes, in_turn, townspeople, world_settings

NAMES = {"alice": "Alice", "bob": "Bob", "charlie": "Charlie", "dorothy": "Dorothy", "ellen": "Ellen"}


def deed(agent: str) -> dict[str, str]:
    return {"agent": agent, "text": f"{NAMES[agent]} waits.", "situation": "", "self_image": ""}


async def resolved(library: Path, model: ScriptedChatModel, *agents: str, **settings: Any) -> Any:
    """What the game master makes of what some agents do."""
    state: Any = {"step": 2, "deeds": [deed(agent) for agent in agents or ("alice",)]}
    runtime = Runtime(context=WorldSettings(**world_settings(library, model, **settings)))
    return await resolve(state, runtime)


async def test_an_outcome_is_logged_by_ids_and_heard_by_whoever_noticed(tmp_path: Path) -> None:
    model = townspeople(resolve_action=comes("It rained.", "Bob", "Ellen", talks_with="Dorothy", importance=6))
    found = await resolved(tmp_path, model)
    assert found["log"] == [
        {
            "step": 2,
            "time": "2024-10-01T10:00",
            "kind": "outcome",
            "agent": "alice",
            "text": "It rained.",
            "talks_with": "dorothy",
            "noticed_by": ["bob", "ellen"],
            "importance": 6,
        }
    ]
    assert found["heard"] == [
        {"agent": agent, "text": "It rained.", "importance": 6.0} for agent in ("alice", "bob", "dorothy", "ellen")
    ]
    assert found["usage"]["resolve"]["calls"] == 1


async def test_what_was_left_out_of_an_account_is_logged(tmp_path: Path) -> None:
    found = await resolved(tmp_path, townspeople(resolve_action=comes("It rained.", "Bob", "the mayor")))
    (line,) = found["log"]
    assert line["noticed_by"] == ["bob"]
    assert [one.partition(":")[0] for one in line.get("dropped", [])] == ["noticed_by 2"]


async def test_an_outcome_leaves_no_form_of_an_answer_in_memory(tmp_path: Path) -> None:
    await resolved(tmp_path, townspeople())
    with nothing_more_kept():
        await resolved(tmp_path, townspeople())


async def test_whoever_notices_twice_hears_once(tmp_path: Path) -> None:
    model = townspeople(resolve_action=comes("It rained.", "Bob", "Bob", talks_with="Bob"))
    found = await resolved(tmp_path, model)
    assert found["log"][0]["noticed_by"] == ["bob"]
    assert [one["agent"] for one in found["heard"]] == ["alice", "bob"]


async def test_a_deed_is_shown_with_the_hour_the_place_and_everybody_else(tmp_path: Path) -> None:
    model = townspeople()
    await resolved(tmp_path, model, "dorothy")
    (call,) = asked(model, "resolve_action")
    assert fenced("deed", call.text) == "Dorothy waits."
    assert fenced("now", call.text) == "2024-10-01 10:00"
    assert fenced("scene", call.text).splitlines() == list(scenario_of(WorldSettings()).shared)
    assert "The others in the story: Alice, Bob, Charlie, Ellen\n" in call.text
    assert "a story in Riverbend" in call.text


async def test_the_state_of_a_mind_is_none_of_the_game_masters_business(tmp_path: Path) -> None:
    model = townspeople()
    state: Any = {"step": 2, "deeds": [{**deed("bob"), "situation": "SECRET", "self_image": "SECRET"}]}
    await resolve(state, Runtime(context=WorldSettings(**world_settings(tmp_path, model))))
    assert "SECRET" not in model.calls[0].text


async def test_nobody_did_anything_nothing_comes_of_it(tmp_path: Path) -> None:
    model = townspeople()
    state: Any = {"step": 2, "deeds": []}
    found = await resolve(state, Runtime(context=WorldSettings(**world_settings(tmp_path, model))))
    assert (found["heard"], found["log"], model.calls) == ([], [], [])


# Answers that cannot be used


@pytest.mark.parametrize(
    "wrong",
    [
        comes("It rained.", talks_with="Zed"),
        comes("It rained.", talks_with="Alice"),
        comes(" "),
        comes(importance=0),
        comes(importance=11),
        '{"happens": "It rained."}',
        "It rained.",
    ],
)
async def test_an_account_that_names_nobody_there_is_asked_for_again(tmp_path: Path, wrong: str) -> None:
    model = townspeople(resolve_action=in_turn(wrong, comes("The sun shone.", "Bob")))
    found = await resolved(tmp_path, model)
    assert len(model.calls) == 2
    assert (found["log"][0]["text"], found["log"][0]["noticed_by"]) == ("The sun shone.", ["bob"])
    assert (found["usage"]["resolve"]["calls"], found["usage"]["resolve"]["failures"]) == (2, 1)


@pytest.mark.parametrize(
    ("said", "noticed"),
    [
        (comes("It rained.", "Zed", "Bob"), ["bob"]),
        (comes("It rained.", "Alice"), []),
        (comes("It rained.", *["Bob"] * 5), ["bob"]),
        (json.dumps({**json.loads(comes("It rained.")), "importance": "4"}), []),
        (json.dumps({**json.loads(comes("It rained.")), "weather": "rain"}), []),
    ],
)
async def test_of_an_account_what_is_good_is_kept(tmp_path: Path, said: str, noticed: list[str]) -> None:
    model = townspeople(resolve_action=said)
    found = await resolved(tmp_path, model)
    assert (found["log"][0]["text"], found["log"][0]["noticed_by"]) == ("It rained.", noticed)
    assert len(model.calls) == 1


@pytest.mark.parametrize(
    "wrong", ["I would rather not say.", comes("It rained.", talks_with="Zed"), PromptRefused("Too long.")]
)
async def test_where_there_is_no_account_only_the_deed_is_known_to_its_doer(
    tmp_path: Path, wrong: str | Exception
) -> None:
    def account(_: str, text: str) -> str | Exception:
        return wrong if "Alice" in fenced("deed", text) else comes("The sun shone.", "Ellen")

    found = await resolved(tmp_path, townspeople(resolve_action=account), "alice", "bob")
    lost, kept = sorted(found["log"], key=lambda one: str(one["agent"]))
    assert (lost["text"], lost["noticed_by"], lost["talks_with"]) == ("", [], "")
    assert lost["error"]
    assert "importance" not in lost
    assert kept["text"] == "The sun shone."
    assert "error" not in kept
    assert [one for one in found["heard"] if one["text"].startswith("Alice")] == [
        {"agent": "alice", "text": "Alice waits.", "importance": UNKNOWN_IMPORTANCE}
    ]


async def test_it_is_said_when_the_model_is_not_there(tmp_path: Path) -> None:
    model = townspeople(resolve_action=ModelUnavailable("The model is not there."))
    with pytest.raises(ModelUnavailable, match="not there"):
        await resolved(tmp_path, model, "alice", "bob")


# Names


def test_the_form_of_an_outcome_names_the_others_and_nobody() -> None:
    others = ["Alice", "Charlie", "Dorothy", "Ellen"]
    properties = outcome_among(tuple(others)).model_json_schema()["properties"]
    assert properties["noticed_by"]["items"]["enum"] == others
    assert properties["noticed_by"]["maxItems"] == 4
    assert properties["talks_with"]["enum"] == [*others, "nobody"]
    assert list(properties) == ["happens", "noticed_by", "talks_with", "importance"]


async def test_agents_are_called_by_the_names_of_their_roles(tmp_path: Path) -> None:
    settings = WorldSettings(library=str(tmp_path))
    assert names_of(settings, scenario_of(settings)) == NAMES


@pytest.mark.parametrize("name", ["Alice", "ALICE", "Alice "])
async def test_two_agents_of_one_name_cannot_be_told_apart(tmp_path: Path, name: str) -> None:
    Library(tmp_path).create("bob", RoleCard(name=name))
    settings = WorldSettings(library=str(tmp_path))
    with pytest.raises(ValueError, match="Two agents of Riverbend have one name: Alice, "):
        names_of(settings, scenario_of(settings))


async def test_an_agent_that_the_library_lacks_is_named(tmp_path: Path) -> None:
    file = tmp_path / "wharf.yaml"
    agents = "agents: [{role: dorothy, goal: rest}, {role: zed, goal: rest}]"
    file.write_text(f"name: W\nabout: W\n{agents}\nclock: {{start: '2024-10-01T09:00', steps: 1}}\n", encoding="utf-8")
    with pytest.raises(RoleError, match="zed"):
        await resolved(tmp_path, townspeople(), "dorothy", scenario=str(file))
