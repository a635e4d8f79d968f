"""Riverbend, played by a script: three conditions that differ in the identity alone, talks, votes, and going on."""

import json
import re
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.identity.chronicle import Condition
from dramaturg.nodes.world.talk import LONGEST_TALK
from dramaturg.nodes.world.world import WorldInput, WorldState
from dramaturg.stores.library import library_at
from dramaturg.testing import Call
from dramaturg.workflows.riverbend import build
from dramaturg.workflows.riverbend_agents import RiverbendContext, most_questions

from fakes import ScriptedChatModel
from roles import fenced
from townspeople import (
    asked,
    by_hour,
    comes,
    hour,
    in_turn,
    of_kind,
    part,
    played,
    timeless,
    townspeople,
    world_settings,
)

pytestmark = pytest.mark.sample_of_file(7)

AGENTS = ["alice", "bob", "charlie", "dorothy", "ellen"]
KNOWN = {"Alice", "Bob"}
"""Those with a chronicle."""
CONDITIONS: tuple[Condition, ...] = ("id-rag", "full", "baseline")
HOW = {"id-rag": "strategy", "full": "all", "baseline": "inferred"}
THREAD: Any = {"configurable": {"thread_id": "run"}}
NODES = ("begin_step", "decide", "resolve", "talk", "poll", "vote", "end_step")
HELD_BACK = "Alice thinks better of it and does nothing of the kind."


def townsfolk(**parts: Any) -> ScriptedChatModel:
    """Everybody does something else every hour; Alice's deeds are noticed by Ellen and lead to a talk with Dorothy."""

    def outcome(_: str, text: str) -> str:
        if fenced("deed", text).startswith("Alice"):
            return comes(f"Alice walked at {hour(text)}, and well.", "Ellen", talks_with="Dorothy")
        return comes(f"{fenced('deed', text).split()[0]} walked at {hour(text)}.")

    return townspeople(**{"take_action": by_hour("walks"), "resolve_action": outcome, **parts})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, ScriptedChatModel]]:
    """A whole day in each condition, with the model that played it."""
    library, found = tmp_path_factory.mktemp("library"), {}
    for condition in CONDITIONS:
        found[condition] = (played(library, model := townsfolk(), condition=condition), model)
    return found


# A whole day


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_day_is_seven_hours_in_which_everybody_does_one_thing(runs: Any, condition: str) -> None:
    log = runs[condition][0]["log"]
    for kind in ("context", "action", "outcome"):
        done = Counter((one["step"], one["agent"]) for one in of_kind(log, kind))
        assert done == {(step, agent): 1 for step in range(1, 8) for agent in AGENTS}
    assert [one["condition"] for one in of_kind(log, "run")] == [condition]
    assert [one["time"][-5:] for one in of_kind(log, "event")] == ["09:00", "11:00", "13:00", "15:00"]
    assert [one["kind"] for one in log[-2:]] == ["result", "cost"]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_day_ends_with_a_mayor(runs: Any, condition: str) -> None:
    output = runs[condition][0]
    (result,) = of_kind(output["log"], "result")
    assert (result["time"], result["votes"], result["winner"]) == ("2024-10-01T15:00", {"alice": 5, "bob": 0}, "alice")
    assert output["votes"] == dict.fromkeys(AGENTS, "alice")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_an_identity_comes_from_where_the_condition_says_and_else_from_memories(runs: Any, condition: str) -> None:
    for one in of_kind(runs[condition][0]["log"], "context"):
        identity = one["identity"]
        assert identity["how"] == (HOW[condition] if one["agent"] in ("alice", "bob") else "inferred")
        assert bool(identity["triples"]) == (identity["how"] != "inferred")
        assert "<identity>" in one["self_image"]
        assert one["feeling"] in one["self_image"]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_cost_is_that_of_all_calls(runs: Any, condition: str) -> None:
    output, model = runs[condition]
    cost = of_kind(output["log"], "cost")[-1]
    assert cost["calls"] == len(model.calls) == sum(one["calls"] for one in output["usage"].values())
    assert cost["lines"] == len(of_kind(output["log"], "line")) == 28


