"""`dramaturg studies`: by their names, on copies, into a page, and what went wrong in a sentence."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.evaluation.studies.report import BEGIN, END
from dramaturg.evaluation.studies.study import Bench
from dramaturg.models.environment import environment

from commands import Command
from fakes import ScriptedChatModel
from roles import actor, fenced, said
from stub_endpoint import Endpoint

QUESTIONS = (
    {"question": "How often do you trim the lamp?", "answer": "At dusk and at midnight.", "scope": "in"},
    {"question": "What is on television?", "answer": None, "scope": "out"},
)


def answers(messages: list[BaseMessage]) -> str:
    text = said(messages)
    if "<entity>" in text:
        return "no" if "television" in fenced("entity", text) else "yes"
    name = "television" if "television" in fenced("question", text) else "lamp"
    return json.dumps({"entities": [{"name": name, "type": "object"}]})


@pytest.fixture(autouse=True)
def questioned(stub: Endpoint, tmp_path: Path) -> Iterator[None]:
    stub.model = ScriptedChatModel(reply=answers)
    stub.asked.clear()
    yield
    stub.model = actor()


@pytest.fixture
def asked(run: Command, tmp_path: Path) -> Command:
    """The command over a role that has questions."""
    (tmp_path / "ada" / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in QUESTIONS))
    return run


def test_a_study_is_written_between_the_lines_of_a_page(asked: Command, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Mine\n\nBefore.\n\n{BEGIN}\nwhat was there\n{END}\n\nAfter.\n", encoding="utf-8")
    code, out, err = asked("studies", "scope-detection", "--role", "ada", "--model", "auto", "--out", str(page))
    written = page.read_text(encoding="utf-8")
    assert code == 0, err
    assert "what was there" not in written
    assert written.startswith("# Mine\n\nBefore.\n")
    assert written.endswith("\n\nAfter.\n")
    assert "| P(known) | ada | 1.000 no interval | 1 | 1 |" in written
    assert "](page_calibration.svg)" in written
    assert (tmp_path / "page_calibration.svg").read_bytes().startswith(b"<?xml")
    assert "Out-of-scope detection" in out
    assert not (tmp_path / "ada" / "index").exists()


def test_a_second_run_asks_no_model_again(asked: Command, stub: Endpoint) -> None:
    words = ("studies", "scope-detection", "--role", "ada", "--model", "auto", "--json")
    _, first, _ = asked(*words)
    chats = sum("messages" in one for one in stub.asked)
    _, second, _ = asked(*words)
    assert chats >= 4
    assert sum("messages" in one for one in stub.asked) == chats
    assert json.loads(first)[0]["tables"] == json.loads(second)[0]["tables"]


def test_a_page_without_the_lines_is_refused_before_any_work(asked: Command, stub: Endpoint, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("somebody's page\n")
    code, _, err = asked("studies", "--role", "ada", "--out", str(page))
    assert (code, stub.asked) == (2, [])
    assert "lacks the lines" in err
    assert page.read_text() == "somebody's page\n"


def test_a_page_in_another_encoding_is_refused_before_any_work(asked: Command, stub: Endpoint, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_bytes(f"café {BEGIN} {END}".encode("latin-1"))
    code, _, err = asked("studies", "--role", "ada", "--out", str(page))
    assert (code, stub.asked) == (2, [])
    assert "page.md is not UTF-8" in err


def test_two_runs_do_not_share_a_folder(asked: Command, stub: Endpoint) -> None:
    with Bench(environment().cache / "studies", ()).held():
        code, _, err = asked("studies", "scope-detection", "--role", "ada", "--model", "auto")
    assert code == 2
    assert "Another program makes studies" in " ".join(err.split())
    assert stub.asked == []


def test_a_study_that_is_not_there_is_refused(asked: Command) -> None:
    code, _, err = asked("studies", "spliters")
    assert code == 2
    assert "splitters" in err


def test_a_role_without_marks_has_an_empty_study(asked: Command) -> None:
    code, _, err = asked("studies", "entity-merges", "--role", "ada", "--model", "auto")
    assert code == 2
    assert "no marks" in err


@pytest.mark.parametrize("study", ["entity-merges", "clique-relevance"])
def test_what_a_later_study_lacks_is_said_before_the_first(study: str, asked: Command, stub: Endpoint) -> None:
    code, _, err = asked("studies", "scope-detection", study, "--role", "ada", "--model", "auto")
    assert (code, stub.asked) == (2, [])
    assert "no marks" in err
