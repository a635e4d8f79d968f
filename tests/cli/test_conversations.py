"""Chats that branch, fail, end and go elsewhere, as a person at the command line has them."""

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.cli.talk.chat import interruptible

from commands import Command
from roles import fenced
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(3)


def say(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """What is typed at the prompt of the next chat."""
    typed = iter([*lines, "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(typed))


@pytest.fixture(autouse=True)
def echo(stub: Endpoint) -> Iterator[None]:
    """Reply with a number, so that replies can be told apart."""
    numbers = iter(range(1, 100))
    old = stub.model.reply
    stub.model.reply = lambda messages: f"Reply {next(numbers)}." if not fixed(messages, old) else old(messages)
    yield
    stub.model.reply = old


def fixed(messages, old) -> bool:  # type: ignore[no-untyped-def]
    return old(messages) != "I keep the light."


def test_a_chat_is_forked_and_both_branches_keep_their_own_past(
    run: Command,
    stub: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    say(monkeypatch, "First?", "Second?", "Third?", "/fork 1", "Another?", "/history")
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert "The conversation goes on after: First?" in out
    last = json.dumps(stub.asked[-1]["messages"])
    assert "First?" in last
    assert "Second?" not in last
    listed = out[out.rindex("Ada Quill") :]
    assert "Another?" in listed
    assert "Third?" not in listed
    say(monkeypatch, "/branches", "/branches 2", "/history", "And then?")
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert "The conversation goes on after: Third?" in out
    last = json.dumps(stub.asked[-1]["messages"])
    assert "Second?" in last
    assert "Another?" not in last


def test_a_chat_answers_again_edits_and_deletes(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, "First?", "Second?", "/again", "/again 1", "/edit 1 Other?", "Last?", "/delete 2", "/history")
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert [f"Reply {n}." in out for n in range(1, 7)] == [True] * 6
    assert "Erased from here on: Last?" in out
    code, out, _ = run("export", "ada")
    assert [json.loads(line).get("question") for line in out.splitlines()] == [None, "Other?"]


def test_a_chat_answers_again_as_it_is_wished(run: Command, stub: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    def wished() -> str:
        return fenced("wish", stub.asked[-1]["messages"][-1]["content"])

    for line, wish in (("/again less  formal", "less formal"), ("/again 1 shorter", "shorter"), ("/again", "")):
        say(monkeypatch, "First?", line)
        code, out, _ = run("chat", "ada", "--thread", wish or "plain")
        assert code == 0
        assert "Reply" in out
        assert wished() == wish
    say(monkeypatch, "/again " + "x" * 501)
    assert "The wish for a reply has 501 characters" in run("chat", "ada", "--thread", "plain")[1]
    say(monkeypatch, "/evidence")
    assert "The wish for this reply: shorter" in run("chat", "ada", "--thread", "shorter")[1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/fork", "/fork N: N is a number from 1 to 1."),
        ("/fork 2", "/fork N: N is a number from 1 to 1."),
        ("/fork x", "N is a number"),
        ("/fork " + "9" * 5000, "N is a number"),
        ("/edit 1", "Something is missing: /edit N TEXT"),
        ("/delete 0", "N is a number"),
        ("/branches 9", "N is a number"),
        ("/model", "Something is missing: /model NAME"),
        ("/retry", "No turn has failed: /again"),
        ("/nonsense", "continue after turn N"),
        ("/help", "continue after turn N"),
    ],
)
def test_a_command_that_cannot_be_obeyed_says_why(
    run: Command,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    says: str,
) -> None:
    say(monkeypatch, "First?", line, "Second?")
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert says in out
    assert "Reply 2." in out


def test_a_turn_that_failed_is_shown_and_finished(
    run: Command,
    stub: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    say(monkeypatch, "/again", "First?", "/model nobody:at-all", "Second?")
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert "Nothing has been said on this thread yet." in out
    say(monkeypatch, "/retry")
    code, out, _ = run("chat", "ada")
    assert "Not answered yet: Second?" in out
    assert "Reply 2." in out
    say(monkeypatch)
    assert "Not answered yet" not in run("chat", "ada")[1]


def test_a_conversation_is_exported_and_imported(run: Command, tmp_path: Path) -> None:
    run("ask", "ada", "First?", "Second?", "--thread", "tea")
    file = tmp_path / "tea.jsonl"
    code, _, err = run("export", "ada", str(file), "--thread", "tea")
    assert code == 0
    assert "Wrote 2 turns" in err
    code, out, _ = run("import", "ada", str(file), "--thread", "coffee")
    assert code == 0
    assert "2 turns." in out
    assert [one["thread"] for one in json.loads(run("conversations", "ada", "--json")[1])] == ["coffee", "tea"]
    copy = run("export", "ada", "--thread", "coffee")[1].splitlines()
    assert copy[1:] == file.read_text().splitlines()[1:]
    code, _, err = run("import", "ada", str(file), "--thread", "coffee")
    assert (code, "has begun already" in err) == (2, True)
    code, _, err = run("export", "ada", "--thread", "nothing")
    assert (code, "There is no conversation 'nothing'" in err) == (2, True)
    code, _, err = run("import", "ada", str(tmp_path / "none.jsonl"))
    assert (code, "none.jsonl" in err) == (2, True)


def test_no_conversations_are_said_to_be_none(run: Command) -> None:
    code, out, _ = run("conversations", "ada")
    assert (code, out) == (0, "There are none with ada yet: begin one with dramaturg chat ada.\n")
    assert json.loads(run("conversations", "ada", "--json")[1]) == []


def test_a_passage_without_headings_is_under_the_name_of_its_document(run: Command, tmp_path: Path) -> None:
    (tmp_path / "ada" / "persona" / "life.md").write_text("She keeps a lame raven called Tamburlaine.")
    assert "life.md" in run("ask", "ada", "Who is Tamburlaine?", "--evidence")[1].split("Attributes")[0]


def test_evidence_shows_what_was_noted_of_the_past(run: Command) -> None:
    code, out, _ = run("ask", "ada", "First?", "Second?", "Third?", "--evidence", "--set", "window=2")
    assert code == 0
    assert "Summary of older messages: Reply" in out


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_turn_and_not_the_chat(run: Command, stub: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramaturg.cli.stopping.GRACE", 3600.0)  # this process is not to be ended
    replied, stopped, first = stub.model.reply, threading.Event(), interruptible

    def interrupting(messages: list[BaseMessage]) -> str | Exception:
        stub.model.reply = replied
        signal.raise_signal(signal.SIGINT)
        assert stopped.wait(120)
        return replied(messages)

    def ended(*turn: Any) -> Any:
        try:
            return first(*turn)
        finally:
            stopped.set()

    run("ask", "ada", "Zero?")
    stub.model.reply = interrupting
    monkeypatch.setattr("dramaturg.cli.talk.chat.interruptible", ended)
    say(monkeypatch, "First?", "Second?")
    code, out, _ = run("chat", "ada")
    assert (code, "Stopped" in out) == (0, True)
    questions = [json.loads(line).get("question") for line in run("export", "ada")[1].splitlines()]
    assert questions == [None, "Second?"]


def test_files_and_names_that_cannot_be_used(run: Command, tmp_path: Path) -> None:
    run("ask", "ada", "First?", "--thread", "tea")
    file, binary = tmp_path / "tea.jsonl", tmp_path / "binary"
    run("export", "ada", str(file), "--thread", "tea")
    binary.write_bytes(b"\xff\xfe")
    assert "is not text in UTF-8" in run("import", "ada", str(binary))[2]
    assert "without a name is not kept" in run("import", "ada", str(file), "--thread", "")[2]
    for target in (tmp_path, tmp_path / "none" / "tea.jsonl"):
        assert "name a file in a folder that is there" in run("export", "ada", str(target), "--thread", "tea")[2]
    assert "--thread 'my tea'" in run("import", "ada", str(file), "--thread", "my tea")[1]


@pytest.mark.parametrize("evidence", [{"selection": 3}, {"knowledge": [{"text": None}]}, {"own": 10**30}])
def test_evidence_of_another_form_is_refused_and_nothing_is_imported(
    run: Command, tmp_path: Path, evidence: dict[str, object]
) -> None:
    run("ask", "ada", "Who are you?", "--thread", "tea")
    file = tmp_path / "tea.jsonl"
    run("export", "ada", str(file), "--thread", "tea")
    head, turn = map(json.loads, file.read_text().splitlines())
    turn["state"]["evidence"] = evidence
    file.write_text(f"{json.dumps(head)}\n{json.dumps(turn)}\n")
    code, _, said = run("import", "ada", str(file), "--thread", "coffee")
    assert (code, said.split(":")[:2]) == (2, ["Error", " Line 2"])
    assert [one["thread"] for one in json.loads(run("conversations", "ada", "--json")[1])] == ["tea"]


def test_evidence_that_an_earlier_version_took_does_not_end_the_chat(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ask", "ada", "Who are you?", "--thread", "tea")
    file = tmp_path / "tea.jsonl"
    run("export", "ada", str(file), "--thread", "tea")
    head, turn = map(json.loads, file.read_text().splitlines())
    turn["state"]["evidence"] = {"selection": 3, "knowledge": turn["state"]["evidence"]["knowledge"]}
    file.write_text(f"{json.dumps(head)}\n{json.dumps(turn)}\n")
    monkeypatch.setattr("dramaturg.conversations.json_lines.misfits", lambda _: {})
    assert run("import", "ada", str(file), "--thread", "coffee")[0] == 0
    say(monkeypatch, "/evidence", "/usage", "And now?")
    code, said, _ = run("chat", "ada", "--thread", "coffee")
    assert code == 0
    assert "selection cannot be shown" in said
    assert "Reply 2." in said


SISTER = "My sister Wilhelmina keeps a tortoise called Zebulon in the cellar."


def test_what_was_said_is_listed_pinned_and_forgotten_for_good(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, "First?", SISTER, "/again", "Third?", "/remember  I am  called Tom.", "/memories")
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert "Noted: I am called Tom." in out
    assert "Memories of this conversation: 5" in out
    thread = ("--thread", "default")
    rows = json.loads(run("memories", "ada", *thread, "--json")[1])
    assert [one["text"].split("\n")[0] for one in rows] == ["First?", SISTER, SISTER, "Third?", "I am called Tom."]
    assert [one["pinned"] for one in rows] == [False, False, False, False, True]
    first, *_, note = (one["memory"] for one in rows)
    assert run("memories", "ada", *thread, "--pin", first[:8])[1].startswith(f"Pinned {first} in turn ")
    pinned = json.loads(run("memories", "ada", *thread, "--pinned", "--json")[1])
    assert [one["memory"] for one in pinned] == [first, note]
    assert run("memories", "ada", *thread, "--unpin", note)[0] == 2
    (found, _) = json.loads(run("memories", "ada", *thread, "--find", "tortoise", "--json")[1])
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    code, out, _ = run("memories", "ada", *thread, "--remove", found["memory"])
    assert code == 0
    assert "With it: My sister" in out
    assert "1 more that say the same went with it." in out
    assert "Zebulon" not in run("memories", "ada", *thread)[1]
    assert run("memories", "ada", *thread, "--remove", note, "--yes")[0] == 0
    code, out, _ = run("export", "ada")
    assert [json.loads(line).get("question") for line in out.splitlines()] == [None, "First?", "Third?"]
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".conversations").rglob("*") if path.is_file())
    assert b"Zebulon" not in kept
    assert b"called Tom" not in kept


def test_words_are_forgotten_in_a_chat_when_they_were_shown_and_agreed_to(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, SISTER, "Second?", "/forget zebulon", "n", "/history", "/forget whale", "/forget")
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert f"1. {SISTER}" in out
    assert out.count("Wilhelmina") == 2
    assert "Nothing in this conversation contains these words" in out
    assert "Something is missing: /forget WORDS" in out
    say(monkeypatch, "/forget zebulon", "perhaps", "y", "/history")
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert "Forgotten for good: 1." in out
    assert "Second?" in out[out.index("Forgotten") :]
    assert "Wilhelmina" not in out[out.index("Forgotten") :]
    code, out, _ = run("export", "ada")
    assert [json.loads(line).get("question") for line in out.splitlines()] == [None, "Second?"]
