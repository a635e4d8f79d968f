"""`dramaturg judges`: what it would ask, what it says, and that reports know of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.evaluation.judging.lines import SPEAKER

from commands import Command
from evaluations import QUESTIONS
from fakes import ScriptedChatModel
from roles import actor
from roles import said as said_in
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(2)

ANCHORS = ("judges", "--anchors", "--limit", "2", "--metrics", "accuracy")


def yes_man(messages: list[BaseMessage]) -> str:
    """Says yes to everything, and chooses the first."""
    text = said_in(messages)
    if '"integer"' in text:
        return '{"answer": 1}'
    return '{"answer": "yes"}' if '"enum"' in text else "So it is."


@pytest.fixture(autouse=True)
def asked(stub: Endpoint, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What the endpoint is asked; answers are kept in a cache of the test's own."""
    monkeypatch.setenv("DRAMATURG_CACHE", str(tmp_path / "cache"))
    stub.model = ScriptedChatModel(reply=yes_man)
    stub.asked.clear()
    yield stub.asked
    stub.model = actor()


def test_a_dry_run_says_how_much_would_be_asked_and_asks_nothing(
    run: Command, asked: list[Any], tmp_path: Path
) -> None:
    code, text, _ = run(*ANCHORS, "--dry-run", "--json")
    found = {one["what"]: (one["left"], one["calls"]) for one in json.loads(text)}
    assert code == 0
    assert found == {"accuracy, by stub": (42, 84.0), "pair, by stub": (12, 12.0)}
    assert asked == []
    assert not (tmp_path / "cache").exists()


def test_without_a_choice_anchors_and_speakers_are_asked_about(run: Command, asked: list[Any]) -> None:
    found = json.loads(run("judges", "--dry-run", "--json")[1])
    assert {one["what"].partition(",")[0]: one["left"] for one in found} == {
        "accuracy": 252,
        "refusal": 288,
        "pair": 144,
        "speaker": 88,
    }


def test_it_shows_what_came_of_it_and_asks_nothing_twice(run: Command, asked: list[Any]) -> None:
    code, text, err = run(*ANCHORS)
    assert code == 0
    assert len(asked) >= 72  # and again what the endpoint gave no probabilities for
    assert "stub, checked against what is known" in text
    assert "share of yes of each kind of reply" in text
    assert "stub, accuracy: it says yes to everything." in err
    assert "stub, accuracy: not above chance (0.500" in err
    assert "goes by place: the first reply" in err
    asked.clear()
    _, text, _ = run(*ANCHORS, "--json")
    assert asked == []
    accuracy, pair = json.loads(text)
    assert (accuracy["metric"], accuracy["told"]["value"], accuracy["missing"], accuracy["asked"]) == (
        "accuracy",
        0.5,
        0,
        42,
    )
    assert pair["place"]["value"] == 1.0
    assert pair["verdicts"]


def test_a_cap_stops_and_says_so(run: Command, asked: list[Any]) -> None:
    code, text, err = run(*ANCHORS, "--most-calls", "4", "--json")
    (accuracy,) = json.loads(text)
    assert code == 0
    assert accuracy["asked"] == 42
    assert len(asked) < 30
    assert "Stopped at the 4 calls that are allowed" in err


def test_scores_of_people_are_read_and_a_slip_is_named(run: Command, asked: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("role,question,reply,score,gold\nAda,Who?,Tom.,1,Tom.\nAda,Who?,Jory.,0,Tom.\n", encoding="utf-8")
    code, text, err = run("judges", "--scores", str(file), "--metrics", "accuracy")
    assert code == 0
    assert "Krippendorff's alpha of stub and people" in text
    assert "stub, accuracy: not above chance" in err
    file.write_text("role,question,reply,score,gold\nAda,Who?,Tom.,7,Tom.\n", encoding="utf-8")
    code, _, err = run("judges", "--scores", str(file), "--metrics", "accuracy")
    assert code == 2
    assert "scores.csv, line 2, column score" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--anchors", "--metrics", "acuracy"), "did you mean 'accuracy'"),
        (("--anchors", "--metrics", "relation"), "There is no anchor by 'relation'; there are: accuracy,"),
        (("--scores", "none.csv"), "A file holds scores by one metric"),
        (("--scores", "none.csv", "--metrics", "accuracy"), "none.csv cannot be read"),
        (("--anchors", "--scores", "none.csv", "--metrics", "accuracy"), "leave out --anchors, or --scores"),
        (("ada",), "ada has no dialogues of four who speak in two scenes or more"),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_is(
    run: Command, asked: list[Any], arguments: tuple[str, ...], said: str
) -> None:
    code, _, err = run("judges", *arguments)
    assert code == 2
    assert said in err
    assert asked == []


@pytest.mark.crash
def test_the_report_of_a_run_names_how_its_judge_stands(run: Command, asked: list[Any], tmp_path: Path) -> None:
    lines = "".join(json.dumps(one) + "\n" for one in QUESTIONS)
    (tmp_path / "ada" / "questions.jsonl").write_text(lines, encoding="utf-8")
    folder = tmp_path / "run"
    wishes = ("--methods", "vanilla,profile", "--role", "ada", "--metrics", "accuracy", "--no-bounds")
    run("evaluate", *wishes, "--out", str(folder))
    assert "never held against anchors by accuracy" in (folder / "report.md").read_text(encoding="utf-8")
    run(*ANCHORS)
    _, _, warned = run("report", str(folder))
    assert "Nothing is concluded from accuracy by stub (†): on the anchors in English it is not above chance" in warned
    for name in ("report.md", "report.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count("Nothing is concluded from accuracy by stub") == 2  # at the top, and at the table
        assert "never held" not in text


def test_who_is_speaking_is_asked_in_the_prompts_of_persona_eval(
    run: Command, stub: Endpoint, asked: list[Any], tmp_path: Path
) -> None:
    rows = "".join(
        f'"Who says {n}? Name {name}.",Ada,Tom,Jory,Fay,{name}\n' for n in range(6) for name in ("Tom", "Fay")
    )
    (tmp_path / "Drama.csv").write_text(f"prompt,option1,option2,option3,option4,gt\n{rows}")

    def knows(messages: list[BaseMessage]) -> str:
        name = said_in(messages).rpartition("Name ")[2].strip(".")
        return json.dumps({one: float(one == name) for one in ("Ada", "Tom", "Jory", "Fay")})

    stub.model = ScriptedChatModel(reply=knows)
    code, text, err = run("judges", "--persona-eval", str(tmp_path / "Drama.csv"), "--limit", "10", "--json")
    (found,) = json.loads(text)
    assert (code, found["metric"], found["told"]["value"], found["told"]["n"]) == (0, SPEAKER, 1.0, 10)
    assert "MIT licence" in err
    before = len(asked)
    assert run("judges", "--persona-eval", str(tmp_path / "Drama.csv"), "--limit", "10")[0] == 0
    assert len(asked) == before
