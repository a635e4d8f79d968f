"""A talk of two: line after line in turn, until one leaves, the budget is spent, or nothing usable is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from dramaturg.models.errors import ModelTimeout, ModelUnavailable
from dramaturg.nodes.world.talk import LONGEST_TALK, TALK_IMPORTANCE, TOLD, TalkSettings
from dramaturg.workflows.talk import graph

from fakes import ScriptedChatModel
from roles import fenced
from townspeople import asked, in_turn, of_kind, townspeople, world_settings

IMAGES = {"alice": "<identity>\nAlice is patient.\n</identity>", "dorothy": "<identity>\nDorothy is loud.\n</identity>"}
GIVEN: Any = {"step": 3, "pair": ["alice", "dorothy"], "about": "Alice asks Dorothy.", "images": IMAGES}


def line(text: str, *, leaves: bool = False) -> str:
    return json.dumps({"line": text, "leaves": leaves})


async def talked(library: Path, model: ScriptedChatModel, **settings: Any) -> Any:
    return await graph.ainvoke(GIVEN, context=TalkSettings(**world_settings(library, model, **settings)))


def lines(found: Any) -> list[tuple[str, str, str]]:
    return [(one["agent"], one["to"], one["text"]) for one in of_kind(found["log"], "line")]


async def test_two_speak_in_turn_until_the_budget_is_spent(tmp_path: Path) -> None:
    for budget in (1, 2, 5):
        model = townspeople()
        found = await talked(tmp_path, model, talk_lines=budget)
        turns = [("alice", "dorothy", "I am Alice."), ("dorothy", "alice", "I am Dorothy.")] * 3
        assert lines(found) == turns[:budget]
        assert len(model.calls) == budget
        assert {(one["step"], one["time"]) for one in found["log"]} == {(3, "2024-10-01T11:00")}


async def test_a_talk_ends_with_the_line_of_whoever_leaves(tmp_path: Path) -> None:
    model = townspeople(say_line=in_turn(line("Well?"), line("I must go.", leaves=True), line("Never said.")))
    found = await talked(tmp_path, model)
    assert [text for _, _, text in lines(found)] == ["Well?", "I must go."]
    assert len(model.calls) == 2


async def test_a_talk_without_a_budget_ends_when_somebody_leaves(tmp_path: Path) -> None:
    said = [line(f"{at}.") for at in range(70)]
    model = townspeople(say_line=in_turn(*said, line("I must go.", leaves=True), line("Never said.")))
    found = await talked(tmp_path, model, talk_lines=0)
    assert [text for _, _, text in lines(found)] == [*(f"{at}." for at in range(70)), "I must go."]


async def test_a_talk_that_nobody_leaves_ends_at_last_and_no_prompt_grows_with_it(tmp_path: Path) -> None:
    long = "Well, " * 160 + "well."
    model = townspeople(say_line=lambda *_: line(long))
    found = await talked(tmp_path, model, talk_lines=0)
    assert len(lines(found)) == LONGEST_TALK
    shown = [fenced("conversation", call.text).splitlines() for call in asked(model, "say_line")]
    assert [len(one) for one in shown[:4]] == [0, 1, 2, 3]
    assert shown[-1][-1] == f"Alice: {long}"
    told = [one["text"] for one in found["heard"]]
    assert max(len(text.encode()) for text in [*map("\n".join, shown), *told]) <= TOLD


async def test_a_line_may_be_as_long_as_the_paper_lets_it(tmp_path: Path) -> None:
    long = "Well, " * 160 + "well."  # about 256 tokens
    found = await talked(tmp_path, townspeople(say_line=line(long, leaves=True)))
    assert lines(found) == [("alice", "dorothy", long)]


async def test_what_was_cut_of_a_line_is_logged(tmp_path: Path) -> None:
    found = await talked(tmp_path, townspeople(say_line=line("Well, " * 300, leaves=True)))
    assert found["log"][0].get("dropped") == ["line: cut to 1000 characters"]


async def test_both_remember_all_that_was_said_and_by_whom(tmp_path: Path) -> None:
    model = townspeople(say_line=in_turn(line("Well?"), line("No.", leaves=True)))
    found = await talked(tmp_path, model)
    assert found["heard"] == [
        {"agent": agent, "text": "Alice: “Well?” Dorothy: “No.”", "importance": TALK_IMPORTANCE}
        for agent in ("alice", "dorothy")
    ]


async def test_each_is_shown_its_own_identity_the_cause_and_what_was_said(tmp_path: Path) -> None:
    model = townspeople()
    await talked(tmp_path, model, talk_lines=3)
    first, second, third = asked(model, "say_line")
    assert [fenced("identity", call.text) for call in (first, second)] == ["Alice is patient.", "Dorothy is loud."]
    assert "Dorothy is loud." not in first.text
    assert {fenced("deed", call.text) for call in (first, second, third)} == {"Alice asks Dorothy."}
    assert fenced("conversation", third.text) == "Alice: I am Alice.\nDorothy: I am Dorothy."
    assert "What Dorothy says to Alice now" in second.text


@pytest.mark.parametrize("wrong", ["Hello!", line(" "), '{"leaves": false}', ModelTimeout("Late.")])
async def test_without_a_usable_line_the_talk_is_over_and_what_was_said_is_kept(
    tmp_path: Path, wrong: str | Exception
) -> None:
    model = townspeople(say_line=lambda role, _: line("Well?") if role == "Alice" else wrong)
    found = await talked(tmp_path, model)
    assert lines(found) == [("alice", "dorothy", "Well?")]
    (silence,) = of_kind(found["log"], "silence")
    assert (silence["agent"], silence["to"]) == ("dorothy", "alice")
    assert silence["error"]
    assert [one["text"] for one in found["heard"]] == ["Alice: “Well?”"] * 2
    assert found["usage"]["say"]["failures"] >= 1


async def test_a_talk_without_a_line_leaves_nothing_to_remember(tmp_path: Path) -> None:
    found = await talked(tmp_path, townspeople(say_line="…"))
    assert [one["kind"] for one in found["log"]] == ["silence"]
    assert found["heard"] == []


async def test_an_unusable_line_is_asked_for_again_before_the_talk_ends(tmp_path: Path) -> None:
    model = townspeople(say_line=in_turn("Hello!", line("Well?", leaves=True)))
    found = await talked(tmp_path, model)
    assert [text for _, _, text in lines(found)] == ["Well?"]
    assert of_kind(found["log"], "silence") == []
    assert found["usage"]["say"]["calls"] == 2


async def test_it_is_said_when_the_model_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="not there"):
        await talked(tmp_path, townspeople(say_line=ModelUnavailable("The model is not there.")))