async def test_every_key_that_a_node_writes_is_a_channel(tmp_path: Path) -> None:
    context = RiverbendContext(**world_settings(tmp_path, townsfolk(), steps=3))
    nodes = set()
    async for written in build().compile().astream({}, context=context, stream_mode="updates"):
        for node, keys in written.items():
            nodes.add(node)
            assert set(keys) <= set(get_type_hints(WorldState)), node
    assert nodes == {*NODES}


# Perceive, plan, act


@pytest.mark.sample(2)
@pytest.mark.parametrize("agent", AGENTS)
def test_nobody_is_shown_all_that_it_remembers(runs: Any, agent: str) -> None:
    shown = [
        fenced("memories", one["situation"]).splitlines()
        for one in of_kind(runs["id-rag"][0]["log"], "context")
        if one["agent"] == agent
    ]
    assert [len(lines) for lines in shown] == [25] * 7  # of more: what is salient changes from hour to hour
    assert len({tuple(lines) for lines in shown}) > 1


def test_agents_plan_before_they_act_and_what_is_looked_up_rests_on_the_plan(tmp_path: Path) -> None:
    model = townsfolk(make_plan=lambda role, text: f"{role} means to walk, since {hour(text)}.")
    log = played(tmp_path, model, steps=2)["log"]
    for at, of_context in groupby(of_kind(log, "context"), key=lambda one: one["time"][-5:]):
        for one in of_context:
            name = one["agent"].capitalize()
            assert fenced("plan", one["situation"]) == f"{name} means to walk, since {at}."
    for name in ("query_identity", "take_action", "infer_identity"):
        assert all(f"{part(call.text)[1]} means to walk" in fenced("plan", call.text) for call in asked(model, name))
    made = asked(model, "make_plan", "Alice")
    assert [fenced("plan", call.text) for call in made] == ["", "Alice means to walk, since 09:00."]
    assert all("to be elected mayor of Riverbend today" in fenced("question", call.text) for call in made)


def test_agents_that_plan_nothing_ask_one_question_less(tmp_path: Path) -> None:
    number = {}
    for planning in (True, False):
        played(tmp_path, model := townsfolk(), steps=1, planning=planning)
        number[planning] = len(model.calls)
    assert number[True] == number[False] + len(AGENTS)
    assert not any("<plan>" in call.text for call in model.calls)


# How an identity is looked up

SEVERAL = json.dumps({"high_priority": ["values"], "medium_priority": ["believes", "supports"], "keywords": []})


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("settings", "how", "number"),
    [
        ({}, "strategy", 6),
        ({"identity_rule": "released"}, "strategy", 6),
        ({"identity_triples": 2}, "strategy", 2),
        ({"identity_triples": 2, "identity_rule": "released"}, "strategy", 6),
        ({"identity_retrieval": "embedding", "identity_triples": 3}, "similarity", 3),
    ],
)
def test_how_an_identity_is_looked_up_can_be_set(
    tmp_path: Path, settings: dict[str, Any], how: str, number: int
) -> None:
    assert {"identity_rule", "identity_triples", "identity_retrieval", "hops"} <= RiverbendContext.model_fields.keys()
    log = played(tmp_path, townsfolk(query_identity=SEVERAL), steps=1, talks=0, **settings)["log"]
    (alice,) = (one["identity"] for one in of_kind(log, "context") if one["agent"] == "alice")
    assert (alice["how"], len(alice["triples"])) == (how, number)


@pytest.mark.sample(1)
def test_a_whole_chronicle_is_whole_however_long_it_is(tmp_path: Path) -> None:
    file = library_at(tmp_path).open("alice").root / "chronicle.yaml"
    more = "".join(f"  - {{subject: Alice, relation: values, object: elm {at}, kind: value}}\n" for at in range(600))
    file.write_text(file.read_text().replace("triples:\n", f"triples:\n{more}"))
    log = played(tmp_path, townsfolk(), steps=1, talks=0, condition="full")["log"]
    (alice,) = (one["identity"] for one in of_kind(log, "context") if one["agent"] == "alice")
    assert len(alice["triples"]) > 600


# What the conditions have in common


def prompts(model: ScriptedChatModel, name: str) -> dict[tuple[str, str], list[str]]:
    """The prompts of a part by who is asked and in which hour; calls at the same time come in any order."""
    found: dict[tuple[str, str], list[str]] = {}
    for call in asked(model, name):
        found.setdefault((part(call.text)[1], hour(call.text)), []).append(call.text)
    return {key: sorted(texts) for key, texts in found.items()}


