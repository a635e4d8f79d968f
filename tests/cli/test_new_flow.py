"""A flow of one's own: the package that is written, its own test, and the names that are refused."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from langgraph_cli.config import validate_config_file

from dramaturg.cli.flows import new_flow
from dramaturg.cli.flows.new_flow import write_flow
from dramaturg.stores.errors import StorageError

from commands import Command

FILES = {
    "README.md",
    "pyproject.toml",
    "langgraph.json",
    "harbour/__init__.py",
    "harbour/flow.py",
    "tests/test_flow.py",
}


def test_a_package_is_written(run: Command, tmp_path: Path) -> None:
    code, out, _ = run("new-flow", "harbour", "--into", str(tmp_path))
    assert code == 0
    assert "README.md" in out
    made = tmp_path / "harbour"
    texts = {str(path.relative_to(made)): path.read_text() for path in made.rglob("*") if path.is_file()}
    assert set(texts) == FILES
    assert not any("$" in text for text in texts.values())
    for name in FILES:
        if name.endswith(".py"):
            compile(texts[name], name, "exec")
    assert tomllib.loads(texts["pyproject.toml"])["project"]["name"] == "harbour"
    assert validate_config_file(made / "langgraph.json")["graphs"].keys() == {"harbour"}
    assert json.loads(texts["langgraph.json"])["graphs"]["harbour"]["path"] == "harbour.flow:graph"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".harbour")]


def test_what_is_written_passes_its_linters(tmp_path: Path) -> None:
    made = write_flow("harbour", tmp_path)
    ruff = Path(sys.executable).parent / "ruff"
    for command in (["check", "--select", "E,F,I,B,UP"], ["format", "--check"]):
        subprocess.run([ruff, *command, "--isolated", "--no-cache"], cwd=made, check=True, capture_output=True)


@pytest.mark.slow
def test_the_test_of_a_package_passes(tmp_path: Path) -> None:
    made = write_flow("harbour", tmp_path)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"],
        cwd=made,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("My-Flow", "can't be the name of a flow"),
        ("../away", "can't be the name of a flow"),
        ("class", "can't be the name of a flow"),
        ("flow_", "can't be the name of a flow"),
        ("2nd", "can't be the name of a flow"),
        ("f" * 65, "can't be the name of a flow"),
        ("amadeus", "is a method of Dramaturg"),
        ("json", "would hide the Python package"),
        ("langgraph", "would hide the Python package"),
        ("tests", "would hide the Python package"),
    ],
)
def test_a_name_that_may_not_be_used_is_refused(name: str, why: str, run: Command, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    code, _, err = run("new-flow", name, "--into", str(tmp_path))
    assert code == 2
    assert why in err
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_is_there_is_left_as_it_is(run: Command, tmp_path: Path) -> None:
    (tmp_path / "harbour").mkdir()
    code, _, err = run("new-flow", "harbour", "--into", str(tmp_path))
    assert code == 2
    assert "There is harbour in" in err
    assert list((tmp_path / "harbour").iterdir()) == []
    assert "is no folder: name one" in run("new-flow", "harbour", "--into", str(tmp_path / "nowhere"))[2]


def test_nothing_is_left_of_a_package_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("The disk is full.")

    monkeypatch.setattr(new_flow, "move_folder", refuse)
    with pytest.raises(StorageError):
        write_flow("harbour", tmp_path)
    assert list(tmp_path.iterdir()) == []
