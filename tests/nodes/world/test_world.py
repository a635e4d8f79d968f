"""The world of a simulation: what becomes memory, in which order deeds come about, and how votes are counted."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime

from dramaturg.nodes.world.game_master import in_order
from dramaturg.nodes.world.world import WorldSettings, begin_step, counted, end_step, step_outcome
from dramaturg.testing import Call

from fakes import ScriptedChatModel
from roles import fenced
from townspeople import asked, by_hour, comes, hour, of_kind, played, timeless, townspeople

pytestmark = pytest.mark.sample_of_file(4)

AGENTS = ["alice", "bob", "charlie", "dorothy", "ellen"]
WHARF = """\
name: The wharf
about: Two want the wharf.
agents:
  - {role: dorothy, goal: to have the wharf, candidate: true}
  - {role: ellen, goal: to have the wharf, candidate: true}
clock: {start: "2024-10-01T09:00", hours: 1, steps: 4}
"""
POLLS = 'polls: {open: "2024-10-01T10:00", close: "2024-10-01T11:00"}\n'
USED = {"calls": 2, "cached": 0, "failures": 0, "prompt_tokens": 30, "completion_tokens": 4, "seconds": 0.5}


def gossips() -> ScriptedChatModel:
    """Everybody does something else every hour, and everybody else notices all of it."""
    people = ("Alice", "Bob", "Charlie", "Dorothy", "Ellen")

    def seen(role: str, text: str) -> str:
        doer = fenced("deed", text).split()[0]
        return comes(f"All saw {doer} sing at {hour(text)}.", *(one for one in people if one != doer))

    return townspeople(take_action=by_hour("sings"), resolve_action=seen)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], ScriptedChatModel]:
    """Four hours in which everybody hears of everything."""
    model, library = gossips(), tmp_path_factory.mktemp("library")
    return played(library, model, condition="baseline", steps=4, recalled_episodes=200)["log"], model


@pytest.fixture
def log(world: tuple[list[Any], ScriptedChatModel]) -> list[Any]:
    return world[0]


@pytest.fixture
def model(world: tuple[list[Any], ScriptedChatModel]) -> ScriptedChatModel:
    return world[1]


def wharf(folder: Path, polls: str = POLLS) -> str:
    (folder / "wharf.yaml").write_text(WHARF + polls, encoding="utf-8")
    return str(folder / "wharf.yaml")


def lines(name: str, call: Call) -> list[str]:
    """What stands between a prompt's tags, without dates and marks."""
    return [re.sub(r"^- (\[.*?\] )?", "", line) for line in fenced(name, call.text).splitlines()]


def deeds_of(model: ScriptedChatModel, role: str) -> list[Call]:
    return asked(model, "take_action", role)


# What becomes memory


def test_what_is_heard_in_an_hour_is_news_in_the_next(log: list[Any], model: ScriptedChatModel) -> None:
    for step, call in enumerate(deeds_of(model, "Ellen")[1:], start=2):
        heard = [one["text"] for one in of_kind(log, "memory") if (one["step"], one["agent"]) == (step - 1, "ellen")]
        told = [one["text"] for one in of_kind(log, "event") if one["step"] == step]
        assert len(heard) == 5
        assert sorted(lines("seen", call)) == sorted([*heard, *told])


def test_news_becomes_a_memory_once_and_stays_one(model: ScriptedChatModel) -> None:
    news: list[str] = []
    for call in deeds_of(model, "Ellen"):
        remembered = lines("memories", call)
        assert [remembered.count(text) for text in news] == [1] * len(news)
        assert not {*remembered} & {*lines("seen", call)}
        news += lines("seen", call)
    assert len(news) == len({*news}) > 15


def test_no_prompt_shows_a_thing_twice(log: list[Any], model: ScriptedChatModel) -> None:
    known = {one["text"] for one in of_kind(log, "memory", "event")}
    assert len(known) > 20
    for call in model.calls:
        assert {text: count for text in known if (count := call.text.count(text)) > 1} == {}


def test_a_memory_has_the_hour_at_which_it_happened(log: list[Any], model: ScriptedChatModel) -> None:
    happened = {one["text"]: one["time"].partition("T")[2] for one in of_kind(log, "memory", "event")}
    dated = re.findall(r"^- \[(.*?)\] (.*)$", fenced("memories", deeds_of(model, "Ellen")[-1].text), re.MULTILINE)
    lived = {text: at for at, text in dated if text in happened}
    assert len(lived) > 10
    assert lived == {text: happened[text] for text in lived}


def test_what_was_remembered_before_is_remembered_still(model: ScriptedChatModel) -> None:
    first, *_, last = (lines("memories", call) for call in deeds_of(model, "Dorothy"))
    assert len(first) == 27
    assert last[:27] == first


def test_a_deed_is_known_to_whoever_did_it_and_to_nobody_who_did_not_notice(tmp_path: Path) -> None:
    def unseen(_: str, text: str) -> str:
        return comes(f"{fenced('deed', text).split()[0]} hid, and nobody saw it.", importance=7)

    model = townspeople(take_action=by_hour("hides"), resolve_action=unseen)
    memories = of_kind(played(tmp_path, model, steps=1)["log"], "memory")
    assert {(one["agent"], one["text"].split()[0].lower(), one["importance"]) for one in memories} == {
        (agent, agent, 7.0) for agent in AGENTS
    }
    assert len(memories) == 5


# Order


def test_one_seed_gives_one_order_and_another_seed_another() -> None:
    def orders(seed: int) -> list[list[str]]:
        return [in_order(AGENTS, WorldSettings(seed=seed), step) for step in range(1, 8)]

    assert orders(3) == orders(3)
    assert all(sorted(order) == AGENTS for order in orders(3))
    assert len({tuple(order) for order in orders(3)}) > 1
    assert len({str(orders(seed)) for seed in range(5)}) == 5


