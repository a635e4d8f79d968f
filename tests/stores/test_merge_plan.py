"""The merge plan: written to be read, edited, carried out, and taken back without a question."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dramaturg.stores.documents.merges import DECISIONS, PLAN, Merge, MergePlan, Why, read_plan, write_plan
from dramaturg.stores.errors import MissingIndex, RoleFileError
from dramaturg.stores.role import Role

from fakes import ScriptedChatModel
from graph_roles import (
    DOG,
    JORY,
    LIFE,
    TOM,
    WORK,
    asked,
    graph_actor,
    graph_role,
    groups,
    index,
    part,
    put,
    served,
    with_aliases,
)
from passage_samples import quick
from roles import fenced

pytestmark = pytest.mark.sample_of_file(4)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return graph_role(tmp_path)


def plan(*merges: tuple[str, ...], alone: tuple[str, ...] = ()) -> MergePlan:
    """Merges, each its name and then its names."""
    return MergePlan(merges=tuple(Merge(name=name, names=names) for name, *names in merges), alone=alone)


async def planned(role: Role, model: ScriptedChatModel | None = None, **given: Any) -> dict[str, Any]:
    """Write a plan, and read it as a person does."""
    await index(role, model, {"plan": True}, **given)
    return dict(yaml.safe_load((role.root / PLAN).read_text(encoding="utf-8")))


async def apply(role: Role, edited: MergePlan) -> ScriptedChatModel:
    """Put an edited plan in the place of the plan and carry it out; gives the model that was asked for what is new."""
    write_plan(role.root, edited, PLAN)
    await index(role, model := graph_actor(), {"apply": True})
    return model


async def test_a_plan_says_which_names_become_one_and_why_and_publishes_nothing(role: Role) -> None:
    report = await index(role, wishes={"plan": True}, reasons=True)
    assert (report["version"], report["merges"], report["plan"]) == ("", 2, str(role.root / PLAN))
    with pytest.raises(MissingIndex):
        served(role)
    found = read_plan(role.root, PLAN)
    assert found is not None
    assert {frozenset(merge.names): merge.name for merge in found.merges} == {
        TOM: "Her brother",
        JORY: "harbour master",
    }
    assert set(found.alone) == {"Ada Quill", "Gull Rock", "Petrel", "old lamp"}
    for merge in found.merges:
        assert {frozenset(why.names) <= set(merge.names) for why in merge.why} == {True}
        assert all(why.reason == "Both names stand for one person." and why.similarity for why in merge.why)
        assert len(merge.why) == len(merge.names) * (len(merge.names) - 1) // 2
    text = (role.root / PLAN).read_text(encoding="utf-8")
    assert "dramaturg index ada --method role-rag --apply" in text
    assert not (role.root / DECISIONS).exists()


async def test_a_plan_that_is_not_edited_gives_what_there_would_be_without_one(tmp_path: Path) -> None:
    planning, at_once = graph_role(tmp_path / "a"), graph_role(tmp_path / "b")
    await planned(planning)
    report = await index(planning, model := graph_actor(), {"apply": True})
    await index(at_once)
    assert groups(planning) == groups(at_once)
    assert served(planning).entities() == served(at_once).entities()
    assert (report["merges"], {part(call.text) for call in model.calls}) == (2, {"summary"})
    assert [(planning.root / name).exists() for name in (PLAN, DECISIONS)] == [False, True]


async def test_a_plan_is_carried_out_as_it_was_edited(role: Role) -> None:
    await planned(role)
    edited = plan(
        ("The Captain", "Tom Quill", "tom"),  # renamed, and one name less
        ("Jory", "Jory Penrose"),  # split, and renamed
        ("Ada Quill", "Ada Quill", "Gull Rock"),  # added
        alone=("Her brother", "harbour master", "Petrel", "old lamp"),
    )
    model = await apply(role, edited)
    assert {part(call.text) for call in model.calls} == {"summary"}
    assert {(one.name, one.names[1:]) for one in served(role).entities()} == {
        ("The Captain", ("Tom Quill", "Tom")),
        ("Jory", ("Jory Penrose",)),
        ("Ada Quill", ("Gull Rock",)),
        *((name, ()) for name in edited.alone),
    }
    assert (read_plan(role.root), read_plan(role.root, PLAN)) == (edited, None)
    await index(role, again := graph_actor())
    assert again.calls == []


MARLOWE = (
    "# Kit\n\nKit Marlowe writes plays. John Marlowe mends shoes in Canterbury. Young Marlowe drinks with Tom. "
    "Master Marlowe mends the shoes of Tom.\n"
)
FATHER, SON = {"John Marlowe", "Master Marlowe"}, {"Kit Marlowe", "Young Marlowe"}


def marlowes(no: set[str]) -> ScriptedChatModel:
    """Holds all Marlowes for one but two of them."""

    def answer(text: str) -> str | None:
        if part(text) == "facts":
            found = re.findall(r"^\[(\d+)\] (.*)$", fenced("text", text), re.MULTILINE)
            named = [(int(at), name) for at, told in found for name in re.findall(r"\w+ Marlowe", told)]
            entities = [
                {"name": name, "type": "character", "sentence": at, "description": f"{name}."} for at, name in named
            ]
            return json.dumps({"entities": entities, "relations": []})
        if part(text) == "same":
            two = {fenced(tag, text).split(":")[0] for tag in ("one", "other")}
            return "no" if two == no else "yes"
        return None

    return graph_actor(answer)


async def test_father_and_son_are_not_one_by_way_of_a_third(role: Role) -> None:
    put(role, "life", MARLOWE)
    no = {"Kit Marlowe", "John Marlowe"}
    report = await index(role, marlowes(no))
    assert served(role).find("Kit Marlowe") != served(role).find("John Marlowe")
    assert report["cut"] > 0
    assert report["noes"] == 1
    paper = await index(role, marlowes(no), rules="paper")
    assert groups(role) == {frozenset(FATHER | SON)}
    assert (paper["cut"], paper["noes"]) == (0, 1)


async def test_a_plan_shows_the_noes_beside_the_yeses(role: Role) -> None:
    put(role, "life", MARLOWE)
    found = await planned(role, model=marlowes({"Kit Marlowe", "John Marlowe"}))
    noes = [{*one["names"]} for one in found.get("apart", ()) if one.get("same") is False]
    assert noes == [{"Kit Marlowe", "John Marlowe"}]
    left_out = [one for one in found.get("apart", ()) if one.get("same", True)]
    groups_of = {name: at for at, merge in enumerate(found["merges"]) for name in merge["names"]}
    assert left_out
    assert all(groups_of.get(one["names"][0]) != groups_of.get(one["names"][1]) for one in left_out)
    (role.root / PLAN).unlink()
    whole = await planned(role, model=marlowes({"Kit Marlowe", "John Marlowe"}), chains="whole")
    (merge,) = whole["merges"]
    assert len(merge["why"]) == 6
    assert [{*one["names"]} for one in merge["why"] if one.get("same") is False] == noes
    assert "apart" not in whole


async def test_a_plan_leaves_what_is_served_as_it_is(role: Role) -> None:
    await index(role)
    version = served(role).version
    assert "reason" not in str(await planned(role))
    assert served(role).version == version


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (None, r"no merge_plan\.yaml: write one with `dramaturg index ada --method role-rag --plan`"),
        (plan(("Tom", "Tom", "Tom Quil")), "'Tom Quil', which no document does; did you mean 'Tom Quill'"),
        ("merges:\n- {name: A, names: [Tom]}\n- {name: B, names: [TOM]}\n", r"'TOM' is in two merges \('A' and 'B'\)"),
        ("merges:\n- {name: A, names: [Tom]}\n- {name: a, names: [Petrel]}\n", "'a' is in two merges"),
        ("merges:\n- {name: Tom, names: []}\n", "names"),
        ("merges:\n- {nam: Tom, names: [Tom]}\n", "no key `merges.1.nam`; did you mean 'name'"),
        ("merges: [\n", "merge_plan.yaml"),
    ],
)
async def test_a_slip_in_a_plan_is_named(role: Role, written: MergePlan | str | None, says: str) -> None:
    await index(role)
    before = served(role).version
    if isinstance(written, MergePlan):
        write_plan(role.root, written, PLAN)
    elif written:
        (role.root / PLAN).write_text(written, encoding="utf-8")
    with pytest.raises(RoleFileError, match=says):
        await index(role, wishes={"apply": True})
    assert (read_plan(role.root), served(role).version) == (None, before)
    assert (role.root / PLAN).exists() is (written is not None)


async def test_a_name_that_is_to_stay_alone_is_not_silently_left_to_the_model(role: Role) -> None:
    await index(role)
    with pytest.raises(RoleFileError, match="'Tom Quil', which no document does; did you mean 'Tom Quill'"):
        await apply(role, plan(("Her brother", "Her brother", "Tom"), alone=("Tom Quil",)))
    with pytest.raises(
        RoleFileError, match=r"'Her brother' alone .* another name"
    ):  # moved, but the merge still has its name
        await apply(role, plan(("Her brother", "Tom Quill", "Tom"), alone=("Her brother",)))


async def test_without_normalization_there_is_no_plan(role: Role) -> None:
    with pytest.raises(ValueError, match="nothing to plan without entity normalization"):
        await index(role, wishes={"plan": True}, normalization=False)


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("tom.", {"Her brother": {"Her brother", "Tom Quill"}, "Tom": {"Tom"}, "harbour master": JORY}),
        ("Her brother", {"Tom Quill": {"Tom Quill", "Tom"}, "Her brother": {"Her brother"}, "harbour master": JORY}),
        ("Jory Penrose", {"Her brother": TOM, "harbour master": {"harbour master"}, "Jory Penrose": {"Jory Penrose"}}),
    ],
)
async def test_a_merge_is_taken_back_without_a_question(role: Role, name: str, left: dict[str, set[str]]) -> None:
    await planned(role)
    await index(role, wishes={"apply": True})
    decided = read_plan(role.root)
    assert decided is not None
    write_plan(role.root, decided.without(name))
    await index(role, model := graph_actor())
    assert {part(call.text) for call in model.calls} <= {"summary"}
    alone = {"Ada Quill", "Gull Rock", "Petrel", "old lamp"}
    assert {one.name: set(one.names) for one in served(role).entities() if one.name not in alone} == left


def joined_by(*pairs: str) -> tuple[Why, ...]:
    """Yes's, each of two names of one letter; a no in brackets."""
    return tuple(Why(names=(one[-2], one[-1]), **({"same": False} if one[0] == "!" else {})) for one in pairs)


