"""What a newcomer met: options that were missing, names that nobody was told of, hints that led elsewhere."""

import sys
from pathlib import Path

import pytest

from dramaturg.cli.drawing.graph import opened

from commands import Command
from stub_endpoint import Endpoint


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ask",), "Error: Missing argument 'role': see dramaturg ask --help."),
        (("askk", "ada"), "Error: No such command 'askk'. Did you mean 'ask'?: see dramaturg --help."),
        (("ask", "ada", "Who?", "--modle", "x"), "No such option: --modle"),
        (("graph", "ada", "--format", "pdf"), "Invalid value for '--format': 'pdf' is not one of 'html', 'png'"),
        (("chat", "ada", "--library"), "Error: Option '--library' requires an argument"),
        (("models", "pul"), "see dramaturg models --help."),
        (("versions", "ada", "x", "y"), "Got unexpected extra argument(s) (x y): see dramaturg versions --help."),
    ],
)
def test_a_usage_error_is_one_sentence(run: Command, arguments: tuple[str, ...], sentence: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert not {*"╭│╰"} & {*err}
    assert "Usage" not in err
    assert err.startswith("Error: ")


def test_help_is_help(run: Command) -> None:
    for arguments in ((), ("models",), ("--help",)):
        _, out, err = run(*arguments)
        assert "Usage" in out + err
        assert "Error" not in out + err


@pytest.mark.parametrize("command", [("index", "ada"), ("learn", "ada", "new.md")])
def test_index_and_learn_take_a_model(
    run: Command, stub: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.md").write_text("# A dog\n\nAda has a dog.\n")
    stub.asked.clear()
    run(*command, "--method", "role-rag", "--model", "another")
    assert {body["model"] for body in stub.asked if "messages" in body} == {"another"}


def test_roles_have_their_names(run: Command) -> None:
    out = run("roles")[1]
    for role, name in (("ada", "Ada Quill"), ("beethoven", "Ludwig van Beethoven"), ("wukong", "孙悟空")):
        assert any(role in line and name in line for line in out.splitlines())


@pytest.mark.parametrize(
    ("setting", "near"),
    [
        ("slotz=3", "slots"),
        ("judged_at_onc=3", "judged_at_once"),
        ("deadlin=3", "deadline"),
        ("xyzzy=1", "there are: "),
    ],
)
def test_an_unknown_setting_lists_near_ones(run: Command, setting: str, near: str) -> None:
    code, _, err = run("ask", "ada", "Who?", "--set", setting)
    assert code == 2
    assert err.startswith(f"Error: amadeus has no setting {setting.partition('=')[0]!r}")
    assert near in err
    assert "did you mean" in err or setting == "xyzzy=1"


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (("ask", "ada", "Who?", "--method", "ensemble", "--set", "passages.slotz=3"), "slots"),
        (("interview", "ada", "--dry-run", "--set", "slotz=3"), "slots"),
        (("simulate", "riverbend", "--dry-run", "--set", "talkz=3"), "talks"),
        (("index", "ada", "--dry-run", "--set", "spliter=acts"), "splitter"),
    ],
)
def test_near_settings_are_listed_by_every_command(run: Command, arguments: tuple[str, ...], near: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert f"did you mean {near!r}" in err


def test_hints_repeat_the_library(run: Command, tmp_path: Path) -> None:
    other = str(tmp_path / "my roles")
    assert f"dramaturg chat eve --library '{other}'" in " ".join(
        run("new", "eve", "--name", "Eve", "--library", other)[1].split()
    )
    assert f"dramaturg chat eve --library '{other}'" in run("conversations", "eve", "--library", other)[1]
    assert "--library" not in run("new", "eva", "--name", "Eva")[1]


@pytest.mark.skipif(sys.platform != "linux", reason="what xdg-open does")
@pytest.mark.parametrize(("display", "script", "opens"), [("", "", False), (":0", "exit 3", False), (":0", "", True)])
def test_what_was_not_opened_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, display: str, script: str, opens: bool
) -> None:
    opener = tmp_path / "xdg-open"
    opener.write_text(f"#!/bin/sh\n{script}\n")
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("DISPLAY", display)
    for screen in ("WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(screen, raising=False)
    assert opened(tmp_path / "ada.html") == opens


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "--role", "ada", "--methods", "profile"),
        ("report", "run"),
        ("studies", "scope-detection", "--role", "silver"),
        ("studies.published",),
    ],
)
def test_a_missing_extra_is_noticed_before_a_model_is_asked(
    run: Command, stub: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ada" / "questions.jsonl").write_text('{"question": "Who?", "answer": "Ada."}\n')
    monkeypatch.setitem(sys.modules, "scipy", None)
    stub.asked.clear()
    code, _, err = run(*command)
    assert code == 2
    assert "pip install 'dramaturg[evaluate]'" in err
    assert stub.asked == []


def test_a_second_undo_asks_before_it_goes_forward(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "ada" / "persona" / "life.md"
    before = document.read_text()
    run("index", "ada")
    document.write_text(before + "\nShe has a dog.\n")
    run("index", "ada")
    assert run("undo", "ada")[0] == 0
    assert document.read_text() == before
    asked: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda text, **_: asked.append(text) or (_ for _ in ()).throw(SystemExit(1)))
    assert run("undo", "ada")[0] == 1
    assert "forward" in asked[0]
    assert document.read_text() == before
    assert run("undo", "ada", "--yes")[0] == 0
    assert "dog" in document.read_text()
