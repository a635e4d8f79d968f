"""`python -m studies.measure`: runs side by side, what it would ask, tables, a picture, what went wrong."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from measured_runs import CANDIDATES, SHORT, STEPS, events_of, examiner, log_of, short_quiz, written
from roles import actor
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(2)

ALL = STEPS * len(CANDIDATES) * SHORT
DEEDS = STEPS * len(CANDIDATES)
CONDITIONS = ("id-rag", "full", "baseline")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for condition in CONDITIONS:
        log_of(condition, folder)
    return folder


@pytest.fixture
def logs(played: Path, tmp_path: Path) -> list[str]:
    """Logs of the three conditions, in a folder of the test."""
    return [shutil.copy(played / f"{name}.jsonl", tmp_path) for name in CONDITIONS]


@pytest.fixture(autouse=True)
def examined(stub: Endpoint, tmp_path: Path) -> Iterator[None]:
    short_quiz(tmp_path)
    stub.model = examiner()
    stub.asked.clear()
    yield
    stub.model = actor()


def chats(stub: Endpoint) -> list[Any]:
    """The questions that the endpoint was asked."""
    return [body for body in stub.asked if "messages" in body]


def plain(text: str) -> str:
    """What is said, however it is broken into lines and cells."""
    return " ".join(re.sub("[│┃]", " ", text).split())


def test_the_cost_needs_no_question(run: Command, logs: list[str], stub: Endpoint) -> None:
    code, out, _ = run("studies.measure", *logs)
    assert code == 0
    assert stub.asked == []
    assert "Cost until the last step" in out
    assert "Talks: share of 4-grams that were said in them before" in out
    assert "Identity recall" not in out
    report = json.loads(run("studies.measure", logs[0], "--json")[1])
    last = [one for one in events_of(Path(logs[0])) if one["kind"] == "cost"][-1]
    cost = report["runs"][0]["cost"]
    assert [cost[name] for name in ("step", "calls", "tokens", "lines")] == [
        STEPS,
        last["calls"],
        last["tokens"],
        last["lines"],
    ]
    assert f"{cost['tokens']:,}" in out


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (["--recall"], {"recall": 3 * ALL}),
        (["--recall-with-retrieval"], {"recall_with_retrieval": 2 * ALL + ALL + ALL}),
        (
            ["--recall", "--recall-with-retrieval", "--alignment"],
            {"recall": 3 * ALL, "recall_with_retrieval": 2 * ALL, "alignment": 3 * 2 * DEEDS},
        ),
        ([], {}),
    ],
)
def test_a_dry_run_says_what_would_be_asked_and_asks_nothing(
    run: Command, logs: list[str], stub: Endpoint, options: list[str], numbers: dict[str, int]
) -> None:
    code, out, _ = run("studies.measure", *logs, *options, "--dry-run", "--json")
    assert code == 0
    assert json.loads(out) == {**numbers, "questions": sum(numbers.values()), "known_scores": 0}
    said = plain(run("studies.measure", *logs, *options, "--dry-run")[1])
    assert said.startswith(f"{sum(numbers.values()):,} questions (")
    assert stub.asked == []
    assert not list(Path(logs[0]).parent.glob("*.measures.*"))


@pytest.mark.crash
def test_conditions_are_put_side_by_side(run: Command, logs: list[str], stub: Endpoint) -> None:
    everything = ("--recall", "--recall-with-retrieval", "--alignment")
    wanted = json.loads(run("studies.measure", *logs, *everything, "--dry-run", "--json")[1])["questions"]
    code, out, _ = run("studies.measure", *logs, *everything)
    assert code == 0
    asked = chats(stub)
    assert len(asked) == wanted
    assert {body["temperature"] for body in asked if "Answer the question yourself" in str(body)} == {0.2}
    told = plain(out)
    for part in ("baseline", "full", "id-rag", "(1 run)", "In baseline and full, nothing is looked up for a question"):
        assert part in told
    assert "7.000 (1 run)" in told
    again = json.loads(run("studies.measure", *logs, *everything, "--json")[1])["measures"]
    assert len(chats(stub)) == wanted
    assert again["recall_with_retrieval"]["full"] == again["recall"]["full"]
    assert [one["step"] for one in again["alignment"]["id-rag"]] == [1, 2]
    assert json.loads(run("studies.measure", *logs, *everything, "--dry-run", "--json")[1])["questions"] == 0


def test_another_judge_is_asked_and_the_warning_goes(run: Command, logs: list[str], stub: Endpoint) -> None:
    assert "name another one by --judge" in plain(run("studies.measure", logs[0], "--alignment")[1])
    stub.asked.clear()
    assert "--judge" not in run("studies.measure", logs[0], "--alignment", "--judge", "wise")[1]
    assert {body["model"] for body in chats(stub)} == {"wise"}
    assert len(chats(stub)) == 2 * DEEDS


def test_what_is_missing_is_said(run: Command, logs: list[str], stub: Endpoint) -> None:
    stub.model = examiner(answer_quiz=lambda text: " " if "for a living" in text else "I plan.")
    code, out, _ = run("studies.measure", logs[1], "--recall")
    assert code == 0
    assert "(1 run, 2 missing)" in plain(out)
    assert "4 answers did not come: they are missing, not zeros" in plain(out)


def test_all_is_drawn_into_one_picture(run: Command, logs: list[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    code, _, err = run("studies.measure", logs[1], "--alignment", "--plot", str(tmp_path / "m.svg"))
    assert code == 0
    assert "Wrote" in err
    assert (tmp_path / "m.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--plot", "x.jpg"], "Measures cannot be drawn as x.jpg: use .png, .svg or .pdf."),
        (["--plot", "nowhere/x.png"], "name a file in a folder that is there"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_refused_before_the_work(
    run: Command, logs: list[str], stub: Endpoint, options: list[str], error: str
) -> None:
    code, _, err = run("studies.measure", *logs, "--recall", *options)
    assert code == 2
    assert error in err
    assert stub.asked == []


def test_a_log_named_twice_is_refused(run: Command, logs: list[str], tmp_path: Path) -> None:
    link, around = tmp_path / "link.jsonl", tmp_path / "ada" / ".." / Path(logs[0]).name
    link.symlink_to(logs[0])
    for again in (logs[0], link, around):
        code, _, err = run("studies.measure", logs[0], str(again))
        assert code == 2
        assert "A log is named twice" in err


def test_what_is_no_log_is_refused(run: Command, tmp_path: Path) -> None:
    path = written(tmp_path / "x.jsonl", [{"format": "dramaturg-conversation"}])
    code, _, err = run("studies.measure", str(path))
    assert code == 2
    assert "x.jsonl is no log of a run: name a file that `dramaturg simulate` wrote." in err


def test_a_name_cannot_talk_to_the_terminal(run: Command, logs: list[str], tmp_path: Path) -> None:
    path = tmp_path / "[bold]\x1b[2J.jsonl"
    shutil.copy(logs[0], path)
    out = run("studies.measure", str(path))[1]
    assert "\x1b" not in out
    assert "[bold]" in out
