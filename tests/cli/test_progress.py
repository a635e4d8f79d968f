"""What is seen of work while it is done: whole lines in a pipe or a log, bars and a spinner on a terminal."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from langchain_core.messages import AIMessageChunk
from rich.console import Console

from dramaturg.cli import progress

from roles import small_role
from stub_endpoint import Endpoint

SCRIPT = """
import sys
from dramaturg.cli.app import main
for words in (["index", "ada"], ["ask", "ada", "Do storms frighten you?", "--evidence"]):
    sys.argv = ["dramaturg", *words]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, ended.code
"""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    """What a person sees who looks at standard error."""
    seen = StringIO()
    console = Console(file=seen, force_terminal=True, width=100, markup=False, _environ={"TERM": "xterm"})
    monkeypatch.setattr(progress, "errors", console)
    return seen


def test_a_pipe_gets_whole_lines(stub: Endpoint, tmp_path: Path) -> None:
    small_role(tmp_path)
    variables = {**os.environ, **stub.variables(), "DRAMATURG_LIBRARY": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=variables, capture_output=True, check=False)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == 0, err
    assert "Ada Quill: I keep the light.\n" in out
    for text in (out, err):
        assert text.endswith("\n")
        assert "\r" not in text.replace("\r\n", "\n")
        assert "\x1b" not in text
        assert not any(0x2800 <= ord(letter) < 0x2900 for letter in text)  # what spinners are drawn with
    steps = err.splitlines()
    assert steps[0] == "Reading …"
    assert all(one in steps for one in ("Looking into the persona …", "Thinking of the answer …"))
    assert any(one.startswith("Embedding: ") for one in steps)
    assert len(set(steps)) == len(steps)


def test_lines_come_with_each_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bars("Reading") as show:
        for done in range(1001):
            show("Embedding", done, 1000)
        show("Weights", 5, None)
        show("Nothing", 0, 0)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["Reading …", *(f"Embedding: {done:,} of 1,000" for done in range(0, 1001, 100)), "Weights …"]


def test_sizes_are_written_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bars(sizes=True) as show:
        progress.counting(show, "minilm", 90_000_000)(45_000_000)
    assert capsys.readouterr().err.splitlines() == ["minilm: 0 bytes of 90.0 MB", "minilm: 45.0 MB of 90.0 MB"]


def test_a_step_that_counts_is_written_when_it_begins_and_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Stage("Ada") as stage:
        for verdict in ("yes", "no", "yes"):
            stage.progress({"event": "judged", "verdict": verdict})
        stage.progress({"event": "extracted"})
        stage.progress({"event": "recalled"})
        stage.speak("I keep the light.")
        stage.progress({"event": "identity_changed", "changes": 1})
    said = capsys.readouterr()
    assert said.out == "Ada: I keep the light.\n"
    assert said.err.splitlines() == [
        "Looking into the persona …",
        "Judging passages: 1 judged, 1 accepted …",
        "Judging passages: 3 judged, 2 accepted …",
        "Thinking of the answer …",
    ]


def test_each_line_of_several_speakers_says_whose_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Stage("Ada") as stage:
        for part, message, text in (("one", "a", "I keep "), ("one", "a", "the light."), ("other", "b", "I sail.")):
            about = {"langgraph_checkpoint_ns": f"{part}:1|draft:2"}
            stage.show({"type": "messages", "ns": (), "data": (AIMessageChunk(text, id=message), about)})
    assert capsys.readouterr().out == "Ada: I keep the light.\nother: I sail.\n"


@pytest.mark.parametrize("sizes", [False, True])
def test_a_terminal_gets_bars(terminal: StringIO, sizes: bool) -> None:
    with progress.bars("Reading", sizes=sizes) as show:
        show("Embedding", 5, 10)
        show("Embedding", 10, 10)
    assert "Embedding" in terminal.getvalue()
    assert "\x1b[" in terminal.getvalue()


def test_a_terminal_gets_a_spinner(terminal: StringIO) -> None:
    with progress.waiting("Asking the [models] …"):
        pass
    with progress.Stage("Ada") as stage:
        stage.progress({"event": "revising", "revision": 1, "reason": "[/bold]"})
    assert "Asking the [models] …" in terminal.getvalue()
    assert "\x1b[" in terminal.getvalue()