@pytest.mark.parametrize(
    ("why", "out", "merges", "alone"),
    [
        (["AB", "BC"], "B", [], "BAC"),
        (["AB", "BC", "CD"], "B", ["CD"], "BA"),
        (["AB", "BC", "AC", "CD"], "B", ["ACD"], "B"),
        (["AB", "BC", "CD", "DE"], "C", ["AB", "DE"], "C"),
        (["AB", "BC", "CD", "DE"], "A", ["BCDE"], "A"),
        (["AB", "BC", "!AC"], "B", [], "BAC"),
        (["AB", "BC"], "D", ["ABC"], "D"),  # D was put there by a person, and joins nothing
        (["BC", "CD"], "C", ["AB"], "CD"),  # A is the merge's name, put there by a person
        ([], "B", ["ACD"], "B"),
    ],
)
def test_a_bridge_that_is_taken_out_splits_what_only_it_joined(
    why: list[str], out: str, merges: list[str], alone: str
) -> None:
    names = tuple(sorted({*"".join(why).replace("!", ""), *"".join(merges), *alone}))
    found = MergePlan(merges=(Merge(name="A", names=names, why=joined_by(*why)),)).without(out)
    assert ["".join(one.names) for one in found.merges] == merges
    assert [one.name for one in found.merges] == [names[0] for names in merges]
    assert "".join(found.alone) == alone
    kept = [set(one) for one in why for merge in found.merges if set(one) <= set(merge.names)]
    assert [set(reason.names) for one in found.merges for reason in one.why] == kept