def without_identity(text: str) -> str:
    return re.sub(r"<identity>\n.*?\n</identity>", "<identity>", text, flags=re.DOTALL)


@pytest.mark.parametrize("condition", ["full", "baseline"])
def test_prompts_for_deeds_and_votes_differ_in_the_identity_alone(runs: Any, condition: str) -> None:
    for name, number in (("take_action", 35), ("choose_option", 5)):
        ours, theirs = (prompts(runs[one][1], name) for one in ("id-rag", condition))
        assert len(ours) == number
        assert ours.keys() == theirs.keys()
        for (role, at), (text,) in ours.items():
            (other,) = theirs[role, at]
            assert without_identity(text) == without_identity(other)
            assert (text != other) == (role in KNOWN)
            assert text.count("<identity>") == 1


@pytest.mark.parametrize("condition", ["full", "baseline"])
def test_lines_differ_in_the_identity_alone(runs: Any, condition: str) -> None:
    ours, theirs = (sorted(call.text for call in asked(runs[one][1], "say_line")) for one in ("id-rag", condition))
    assert len(ours) == 28
    assert [*map(without_identity, ours)] == [*map(without_identity, theirs)]
    assert ours != theirs


@pytest.mark.parametrize("condition", ["full", "baseline"])
@pytest.mark.parametrize("name", ["feel_progress", "resolve_action"])
def test_what_shows_no_identity_is_the_same(runs: Any, condition: str, name: str) -> None:
    ours, theirs = (prompts(runs[one][1], name) for one in ("id-rag", condition))
    assert sum(map(len, ours.values())) == 35
    assert ours == theirs


def caps(calls: list[Call]) -> dict[str, set[Any]]:
    """How long the answers to each part may be, and by which temperature they are given."""
    bounds: dict[str, set[Any]] = {}
    for call in calls:
        given = (call.parameters.get("max_tokens"), call.parameters.get("temperature"))
        bounds.setdefault(part(call.text)[0], set()).add(given)
    return bounds


@pytest.mark.crash
def test_answers_may_be_as_long_in_all_conditions(runs: Any) -> None:
    bounds = {condition: caps(runs[condition][1].calls) for condition in CONDITIONS}
    for condition in CONDITIONS:
        assert bounds[condition]["take_action"] == {(256, 0.5)}
        assert bounds[condition]["infer_identity"] == bounds[condition]["feel_progress"] == {(1000, 0)}
        common = bounds["id-rag"].keys() & bounds[condition].keys()
        assert {name: bounds[condition][name] for name in common} == {name: bounds["id-rag"][name] for name in common}
    assert "query_identity" in bounds["id-rag"].keys() - bounds["full"].keys() - bounds["baseline"].keys()


def test_caps_are_those_of_the_settings_for_everybody(tmp_path: Path) -> None:
    for condition in CONDITIONS:
        model = townsfolk()
        played(tmp_path, model, condition=condition, steps=1, action_tokens=33, context_tokens=44, temperature=0.25)
        bounds = caps(model.calls)
        assert bounds["take_action"] == {(33, 0.25)}
        assert bounds["infer_identity"] == bounds["feel_progress"] == {(44, 0)}


# Talks


def talks(log: list[Any], step: int = 1) -> list[list[str]]:
    """Who talk with each other, talk by talk."""
    lines = [frozenset((one["agent"], one["to"])) for one in of_kind(log, "line") if one["step"] == step]
    return [sorted(pair) for pair, _ in groupby(lines)]


@pytest.mark.parametrize(("budget", "number"), [(0, 0), (1, 1), (2, 2), (50, 2)])
def test_talks_stay_in_their_budget_and_nobody_has_two_at_once(tmp_path: Path, budget: int, number: int) -> None:
    partners = {"Alice": "Bob", "Bob": "Charlie", "Charlie": "Dorothy", "Dorothy": "Ellen", "Ellen": "Alice"}

    def talkative(_: str, text: str) -> str:
        return comes("They met.", talks_with=partners[fenced("deed", text).split()[0]])

    log = played(tmp_path, townsfolk(resolve_action=talkative), steps=1, talks=budget, talk_lines=3)["log"]
    pairs = talks(log)
    assert len(pairs) == number
    assert len({agent for pair in pairs for agent in pair}) == 2 * number
    assert len(of_kind(log, "line")) == 3 * number


