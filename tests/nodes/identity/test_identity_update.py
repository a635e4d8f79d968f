"""The update: what turns tell of a role becomes its identity in their conversation, and core only with approval."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from dramaturg.conversations.conversation import Conversation
from dramaturg.models.errors import ModelTimeout, ModelUnavailable
from dramaturg.nodes.identity import update as identity_update
from dramaturg.nodes.identity.chronicle import IdentityChange, apply_changes
from dramaturg.nodes.identity.update import approved_in
from dramaturg.stores.documents.forms import RoleCard, Triple
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.testing.role import CHRONICLE
from dramaturg.workflows.id_rag import build

from fakes import ScriptedChatModel
from identity_roles import (
    CALM,
    KEEPER,
    LIGHT,
    SILENCE,
    STORMS,
    Answer,
    ada,
    as_json,
    context,
    counted,
    decider,
    finding,
    found,
    in_turn,
    run,
    shown,
    sought,
    state_of,
    take,
    weighed,
)
from kept_forms import nothing_more_kept
from property_settings import property_settings
from roles import fenced

pytestmark = pytest.mark.sample_of_file(11)

ALL = [KEEPER, LIGHT, SILENCE, STORMS, CALM]
TEA = "Ada Quill likes tea."
ON: dict[str, Any] = {"update": True, "identity": "full", "gate": False}


@pytest.fixture
def role(tmp_path: Path) -> Path:
    return ada(tmp_path)


async def turn(role: Path, saver: BaseCheckpointSaver[Any] | None, reflected: Answer, **given: Any) -> Any:
    """Take a turn that tells something of her."""
    return await take(role, decider(reflected=reflected), "Tea?", saver, **(ON | given))


async def known(role: Path, saver: BaseCheckpointSaver[Any], /, **given: Any) -> list[str]:
    """Who she is in the next turn, as its prompt shows it."""
    await take(role, model := decider(), "Who are you?", saver, **{**ON, "update": False, **given})
    return fenced("identity", shown(model, "reply")[0]).splitlines()


async def answer(role: Path, saver: BaseCheckpointSaver[Any], value: Any, **given: Any) -> Any:
    return await run(role, decider(), saver, Command(resume=value), **(ON | given))


def waits_for(output: dict[str, Any]) -> dict[str, Any]:
    """What a graph that waits has asked."""
    (one,) = output.get("__interrupt__", ()) or pytest.fail("The graph waits for nobody.")
    asked: dict[str, Any] = one.value
    return asked


# What a finding becomes


async def test_without_an_update_nothing_is_asked(role: Path) -> None:
    saver = InMemorySaver()
    output = await take(role, model := decider(reflected=found(finding("tea"))), saver=saver)
    assert "reflected" not in counted(model)
    assert "identity_changes" not in output["evidence"]
    assert not (await state_of(saver)).get("identity_changes")


async def test_what_a_turn_tells_is_her_identity_in_the_next(role: Path) -> None:
    saver = InMemorySaver()
    question = HumanMessage("Tea?", id="m")
    model = decider(reflected=found(finding("tea")))
    output = await take(role, model, question, saver, now="2024-10-01T09:00", observations=["Tea!"], **ON)
    (text,) = shown(model, "reflected")
    assert fenced("statements", text).splitlines() == [f"{at}. {one}" for at, one in enumerate(ALL, start=1)]
    assert (fenced("question", text), fenced("line", text)) == ("Tea!\nTea?", "Ada Quill trims the lamp.")
    (change,) = output["evidence"]["identity_changes"]
    assert change == {
        "number": 1,
        "triple": {
            "subject": "Ada Quill",
            "relation": "likes",
            "object": "tea",
            "kind": "preference",
            "source": "turn m",
            "since": "2024-10-01",
        },
        "sentence": TEA,
        "replaces": None,
        "evidence": "She says so.",
        "salience": 9,
        "confidence": 0.9,
        "approved": None,
    }
    assert output["evidence"]["reflection"] == {
        "found": [{"object": "tea", "salience": 9, "confidence": 0.9}],
        "proposed": 1,
    }
    assert as_json(output["evidence"]) == output["evidence"]
    assert output["usage"]["reflect"]["calls"] == 2  # what it tells, and whether it contradicts the core
    assert await known(role, saver) == [*ALL, TEA]
    kept = (await state_of(saver))["identity_changes"]
    assert as_json(kept) == kept


async def test_what_is_new_can_be_looked_up_and_is_held_against(role: Path) -> None:
    saver = InMemorySaver()
    await turn(role, saver, found(finding("the sea", relation="sails")))
    await take(role, model := decider(), "Who are you?", saver, identity_retrieval="embedding")
    assert "Ada Quill sails the sea." in fenced("statements", shown(model, "weighed")[0])
    await take(role, model := decider(), "Who are you?", saver)
    assert "profession, values, likes, fears, sails" in shown(model, "query")[0]


async def test_what_it_became_is_there_after_a_restart(role: Path, tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        await turn(role, saver, found(finding("tea")))
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        assert await known(role, saver) == [*ALL, TEA]


@pytest.mark.parametrize(
    ("told", "settings", "counts"),
    [
        ({"salience": 6, "confidence": 0.7}, {}, True),
        ({"salience": 5, "confidence": 1.0}, {}, False),
        ({"salience": 10, "confidence": 0.69}, {}, False),
        ({"salience": 2, "confidence": 0.1}, {"least_salience": 2, "least_confidence": 0.1}, True),
        ({"salience": 9, "confidence": 0.9}, {"least_salience": 10}, False),
    ],
)
async def test_only_what_is_salient_and_sure_enough_counts(
    role: Path, told: dict[str, Any], settings: dict[str, Any], counts: bool
) -> None:
    output = await turn(role, None, found(finding("tea", **told)), **settings)
    assert len(output["evidence"].get("identity_changes", [])) == counts
    assert output["evidence"]["reflection"]["proposed"] == counts
    assert len(output["evidence"]["reflection"]["found"]) == 1


@pytest.mark.parametrize("findings", [(finding("tea"), finding("TEA ")), (finding("tea"), finding("Storms"))])
async def test_what_is_known_or_told_twice_becomes_nothing(role: Path, findings: Sequence[dict[str, Any]]) -> None:
    saver = InMemorySaver()
    output = await turn(role, saver, found(*findings))
    assert [one["sentence"] for one in output["evidence"]["identity_changes"]] == [TEA]
    assert output["evidence"]["reflection"]["proposed"] == 1
    await turn(role, saver, found(finding("tea")))
    assert len((await state_of(saver))["identity_changes"]) == 1


@pytest.mark.parametrize("number", [1, 4])
async def test_a_triple_does_not_take_its_own_place(role: Path, number: int) -> None:
    same = {1: finding("keeper of the light", 1, "profession"), 4: finding("storms", 4)}[number]
    output = await turn(role, None, found(same))
    assert "identity_changes" not in output["evidence"]
    assert "__interrupt__" not in output


async def test_a_triple_that_is_not_core_gives_way_at_its_place(role: Path) -> None:
    saver = InMemorySaver()
    output = await turn(role, saver, found(finding("tea", 4)))
    assert output["evidence"]["identity_changes"][0]["replaces"]["sentence"] == STORMS
    assert await known(role, saver) == [KEEPER, LIGHT, SILENCE, TEA, CALM]
    await turn(role, saver, found(finding("gin", 4)))
    assert await known(role, saver) == [KEEPER, LIGHT, SILENCE, "Ada Quill likes gin.", CALM]


async def test_a_finding_of_many_lines_is_one_sentence(role: Path) -> None:
    saver = InMemorySaver()
    await turn(role, saver, found(finding("tea\nAda Quill likes gold")))
    assert (await known(role, saver))[5:] == ["Ada Quill likes tea Ada Quill likes gold."]


@pytest.mark.parametrize("answer_", ["Hm.", found(finding("tea", 6)), ModelTimeout("It took too long.")])
async def test_a_reflection_that_cannot_be_used_changes_nothing_and_evidence_says_so(
    role: Path, answer_: str | Exception
) -> None:
    output = await turn(role, None, answer_)
    assert output["messages"][-1].text == "I keep the light."
    assert output["evidence"]["reflection"]["error"]
    assert "identity_changes" not in output["evidence"]


async def test_of_a_reflection_what_is_good_is_kept(role: Path) -> None:
    output = await turn(role, None, found(finding("gin", 6), *[finding(one) for one in ("tea", "rum", "ale")]))
    kept = [one["triple"]["object"] for one in output["evidence"]["identity_changes"]]
    assert kept == ["tea", "rum"]
    assert len(output["evidence"]["reflection"]["dropped"]) == 2


async def test_a_reflection_that_nobody_answers_can_be_gone_on_with(role: Path) -> None:
    saver = InMemorySaver()
    with pytest.raises(ModelUnavailable):
        await turn(role, saver, ModelUnavailable("nobody there"))
    await run(role, model := decider(reflected=found(finding("tea"))), saver, None, **ON)
    assert counted(model) == {"reflected": 1, "weighed": 1}
    assert await known(role, saver) == [*ALL, TEA]


async def test_no_more_than_so_many_changes_are_kept(role: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity_update, "MOST_CHANGES", 2)
    saver = InMemorySaver()
    await turn(role, saver, found(finding("tea")))
    output = await turn(role, saver, found(finding("gin"), finding("rum")))
    assert len(output["evidence"]["identity_changes"]) == 1
    assert output["evidence"]["identity_full"] == 2
    assert await known(role, saver) == [*ALL, TEA, "Ada Quill likes gin."]


async def test_the_chronicle_is_never_written(role: Path) -> None:
    saver = InMemorySaver()
    await turn(role, saver, found(finding("tea", 1), finding("gin")))
    await answer(role, saver, {"approved": [1]})
    assert (role / "chronicle.yaml").read_text(encoding="utf-8") == CHRONICLE
    assert await known(role, InMemorySaver()) == ALL


async def test_what_one_role_became_on_a_thread_is_not_anothers(role: Path) -> None:
    twin = Library(role.parent).create("twin", RoleCard(name="Ada Quill"))
    (twin.root / "chronicle.yaml").write_text(CHRONICLE, encoding="utf-8")
    saver = InMemorySaver()
    await turn(role, saver, found(finding("tea")))
    assert await known(role, saver, role="twin") == ALL
    assert await known(role, saver) == [*ALL, TEA]


# What a person must approve


async def test_what_takes_the_place_of_a_core_triple_waits_for_a_person(role: Path) -> None:
    saver = InMemorySaver()
    output = await turn(role, saver, found(finding("gin"), finding("tea", 2)))
    asked = waits_for(output)
    assert set(asked) == {"question", "changes", "action_requests", "review_configs"}
    ((change),) = asked["changes"]
    assert (change["number"], change["sentence"], change["replaces"]["sentence"]) == (1, TEA, LIGHT)
    assert (change["triple"]["object"], change["evidence"], change["approved"]) == ("tea", "She says so.", None)
    assert as_json(asked) == asked
    assert output["messages"][-1].text == "I keep the light."


@pytest.mark.parametrize(
    ("numbers", "identity", "declined"),
    [
        ([1], [KEEPER, TEA, SILENCE, STORMS, CALM, "Ada Quill likes gin."], 0),
        ([1, 1], [KEEPER, TEA, SILENCE, STORMS, CALM, "Ada Quill likes gin."], 0),
        ([], [*ALL, "Ada Quill likes gin."], 1),
    ],
)
async def test_what_is_approved_becomes_so_and_what_is_not_does_not(
    role: Path, numbers: list[int], identity: list[str], declined: int
) -> None:
    saver = InMemorySaver()
    await turn(role, saver, found(finding("gin"), finding("tea", 2)))
    output = await answer(role, saver, {"approved": numbers})
    changes = output["evidence"]["identity_changes"]
    assert [one["approved"] for one in changes] == [None, True][: len(changes)]
    assert output["evidence"]["declined"] == declined
    assert output["usage"]["reflect"]["calls"] == 2
    assert await known(role, saver) == identity


async def test_each_change_is_decided_on_as_views_of_interrupts_decide(role: Path) -> None:
    saver = InMemorySaver()
    asked = waits_for(await turn(role, saver, found(finding("tea", 2), finding("gin", 4)), approval="all"))
    first, second = asked["action_requests"]
    assert (first["args"], first["description"]) == (
        {"sentence": TEA, "replaces": LIGHT, "evidence": "She says so."},
        "Shall Ada Quill become this?",
    )
    assert {first["name"], second["name"]} == {one["action_name"] for one in asked["review_configs"]}
    decisions = [{"type": "reject", "message": "She never would."}, {"type": "approve"}]
    await answer(role, saver, {"decisions": decisions}, approval="all")
    assert await known(role, saver) == [KEEPER, LIGHT, SILENCE, "Ada Quill likes gin.", CALM]


async def test_all_changes_wait_where_that_is_wanted(role: Path) -> None:
    saver = InMemorySaver()
    output = await turn(role, saver, found(finding("tea"), finding("gin", 4)), approval="all")
    assert [one["number"] for one in waits_for(output)["changes"]] == [1, 2]
    await answer(role, saver, {"approved": [2]}, approval="all")
    assert await known(role, saver) == [KEEPER, LIGHT, SILENCE, "Ada Quill likes gin.", CALM]


@pytest.mark.parametrize("replaces", [0, 1])
async def test_where_nobody_is_there_to_ask_core_triples_stay_and_the_rest_is_taken(role: Path, replaces: int) -> None:
    saver = InMemorySaver()
    output = await turn(role, saver, found(finding("tea", replaces)), approval="nobody")
    assert "__interrupt__" not in output
    assert len(output["evidence"].get("identity_changes", [])) == (0 if replaces else 1)
    assert output["evidence"].get("declined", 0) == (1 if replaces else 0)


WRONG: list[Any] = ["yes", [1], {"approved": 1}, {"approved": [0]}, {"approved": [2]}, {"approved": [True]}]
WRONG += [{"approved": ["1"]}, {"approved": ""}, {"approved": b"\x01"}, {"approve": [1]}]
APPROVE = {"type": "approve"}
WRONG += [{"decisions": one} for one in ([], APPROVE, [APPROVE, APPROVE], ["approve"], [{"type": "edit"}], [{}])]


@pytest.mark.parametrize("wrong", WRONG)
def test_an_answer_of_another_form_says_what_to_do(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"Resume with \{'approved': \[numbers\]\}, where numbers are from 1 to 1"):
        approved_in(wrong, 1)


@pytest.mark.parametrize("kept", ["our own", "LangGraph's"])
async def test_after_wrong_answers_it_says_what_to_do_and_waits_for_a_right_one(
    role: Path, kept: str, tmp_path: Path
) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as ours:
        saver: BaseCheckpointSaver[Any] = ours if kept == "our own" else InMemorySaver()
        asked = waits_for(await turn(role, saver, found(finding("tea", 2))))
        for wrong in ("yes", {"approved": [2]}):
            again = waits_for(await answer(role, saver, wrong))
            assert "where numbers are from 1 to 1; an empty list approves none" in again.pop("error")
            assert again == asked
            assert not (await state_of(saver)).get("identity_changes")
        await answer(role, saver, {"approved": [1]})
        assert await known(role, saver) == [KEEPER, TEA, SILENCE, STORMS, CALM]


async def test_going_on_asks_no_model_again(role: Path) -> None:
    saver = InMemorySaver()
    await turn(role, saver, found(finding("tea", 2)))
    await run(role, model := decider(), saver, Command(resume={"approved": [1]}), **ON)
    assert model.calls == []


async def test_a_turn_after_one_that_waits_is_a_turn_and_nothing_was_approved(role: Path) -> None:
    saver = InMemorySaver()
    await turn(role, saver, found(finding("tea", 2)))
    assert await known(role, saver) == ALL
    await turn(role, saver, found())
    assert await known(role, saver) == ALL


async def test_of_a_long_chronicle_the_core_what_was_looked_up_and_the_first_are_shown(role: Path) -> None:
    rows = [f"- {{subject: Ada Quill, relation: likes, object: thing {at}, kind: trait}}" for at in range(150)]
    rows += ["- {subject: Ada Quill, relation: owns, object: a lamp, kind: trait}"]
    rows += ["- {subject: Ada Quill, relation: values, object: rest, kind: value, core: true}"]
    (role / "chronicle.yaml").write_text("\n".join(["triples:", *rows]), encoding="utf-8")
    saver, on = InMemorySaver(), {"update": True, "gate": False}
    model = decider(query=sought("owns"), reflected=found(finding("tea", 99)))
    await take(role, model, "Tea?", saver, **on)
    shown_ = fenced("statements", shown(model, "reflected")[0]).splitlines()
    assert len(shown_) == 100
    assert shown_[97:] == [
        "98. Ada Quill likes thing 97.",
        "99. Ada Quill owns a lamp.",
        "100. Ada Quill holds dear rest.",
    ]
    (kept,) = (await state_of(saver))["identity_changes"]
    assert kept["replaces"]["object"] == "a lamp"


# What contradicts a core triple, named by the model or not

SAILOR = finding("a sailor who has left the light for good", relation="profession")
LEFT = "Ada Quill is by profession a sailor who has left the light for good."


@pytest.mark.parametrize("appraisal", ["together", "apart"])
async def test_what_contradicts_a_core_triple_waits_though_the_model_names_none(role: Path, appraisal: str) -> None:
    saver = InMemorySaver()

    def fits(text: str) -> str:
        return "no" if (fenced("statement", text), fenced("line", text)) == (KEEPER, LEFT) else "yes"

    model = decider(reflected=found(SAILOR, finding("tea")), weighed=contradicts(LEFT, 1), contradicts=fits)
    output = await take(role, model, "Tea?", saver, **ON, appraisal=appraisal)
    ((change),) = waits_for(output)["changes"]
    assert (change["sentence"], change["replaces"]["sentence"]) == (LEFT, KEEPER)
    assert await known(role, saver) == ALL


def contradicts(line: str, statement: int) -> Answer:
    """The gate finds that a line goes against a statement, and no other does."""
    return lambda text: weighed(statement if fenced("line", text) == line else 0)


async def test_what_the_gate_is_asked_of_is_the_core_alone(role: Path) -> None:
    await take(role, model := decider(reflected=found(finding("tea"), finding("gin", 1))), "Tea?", **ON)
    texts = shown(model, "weighed")  # what is to take the place of a core triple waits anyway
    assert len(texts) == 1
    text = texts[0]
    assert fenced("statements", text).splitlines() == [f"1. {KEEPER}", f"2. {LIGHT}"]
    assert (fenced("question", text), fenced("line", text)) == ("Tea?", TEA)


@pytest.mark.parametrize(
    ("replaces", "numbers", "identity"),
    [
        (0, [1], [LEFT, LIGHT, SILENCE, STORMS, CALM]),
        (4, [1], [LEFT, LIGHT, SILENCE, CALM]),
        (4, [], ALL),
    ],
)
async def test_approved_it_takes_the_place_of_all_that_it_replaces(
    role: Path, replaces: int, numbers: list[int], identity: list[str]
) -> None:
    saver = InMemorySaver()
    model = decider(reflected=found(SAILOR | {"replaces": replaces}), weighed=weighed(1))
    await take(role, model, "Tea?", saver, **ON)
    await answer(role, saver, {"approved": numbers})
    assert await known(role, saver) == identity
    kept = (await state_of(saver)).get("identity_changes", [])
    assert [one["triple"].get("core") for one in kept] == [True][: len(numbers)]


@pytest.mark.parametrize("more", ["source: a letter", "since: 1850", "text: She tends the light."])
async def test_what_is_approved_holds_where_the_line_it_replaced_is_filled_in_later(role: Path, more: str) -> None:
    saver = InMemorySaver()
    await turn(role, saver, found(finding("tea", 2)))
    await answer(role, saver, {"approved": [1]})
    line = "object: a light that never fails, kind: value, core: true"
    file = role / "chronicle.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(line, f"{line}, {more}"), encoding="utf-8")
    assert await known(role, saver) == [KEEPER, TEA, SILENCE, STORMS, CALM]


async def test_where_nobody_is_asked_what_contradicts_a_core_triple_is_left(role: Path) -> None:
    saver = InMemorySaver()
    model = decider(reflected=found(SAILOR, finding("tea")), weighed=contradicts(LEFT, 1))
    output = await take(role, model, "Tea?", saver, **ON, approval="nobody")
    assert [one["sentence"] for one in output["evidence"]["identity_changes"]] == [TEA]
    assert output["evidence"]["declined"] == 1


async def test_what_nobody_can_weigh_waits_for_a_person_and_evidence_says_so(role: Path) -> None:
    saver = InMemorySaver()
    output = await take(role, decider(reflected=found(SAILOR), weighed="Hm."), "Tea?", saver, **ON)
    ((change),) = waits_for(output)["changes"]
    assert (change["sentence"], change["replaces"]) == (LEFT, None)
    output = await answer(role, saver, {"approved": []})
    assert output["evidence"]["reflection"]["not_weighed"]
    assert await known(role, saver) == ALL


OBJECTS = st.sampled_from(["tea", "gin", "silence", "storms", "a light that never fails", "a calm sea"])
RELATIONS = st.sampled_from(["likes", "values", "profession", "fears"])
FINDINGS = st.lists(st.builds(finding, OBJECTS, st.integers(0, 5), RELATIONS), max_size=3)
CORE = [("Ada Quill", "profession", "keeper of the light"), ("Ada Quill", "values", "a light that never fails")]


def cores(triples: Sequence[Triple]) -> set[tuple[str, str, str]]:
    return {(one.subject, one.relation, one.object) for one in triples if one.core}


def spelled(triple: dict[str, Any]) -> tuple[str, str, str]:
    return triple["subject"], triple["relation"], triple["object"]


async def lived(
    role: Path, turns: list[list[dict[str, Any]]], approval: str, data: st.DataObject
) -> tuple[set[tuple[str, str, str]], list[Triple]]:
    """Take turns and approve what chance will; which triples must be core, and the identity after."""
    saver, left = InMemorySaver(), {*CORE}
    for findings in turns:
        output = await turn(role, saver, found(*findings), approval=approval)
        if "__interrupt__" in output:
            changes = waits_for(output)["changes"]
            numbers = data.draw(st.lists(st.sampled_from([one["number"] for one in changes]), unique=True))
            for one in changes:
                if one["number"] in numbers and (one["replaces"] or {}).get("core"):
                    left = (left - {spelled(one["replaces"])}) | {spelled(one["triple"])}
            await answer(role, saver, {"approved": numbers}, approval=approval)
    return left, apply_changes(Role(role).chronicle().triples, (await state_of(saver)).get("identity_changes", []))


def test_no_core_triple_goes_without_approval(role: Path) -> None:
    @property_settings(15, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(FINDINGS, min_size=1, max_size=2), st.sampled_from(["core", "all"]), st.data())
    def check(turns: list[list[dict[str, Any]]], approval: str, data: st.DataObject) -> None:
        left, triples = asyncio.run(lived(role, turns, approval, data))
        assert left <= {(one.subject, one.relation, one.object) for one in triples}
        assert cores(triples) == left

    check()


def change(new: Triple, gone: Triple | None = None) -> IdentityChange:
    plain = gone.model_dump(exclude_defaults=True) if gone else None
    return {
        "role": "ada",
        "turn": "m",
        "triple": new.model_dump(exclude_defaults=True),
        "replaces": plain,
        "evidence": "so",
        "salience": 9,
        "confidence": 0.9,
        "asks": bool(plain and plain.get("core")),
        "approved": None,
    }


TRIPLES = st.builds(
    Triple,
    subject=st.just("Ada"),
    relation=st.sampled_from(["likes", "values"]),
    object=st.sampled_from("abcd"),
    kind=st.just("value"),
    core=st.booleans(),
)
NEW = TRIPLES.map(lambda one: one.model_copy(update={"core": False}))


@given(st.lists(TRIPLES, max_size=6, unique_by=lambda one: (one.relation, one.object)), st.lists(NEW), st.data())
def test_changes_that_replace_nothing_core_leave_the_core_as_it_is(
    triples: list[Triple], new: list[Triple], data: st.DataObject
) -> None:
    plain = [None, *(one for one in triples if not one.core)]
    after = apply_changes(triples, [change(one, data.draw(st.sampled_from(plain))) for one in new])
    assert [one for one in after if one.core] == [one for one in triples if one.core]
    said = [(one.relation, one.object) for one in after]
    assert len(said) == len({*said})


async def test_a_finding_leaves_no_form_of_an_answer_in_memory(role: Path) -> None:
    await take(role, decider(reflected=found(finding("tea"))), **ON)
    with nothing_more_kept():
        await take(role, decider(reflected=found(finding("tea"))), **ON)


def test_a_change_to_a_triple_that_the_chronicle_holds_no_more_is_an_addition() -> None:
    old, other, new = (Triple(subject="Ada", relation="likes", object=one, kind="value") for one in "abc")
    assert apply_changes([other], [change(new, old)]) == [other, new]
    assert apply_changes([old.model_copy(update={"core": True})], [change(new, old)])[0].core


def test_each_change_stands_where_its_triple_stood() -> None:
    triples = [Triple(subject="Ada", relation="likes", object=f"thing {at}", kind="value") for at in range(200)]
    changes = [
        change(Triple(subject="Ada", relation="likes", object=f"new {at}", kind="value"), triples[-1 - at])
        for at in range(50)
    ]
    assert [one.object for one in apply_changes(triples, changes)] == [
        *(f"thing {at}" for at in range(150)),
        *(f"new {at}" for at in reversed(range(50))),
    ]


# Branches


def talk_of(role: Path, model: ScriptedChatModel) -> Conversation:
    return Conversation(build(), InMemorySaver(), context(role, model, **ON), "tea")


async def identity_of(talk: Conversation) -> list[str]:
    """What was added to her identity on this branch."""
    return [one["triple"]["object"] for one in (await talk.values()).get("identity_changes", [])]


async def test_going_back_brings_the_identity_of_that_branch(role: Path) -> None:
    told = in_turn(*(found(finding(thing)) for thing in ("tea", "gin", "rum", "ale")))
    talk = talk_of(role, model := decider(reflected=told))
    for text in ("one", "two", "three"):
        await talk.take_turn(HumanMessage(text, id=text))
    assert await identity_of(talk) == ["tea", "gin", "rum"]
    await talk.fork("one")
    assert await identity_of(talk) == ["tea"]
    await talk.take_turn("four")
    assert fenced("identity", shown(model, "reply")[-1]).splitlines() == [*ALL, TEA]
    assert await identity_of(talk) == ["tea", "ale"]
    await talk.fork("three")
    assert await identity_of(talk) == ["tea", "gin", "rum"]
    await talk.regenerate("one")
    assert await identity_of(talk) == ["ale"]
    assert fenced("identity", shown(model, "reply")[-1]).splitlines() == ALL
    await talk.fork("two")
    await talk.delete("two")
    assert await identity_of(talk) == ["tea"]
    assert [one["id"] for one in (await talk.values())["episodes"]] == ["one"]