def test_what_no_merge_holds_cannot_be_taken_back() -> None:
    decided = plan(("Tom", "Tom", "Tom Quill"), alone=("Ada",))
    with pytest.raises(RoleFileError, match="No merge holds 'Tom Quil'; did you mean 'Tom Quill'"):
        decided.without("Tom Quil")
    with pytest.raises(RoleFileError, match="No merge holds 'Ada'"):
        decided.without("Ada")
    assert plan(("Tom", "Tom")).without("tom") == MergePlan(alone=("tom",))
    assert plan(("T", "Tom")).without("Tom") == MergePlan(alone=("Tom",))


async def test_decisions_outlast_a_new_document(role: Role) -> None:
    await planned(role)
    await apply(role, plan(("The Captain", "Tom Quill", "Tom"), alone=("Her brother", *JORY)))
    put(role, "work", WORK + "\nThe Captain? It is Kit.")
    put(role, "dog", DOG)
    await index(role, model := graph_actor())
    assert {frozenset({"The Captain", "Tom Quill", "Tom"}), frozenset({"Her brother"})} <= groups(role)
    decided = ("Tom Quill:", "Tom:", "Her brother:", "harbour master:", "Jory Penrose:")
    pairs = [(fenced("one", text), fenced("other", text)) for text in asked(model, "same")]
    assert not [pair for pair in pairs if all(entry.startswith(decided) for entry in pair)]
    put(role, "life", LIFE.replace("Petrel", "Gull Rock"))  # and a change of what was told
    await index(role)
    assert served(role).find("Tom") == "The Captain" != served(role).find("Her brother")
    assert len([one for one in groups(role) if one & JORY]) == 2