def test_talks_without_a_budget_are_counted_at_their_longest() -> None:
    counted = [most_questions(RiverbendContext(talk_lines=lines))["talks"] for lines in (0, 1)]
    assert counted[0] == LONGEST_TALK * counted[1]


def test_a_talk_is_heard_by_the_two_and_nobody_else(runs: Any) -> None:
    memories = of_kind(runs["id-rag"][0]["log"], "memory")
    assert Counter(one["agent"] for one in memories if "“I am Dorothy.”" in one["text"]) == {"alice": 7, "dorothy": 7}


# Votes


def test_nobody_votes_twice_and_only_while_the_polls_are_open(tmp_path: Path) -> None:
    def choice(role: str, text: str) -> str:
        first = "3" if role == "Ellen" or (hour(text) == "11:00" and role == "Dorothy") else "1"
        return "2" if role == "Bob" else first

    output = played(tmp_path, townsfolk(choose_option=choice))
    votes = [(one["time"][-5:], one["agent"], one["choice"]) for one in of_kind(output["log"], "vote")]
    assert votes == [
        *[("11:00", agent, {"bob": "bob"}.get(agent, "alice")) for agent in AGENTS[:3]],
        *[("11:00", "dorothy", ""), ("11:00", "ellen", "")],
        *[("12:00", "dorothy", "alice"), ("12:00", "ellen", "")],
        *[("13:00", "ellen", ""), ("14:00", "ellen", "")],
    ]
    (result,) = of_kind(output["log"], "result")
    assert result["votes"] == {"alice": 3, "bob": 1}
    assert "ellen" not in output["votes"]


def test_a_vote_that_is_none_of_the_options_is_asked_for_again(tmp_path: Path) -> None:
    model = townsfolk(choose_option=lambda role, text: "2" if "from 1 to 3" in text else "Whoever is kind.")
    votes = of_kind(played(tmp_path, model, steps=3)["log"], "vote")
    assert [one["choice"] for one in votes] == ["bob"] * 5
    assert len(asked(model, "choose_option")) == 10


@pytest.mark.crash
def test_a_voter_may_choose_a_candidate_or_wait(runs: Any) -> None:
    call = asked(runs["id-rag"][1], "choose_option", "Ellen")[0]
    assert "1. Alice\n2. Bob\n3. nobody yet" in call.text


# Going on, and branching


async def playing(library: Path, model: ScriptedChatModel, graph: Any, given: Any, config: Any, **settings: Any) -> Any:
    context = RiverbendContext(**world_settings(library, model, **settings))
    return await graph.ainvoke(given, {**config, "recursion_limit": 200}, context=context, durability="sync")


async def test_a_run_that_stops_before_each_node_is_the_same_for_one_seed(runs: Any, tmp_path: Path) -> None:
    model = townsfolk()
    graph = build().compile(InMemorySaver(), interrupt_before=[*NODES])
    stops = Counter[str]()
    output = await playing(tmp_path, model, graph, {}, THREAD, steps=3)
    while waiting := (await graph.aget_state(THREAD)).next:
        stops.update({*waiting})  # a node that is sent to several times is named as often
        output = await playing(tmp_path, model, graph, None, THREAD, steps=3)
    day = [one for one in timeless(runs["id-rag"][0]["log"]) if one["step"] <= 3]
    assert stops == {**dict.fromkeys(NODES, 3), "vote": 1}
    assert timeless(output["log"]) == [{**day[0], "steps": 3}, *day[1:]]
    assert len(model.calls) == of_kind(output["log"], "cost")[-1]["calls"]


async def test_a_run_whose_model_fails_goes_on_and_does_nothing_twice(runs: Any, tmp_path: Path) -> None:
    model, usual, failures = townsfolk(), townsfolk(), [1, 17, 24, 28, 65, 77]

    def failing(messages: Any) -> Any:
        if failures and len(model.calls) >= failures[0]:
            failures.pop(0)
            return ModelUnavailable("Gone.")
        return usual.reply(messages)

    model.reply = failing
    graph = build().compile(InMemorySaver())
    given: Any = {}
    while failures:
        with pytest.raises(ModelUnavailable, match="Gone"):
            await playing(tmp_path, model, graph, given, THREAD, steps=3)
        given = None
    output = await playing(tmp_path, model, graph, None, THREAD, steps=3)
    day = [one for one in runs["id-rag"][0]["log"] if one["step"] <= 3 and one["kind"] not in ("run", "cost")]
    assert [one for one in output["log"] if one["kind"] not in ("run", "cost")] == day