def test_deeds_come_about_in_that_order(log: list[Any]) -> None:
    for step in (1, 2, 3, 4):
        outcomes = [one["agent"] for one in of_kind(log, "outcome") if one["step"] == step]
        assert outcomes == in_order(AGENTS, WorldSettings(), step)


def test_a_seed_changes_nothing_but_the_order(tmp_path: Path, log: list[Any]) -> None:
    other = played(tmp_path, gossips(), condition="baseline", steps=1, recalled_episodes=200, seed=1)["log"]
    begun = [one for one in log if one["step"] == 1]
    assert [one["agent"] for one in of_kind(begun, "outcome")] != [one["agent"] for one in of_kind(other, "outcome")]
    for kind in ("context", "action", "outcome", "memory"):
        assert sorted(map(str, timeless(of_kind(begun, kind)))) == sorted(map(str, timeless(of_kind(other, kind))))


# Votes


@pytest.mark.parametrize(
    ("votes", "counts", "winner"),
    [
        ({"x": "alice", "y": "alice", "z": "bob"}, {"alice": 2, "bob": 1}, "alice"),
        ({"x": "bob"}, {"alice": 0, "bob": 1}, "bob"),
        ({"x": "alice", "y": "bob"}, {"alice": 1, "bob": 1}, None),
        ({}, {"alice": 0, "bob": 0}, None),
    ],
)
def test_whoever_has_the_most_votes_is_elected_and_nobody_in_a_tie(
    votes: dict[str, str], counts: dict[str, int], winner: str | None
) -> None:
    assert counted(votes, ["alice", "bob"]) == {"votes": counts, "winner": winner}


def test_votes_are_counted_once_when_the_polls_have_closed(tmp_path: Path) -> None:
    log = played(tmp_path, scenario=wharf(tmp_path))["log"]
    assert [(one["step"], one["agent"], one["choice"]) for one in of_kind(log, "vote")] == [
        (2, "dorothy", "dorothy"),
        (2, "ellen", "dorothy"),
    ]
    (result,) = of_kind(log, "result")
    assert (result["step"], result["time"]) == (3, "2024-10-01T11:00")
    assert (result["votes"], result["winner"]) == ({"dorothy": 2, "ellen": 0}, "dorothy")


def test_without_polls_nobody_votes(tmp_path: Path) -> None:
    output = played(tmp_path, scenario=wharf(tmp_path, polls=""))
    assert of_kind(output["log"], "vote", "result") == []
    assert output["votes"] == {}


def test_there_is_no_result_before_the_polls_have_closed(tmp_path: Path) -> None:
    log = played(tmp_path, scenario=wharf(tmp_path), steps=2)["log"]
    assert len(of_kind(log, "vote")) == 2
    assert of_kind(log, "result") == []


# Steps


def test_the_scenario_says_how_many_steps_there_are_unless_somebody_else_does(tmp_path: Path) -> None:
    file = wharf(tmp_path)
    for steps, number in ((0, 4), (1, 1), (6, 6)):
        log = played(tmp_path, scenario=file, steps=steps)["log"]
        assert [one["step"] for one in of_kind(log, "step")] == list(range(1, number + 1))
        (run,) = of_kind(log, "run")
        assert (run["steps"], run["scenario"], run["agents"]) == (number, "The wharf", ["dorothy", "ellen"])
        assert log[0] is run


def test_every_step_has_an_hour_and_ends_with_what_was_spent_so_far(log: list[Any]) -> None:
    assert {(one["step"], one["time"]) for one in log} == {
        (step, f"2024-10-01T{8 + step:02}:00") for step in (1, 2, 3, 4)
    }
    costs = of_kind(log, "cost")
    assert [one["step"] for one in costs] == [1, 2, 3, 4]
    for name in ("calls", "tokens", "seconds"):
        assert costs[0][name] < costs[1][name] < costs[2][name] < costs[3][name]
    assert costs[-1]["lines"] == len(of_kind(log, "line"))


async def test_a_step_ends_with_memories_and_begins_with_news(tmp_path: Path) -> None:
    runtime = Runtime(context=WorldSettings(scenario=wharf(tmp_path), steps=2))
    heard = [{"agent": "ellen", "text": "A bell.", "importance": 2.0}]
    state: Any = {
        "step": 1,
        "began": time.time() - 5,
        "heard": heard,
        "votes": {},
        "usage": {"x": USED, "y": USED},
        "log": [],
    }
    ended = await end_step(state, runtime)
    memory, cost = ended["log"]
    assert memory == {"step": 1, "time": "2024-10-01T09:00", "kind": "memory", **heard[0]}
    assert [cost[name] for name in ("kind", "calls", "tokens", "lines")] == ["cost", 4, 68, 0]
    assert cost["seconds"] >= 5
    assert step_outcome({**state, **ended}) == "next"
    begun = await begin_step(state, runtime)
    episode = {"id": "2.1", "at": "2024-10-01T09:00", "text": "A bell.", "importance": 2.0}
    assert begun["agent_news"] == {"dorothy": [], "ellen": [episode]}
    assert begun["agent_lived"] == {"dorothy": [], "ellen": []}
    assert step_outcome({**state, **await end_step({**state, **begun, "heard": []}, runtime)}) == "over"
    later = await begin_step({**state, **begun, "heard": []}, runtime)
    assert (later["agent_news"]["ellen"], later["agent_lived"]["ellen"]) == ([], [episode])
