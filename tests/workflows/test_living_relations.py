"""DRMR: how two stand to each other changes by what they say, and no checker argues a role out of that."""

import json
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.json_lines import exported
from dramaturg.models.errors import ModelTimeout, UnusableAnswer
from dramaturg.stores.conversations.talk import TalkRecords
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role
from dramaturg.workflows import ensemble
from dramaturg.workflows.drmr import build

from cast_roles import Talk, cast_role, context, counted
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


class TalksOfPeople:
    """Talks of people with Ada, as Tom, on one store; a careful verifier, and a model that writes what is so."""

    def __init__(self, role: Role, **settings: Any) -> None:
        self.role, self.store, self.saver = role, InMemoryStore(), InMemorySaver()
        self.settings = {
            "user_role": "tom",
            "window": 4,
            "talk_tokens": 1,
        } | settings  # nothing comes back word for word
        self.model = cast()

    def of(self, person: str, thread: str) -> Conversation:
        """A talk of somebody."""
        own = context(self.role, self.model, known_as=person, **self.settings)
        return Conversation(build(), self.saver, own, thread, store=self.store)

    async def say(self, person: str, thread: str, text: str) -> dict[str, Any]:
        """Take a turn, and give its evidence."""
        self.model = cast()
        said = await self.of(person, thread).take_turn(HumanMessage(text, id=f"{thread}: {text}"))
        evidence: dict[str, Any] = said["evidence"]
        return evidence


async def test_who_has_made_peace_in_one_talk_is_a_friend_in_the_next(role: Role) -> None:
    talks = TalksOfPeople(role)
    await talks.say("mira", "monday", BOAT)
    found = await talks.say("mira", "tuesday", QUESTIONS[1])
    assert found["verification"]["passed"]
    (record,) = found["earlier_records"]
    assert record == {
        "text": f"Since then, when Tom Quill and I talked: {PEACE}",
        "talk": "monday",
        "dialogues": [f"turn monday: {BOAT}"],
    }
    tuesday = talks.of("mira", "tuesday")
    assert (await tuesday.values())["earlier_records"]
    _, turn = [json.loads(line) async for line in exported(tuesday)]
    assert "earlier_records" not in turn["state"]
    (drafted,), (checked,) = shown(talks.model, "reply"), shown(talks.model, "line")
    assert -1 < drafted.find(ENEMY) < drafted.find(PEACE)
    assert PEACE in checked
    assert counted(talks.model)["record"] == 2  # of the dialogues, and of the talk of monday
    await talks.say("mira", "tuesday", QUESTIONS[2])
    assert not any(BOAT in text for text in shown(talks.model, "record"))  # it is asked once
    for person in ("rosa", ""):
        other = await talks.say(person, f"of {person}", QUESTIONS[1])
        assert not other["verification"]["passed"]
        assert "earlier_records" not in other


async def test_a_record_that_another_process_has_made_is_not_asked_for_again(role: Role) -> None:
    talks = TalksOfPeople(role)
    await talks.say("mira", "monday", BOAT)
    await talks.say("mira", "tuesday", QUESTIONS[1])
    here = (await TalkRecords(talks.store, "ada", "monday").read("")).records  # as it was read before
    here.update({one.id: one.model_copy(update={"standings": ()}) for one in here.values()})
    found = await talks.say("mira", "wednesday", QUESTIONS[1])
    assert found["earlier_records"]
    assert not any(BOAT in text for text in shown(talks.model, "record"))


async def test_of_a_talk_that_is_forgotten_no_peace_remains_in_any_other(role: Role) -> None:
    talks = TalksOfPeople(role)
    await talks.say("mira", "monday", "Good day.")
    await talks.say("mira", "monday", BOAT)
    await talks.say("mira", "monday", "Well then.")
    await talks.say("mira", "tuesday", QUESTIONS[1])
    await talks.of("mira", "monday").forget(phrase=BOAT)
    assert PEACE not in str([one.value for one in talks.store.search((), limit=1000)])
    for thread in ("monday", "tuesday"):
        states = [one async for one in talks.saver.alist({"configurable": {"thread_id": thread}})]
        assert states
        assert not any(PEACE in str(one) for one in states)
    assert not (await talks.say("mira", "wednesday", QUESTIONS[2]))["verification"]["passed"]