async def after(graph: Any, step: int) -> Any:
    """The checkpoint at the end of a step."""
    async for state in graph.aget_state_history(THREAD):
        if state.values.get("step") == step and state.next == ("begin_step",):
            return state
    raise LookupError(step)


@pytest.mark.crash
async def test_a_branch_from_a_step_begins_as_the_run_did(tmp_path: Path) -> None:
    graph = build().compile(InMemorySaver())
    whole = (await playing(tmp_path, townsfolk(), graph, {}, THREAD, steps=5))["log"]
    state = await after(graph, 3)
    begun = state.values["log"]
    assert begun == whole[: len(begun)]
    assert begun[-1]["kind"] == "cost"
    again = (await playing(tmp_path, townsfolk(), graph, None, state.config, steps=5))["log"]
    assert timeless(again) == timeless(whole)
    other = (await playing(tmp_path, townsfolk(), graph, None, state.config, steps=5, condition="full"))["log"]
    assert other[: len(begun)] == begun
    later = of_kind(other[len(begun) :], "context")
    assert [one["identity"]["how"] for one in later if one["agent"] == "alice"] == ["all", "all"]
    assert {one["step"] for one in later} == {4, 5}


async def test_what_is_changed_in_a_branch_counts_from_there_on(tmp_path: Path) -> None:
    graph = build().compile(InMemorySaver())
    await playing(tmp_path, townsfolk(), graph, {}, THREAD, steps=4)
    state = await after(graph, 3)
    config = await graph.aupdate_state(state.config, {"votes": {"ellen": "bob"}}, as_node="end_step")
    output = await playing(tmp_path, townsfolk(), graph, None, config, steps=4)
    assert output["log"][: len(state.values["log"])] == state.values["log"]
    assert output["votes"] == {**dict.fromkeys(AGENTS, "alice"), "ellen": "bob"}


# The gate


def against(deed: str) -> Any:
    """The gate finds that a deed of Alice goes against the first of the statements."""
    return lambda role, text: (
        '{"reason": "she would not", "statement": 1}'
        if deed in fenced("line", text)
        else '{"reason": "it fits", "statement": 0}'
    )


def gate_of(log: list[Any], agent: str) -> Any:
    (action,) = [one for one in of_kind(log, "action") if one["agent"] == agent]
    return action["gate"]


def test_a_deed_against_the_core_is_held_back(tmp_path: Path) -> None:
    model = townsfolk(weigh_action=against("Alice walks"))
    log = played(tmp_path, model, steps=1, gate=True)["log"]
    (action,) = [one for one in of_kind(log, "action") if one["agent"] == "alice"]
    assert action["text"] == HELD_BACK
    assert [one["verdict"] for one in action["gate"]["attempts"]] == ["revise", "block"]
    triple = action["gate"]["attempts"][-1]["triple"]
    assert (triple["core"], triple["object"]) == (True, "an urban planner")
    assert action["gate"]["outcome"] == "block"
    assert {fenced("deed", call.text) for call in asked(model, "resolve_action")} >= {HELD_BACK}
    assert gate_of(log, "bob")["outcome"] == "allow"


def test_a_deed_is_done_anew_where_it_went_against_the_core(tmp_path: Path) -> None:
    first = in_turn("Alice burns the mill.", "Alice mends the mill.")
    walks = by_hour("walks")
    model = townsfolk(
        take_action=lambda role, text: first(role, text) if role == "Alice" else walks(role, text),
        weigh_action=against("burns"),
    )
    log = played(tmp_path, model, steps=1, gate=True)["log"]
    assert [one["verdict"] for one in gate_of(log, "alice")["attempts"]] == ["revise", "allow"]
    assert [one["text"] for one in of_kind(log, "action") if one["agent"] == "alice"] == ["Alice mends the mill."]
    assert not any("burns" in one["text"] for one in of_kind(log, "memory", "outcome"))


