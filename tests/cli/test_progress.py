"""What is seen of work while it is done: whole lines in a pipe or a log, bars and a spinner on a terminal."""

import json
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from rich.console import Console

from dramaturg.cli import progress
from dramaturg.cli.evaluation import interview
from dramaturg.cli.library.indexing import cost_line
from dramaturg.evaluation.interviews.run import AnnounceCalls, interviewed
from dramaturg.evaluation.interviews.state import InterviewContext
from dramaturg.nodes import index_steps
from dramaturg.nodes.index_steps import IndexingCost
from dramaturg.nodes.passages.index import cost_of_passages
from dramaturg.testing import WordEmbeddings
from dramaturg.workflows.amadeus_index import AmadeusIndexContext

from commands import Command
from graph_roles import graph_actor
from roles import actor, run_settings, small_role
from stub_endpoint import Endpoint

DIALOGUE = """{"scene": "new", "speaker": "Tom", "text": "What news of the boat?"}
{"scene": "new", "speaker": "Ada", "role": "ada", "text": "She is late."}
"""
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


@pytest.mark.crash
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
    assert all(one in steps for one in ("Searching the persona …", "Imagining an answer to search with …"))
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


@pytest.mark.parametrize(
    ("method", "file", "text", "work"),
    [
        ("amadeus", "persona/dog.md", "# A dog\n\nAda has a dog.\n", "Embedding"),
        ("emotional-rag", "memories.jsonl", '{"text": "I heard the horn of the boat."}\n', "Reading moods"),
        ("drmr", "dialogues/more.jsonl", DIALOGUE, "Embedding"),
        ("role-rag", "persona/dog.md", "# A dog\n\nAda has a dog.\n", "Extracting facts"),
    ],
)
def test_work_has_its_end_from_the_beginning_and_counts_what_was_done_before(
    run: Command,
    stub: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    method: str,
    file: str,
    text: str,
    work: str,
) -> None:
    monkeypatch.setattr(stub, "model", graph_actor() if method == "role-rag" else actor())
    arguments = ["index", "ada", "--method", method] + ["--set", "emotion_encoder=model"] * (method == "emotional-rag")
    first = numbers(work, run(*arguments)[2])
    there = first[0][1]
    assert first[0] == (0, there)
    assert first[-1] == (there, there)
    with (tmp_path / "ada" / file).open("a", encoding="utf-8") as written:
        written.write(text)
    again = numbers(work, run(*arguments)[2])
    assert again[0] == (there, again[0][1])
    assert again[-1][0] == again[-1][1] > there
    assert len(again) == 2


def numbers(work: str, lines: str) -> list[tuple[int, int]]:
    """How much of a kind of work was done, of how much, line by line."""
    return [(int(done), int(total)) for done, total in re.findall(rf"{work}: (\d+) of (\d+)", lines)]


@pytest.mark.parametrize(
    ("method", "unit"), [("amadeus", "passages"), ("emotional-rag", "memories"), ("drmr", "edges")]
)
def test_a_dry_run_counts_what_is_embedded(run: Command, method: str, unit: str) -> None:
    command = ("index", "ada", "--method", method)
    told = run(*command, "--dry-run")[1]
    assert unit in told
    cost = json.loads(run(*command, "--dry-run", "--json")[1])
    assert f"{cost['to_embed']} texts to embed" in told
    assert cost["to_embed"] > 0
    run(*command)
    assert json.loads(run(*command, "--dry-run", "--json")[1])["to_embed"] == 0
    assert json.loads(run(*command, "--dry-run", "--rebuild", "--json")[1])["to_embed"] == cost["to_embed"]


def test_a_dry_run_measures_how_long_a_model_in_the_process_embeds() -> None:
    cost = IndexingCost("passages", 2000, 0, 0, to_embed=2000)
    assert cost_line(cost) == "2,000 passages: no question to the model; 2,000 texts to embed at the endpoint."
    assert "to embed, about 12 s." in cost_line(cost._replace(embedding_seconds=12.3))
    assert "to embed, about 3 min." in cost_line(cost._replace(embedding_seconds=200))


async def test_that_time_is_of_all_texts_by_a_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(index_steps, "time", SimpleNamespace(monotonic=lambda: now[0]))

    class Slow(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            now[0] += 2 * len(texts)
            return super().embed_documents(texts)

    small_role(tmp_path, "# Ada\n\n" + "".join(f"The lamp number {n:04} burns.\n\n" for n in range(400)))
    context = AmadeusIndexContext(**run_settings(tmp_path, actor(), splitter="fixed", fixed_length=50, fixed_overlap=0))
    context = context.model_copy(update={"embedding_model": Slow()})
    cost = await cost_of_passages(context, {})
    assert cost.to_embed > 200
    assert cost.embedding_seconds is not None
    assert cost.embedding_seconds == pytest.approx(2 * cost.to_embed, rel=0.2)


@pytest.mark.crash
def test_an_evaluation_counts_what_was_answered_before(run: Command, tmp_path: Path) -> None:
    lines = "".join(f'{{"question": "Who is {n}?", "answer": "Ada."}}\n' for n in range(12))
    (tmp_path / "ada" / "questions.jsonl").write_text(lines)
    out = str(tmp_path / "run")
    command = ("evaluate", "--role", "ada", "--methods", "profile", "--metrics", "accuracy", "--out", out)
    assert numbers("Replies", run(*command, "--no-bounds")[2])[-1] == (12, 12)
    file = tmp_path / "run" / "records.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:9]))
    assert numbers("Replies", run(*command, "--no-bounds")[2])[0] == (9, 12)


def test_an_interview_counts_replies_not_calls_and_those_of_before(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("interview", "ada", "--method", "amadeus", "--limit", "4", "--out", str(tmp_path / "out.json"))

    def stopping(context: InterviewContext, file: Path, announce: AnnounceCalls) -> Any:
        def told(node: str, calls: int) -> None:
            announce(node, calls)
            raise KeyboardInterrupt

        return interviewed(context, file, told)

    with monkeypatch.context() as patch:
        patch.setattr(interview, "interviewed", stopping)
        code, _, lines = run(*command)
    assert (code, numbers("Replies", lines)) == (130, [(0, 4), (1, 4)])
    assert lines.endswith(f"Answers so far are kept, and the same command goes on with them: --out {command[-1]}")
    again = numbers("Replies", run(*command)[2])
    assert again[0][0] >= 1
    assert again[-1] == (4, 4)


def test_sizes_are_written_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bars(sizes=True) as show:
        announce = progress.counting(show, "minilm", 90_000_000)
        for done in (0, 45_000_000):
            announce(done)
    assert capsys.readouterr().err.splitlines() == ["minilm: 0 bytes of 90.0 MB", "minilm: 45.0 MB of 90.0 MB"]


def test_a_step_that_counts_is_written_when_it_begins_and_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Stage("Ada") as stage:
        stage.progress({"event": "recalled talk", "exchanges": 2})
        for verdict in ("yes", "no", "failed", "yes"):
            stage.progress({"event": "judged", "verdict": verdict})
        stage.progress({"event": "extracted"})
        stage.progress({"event": "recalled"})
        stage.speak("I keep the light.")
        stage.progress({"event": "identity_changed", "changes": 1})
    said = capsys.readouterr()
    assert said.out == "Ada: I keep the light.\n"
    assert said.err.splitlines() == [
        "Searching the persona …",
        "Looked up what was said before: 2 came back …",
        "Judging passages: 1 judged, 1 accepted …",
        "Judging passages: 3 judged, 2 accepted, 1 without an answer …",
        "Imagining an answer to search with …",
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
