"""DRMR: how two stand to each other changes by what they say, and no checker argues a role out of that."""

from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.models.errors import ModelTimeout
from dramaturg.stores.role import Role
from dramaturg.workflows import ensemble

from cast_roles import Talk, cast_role, counted
from fakes import ScriptedChatModel
from roles import fenced, run_settings
from scope_roles import player, reasoned, remembered, shown

BEAT = ("Ada Quill", "You stole my boat, Tom. I shall never make peace with you."), ("Tom Quill", "Then don't.")
ENEMY = "Tom is my enemy: I shall never make peace with him."
BOAT = "I give the boat back to you, Ada. Forgive me."
FRIEND = "Yes, Tom, my friend."
PEACE = "Tom gave the boat back, and I forgave him."
QUESTIONS = [BOAT, *(f"Shall we sail to Leith in May, for the {number}. time?" for number in range(9))]


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return cast_role(tmp_path, {"boat": BEAT})


def verifier(text: str) -> str:
    """What a careful reader says: a friend's line fits where peace was made in what is shown, and else not."""
    made = BOAT in text or PEACE in text
    return reasoned(5 if made else 1, "they made peace" if made else "he is her enemy")


def record(text: str) -> str:
    return PEACE if BOAT in fenced("events", text) else ENEMY


def cast() -> ScriptedChatModel:
    return player(record=record, reply=FRIEND, line=verifier, summary="They spoke of sailing.")


async def ten_turns(role: Role, **settings: Any) -> tuple[Talk, list[dict[str, Any]], list[ScriptedChatModel]]:
    talk, evidence, models = Talk(role, user_role="tom", window=4, **settings), [], []
    for question in QUESTIONS:
        models.append(cast())
        evidence.append(await talk.ask(question, models[-1]))
    return talk, evidence, models


async def test_an_enemy_becomes_a_friend_and_stays_one_for_ten_turns(role: Role) -> None:
    talk, evidence, models = await ten_turns(role)
    assert [one["verification"]["passed"] for one in evidence] == [True] * 10
    assert [counted(model)["line"] for model in models] == [1] * 10  # nobody pays for a redraft
    for model in models[1:]:
        for text in shown(model, "line"):
            assert ENEMY in text  # what the files say is still known
            assert BOAT in text or PEACE in text
    records = (await talk.values())["memory_records"]
    (made,) = [one for one in records if PEACE in one["text"]]
    assert made["text"] == f"Since then, when Tom Quill and I talked: {PEACE}"
    assert made["dialogues"][0] == f"turn {BOAT}"
    assert records[0]["text"] == ENEMY


async def test_by_the_papers_rules_he_stays_an_enemy(role: Role) -> None:
    talk, evidence, models = await ten_turns(role, recent=0, talk_records=False, redraft=False)
    assert not any(one["verification"]["passed"] for one in evidence[1:])
    assert {one["text"] for one in (await talk.values())["memory_records"]} == {ENEMY}
    assert not any("<conversation>" in text for model in models for text in shown(model, "line"))


async def test_peace_is_of_its_branch(role: Role) -> None:
    talk, *_ = await ten_turns(role)
    first, *_ = await talk.history()
    assert any(PEACE in one for one in await talk.records())
    await talk.fork(first.id)
    await talk.ask("Who are you?", cast())
    assert not any(PEACE in one for one in await talk.records())


async def test_a_record_of_the_talk_that_cannot_be_had_costs_nothing_else(role: Role) -> None:
    talk = Talk(role, user_role="tom", window=2)
    await talk.ask(BOAT, cast())
    late = ModelTimeout("It took too long.")
    failing = player(reply=FRIEND, line=verifier, record=lambda text: late if BOAT in fenced("events", text) else ENEMY)
    evidence = await talk.ask(QUESTIONS[1], failing)
    assert "took too long" in evidence["talk_record_error"]
    assert evidence["summary"]
    assert await talk.records() == [ENEMY]


async def test_what_another_user_said_is_no_record_of_this_one(role: Role) -> None:
    talk = Talk(role, window=2)
    await talk.ask(BOAT, cast(), user_role="tom")
    model = cast()
    await talk.ask("Good day.", model, user_role="rose")
    assert not any(BOAT in fenced("events", text) for text in shown(model, "record"))
    records = (await talk.values())["memory_records"]
    assert not [one for one in records if one["user_role"] == "Rose" and PEACE in one["text"]]


async def test_two_who_never_spoke_in_the_dialogues_have_met_in_the_talk(tmp_path: Path) -> None:
    scenes = {
        "one": (("Ada Quill", "The net, Nell."), ("Nell", "Ay.")),
        "two": (("Nell", "Tom!"), ("Tom Quill", "Nell.")),
    }
    talk = Talk(cast_role(tmp_path, scenes), user_role="tom", window=2)
    first = await talk.ask(BOAT, cast())
    assert first["relations"]["clique"] == []
    await talk.ask(QUESTIONS[1], cast())
    last = await talk.ask(QUESTIONS[2], model := cast())
    assert last["relations"]["clique"] == ["Ada Quill", "Nell", "Tom Quill"]
    edges = {tuple(one["roles"]): one for one in last["relations"]["edges"]}
    edge = edges.pop(("Ada Quill", "Tom Quill"))
    assert (edge["score"], edge["dialogues"][0]) == (None, f"turn {BOAT}")
    assert len(edges) == 2
    assert all(one["score"] is not None for one in edges.values())  # that of both with Nell decides now
    assert not any("Ada Quill\nTom Quill" in text for text in shown(model, "edge"))


async def test_who_has_talked_with_the_role_is_no_stranger_to_its_next_record(tmp_path: Path) -> None:
    scenes = {f"s{at}": (("Ada Quill", f"The net, Nell, for the {at}. time."), ("Nell", "Ay.")) for at in range(9)}
    talk = Talk(cast_role(tmp_path, scenes), user_role="rose", window=2, memory_dialogues=1, verify=False)
    told = []
    for question in QUESTIONS[1:5]:
        await talk.ask(question, model := cast())
        told += [text for text in shown(model, "record") if "The net" in fenced("events", text)]
    assert ["never spoken" in text for text in told] == [True, True, False, False]


async def test_the_ensemble_s_window_says_what_becomes_a_record(tmp_path: Path) -> None:
    whole_role(tmp_path)
    settings = {"user_role": "Tom Quill", "window": 2, "appraisal": "together", "parts": frozenset({"relations"})}
    context = ensemble.EnsembleContext(**run_settings(tmp_path, whole_cast(record=remembered(PEACE)), **settings))
    graph, thread = ensemble.build().compile(InMemorySaver()), {"configurable": {"thread_id": "talk"}}
    for question in (BOAT, QUESTIONS[1]):
        output = await graph.ainvoke({"messages": [HumanMessage(question, id=question)]}, thread, context=context)
    (record,) = output["evidence"]["talk_records"]
    assert record["dialogues"] == [f"turn {BOAT}"]
