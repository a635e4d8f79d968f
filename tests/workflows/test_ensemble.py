"""The ensemble from end to end with a scripted model: who takes part, one draft, checkers, budget, memory, account."""

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from ensemble_roles import Talk, cast, in_turn, shown
from pydantic import ValidationError

from dramaturg.testing import write_role
from dramaturg.workflows.ensemble import PARTS, EnsembleContext, graph
from dramaturg.workflows.methods import chat_graph, context_type, preparations

from identity_roles import weighed
from roles import run_settings, small_role
from scope_roles import MOON, reasoned, scoped

pytestmark = pytest.mark.sample_of_file(6)

METHODS = ("amadeus", "role-rag", "emotional-rag", "drmr", "id-rag")
SHOWS = {
    "passages": {"knowledge", "selection", "attributes"},
    "scope": {"entities", "hypothetical"},
    "memories": {"memories", "mood", "strategy"},
    "relations": {"relations", "records"},
    "identity": {"identity", "episodes"},
}
"""What the evidence shows of each part; no part shows what is another's."""


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


def seen(output: Any) -> set[str]:
    """The parts that the evidence shows something of."""
    return {part for part, names in SHOWS.items() if names & output["evidence"].keys()}


def spent(output: Any) -> Counter[str]:
    """The calls that the account has."""
    return Counter({node: used["calls"] for node, used in output["usage"].items() if used["calls"]})


# Who takes part


@pytest.mark.crash
async def test_beethoven_has_files_for_all_parts_and_all_of_them_show(talk: Talk) -> None:
    output = await talk.turn(cast(), role="beethoven")
    assert output["evidence"]["parts"] == list(PARTS)
    assert {part: names - output["evidence"].keys() for part, names in SHOWS.items()} == {
        part: set[str]() for part in PARTS
    }


async def test_silver_has_no_chronicle_and_remembers_from_his_dialogues(talk: Talk) -> None:
    output = await talk.turn(cast(), role="silver")
    assert output["evidence"]["parts"] == ["passages", "scope", "memories", "relations"]
    assert seen(output) == {*PARTS} - {"identity"}
    assert "gate" not in output["evidence"]
    assert output["messages"][-1].text == "I keep the light."


async def test_a_part_takes_part_where_the_role_has_been_told_something_for_it(talk: Talk, tmp_path: Path) -> None:
    file = tmp_path / "ada" / "chronicle.yaml"
    triples = [{**one, "known_to": ["tom"]} for one in yaml.safe_load(file.read_text("utf-8"))["triples"]]
    file.write_text(json.dumps({"triples": triples}), encoding="utf-8")
    for document in (tmp_path / "ada" / "persona").glob("*.md"):
        document.write_text("---\nknown_to: tom\n---\n\n" + document.read_text("utf-8"), encoding="utf-8")
    output = await talk.turn(cast())
    assert output["evidence"]["parts"] == ["memories", "relations"]


async def test_a_role_without_files_is_refused(talk: Talk, tmp_path: Path) -> None:
    for file in ("chronicle.yaml", "memories.jsonl", "dialogues/friday.jsonl", "persona/life.md"):
        (tmp_path / "ada" / file).unlink(missing_ok=True)
    for file in (*(tmp_path / "ada" / "dialogues").glob("*"), *(tmp_path / "ada" / "persona").glob("*")):
        file.unlink()
    with pytest.raises(
        ValueError, match=r"'ada' has files for none of the parts identity, .*: see docs/concepts/ensemble.md"
    ):
        await talk.turn(model := cast())
    assert not model.calls


@pytest.mark.parametrize(
    ("nothing", "missing"),
    [
        ({"persona": ""}, {"passages", "scope"}),
        ({"memories": (), "dialogue": ()}, {"memories", "relations"}),
        ({"memories": (), "dialogue": [{"scene": "quay", "speaker": "Tom", "text": "Hm."}]}, {"memories"}),
        ({"chronicle": "triples: []\n"}, {"identity"}),
    ],
)
async def test_a_file_with_nothing_in_it_is_none(tmp_path: Path, nothing: dict[str, Any], missing: set[str]) -> None:
    write_role(tmp_path, **nothing)
    output = await Talk(tmp_path).turn(cast())
    assert {*output["evidence"]["parts"]} == {*PARTS} - missing


