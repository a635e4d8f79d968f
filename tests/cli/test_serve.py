"""`dramaturg serve` refuses to serve strangers, and says what to do."""

from pathlib import Path

import pytest

from commands import Command

KEYS = "alice alice-key-0123456789\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "0.0.0.0"], "name a file of keys with --keys"),
        (["--keys", "{folder}/none"], "cannot be read"),
        (["--keys", "{folder}/short"], "Line 1 of the keys"),
        (["--persona", "mine"], "own or merge"),
        (["--flow", "drmr=own.py:graph"], "a name that no other method has"),
        (["--flow", "mine=nowhere.py:graph"], "nowhere.py"),
        (["--library", "mysql://me:secret@there/roles"], "'mysql://…@there/roles': it may be a folder"),
        (["--library", "{folder}/short"], "it may be a folder"),
        (["--set", "window"], "NAME=VALUE"),
        (["--set", "concurrency=2000"], "concurrency: Input should be less than or equal to 1000"),
        (["--set", "slotz=3"], "did you mean 'slots'"),
    ],
)
def test_what_cannot_be_served_is_said(
    run: Command, arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.run", lambda *_, **__: pytest.fail("It serves."))
    (tmp_path / "short").write_text("alice short\n")
    code, _, said = run("serve", *(one.format(folder=tmp_path) for one in arguments))
    assert code == 2
    assert sentence in " ".join(said.split())


@pytest.mark.parametrize("command", ["serve", "mcp"])
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("DRAMATURG_THREADS", "none", "DRAMATURG_THREADS cannot be 'none': it should be a valid integer"),
        ("DRAMATURG_WEIGHT", "/opt", "DRAMATURG_WEIGHT is not read: did you mean DRAMATURG_WEIGHTS?"),
    ],
)
def test_variables_that_cannot_be_are_said_at_the_start(
    run: Command, command: str, name: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.run", lambda *_, **__: pytest.fail("It serves."))
    monkeypatch.setenv(name, value)
    code, _, said = run(command)
    assert code == 2
    assert sentence in " ".join(said.split())


@pytest.mark.parametrize("command", ["serve", "mcp"])
@pytest.mark.parametrize("model", ["gpt-4.1", "nobody:model"])
def test_a_model_that_nobody_can_ask_is_said_at_the_start(
    run: Command, command: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.run", lambda *_, **__: pytest.fail("It serves."))
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    code, _, said = run(command, "--model", model)
    assert code == 3
    assert model in said


def test_it_says_where_it_is_and_who_may_call(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = []
    monkeypatch.setattr("uvicorn.run", lambda app, **how: began.append(how))
    (tmp_path / "keys").write_text(KEYS)
    _, said, _ = run("serve", "--host", "0.0.0.0", "--keys", str(tmp_path / "keys"), "--port", "1234")
    assert "http://ADDRESS:1234/v1" in said
    assert "alice" in said
    assert "alice-key" not in said
    assert began[0]["port"] == 1234
    assert began[0]["timeout_keep_alive"] == 75
