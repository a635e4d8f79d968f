"""`python -m studies`: by their names, on copies, into a page, and what went wrong in a sentence."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.models.environment import environment
from studies.report import BEGIN, END
from studies.study import Bench

from commands import Command
from fakes import ScriptedChatModel
from measured_runs import examined_townspeople
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"somebody's page\n", "lacks the lines"),
        (f"café {BEGIN} {END}".encode("latin-1"), "page.md is not UTF-8"),
    ],
    ids=["without the lines", "in another encoding"],
)
def test_a_page_that_cannot_be_written_into_is_refused_before_any_work(
    asked: Command, stub: Endpoint, tmp_path: Path, text: bytes, says: str
) -> None:
    page = tmp_path / "page.md"
    page.write_bytes(text)
    code, _, err = asked("studies", "--role", "ada", "--out", str(page))
    assert (code, stub.asked) == (2, [])
    assert says in err
    assert page.read_bytes() == text


def test_two_runs_do_not_share_a_folder(asked: Command, stub: Endpoint) -> None:
    with Bench(environment().cache / "studies", ()).held():
        code, _, err = asked("studies", "scope-detection", "--role", "ada", "--model", "auto")
    assert code == 2
    assert "Another program makes studies" in " ".join(err.split())
    assert stub.asked == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("spliters",), "splitters"),
        (("entity-merges", "--role", "ada", "--model", "auto"), "no marks"),
        (("scope-detection", "entity-merges", "--role", "ada", "--model", "auto"), "no marks"),
        (("scope-detection", "clique-relevance", "--role", "ada", "--model", "auto"), "no marks"),
        (("splitters", "--set", "hours=2"), "These studies have no settings: name drmr-tokens or riverbend"),
        (("riverbend", "--set", "hour=2"), "riverbend has no setting 'hour'"),
        (("riverbend", "--set", "conditions=no-hops"), "there is no condition 'no-hops'"),
        (("riverbend", "--set", "measures=recal"), "measures"),
    ],
)
def test_a_study_that_cannot_be_made_is_refused_before_the_first(
    arguments: tuple[str, ...], says: str, asked: Command, stub: Endpoint
) -> None:
    code, _, err = asked("studies", *arguments)
    assert (code, stub.asked) == (2, [])
    assert says in err


HOUR = ("riverbend", "--model", "auto", "--set", "hours=1", "--set", "seeds=1", "--set", "conditions=no-plan")


def test_what_riverbend_would_ask_is_said_before(asked: Command, stub: Endpoint) -> None:
    code, out, err = asked("studies", *HOUR, "--dry-run")
    assert (code, stub.asked) == (0, []), err
    said = "2 runs of 1 hours, 0 of them over. At most 165 questions: 77 in the runs, 88 for measures"
    assert said in " ".join(out.split())
    _, out, _ = asked("studies", *HOUR, "--dry-run", "--json")
    (counts,) = json.loads(out)
    assert (counts["runs"], counts["questions"], stub.asked) == (2, 165, [])


@pytest.mark.crash
def test_riverbend_is_played_measured_and_kept(asked: Command, stub: Endpoint) -> None:
    stub.model = examined_townspeople()
    code, first, err = asked("studies", *HOUR, "--set", "measures=alignment", "--json")
    assert code == 0, err
    (found,) = json.loads(first)
    means = [[cell["value"] for cell in row] for row in found["tables"][0]["rows"]]
    assert [row[0] for row in means] == ["complete", "no-plan"]
    assert [row[1]["mean"] for row in means] == [7, 7]
    chats = len(stub.asked)
    _, second, _ = asked("studies", *HOUR, "--set", "measures=alignment", "--json")
    assert json.loads(second)[0]["tables"] == found["tables"]
    assert len(stub.asked) == chats
    _, out, _ = asked("studies", *HOUR, "--set", "measures=alignment", "--dry-run")
    assert "2 of them over. At most 0 questions" in " ".join(out.split())


def test_a_study_of_which_nothing_is_known_before_says_so(asked: Command, stub: Endpoint) -> None:
    code, out, _ = asked("studies", "scope-detection", "--role", "ada", "--dry-run")
    assert (code, stub.asked) == (0, [])
    assert "scope-detection: how much it asks is not known before its roles are indexed." in " ".join(out.split())