@pytest.mark.sample(4)
@pytest.mark.parametrize("wanted", [one for n in (1, 4, 5) for one in combinations(PARTS, n)], ids="-".join)
async def test_there_is_one_draft_whoever_takes_part(talk: Talk, wanted: tuple[str, ...]) -> None:
    """The parts have from four nodes to more than ten, and the draft waits for the longest."""
    nodes = await talk.steps(model := cast(), parts=wanted)
    assert Counter(nodes)["draft"] == 1
    assert {one for one in nodes if one in PARTS} == {*wanted}
    assert max(nodes.index(part) for part in wanted) < nodes.index("draft")
    assert len(shown(model, "reply")) == 1
    values = await talk.values()
    assert values["evidence"]["parts"] == [part for part in PARTS if part in wanted]
    assert {*values["gathered"]} == {*wanted}
    assert seen(values) == {*wanted}


@pytest.mark.sample(2)
@pytest.mark.parametrize("part", PARTS)
async def test_what_a_part_found_can_be_edited_and_no_other_is_lost(talk: Talk, part: str) -> None:
    context = talk.context(model := cast())
    given = {"messages": [("user", "Storms?")]}
    await talk.graph.ainvoke(given, talk.config, context=context, interrupt_before=["draft"])
    before = (await talk.values())["gathered"]
    grounds = {"texts": {"knowledge": ["A whale swam by."]}, "limits": {}, "asker": "", "evidence": {}}
    await talk.graph.aupdate_state(talk.config, {"gathered": {part: grounds}}, as_node=part)
    output = await talk.graph.ainvoke(None, talk.config, context=context)
    assert output["messages"][-1].text == "I keep the light."
    (text,) = shown(model, "reply")
    others = [
        text for name, one in before.items() if name != part for all_of in one["texts"].values() for text in all_of
    ]
    assert all(one in text for one in ["A whale swam by.", *others])


# Drafts and checkers


async def test_gate_and_verifier_both_look_and_neither_counts_the_revisions_of_the_other(talk: Talk) -> None:
    model = cast(
        reply=in_turn("I never kept a light.", "I keep a lamp.", "I keep the light."),
        weighed=in_turn(weighed(1), weighed(0)),
        line=in_turn(reasoned(2, "There is no lamp."), reasoned(5)),
    )
    nodes = await talk.steps(model, identity={"changes_of_mind": 1}, revisions=1)
    checked = [one for one in nodes if one in {"draft", "validate", "verify", "revise", "speak"}]
    first, second = ["draft", "validate", "revise"], ["draft", "validate", "verify", "revise"]
    assert checked == [*first, *second, "draft", "validate", "verify", "speak"]
    evidence = (await talk.values())["evidence"]
    assert [one["verdict"] for one in evidence["gate"]["attempts"]] == ["revise", "allow", "allow"]
    assert [one["score"] for one in evidence["drafts"]] == [None, 2, 5]
    assert evidence["verification"] == {"passed": True, "spoken": 2, "revisions": 1, "alpha": 4}
    assert (await talk.values())["messages"][-1].text == "I keep the light."
    assert "it denies it" in shown(model, "reply")[1]
    assert "There is no lamp." in shown(model, "reply")[2]


async def test_what_the_gate_still_blocks_is_declined_and_the_verifier_is_not_asked(talk: Talk) -> None:
    output = await talk.turn(model := cast(weighed=weighed(1)))
    assert output["messages"][-1].text == "I shall do no such thing."
    assert output["evidence"]["gate"]["outcome"] == "block"
    assert len(shown(model, "reply")) == 2
    assert shown(model, "line") == []
    assert (await talk.values())["drafts"] == []