async def test_peace_that_was_taken_back_is_made_nowhere(role: Role) -> None:
    talks = TalksOfPeople(role)
    await talks.say("mira", "monday", "Good day.")
    await talks.say("mira", "monday", BOAT)
    await talks.of("mira", "monday").fork("monday: Good day.")
    await talks.say("mira", "monday", "Well then.")
    assert not (await talks.say("mira", "tuesday", QUESTIONS[1]))["verification"]["passed"]


async def test_by_the_papers_rules_a_talk_knows_nothing_of_another(role: Role) -> None:
    talks = TalksOfPeople(role, talk_records=False)
    await talks.say("mira", "monday", BOAT)
    found = await talks.say("mira", "tuesday", QUESTIONS[1])
    assert not found["verification"]["passed"]
    assert "earlier_records" not in found


async def test_two_who_have_met_in_an_earlier_talk_are_in_one_clique(tmp_path: Path) -> None:
    scenes = {
        "one": (("Ada Quill", "The net, Nell."), ("Nell", "Ay.")),
        "two": (("Nell", "Tom!"), ("Tom Quill", "Nell.")),
    }
    talks = TalksOfPeople(cast_role(tmp_path, scenes))
    assert (await talks.say("mira", "monday", BOAT))["relations"]["clique"] == []
    found = await talks.say("mira", "tuesday", QUESTIONS[1])
    assert found["relations"]["clique"] == ["Ada Quill", "Nell", "Tom Quill"]
    kept = (await talks.of("mira", "tuesday").values())["relations"]
    assert ["Ada Quill", "Tom Quill"] not in [one["roles"] for one in kept]


async def test_a_record_of_an_earlier_talk_that_cannot_be_had_costs_nothing_else(role: Role) -> None:
    talks = TalksOfPeople(role)
    await talks.say("mira", "monday", BOAT)
    late = UnusableAnswer("It makes no sense.")
    talks.model = player(reply=FRIEND, line=verifier, record=lambda text: late if BOAT in text else ENEMY)
    said = await talks.of("mira", "tuesday").take_turn(QUESTIONS[1])
    assert "no sense" in said["evidence"]["earlier_records_error"]
    assert said["messages"][-1].text == FRIEND
    assert (await talks.say("mira", "tuesday", QUESTIONS[2]))["earlier_records"]  # it is asked again


async def test_the_ensemble_knows_of_earlier_talks_until_they_are_forgotten(tmp_path: Path) -> None:
    whole_role(tmp_path)
    Library(tmp_path).create("tom", RoleCard(name="Tom Quill", profile="He sails the mail boat."))
    settings = {"user_role": "tom", "appraisal": "together", "parts": frozenset({"relations"})}
    model, saver, store = whole_cast(record=remembered(PEACE)), InMemorySaver(), InMemoryStore()
    own = ensemble.EnsembleContext(**run_settings(tmp_path, model, known_as="mira", talk_tokens=1, **settings))
    monday, tuesday = (Conversation(ensemble.build(), saver, own, day, store=store) for day in ("monday", "tuesday"))
    await monday.take_turn(HumanMessage(BOAT, id="boat"))
    model.calls.clear()
    output = await tuesday.take_turn(QUESTIONS[1])
    (record,) = output["evidence"]["earlier_records"]
    assert (record["talk"], record["dialogues"]) == ("monday", ["turn boat"])
    since = f"Since then, when Tom Quill and I talked: {PEACE}"
    assert record["text"] == since
    assert since in str(await tuesday.values())
    await monday.forget(["boat"])
    assert since not in str(await tuesday.values())


async def test_of_many_earlier_talks_the_latest_have_room(role: Role) -> None:
    talks = TalksOfPeople(role, memory_length=200)
    for day in ("sunday", "monday"):
        await talks.say("mira", day, BOAT)
    found = await talks.say("mira", "tuesday", QUESTIONS[1])
    assert [one["talk"] for one in found["earlier_records"]] == ["sunday", "monday"]  # of 44 characters each
    await talks.say("mira", "sunday", f"Again: {BOAT}")
    found = await talks.say("mira", "tuesday", QUESTIONS[2])
    assert [one["talk"] for one in found["earlier_records"]] == ["sunday", "sunday"]
