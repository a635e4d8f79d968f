"""DRMR where it is odd: small graphs, names spelled in other ways, revisions without words, scores that fail."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role
from dramaturg.workflows import amadeus, drmr_index

from cast_roles import Talk, cast_role, counted, in_turn, numbered, scored, systems, take
from fakes import ScriptedChatModel
from memory_roles import with_card
from roles import fenced, run_settings, small_role
from scope_roles import asked, player, reasoned, shown

pytestmark = pytest.mark.sample_of_file(5)

PARCEL = "Where is the parcel from Leith?"
EDGES = 6  # of the cast, in seven dialogues
LONG = ", ".join(f"in his year {n} he brought me letters of his own" for n in range(1, 9))  # not a sentence ends in it
PAIR = ["Ada Quill", "Mr Pike"]


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return cast_role(tmp_path)


def clique(evidence: dict[str, Any]) -> list[str]:
    """The names in the clique of a turn."""
    return list(evidence["relations"]["clique"])


# What the graph holds


async def test_the_one_dialogue_of_the_two_stays_in_a_full_graph_however_long_ago_it_came(tmp_path: Path) -> None:
    nets = {f"n{n}": (("Nell", f"Net {n} w{n}."), ("Ada Quill", f"Mend {n} w{n}.")) for n in range(6)}
    pike = (("Mr Pike", "I sold the old lamp."), ("Ada Quill", "Thief, you sold my lamp."))
    talk = Talk(
        cast_role(tmp_path, {"pike": pike, **nets}), user_role="Mr Pike", graph_dialogues=4, recalled_dialogues=2
    )
    assert clique(await talk.ask("I sold the old lamp.")) == PAIR
    for n in range(5):
        evidence = await talk.ask(f"Nell: Net {n} w{n}. " + f"w{n} " * 400)
        assert "pike" in {one["scene"] for one in evidence["dialogues"]}
        assert clique(evidence) == PAIR
        assert len((await talk.values())["known_dialogues"]) <= 4


async def test_a_graph_smaller_than_what_a_turn_brings_holds_all_that_it_brings(role: Role) -> None:
    talk = Talk(role, user_role="tom", graph_dialogues=1)
    evidence = await talk.ask(PARCEL)
    brought = [one["dialogue"] for one in evidence["dialogues"]]
    assert len(brought) == 3
    assert [one["dialogue"] for one in (await talk.values())["known_dialogues"]] == brought


async def test_what_one_user_left_in_the_graph_is_no_bond_of_another(role: Role) -> None:
    talk = Talk(role, user_role="tom")
    assert clique(await talk.ask(PARCEL))
    assert clique(await talk.ask("Hello.", user_role="rose")) == []
    assert clique(await talk.ask("Hello again.", user_role="")) == []


# Names


@pytest.mark.parametrize(
    ("name", "again"), [("Mr Pike", " mr  pike"), ("Old Zoe", " old  ZOE")], ids=["who speaks", "whom nobody knows"]
)
async def test_records_of_a_user_are_found_by_every_spelling_of_the_name(role: Role, name: str, again: str) -> None:
    talk = Talk(role, memory_dialogues=50)
    await talk.ask("The lamp?", player(record="The lamp was sold."), user_role=name)
    await talk.ask("And?", model := player(record="Another."), user_role=again)
    assert "The lamp was sold." in fenced("memory", shown(model, "reply")[0])


async def test_a_user_whose_alias_is_the_roles_name_is_not_the_role(role: Role) -> None:
    twin = RoleCard(name="Bea", aliases=("Ada Quill",), profile="Her twin.")
    Library(role.root.parent).create("bea", twin)
    output = await take(role, player(), PARCEL, user_role="bea")
    assert clique(output["evidence"]) == []


async def test_a_role_whose_name_has_two_spaces_is_found_in_its_dialogues(role: Role) -> None:
    with_card(role, name="Ada  Quill")
    output = await take(role, player(), PARCEL, user_role="tom")
    assert len(clique(output["evidence"])) >= 2


async def test_a_users_name_with_signs_of_a_template_stays_as_it_is(role: Role) -> None:
    await take(role, model := player(), PARCEL, user_role="Bo$$ $role ${x}")
    assert "Bo$$ $role ${x}" in systems(model, "reply")[0]


# Records


async def test_one_record_that_is_too_long_is_not_merged_with_itself(role: Role) -> None:
    talk, model = Talk(role, user_role="tom", memory_length=200, memory_dialogues=50), player(record=LONG)
    for text in (PARCEL, "And?", "Then?"):
        await talk.ask(text, model)
    assert await talk.records() == [LONG.strip()]
    assert "merged" not in counted(model)


async def test_without_role_memory_no_records_are_merged(role: Role) -> None:
    talk = Talk(role, user_role="tom", memory_length=200, memory_dialogues=1, recalled_dialogues=7)
    failing = player(record=numbered(LONG[: len(LONG) // 2]), merged="")
    for text in (PARCEL, "And?"):
        await talk.ask(text, failing)
    assert counted(failing)["merged"]
    await talk.ask("Then?", model := player(), role_memory=False)
    assert "merged" not in counted(model)


# Scores


async def test_an_edge_without_a_score_is_asked_about_once_in_a_turn_however_often_it_is_revised(role: Role) -> None:
    output = await take(role, model := player(edge="Hm.", line=scored(1)), PARCEL, user_role="tom", memory_dialogues=1)
    assert output["evidence"]["verification"]["revisions"] == 2
    assert output["evidence"]["relations"]["unscored"] == 5
    assert counted(model)["edge"] == 2 * 5  # an answer that cannot be used is asked for once more


async def rebuilt(role: Role, model: ScriptedChatModel, **wishes: bool) -> None:
    """Index the dialogues anew."""
    settings = drmr_index.DrmrIndexContext(**run_settings(role.root.parent, model, appraisal="together"))
    await drmr_index.build().compile().ainvoke({"rebuild": True, **wishes}, context=settings)  # type: ignore[call-overload]


async def test_a_rebuild_without_scores_asks_for_none_and_keeps_those_of_conversations(role: Role) -> None:
    await take(role, player(), PARCEL, user_role="tom")
    await rebuilt(role, model := player())
    await take(role, model, PARCEL, user_role="tom")
    assert "edge" not in counted(model)


async def test_a_rebuild_with_scores_asks_for_every_one_anew(role: Role) -> None:
    await take(role, player(), PARCEL, user_role="tom")
    await rebuilt(role, model := player(edge=reasoned(1)), scores=True)
    assert counted(model) == {"edge": EDGES}
    output = await take(role, model := player(), PARCEL, user_role="tom")
    assert "edge" not in counted(model)
    assert {one["score"] for one in output["evidence"]["relations"]["edges"]} == {1.0}


# A revision without words


async def test_a_revision_without_words_ends_the_turn_with_the_draft_before_it(role: Role) -> None:
    model = player(reply=in_turn("First.", ""), line=scored(3))
    output = await take(role, model, PARCEL, user_role="tom")
    assert output["messages"][-1].text == "First."
    assert len(shown(model, "line")) == 1
    assert_empty_at_the_end(output["evidence"]["drafts"])


async def test_what_a_revision_without_words_has_cost_is_counted(role: Role) -> None:
    model = player(reply=in_turn("First.", ""), line=scored(3))
    spent = (await take(role, model, PARCEL, user_role="tom"))["usage"]["draft"]
    asks = [call for call in model.calls if asked(call.messages)[0] == "reply"]
    assert (spent["calls"], spent["failures"]) == (len(asks), len(asks) - 1)
    assert spent["prompt_tokens"] == sum(len(call.text.split()) for call in asks)


@pytest.mark.parametrize(("scores", "spoken"), [((3, 2), "First."), ((2, 3), "Second.")])
async def test_amadeus_too_speaks_the_best_of_the_drafts_before_a_revision_without_words(
    tmp_path: Path, scores: tuple[int, int], spoken: str
) -> None:
    small_role(tmp_path)
    model = player(reply=in_turn("First.", "Second.", ""), line=scored(*scores))
    settings = run_settings(tmp_path, model, verify=True, appraisal="together")
    asked = {"messages": [HumanMessage("Storms?")]}
    output = await amadeus.build().compile().ainvoke(asked, context=amadeus.AmadeusContext(**settings))  # type: ignore[call-overload]
    assert output["messages"][-1].text == spoken
    assert len(shown(model, "line")) == 2
    assert [one["score"] for one in output["evidence"]["drafts"]] == [*scores, None]
    assert_empty_at_the_end(output["evidence"]["drafts"])


def assert_empty_at_the_end(drafts: list[dict[str, Any]]) -> None:
    """The last draft has no words and no score and says why; none before it does."""
    assert [bool(one["text"]) for one in drafts] == [True] * (len(drafts) - 1) + [False]
    assert drafts[-1]["score"] is None
    assert drafts[-1]["error"]
