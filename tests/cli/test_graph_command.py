"""`dramaturg graph`, over a graph in memory."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dramaturg.stores.index.graph import KnowledgeGraph, decode_graph

from commands import Command
from graph_samples import star


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> KnowledgeGraph:
    """The graph of every role; files are written where the command is run."""
    made = star(["Tom", "Leith", "<b>"])
    monkeypatch.setattr("dramaturg.stores.index.opened.Index.open", lambda *_: made)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return made


def launching(monkeypatch: pytest.MonkeyPatch, code: int) -> list[str]:
    """Stand in for the system's viewer; gives what it is asked to open."""
    asked: list[str] = []

    def launch(url: str) -> int:
        asked.append(url)
        return code

    monkeypatch.setattr("dramaturg.cli.drawing.graph.shutil.which", lambda _: None)
    monkeypatch.setattr("typer.launch", launch)
    return asked


def test_tables_tell_types_relations_and_merged_names(run: Command, known: KnowledgeGraph) -> None:
    code, out, _ = run("graph", "ada")
    assert code == 0
    assert "4 entities, 2 relations" in out
    assert out.index("Leith") < out.index("of Tom")  # the stronger relation comes first
    assert "The strongest relations of Ada Quill" in out
    assert "Tom too" in out
    assert list(Path().iterdir()) == []


def test_a_role_that_is_not_in_its_graph_is_said_so(
    run: Command, known: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KnowledgeGraph, "find", lambda *_: None)
    code, out, _ = run("graph", "ada")
    assert code == 0
    assert "The role itself is not in the graph" in out


def test_a_program_gets_the_graph_in_one_line(run: Command, known: KnowledgeGraph) -> None:
    code, out, _ = run("graph", "ada", "--json")
    assert code == 0
    assert out.count("\n") == 1
    assert list(decode_graph(out.encode())) == list(known.graph)


@pytest.mark.parametrize(
    ("options", "name", "start"),
    [
        (["--file", "a.html"], "a.html", b"<!doctype html>"),
        (["--file", "a"], "a", b"<!doctype html>"),
        (["--file", "a.GraphML"], "a.GraphML", b"<?xml"),
        (["--file", "a.html", "--format", "json"], "a.html", b"{\n"),
        (["--format", "json"], "ada-graph.json", b"{\n"),
        (["--format", "html"], "ada-graph.html", b"<!doctype html>"),
    ],
)
def test_files_are_written_as_they_are_named(
    run: Command, known: KnowledgeGraph, options: list[str], name: str, start: bytes
) -> None:
    Path(name).write_text("what was there before")
    code, out, err = run("graph", "ada", *options)
    assert (code, out, err) == (0, "", f"Wrote {name}.")
    assert Path(name).read_bytes().startswith(start)
    assert [path.name for path in Path().iterdir()] == [name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--file", "a.svg"], "A graph is not written as .svg: use .html, .png, .json, .graphml"),
        (["--file", "a.html", "--open-file", "b.html"], "Name the file once"),
        (["--file", "nowhere/a.html"], "name a file in a folder that is there"),
        (["--file", "."], "name a file in a folder that is there"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(
    run: Command, known: KnowledgeGraph, options: list[str], message: str
) -> None:
    code, out, err = run("graph", "ada", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(("viewer", "said"), [(0, "and opened it"), (1, "there is nothing here to open it with")])
def test_a_file_is_opened_where_there_is_a_viewer(
    run: Command, known: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch, viewer: int, said: str
) -> None:
    asked = launching(monkeypatch, viewer)
    code, _, err = run("graph", "ada", "--open-file", "a.html")
    assert code == 0
    assert said in err
    assert asked == [str(Path("a.html").resolve())]


def test_a_method_without_a_graph_is_refused(run: Command) -> None:
    code, _, err = run("graph", "ada", "--method", "naive-rag")
    assert code == 2
    assert "The method naive-rag has no knowledge graph" in err


def test_every_format_has_a_writer() -> None:
    command: Any = import_module("dramaturg.cli.drawing.graph")
    assert set(command.WRITERS) == set(command.Format)
    assert json.loads(command.WRITERS["json"](star(["Tom"]), None))["nodes"][1]["id"] == "Tom"
