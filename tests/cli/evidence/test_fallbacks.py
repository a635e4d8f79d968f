"""A reply that fell back says so in one line, with what to change; evidence of any form is no fault."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.cli.evidence.fallbacks import GONE, fallback_line
from dramaturg.nodes import workflow
from dramaturg.workflows.methods import METHODS, context_type

from commands import Command
from roles import actor
from stub_endpoint import Endpoint

LATE = "The model 'm' did not answer within 120 s: allow a longer deadline."
BAD = "The model 'm' gave no usable answer to a question of the kind 'extract' in 2 attempts."


@pytest.mark.parametrize(
    ("evidence", "said", "change"),
    [
        ({"attributes": [], "attributes_error": BAD}, "no attributes of the role", "--model"),
        ({"selection_error": "2 of 3 passages have no verdict.", "selection": {"verdicts": []}}, "verdict", "--model"),
        (
            {"selection": {"verdicts": [{"error": "ModelTimeout"}, {"error": ""}]}},
            "1 of 2 passages have no verdict",
            "--set deadline=",
        ),
        ({"mood": {"emotions": None, "error": LATE}}, "the emotion of the question", "--set deadline="),
        ({"gate": {"attempts": [{"text": "Hi.", "error": BAD}]}}, "not checked", "--set gate=false"),
        ({"drafts": [{"score": None, "error": BAD}]}, "no score", "--set verify=false"),
        ({"question_error": "the model answered it"}, "taken as it was asked", "--set recent=0"),
        ({"talk": [], "talk_error": BAD}, "by keywords only", "--set talk_tokens=0"),
        ({"facts_error": BAD}, "no facts were noted", "--set talk_facts=off"),
        ({"summary_error": LATE}, "not summarized", "--set deadline="),
        ({"reflection": {"error": BAD}}, "whether the role has changed", "--set update=false"),
        ({"asked_again": [{"name": "Tom", "stands": True, "error": BAD}]}, "not checked again", "--model"),
        ({"remember_error": "x"}, "remembered", "--model"),
        ({"their_own_error": "x"}, "their own", "--model"),
        ({"passages": {"knowledge": [], "attributes_error": BAD}}, "no attributes of the role", "--model"),
    ],
)
def test_what_fell_back_is_said_with_what_to_change(evidence: dict[str, Any], said: str, change: str) -> None:
    line = fallback_line(evidence)
    assert said in line
    assert change in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "evidence",
    [
        {},
        {"selection": {"verdicts": [{"verdict": "no", "error": ""}], "fallback": "top-K"}},
        {"attributes": [], "question_kept": "the model answered it"},
        {"mood": {"emotions": {}}, "gate": {"attempts": [{"error": ""}]}},
    ],
)
def test_nothing_is_said_where_nothing_fell_back(evidence: dict[str, Any]) -> None:
    assert fallback_line(evidence) == ""


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["error", "selection", "x_error", "gate", "mood"]), inner, max_size=3)
        ),
        max_leaves=10,
    )
)
def test_evidence_of_any_form_is_taken(evidence: Any) -> None:
    assert "\n" not in fallback_line(evidence)


def test_every_error_of_a_node_has_its_words_and_every_setting_is_one() -> None:
    nodes = [file.read_text(encoding="utf-8") for file in Path(workflow.__file__).parent.rglob("*.py")]
    names = {name.replace("_", " ") for text in nodes for name in re.findall(r'"(\w+)_error"', text)}
    assert names <= GONE.keys()
    for without in filter(None, (one.without for one in GONE.values())):
        name, value = without.split("=")
        kind = next(kind for one in METHODS if name in (kind := context_type(one)).model_fields)
        kind.model_validate({name: value})


def test_a_reply_says_so_without_being_asked(run: Command, stub: Endpoint) -> None:
    stub.model = actor(findings="no JSON at all")
    try:
        out = run("ask", "ada", "Who?")[1]
        assert "Ada Quill: I keep the light.\nProblems: no attributes of the role were extracted." in out
        assert "Problems" not in run("ask", "ada", "Who?", "--evidence")[1]
        assert "Problems" not in run("ask", "ada", "Who?", "--json")[1]
    finally:
        stub.model = actor()
    assert "Problems" not in run("ask", "ada", "Who?")[1]


def test_a_chat_says_so_too(run: Command, stub: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.model = actor(findings="no JSON at all")
    lines = iter(["Who are you?", "/again", "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(lines))
    try:
        assert run("chat", "ada")[1].count("Problems: no attributes of the role were extracted.") == 2
    finally:
        stub.model = actor()
