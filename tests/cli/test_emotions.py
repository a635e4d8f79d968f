"""`dramaturg emotions`: the mood of a text and what it brings back, as tables, as JSON, on a wheel."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import Command
from mood_models import joined_feeler
from roles import EMOTIONS
from stub_endpoint import Endpoint

TEXT = "My wedding is on Sunday!"


@pytest.fixture(autouse=True)
def model(stub: Endpoint) -> Iterator[None]:
    """The model of the endpoint feels what a text says."""
    old, stub.model = stub.model, joined_feeler()
    yield
    stub.model = old


def test_a_text_has_a_mood_and_brings_memories_back(run: Command) -> None:
    code, out, err = run("emotions", "ada", f"  {TEXT} ")
    assert (code, err.startswith("Reading … "), "Reading moods: 5 of 5" in err) == (0, True, True)
    mood, memories = out.split("Memories, recalled by C-A")
    assert "Mood of the question (model)" in mood
    assert all(name in mood for name in EMOTIONS)
    assert memories.index("great storm") < memories.index("drowned")


def test_a_strategy_of_ones_own(run: Command) -> None:
    assert "recalled by S-S" in run("emotions", "ada", TEXT, "--strategy", "S-S")[1]
    out = run("emotions", "ada", TEXT, "--strategy", "semantic", "--set", "recalled=2")[1]
    assert "recalled by meaning alone" in out
    assert "Mood of the question" not in out
    assert out.count("jsonl:") == 2


def test_nothing_is_answered_and_nothing_is_remembered(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    run("emotions", "ada", TEXT)
    before = len(stub.asked)
    run("emotions", "ada", TEXT)
    assert ["messages" in body for body in stub.asked[before:]].count(True) == 1
    assert not (tmp_path / ".conversations").exists()


def test_a_program_gets_the_evidence(run: Command) -> None:
    found = json.loads(run("emotions", "ada", TEXT, "--json")[1])
    assert found["text"] == TEXT
    evidence = found["evidence"]
    assert evidence["mood"]["emotions"]["joy"]["score"] == 9
    assert evidence["strategy"] == "C-A"
    assert len(evidence["memories"]) == 5


def test_a_mood_that_cannot_be_had_is_said(run: Command, stub: Endpoint) -> None:
    run("index", "ada", "--method", "emotional-rag")
    stub.model = joined_feeler(mood="I'd rather not.")
    code, out, _ = run("emotions", "ada", TEXT)
    assert code == 0
    assert "The mood of the question is unknown (model): " in out
    assert "recalled by meaning alone" in out


@pytest.mark.parametrize("text", ["", "  \n"])
def test_without_a_text_there_is_nothing_to_look_into(run: Command, text: str) -> None:
    code, _, err = run("emotions", "ada", text)
    assert code == 2
    assert "give a sentence" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--plot", "out.gif"), "use .png, .svg or .pdf"),
        (("--plot", "out"), "use .png, .svg or .pdf"),
        (("--plot", "nowhere/out.png"), "name a file in a folder that is there"),
        (("--strategy", "S-C"), "'S-S' or 'S-E'"),
        (("--set", "normalize=max"), "'minmax'"),
    ],
)
def test_a_slip_is_noticed_before_any_work(
    run: Command, stub: Endpoint, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    before = len(stub.asked)
    code, _, err = run("emotions", "ada", TEXT, *arguments)
    assert code == 2
    assert problem in err
    assert len(stub.asked) == before
    assert not (tmp_path / "ada" / "index").exists()


def test_without_matplotlib_the_extra_is_named_before_any_work(
    run: Command, stub: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    before = len(stub.asked)
    code, _, err = run("emotions", "ada", TEXT, "--plot", str(tmp_path / "out.png"))
    assert code == 2
    assert "pip install 'dramaturg[plot]'" in err
    assert len(stub.asked) == before
    assert not (tmp_path / "ada" / "index").exists()


def test_a_wheel_is_drawn(run: Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "out.png"
    code, out, err = run("emotions", "ada", TEXT, "--plot", str(path), "--set", "recalled=2")
    assert code == 0
    assert out == ""
    assert f"Wrote {path}." in err
    assert path.read_bytes().startswith(b"\x89PNG")
    found = json.loads(run("emotions", "ada", TEXT, "--plot", str(tmp_path / "out.svg"), "--json")[1])
    assert found["evidence"]["strategy"] == "C-A"
    assert b"<svg" in (tmp_path / "out.svg").read_bytes()


def test_a_role_without_memories_is_told_what_to_do(run: Command, tmp_path: Path) -> None:
    (tmp_path / "ada" / "memories.jsonl").unlink()
    (tmp_path / "ada" / "dialogues" / "scenes.jsonl").unlink()
    code, _, err = run("emotions", "ada", TEXT)
    assert code == 2
    assert "write memories.jsonl" in err