async def test_the_verifier_revises_within_a_bound_of_its_own_and_the_best_is_spoken(talk: Talk) -> None:
    replies, scores = ("One.", "Two.", "Three."), (reasoned(1), reasoned(3), reasoned(2))
    output = await talk.turn(model := cast(reply=in_turn(*replies), line=in_turn(*scores)), revisions=2)
    assert output["messages"][-1].text == "Two."
    assert len(shown(model, "reply")) == 3
    assert output["evidence"]["verification"]["passed"] is False
    assert [one["verdict"] for one in output["evidence"]["gate"]["attempts"]] == ["allow"] * 3


@pytest.mark.parametrize(
    ("settings", "node"), [({"identity": {"gate": False}}, "validate"), ({"verify": False}, "verify")]
)
async def test_without_a_checker_the_other_one_looks(talk: Talk, settings: dict[str, Any], node: str) -> None:
    nodes = await talk.steps(cast(), **settings)
    assert {*nodes} & {"validate", "verify"} == {"validate", "verify"} - {node}


# What the draft rests on


async def test_all_grounds_stand_in_the_prompt_and_the_verifier_reads_them(talk: Talk) -> None:
    await talk.turn(model := cast(scoped("Tom"), MOON))
    ((reply,), (line,)) = shown(model, "reply"), shown(model, "line")
    for kind in ("knowledge", "attributes", "memories", "records", "identity"):
        assert f"<{kind}>" in reply
    for found in ("She trims the lamp", "She ", "The lamp burned all night", "I have known them", "holds dear"):
        assert found in reply
        assert found in line
    assert "Apollo 11" in reply  # which she cannot know


async def test_the_budget_holds_and_the_evidence_says_what_was_left_out(talk: Talk) -> None:
    output = await talk.turn(model := cast(), grounds_tokens=200, role="beethoven")
    assert output["evidence"]["grounds"]["tokens"] <= 200
    assert sum(output["evidence"]["grounds"]["left_out"].values()) > 0
    (reply,) = shown(model, "reply")
    for kind in ("knowledge", "memories", "identity"):  # of each kind the most important is there
        assert f"<{kind}>" in reply


# What is remembered


async def test_each_part_remembers_as_in_its_own_method(talk: Talk) -> None:
    model = cast(scoped("Tom"), MOON)
    await talk.turn(model, "Who flew with Apollo 11?")
    first = await talk.values()
    assert {one["attribute"] for one in first["role_memory"]} >= {"Ada is cheerful in storms."}
    assert [one["name"] for one in first["boundaries"]] == ["Apollo 11"]
    assert len(first["remembered"]) == 1
    assert [one["text"] for one in first["memory_records"]] == ["I have known them for long."]
    assert first["episodes"] == []  # the records of the talk have what was said
    await talk.turn(model, "And Tom?")
    second = await talk.values()
    assert second["boundaries"] == first["boundaries"]
    assert len(second["remembered"]) == 2
    assert second["talk_head"] != first["talk_head"]
    assert fenced_question(shown(model, "standalone")) == ["And Tom?"]


def fenced_question(texts: list[str]) -> list[str]:
    return [text.rpartition("<question>\n")[2].partition("\n</question>")[0] for text in texts]


async def test_records_that_are_too_long_become_one(talk: Talk) -> None:
    long = {"memory_length": 200, "memory_dialogues": 1}
    model = cast(record=lambda text: f"I remember {len(text)} and more: {' '.join(map(str, range(60)))}")
    nodes = [await talk.steps(model, f"{n}?", relations=long) for n in range(3)]
    assert "condense_memory" in nodes[-1] or "condense_memory" in nodes[-2]
    assert (await talk.values())["memory_records"][0]["text"] == "All in all I know them."


async def test_the_window_is_summarized_once_for_all(talk: Talk) -> None:
    nodes = [await talk.steps(model := cast(), f"{n}?", window=2) for n in range(2)]
    assert "summarize" in nodes[-1]
    assert (await talk.values())["summary"] == "They spoke of the light."
    assert len(shown(model, "summary")) == 1


# The account