def test_without_a_chronicle_the_gate_has_nothing_to_hold_a_deed_against(tmp_path: Path) -> None:
    model = townsfolk(weigh_action=against("walks"))
    log = played(tmp_path, model, steps=1, gate=True)["log"]
    assert {gate_of(log, agent)["outcome"] for agent in ("charlie", "dorothy", "ellen")} == {"allow"}
    assert len(asked(model, "weigh_action")) == 4


def test_without_a_gate_nothing_is_held_back(runs: Any) -> None:
    output, model = runs["id-rag"]
    assert {one["gate"] for one in of_kind(output["log"], "action")} == {None}
    assert asked(model, "weigh_action", "") == asked(model, "contradicts") == []


# The update


def became(replaces: int = 0) -> Any:
    """Alice's deed of the first hour shows that she has come to love the mill."""
    finding = {
        "evidence": "she walks to the mill",
        "relation": "loves",
        "object": "the old mill",
        "kind": "preference",
        "salience": 8,
        "confidence": 0.9,
        "replaces": replaces,
    }
    found = json.dumps({"findings": [finding]})
    return lambda role, text: found if (role, "at 09:00" in text) == ("Alice", True) else '{"findings": []}'


def whose(log: list[Any], agent: str) -> list[str]:
    """What an agent took itself for, hour by hour."""
    return [one["self_image"] for one in of_kind(log, "context") if one["agent"] == agent]


def test_what_an_agent_becomes_by_a_deed_it_is_from_the_next_hour_on(tmp_path: Path) -> None:
    model = townsfolk(reflect_identity=became())
    log = played(tmp_path, model, condition="full", steps=3, update=True)["log"]
    (change,) = of_kind(log, "change")
    assert (change["agent"], change["step"], change["instead_of"]) == ("alice", 1, "")
    assert [change["text"] in image for image in whose(log, "alice")] == [False, True, True]
    assert not any(change["text"] in image for image in whose(log, "bob"))


def test_a_core_triple_stays_for_nobody_is_there_to_approve(tmp_path: Path) -> None:
    model = townsfolk(reflect_identity=became(replaces=1))
    log = played(tmp_path, model, condition="full", steps=2, update=True)["log"]
    first, second = whose(log, "alice")
    assert fenced("identity", first) == fenced("identity", second)
    assert of_kind(log, "change") == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_only_an_identity_that_is_written_down_changes_and_only_where_that_is_wished(
    condition: Condition, tmp_path: Path
) -> None:
    changing, still = townsfolk(), townsfolk()
    played(tmp_path, changing, condition=condition, steps=1, update=True)
    played(tmp_path, still, condition=condition, steps=1)
    who = {part(call.text)[1] for call in asked(changing, "reflect_identity")}
    assert who == (set() if condition == "baseline" else KNOWN)
    assert not asked(still, "reflect_identity")


async def test_a_branch_begins_with_what_agents_had_become(tmp_path: Path) -> None:
    graph = build().compile(InMemorySaver())
    settings = {"condition": "full", "update": True}
    await playing(tmp_path, townsfolk(reflect_identity=became()), graph, {}, THREAD, steps=2, **settings)
    state = (await after(graph, 1)).values
    kept = {channel: state[channel] for channel in WorldInput.__annotations__ if channel in state}
    other: Any = {"configurable": {"thread_id": "branch"}}
    log = (await playing(tmp_path, townsfolk(), build().compile(InMemorySaver()), kept, other, steps=2, **settings))[
        "log"
    ]
    (change,) = of_kind(log, "change")
    assert [change["text"] in image for image in whose(log, "alice")] == [False, True]


async def test_the_log_is_streamed_line_by_line(tmp_path: Path) -> None:
    context = RiverbendContext(**world_settings(tmp_path, townsfolk(), steps=1))
    stream = (
        build().compile().astream({}, context=context, stream_mode=["custom", "values"], subgraphs=True, version="v2")
    )
    events, states = [], []
    async for one in stream:
        if one["type"] == "custom":
            events.append(one["data"])
        elif not one["ns"]:
            states.append(one["data"])
    assert {one["event"] for one in events} == {"logged", "recalled", "identity"}
    streamed = [{name: one[name] for name in one if name != "event"} for one in events if one["event"] == "logged"]
    assert {one["kind"] for one in streamed} >= {"step", "action", "outcome", "line", "cost"}
    assert sorted(map(str, streamed)) == sorted(map(str, states[-1]["log"]))