async def test_a_name_that_a_person_gave_is_one_of_the_names(role: Role) -> None:
    await planned(role)
    await apply(role, plan(("Kit", "Petrel"), alone=("Tom",)))
    put(role, "dog", DOG)
    await index(role)
    assert served(role).find("Petrel") == served(role).find("Kit") == "Kit"
    assert len(served(role).entity("Kit").statements) == 3


async def test_without_decisions_the_model_decides_again(role: Role) -> None:
    await index(role)
    await apply(role, MergePlan(alone=(*TOM, *JORY)))
    assert not {TOM, JORY} & groups(role)
    (role.root / DECISIONS).unlink()
    await index(role, model := graph_actor())
    assert {TOM, JORY} <= groups(role)
    assert model.calls == []


@pytest.mark.parametrize(
    ("alone", "left"), [((), {"The keeper", "harbour master"}), (("The keeper",), {"harbour master"})]
)
async def test_what_a_person_calls_as_the_card_does_is_the_role(
    role: Role, alone: tuple[str, ...], left: set[str]
) -> None:
    put(role, "life", "The keeper trims the old lamp. The harbour master fears Tom.\n")
    with_aliases(role, "The keeper")
    await index(role)
    assert frozenset({"Ada Quill", "The keeper"}) in groups(role)
    write_plan(role.root, plan(("Ada Quill", "harbour master"), alone=alone))
    await index(role)
    assert set(served(role).entity("Ada Quill").names) == {"Ada Quill", *left}
    assert len(served(role).entities()) == (4 if alone else 3)