async def test_every_call_is_in_the_account_once(talk: Talk) -> None:
    await talk.turn(cast())
    output = await talk.turn(model := cast(reply=in_turn("No.", "Yes."), weighed=in_turn(weighed(1), weighed(0))))
    assert sum(spent(output).values()) == len(model.calls)
    assert {"judge", "hypothesize", "encode_mood", "query_identity"} <= spent(output).keys()
    assert (spent(output)["draft"], spent(output)["validate"], spent(output)["verify"]) == (2, 2, 1)


# Indexes


@pytest.fixture
def library(tmp_path: Path) -> Path:
    small_role(tmp_path)
    return tmp_path


async def test_after_the_ensemble_no_method_has_to_index(library: Path) -> None:
    await turn_of("ensemble", library)
    for method in METHODS:
        assert indexing_nodes(await turn_of(method, library)) == [], method


async def test_after_the_methods_the_ensemble_has_nothing_to_index(library: Path) -> None:
    for method in METHODS:
        await turn_of(method, library)
    assert indexing_nodes(await turn_of("ensemble", library)) == []


async def turn_of(method: str, library: Path) -> list[str]:
    """The nodes of a turn, those inside of parts and subgraphs with them."""
    context = context_type(method)(**run_settings(library, cast()))
    given: Any = {"messages": [("user", "Storms?")]}
    nodes = []
    graph = chat_graph(method).compile()
    async for _, _, part in graph.astream(given, context=context, stream_mode=["updates"], subgraphs=True):
        nodes += [*part]
    return nodes


def indexing_nodes(nodes: list[str]) -> list[str]:
    return [one for one in nodes if one.endswith("_index") and not one.startswith("check")]


async def test_what_prepares_a_role_is_that_of_the_parts_with_their_settings(library: Path) -> None:
    settings = run_settings(library, cast(), passages={"splitter": "fixed"})
    found = preparations("ensemble", EnsembleContext(**settings))
    assert [*found] == ["amadeus_index", "role_rag_index", "emotional_rag_index", "drmr_index"]
    assert all(one.context.role == "ada" for one in found.values())
    assert found["amadeus_index"].kind.name == "fixed"
    (library / "ada" / "persona" / "life.md").unlink()
    assert [*preparations("ensemble", EnsembleContext(**settings))] == ["emotional_rag_index", "drmr_index"]


# Settings of a part


async def test_a_part_has_settings_of_its_own(talk: Talk) -> None:
    output = await talk.turn(cast(), passages={"slots": 1, "knowledge": 2}, memories={"recalled": 1})
    assert len(output["evidence"]["selection"]["selected"]) == 1
    assert len(output["evidence"]["knowledge"]) == 2
    assert len(output["evidence"]["memories"]) == 1


async def test_who_the_user_is_is_known_to_the_relations_and_the_verifier(talk: Talk) -> None:
    await talk.turn(model := cast(), user_role="Jim Hawkins")
    assert "Jim Hawkins" in shown(model, "reply")[0]
    assert "Jim Hawkins" in shown(model, "line")[0]
    assert (await talk.values())["memory_records"][0]["user_role"] == "Jim Hawkins"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"passages": {"role": "wukong"}}, "passages\n.*a part has no role of its own"),
        ({"scope": {"chat_model": "other"}}, "scope\n.*a part has no chat_model of its own"),
        ({"relations": {"user_role": "Tom"}}, "relations\n.*a part has no user_role of its own"),
        ({"passages": {"verify": True, "window": 4}}, "passages\n.*a part has no verify and no window of its own"),
        ({"passages": {"slotz": 1}}, "passages.slotz\n.*Extra inputs"),
        ({"parts": ["passage"]}, "parts.0\n"),
    ],
)
def test_a_setting_that_a_part_has_not_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        EnsembleContext(**settings)


def test_a_form_shows_what_is_a_parts_own() -> None:
    schema = graph.get_context_jsonschema()
    for part in PARTS:
        shown = schema["properties"][part]["properties"]
        assert not {"role", "library", "chat_model", "window", "verify", "reply_tokens"} & shown.keys()
    assert "slots" in schema["properties"]["passages"]["properties"]
    assert "user_role" not in schema["properties"]["relations"]["properties"]
