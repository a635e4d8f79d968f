"""`dramaturg evaluate` and `report`: what it would cost, what it says, and what went wrong in a sentence."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evaluations import QUESTIONS, RIGHT

from commands import Command
from roles import actor
from stub_endpoint import Endpoint

METHODS = ("--methods", "vanilla,profile", "--role", "ada")


@pytest.fixture(autouse=True)
def asked(stub: Endpoint, run: Command, tmp_path: Path) -> Iterator[list[Any]]:
    """What the endpoint is asked; Ada has questions."""
    lines = "".join(json.dumps(one) + "\n" for one in QUESTIONS)
    (tmp_path / "ada" / "questions.jsonl").write_text(lines, encoding="utf-8")
    stub.model = actor(reply=RIGHT)
    stub.asked.clear()
    yield stub.asked
    stub.model = actor()


def chats(asked: list[Any]) -> list[Any]:
    return [body for body in asked if "messages" in body]


@pytest.fixture
def out(tmp_path: Path) -> str:
    return str(tmp_path / "run")


def test_a_dry_run_asks_nothing_and_leaves_nothing(run: Command, out: str, asked: list[Any]) -> None:
    wishes = ("--metrics", "accuracy", "--seeds", "0,1", "--out", out, "--dry-run", "--json")
    code, text, _ = run("evaluate", *METHODS, *wishes)
    found = {one["what"]: (one["left"], one["done"]) for one in json.loads(text)}
    assert code == 0
    assert found == {"replies of vanilla": (6, 0), "replies of profile": (6, 0), "accuracy": (12, 0)}
    assert chats(asked) == []
    assert not Path(out).exists()


def test_a_run_writes_its_report_and_shows_its_numbers(run: Command, out: str, asked: list[Any]) -> None:
    code, text, _ = run("evaluate", *METHODS, "--out", out)
    assert code == 0
    assert len(chats(asked)) == 6
    assert "similarity" in text
    assert {path.name for path in Path(out).iterdir()} >= {"plan.json", "records.jsonl", "report.md", "report.html"}


def test_a_report_is_made_again_without_a_model(run: Command, out: str, asked: list[Any]) -> None:
    run("evaluate", *METHODS, "--out", out)
    (Path(out) / "report.html").unlink()
    asked.clear()
    code, text, _ = run("report", out, "--json")
    found = json.loads(text)
    assert code == 0
    assert asked == []
    numbers = [(one["contestant"], one["interval"]["n_values"]) for one in found["rows"]]
    assert numbers == [("vanilla", 2), ("profile", 2)]
    assert found["valid"]
    assert (Path(out) / "report.html").is_file()


def test_what_was_done_is_known_to_the_next_dry_run(run: Command, out: str) -> None:
    run("evaluate", *METHODS, "--out", out, "--limit", "1")
    _, text, _ = run("evaluate", *METHODS, "--out", out, "--dry-run", "--json")
    found = {one["what"]: one for one in json.loads(text)}
    assert (found["replies of vanilla"]["left"], found["replies of vanilla"]["done"]) == (2, 1)
    assert found["replies of vanilla"]["basis"] == "1 replies of this run"
    assert found["replies of vanilla"]["calls"] == 2


def test_a_run_stops_at_its_cap_and_goes_on(run: Command, out: str, asked: list[Any]) -> None:
    code, _, err = run("evaluate", *METHODS, "--out", out, "--most-calls", "4")
    assert (code, "the same command goes on" in err) == (0, True)
    assert "invalid" in err
    assert len(chats(asked)) == 4
    run("evaluate", *METHODS, "--out", out)
    assert len(chats(asked)) == 6


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--methods", "vanila", "--role", "ada"), "did you mean 'vanilla'"),
        (("--methods", ",", "--role", "ada"), "--methods needs a name or more"),
        (("--methods", "vanilla", "--role", "nobody"), "nobody"),
        ((*METHODS, "--metrics", "acuracy"), "did you mean 'accuracy'"),
        ((*METHODS, "--seeds", "one"), "--seeds takes whole numbers"),
        ((*METHODS, "--dataset", "/nowhere.jsonl"), "nowhere.jsonl"),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_nothing(
    run: Command, out: str, asked: list[Any], arguments: tuple[str, ...], told: str
) -> None:
    code, _, err = run("evaluate", *arguments, "--out", out)
    assert code != 0
    assert told in err
    assert chats(asked) == []
    assert not Path(out).exists()


def test_another_package_that_is_not_there_is_named_with_what_to_do(run: Command, out: str, asked: list[Any]) -> None:
    code, _, err = run("evaluate", "--methods", "lightrag", "--role", "ada", "--out", out)
    assert code != 0
    assert "LightRAG is not there" in err
    assert "DRAMATURG_LIGHTRAG_PYTHON" in err
    assert chats(asked) == []


def test_a_folder_that_is_no_run_has_no_report(run: Command, tmp_path: Path) -> None:
    code, _, err = run("report", str(tmp_path))
    assert code != 0
    assert "no run of an evaluation" in err
